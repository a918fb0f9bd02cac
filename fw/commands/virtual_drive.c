// SPDX-License-Identifier: Apache-2.0
#include "commands/virtual_drive.h"

#include "base/config.h"
#include "commands/draining.h"

// CDW10: 3:0 what, 10:8 the first SSD, 13:12 log2 of how many, 15 whatever is free. CDW11: 0 blocks of 4096 bytes, 1 may be
// shared. CDW12: granules; of GET which one of the namespace, of EXCHANGE the other NSID.
enum { ANY = 1u << 15, LBA4K = 1u << 0, SHARED = 1u << 1 };

static uint32_t wanted(const struct request* r) {
    uint32_t dw10 = r->cmd.dw[10];
    return dw10 & ANY ? EXTENT_ANY : hw_extent_place(0, dw10 >> 8 & 7u, 0, dw10 >> 12 & 3u);
}

/// The SSDs are some that there are, and may be taken together.
static bool ssds_fit(const struct request* r) {
    uint32_t dw10 = r->cmd.dw[10], first = dw10 >> 8 & 7u, log2 = dw10 >> 12 & 3u, all = r->drive->extents->hw.ssds;
    if (dw10 & ANY) return (dw10 & 0x7f00u) == 0;
    return log2 <= all && first >> all == 0 && (first & ((1u << log2) - 1u)) == 0;
}

static uint32_t no_room(struct request* r, uint32_t granules) {
    r->fn->errors.specific = extents_pages(r->drive, granules) << 12;  // bytes that it would take
    return ST_NS_CAPACITY;
}

// ---------------------------------------------------------------- where it is
SMALL static uint32_t get(struct request* r) {
    uint32_t nsid = nsid_of(r), granule = r->cmd.dw[12];
    if (nsid == 0) {
        r->dw0 = r->drive->extents->hw.caps;
        return granule ? (uint32_t)ST_INVALID_FIELD : ST_SUCCESS;
    }
    uint32_t status = ns_check_exists(r->drive, nsid);
    if (status != ST_SUCCESS) return status;
    const struct namespace* ns = namespace_of(r, nsid);
    uint32_t first = extents_granule(r->drive, ns->base);
    if (granule > extents_granule(r->drive, ns->base + ns->pages - 1u) - first) return ST_INVALID_FIELD;
    r->dw0 = hw_extent(first + granule);
    return ST_SUCCESS;
}

// ---------------------------------------------------------------- make one
SMALL static uint32_t create(struct request* r) {
    struct namespaces* all = &r->drive->namespaces;
    uint32_t count = r->cmd.dw[12], total = extents_total(r->drive), how = r->cmd.dw[11], first, nsid = 1;
    if (nsid_of(r) || count == 0 || how > (FUNCTIONS > 1 ? LBA4K | SHARED : LBA4K)) return ST_INVALID_FIELD;
    while (nsid <= r->drive->hw.num_ns && all->of[nsid].exists) nsid++;
    if (nsid > r->drive->hw.num_ns) return ST_NSID_UNAVAILABLE;
    if (count > total || !extents_gap(r->drive, count, 0, &first)) return no_room(r, count);
    uint64_t page = extents_pages(r->drive, first), pages = extents_pages(r->drive, count);
    bool fits = extents_take(r->drive, page, pages, wanted(r));
    if (fits) {
        if (++all->generation == 0) all->generation = 1;
        all->of[nsid] = (struct namespace){.base = page,
                                           .pages = pages,
                                           .generation = all->generation,
                                           .lba4k = how & LBA4K,
                                           .exists = true,
                                           .shared = (how & SHARED) != 0};
        fits = extents_settle(r->drive);
        all->of[nsid].exists = fits;
    }
    if (!fits) {
        extents_settle(r->drive);
        return no_room(r, count);
    }
    r->dw0 = nsid;
    return end_saved(r, ST_SUCCESS);
}

// ---------------------------------------------------------------- change one that nobody uses meanwhile
static bool grows(const struct request* r, uint32_t nsid) { return nsid == nsid_of(r); }
static bool exchanges(const struct request* r, uint32_t nsid) { return nsid == nsid_of(r) || nsid == r->cmd.dw[12]; }

