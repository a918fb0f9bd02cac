// SPDX-License-Identifier: Apache-2.0
// Time, events, sleep, registers and completions (hardware.h). What is held here: a command is completed once, and not after its
// function was reset; the firmware sleeps before it has asked the hardware too often; what it copies is what the copy engine can.
#include "hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firmware.h"

#define MOST_CALLS 200000u  // of the hardware without a sleep
#define MOST_SLEEPS 100000u
#define PATIENCE_US 60000000u  // after its last event everything has come to rest

struct model model;

void broken(const char* what, uint32_t value) {
    fprintf(stderr, "firmware: %s (0x%x)\n", what, value);
    abort();
}

uint32_t take8(struct script* script) {
    if (!script->left) return 0;
    script->left--;
    return *script->at++;
}

uint32_t take32(struct script* script) {
    uint32_t value = take8(script);
    for (uint32_t shift = 8; shift < 32; shift += 8) value |= take8(script) << shift;
    return value;
}

// ---------------------------------------------------------------- what the host does
void submit(uint32_t place, const uint32_t* dw) {
    struct model_function* f = &model.functions[place];
    if (!f->ready || f->inside == ADMIN_INSIDE || model.ring_count == 15) return;
    uint32_t cid = model.next_identifier++ % IDENTIFIERS;
    if (f->there[cid]) return;
    f->there[cid] = true;
    f->opcode[cid] = (uint8_t)dw[0];
    f->inside++;
    cmd_t* c = &model.ring[model.ring_count++];
    memcpy(c->dw, dw, sizeof c->dw);
    c->dw[0] = (dw[0] & 0xffffu) | cid << 16;
    c->function = hw_number(place);
}

void write_cc(uint32_t place, uint32_t cc) {
    struct model_function* f = &model.functions[place];
    bool fell = (f->cc & 1u) && !(cc & 1u);
    f->cc = cc;
    f->event |= FN_CC | (fell ? (uint32_t)FN_EN_FELL : 0);
    model.events |= EV(CC) | (fell ? EV(EN_FELL) : 0);
    if (fell) f->ready = false;
}

void ask_flr(uint32_t place) {
    model.functions[place].flr = true;
    model.functions[place].ready = false;
}

/// The host was told that nothing of it is touched any more. With one function the ring is empty then; with several, commands
/// that the firmware has not taken stay in it.
static void forget(uint32_t place) {
    struct model_function* f = &model.functions[place];
    if (FUNCTIONS == 1) model.ring_count = 0;
    memset(f->there, 0, sizeof f->there);
    f->inside = 0;
}

static void registers_reset(uint32_t place) {
    struct model_function* f = &model.functions[place];
    f->cc = f->aqa = 0;
    f->ready = false;
}

// ---------------------------------------------------------------- time, events, sleep
static void called(void) {
    if (++model.calls > MOST_CALLS) broken("does not come to a sleep", model.calls);
}

/// Hosts are quicker than the firmware: one that waits for RDY = 0 has seen it by the next look.
static void hosts_go_on(void) {
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        struct model_function* f = &model.functions[i];
        if (!f->wants || f->rdy || f->flr || (f->cc & 1u)) continue;
        write_cc(i, f->wants);
        f->wants = 0;
    }
}

uint64_t hw_time(void) {
    called();
    hosts_go_on();
    return ++model.time;
}

static uint32_t levels(void) {
    uint32_t now = EV(COPY_IDLE) | EV(QUIET) | EV(COMPLETION_IDLE) | EV(QUEUE_CTX_IDLE) | EV(DRAINED) | EV(SQ_IDLE) |
                   EV(HOST_QUIET);
    if (model.ring_count) now |= EV(SQE);
    if (model.has_error) now |= EV(ERR);
    if (model.has_doorbell_error) now |= EV(DOORBELL_ERR);
    if (!model.media_busy) now |= EV(MEDIA_IDLE);
    if (!model.abort_busy) now |= EV(ABORT_IDLE);
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        if (model.functions[i].flr) now |= EV(FLR);
    }
    return now;
}

uint32_t hw_events(void) {
    called();
    hosts_go_on();
    return model.events | levels() | EV(TIMER);
}

void hw_clear(uint32_t events) {
    called();
    model.events &= ~(events & (EV(CC) | EV(EN_FELL) | EV(NSSR)));
    if (events & EV(DOORBELL_ERR)) model.has_doorbell_error = false;
}

static void at_rest(void) {
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        const struct model_function* f = &model.functions[i];
        for (uint32_t cid = 0; f->ready && !is_failed(i) && cid < IDENTIFIERS; cid++) {
            if (f->there[cid] && f->opcode[cid] != ADMIN_OPC_ASYNC_EVENT)
                broken("never completes a command", f->opcode[cid]);
        }
    }
    longjmp(model.end, 1);
}

void hw_turn(uint64_t wake) {
    (void)wake;
    model.calls = 0;
    if (++model.sleeps > MOST_SLEEPS) broken("never comes to rest", model.sleeps);
}

void hw_sleep(uint32_t events, uint64_t wake) {
    model.calls = 0;
    if (++model.sleeps > MOST_SLEEPS) broken("never comes to rest", model.sleeps);
    if (model.media_busy) model.media_busy--;
    if (model.abort_busy) model.abort_busy--;
    if ((model.events | levels()) & events) return;
    if (!model.ended && next_event()) return;
    if (!model.ended) {
        model.ended = true;
        model.idle = 0;
    }
    if (model.media_busy || model.abort_busy) return;
    if (wake == NEVER || wake > model.time + PATIENCE_US || ++model.idle > 4000u) at_rest();
    if (wake > model.time) model.time = wake;
}

