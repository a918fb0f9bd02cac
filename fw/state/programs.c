// SPDX-License-Identifier: Apache-2.0
#include "state/programs.h"

#include "hw/hw.h"
#include "hw/programs.h"
#include "state/drive.h"
#include "state/function.h"

#if SLM
bool own_namespaces(const struct function* fn) { return hw_memory_log2() && cc_css(fn->cc) == CC_CSS_ALL; }

/// Of its memory; that of its programs is the next.
static uint32_t first_nsid(const struct drive* drive, const struct function* fn) {
    return drive->hw.num_ns + 1u + 2u * fn->hw.place;
}

uint32_t own_set(const struct drive* drive, const struct function* fn, uint32_t nsid) {
    uint32_t n = nsid - first_nsid(drive, fn);
    if (n > 1 || !own_namespaces(fn)) return CSI_NVM;
    return n ? CSI_PROGRAMS : CSI_SLM;
}

void own_show(const struct drive* drive, const struct function* fn, bool shown) {
    uint32_t log2 = hw_memory_log2(), nsid = first_nsid(drive, fn);
    if (!log2) return;
    uint64_t bytes = (uint64_t)(1u << log2);
    struct hw_namespace is = {
        .attached = (uint32_t)shown << fn->hw.place, .base = -bytes, .blocks = bytes, .set = HW_SET_MEMORY};
    hw_namespace(nsid, &is);
    is.set = HW_SET_PROGRAMS;
    hw_namespace(nsid + 1, &is);
}

// ---------------------------------------------------------------- programs
bool program_there(const struct function* fn, uint32_t which) { return fn->programs->there >> which & 1u; }

bool program_active(const struct function* fn, uint32_t which) { return fn->programs->active >> which & 1u; }

static void show(const struct function* fn) {
    const struct programs* p = fn->programs;
    hw_program_state(fn->hw.place, p->there, p->active & ~p->leaving & 15u);
}

void program_loaded(struct function* fn, uint32_t which, bool there) {
    struct programs* p = fn->programs;
    uint32_t bit = 1u << which;
    p->there = (uint8_t)((p->there & ~bit) | (there ? bit : 0));
    p->active &= (uint8_t)~bit;
    p->named &= (uint8_t)~bit;
    show(fn);
}

void program_name(struct function* fn, uint32_t which, uint64_t id) {
    fn->programs->id[which] = id;
    fn->programs->named |= (uint8_t)(1u << which);
}

void program_activate(struct function* fn, uint32_t which, bool active) {
    struct programs* p = fn->programs;
    uint32_t bit = 1u << which;
    p->active = (uint8_t)((p->active & ~bit) | (active ? bit : 0));
    p->leaving &= (uint8_t)~bit;
    show(fn);
}

void program_leaves(struct function* fn, uint32_t which) {
    fn->programs->leaving |= (uint8_t)(1u << which);
    show(fn);
}

// ---------------------------------------------------------------- memory ranges
bool ranges_there(const struct function* fn, uint32_t set) {
    return fn->programs->ranges[set][HW_RANGE_DATA].bytes != 0;
}

void ranges_set(struct function* fn, uint32_t set, const struct range* ranges) {
    for (uint32_t i = 0; i < RANGES_EACH; i++) {
        struct range* its = &fn->programs->ranges[set][i];
        *its = ranges ? ranges[i] : (struct range){0, 0};
        hw_range(fn->hw.place, set, i, its->start, its->bytes);
    }
}

void programs_reset(struct function* fn) {
    struct programs* p = fn->programs;
    p->there = p->active = p->named = p->leaving = 0;
    show(fn);
    for (uint32_t set = 0; set < RANGE_SETS; set++) ranges_set(fn, set, NULL);
}
#endif
