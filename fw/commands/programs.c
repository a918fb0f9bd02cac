// SPDX-License-Identifier: Apache-2.0
#include "commands/programs.h"

#include "base/bytes.h"
#include "commands/draining.h"
#include "commands/near.h"
#include "hw/programs.h"

#if SLM
/// The command is for the function's namespace of programs.
static uint32_t check_own(const struct request* r) {
    if (!hw_memory_log2()) return ST_INVALID_OPCODE;
    return ns_check(r->drive, nsid_of(r), own_set(r->drive, r->fn, nsid_of(r)) == CSI_PROGRAMS);
}

// ---------------------------------------------------------------- programs
/// CDW10: 15:0 which, 23:16 type, 24 unload, 27:25 1: there is a PID. CDW11: bytes of the program. CDW12, 13: PID. CDW14:
/// bytes that come now. CDW15: offset. A program comes whole, in one command.
SMALL uint32_t program_load(struct request* r) {
    const uint32_t* dw = r->cmd.dw;
    uint32_t which = dw[10] & 0xffffu, named = dw[10] >> 25 & 7u, bytes = dw[11], status = check_own(r);
    if (status != ST_SUCCESS) return status;
    if (which >= PROGRAMS_EACH) return ST_PROGRAM_INDEX;
    if (dw[10] >> 24 & 1u) {
        if (!program_there(r->fn, which)) return ST_NO_PROGRAM;
        if (program_active(r->fn, which)) return ST_PROGRAM_IN_USE;
        near_unload(r->fn, which);
        return ST_SUCCESS;
    }
    if ((dw[10] >> 16 & 0xffu) != PROGRAM_TYPE_NEAR) return ST_PROGRAM_TYPE;
    if (named > 1) return ST_INVALID_FIELD;
    if (bytes > PROGRAM_BYTES) return ST_PROGRAM_TOO_BIG;
    if (!bytes || dw[14] != bytes || dw[15]) return ST_PROGRAM_DATA;
    status = near_load(r, ST_PROGRAM_DATA);
    if (status == ST_SUCCESS && named) program_name(r->fn, which, (uint64_t)dw[13] << 32 | dw[12]);
    return status;
}

/// CDW10: 15:0 which, 19:16 what. One that is to be deactivated takes no new commands; if the function has one under way,
/// of whatever program, it stays activated.
SMALL uint32_t program_activation(struct request* r) {
    uint32_t which = r->cmd.dw[10] & 0xffffu, select = r->cmd.dw[10] >> 16 & 15u, status = check_own(r);
    if (!r->step) {
        if (status != ST_SUCCESS) return status;
        if (select > PROGRAM_SELECT_ACTIVATE) return ST_INVALID_FIELD;
        if (which >= PROGRAMS_EACH) return ST_PROGRAM_INDEX;
        if (!program_there(r->fn, which)) return ST_NO_PROGRAM;
        if (select == PROGRAM_SELECT_ACTIVATE || !program_active(r->fn, which)) {
            program_activate(r->fn, which, select == PROGRAM_SELECT_ACTIVATE);
            return ST_SUCCESS;
        }
        program_leaves(r->fn, which);
        r->step = 1;
    }
    if (slots_step(r, HW_ABORT_FIND, 0, nsid_of(r)) == WAIT) return WAIT;
    program_activate(r->fn, which, r->found);
    return r->found ? ST_PROGRAM_IN_USE : ST_SUCCESS;
}

// ---------------------------------------------------------------- memory ranges
enum { DESCRIPTOR_BYTES = 32, DESCRIPTOR_WORDS = DESCRIPTOR_BYTES / 4 };

/// d: a descriptor: NSID, bytes, first byte. Its bytes are a multiple of `unit`.
SMALL static uint32_t check_range(const struct request* r, const uint32_t* d, uint32_t unit) {
    uint32_t nsid = d[0], bytes = d[1], start = d[2], set = own_set(r->drive, r->fn, nsid);
    if (set != CSI_SLM) {
        bool other = set == CSI_NVM && nsid > r->drive->hw.num_ns && nsid <= last_nsid(r->drive);
        return other ? ST_NS_NOT_REACHABLE : ST_MEMORY_NS;
    }
    if ((start & 3u) || (bytes & (unit - 1)) || !bytes || bytes > RANGE_BYTES) return ST_RANGE_SET;
    uint32_t size = 1u << hw_memory_log2();
    return d[3] || start >= size || bytes > size - start ? (uint32_t)ST_LBA_RANGE : ST_SUCCESS;
}

