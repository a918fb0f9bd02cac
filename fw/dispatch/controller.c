// SPDX-License-Identifier: Apache-2.0
// The controller's life: enable, disable, shutdown, resets (Base 2.0, 3.5 to 3.7), and the loop that waits for work.
#include "dispatch/controller.h"

#include "commands/features.h"
#include "dispatch/dispatcher.h"

static void fail(struct function* fn) {
    fn->was_ready = fn->life == READY;
    hw_control(0);
    hw_status(fn->was_ready, 1, 0);
    fn->life = FAILED;
}

void controller_reset_state(struct drive* drive, struct function* fn) {
    queues_reset(&fn->queues, drive->hw.num_qp);
    keep_alive_restart(&fn->settings);
    features_reset(drive, fn);
    operators_reset(drive);
    events_reset(&fn->events);
    namespaces_open(drive, fn);
    drive->changing = fn->looking = false;
    fn->watching = 0;
    fn->aborts = 0;
    store_save_end(drive);
    fn->wake = 0;
    ns_changed_read(drive, fn);  // who resets the controller looks at all namespaces anyway
}

/// The host asks for a reset: fetch nothing, ask nothing new of host and media. `stopping` goes on from here.
static void stop(struct function* fn) {
    hw_control(CTL_STOP);
    hw_clear(EV(EN_FELL) | EV(CC));
    if (fn->life == STOPPING || fn->life == DRAINING) return;
    fn->life = STOPPING;
    fn->stop_limit = hw_time() + CFG_WAIT_US;
}

/// A reset, step by step. STOPPING: something may still touch the host's memory; the host is told nothing, and after
/// CFG_WAIT_US that it takes too long. DRAINING: nothing will, so the host is told what it waits for; but the media may
/// still be at work, and only when it owes nothing the data path is reset and can be enabled again.
static void stopping(struct drive* drive, struct function* fn, uint32_t asked) {
    uint32_t now = hw_events();
    if (!(now & EV(HOST_QUIET))) {
        if (hw_time() >= fn->stop_limit) hw_status(1, 1, 0);
        return;
    }
    fn->notified = false;
    fn->life = DRAINING;
    hw_status(0, 0, 0);
    if (asked & (EV(FLR) | EV(NSSR))) {
        hw_control(CTL_STOP | CTL_FUNCTION_RESET);
        (void)hw_time();  // let CC fall
        hw_clear(EV(EN_FELL) | EV(CC) | EV(NSSR));
        if (asked & EV(NSSR)) hw_subsystem_reset_done();
        if (asked & EV(FLR)) {
            hw_control(CTL_STOP | CTL_FLR_DONE);
            while (hw_events() & EV(FLR));
        }
    }
    if (~now & (EV(QUIET) | EV(MEDIA_IDLE))) return;
    hw_control(CTL_STOP | CTL_RESET);
    hw_clear(EV(DOORBELL_ERR));
    controller_reset_state(drive, fn);
    fn->life = DISABLED;
    hw_control(0);
}

void controller_settle(void) {
    hw_control(CTL_STOP);
    if (!hw_wait_only(EV(QUIET), hw_time() + CFG_WAIT_US)) {
        hw_status(1, 1, 0);
        (void)hw_wait_only(EV(QUIET), NEVER);
    }
    (void)hw_wait_only(EV(MEDIA_IDLE), NEVER);
    hw_control(CTL_STOP | CTL_RESET);
    hw_status(0, 0, 0);
    hw_control(0);
}

static bool settings_valid(uint32_t cc, uint32_t aqa) {
    uint32_t css = cc_css(cc);
    return cc_mps(cc) == 0 && cc_ams(cc) <= 1 && (css == 0 || css == 6) && (aqa & 0xfffu) && (aqa >> 16 & 0xfffu);
}

static void enable(struct drive* drive, struct function* fn, uint32_t cc) {
    uint32_t aqa = hw_aqa();
    fn->cc = cc;
    fn->notified = false;
    if (!settings_valid(cc, aqa)) {
        fail(fn);
        return;
    }
    hw_create_cq(0, hw_acq(), aqa >> 16 & 0xfffu, 0, true);
    hw_create_sq(0, hw_asq(), aqa & 0xfffu, 0, 0);
    hw_control(CTL_RUN | (cc_ams(cc) ? (uint32_t)CTL_WRR : 0));
    fn->life = READY;
    (void)store_in_use(drive, fn, true);
    if (hw_events() & EV_RESET) return;
    hw_status(1, 0, 0);
}

