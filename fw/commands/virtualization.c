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
    put_resource(page + 32, total.queues, given.queues, drive->primary.queues, own.queues, most.queues);
    put_resource(page + 64, total.interrupts, given.interrupts, drive->primary.interrupts, own.interrupts,
                 most.interrupts);
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
