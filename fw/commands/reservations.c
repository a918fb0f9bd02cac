// SPDX-License-Identifier: Apache-2.0
#include "commands/reservations.h"

#include "base/bytes.h"
#include "commands/draining.h"
#include "hw/io_commands.h"

#if FUNCTIONS > 1
static uint32_t action_of(const struct request* r) { return r->cmd.dw[10] & 7u; }
static bool ignores_key(const struct request* r) { return r->cmd.dw[10] >> 3 & 1u; }
static uint32_t type_of(const struct request* r) { return r->cmd.dw[10] >> 8 & 0xffu; }
static bool is_type(uint32_t type) {
    return type >= RESV_TYPE_WRITE_EXCLUSIVE && type <= RESV_TYPE_EXCLUSIVE_ACCESS_ALL;
}

static struct reservation* reservation_of(const struct request* r) { return resv_of(r->drive, nsid_of(r)); }
static const struct host* host_of(const struct request* r) { return &r->fn->reservations->host; }
static struct registrant* own(const struct request* r) { return resv_registrant(r->drive, r->fn, nsid_of(r)); }

/// Only registrants hear of, and only of these types, that a reservation is no more: of the others they have no part.
static void tell_released(struct request* r, uint32_t type) {
    if (type >= RESV_TYPE_WRITE_EXCLUSIVE_REGISTRANTS)
        resv_notify_others(r->drive, nsid_of(r), RESV_NOTICE_RESERVATION_RELEASED, host_of(r));
}

static uint32_t keys_of(struct request* r, uint64_t* keys, uint32_t count) {
    uint32_t w[4];
    uint32_t status = data_receive(r->drive->buffers, &r->cmd, w, 8 * count, 8 * count);
    for (uint32_t i = 0; i < count && status == ST_SUCCESS; i++) keys[i] = (uint64_t)w[2 * i + 1] << 32 | w[2 * i];
    return status;
}

// Numbers of sections are those of Base 2.1 and 2.2; 8.1.22 is 8.19 in 2.0, 7.5 to 7.8 are 7.2 to 7.5.
// ---------------------------------------------------------------- Register
/// 8.1.22.4.
static void unregister(struct request* r, struct registrant* reg) {
    uint32_t type = reservation_of(r)->type;
    resv_remove(r->drive, reg);
    if (reservation_of(r)->type != type) tell_released(r, type);
}

/// 8.1.22.3: a key may have any value; Register does not look at IEKEY, and a host that has no key replaces it with IEKEY.
static uint32_t reservation_register(struct request* r) {
    enum { CURRENT, NEW, KEYS };
    uint32_t action = action_of(r), ptpl = r->cmd.dw[10] >> 30;
    uint64_t keys[KEYS];
    if (action > RESV_REGISTER_REPLACE || ptpl == 1) return ST_INVALID_FIELD;
    uint32_t status = keys_of(r, keys, KEYS);
    if (status != ST_SUCCESS) return status;
    struct registrant* reg = own(r);
    bool registers = action == RESV_REGISTER_REGISTER;
    if (!reg && (registers || (action == RESV_REGISTER_REPLACE && ignores_key(r)))) {
        if (!resv_has_room(r->drive, r->fn, store_registrants(r->drive))) return ST_INTERNAL;
        resv_add(r->drive, r->fn, nsid_of(r), keys[NEW]);
    } else {
        uint64_t wanted = keys[registers ? NEW : CURRENT];
        if (!reg || (reg->key != wanted && (registers || !ignores_key(r)))) return ST_RESV_CONFLICT;
        if (action == RESV_REGISTER_REPLACE) reg->key = keys[NEW];
        if (action == RESV_REGISTER_UNREGISTER) unregister(r, reg);
    }
    if (ptpl) reservation_of(r)->persists = ptpl == RESV_PTPL_SET;
    reservation_of(r)->generation++;
    return ST_SUCCESS;
}

// ---------------------------------------------------------------- Acquire
/// Registrants with this key, but `but`, are none any more; any are, with NULL. False: there were none. r->controllers: the
/// other functions of their hosts.
static bool preempt_by_key(struct request* r, bool any, uint64_t key, const struct registrant* but) {
    bool found = false;
    for (uint32_t i = 0; i < MAX_REGISTRANTS; i++) {
        struct registrant* reg = &reservations_of(r->drive)->of[i];
        if (reg->nsid != nsid_of(r) || reg == but || (!any && reg->key != key)) continue;
        found = true;
        struct host host = reg->host;
        resv_remove(r->drive, reg);
        if (resv_same_host(&host, host_of(r))) continue;
        for (uint32_t n = 0; n < r->drive->hw.num_fn; n++) {
            struct function* fn = &r->drive->functions[n];
            if (!resv_same_host(&fn->reservations->host, &host)) continue;
            r->controllers |= 1u << n;
            resv_notify(fn, nsid_of(r), RESV_NOTICE_REGISTRATION_PREEMPTED);
        }
    }
    return found;
}

