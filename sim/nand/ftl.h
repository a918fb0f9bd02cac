// SPDX-License-Identifier: Apache-2.0
// The flash translation layer: each die is a log of its own. Data of the host and what collection moves go to the same
// open block, and a program may hold both. Collection begins when a die has few free blocks; it keeps pace with the
// writes of the host, so that it ends before the free blocks do. What is decided here takes its time in Timing.
#pragma once

#include <vector>

#include "nand/blocks.h"
#include "nand/mapping.h"
#include "nand/timing.h"

namespace db {

constexpr u64 NO_TAG = NEVER;  // nobody waits for it

class Ftl {
  public:
    Ftl(const Geometry& g, const db_nand_config& c, db_nand_figures& f, Timing& t);

    Mapping map;
    Blocks blocks;

    /// How many units the next program of a die takes.
    u32 room(u32 die) const { return g.program_units - u32(dies[die].moving.size()); }
    /// The die whose turn it is.
    u32 choose();
    /// A program: n units, at most `room`; NO_UNIT is padding.
    void write(u64 now, u32 die, const u32* units, u32 n, u64 tag);
    /// A page of the block is read for the host.
    void was_read(u64 now, u32 block);

  private:
    struct Moving {
        u32 unit, slot;
    };
    struct Die {
        u32 open = NO_BLOCK, page = 0;
        u32 victim = NO_BLOCK, scanned = 0, cost = 0;  // cost: units of it that were valid
        u64 budget = 0;
        std::vector<Moving> moving;  // read, not yet programmed
    };
    const Geometry& g;
    db_nand_figures& f;
    Timing& timing;
    bool cost_benefit;
    u32 level;
    std::vector<Die> dies;
    u32 turn = 0;
    u64 clock = 0;  // programs so far

    bool has_room(u32 die) const;
    void open(u64 now, u32 die);
    void program(u64 now, u32 die, const u32* units, u32 n, u64 tag);
    // ---- collection (ftl_collect.cpp)
    u32 best_victim(u32 die) const;
    u32 coldest(u32 die) const;
    void begin(u32 die, u32 victim);
    void pace(u64 now, u32 die, u32 n);
    u32 move_page(u64 now, u32 die);
    void end_if_done(u64 now, u32 die);
    void finish(u64 now, u32 die);

    friend class Precondition;
};

}  // namespace db
