// SPDX-License-Identifier: Apache-2.0
#include "commands/namespaces.h"

#include "commands/draining.h"

// What a host may say of a namespace to be created: dwords of Identify Namespace. All else has to be zero or is not read.
enum { W_NSZE = 0, W_NCAP = 2, W_FLBAS = 6, W_DPS = 7, W_ANAGRPID = 23, W_NVMSETID = 25, CREATE_WORDS = 26 };

// ---------------------------------------------------------------- Namespace Management
static uint32_t create(struct request* r) {
    struct namespaces* all = &r->drive->namespaces;
    uint32_t w[CREATE_WORDS];
    if (r->step) {  // blocks that nobody has had yet are zeroed, as many as it took then: the buffer is read once more
        uint32_t zeroed = zero_step(r);
        if (zeroed == WAIT) return WAIT;
        zeroed = change_ends(r, zeroed, false);
        if (zeroed != ST_SUCCESS) return zeroed;
        all->unused = r->from >> 12;
        r->step = 0;
    }
    if (r->cmd.dw[11] >> 24) return ST_IOCS_NOT_SUPPORTED;  // NVM alone
    if (nsid_of(r)) return ST_INVALID_FIELD;                // the controller chooses
    uint32_t status = data_receive(r->drive->buffers, &r->cmd, w, sizeof w, PAGE_SIZE);
    if (status != ST_SUCCESS) return status;

    uint64_t nsze = (uint64_t)w[W_NSZE + 1] << 32 | w[W_NSZE], ncap = (uint64_t)w[W_NCAP + 1] << 32 | w[W_NCAP];
    uint32_t flbas = w[W_FLBAS] >> 16 & 0xffu;
    if (nsze == 0 || ncap > nsze) return ST_INVALID_FIELD;
    if (ncap < nsze) return ST_THIN_PROVISIONING;
    if ((flbas & 15u) > 1 || (flbas >> 5 & 3u)) return ST_INVALID_FORMAT;
    // Protection information, ANA groups, NVM sets, endurance groups: not here.
    bool shared = FUNCTIONS > 1 && (w[W_DPS] >> 16 & 0xffu) == 1;  // NMIC
    if ((w[W_DPS] >> 8 & (shared ? 0xffu : 0xffffu)) || w[W_ANAGRPID] || w[W_NVMSETID]) return ST_INVALID_FIELD;

    bool lba4k = flbas & 1u;
    uint64_t pages = lba4k ? nsze : (nsze >> 3) + ((uint32_t)nsze & 7u ? 1u : 0u), first;
    uint32_t nsid = 1;
    while (nsid <= r->drive->hw.num_ns && all->of[nsid].exists) nsid++;
    if (nsid > r->drive->hw.num_ns) return ST_NSID_UNAVAILABLE;
    if (!ns_find_gap(r->drive, pages, &first)) {
        r->fn->errors.specific = pages >> 52 ? NEVER : pages << 12;  // bytes that it would take
        return ST_NS_CAPACITY;
    }
    if (first + pages > all->unused) {
        change_begins(r);
        r->from = all->unused << 12;
        r->left = (first + pages - all->unused) << 12;
        r->step = 1;
        return zero_step(r);
    }
    if (EXTENTS && !extents_take(r->drive, first, pages, EXTENT_ANY)) {
        extents_settle(r->drive);
        r->fn->errors.specific = pages << 12;
        return ST_NS_CAPACITY;
    }
    if (++all->generation == 0) all->generation = 1;
    all->of[nsid] = (struct namespace){.base = first,
                                       .pages = pages,
                                       .generation = all->generation,
                                       .lba4k = lba4k,
                                       .exists = true,
                                       .shared = shared,
                                       .spare = lba4k ? 0 : (uint8_t)(-(uint32_t)nsze & 7u)};
    if (EXTENTS && !extents_settle(r->drive)) {  // more runs than can be saved
        all->of[nsid].exists = false;
        extents_settle(r->drive);
        r->fn->errors.specific = pages << 12;
        return ST_NS_CAPACITY;
    }
    r->dw0 = nsid;
    return end_saved(r, ST_SUCCESS);
}

