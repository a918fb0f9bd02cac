// SPDX-License-Identifier: Apache-2.0
#include "nand/nand.h"

#include "nand/precondition.h"

using namespace db;

namespace {

constexpr u32 SECTOR = UNIT / SECTORS;

u8 sectors_of(u64 at, u32 bytes) {
    const u32 first = u32(at % UNIT / SECTOR), last = u32((at % UNIT + bytes - 1) / SECTOR);
    return u8((2u << last) - (1u << first));
}

}  // namespace

std::unique_ptr<Nand> Nand::make(const db_nand_config& c, u64 bytes, std::string& why) {
    Geometry g;
    why = g.make(c, bytes);
    if (!why.empty()) return nullptr;
    auto nand = std::unique_ptr<Nand>(new Nand(g, c));
    Precondition past(nand->g, nand->ftl);
    if (c.precondition == DB_NAND_FILLED) past.filled();
    if (c.precondition == DB_NAND_STEADY) past.steady(c.seed);
    return nand;
}

Nand::Nand(const Geometry& geometry, const db_nand_config& c)
    : g(geometry), config(c), timing(g, c, f), ftl(g, c, f, timing), entries(c.buffer_units),
      entry_of(g.units, NOWHERE), page(g.program_units) {
    for (u32 i = c.buffer_units; i; --i) free.push_back(i - 1);
}

void Nand::answer(u64 now, u64 tag) {
    --outstanding;
    done.push({tag, now + u64{config.controller_ns} * 1000});
}

void Nand::read(u64 now, u64 tag, u64 at, u32 bytes) {
    advance(now);
    ++outstanding;
    ++f.host_reads;
    const u32 unit = u32(at / UNIT), entry = entry_of[unit], slot = ftl.map.slot(unit);
    const u8 wanted = sectors_of(at, bytes);
    if (entry != NOWHERE && (entries[entry].sectors & wanted) == wanted) {
        ++f.buffer_reads;
        answer(now, tag);
    } else if (slot == NO_UNIT) {
        ++f.empty_reads;
        answer(now, tag);
    } else {
        timing.read(now, g.die_of(slot), g.plane_of(slot), g.page_of(slot), bytes, tag);
        ftl.was_read(now, g.block_of(slot));
    }
}

void Nand::write(u64 now, u64 tag, u64 at, u32 bytes) {
    advance(now);
    ++outstanding;
    const u32 unit = u32(at / UNIT);
    const u8 sectors = sectors_of(at, bytes);
    if (waiting.empty() && accept(now, unit, sectors)) answer(now, tag);
    else waiting.push({tag, unit, sectors});
}

/// Into the buffer, if it has room.
bool Nand::accept(u64 now, u32 unit, u8 sectors) {
    const u32 there = entry_of[unit];
    if (there != NOWHERE && !entries[there].sent) {
        f.buffer_hits += (entries[there].sectors & sectors) != 0;
        entries[there].sectors |= sectors;
        return true;
    }
    if (free.empty()) return false;
    const u32 entry = free.back();
    free.pop_back();
    entries[entry] = {unit, sectors, false, flush_number};
    entry_of[unit] = entry;
    staged.push(entry);
    // The next page stays, so that what comes in parts is whole when it leaves.
    while (staged.size() >= 2 * g.program_units) send(now);
    return true;
}

/// A program with what has been in the buffer for longest.
void Nand::send(u64 now) {
    const u32 die = ftl.choose();
    u32 number = u32(groups.size()), n = 0;
    if (free_groups.empty()) groups.emplace_back();
    else number = free_groups.back(), free_groups.pop_back();
    for (u32 room = ftl.room(die); n < room && !staged.empty(); ++n) {
        const u32 entry = staged.pop();
        Entry& e = entries[entry];
        e.sent = true;
        page[n] = e.unit;
        groups[number].push_back(entry);
        const u32 old = e.unit == NO_UNIT || e.sectors == 0xFF ? NO_UNIT : ftl.map.slot(e.unit);
        if (old == NO_UNIT) continue;
        ++f.merge_reads;
        timing.work(now, Timing::MOVE, g.die_of(old), g.plane_of(old), UNIT, NO_TAG);
    }
    ftl.write(now, die, page.data(), n, number);
}

void Nand::programmed(u64 now, u32 group) {
    for (const u32 entry : groups[group]) {
        Entry& e = entries[entry];
        if (e.unit != NO_UNIT && entry_of[e.unit] == entry) entry_of[e.unit] = NOWHERE;
        for (Flush& flush : flushes) flush.left -= e.born < flush.number;
        free.push_back(entry);
    }
    groups[group].clear();
    free_groups.push_back(group);
    size_t kept = 0;
    for (const Flush& flush : flushes) {
        if (flush.left) flushes[kept++] = flush;
        else answer(now, flush.tag);
    }
    flushes.resize(kept);
    while (!waiting.empty() && accept(now, waiting.front().unit, waiting.front().sectors))
        answer(now, waiting.pop().tag);
}

void Nand::flush(u64 now, u64 tag) {
    advance(now);
    ++outstanding;
    const u64 inside = entries.size() - free.size();
    if (config.power_loss_safe || !inside) {
        answer(now, tag);
        return;
    }
    flushes.push_back({tag, ++flush_number, inside});
    while (!staged.empty()) send(now);
}

void Nand::trim(u64 now, u64 at, u64 bytes) {
    advance(now);
    const u32 first = u32((at + UNIT - 1) / UNIT), end = u32((at + bytes) / UNIT);
    for (u32 unit = first; unit < end; ++unit) {
        if (const u32 entry = entry_of[unit]; entry != NOWHERE) {
            entries[entry].unit = NO_UNIT;
            entry_of[unit] = NOWHERE;
        }
        ftl.map.drop(unit);
    }
}

void Nand::advance(u64 now) {
    while (timing.next() <= now) {
        timing.step();
        for (size_t i = 0; i < timing.ended.size(); ++i) {  // which may grow
            const Timing::Ended e = timing.ended[i];
            if (e.kind == Timing::READ) answer(e.time, e.tag);
            else if (e.kind == Timing::PROGRAM && e.tag != NO_TAG) programmed(e.time, u32(e.tag));
        }
        timing.ended.clear();
    }
}

u64 Nand::next() const {
    const u64 given = done.empty() ? NEVER : done.front().time;
    return outstanding && timing.next() < given ? timing.next() : given;
}

bool Nand::take(u64 now, Done& out) {
    if (done.empty() || done.front().time > now) return false;
    out = done.pop();
    return true;
}

db_nand_figures Nand::figures() const {
    db_nand_figures out = f;
    out.units = g.units;
    out.valid = ftl.map.valid();
    out.waiting_writes = waiting.size();
    ftl.blocks.read_figures(out);
    return out;
}

u64 Nand::check() const { return ftl.map.check(); }
