// SPDX-License-Identifier: Apache-2.0
// What each function may have of what all share, as the PF has set it: turns, command slots, commands and bytes a second.
// It is the PF's: its reset brings back what was saved, or else the default.
#ifndef SHARES_H
#define SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"

struct drive;

struct share {
    uint8_t weight;        // of its turns, from 1
    uint16_t least, most;  // command slots that it always gets; that it has at most, from 1
    uint32_t iops, burst;  // commands a second, 0: no limit; at once after a time without any, 0: the drive's choice
    uint64_t bytes_per_s;  // the same of bytes
    uint32_t burst_bytes;
    uint16_t deadline_us;  // in which its commands should go to an engine, 0: none
};

struct shares {
    struct share now[FUNCTIONS], kept[FUNCTIONS];
    uint32_t saved;  // which of `kept` there are, a bit each
};

/// All guaranteed slots together are at most so many.
uint32_t shares_least_total(const struct drive* drive);
struct share shares_default(const struct drive* drive);
/// What a reset brings back, of the function at this place.
struct share shares_saved(const struct drive* drive, uint32_t place);
/// Is it possible for any function.
bool shares_valid(const struct drive* drive, const struct share* s);
/// Guarantees fit, with this one at `place`: beside what the others have now, or beside what a reset would give them.
bool shares_fit(const struct drive* drive, uint32_t place, const struct share* s, bool after_reset);
/// From now on; commands that are under way stay.
void shares_set(struct drive* drive, uint32_t place, const struct share* s);
/// A reset of the PF. If what was saved does not fit this hardware, all have the default.
void shares_reset(struct drive* drive);

#endif