/// Delete: NSID FFFFFFFFh: all.
static bool chosen(const struct request* r, uint32_t nsid) {
    return ns_exists(r->drive, nsid) && (nsid_of(r) == NSID_ALL || nsid == nsid_of(r));
}

static void wiped(struct request* r, uint32_t nsid) { ns_deleted(r->drive, nsid); }

/// Its key goes first. What the media has not zeroed stays, locked.
static uint32_t delete(struct request* r) {
    if (r->step == 0 && nsid_of(r) != NSID_ALL && !ns_exists(r->drive, nsid_of(r)))
        return ns_check_exists(r->drive, nsid_of(r));
    for (uint32_t nsid = 1; FUNCTIONS > 1 && r->step == 0 && nsid <= r->drive->hw.num_ns; nsid++) {
        if (chosen(r, nsid) && resv_bars(r->drive, r->fn, nsid)) return ST_RESV_CONFLICT;
    }
    return wipe_step(r, chosen, HW_NS_CLOSED, true, wiped);
}

uint32_t namespace_management(struct request* r) {
    uint32_t select = r->cmd.dw[10] & 15u;
    if (select == NS_MGMT_CREATE) return create(r);
    return select == NS_MGMT_DELETE ? delete(r) : (uint32_t)ST_INVALID_FIELD;
}

// ---------------------------------------------------------------- Namespace Attachment
static bool detached(const struct request* r, uint32_t nsid) { return nsid == nsid_of(r); }

/// What keeps a controller from being attached or detached.
static uint32_t check_controller(const struct request* r, uint32_t id, bool attach) {
    if (id >= r->drive->hw.num_fn) return ST_CONTROLLER_LIST;
    bool has = ns_active(&r->drive->functions[id], nsid_of(r));
    if (has == attach) return attach ? ST_NS_ATTACHED : ST_NS_NOT_ATTACHED;
    return ST_SUCCESS;
}

/// The controllers of the list, all or none. A namespace that is private has one at most.
uint32_t namespace_attachment(struct request* r) {
    uint32_t select = r->cmd.dw[10] & 15u, nsid = nsid_of(r), list[(FUNCTIONS + 2) / 2];
    bool attach = select == NS_ATTACH_ATTACH;
    if (r->step == 0) {
        if (!attach && select != NS_ATTACH_DETACH) return ST_INVALID_FIELD;
        uint32_t status = ns_check_exists(r->drive, nsid);
        if (FUNCTIONS > 1 && status == ST_SUCCESS && resv_bars(r->drive, r->fn, nsid)) return ST_RESV_CONFLICT;
        if (status == ST_SUCCESS) status = data_receive(r->drive->buffers, &r->cmd, list, sizeof list, PAGE_SIZE);
        if (status != ST_SUCCESS) return status;
        uint32_t count = list[0] & 0xffffu;
        if (count == 0 || count > FUNCTIONS) return ST_CONTROLLER_LIST;
        r->controllers = 0;
        for (uint32_t i = 1; i <= count; i++) {
            uint32_t id = list[i / 2] >> (i & 1u ? 16 : 0) & 0xffffu;
            status = check_controller(r, id, attach);
            if (status != ST_SUCCESS) return status;
            r->controllers |= 1u << id;
        }
        if (FUNCTIONS > 1 && attach && !namespace_of(r, nsid)->shared && (count > 1 || ns_attached(r->drive, nsid)))
            return ST_NS_PRIVATE;
        change_begins(r);
        r->step = 1;
    }
    if (!attach && drain_step(r, detached, HW_NS_CLOSED) == WAIT) return WAIT;
    for (uint32_t id = 0; id < r->drive->hw.num_fn; id++) {
        if (!(r->controllers >> id & 1u)) continue;
        ns_attach(r->drive, &r->drive->functions[id], nsid, attach);
        ns_changed(&r->drive->functions[id], nsid);
    }
    return change_ends(r, ST_SUCCESS, true);
}
