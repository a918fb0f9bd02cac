// SPDX-License-Identifier: Apache-2.0
#include "dispatch/functions.h"

#include "dispatch/io_commands.h"
#include "dispatch/life.h"

// A function-level reset: asked for; answered, and the hard block has not taken the answer yet.
enum { FLR_NONE, FLR_ASKED, FLR_ANSWERED };

// ---------------------------------------------------------------- reset of a function
/// Its commands that are not over are forgotten, and others will have what they had. A look at the slots goes on: the loop
/// lets it go when it is over.
static void let_go(struct drive* drive, struct function* fn, struct waiting* waiting) {
    dismiss(waiting, drive);
    if (drive->changing != fn) return;
    drive->releasing = true;
    if (drive->store.part) store_save_start(drive);
}

/// The media still does what it was told last: blocks that it zeroes are not to be written by anybody before it has, and
/// what is being saved is so to the end.
static void release(struct drive* drive, uint32_t* wake) {
    if (!drive->releasing) return;
    if (drive->store.saving ? !store_save_step(drive) : !hw_media_idle()) {
        *wake |= EV(MEDIA_IDLE);
        return;
    }
    drive->releasing = false;
    namespaces_open(drive);
    drive->changing = NULL;
}

/// Nothing more is fetched for it, and nothing is answered.
static void cut_off(struct drive* drive, struct function* fn, struct waiting* waiting) {
    life_off(drive, fn, true);
    const struct queue* sq = sqs_of(drive, fn);
    for (uint32_t qid = 1; qid <= fn->hw.num_qp; qid++) {
        if (sq[qid].exists) hw_delete_sq(&fn->hw, qid);
    }
    hw_delete_sq(&fn->hw, 0);
    let_go(drive, fn, waiting);
}

static bool resets(const struct function* fn) { return fn->life == STOPPING || fn->life == DRAINING; }

static void stop(struct drive* drive, struct function* fn, struct waiting* waiting) {
    if (resets(fn) || (fn->life == DISABLED && fn->flr != FLR_ASKED && !fn->nssr)) return;
    fn->life = STOPPING;
    fn->flushing = false;
    fn->aborting = false;  // a look of its shutdown: the loop lets it go when it is over
    fn->idle = 0;
    cut_off(drive, fn, waiting);
}

/// From online to offline: once it is quiet it has no resources any more, and CSTS.CFS is 1 until it is online again
/// (Base 2.0, 8.26.3).
static void take_offline(struct function* vf) {
    if (!vf->online) return;
    vf->online = false;
    vf->going_offline = true;
}

static void is_offline(struct drive* drive, struct function* vf) {
    vf->going_offline = false;
    (void)resources_give(drive, vf, (struct resources){0, 0});
    hw_status(&vf->hw, 0, 1, 0);
}

/// With a reset of the PF its VFs go offline (Base 2.0, 8.26.3).
static void stop_with_vfs(struct drive* drive, struct function* fn, struct waiting* waiting) {
    stop(drive, fn, waiting);
    if (fn->hw.place) return;
    for (uint32_t i = 1; i < drive->hw.num_fn; i++) {
        take_offline(&drive->functions[i]);
        stop(drive, &drive->functions[i], waiting + i);
    }
}

/// The host is told. What resets the registers too does so before: a host that sees RDY = 0 goes on at once, and what it
/// writes then stays; NSSR has reset those of the PF itself. A function-level reset is over after both.
static void is_disabled(struct function* fn) {
    if (fn->flr == FLR_ASKED || (fn->nssr && fn->hw.place)) {
        hw_function_reset(&fn->hw);
        hw_function_clear(&fn->hw, FN_EN_FELL | FN_CC);
    }
    if (fn->nssr && fn->hw.place == 0) hw_subsystem_reset_done(&fn->hw);
    else hw_status(&fn->hw, 0, !fn->online, 0);
    fn->nssr = false;
    if (fn->flr != FLR_ASKED) return;
    hw_function_reset_done(&fn->hw);
    fn->flr = hw_function_events(&fn->hw) & FN_FLR ? FLR_ANSWERED : FLR_NONE;
}

