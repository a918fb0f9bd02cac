// SPDX-License-Identifier: Apache-2.0
#include "nand/precondition.h"

#include <algorithm>

#include "common/random.h"

using namespace db;

namespace {

constexpr u32 FRACTION = 31;  // bits, of what is kept from one age to the next: integers are the same everywhere

/// Units in blocks of ages 0 to n-1, if `kept` of 2^31 remains from each to the next.
u64 sum_of(u32 n, u32 units, u64 kept) {
    u64 part = u64{units} << FRACTION, sum = 0;
    for (u32 i = 0; i < n; ++i) {
        sum += part >> FRACTION;
        part = u64((unsigned __int128)part * kept >> FRACTION);
    }
    return sum;
}

}  // namespace

void Precondition::filled() {
    std::vector<u32> page(g.program_units);
    u32 die = 0;
    for (u32 unit = 0; unit < g.units; die = (die + 1) % g.dies) {
        Ftl::Die& d = ftl.dies[die];
        if (!ftl.has_room(die)) continue;
        if (d.open == NO_BLOCK) d.open = ftl.blocks.take(die), d.page = 0;
        const u32 first = g.first_of(d.open) + d.page * g.program_units;
        for (u32 i = 0; i < g.program_units && unit < g.units; ++i) ftl.map.place(unit++, first + i);
        if (++d.page == g.pages) ftl.blocks.fill(d.open, ++ftl.clock), d.open = NO_BLOCK;
    }
}

/// A block with n valid units, evenly between what is stale.
void Precondition::fill_block(u32 die, const std::vector<u32>& units, u32 first, u32 n, u64& spread) {
    const u32 block = ftl.blocks.take(die), slot = g.first_of(block);
    u32 placed = 0;
    for (u32 i = 0; i < g.block_units && placed < n; ++i) {
        spread += n;
        if (spread < g.block_units && g.block_units - i > n - placed) continue;
        spread -= std::min<u64>(spread, g.block_units);
        ftl.map.place(units[first + placed++], slot + i);
    }
    ftl.blocks.fill(block, ++ftl.clock);
}

void Precondition::steady(u64 seed) {
    Rng rng(seed ^ 0x5354454144590000ull);
    std::vector<u32> units(g.units);
    for (u32 i = 0; i < g.units; ++i) units[i] = i;
    for (u32 i = g.units - 1; i; --i) std::swap(units[i], units[rng.below(i + 1)]);
    u32 from = 0;
    u64 good = 0, before = 0, spread = 0;
    for (u32 die = 0; die < g.dies; ++die) good += ftl.blocks.good(die) - RESERVE;
    for (u32 die = 0; die < g.dies; ++die) {
        const u32 n = ftl.blocks.good(die) - 2;  // all but one that is free and the next to be opened
        before += ftl.blocks.good(die) - RESERVE;
        const u32 to = u32(u64{g.units} * before / good), mine = to - from;
        u64 least = 0, most = u64{1} << FRACTION;  // of what is kept
        while (least + 1 < most) {
            const u64 middle = (least + most) / 2;
            (sum_of(n, g.block_units, middle) <= mine ? least : most) = middle;
        }
        u64 missing = mine - sum_of(n, g.block_units, least);  // by rounding down: the oldest have it
        for (u32 age = n; age-- > 0;) {
            u64 part = u64{g.block_units} << FRACTION;
            for (u32 i = 0; i < age; ++i) part = u64((unsigned __int128)part * least >> FRACTION);
            u32 valid = u32(part >> FRACTION);
            const u32 more = u32(std::min<u64>((missing + age) / (age + 1), g.block_units - valid));
            valid += more;
            missing -= more;
            fill_block(die, units, from, valid, spread);
            from += valid;
        }
        if (from != to) from = to;
    }
}