/// 8.1.22.7. A new reservation is there before the registrants that it preempts are gone: there is one at any time. That
/// nobody has the key is an error where all registrants hold, and there alone.
static uint32_t preempt(struct request* r, struct registrant* reg, uint64_t key) {
    uint32_t type = reservation_of(r)->type;
    bool all = resv_all_hold(type);
    bool by_holder = reservations_of(r->drive)->of[reservation_of(r)->holder].key == key;  // if there is one
    if (type != RESV_TYPE_NONE && !all && !by_holder && key == 0) return ST_INVALID_FIELD;
    if (type == RESV_TYPE_NONE || !(all ? key == 0 : by_holder)) {  // registrations alone
        if (!preempt_by_key(r, false, key, NULL) && all) return ST_RESV_CONFLICT;
    } else {
        resv_acquire(r->drive, reg, type_of(r));
        (void)preempt_by_key(r, all, key, reg);
        if (type != type_of(r)) resv_notify_others(r->drive, nsid_of(r), RESV_NOTICE_RESERVATION_RELEASED, host_of(r));
    }
    reservation_of(r)->generation++;
    return ST_SUCCESS;
}

/// 7.5, 8.1.22.5.
static uint32_t reservation_acquire(struct request* r) {
    enum { CURRENT, PREEMPTED, KEYS };
    uint32_t action = action_of(r);
    uint64_t keys[KEYS];
    if (action > RESV_ACQUIRE_PREEMPT_ABORT || ignores_key(r) || !is_type(type_of(r))) return ST_INVALID_FIELD;
    uint32_t status = keys_of(r, keys, KEYS);
    if (status != ST_SUCCESS) return status;
    struct registrant* reg = own(r);
    if (!reg || reg->key != keys[CURRENT]) return ST_RESV_CONFLICT;
    if (action != RESV_ACQUIRE_ACQUIRE) return preempt(r, reg, keys[PREEMPTED]);
    if (reservation_of(r)->type == RESV_TYPE_NONE) resv_acquire(r->drive, reg, type_of(r));
    return resv_holds(r->drive, reg) && reservation_of(r)->type == type_of(r) ? (uint32_t)ST_SUCCESS : ST_RESV_CONFLICT;
}

/// Preempt and Abort (8.1.22.7): commands of those who were preempted that have begun end, one after the other. It ends when there
/// are no more: what comes now is refused, or reads.
static uint32_t abort_preempted(struct request* r) {
    for (; r->at < r->drive->hw.num_fn; r->at++) {
        struct function* fn = &r->drive->functions[r->at];
        if (!(r->controllers >> r->at & 1u)) continue;
        for (;;) {
            if (!r->looking) {
                if (fn->life != READY || r->left == 0) break;
                if (turn_waits(&r->drive->look_turns, r->drive->looking, r->fn->hw.place)) return WAIT;
                r->left--;
                r->looking = true;
                r->drive->looking = r->fn;
                hw_abort_in_namespace(&fn->hw, nsid_of(r));
            }
            if (!hw_abort_idle()) {
                r->fn->wake |= EV(ABORT_IDLE);
                return WAIT;
            }
            r->looking = false;
            r->drive->looking = NULL;
            if (!hw_abort_found()) break;
            uint32_t qid, cid;
            hw_aborted_command(&fn->hw, &qid, &cid);
            hw_io_forget(r->drive->io, &fn->hw, qid, cid);
            if (fn->life == READY) hw_complete_io(&fn->hw, qid, cid, ST_ABORTED_PREEMPT);
        }
        r->left = r->drive->hw.num_cmds;
    }
    return ST_SUCCESS;
}

// ---------------------------------------------------------------- Release
/// 8.1.22.6: nothing happens, and that is a success, if it does not hold.
static uint32_t release(struct request* r, const struct registrant* reg) {
    uint32_t type = reservation_of(r)->type;
    if (type == RESV_TYPE_NONE || !resv_holds(r->drive, reg)) return ST_SUCCESS;
    if (type != type_of(r)) return ST_INVALID_FIELD;
    resv_release(r->drive, nsid_of(r));
    tell_released(r, type);
    return ST_SUCCESS;
}