/// STOPPING: the hardware ends its commands, then nothing touches the host's memory any more and the host is told. DRAINING:
/// until the media has done with them. What it waits for is in `wake`, or is no event: `poll`.
static void stopping(struct drive* drive, struct function* fn, uint32_t* wake, bool* poll) {
    if (fn->life == STOPPING) {
        if (!fn->aborting) {
            if (turn_waits(&drive->look_turns, drive->looking, fn->hw.place)) {
                *wake |= EV(ABORT_IDLE);
                *poll |= !drive->looking;
                return;
            }
            drive->looking = fn;
            fn->aborting = true;
            hw_abort(&fn->hw, HW_ABORT_FUNCTION, 0, 0);
        }
        if (!hw_abort_idle()) {
            *wake |= EV(ABORT_IDLE);
            return;
        }
        drive->looking = NULL;
        fn->aborting = false;
        const struct queue* cq = cqs_of(drive, fn);
        for (uint32_t qid = 1; qid <= fn->hw.num_qp; qid++) {
            if (cq[qid].exists) hw_delete_cq(&fn->hw, qid);
        }
        hw_delete_cq(&fn->hw, 0);
        fn->notified = false;
        fn->life = DRAINING;
        fn->stop_limit = 0;
        is_disabled(fn);
    }
    if (fn->flr == FLR_ASKED || fn->nssr) is_disabled(fn);  // asked for since
    for (; fn->idle < fn->hw.num_qp;
         fn->idle++) {  // those of reservations have been dismissed; commands of queue 0 are here, or forgotten
        if (hw_sq_idle(&fn->hw, fn->idle + 1u)) continue;
        *poll = true;
        return;
    }
    // What reducers find in its commands may come a little later; they work for others too.
    if (fn->stop_limit == 0) fn->stop_limit = hw_time() + CFG_REDUCING_US;
    if (drive->hw.key_slots && hw_reducing() && hw_time() < fn->stop_limit) {
        *poll = true;
        return;
    }
    if (fn->hw.place == 0) {
        for (uint32_t i = 1; i < drive->hw.num_fn; i++) {
            if (!resets(&drive->functions[i])) continue;  // offline: its host may have made it fail meanwhile
            *poll = true;
            return;
        }
        queues_reset(sqs_of(drive, fn), cqs_of(drive, fn), fn->hw.num_qp);  // others may get what it has too many
        resources_settle(drive);
    }
    life_reset_state(drive, fn);
    fn->life = DISABLED;
    fn->look = true;
    if (fn->going_offline) is_offline(drive, fn);
    life_off(drive, fn, false);
}

// ---------------------------------------------------------------- shutdown of a function
static bool any_in_use(const struct drive* drive) {
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) {
        if (drive->functions[i].life == READY) return true;
    }
    return false;
}

/// None of its commands is under way; entries of those that are done may wait for room, which its host need not make. One
/// look at the slots after the other, in turn with others that look; what it waits for is as for `stopping`.
static bool all_done(struct drive* drive, struct function* fn, uint32_t* wake, bool* poll) {
    if (fn->aborting && hw_abort_idle()) {
        fn->aborting = false;
        drive->looking = NULL;
        if (!hw_abort_found()) return true;
        *poll = true;
        return false;
    }
    if (!fn->aborting) {
        if (!turn_waits(&drive->look_turns, drive->looking, fn->hw.place)) {
            drive->looking = fn;
            fn->aborting = true;
            hw_abort(&fn->hw, HW_ABORT_FIND_FUNCTION, 0, 0);
        }
        *poll |= !drive->looking;
    }
    *wake |= EV(ABORT_IDLE);
    return false;
}

static void begin_shutdown(struct function* fn, uint32_t shn) {
    bool cfs = fn->life == FAILED;
    bool rdy = fn->life == READY || (cfs && fn->was_ready);
    fn->notified = true;
    fn->was_ready = rdy;
    fn->stop_limit = shn == 1 && rdy && !cfs ? hw_time() + CFG_WAIT_US : 0;
    hw_status(&fn->hw, rdy, cfs, 1);
    fn->life = SHUTTING;
}

/// Commands that have been taken end, then what they have written becomes durable. It holds what a change of namespaces would,
/// as there is one media.
static void shutting(struct drive* drive, struct function* fn, uint32_t* wake, bool* poll) {
    if (!fn->flushing) {
        if (hw_time() < fn->stop_limit && !all_done(drive, fn, wake, poll)) return;
        fn->stop_limit = 0;  // nothing is under way, or it takes too long: in turn with others now
        if (turn_waits(&drive->change_turns, drive->changing || !hw_media_idle(), fn->hw.place)) {
            *poll = true;
            return;
        }
        fn->aborting = false;  // too late: the look that goes on does not count
        drive->changing = fn;
        fn->flushing = true;
        hw_media_flush_start(ns_foreign_ssds(drive, fn));
    }
    if (!hw_media_idle()) {
        *wake |= EV(MEDIA_IDLE);
        return;
    }
    fn->flushing = false;
    drive->changing = NULL;
    fn->life = OFF;
    bool durable = hw_media_ok() && (any_in_use(drive) || store_in_use(drive, false));
    hw_status(&fn->hw, fn->was_ready, !durable, durable ? 2 : 1);
}

// ---------------------------------------------------------------- the loop
/// What a function's registers ask for.
static void look(struct drive* drive, struct function* fn, struct waiting* waiting, uint32_t events) {
    if (events & (FN_CC | FN_EN_FELL)) {
        hw_function_clear(&fn->hw, events & (FN_CC | FN_EN_FELL));
        fn->look = true;
    }
    if ((events & FN_FLR) && fn->flr == FLR_NONE) {
        fn->flr = FLR_ASKED;
        stop_with_vfs(drive, fn, waiting);
    }
    if (events & FN_EN_FELL) stop_with_vfs(drive, fn, waiting);
    if ((events & FN_EN_FELL) && !(events & FN_ENABLE)) take_offline(fn);  // the VF is no more
}

