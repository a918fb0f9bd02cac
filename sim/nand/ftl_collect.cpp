// SPDX-License-Identifier: Apache-2.0
// Collection: which block, and how fast.
#include "nand/ftl.h"

using namespace db;

namespace {

constexpr u32 LOW = 1;          // free blocks of a die at which collection begins
constexpr u32 LEVEL_EVERY = 2;  // of so many collections one may be to even out wear

}  // namespace

/// The full block with the fewest valid units; or with the greatest (1 - u) / 2u x age (Rosenblum, Ousterhout), u the part
/// that is valid.
u32 Ftl::best_victim(u32 die) const {
    u32 best = NO_BLOCK;
    unsigned __int128 best_gain = 0, best_cost = 1;
    for (u32 b = blocks.first(die); b < blocks.first(die) + g.blocks; ++b) {
        const u32 valid = map.valid(b);
        if (blocks.state(b) != Blocks::FULL || valid >= g.block_units) continue;
        const u64 stale = g.block_units - valid, age = cost_benefit ? clock - blocks.filled(b) + 1 : 1;
        const unsigned __int128 gain = (unsigned __int128)stale * age, cost = cost_benefit ? 2 * u64{valid} + 1 : 1;
        if (best == NO_BLOCK || gain * best_cost > best_gain * cost) best = b, best_gain = gain, best_cost = cost;
    }
    return best;
}

/// The full block that was erased least, if it is far behind the one that was erased most.
u32 Ftl::coldest(u32 die) const {
    u32 least = NO_BLOCK, most = 0;
    for (u32 b = blocks.first(die); b < blocks.first(die) + g.blocks; ++b) {
        if (blocks.state(b) == Blocks::BAD) continue;
        if (blocks.erases(b) > most) most = blocks.erases(b);
        if (blocks.state(b) == Blocks::FULL && (least == NO_BLOCK || blocks.erases(b) < blocks.erases(least)))
            least = b;
    }
    return least != NO_BLOCK && most - blocks.erases(least) > level ? least : NO_BLOCK;
}

void Ftl::begin(u32 die, u32 victim) {
    Die& d = dies[die];
    d.victim = victim;
    d.scanned = 0;
    d.budget = 0;
    d.cost = victim == NO_BLOCK ? 0 : map.valid(victim);
}

/// After n units of the host. What a block costs is spread over the writes that it makes room for.
void Ftl::pace(u64 now, u32 die, u32 n) {
    Die& d = dies[die];
    if (d.victim == NO_BLOCK) {
        if (blocks.free(die) > LOW) return;
        const u32 cold = level && f.collections % LEVEL_EVERY == 0 ? coldest(die) : NO_BLOCK;
        f.levelled += cold != NO_BLOCK;
        begin(die, cold != NO_BLOCK ? cold : best_victim(die));
    }
    d.budget += u64{n} * d.cost;
    const u32 gain = g.block_units - d.cost;
    while (d.victim != NO_BLOCK && d.budget >= gain) {
        const u32 moved = move_page(now, die);
        if (!moved) break;
        const u64 paid = u64{moved} * gain;
        d.budget -= paid < d.budget ? paid : d.budget;
    }
    end_if_done(now, die);
}

/// Reads what is valid of the victim's next page that holds something; how many units, 0 at the end.
u32 Ftl::move_page(u64 now, u32 die) {
    Die& d = dies[die];
    const u32 victim = d.victim, first = g.first_of(victim);
    u32 found = 0;
    u32 slots[64 / 4];  // a page of 64 KiB
    while (!found && d.scanned < g.block_units) {
        for (u32 i = 0; i < g.page_units; ++i, ++d.scanned)
            if (map.unit(first + d.scanned) != NO_UNIT) slots[found++] = first + d.scanned;
    }
    if (!found) return 0;
    timing.work(now, Timing::MOVE, die, g.plane_of(slots[0]), found * UNIT, NO_TAG);
    for (u32 i = 0; i < found; ++i) {
        d.moving.push_back({map.unit(slots[i]), slots[i]});
        if (d.moving.size() == g.program_units) program(now, die, nullptr, 0, NO_TAG);
    }
    return found;
}

/// All that was valid of the victim lies elsewhere: it is erased.
void Ftl::end_if_done(u64 now, u32 die) {
    Die& d = dies[die];
    if (d.victim == NO_BLOCK || map.valid(d.victim)) return;
    const u32 victim = d.victim;
    d.victim = NO_BLOCK;
    ++f.collections;
    timing.work(now, Timing::ERASE, die, 0, 0, NO_TAG);
    // A block that is worn out works on while its die has no other that is free, or too few for its data.
    const bool spare = blocks.free(die) && map.valid_of_die(die) <= u64{blocks.good(die) - RESERVE - 2} * g.block_units;
    blocks.erase(victim, spare);
}

/// The block that is collected, or the best one, without delay.
void Ftl::finish(u64 now, u32 die) {
    Die& d = dies[die];
    if (d.victim == NO_BLOCK) begin(die, best_victim(die));
    const u32 victim = d.victim;
    while (d.victim == victim && victim != NO_BLOCK) {
        if (move_page(now, die)) continue;
        if (!d.moving.empty()) program(now, die, nullptr, 0, NO_TAG);
        end_if_done(now, die);
        if (d.victim == victim && d.moving.empty() && d.scanned >= g.block_units) break;
    }
}
