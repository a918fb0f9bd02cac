// SPDX-License-Identifier: Apache-2.0
// State and wear of the blocks of NAND media: free, open, full or bad; how often erased and read. Numbers are of all dies.
#pragma once

#include <vector>

#include "nand/geometry.h"

namespace db {

constexpr u32 NO_BLOCK = 0xFFFFFFFF;

class Blocks {
  public:
    enum State : u8 { FREE, OPEN, FULL, BAD };

    Blocks(const Geometry& g, const db_nand_config& c, db_nand_figures& f);

    State state(u32 block) const { return all[block].state; }
    u32 erases(u32 block) const { return all[block].erases; }
    u64 filled(u32 block) const { return all[block].filled; }
    u32 free(u32 die) const { return free_on[die]; }
    u32 good(u32 die) const { return good_on[die]; }
    u32 first(u32 die) const { return die * g.blocks; }

    /// Opens the free block of a die that is erased least, or NO_BLOCK.
    u32 take(u32 die);
    /// It is full; when: any clock, for cost and benefit.
    void fill(u32 block, u64 when);
    /// It is free again, or has become bad if the die can spare it.
    void erase(u32 block, bool spare);
    /// A page is read. True: so often that the block should be written anew.
    bool read(u32 block);

    void read_figures(db_nand_figures& out) const;
    /// Blocks that may become bad, and how many they were.
    u32 spare() const { return spares - u32(f.retired); }
    u32 spare_once() const { return spares; }
    /// A block is worn that its die cannot spare.
    bool worn() const { return is_worn; }

  private:
    struct Block {
        State state = FREE;
        u32 erases = 0, reads = 0, made_for = 0;
        u64 filled = 0;
    };
    const Geometry& g;
    db_nand_figures& f;
    u32 read_limit, endurance, least_good, spares = 0;
    bool is_worn = false;
    std::vector<Block> all;
    std::vector<u32> free_on, good_on;
};

}  // namespace db
