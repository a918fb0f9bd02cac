// SPDX-License-Identifier: Apache-2.0
#include "nand/mapping.h"

using namespace db;

u64 Mapping::check() const {
    u64 wrong = 0, seen = 0;
    for (u32 unit = 0; unit < g.units; ++unit)
        if (slot_of[unit] != NO_UNIT) wrong += unit_in[slot_of[unit]] != unit, ++seen;
    std::vector<u32> blocks(in_block.size());
    for (u32 slot = 0; slot < unit_in.size(); ++slot)
        if (unit_in[slot] != NO_UNIT) ++blocks[g.block_of(slot)];
    for (u32 block = 0; block < blocks.size(); ++block) wrong += blocks[block] != in_block[block];
    return wrong + (seen != all);
}