/// 8.1.22.8.
static uint32_t clear(struct request* r) {
    resv_notify_others(r->drive, nsid_of(r), RESV_NOTICE_RESERVATION_PREEMPTED, host_of(r));
    for (uint32_t i = 0; i < MAX_REGISTRANTS; i++) {
        struct registrant* reg = &reservations_of(r->drive)->of[i];
        if (reg->nsid == nsid_of(r)) reg->nsid = 0;
    }
    resv_release(r->drive, nsid_of(r));
    reservation_of(r)->generation++;
    return ST_SUCCESS;
}

static uint32_t reservation_release(struct request* r) {
    uint64_t key;
    if (action_of(r) > RESV_RELEASE_CLEAR || ignores_key(r)) return ST_INVALID_FIELD;
    uint32_t status = keys_of(r, &key, 1);
    if (status != ST_SUCCESS) return status;
    const struct registrant* reg = own(r);
    if (!reg || reg->key != key) return ST_RESV_CONFLICT;
    return action_of(r) == RESV_RELEASE_CLEAR ? clear(r) : release(r, reg);
}

// ---------------------------------------------------------------- Report
/// Identifiers of all hosts are alike: the size of one that there is. False: there is none, or all are 0.
static bool any_size(const struct drive* drive, bool* wide) {
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) {
        const struct host* host = &drive->functions[i].reservations->host;
        if (!(host->id[0] | host->id[1] | host->id[2] | host->id[3])) continue;
        *wide = host->wide;
        return true;
    }
    return false;
}

static void put_registrant(const struct drive* drive, uint8_t* at, bool extended, uint32_t id,
                           const struct registrant* reg) {
    memset(at, 0, extended ? 64 : 24);
    put16(at, id);
    at[2] = resv_holds(drive, reg);
    put64(at + (extended ? 8 : 16), reg->key);
    for (uint32_t i = 0; i < (extended ? 4u : 2u); i++) put32(at + (extended ? 16 : 8) + 4 * i, reg->host.id[i]);
}

// All rows there may be: each other function may be another one of a registrant.
_Static_assert(64u + 64u * (MAX_REGISTRANTS + FUNCTIONS - 1u) <= PAGE_SIZE, "the longest report is built in a page");

/// 7.8: each controller whose host is a registrant; and each registrant whose host has none, with FFFFh. Nothing is sent
/// behind the last.
static uint32_t reservation_report(struct request* r) {
    uint32_t dwords = r->cmd.dw[10];
    bool extended = r->cmd.dw[11] & 1u, wide;
    uint32_t head = extended ? 64 : 24, each = head, count = 0;
    if (any_size(r->drive, &wide) && wide != extended) return ST_HOSTID_FORMAT;
    if (dwords >= PAGE_SIZE << CFG_MDTS >> 2) return ST_INVALID_FIELD;
    uint8_t* page = page_of(r);
    memset(page, 0, head);
    for (uint32_t i = 0; i < MAX_REGISTRANTS; i++) {
        const struct registrant* reg = &reservations_of(r->drive)->of[i];
        bool has_any = false;
        if (reg->nsid != nsid_of(r)) continue;
        for (uint32_t n = 0; n <= r->drive->hw.num_fn; n++) {
            bool last = n == r->drive->hw.num_fn;
            if (last ? has_any : !resv_is_of(&r->drive->functions[n], reg)) continue;
            has_any = true;
            put_registrant(r->drive, page + head + count++ * each, extended, last ? 0xffff : n, reg);
        }
    }
    put32(page, reservation_of(r)->generation);
    page[4] = reservation_of(r)->type;
    page[5] = (uint8_t)count;
    page[9] = reservation_of(r)->persists;
    uint32_t total = (dwords + 1) << 2, have = head + count * each;
    if (have > total) have = total;
    return data_send(r->drive->buffers, &r->cmd, have, have);
}

