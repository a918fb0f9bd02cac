// SPDX-License-Identifier: Apache-2.0
// Card memory of a function that is a namespace, ranges in it, and which of a function's programs Execute may run
// (docs/csd/programs.md), where there is any.
#ifndef HW_PROGRAMS_H
#define HW_PROGRAMS_H

#include <stdint.h>

/// log2 of the bytes of the memory that each function has; 0: there is none. A function's address of its first byte is
/// 2^64 less so many.
uint32_t hw_memory_log2(void);

enum { HW_RANGE_DATA, HW_RANGE_RESULT };
/// A range of memory, from byte `start` on; 0 bytes: there is none. `set` counts from 0, `which` is HW_RANGE_*.
void hw_range(uint32_t place, uint32_t set, uint32_t which, uint32_t start, uint32_t bytes);
/// Programs of the function at this place, a bit each: those there are, and those of them that are activated.
void hw_program_state(uint32_t place, uint32_t there, uint32_t active);

#endif