static void step(struct drive* drive, struct function* fn, struct waiting* waiting, hw_ring_t* ring, uint32_t* wake,
                 bool* poll) {
    if (fn->going_offline) {
        if (fn->life == DISABLED) is_offline(drive, fn);
        else stop(drive, fn, waiting);
        *poll = true;
    }
    if (fn->flr == FLR_ANSWERED) {  // its end is no event, and the next one may come while the processor sleeps
        if (!(hw_function_events(&fn->hw) & FN_FLR)) fn->flr = FLR_NONE;
        else *poll = true;
    }
    if (resets(fn)) stopping(drive, fn, wake, poll);
    // It has failed, or is told to shut down; a reservation's change is an I/O command's.
    if (fn->life != READY && (waiting->count || (drive->changing == fn && !fn->flushing))) let_go(drive, fn, waiting);
    if (fn->life == SHUTTING) shutting(drive, fn, wake, poll);
    if (fn->look && !resets(fn) && fn->life != SHUTTING) {
        fn->look = false;
        uint32_t cc = hw_cc(&fn->hw);
        if (fn->life == DISABLED && cc_en(cc)) {
            hw_commands_forget(ring, fn->hw.number);  // what was fetched before its reset and is still there
            if (fn->online) (void)life_enable(drive, fn, cc);
            else life_fail(drive, fn);
        }
        if ((cc_shn(cc) == 1 || cc_shn(cc) == 2) && !fn->notified) begin_shutdown(fn, cc_shn(cc));
        if (fn->life == SHUTTING) *poll = true;
    }
    if (fn->life == READY && waiting->count) {
        go_on(waiting, drive, fn);
        if (waiting->count) {
            *wake |= fn->wake;
            *poll |= fn->poll;
        }
    }
}

/// A command out of the ring, for its function. False: there was none.
static bool take(struct drive* drive, struct waiting* waiting, hw_ring_t* ring) {
    struct request r = {.drive = drive};
    if (!hw_command(ring, &r.cmd)) return false;
    uint32_t place = hw_place(r.cmd.function);
    if (place >= drive->hw.num_fn || drive->functions[place].life != READY) return true;  // it has been reset since
    r.fn = &drive->functions[place];
    execute(&waiting[place], &r);
    return true;
}

_Noreturn void functions_loop(struct drive* drive, struct waiting* waiting, struct io_waiting* io, hw_ring_t* ring) {
    const struct function* all = drive->functions + drive->hw.num_fn;  // their end
    hw_control(CTL_RUN);
    for (;;) {
        uint32_t now = hw_events(), wake = 0;
        bool poll = false;
        hw_clear(now & (EV(CC) | EV(EN_FELL) | EV(NSSR)));  // what comes meanwhile is seen the next time
        uint32_t pending = hw_functions_pending();
        uint64_t at = NEVER;
        if (now & EV(NSSR)) {
            for (uint32_t i = 0; i < drive->hw.num_fn; i++) drive->functions[i].nssr = true;
            stop_with_vfs(drive, drive->functions, waiting);
        }
        turns_begin(&drive->change_turns);
        turns_begin(&drive->look_turns);
        const struct function* looks = drive->looking;
        if (looks && !looks->aborting && looks->life != READY && hw_abort_idle()) drive->looking = NULL;
        struct waiting* its = waiting;
        for (struct function* fn = drive->functions; fn < all; fn++, its++, pending >>= 1) {
            if (pending & 1u) look(drive, fn, its, hw_function_events(&fn->hw));
            step(drive, fn, its, ring, &wake, &poll);
            if (fn->life != READY && fn->life != DISABLED) io_commands_dismiss(drive, fn, io);
            if (fn->life == READY && (now & EV(TIMER))) life_keep_alive(drive, fn);
            if (fn->life == READY && life_wake(fn, false) < at) at = life_wake(fn, false);
        }
        release(drive, &wake);
        bool more = io_commands_turn(drive, io, &wake, &poll);
        life_collect_error(drive);  // its own too, before the host can ask for it
        if (now & EV(DOORBELL_ERR)) life_collect_doorbell(drive);
        if (now & EV(MEDIA_WARNING)) life_media_warning(drive);
        if (take(drive, waiting, ring) || more) {
            hw_turn(at);
            continue;
        }
        if (poll && hw_time() + CFG_POLL_US < at) at = hw_time() + CFG_POLL_US;
        wake |= EV(CC) | EV(EN_FELL) | EV(NSSR) | EV(FLR) | EV(ERR) | EV(DOORBELL_ERR) | EV(MEDIA_WARNING) | EV(SQE);
        hw_sleep(wake, at);
    }
}
