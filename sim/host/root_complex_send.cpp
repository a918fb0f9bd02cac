// SPDX-License-Identifier: Apache-2.0
// What the root complex sends to the device: completions of its reads, cut at RCB and MPS, and the host's accesses.
#include <algorithm>
#include <cstring>

#include "host/root_complex.h"

namespace db {

bool RootComplex::send_one() {
    if (mmio.may_go()) mmio.send(down);
    else if (reads.ready_count() && rx.completion_room()) send_completion();
    else if (late.due(x.cycle) && rx.completion_room()) send_late();
    else return false;
    return true;
}

// Host and SSDs in turn, where both have something that may go.
void RootComplex::send() {
    while (down.ready(x.cycle)) {
        if (!peers) {
            if (!send_one()) return;
            continue;
        }
        const bool first = peers_turn ? peers->send() : send_one();
        if (!first && !(peers_turn ? send_one() : peers->send())) return;
        if (first) peers_turn = !peers_turn;
    }
}

// Dwords of a completion from `addr` on, where so many are left.
u32 RootComplex::cut(u64 addr, u32 left_dw) {
    const u32 rcb = x.cfg.rcb, longest = x.cfg.completion_bytes;
    const u32 limit = longest == 0   ? x.mps
                      : longest == 1 ? (1 + x.rng.below(x.mps / rcb)) * rcb
                                     : std::min(longest, x.mps);
    const u64 end = (addr + std::max(limit, rcb)) / rcb * rcb;
    return addr + left_dw * 4 > end ? u32(end - addr) / 4 : left_dw;
}

void RootComplex::send_completion() {
    const u32 k = jitter_cycles ? x.rng.below(reads.ready_count()) : 0;
    HostRead& r = reads.ready(k);
    RcPacket& c = rx.rc.slot();
    const u32 lead = r.done_dw == 0 ? bytes_before(r.first_be, 0) : 0, trail = bytes_behind(r.last_be, 0);
    const u64 addr = r.addr + r.done_dw * 4;
    const u32 left_dw = r.dw - r.done_dw;
    // a read of no bytes is answered as if it had asked for one
    const u32 bytes_left = r.first_be == 0 && r.dw == 1 ? 1 : left_dw * 4 - lead - trail;
    u32 status = SC, code = RC_OK, n_dw = 0;
    if (r.fault == DB_FAULT_UR) status = UR;
    else if (r.fault == DB_FAULT_CA) status = CA;
    if (status == SC) {
        n_dw = cut(addr, left_dw);
        Regions& regions = domains[x.index_of(r.fn)].regions;
        const Region* region = r.data ? nullptr : regions.find(addr, n_dw * 4);
        bool there = r.data || (region && region->ptr);
        if (there) {
            const u8* src = r.data ? r.data + r.done_dw * 4 : region->ptr + (addr - region->base);
            std::memcpy(&c.w[CPL_DESC], src, n_dw * 4);
            there = r.data || !regions.lost(addr, n_dw * 4);
        }
        if (!there) {
            status = UR;
            n_dw = 0;
            ++count[HostCount::READ_UNMAPPED];
        }
    }
    if (status != SC) code = RC_BAD_STATUS;
    else if (r.fault == DB_FAULT_POISON && r.done_dw == 0) code = RC_POISONED;
    const bool done = status != SC || n_dw == left_dw;
    c.w[0] = ((u32(addr) + lead) & 0xfff) | code << 12 | bytes_left << 16 | u32(done) << 30;
    c.w[1] = n_dw | status << 11 | u32(code == RC_POISONED) << 14 | u32(r.fn) << 16;
    c.w[2] = r.tag;  // completer: the root complex, 0000
    c.ndw = CPL_DESC + n_dw;
    c.release = done ? left_dw * 4 : n_dw * 4;
    c.first_be = r.done_dw == 0 ? r.first_be : 15;
    c.last_be = done ? r.last_be : 15;
    if (n_dw == 1) c.first_be &= c.last_be;
    c.arrive = down.send(x.cycle, n_dw ? CPLD : CPL, CPL_DESC, n_dw * 4);
    rx.rc.push();
    r.done_dw += n_dw;
    if (done && r.fault == DB_FAULT_DOUBLE) send_again(c);
    if (done) reads.completed(k);
}

// The hard block has seen the last completion of this tag: it calls one more an invalid tag.
void RootComplex::send_again(const RcPacket& answer) {
    if (rx.rc.full()) return;
    RcPacket& c = rx.rc.slot();
    c = answer;
    c.w[0] = (c.w[0] & ~(15u << 12)) | RC_INVALID_TAG << 12;
    c.release = 0;
    const u32 n_dw = c.ndw - CPL_DESC;
    c.arrive = down.send(x.cycle, n_dw ? CPLD : CPL, CPL_DESC, n_dw * 4);
    rx.rc.push();
}

// So does it with one that comes after the time limit, unless the tag is another read's by now: then it takes it for
// that one's, as it must.
void RootComplex::send_late() {
    const LateAnswers::Answer a = late.take();
    RcPacket& c = rx.rc.slot();
    const u32 n_dw = std::min<u32>(a.dw, x.cfg.rcb / 4), code = tx.tag_in_use(a.fn, a.tag) ? RC_OK : RC_INVALID_TAG;
    std::fill(c.w, c.w + CPL_DESC + n_dw, 0x1a7e1a7eu);
    c.w[0] = (u32(a.addr) & 0xfff) | code << 12 | a.dw * 4u << 16 | u32(n_dw == a.dw) << 30;
    c.w[1] = n_dw | u32(a.fn) << 16;
    c.w[2] = a.tag;
    c.ndw = CPL_DESC + n_dw;
    c.release = 0;
    c.first_be = c.last_be = 15;
    c.arrive = down.send(x.cycle, CPLD, CPL_DESC, n_dw * 4);
    rx.rc.push();
}

void RootComplex::end_timed_out() {
    while (rx.timeout_room()) {
        const HostRead* r = reads.timed_out();
        if (!r) return;
        rx.make_up(r->tag, r->fn, RC_TIMEOUT, r->dw * 4);
        reads.drop_timed_out();
    }
}

}  // namespace db