/// What it waits for comes, unless something is asked for meanwhile that ends the wait.
static bool wait(uint32_t events, uint32_t give_up) {
    called();
    if (model.events & give_up || levels() & give_up) return false;
    if (events & EV(MEDIA_IDLE)) model.media_busy = 0;
    if (events & EV(ABORT_IDLE)) model.abort_busy = 0;
    return true;
}

bool hw_wait(uint32_t events, uint64_t until) {
    (void)until;
    return wait(events, FUNCTIONS > 1 ? 0 : EV_RESET);
}

bool hw_wait_only(uint32_t events, uint64_t until) {
    (void)until;
    return wait(events, 0);
}

// ---------------------------------------------------------------- controllers
void hw_init(struct hw_config* config, hw_ring_t* ring) {
    (void)ring;
    *config = model.config;
}

void hw_control(uint32_t control) {
    called();
    if (FUNCTIONS > 1) return;
    if (control & CTL_FUNCTION_RESET) registers_reset(0);
    if (control & CTL_FLR_DONE) model.functions[0].flr = false;
}

void hw_status(const struct hw_function* f, uint32_t rdy, uint32_t cfs, uint32_t shst) {
    called();
    (void)cfs;
    (void)shst;
    model.functions[f->place].rdy = rdy;
    model.functions[f->place].ready = rdy && (model.functions[f->place].cc & 1u);
    if (!rdy) forget(f->place);
}

void hw_subsystem_reset_done(const struct hw_function* f) {
    model.functions[f->place].rdy = false;
    registers_reset(f->place);
    forget(f->place);
}

uint32_t hw_cc(const struct hw_function* f) { return model.functions[f->place].cc; }
uint32_t hw_aqa(const struct hw_function* f) { return model.functions[f->place].aqa; }
uint64_t hw_asq(const struct hw_function* f) { return 0x1000u * f->place; }
uint64_t hw_acq(const struct hw_function* f) { return 0x8000u + 0x1000u * f->place; }

uint32_t hw_functions_pending(void) {
    called();
    uint32_t pending = 0;
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        pending |= (uint32_t)(model.functions[i].event || model.functions[i].flr) << i;
    return pending;
}

uint32_t hw_function_events(const struct hw_function* f) {
    called();
    const struct model_function* m = &model.functions[f->place];
    return m->event | (m->flr ? (uint32_t)FN_FLR : 0) | (uint32_t)FN_ENABLE;
}

void hw_function_clear(const struct hw_function* f, uint32_t events) {
    model.functions[f->place].event &= ~(events & (FN_CC | FN_EN_FELL));
}

void hw_functions_off(uint32_t places) { (void)places; }
void hw_function_reset(const struct hw_function* f) { registers_reset(f->place); }
void hw_function_reset_done(const struct hw_function* f) { model.functions[f->place].flr = false; }

// ---------------------------------------------------------------- commands, completions, data
bool hw_command(hw_ring_t* ring, cmd_t* cmd) {
    (void)ring;
    called();
    if (!model.ring_count) return false;
    *cmd = model.ring[0];
    memmove(model.ring, model.ring + 1, --model.ring_count * sizeof *model.ring);
    return true;
}

void hw_commands_forget(hw_ring_t* ring, uint32_t function) {
    (void)ring;
    for (uint32_t i = 0; i < model.ring_count; i++) {
        if (model.ring[i].function == function) model.ring[i].function = 0xff;
    }
}

void hw_complete(uint32_t function, uint32_t cid, uint32_t status, uint32_t dw0) {
    (void)dw0;
    called();
    uint32_t place = hw_place(function);
    if (place >= FUNCTIONS) broken("completes a command of no function", function);
    struct model_function* f = &model.functions[place];
    if (cid >= IDENTIFIERS || !f->there[cid]) broken("completes a command that there is not", cid);
    if (status > 0x7fffu) broken("a status of more than 15 bits", status);
    f->there[cid] = false;
    f->inside--;
}

void hw_complete_io(const struct hw_function* f, uint32_t sqid, uint32_t cid, uint32_t status) {
    called();
    if (sqid == 0 || sqid > f->num_qp || cid > 0xffffu || status > 0x7fffu)
        broken("ends an I/O command of no queue", sqid);
}

bool hw_copy(uint32_t op, uint32_t function, uint64_t host, const void* ram, uint32_t bytes) {
    called();
    if (hw_place(function) >= FUNCTIONS) broken("copies for no function", function);
    if (!bytes || bytes % 4u || host % 4u || host % 4096u + bytes > 4096u)
        broken("copies what is not within a page", bytes);
    if (op == COPY_GET && (bytes > 64u || (uintptr_t)ram % 64u)) broken("reads more than a row", bytes);
    bool there = host < HOST_BYTES && host + bytes <= HOST_BYTES;
    if (op == COPY_PUT) {
        uint8_t data[4096];
        memcpy(data, ram, bytes);  // all of it is its own memory
        if (there) memcpy(model.host + host, data, bytes);
    } else if (op == COPY_ZERO) {
        if (there) memset(model.host + host, 0, bytes);
    } else {
        memset((void*)ram, 0xee, 64);  // whole rows
        if (there) memcpy((void*)ram, model.host + host, bytes);
    }
    return there || op != COPY_GET;
}
