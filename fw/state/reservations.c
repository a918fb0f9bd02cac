// SPDX-License-Identifier: Apache-2.0
#include "state/reservations.h"

#include "base/bytes.h"
#include "state/drive.h"
#include "state/function.h"

#if FUNCTIONS > 1
static struct registrant* first(const struct drive* drive) { return reservations_of(drive)->of; }

#define ALL(drive, reg) for (struct registrant* reg = first(drive); reg < first(drive) + MAX_REGISTRANTS; reg++)

struct reservation* resv_of(const struct drive* drive, uint32_t nsid) { return &reservations_of(drive)->ns[nsid]; }

__attribute__((noinline)) bool resv_same_host(const struct host* a, const struct host* b) {
    for (uint32_t i = 0; i < 4; i++) {
        if (a->id[i] != b->id[i]) return false;
    }
    return a->wide == b->wide && a->place == b->place;
}

bool resv_is_of(const struct function* fn, const struct registrant* reg) {
    return resv_same_host(&fn->reservations->host, &reg->host);
}

__attribute__((noinline)) struct registrant* resv_registrant(const struct drive* drive, const struct function* fn,
                                                             uint32_t nsid) {
    ALL(drive, reg) {
        if (reg->nsid == nsid && resv_is_of(fn, reg)) return reg;
    }
    return NULL;
}

bool resv_all_hold(uint32_t type) { return type >= RESV_TYPE_WRITE_EXCLUSIVE_ALL; }

bool resv_holds(const struct drive* drive, const struct registrant* reg) {
    const struct reservation* resv = resv_of(drive, reg->nsid);
    return resv->type != RESV_TYPE_NONE && (resv_all_hold(resv->type) || first(drive) + resv->holder == reg);
}

bool resv_has_room(const struct drive* drive, const struct function* fn, uint32_t most) {
    uint32_t taken = 0, owners = 0;
    ALL(drive, reg) {
        if (reg->nsid == 0) continue;
        taken++;
        owners |= 1u << reg->owner;
    }
    bool has_any = owners >> fn->hw.place & 1u;
    for (uint32_t i = 0; has_any && i < drive->hw.num_fn; i++) taken += !(owners >> i & 1u);
    return taken < most;
}

void resv_add(struct drive* drive, const struct function* fn, uint32_t nsid, uint64_t key) {
    struct registrant* reg = first(drive);
    while (reg->nsid) reg++;
    *reg = (struct registrant){.key = key, .host = fn->reservations->host, .owner = fn->hw.place};
    __asm__ volatile("" ::: "memory");  // it is there when it is whole: a reset may come in between
    reg->nsid = (uint8_t)nsid;
}

__attribute__((noinline)) void resv_remove(struct drive* drive, struct registrant* gone) {
    uint32_t nsid = gone->nsid;
    bool held = resv_holds(drive, gone) && !resv_all_hold(resv_of(drive, nsid)->type), others = false;
    gone->nsid = 0;
    ALL(drive, reg) others |= reg->nsid == nsid;
    if (held || !others) resv_release(drive, nsid);
}

void resv_release(struct drive* drive, uint32_t nsid) { resv_of(drive, nsid)->held = RESV_TYPE_NONE; }

void resv_acquire(struct drive* drive, struct registrant* reg, uint32_t type) {
    resv_of(drive, reg->nsid)->held = (uint16_t)(type | (uint32_t)(reg - first(drive)) << 8);
}

void resv_init(struct drive* drive) {
    if (!drive->hw.restarted) memset(reservations_of(drive), 0, sizeof(struct reservations));
    for (uint32_t nsid = 1; drive->hw.restarted && nsid <= drive->hw.num_ns; nsid++) {
        bool held = false;
        ALL(drive, reg) held |= reg->nsid == nsid && resv_holds(drive, reg);
        if (!held) resv_release(drive, nsid);
    }
}

void resv_forget(struct drive* drive, uint32_t nsid) {
    ALL(drive, reg) {
        if (reg->nsid == nsid) reg->nsid = 0;
    }
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) drive->functions[i].ns[nsid].masked = 0;
    *resv_of(drive, nsid) = (struct reservation){0};
}

void resv_reset(struct drive* drive, struct function* fn, uint32_t changed[3]) {
    struct reservation_view* view = fn->reservations;
    const struct host own = {.place = fn->hw.place};
    ALL(drive, reg) {
        if (!reg->nsid || !resv_same_host(&reg->host, &own)) continue;
        changed[reg->nsid >> 5] |= 1u << (reg->nsid & 31u);
        uint32_t nsid = reg->nsid, type = resv_of(drive, nsid)->type;
        resv_remove(drive, reg);
        if (type >= RESV_TYPE_WRITE_EXCLUSIVE_REGISTRANTS && resv_of(drive, nsid)->type == RESV_TYPE_NONE)
            resv_notify_others(drive, nsid, RESV_NOTICE_RESERVATION_RELEASED, &own);
    }
    // What a host that has gone may do no more, nor one that has come may.
    for (uint32_t nsid = 1; nsid <= drive->hw.num_ns && !resv_same_host(&view->host, &own); nsid++) {
        if (resv_of(drive, nsid)->type != RESV_TYPE_NONE) changed[nsid >> 5] |= 1u << (nsid & 31u);
    }
    memset(view, 0, sizeof *view);
    for (uint32_t nsid = 1; nsid <= drive->hw.num_ns; nsid++) fn->ns[nsid].masked = 0;
    view->host = own;
}

bool resv_exclusive(const struct drive* drive, uint32_t nsid) {
    uint32_t type = resv_of(drive, nsid)->type;
    return type != RESV_TYPE_NONE && !(type & 1u);
}

bool resv_bars(const struct drive* drive, const struct function* fn, uint32_t nsid) {
    uint32_t type = resv_of(drive, nsid)->type;
    if (type == RESV_TYPE_NONE) return false;
    const struct registrant* reg = resv_registrant(drive, fn, nsid);
    return !reg || (type <= RESV_TYPE_EXCLUSIVE_ACCESS && !resv_holds(drive, reg));
}

// ---------------------------------------------------------------- notices
__attribute__((noinline)) void resv_notify(struct function* fn, uint32_t nsid, uint32_t type) {
    struct reservation_view* view = fn->reservations;
    if (!fn->ns[nsid].attached || (fn->ns[nsid].masked >> type & 1u)) return;
    view->number++;
    if (view->count == NOTICES) return;  // lost: the number of the next one says so
    view->notice[view->count].number = (uint16_t)view->number;
    view->notice[view->count].type = (uint8_t)type;
    view->notice[view->count++].nsid = (uint8_t)nsid;
    event_report(&fn->events, EVENT_RESERVATION, 0);
}

__attribute__((noinline)) void resv_notify_others(struct drive* drive, uint32_t nsid, uint32_t type,
                                                  const struct host* but) {
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) {
        struct function* fn = &drive->functions[i];
        if (resv_registrant(drive, fn, nsid) && !resv_same_host(&fn->reservations->host, but))
            resv_notify(fn, nsid, type);
    }
}

void resv_notice_read(struct function* fn) {
    struct reservation_view* view = fn->reservations;
    event_unmask(&fn->events, EVENT_RESERVATION);
    if (!view->count) return;
    view->count--;
    for (uint32_t i = 0; i < view->count; i++) view->notice[i] = view->notice[i + 1];
    if (view->count) event_report(&fn->events, EVENT_RESERVATION, 0);
}

#endif
