// SPDX-License-Identifier: Apache-2.0
#include "dispatch/dispatcher.h"

#include "commands/draining.h"
#include "commands/events.h"
#include "commands/features.h"
#include "commands/format.h"
#include "commands/identify.h"
#include "commands/log_pages.h"
#include "commands/namespaces.h"
#include "commands/near.h"
#include "commands/operators.h"
#include "commands/programs.h"
#include "commands/queues.h"
#include "commands/slots.h"
#include "commands/ssd.h"
#include "commands/virtual_drive.h"
#include "commands/virtualization.h"

#define CSUPP EFFECTS_CSUPP
#define LBCC EFFECTS_LBCC
#define NCC EFFECTS_NCC
#define NIC EFFECTS_NIC
#define ALONE EFFECTS_ALONE

// A row each: opcode, handler, effects, flags.
#define ROWS(ROW)                                                                                           \
    ROW(DELETE_SQ, delete_sq, CSUPP, 0)                                                                     \
    ROW(CREATE_SQ, create_sq, CSUPP, 0)                                                                     \
    ROW(GET_LOG_PAGE, get_log_page, CSUPP, 0)                                                               \
    ROW(DELETE_CQ, delete_cq, CSUPP, 0)                                                                     \
    ROW(CREATE_CQ, create_cq, CSUPP, 0)                                                                     \
    ROW(IDENTIFY, identify, CSUPP, 0)                                                                       \
    ROW(ABORT, abort_command, CSUPP, 0)                                                                     \
    ROW(SET_FEATURES, features_set, CSUPP, CHANGES)                                                         \
    ROW(GET_FEATURES, features_get, CSUPP, 0)                                                               \
    ROW(ASYNC_EVENT, asynchronous_event_request, CSUPP, 0)                                                  \
    ROW(NS_MGMT, namespace_management, CSUPP | LBCC | NIC, CHANGES | PF_ONLY)                               \
    ROW(NS_ATTACH, namespace_attachment, CSUPP | NIC, CHANGES | PF_ONLY)                                    \
    ROW(KEEP_ALIVE, keep_alive, CSUPP, 0)                                                                   \
    ROW(VIRTUAL_MGMT, FUNCTIONS > 1 ? virtualization_management : NULL, FUNCTIONS > 1 ? CSUPP : 0, PF_ONLY) \
    ROW(FORMAT_NVM, format, CSUPP | LBCC | NCC | ALONE, NSID_ACTIVE_OR_ALL | CHANGES)                       \
    ROW(KEY_LOAD, key_load, CSUPP, OPERATORS_ONLY | CHANGES)                                                \
    ROW(KEY_ERASE, key_erase, CSUPP, OPERATORS_ONLY | CHANGES)                                              \
    ROW(BIND, bind_operator, CSUPP | LBCC | ALONE, OPERATORS_ONLY | NSID_EXISTS_OR_ALL | CHANGES)           \
    ROW(SLOTS, PROGRAMS ? slots_command : NULL, CSUPP, PF_ONLY)                                             \
    ROW(LOAD_PROGRAM, load_program, CSUPP, 0)
#if EXTENTS
#define EXTENTS_ROWS(ROW)                                                    \
    ROW(VIRTUAL_DRIVE, virtual_drive, CSUPP | LBCC | NIC, CHANGES | PF_ONLY) \
    ROW(SSD, ssd_command, CSUPP, PF_ONLY)
#else
#define EXTENTS_ROWS(ROW)
#endif
#if SLM
#define SLM_ROWS(ROW)                                     \
    ROW(PROGRAM_LOAD, program_load, CSUPP, 0)             \
    ROW(PROGRAM_ACTIVATION, program_activation, CSUPP, 0) \
    ROW(MEMORY_RANGE_SET, memory_range_sets, CSUPP, 0)
#else
#define SLM_ROWS(ROW)
#endif
#define MORE_ROWS(ROW) EXTENTS_ROWS(ROW) SLM_ROWS(ROW)

