// SPDX-License-Identifier: Apache-2.0
#include "nand/blocks.h"

#include <algorithm>

#include "common/random.h"

using namespace db;

Blocks::Blocks(const Geometry& geometry, const db_nand_config& c, db_nand_figures& figures)
    : g(geometry), f(figures), read_limit(c.read_disturb), endurance(c.endurance), all(u64{g.dies} * g.blocks),
      free_on(g.dies, g.blocks), good_on(g.dies, g.blocks) {
    const u64 row = u64{g.dies} * g.block_units;
    least_good = u32((g.units + row - 1) / row) + 1 + RESERVE;
    Rng rng(c.seed);
    for (u32 die = 0; die < g.dies; ++die) {
        for (u32 i = 0; i < g.blocks; ++i) {
            Block& b = all[first(die) + i];
            b.made_for = endurance ? endurance - endurance / 10 + rng.below(endurance / 5 + 1) : 0xFFFFFFFF;
            if (rng.below(1000000) >= c.bad_blocks_ppm || good_on[die] <= least_good) continue;
            b.state = BAD;
            --free_on[die], --good_on[die];
            ++f.bad;
        }
        spares += good_on[die] > least_good ? good_on[die] - least_good : 0;
    }
}

u32 Blocks::take(u32 die) {
    u32 best = NO_BLOCK;
    for (u32 b = first(die); b < first(die) + g.blocks; ++b)
        if (all[b].state == FREE && (best == NO_BLOCK || all[b].erases < all[best].erases)) best = b;
    if (best == NO_BLOCK) return best;
    all[best].state = OPEN;
    --free_on[die];
    return best;
}

void Blocks::fill(u32 block, u64 when) {
    all[block].state = FULL;
    all[block].filled = when;
}

void Blocks::erase(u32 block, bool spare) {
    Block& b = all[block];
    const u32 die = block / g.blocks;
    ++b.erases;
    b.reads = 0;
    if (b.erases >= b.made_for && spare && good_on[die] > least_good) {
        b.state = BAD;
        --good_on[die];
        ++f.retired;
        return;
    }
    is_worn |= b.erases >= b.made_for && good_on[die] <= least_good;
    b.state = FREE;
    ++free_on[die];
}

bool Blocks::read(u32 block) { return ++all[block].reads == read_limit; }

void Blocks::read_figures(db_nand_figures& out) const {
    out.erase_most = out.erase_sum = out.good = 0;
    out.erase_least = NEVER;
    for (const Block& b : all) {
        if (b.state == BAD) continue;
        out.erase_most = std::max<u64>(out.erase_most, b.erases);
        out.erase_least = std::min<u64>(out.erase_least, b.erases);
        out.erase_sum += b.erases;
        ++out.good;
    }
    out.slots = out.good * g.block_units;
    out.reserve = u64{g.dies} * RESERVE * g.block_units;
    out.percent_used = endurance && out.good ? out.erase_sum * 100 / (out.good * endurance) : 0;
}
