// SPDX-License-Identifier: Apache-2.0
#include "commands/draining.h"

uint32_t slots_step(struct request* r, uint32_t how, uint32_t sqid, uint32_t key) {
    if (!r->looking) {
        if (turn_waits(&r->drive->look_turns, r->drive->looking, r->fn->hw.place)) return WAIT;
        r->looking = true;
        r->drive->looking = r->fn;
        hw_abort(&r->fn->hw, how, sqid, key);
    }
    if (!hw_abort_idle()) {
        r->fn->wake |= EV(ABORT_IDLE);
        return WAIT;
    }
    r->looking = false;
    r->drive->looking = NULL;
    r->found = hw_abort_found();
    return ST_SUCCESS;
}

void change_begins(struct request* r) { r->drive->changing = r->fn; }

uint32_t later_gate(const struct request* r, ns_choice_t* chosen) {
    if (FUNCTIONS == 1) return r->fn->settings.value[V_HOST_BEHAVIOR] & 1u ? HW_NS_LATER : HW_NS_CLOSED;
    for (uint32_t i = 0; i < r->drive->hw.num_fn; i++) {
        const struct function* fn = &r->drive->functions[i];
        if (fn->life != READY || (fn->settings.value[V_HOST_BEHAVIOR] & 1u)) continue;
        for (uint32_t nsid = 1; nsid <= r->drive->hw.num_ns; nsid++) {
            if (ns_active(fn, nsid) && chosen(r, nsid)) return HW_NS_CLOSED;
        }
    }
    return HW_NS_LATER;
}

uint32_t drain_step(struct request* r, ns_choice_t* chosen, uint32_t gate) {
    if (r->at == 0) {
        for (uint32_t nsid = 1; nsid <= r->drive->hw.num_ns; nsid++) {
            if (chosen(r, nsid)) ns_gate(r->drive, nsid, gate);
        }
        r->at = 1;
    }
    for (; r->at <= r->drive->hw.num_ns; r->at++) {
        if (!r->drive->namespaces.of[r->at].gate) continue;
        if (slots_step(r, HW_ABORT_FIND, 0, r->at) == WAIT || r->found) return WAIT;
    }
    r->at = 0;
    return ST_SUCCESS;
}

uint32_t change_ends(struct request* r, uint32_t status, bool save) {
    for (uint32_t nsid = 1; nsid <= r->drive->hw.num_ns; nsid++) {
        if (r->drive->namespaces.of[nsid].gate) ns_gate(r->drive, nsid, HW_NS_OPEN);
    }
    if (save) return end_saved(r, status);
    r->drive->changing = NULL;
    return status;
}

uint32_t zero_step(struct request* r) {
    if (!hw_media_idle()) {
        r->fn->wake |= EV(MEDIA_IDLE);
        return WAIT;
    }
    if (r->zeroing) {
        r->zeroing = false;
        if (!hw_media_ok()) return ST_WRITE_FAULT;
        if (r->flushing) {
            r->flushing = false;
            return ST_SUCCESS;
        }
    }
    uint64_t bytes = r->left < CFG_ZERO_BYTES ? r->left : CFG_ZERO_BYTES;
    r->zeroing = true;
    r->flushing = bytes == 0;
    if (!r->flushing) hw_media_zero_start(r->from, bytes);
    else if (r->from) hw_zeroes_flush_start();
    else hw_media_flush_start(ns_foreign_ssds(r->drive, r->fn));  // nothing has been zeroed: of what hosts have written
    r->from += bytes;
    r->left -= bytes;
    r->fn->wake |= EV(MEDIA_IDLE);
    return WAIT;
}

uint32_t wipe_step(struct request* r, ns_choice_t* chosen, uint32_t gate, bool erase, ns_wiped_t* wiped) {
    enum { BEGIN, DRAIN, NEXT, ZERO };
    if (r->step == BEGIN) {
        for (uint32_t nsid = 1; nsid <= r->drive->hw.num_ns; nsid++) {
            if (chosen(r, nsid) && ns_read_only(r->drive, nsid)) return ST_NS_WRITE_PROTECTED;
        }
        change_begins(r);
        r->step = DRAIN;
    }
    if (r->step == DRAIN) {
        if (drain_step(r, chosen, gate) == WAIT) return WAIT;
        r->step = NEXT;
    }
    for (;;) {
        if (r->step == NEXT) {
            do {
                r->at++;
            } while (r->at <= r->drive->hw.num_ns && !chosen(r, r->at));
            if (r->at > r->drive->hw.num_ns) return change_ends(r, ST_SUCCESS, true);
            if (erase) operators_erase_ns(r->drive, r->at);
            r->from = namespace_of(r, r->at)->base << 12;
            r->left = namespace_of(r, r->at)->pages << 12;
            r->step = ZERO;
        }
        uint32_t status = zero_step(r);
        if (status == WAIT) return WAIT;
        if (status != ST_SUCCESS) return change_ends(r, status, true);  // those that are done are
        wiped(r, r->at);
        r->drive->store.part = true;
        r->step = NEXT;
    }
}

uint32_t end_saved(struct request* r, uint32_t status) {
    r->saving = true;
    r->drive->changing = r->fn;
    r->status = (uint16_t)status;
    store_save_start(r->drive);
    return save_step(r);
}

uint32_t save_step(struct request* r) {
    if (!store_save_step(r->drive)) {
        r->fn->wake |= EV(MEDIA_IDLE);
        return WAIT;
    }
    r->saving = false;
    r->drive->changing = NULL;
    return r->status == ST_SUCCESS && r->drive->store.stale ? (uint32_t)ST_WRITE_FAULT : r->status;
}