#define ENTRY(opcode, run, effects, flags) {run, effects, flags, ADMIN_OPC_##opcode},
const struct admin_command admin_commands[COMMANDS] = {ROWS(ENTRY) MORE_ROWS(ENTRY)};

#if FUNCTIONS == 1  // where there are several there is no memory for this: a command's place in the table, by opcode
#define PLACE(opcode, run, effects, flags) AT_##opcode,
enum { AT_NOTHING, ROWS(PLACE) MORE_ROWS(PLACE) };
#define BY_OPCODE(opcode, run, effects, flags) [ADMIN_OPC_##opcode] = AT_##opcode,
static const uint8_t places[] = {ROWS(BY_OPCODE) MORE_ROWS(BY_OPCODE)};
#endif

/// What a row of the table asks of a command's NSID.
static uint32_t check_nsid(const struct request* r, uint32_t flags) {
    if (nsid_of(r) == NSID_ALL) return ST_SUCCESS;
    // A VF knows of what is attached to it, and of nothing else.
    bool vf = FUNCTIONS > 1 && r->fn->hw.place;
    if (flags & (vf ? NSID_ACTIVE_OR_ALL | NSID_EXISTS_OR_ALL : NSID_ACTIVE_OR_ALL))
        return ns_check_active(r->drive, r->fn, nsid_of(r));
    if (flags & NSID_EXISTS_OR_ALL) return ns_check_exists(r->drive, nsid_of(r));
    return ST_SUCCESS;
}

/// NULL: there is none.
static const struct admin_command* row_of(uint32_t opcode) {
#if FUNCTIONS == 1
    return opcode < sizeof places && places[opcode] ? &admin_commands[places[opcode] - 1] : NULL;
#else
    for (uint32_t i = 0; i < COMMANDS; i++) {
        if (admin_commands[i].opcode == opcode) return &admin_commands[i];
    }
    return NULL;
#endif
}

static uint32_t run(struct request* r) {
    if (r->saving) return save_step(r);
    if (FUNCTIONS > 1) store_page_taken(&r->drive->store);
    uint32_t opcode = cmd_opcode(&r->cmd);
    // Fused; PSDT: SGLs are for I/O commands (Base 2.0, 3.3.3.1).
    if (r->cmd.dw[0] & 0xc300u) return ST_INVALID_FIELD;
    const struct admin_command* c = row_of(opcode);
    if (!c || !c->run || ((c->flags & OPERATORS_ONLY) && r->drive->hw.key_slots == 0)) return ST_INVALID_OPCODE;
    if (FUNCTIONS > 1 && (c->flags & PF_ONLY) && r->fn->hw.place) return ST_INVALID_OPCODE;
    bool changes = (c->flags & CHANGES) && (opcode != ADMIN_OPC_SET_FEATURES || features_change(r));
    if (changes && r->step == 0 && turn_waits(&r->drive->change_turns, r->drive->changing, r->fn->hw.place))
        return WAIT;
    uint32_t status = r->step ? (uint32_t)ST_SUCCESS : check_nsid(r, c->flags);
    return status == ST_SUCCESS ? c->run(r) : status;
}

static void forget(struct request* r) {
    for (uint32_t i = 0; i < 16; i++) ((volatile uint32_t*)r->cmd.dw)[i] = 0;  // there may be a word of a key
}

#if FUNCTIONS > 1
static void park(parked_t* p, const struct request* r) {
    const uint32_t* dw = r->cmd.dw;
    *p = (parked_t){.dw = {dw[0], dw[1]},
                    .step = r->step,
                    .at = r->at,
                    .watch = r->watch,
                    .looking = r->looking,
                    .found = r->found,
                    .zeroing = r->zeroing,
                    .flushing = r->flushing,
                    .watching = r->watching,
                    .saving = r->saving};
    for (uint32_t i = 2; i < 12; i++) p->dw[i] = dw[4 + i];
    if (p->watching) p->dw[2] = (uint32_t)r->from;
    // Of all others these are 0; an Abort, which changes nothing, needs its result no more.
    p->changes = r->saving || r->left || r->controllers || (r->from && !r->watching);
    if (p->changes) *r->drive->change = (struct change){r->from, r->left, r->controllers, r->dw0, r->status};
}