SMALL static uint32_t create(struct request* r) {
    uint32_t count = r->cmd.dw[11] & 0xffu, set = 0, d[RANGES_EACH * DESCRIPTOR_WORDS];
    if (count > RANGES_EACH) return ST_RANGES_EXCEEDED;
    if (count < RANGES_EACH) return ST_RANGE_SET;
    while (set < RANGE_SETS && ranges_there(r->fn, set)) set++;
    if (set == RANGE_SETS) return ST_RANGE_SETS_EXCEEDED;
    uint32_t status = data_receive(r->drive->buffers, &r->cmd, d, sizeof d, sizeof d);
    if (status == ST_SUCCESS) status = check_range(r, d, 512);
    if (status == ST_SUCCESS) status = check_range(r, d + DESCRIPTOR_WORDS, 64);
    if (status != ST_SUCCESS) return status;
    const struct range ranges[RANGES_EACH] = {{d[2], d[1]}, {d[DESCRIPTOR_WORDS + 2], d[DESCRIPTOR_WORDS + 1]}};
    if (ranges[0].start < ranges[1].start + ranges[1].bytes && ranges[1].start < ranges[0].start + ranges[0].bytes)
        return ST_RANGES_OVERLAP;
    ranges_set(r->fn, set, ranges);
    r->dw0 = set + 1;
    return ST_SUCCESS;
}

/// CDW10: 3:0 what, 31:16 the set that is deleted. CDW11: 7:0 ranges of the one that is created.
SMALL uint32_t memory_range_sets(struct request* r) {
    uint32_t select = r->cmd.dw[10] & 15u, set = (r->cmd.dw[10] >> 16) - 1, status = check_own(r);
    if (status != ST_SUCCESS) return status;
    if (select == RANGE_SET_SELECT_CREATE) return create(r);
    if (select != RANGE_SET_SELECT_DELETE) return ST_INVALID_FIELD;
    if (set >= RANGE_SETS || !ranges_there(r->fn, set)) return ST_RANGE_SET_ID;
    ranges_set(r->fn, set, NULL);
    return ST_SUCCESS;
}

// ---------------------------------------------------------------- log pages
SMALL uint32_t program_list_page(struct request* r) {
    const struct programs* p = r->fn->programs;
    uint8_t* at = page_of(r);
    memset(at, 0, PROGRAM_LIST_BYTES);
    put16(at, PROGRAMS_EACH);
    for (uint32_t i = 0; i < PROGRAMS_EACH; i++) {
        at += 64;
        if (!program_there(r->fn, i)) continue;
        uint32_t active = p->active >> i & 1u, named = p->named >> i & 1u;
        at[0] = (uint8_t)(1u | active << 2 | named << 3);  // PEOCC: there is one; ACT; PIT
        at[1] = PROGRAM_TYPE_NEAR;
        if (named) put64(at + 8, p->id[i]);
    }
    return PROGRAM_LIST_BYTES;
}

SMALL uint32_t program_types_page(struct request* r) {
    uint8_t* page = page_of(r);
    memset(page, 0, PROGRAM_TYPES_BYTES);
    page[0] = 1;
    page[64] = PROGRAM_TYPE_NEAR;
    return PROGRAM_TYPES_BYTES;
}

SMALL uint32_t range_sets_page(struct request* r) {
    uint8_t *page = page_of(r), *at = page + 64;
    memset(page, 0, RANGE_SET_LIST_BYTES);
    for (uint32_t set = 0; set < RANGE_SETS; set++) {
        if (!ranges_there(r->fn, set)) continue;
        page[0]++;
        put16(at, set + 1);
        at[2] = RANGES_EACH;
        at += 16;
        for (uint32_t i = 0; i < RANGES_EACH; i++, at += DESCRIPTOR_BYTES) {
            const struct range* its = &r->fn->programs->ranges[set][i];
            put32(at, nsid_of(r) - 1);  // of the memory
            put32(at + 4, its->bytes);
            put32(at + 8, its->start);
        }
    }
    return (uint32_t)(at - page);
}

// ---------------------------------------------------------------- Identify Namespace
/// Of memory: its size and capacity in bytes, the ranges of a Memory Copy. Of programs: MAXACT, MAXMEMRS, MRSG in bytes,
/// MAXMEMR, MAXPB.
SMALL uint32_t own_identify(struct request* r, uint32_t csi) {
    uint8_t* page = page_of(r);
    uint32_t bytes = 1u << hw_memory_log2();
    if (csi == CSI_SLM) {
        put64(page, bytes);
        put64(page + 8, bytes);
        put32(page + 16, COPY_RANGES);
    } else {
        put16(page, PROGRAMS_EACH);
        put16(page + 2, RANGE_SETS);
        put16(page + 4, 512);
        put16(page + 6, RANGES_EACH);
        put64(page + 8, PROGRAMS_EACH * PROGRAM_BYTES);
        put32(page + 16, 0);
    }
    return 20;
}
#endif
