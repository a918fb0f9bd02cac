// SPDX-License-Identifier: Apache-2.0
#include "state/namespaces.h"

#include "base/bytes.h"
#include "state/drive.h"
#include "state/function.h"

bool ns_exists(const struct drive* drive, uint32_t nsid) {
    return nsid >= 1 && nsid <= drive->hw.num_ns && drive->namespaces.of[nsid].exists;
}

bool ns_active(const struct function* fn, uint32_t nsid) {
    return nsid >= 1 && nsid <= MAX_NS && fn->ns[nsid].attached;
}

uint32_t ns_attached(const struct drive* drive, uint32_t nsid) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) n += drive->functions[i].ns[nsid].attached;
    return n;
}

uint32_t ns_foreign_ssds(const struct drive* drive, const struct function* fn) {
    if (!EXTENTS) return 0;
    uint32_t own = 0;
    for (uint32_t nsid = 1; nsid <= drive->hw.num_ns; nsid++) {
        if (ns_active(fn, nsid)) own |= extents_ssds(drive, &drive->namespaces.of[nsid]);
    }
    return ~own & ((1u << (1u << drive->extents->hw.ssds)) - 1u);
}

uint32_t ns_check(const struct drive* drive, uint32_t nsid, bool found) {
    if (found) return ST_SUCCESS;
    return nsid == 0 || (nsid > last_nsid(drive) && nsid != NSID_ALL) ? ST_INVALID_NS : ST_INVALID_FIELD;
}

uint32_t ns_check_exists(const struct drive* drive, uint32_t nsid) {
    return ns_check(drive, nsid, ns_exists(drive, nsid));
}

uint32_t ns_check_active(const struct drive* drive, const struct function* fn, uint32_t nsid) {
    if (SLM && nsid > drive->hw.num_ns) return ns_check(drive, nsid, false);  // there may be a saved one of this number
    return ns_check(drive, nsid, ns_active(fn, nsid));
}

bool ns_read_only(const struct drive* drive, uint32_t nsid) {
    return drive->namespaces.of[nsid].protection != NS_WRITABLE;
}

uint64_t ns_bytes(const struct namespace* ns) { return ns->pages << 12; }

uint64_t ns_blocks(const struct namespace* ns) { return ns->lba4k ? ns->pages : (ns->pages << 3) - ns->spare; }

uint64_t ns_free_bytes(const struct drive* drive) {
    uint64_t pages = drive->namespaces.total;
    for (uint32_t nsid = 1; nsid <= drive->namespaces.count; nsid++) {
        if (drive->namespaces.of[nsid].exists) pages -= drive->namespaces.of[nsid].pages;
    }
    return pages << 12;
}

bool ns_fit(const struct drive* drive) {
    const struct namespaces* all = &drive->namespaces;
    if (all->count > MAX_NS || all->unused > all->total) return false;
    for (uint32_t nsid = 1; nsid <= all->count; nsid++) {
        const struct namespace* ns = &all->of[nsid];
        if (!ns->exists) continue;
        if (ns->base > all->total || ns->pages > all->total - ns->base || ns->pages << 3 < ns->spare) return false;
        for (uint32_t i = 1; i < nsid; i++) {
            const struct namespace* other = &all->of[i];
            if (other->exists && other->base < ns->base + ns->pages && ns->base < other->base + other->pages)
                return false;
        }
    }
    return true;
}

bool ns_find_gap(const struct drive* drive, uint64_t pages, uint64_t* first) {
    const struct namespaces* all = &drive->namespaces;
    uint64_t at = 0;
    for (uint32_t nsid = 1; nsid <= all->count; nsid++) {
        const struct namespace* ns = &all->of[nsid];
        if (pages > all->total - at) return false;
        if (ns->exists && ns->base < at + pages && at < ns->base + ns->pages) {
            at = ns->base + ns->pages;  // beyond this one, and again past all
            nsid = 0;
        }
    }
    *first = at;
    return pages <= all->total - at;
}

void ns_show(const struct drive* drive, uint32_t nsid) {
    const struct namespace* ns = &drive->namespaces.of[nsid];
    uint32_t attached = 0;
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) attached |= (uint32_t)drive->functions[i].ns[nsid].attached << i;
    struct hw_namespace is = {.attached = attached,
                              .lba4k = ns->lba4k,
                              .read_only = ns_read_only(drive, nsid),
                              .gate = ns->gate,
                              .base = ns->base << 12,
                              .blocks = ns_blocks(ns)};
#if FUNCTIONS > 1
    for (uint32_t i = 0; i < drive->hw.num_fn; i++)
        is.barred |= (uint32_t)resv_bars(drive, &drive->functions[i], nsid) << i;
    is.exclusive = resv_exclusive(drive, nsid);
#endif
    hw_namespace(nsid, &is);
}

