// SPDX-License-Identifier: Apache-2.0
#include "commands/virtualization.h"

#include "base/bytes.h"

// ---------------------------------------------------------------- what Identify says
/// VQ or VI: total, of VFs, of the PF, its own, the most of a VF, granularity.
static void put_resource(uint8_t* at, uint32_t total, uint32_t given, uint32_t primary, uint32_t own, uint32_t most) {
    put32(at, total);
    put32(at + 4, given);
    put16(at + 8, primary);
    put16(at + 10, own);
    put16(at + 12, most);
    put16(at + 14, 1);
}

uint32_t primary_capabilities(struct request* r) {
    const struct drive* drive = r->drive;
    struct resources total = resources_total(drive), given = resources_given(drive), own = resources_private(drive),
                     most = resources_most(drive);
    uint8_t* page = page_of(r);
    memset(page, 0, 80);
    put16(page, r->fn->hw.place);
    page[4] = 1u << 1 | 1u;  // CRT: VQ and VI are flexible
    // What the PF has, not what it will have from its next reset on.
    put_resource(page + 32, total.queues, given.queues, r->fn->own.queues, own.queues, most.queues);
    put_resource(page + 64, total.interrupts, given.interrupts, r->fn->own.interrupts, own.interrupts, most.interrupts);
    return 80;
}

/// Those from CNTID on.
uint32_t secondary_list(struct request* r) {
    uint8_t *page = page_of(r), *at = page + 32;
    uint32_t from = r->cmd.dw[10] >> 16;
    memset(page, 0, 32u * (MAX_SECONDARY + 1));
    for (uint32_t i = from ? from : 1; i < r->drive->hw.num_fn; i++, at += 32) {
        const struct function* vf = &r->drive->functions[i];
        put16(at, i);
        at[4] = vf->online;
        put16(at + 8, i);  // VFN
        put16(at + 10, vf->own.queues);
        put16(at + 12, vf->own.interrupts);
        page[0]++;
    }
    return 32u * (page[0] + 1u);
}

// ---------------------------------------------------------------- the command
static uint16_t* of_kind(struct resources* all, bool interrupts) {
    return interrupts ? &all->interrupts : &all->queues;
}

/// From the PF's next reset on.
static uint32_t allocate(struct request* r, bool interrupts, uint32_t wanted) {
    struct resources total = resources_total(r->drive), given = resources_given(r->drive);
    if (wanted + *of_kind(&given, interrupts) > *of_kind(&total, interrupts)) return ST_NUM_RESOURCES;
    if (!interrupts && wanted > resources_primary_most(r->drive)) return ST_NUM_RESOURCES;
    *of_kind(&r->drive->primary, interrupts) = (uint16_t)wanted;
    r->dw0 = wanted;
    return ST_SUCCESS;
}

static uint32_t assign(struct request* r, struct function* vf, bool interrupts, uint32_t wanted) {
    if (vf->going_offline) return WAIT;
    if (vf->online) return ST_SECONDARY_STATE;
    struct resources total = resources_total(r->drive), given = resources_given(r->drive),
                     most = resources_most(r->drive), now = vf->own;
    uint32_t others =
        (uint32_t)*of_kind(&given, interrupts) - *of_kind(&now, interrupts) + *of_kind(&r->drive->primary, interrupts);
    if (wanted > *of_kind(&most, interrupts) || others + wanted > *of_kind(&total, interrupts)) return ST_NUM_RESOURCES;
    *of_kind(&now, interrupts) = (uint16_t)wanted;
    if (!resources_give(r->drive, vf, now)) return ST_NUM_RESOURCES;
    r->dw0 = wanted;
    return ST_SUCCESS;
}

static uint32_t online(struct function* vf) {
    if (!(hw_function_events(&vf->hw) & FN_ENABLE)) return ST_SECONDARY_STATE;  // VF Enable is cleared
    if (vf->going_offline) return WAIT;
    if (vf->own.queues < MIN_ONLINE_QUEUES || vf->own.interrupts == 0) return ST_SECONDARY_STATE;
    // One that its host has enabled too early goes on failing until it is reset.
    if (!vf->online && vf->life != FAILED) hw_status(&vf->hw, 0, 0, 0);
    vf->online = true;
    return ST_SUCCESS;
}

/// Its host loses it; when nothing of it is under way any more it has no resources either (functions.c).
static uint32_t offline(struct request* r, struct function* vf) {
    if (r->step == 0) {
        vf->online = false;
        vf->going_offline = true;
        r->step = 1;
    }
    return vf->going_offline ? (uint32_t)WAIT : (uint32_t)ST_SUCCESS;
}