/// A namespace that has whole granules, and that this host may change.
static uint32_t check(const struct request* r, uint32_t nsid) {
    uint32_t status = ns_check_exists(r->drive, nsid);
    if (status != ST_SUCCESS) return status;
    if (FUNCTIONS > 1 && resv_bars(r->drive, r->fn, nsid)) return ST_RESV_CONFLICT;
    if (ns_read_only(r->drive, nsid)) return ST_NS_WRITE_PROTECTED;
    return extents_own(r->drive, namespace_of(r, nsid)) ? (uint32_t)ST_SUCCESS : ST_INVALID_FIELD;
}

/// More granules behind its last one. If others are there it gets another stretch of the medium; its data stays in place.
SMALL static uint32_t grown(struct request* r) {
    struct namespace* ns = namespace_of(r, nsid_of(r));
    uint32_t more = r->cmd.dw[12], was = extents_granule(r->drive, ns->pages);
    uint32_t from = extents_granule(r->drive, ns->base), to;
    struct namespace before = *ns;
    if (more > extents_total(r->drive) || !extents_gap(r->drive, was + more, nsid_of(r), &to)) return no_room(r, more);
    extents_renumber(from, to, was);
    ns->base = extents_pages(r->drive, to);
    uint64_t pages = extents_pages(r->drive, more);
    if (extents_take(r->drive, extents_pages(r->drive, to + was), pages, wanted(r))) {
        ns->pages += pages;
        ns->spare = 0;
        if (extents_settle(r->drive)) {
            ns_resized(r->drive, nsid_of(r));
            return ST_SUCCESS;
        }
    }
    *ns = before;
    extents_renumber(to, from, was);
    extents_settle(r->drive);
    return no_room(r, more);
}

SMALL static bool alike(const struct request* r, uint32_t a, uint32_t b) {
    const struct namespace *x = namespace_of(r, a), *y = namespace_of(r, b);
    const struct binding *k = &r->drive->operators.bound[a], *l = &r->drive->operators.bound[b];
    if (a == b || x->pages != y->pages || x->lba4k != y->lba4k || x->spare != y->spare) return false;
    if (k->own != l->own || k->op != l->op || k->slot != l->slot) return false;
    for (uint32_t i = 0; i < 4 && k->own; i++) {
        if (k->parameters[i] != l->parameters[i]) return false;
    }
    return true;
}

SMALL static uint32_t exchanged(struct request* r) {
    struct namespace *a = namespace_of(r, nsid_of(r)), *b = namespace_of(r, r->cmd.dw[12]);
    uint32_t count = extents_granule(r->drive, a->pages);
    uint32_t of_a = extents_granule(r->drive, a->base), of_b = extents_granule(r->drive, b->base);
    extents_exchange(of_a, of_b, count);
    if (extents_settle(r->drive)) return ST_SUCCESS;
    extents_exchange(of_a, of_b, count);
    extents_settle(r->drive);
    return no_room(r, count);
}

SMALL uint32_t virtual_drive(struct request* r) {
    uint32_t what = r->cmd.dw[10] & 15u;
    if (r->step == 0) {
        if (what == VIRTUAL_DRIVE_GET) return get(r);
        if (what > VIRTUAL_DRIVE_EXCHANGE) return ST_INVALID_FIELD;
        if (what != VIRTUAL_DRIVE_EXCHANGE && !ssds_fit(r)) return ST_INVALID_FIELD;
        if (what == VIRTUAL_DRIVE_CREATE) return create(r);
        uint32_t status = check(r, nsid_of(r));
        if (status == ST_SUCCESS && what == VIRTUAL_DRIVE_EXCHANGE) status = check(r, r->cmd.dw[12]);
        if (status != ST_SUCCESS) return status;
        if (what == VIRTUAL_DRIVE_GROW ? r->cmd.dw[12] == 0 : !alike(r, nsid_of(r), r->cmd.dw[12]))
            return ST_INVALID_FIELD;
        change_begins(r);
        r->step = 1;
    }
    if (r->step == 1) {
        bool grow = what == VIRTUAL_DRIVE_GROW;
        if (drain_step(r, grow ? grows : exchanges, HW_NS_CLOSED) == WAIT) return WAIT;
        uint32_t status = grow ? grown(r) : exchanged(r);
        if (status != ST_SUCCESS) return change_ends(r, status, false);
        store_save_start(r->drive);
        r->step = 2;
    }
    // It opens when that is saved: what is written then is where it will be found after a power cut.
    if (!store_save_step(r->drive)) {
        r->fn->wake |= EV(MEDIA_IDLE);
        return WAIT;
    }
    return change_ends(r, r->drive->store.stale ? ST_WRITE_FAULT : ST_SUCCESS, false);
}