static void shut_down(struct drive* drive, struct function* fn, uint32_t shn) {
    bool cfs = fn->life == FAILED;
    bool rdy = fn->life == READY || (cfs && fn->was_ready);
    fn->notified = true;
    hw_status(rdy, cfs, 1);
    hw_control(0);
    // A normal shutdown ends the commands that have been taken; an abrupt one stops them where they are. Either way the
    // media has answered every write before it is told to flush. What is not durable is not called shut down.
    if (rdy && !(shn == 1 && !cfs && hw_wait(EV(DRAINED), hw_time() + CFG_WAIT_US))) {
        hw_control(CTL_STOP);
        if (!hw_wait(EV(QUIET), NEVER)) return;  // a reset
    }
    bool durable = hw_media_flush();
    if (hw_events() & EV_RESET) return;
    if (fn->life == READY) fn->life = OFF;
    if (!durable || !store_in_use(drive, fn, false)) {
        hw_status(rdy, 1, 1);
        return;
    }
    hw_status(rdy, cfs, 2);
}

/// One record a turn of the loop: those of a storm come between the admin commands, not before them.
static void collect_error(struct function* fn) {
    struct hw_io_error e;
    if (hw_io_error(&e)) error_log_add(&fn->errors, e.sqid, e.cid, e.status, e.nsid, e.lba);
}

static void collect_doorbell(struct function* fn) {
    struct hw_doorbell_error bad = hw_doorbell_error();
    if (fn->life != READY) return;
    error_log_add(&fn->errors, bad.qid, 0xffff, ST_QUEUE_ID, 0, 0);
    event_report(&fn->events, AER_TYPE_ERROR, bad.value);  // 0 no such doorbell, 1 bad value
}

static void keep_alive_timer(struct function* fn) {
    if (hw_time() < keep_alive_deadline(&fn->settings)) return;
    error_log_add(&fn->errors, 0, 0xffff, ST_KEEP_ALIVE_EXPIRED, 0, 0);
    fail(fn);
}

/// When the loop looks again though nothing has happened: some of what commands wait for is no event.
static uint64_t wake(const struct function* fn, bool poll) {
    uint64_t at = keep_alive_deadline(&fn->settings), soon = hw_time() + CFG_POLL_US;
    return poll && soon < at ? soon : at;
}

_Noreturn void controller_loop(struct drive* drive, struct function* fn, struct waiting* waiting, hw_ring_t* ring) {
    struct request r = {.drive = drive, .fn = fn};
    for (;;) {
        uint32_t now = hw_events();
        if (now & EV_RESET) {
            stop(fn);
            waiting->count = 0;
        }
        if (fn->life == STOPPING || fn->life == DRAINING) {
            stopping(drive, fn, now);
            if (fn->life == STOPPING) {
                hw_sleep(EV(HOST_QUIET), hw_time() < fn->stop_limit ? fn->stop_limit : NEVER);
                continue;
            }
            if (fn->life == DRAINING) {
                uint32_t missing = ~hw_events() & (EV(QUIET) | EV(MEDIA_IDLE));
                if (missing) hw_sleep(EV_RESET | (missing & EV(QUIET) ? EV(QUIET) : EV(MEDIA_IDLE)), NEVER);
                continue;
            }
        }
        hw_clear(EV(CC));
        uint32_t cc = hw_cc();
        if (fn->life == DISABLED && cc_en(cc)) enable(drive, fn, cc);
        if ((cc_shn(cc) == 1 || cc_shn(cc) == 2) && !fn->notified) shut_down(drive, fn, cc_shn(cc));
        collect_error(fn);
        if (now & EV(DOORBELL_ERR)) collect_doorbell(fn);
        if (fn->life == READY) {
            if (waiting->count) go_on(waiting, fn);
            if (hw_command(ring, &r.cmd)) {
                execute(waiting, &r);
                continue;
            }
            if (now & EV(TIMER)) keep_alive_timer(fn);
        }
        uint32_t awake = EV(CC) | EV(ERR) | EV(DOORBELL_ERR) | EV_RESET;
        if (fn->life != READY) {
            hw_sleep(awake, NEVER);
            continue;
        }
        hw_sleep(awake | EV(SQE) | (waiting->count ? fn->wake : 0), wake(fn, waiting->count && fn->poll));
    }
}