// ---------------------------------------------------------------- the commands
uint32_t reservation_command(struct request* r) {
    enum { BEGIN, ABORTING };
    uint32_t opcode = cmd_opcode(&r->cmd), nsid = nsid_of(r), status;
    if (r->saving) return save_step(r);
    if (r->step == BEGIN) {
        status = ns_check_active(r->drive, r->fn, nsid);  // it may have gone since
        if (status != ST_SUCCESS) return status;
        if (opcode == OPC_RESV_REPORT) return reservation_report(r);
        // it may have to be saved
        if (turn_waits(&r->drive->change_turns, r->drive->changing, r->fn->hw.place)) return WAIT;
        bool persisted = reservation_of(r)->persists;
        if (opcode == OPC_RESV_REGISTER) status = reservation_register(r);
        else if (opcode == OPC_RESV_ACQUIRE) status = reservation_acquire(r);
        else status = reservation_release(r);
        if (status != ST_SUCCESS) return status;
        ns_show(r->drive, nsid);
        r->found = persisted || reservation_of(r)->persists;
        if (opcode != OPC_RESV_ACQUIRE || action_of(r) != RESV_ACQUIRE_PREEMPT_ABORT)
            return r->found ? end_saved(r, ST_SUCCESS) : (uint32_t)ST_SUCCESS;
        r->drive->changing = r->found ? r->fn : NULL;
        r->left = r->drive->hw.num_cmds;
        r->step = ABORTING;
    }
    if (abort_preempted(r) == WAIT) return WAIT;
    return r->drive->changing == r->fn && r->found ? end_saved(r, ST_SUCCESS) : (uint32_t)ST_SUCCESS;
}

// ---------------------------------------------------------------- features, log page
/// All identifiers have the same size (5.1.25.1.28; 2.0: 5.27.1.25): the first that is not 0 chooses.
uint32_t host_id_set(struct request* r) {
    struct reservation_view* view = r->fn->reservations;
    struct host host = {.wide = r->cmd.dw[11] & 1u};
    uint32_t bytes = host.wide ? 16 : 8;
    bool wide;
    uint32_t status = data_receive(r->drive->buffers, &r->cmd, host.id, bytes, bytes);
    if (status != ST_SUCCESS) return status;
    const struct host before = view->host;
    view->host = (struct host){.place = r->fn->hw.place};
    if (host.id[0] | host.id[1] | host.id[2] | host.id[3]) {
        if (any_size(r->drive, &wide) && wide != host.wide) {
            view->host = before;
            return ST_HOSTID_FORMAT;
        }
        view->host = host;
    }
    for (uint32_t nsid = 1; nsid <= r->drive->hw.num_ns; nsid++) {
        if (resv_of(r->drive, nsid)->type != RESV_TYPE_NONE) ns_show(r->drive, nsid);
    }
    return ST_SUCCESS;
}

uint32_t host_id_get(struct request* r) {
    uint32_t bytes = r->cmd.dw[11] & 1u ? 16 : 8;
    for (uint32_t i = 0; i < 4; i++) put32(page_of(r) + 4 * i, r->cmd.dw[10] >> 8 & 7u ? 0 : host_of(r)->id[i]);
    return data_send(r->drive->buffers, &r->cmd, bytes, bytes);
}

static bool chosen(const struct request* r, uint32_t nsid) {
    return nsid == nsid_of(r) || (nsid_of(r) == NSID_ALL && ns_active(r->fn, nsid));
}

#define MASKS                                                                            \
    (1u << RESV_NOTICE_REGISTRATION_PREEMPTED | 1u << RESV_NOTICE_RESERVATION_RELEASED | \
     1u << RESV_NOTICE_RESERVATION_PREEMPTED)

uint32_t notice_mask_set(struct request* r) {
    for (uint32_t nsid = 1; nsid <= r->drive->hw.num_ns; nsid++) {
        if (chosen(r, nsid)) r->fn->ns[nsid].masked = r->cmd.dw[11] & MASKS;
    }
    return ST_SUCCESS;
}

uint32_t notice_mask_get(struct request* r) {
    r->dw0 = r->fn->ns[nsid_of(r)].masked;
    return ST_SUCCESS;
}

/// It is saved behind this.
uint32_t persistence_set(struct request* r) {
    for (uint32_t nsid = 1; nsid <= r->drive->hw.num_ns; nsid++) {
        if (chosen(r, nsid)) resv_of(r->drive, nsid)->persists = r->cmd.dw[11] & 1u;
    }
    return ST_SUCCESS;
}

/// What it is now is what is saved.
uint32_t persistence_get(struct request* r) {
    enum { DEFAULT = 1 };
    r->dw0 = (r->cmd.dw[10] >> 8 & 7u) != DEFAULT && reservation_of(r)->persists;
    return ST_SUCCESS;
}

uint32_t notice_page(struct request* r) {
    const struct reservation_view* view = r->fn->reservations;
    uint8_t* page = page_of(r);
    memset(page, 0, NOTICE_BYTES);
    if (view->count) {
        put64(page, view->number - (uint16_t)(view->number - view->notice[0].number));
        page[8] = view->notice[0].type;
        page[9] = (uint8_t)(view->count - 1);
        put32(page + 12, view->notice[0].nsid);
    }
    return NOTICE_BYTES;
}

#endif
