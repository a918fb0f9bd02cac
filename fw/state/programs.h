// SPDX-License-Identifier: Apache-2.0
// A function's own namespaces, one of memory and one of programs: which of its programs are there and activated, and its
// sets of memory ranges (docs/csd/programs.md). A reset of the function takes all of it.
//
// They come behind those of the media: of the function at place p the memory has NSID num_ns + 1 + 2p, the programs the
// next one. Only a host that has enabled its controller for all command sets has them, and no other function sees them.
#ifndef PROGRAMS_STATE_H
#define PROGRAMS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"

struct drive;
struct function;

/// Of a function; ranges of a set; of a Memory Copy, as db_ssd_copy has them.
enum { PROGRAMS_EACH = 4, RANGE_SETS = 4, RANGES_EACH = 2, COPY_RANGES = 4 };
enum { PROGRAM_BYTES = 1024, RANGE_BYTES = 1 << 20 };  // of a program, of a range at most

struct range {
    uint32_t start, bytes;
};

struct programs {
    uint64_t id[PROGRAMS_EACH];                    // PID
    struct range ranges[RANGE_SETS][RANGES_EACH];  // data, result; 0 bytes: there is no such set
    uint8_t there, active, named;                  // programs, a bit each; those with a PID
    uint8_t leaving;                               // activated ones that take no more commands
};

/// There are such namespaces, and the function's host has them.
bool own_namespaces(const struct function* fn);
/// CSI_SLM, CSI_PROGRAMS: it is the function's namespace of memory, of programs. 0: it is neither.
uint32_t own_set(const struct drive* drive, const struct function* fn, uint32_t nsid);
/// Tell the hardware of both, or that they are no more.
void own_show(const struct drive* drive, const struct function* fn, bool shown);

/// No program, no range.
void programs_reset(struct function* fn);
bool program_there(const struct function* fn, uint32_t which);
bool program_active(const struct function* fn, uint32_t which);
/// It is there, or no more; not activated, and without a PID.
void program_loaded(struct function* fn, uint32_t which, bool there);
void program_name(struct function* fn, uint32_t which, uint64_t id);
void program_activate(struct function* fn, uint32_t which, bool active);
/// It stays activated, but the hardware begins nothing more of it until program_activate says what becomes of it.
void program_leaves(struct function* fn, uint32_t which);
bool ranges_there(const struct function* fn, uint32_t set);
/// Data, result. NULL: the set is no more.
void ranges_set(struct function* fn, uint32_t set, const struct range* ranges);

#endif
