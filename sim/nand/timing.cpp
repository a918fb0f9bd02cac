// SPDX-License-Identifier: Apache-2.0
#include "nand/timing.h"

#include <algorithm>

using namespace db;

Timing::Timing(const Geometry& geometry, const db_nand_config& c, db_nand_figures& figures)
    : g(geometry), f(figures), read_ps(c.read_ns * u64{1000}), program_ps(c.program_ns * u64{1000}),
      erase_ps(c.erase_ns * u64{1000}), suspend_ps(c.suspend_ns * u64{1000}), byte_fs(1000000000 / c.bus_mbps),
      most_suspensions(c.suspends), plane_reads(c.plane_reads != 0), dies(g.dies), channels(g.channels) {
    for (Die& d : dies) d.planes.resize(g.planes);
}

void Timing::at(u64 time, What what, u32 index, u32 plane, u32 turn) {
    events.push_back(Event{time, order++, what, index, plane, turn});
    std::push_heap(events.begin(), events.end());
}

void Timing::step() {
    const Event e = events.front();
    std::pop_heap(events.begin(), events.end());
    events.pop_back();
    switch (e.what) {
        case AVAILABLE: look(e.time, e.index); break;
        case SENSED:
            dies[e.index].planes[e.plane].sensing = false;
            send_page(e.time, e.index, e.plane);
            look(e.time, e.index);
            break;
        case ARRAY:
            if (e.turn == dies[e.index].turn) end_array(e.time, e.index);
            break;
        case CHANNEL: end_transfer(e.time, e.index); break;
    }
}

// ---- channels

void Timing::transfer(u64 now, const Transfer& t) {
    const u32 c = g.channel_of(t.die);
    channels[c].waiting.push(t);
    if (!channels[c].busy) begin_transfer(now, c);
}

void Timing::begin_transfer(u64 now, u32 channel) {
    Channel& c = channels[channel];
    c.busy = true;
    c.now = c.waiting.pop();
    at(now + c.now.bytes * byte_fs / 1000, CHANNEL, channel);
}

void Timing::end_transfer(u64 now, u32 channel) {
    Channel& c = channels[channel];
    const Transfer t = c.now;
    c.busy = false;
    if (!c.waiting.empty()) begin_transfer(now, channel);
    Die& d = dies[t.die];
    if (t.kind == READ) {
        ended.push_back({READ, t.tag, now});
        --d.planes[t.plane].leaving;
    } else if (t.kind == MOVE) {
        ended.push_back({MOVE, t.tag, now});
        d.state = IDLE;
    } else {
        run(now, t.die, program_ps);
    }
    look(now, t.die);
}

// ---- reads of the host

void Timing::read(u64 now, u32 die, u32 plane, u32 page, u32 bytes, u64 tag) {
    dies[die].planes[plane].waiting.push({page, bytes, tag});
    if (dies[die].planes[plane].page == page && !dies[die].planes[plane].sensing) send_page(now, die, plane);
    look(now, die);
}

/// What is wanted of the page in the register leaves it.
void Timing::send_page(u64 now, u32 die, u32 plane) {
    Plane& p = dies[die].planes[plane];
    for (size_t n = p.waiting.size(); n; --n) {  // those of other pages stay, in their order
        const Wanted w = p.waiting.pop();
        if (w.page == p.page) {
            ++p.leaving;
            transfer(now, {READ, die, plane, w.bytes, w.tag});
        } else {
            p.waiting.push(w);
        }
    }
}

bool Timing::reads_wait(const Die& d) const {
    return std::any_of(d.planes.begin(), d.planes.end(), [](const Plane& p) { return !p.waiting.empty(); });
}

bool Timing::planes_rest(const Die& d) const {
    return std::none_of(d.planes.begin(), d.planes.end(), [](const Plane& p) { return p.sensing || p.leaving; });
}

void Timing::begin_reads(u64 now, u32 die) {
    Die& d = dies[die];
    for (u32 i = 0; i < g.planes; ++i) {
        if (!plane_reads && std::any_of(d.planes.begin(), d.planes.end(), [](const Plane& p) { return p.sensing; }))
            return;
        Plane& p = d.planes[(i + d.turn) % g.planes];
        if (p.waiting.empty() || p.sensing || p.leaving) continue;
        p.page = p.waiting.front().page;
        p.sensing = true;
        ++f.senses;
        if (d.state == SUSPENDED || !d.work.empty()) ++d.ahead;
        at(now + read_ps, SENSED, die, (i + d.turn) % g.planes);
    }
}

// ---- a die

void Timing::work(u64 now, Kind kind, u32 die, u32 plane, u32 bytes, u64 tag) {
    dies[die].work.push({kind, plane, bytes, tag});
    if (kind != MOVE) ++dies[die].backlog;
    look(now, die);
}

void Timing::run(u64 now, u32 die, u64 time) {
    Die& d = dies[die];
    d.state = RUNNING;
    d.ahead = 0;
    for (Plane& p : d.planes) p.page = NO_PAGE;
    d.end = now + time;
    at(d.end, ARRAY, die, 0, ++d.turn);
}

void Timing::end_array(u64 now, u32 die) {
    Die& d = dies[die];
    if (d.state == MOVING) {  // sensed
        transfer(now, {MOVE, die, d.now.plane, d.now.bytes, d.now.tag});
        return;
    }
    d.state = IDLE;
    --d.backlog;
    ++(d.now.kind == PROGRAM ? f.programs : f.erases);
    ended.push_back({d.now.kind, d.now.tag, now});
    look(now, die);
}

/// The die begins what it can.
void Timing::look(u64 now, u32 die) {
    Die& d = dies[die];
    const bool work_first = d.ahead >= READS_AHEAD && (d.state == SUSPENDED || !d.work.empty());
    const bool wanted = !work_first && reads_wait(d);
    if (d.state == RUNNING && wanted && d.suspensions < most_suspensions && d.end > now + suspend_ps) {
        d.left = d.end - now;
        d.from = now + suspend_ps;
        ++d.turn;  // its end is not where it was
        ++d.suspensions;
        ++f.suspensions;
        d.state = SUSPENDED;
        at(d.from, AVAILABLE, die);
        return;
    }
    if ((d.state != IDLE && d.state != SUSPENDED) || now < d.from) return;
    if (wanted) begin_reads(now, die);
    if (wanted || !planes_rest(d)) return;
    if (d.state == SUSPENDED) return run(now, die, d.left);
    if (d.work.empty()) return;
    d.now = d.work.pop();
    d.suspensions = 0;
    if (d.now.kind == PROGRAM) {
        d.state = TO_DIE;
        for (Plane& p : d.planes) p.page = NO_PAGE;
        transfer(now, {PROGRAM, die, 0, d.now.bytes, d.now.tag});
    } else if (d.now.kind == ERASE) {
        run(now, die, erase_ps);
    } else {
        ++f.move_senses;
        run(now, die, read_ps);
        d.state = MOVING;
    }
}
