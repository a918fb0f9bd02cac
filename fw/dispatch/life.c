// SPDX-License-Identifier: Apache-2.0
#include "dispatch/life.h"

#include "commands/features.h"
#include "commands/near.h"

void life_off(struct drive* drive, struct function* fn, bool off) {
    if (FUNCTIONS == 1) return;
    drive->off = off ? drive->off | 1u << fn->hw.place : drive->off & ~(1u << fn->hw.place);
    hw_functions_off(drive->off);
}

void life_fail(struct drive* drive, struct function* fn) {
    fn->was_ready = fn->life == READY;
    if (FUNCTIONS == 1) hw_control(0);
    life_off(drive, fn, true);
    hw_status(&fn->hw, fn->was_ready, 1, 0);
    fn->life = FAILED;
}

void life_reset_state(struct drive* drive, struct function* fn) {
    queues_reset(sqs_of(drive, fn), cqs_of(drive, fn), fn->hw.num_qp);
    keep_alive_restart(&fn->settings);
    features_reset(drive, fn);
    operators_reset(drive, fn);
    near_reset(fn);
    if (SLM) {
        own_show(drive, fn, false);
        programs_reset(fn);
    }
    events_reset(&fn->events);
    if (FUNCTIONS == 1) {  // where there are others it has let go of these before
        namespaces_open(drive);
        drive->changing = NULL;
        store_save_end(drive);
        drive->store.stale |= drive->store.part;  // the next enable saves it
        drive->looking = NULL;
        drive->watching = 0;
    }
    fn->aborts = 0;
    fn->wake = 0;
    if (FUNCTIONS > 1) {
        uint32_t changed[MAX_NS / 32 + 1] = {0};
        resv_reset(drive, fn, changed);
        for (uint32_t nsid = 1; nsid <= drive->hw.num_ns; nsid++) {
            if (changed[nsid >> 5] >> (nsid & 31u) & 1u) ns_show(drive, nsid);
        }
    }
    ns_changed_read(drive, fn);  // who resets the controller looks at all namespaces anyway
}

static bool settings_valid(uint32_t cc, uint32_t aqa) {
    uint32_t css = cc_css(cc);
    return cc_mps(cc) == 0 && cc_ams(cc) <= 1 && (css == 0 || css == CC_CSS_ALL) && (aqa & 0xfffu) &&
           (aqa >> 16 & 0xfffu);
}

bool life_enable(struct drive* drive, struct function* fn, uint32_t cc) {
    uint32_t aqa = hw_aqa(&fn->hw);
    fn->cc = cc;
    fn->notified = false;
    if (!settings_valid(cc, aqa)) {
        life_fail(drive, fn);
        return false;
    }
    if (SLM) own_show(drive, fn, own_namespaces(fn));
    hw_create_cq(&fn->hw, 0, hw_acq(&fn->hw), aqa >> 16 & 0xfffu, 0, true);
    hw_create_sq(&fn->hw, 0, hw_asq(&fn->hw), aqa & 0xfffu, 0, 0);
    if (FUNCTIONS == 1 || fn->hw.place == 0) hw_control(CTL_RUN | (cc_ams(cc) ? (uint32_t)CTL_WRR : 0));
    fn->life = READY;
    (void)store_in_use(drive, true);
    // A reset was asked for meanwhile, maybe by a host that has enabled it anew already: not ready before that is over.
    if (FUNCTIONS == 1 && (hw_events() & EV_RESET)) return false;
    if (FUNCTIONS > 1 && (hw_events() & EV(NSSR))) return false;
    if (FUNCTIONS > 1 && (hw_function_events(&fn->hw) & (FN_EN_FELL | FN_FLR))) return false;
    hw_status(&fn->hw, 1, 0, 0);
    return true;
}

/// Whose queue this is among those of all functions.
static struct function* owner_of(struct drive* drive, uint32_t queue) {
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) {
        const struct hw_function* f = &drive->functions[i].hw;
        if (queue == i || (queue > f->before_first && queue <= (uint32_t)f->before_first + f->num_qp))
            return &drive->functions[i];
    }
    return drive->functions;
}

void life_collect_error(struct drive* drive) {
    struct hw_io_error e;
    if (!hw_io_error(&e)) return;
    struct function* fn = FUNCTIONS == 1 ? drive->functions : owner_of(drive, e.queue);
    error_log_add(&fn->errors, e.queue - fn->hw.before_first, e.cid, e.status, e.nsid, e.lba);
}

void life_collect_doorbell(struct drive* drive) {
    struct hw_doorbell_error bad = hw_doorbell_error();
    uint32_t place = hw_place(bad.function);
    if (place >= drive->hw.num_fn || drive->functions[place].life != READY) return;
    struct function* fn = &drive->functions[place];
    error_log_add(&fn->errors, 0, NO_COMMAND, ST_QUEUE_ID, 0, 0);
    event_report(&fn->events, AER_TYPE_ERROR, bad.value);  // 0 no such doorbell, 1 bad value
}

void life_media_warning(struct drive* drive) {
    hw_clear(EV(MEDIA_WARNING));
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) {
        if (drive->functions[i].life == READY) features_warn(&drive->functions[i]);
    }
}

void life_keep_alive(struct drive* drive, struct function* fn) {
    if (hw_time() < keep_alive_deadline(&fn->settings)) return;
    error_log_add(&fn->errors, 0, NO_COMMAND, ST_KEEP_ALIVE_EXPIRED, 0, 0);
    life_fail(drive, fn);
}

uint64_t life_wake(const struct function* fn, bool poll) {
    uint64_t at = keep_alive_deadline(&fn->settings), soon = hw_time() + CFG_POLL_US;
    return poll && soon < at ? soon : at;
}