/// What was saved is of no use: nothing of it is left.
SMALL static void forget_loaded(struct drive* drive) {
    for (uint32_t nsid = 1; nsid <= MAX_NS; nsid++) {
        drive->namespaces.of[nsid] = (struct namespace){0};
        for (uint32_t i = 0; i < drive->hw.num_fn; i++) drive->functions[i].ns[nsid].attached = false;
        if (FUNCTIONS > 1) resv_forget(drive, nsid);
    }
}

/// Where nothing was saved that is of use.
static void first_namespaces(struct drive* drive) {
    struct function* fn = drive->functions;
    struct namespaces* all = &drive->namespaces;
    uint32_t count = drive->hw.key_slots ? drive->hw.num_ns : 1;
    uint64_t pages = div_u64(all->total, count, NULL);
    all->unused = 0;
    all->count = drive->hw.num_ns;
    if (drive->store.found == STORE_DAMAGED) forget_loaded(drive);
    for (uint32_t nsid = 1; nsid <= MAX_NS; nsid++) all->of[nsid].exists = fn->ns[nsid].attached = false;
    for (uint32_t nsid = 1; nsid <= count; nsid++) {
        all->of[nsid].exists = fn->ns[nsid].attached = true;
        all->of[nsid].shared = FUNCTIONS > 1;
        all->of[nsid].base = all->unused;
        all->of[nsid].pages = pages;
        all->unused += pages;
    }
    if (EXTENTS) {  // pages that never had a namespace would hold what the SSD held before
        all->of[count].pages += all->total - all->unused;
        all->unused = all->total;
    }
}

void namespaces_init(struct drive* drive) {
    if (drive->store.found != STORE_LOADED) first_namespaces(drive);
    for (uint32_t nsid = 1; nsid <= drive->hw.num_ns; nsid++) {
        struct namespace* ns = &drive->namespaces.of[nsid];
        if (ns->protection == NS_PROTECTED_UNTIL_POWER_CYCLE && !drive->hw.restarted) ns->protection = NS_WRITABLE;
        if (ns->exists) ns_show(drive, nsid);
    }
}

// ---------------------------------------------------------------- changes that the host wants to hear of
void ns_changed(struct function* fn, uint32_t nsid) {
    fn->ns[nsid].changed = true;
    if (fn->settings.value[V_EVENTS] & OAES_NS_ATTR) event_report(&fn->events, AER_TYPE_NOTICE, 0);
}

void ns_changed_read(const struct drive* drive, struct function* fn) {
    for (uint32_t nsid = 1; nsid <= drive->hw.num_ns; nsid++) fn->ns[nsid].changed = false;
}

// ---------------------------------------------------------------- what becomes of its commands
void ns_gate(struct drive* drive, uint32_t nsid, uint32_t gate) {
    drive->namespaces.of[nsid].gate = (uint8_t)gate;
    ns_show(drive, nsid);
}

void namespaces_open(struct drive* drive) {
    for (uint32_t nsid = 1; nsid <= drive->hw.num_ns; nsid++) {
        if (drive->namespaces.of[nsid].gate) ns_gate(drive, nsid, HW_NS_OPEN);
    }
}

// ---------------------------------------------------------------- while it is closed, and no command of it under way
/// All that have it hear of it.
static void changed_for_all(struct drive* drive, uint32_t nsid) {
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) {
        if (drive->functions[i].ns[nsid].attached) ns_changed(&drive->functions[i], nsid);
    }
}

void ns_protect(struct drive* drive, uint32_t nsid, uint32_t protection) {
    bool was = ns_read_only(drive, nsid);
    drive->namespaces.of[nsid].protection = (uint8_t)protection;
    ns_show(drive, nsid);
    if (ns_read_only(drive, nsid) != was) changed_for_all(drive, nsid);
}

void ns_formatted(struct drive* drive, uint32_t nsid, bool lba4k) {
    struct namespace* ns = &drive->namespaces.of[nsid];
    bool differs = ns->lba4k != lba4k;
    ns->lba4k = lba4k;
    if (differs) ns->spare = 0;  // in the other block size it is all that it takes of the media
    ns_show(drive, nsid);
    if (differs) changed_for_all(drive, nsid);
}

void ns_deleted(struct drive* drive, uint32_t nsid) {
    struct namespace* ns = &drive->namespaces.of[nsid];
    changed_for_all(drive, nsid);
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) {
        struct function* fn = &drive->functions[i];
        fn->ns[nsid].attached = false;
        *error_recovery(fn, nsid) = 0;
    }
    ns->exists = false;
    ns->gate = HW_NS_OPEN;
    if (FUNCTIONS > 1) resv_forget(drive, nsid);
    ns_show(drive, nsid);
    operators_forget_ns(drive, nsid);
    if (EXTENTS) extents_settle(drive);
}

void ns_resized(struct drive* drive, uint32_t nsid) {
    ns_show(drive, nsid);
    changed_for_all(drive, nsid);
}

void ns_attach(struct drive* drive, struct function* fn, uint32_t nsid, bool attached) {
    fn->ns[nsid].attached = attached;
    if (FUNCTIONS > 1 && attached) operators_attached(drive, nsid);
    ns_show(drive, nsid);
}
