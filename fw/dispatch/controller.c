// SPDX-License-Identifier: Apache-2.0
#include "dispatch/controller.h"

#include "dispatch/life.h"

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
        if (hw_time() >= fn->stop_limit) hw_status(&fn->hw, 1, 1, 0);
        return;
    }
    fn->notified = false;
    fn->life = DRAINING;
    // A host that sees RDY = 0 goes on at once: its registers are reset before. NSSR has done so itself.
    if (asked & EV(FLR)) {
        hw_control(CTL_STOP | CTL_FUNCTION_RESET);
        (void)hw_time();  // let CC fall
        hw_clear(EV(EN_FELL) | EV(CC));
    }
    hw_clear(asked & EV(NSSR));
    if (asked & EV(NSSR)) hw_subsystem_reset_done(&fn->hw);
    else hw_status(&fn->hw, 0, 0, 0);
    if (asked & EV(FLR)) {
        hw_control(CTL_STOP | CTL_FLR_DONE);
        while (hw_events() & EV(FLR));
    }
    if (~now & (EV(QUIET) | EV(MEDIA_IDLE))) return;
    hw_control(CTL_STOP | CTL_RESET);
    hw_clear(EV(DOORBELL_ERR));
    life_reset_state(drive, fn);
    fn->life = DISABLED;
    hw_control(0);
}

void controller_settle(struct drive* drive) {
    hw_control(CTL_STOP);
    if (!hw_wait_only(EV(QUIET), hw_time() + CFG_WAIT_US)) {
        for (uint32_t i = 0; i < drive->hw.num_fn; i++) hw_status(&drive->functions[i].hw, 1, 1, 0);
        (void)hw_wait_only(EV(QUIET), NEVER);
    }
    (void)hw_wait_only(EV(MEDIA_IDLE), NEVER);
    hw_control(CTL_STOP | CTL_RESET);
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) hw_status(&drive->functions[i].hw, 0, FUNCTIONS > 1 && i, 0);
    hw_control(0);
}

static void shut_down(struct drive* drive, struct function* fn, uint32_t shn) {
    bool cfs = fn->life == FAILED;
    bool rdy = fn->life == READY || (cfs && fn->was_ready);
    fn->notified = true;
    hw_status(&fn->hw, rdy, cfs, 1);
    hw_control(0);
    // A normal shutdown ends the commands that have been taken; an abrupt one stops them where they are. Either way the
    // media has answered every write before it is told to flush. What is not durable is not called shut down.
    if (rdy && !(shn == 1 && !cfs && hw_wait(EV(DRAINED), hw_time() + CFG_WAIT_US))) {
        hw_control(CTL_STOP);
        if (!hw_wait(EV(QUIET), NEVER)) return;  // a reset
    }
    bool durable = hw_media_flush(ns_foreign_ssds(drive, fn));
    if (hw_events() & EV_RESET) return;
    if (fn->life == READY) fn->life = OFF;
    if (!durable || !store_in_use(drive, false)) {
        hw_status(&fn->hw, rdy, 1, 1);
        return;
    }
    hw_status(&fn->hw, rdy, cfs, 2);
}

_Noreturn void controller_loop(struct drive* drive, struct waiting* waiting, hw_ring_t* ring) {
    struct function* fn = drive->functions;
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
        uint32_t cc = hw_cc(&fn->hw);
        if (fn->life == DISABLED && cc_en(cc)) (void)life_enable(drive, fn, cc);
        if ((cc_shn(cc) == 1 || cc_shn(cc) == 2) && !fn->notified) shut_down(drive, fn, cc_shn(cc));
        life_collect_error(drive);
        if (now & EV(DOORBELL_ERR)) life_collect_doorbell(drive);
        if (now & EV(MEDIA_WARNING)) life_media_warning(drive);
        if (fn->life == READY) {
            if (waiting->count) go_on(waiting, drive, fn);
            bool more = hw_command(ring, &r.cmd);
            if (more) execute(waiting, &r);
            if (now & EV(TIMER)) life_keep_alive(drive, fn);
            if (more) {
                hw_turn(life_wake(fn, false));
                continue;
            }
        }
        uint32_t awake = EV(CC) | EV(ERR) | EV(DOORBELL_ERR) | EV(MEDIA_WARNING) | EV_RESET;
        if (fn->life != READY) {
            hw_sleep(awake, NEVER);
            continue;
        }
        hw_sleep(awake | EV(SQE) | (waiting->count ? fn->wake : 0), life_wake(fn, waiting->count && fn->poll));
    }
}
