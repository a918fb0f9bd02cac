// SPDX-License-Identifier: Apache-2.0
// Which unit lies where, and how much of each block is valid.
#pragma once

#include <vector>

#include "nand/geometry.h"

namespace db {

class Mapping {
    const Geometry& g;
    std::vector<u32> slot_of, unit_in;  // by unit, by slot
    std::vector<u32> in_block, on_die;
    u64 all = 0;

  public:
    explicit Mapping(const Geometry& geometry)
        : g(geometry), slot_of(g.units, NO_UNIT), unit_in(g.slots(), NO_UNIT), in_block(u64{g.dies} * g.blocks),
          on_die(g.dies) {}

    u32 slot(u32 unit) const { return slot_of[unit]; }
    /// The unit whose valid data is there, or NO_UNIT.
    u32 unit(u32 slot) const { return unit_in[slot]; }
    u32 valid(u32 block) const { return in_block[block]; }
    u32 valid_of_die(u32 die) const { return on_die[die]; }
    u64 valid() const { return all; }

    void drop(u32 unit) {
        const u32 slot = slot_of[unit];
        if (slot == NO_UNIT) return;
        slot_of[unit] = unit_in[slot] = NO_UNIT;
        --in_block[g.block_of(slot)];
        --on_die[g.die_of(slot)];
        --all;
    }
    void place(u32 unit, u32 slot) {
        drop(unit);
        slot_of[unit] = slot;
        unit_in[slot] = unit;
        ++in_block[g.block_of(slot)];
        ++on_die[g.die_of(slot)];
        ++all;
    }

    /// How many of its rules do not hold.
    u64 check() const;
};

}  // namespace db