static struct request* unpark(struct request* r, parked_t* p, struct drive* drive, struct function* fn) {
    *r = (struct request){.drive = drive,
                          .fn = fn,
                          .cmd = {.dw = {p->dw[0], p->dw[1]}, .function = fn->hw.number},
                          .step = p->step,
                          .at = p->at,
                          .watch = p->watch,
                          .looking = p->looking,
                          .found = p->found,
                          .zeroing = p->zeroing,
                          .flushing = p->flushing,
                          .watching = p->watching,
                          .saving = p->saving};
    for (uint32_t i = 2; i < 12; i++) r->cmd.dw[4 + i] = p->dw[i];
    if (p->watching) {  // it is at most CFG_WATCH_US away, or over
        uint64_t now = hw_time();
        r->from = now + (uint64_t)(int64_t)(int32_t)(p->dw[2] - (uint32_t)now);
    }
    if (!p->changes) return r;
    const struct change* c = drive->change;
    r->from = c->from;
    r->left = c->left;
    r->controllers = c->controllers;
    r->dw0 = c->dw0;
    r->status = c->status;
    return r;
}

static void wipe(parked_t* p) {
    for (uint32_t i = 0; i < 12; i++) ((volatile uint32_t*)p->dw)[i] = 0;
}
#else
static void park(parked_t* p, const struct request* r) { *p = *r; }

static struct request* unpark(struct request* own, parked_t* p, struct drive* drive, struct function* fn) {
    (void)own, (void)drive, (void)fn;
    return p;
}

static void wipe(parked_t* p) { forget(p); }
#endif

/// False: it is not over.
static bool ended(struct request* r, uint32_t status) {
    if (status == WAIT) return false;
    if (status == PENDING) return true;
    if (status != ST_SUCCESS) error_log_add(&r->fn->errors, 0, cmd_id(&r->cmd), status, nsid_of(r), 0);
    hw_complete(r->cmd.function, cmd_id(&r->cmd), status, r->dw0);
    return true;
}

void execute(struct waiting* waiting, struct request* r) {
    struct request fresh = {.drive = r->drive, .fn = r->fn, .cmd = r->cmd};
    if (!ended(&fresh, run(&fresh))) park(&waiting->of[waiting->count++], &fresh);
    forget(&fresh);
    forget(r);
}

void go_on(struct waiting* waiting, struct drive* drive, struct function* fn) {
    uint32_t left = 0;
    uint32_t events = 0;
    fn->poll = false;
    for (uint32_t i = 0; i < waiting->count; i++) {
        struct request own, *r = unpark(&own, &waiting->of[i], drive, fn);
        fn->wake = 0;
        bool over = ended(r, run(r));
        if (FUNCTIONS == 1 && over) continue;
        if (!over) {
            events |= fn->wake;
            if (!fn->wake) fn->poll = true;
            if (FUNCTIONS > 1 || left != i) park(&waiting->of[left], r);
            left++;
        }
        if (FUNCTIONS > 1) forget(r);
    }
    for (uint32_t i = left; i < waiting->count; i++) wipe(&waiting->of[i]);
    waiting->count = left;
    fn->wake = events;
}

void dismiss(struct waiting* waiting, struct drive* drive) {
    for (uint32_t i = 0; i < waiting->count; i++) {
        parked_t* p = &waiting->of[i];
        if (p->watching) {
            hw_unwatch(p->watch);
            drive->watching &= (uint8_t)~(1u << p->watch);
        }
        wipe(p);
    }
    waiting->count = 0;
}