uint32_t virtualization_management(struct request* r) {
    uint32_t action = r->cmd.dw[10] & 15u, resource = r->cmd.dw[10] >> 8 & 7u, id = r->cmd.dw[10] >> 16;
    uint32_t wanted = r->cmd.dw[11] & 0xffffu;
    bool counts = action == VIRT_MGMT_PRIMARY_ALLOCATE || action == VIRT_MGMT_ASSIGN;
    if (!counts && action != VIRT_MGMT_OFFLINE && action != VIRT_MGMT_ONLINE) return ST_INVALID_FIELD;
    bool primary = action == VIRT_MGMT_PRIMARY_ALLOCATE;
    if (primary ? id != r->fn->hw.place : id == 0 || id >= r->drive->hw.num_fn) return ST_CONTROLLER_ID;
    if (counts && resource > VIRT_RESOURCE_VI) return ST_RESOURCE_ID;
    bool interrupts = resource == VIRT_RESOURCE_VI;
    struct function* vf = &r->drive->functions[id];
    switch (action) {
        case VIRT_MGMT_PRIMARY_ALLOCATE: return allocate(r, interrupts, wanted);
        case VIRT_MGMT_ASSIGN: return assign(r, vf, interrupts, wanted);
        case VIRT_MGMT_ONLINE: return online(vf);
        default: return offline(r, vf);
    }
}

// ---------------------------------------------------------------- what functions may have of what all share
#define SHARE_BYTES 64u
#define SHARE_SET_BYTES 32u  // what a host sets; the drive says the others

static uint32_t share_place(const struct request* r, uint32_t* place) {
    *place = r->cmd.dw[11];
    return *place < r->drive->hw.num_fn ? (uint32_t)ST_SUCCESS : ST_CONTROLLER_ID;
}

/// All of it holds at once, or nothing does.
uint32_t function_share_set(struct request* r) {
    struct drive* drive = r->drive;
    bool save = r->cmd.dw[10] >> 31;
    uint32_t place, w[SHARE_SET_BYTES / 4];
    uint32_t status = share_place(r, &place);
    if (status == ST_SUCCESS) status = data_receive(drive->buffers, &r->cmd, w, SHARE_SET_BYTES, SHARE_BYTES);
    if (status != ST_SUCCESS) return status;
    struct share s = {.weight = (uint8_t)w[0],
                      .least = (uint16_t)(w[0] >> 16),
                      .most = (uint16_t)w[1],
                      .iops = w[2],
                      .burst = w[2] ? w[3] : 0,
                      .bytes_per_s = (uint64_t)w[5] << 32 | w[4],
                      .burst_bytes = w[4] | w[5] ? w[6] : 0,
                      .deadline_us = (uint16_t)w[7]};
    if ((w[0] & 0xff00u) || w[1] >> 16 || w[7] >> 16 || !shares_valid(drive, &s)) return ST_INVALID_FIELD;
    if (!shares_fit(drive, place, &s, false) || (save && !shares_fit(drive, place, &s, true))) return ST_NUM_RESOURCES;
    shares_set(drive, place, &s);
    if (save) {
        drive->shares->saved |= 1u << place;
        drive->shares->kept[place] = s;
    }
    return ST_SUCCESS;
}

uint32_t function_share_get(struct request* r) {
    enum { CURRENT, DEFAULT };
    struct drive* drive = r->drive;
    uint32_t select = r->cmd.dw[10] >> 8 & 7u, place;
    uint32_t status = share_place(r, &place);
    if (status != ST_SUCCESS) return status;
    struct share s = select == CURRENT   ? drive->shares->now[place]
                     : select == DEFAULT ? shares_default(drive)
                                         : shares_saved(drive, place);
    uint8_t* page = page_of(r);
    memset(page, 0, SHARE_BYTES);
    page[0] = s.weight;
    put16(page + 2, s.least);
    put16(page + 4, s.most);
    put32(page + 8, s.iops);
    put32(page + 12, s.burst);
    put64(page + 16, s.bytes_per_s);
    put32(page + 24, s.burst_bytes);
    put16(page + 28, s.deadline_us);
    put16(page + 32, drive->hw.num_cmds);
    put16(page + 34, shares_least_total(drive));
    return data_send(drive->buffers, &r->cmd, SHARE_BYTES, SHARE_BYTES);
}
