// SPDX-License-Identifier: Apache-2.0
#include "nand/ftl.h"

#include <stdexcept>

using namespace db;

Ftl::Ftl(const Geometry& geometry, const db_nand_config& c, db_nand_figures& figures, Timing& t)
    : map(geometry), blocks(geometry, c, figures), g(geometry), f(figures), timing(t),
      cost_benefit(c.cost_benefit != 0), level(c.level), dies(g.dies) {
    for (Die& d : dies) d.moving.reserve(g.program_units);
}

/// No die may have more valid data than leaves its collection something to gain.
bool Ftl::has_room(u32 die) const {
    return map.valid_of_die(die) + g.program_units <= (blocks.good(die) - RESERVE) * g.block_units;
}

u32 Ftl::choose() {
    u32 best = NO_BLOCK;
    for (u32 i = 0; i < g.dies; ++i) {
        const u32 die = (turn + i) % g.dies;
        if (has_room(die) && (best == NO_BLOCK || timing.backlog(die) < timing.backlog(best))) best = die;
    }
    if (best == NO_BLOCK) best = turn;
    turn = (best + 1) % g.dies;
    return best;
}

void Ftl::open(u64 now, u32 die) {
    Die& d = dies[die];
    d.open = blocks.take(die);
    if (d.open == NO_BLOCK) throw std::logic_error("NAND media: a die has no free block left");
    d.page = 0;
    if (!blocks.free(die)) finish(now, die);
}

void Ftl::program(u64 now, u32 die, const u32* units, u32 n, u64 tag) {
    Die& d = dies[die];
    if (d.open == NO_BLOCK) open(now, die);
    const u32 first = g.first_of(d.open) + d.page * g.program_units;
    u32 slot = first;
    for (const Moving& m : d.moving)
        if (map.slot(m.unit) == m.slot) map.place(m.unit, slot++), ++f.moved_units;
    d.moving.clear();
    for (u32 i = 0; i < n; ++i) {
        if (units[i] == NO_UNIT) continue;
        map.place(units[i], slot++);
        ++f.host_units;
    }
    f.padding += first + g.program_units - slot;
    ++clock;
    timing.work(now, Timing::PROGRAM, die, 0, g.program_units * UNIT, tag);
    if (++d.page == g.pages) {
        blocks.fill(d.open, clock);
        end_if_done(now, die);
        open(now, die);  // now, as nothing is on its way: collection may need the new block at once
    } else {
        end_if_done(now, die);
    }
}

void Ftl::write(u64 now, u32 die, const u32* units, u32 n, u64 tag) {
    program(now, die, units, n, tag);
    pace(now, die, n);
}

void Ftl::was_read(u64 now, u32 block) {
    const u32 die = block / g.blocks;
    if (!blocks.read(block) || blocks.state(block) != Blocks::FULL || dies[die].victim == block) return;
    if (dies[die].victim != NO_BLOCK) finish(now, die);
    if (blocks.state(block) != Blocks::FULL) return;
    begin(die, block);
    ++f.refreshed;
    finish(now, die);
}
