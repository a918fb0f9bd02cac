// SPDX-License-Identifier: Apache-2.0
// The endpoint's way down: packets that wait in its hard block for RC and CQ, from when on they are there.
#pragma once

#include <algorithm>

#include "common/ring.h"
#include "pcie/endpoint_context.h"
#include "pcie/tlp.h"

namespace db {

/// A completion for the core.
struct RcPacket {
    u32 w[CPL_DESC + MAX_DW + LANES];
    u64 arrive;
    u32 ndw, release;  // release: bytes of completion buffer that are free once the core has it
    u8 first_be, last_be;
};
/// An access of the host to a BAR, or of an SSD beside the device.
struct CqPacket {
    u32 w[REQ_DESC + MAX_DW + LANES];
    u64 arrive;
    u32 ndw;
    u8 first_be, last_be;
    bool damaged;  // marked as discontinued

    bool read() const { return (w[2] >> 11 & 15) == REQ_MRD; }
    /// The hard block's number of the function.
    u32 function() const { return w[3] >> 8 & 0xff; }
};

struct Receive {
    static constexpr u32 RC_SLOTS = 64, CQ_SLOTS = 64;

    EndpointContext& x;
    Ring<RcPacket, RC_SLOTS> rc;
    Ring<CqPacket, CQ_SLOTS> cq;
    /// Reads that wait for a credit of the core; what came before them is delivered.
    Ring<CqPacket, CQ_SLOTS> uncredited;

    /// Where SSDs share CQ: credits of writes, of reads, and of the bytes of writes; 0: mmio_queue counts all.
    u32 cq_tlps = 0, cq_bytes = 0;

    explicit Receive(EndpointContext& context) : x(context) {}

    void clear() {
        rc.clear();
        cq.clear();
        uncredited.clear();
        reads_in_cq = bytes_in_cq = 0;
    }

    // Reserves for completions that the hard block makes up: the core can spoil at most one read a cycle.
    bool completion_room() const { return rc.size() < RC_SLOTS - 16; }
    bool timeout_room() const { return rc.size() < RC_SLOTS - 8; }
    bool has_credits() const { return cq_tlps != 0; }
    bool request_room(bool read) const {
        const u32 n = cq.size() + uncredited.size();
        if (!cq_tlps) return (!x.cfg.mmio_queue || n < x.cfg.mmio_queue) && n < CQ_SLOTS;
        if (read) return uncredited.size() + reads_in_cq < cq_tlps;
        return cq.size() - reads_in_cq < cq_tlps && bytes_in_cq < cq_bytes;
    }
    /// The request in the slot of `cq` is whole.
    void push_request() {
        const CqPacket& p = cq.slot();
        if (p.read()) ++reads_in_cq;
        else bytes_in_cq += p.ndw * 4;
        cq.push();
    }
    /// The oldest in `cq` leaves it.
    void pop_request() {
        const CqPacket& p = cq.front();
        if (p.read()) --reads_in_cq;
        else bytes_in_cq -= p.ndw * 4;
        cq.pop();
    }

    /// A completion that the hard block makes up itself: nothing on the wire, but behind what is on it.
    void make_up(u8 tag, u8 fn, u32 code, u32 release = 0) {
        if (rc.full()) return;
        RcPacket& c = rc.slot();
        c.w[0] = code << 12 | 1u << 30;
        c.w[1] = (code == RC_BAD_STATUS ? u32(UR) << 11 : 0) | u32(fn) << 16;
        c.w[2] = tag;
        c.ndw = CPL_DESC;
        c.release = release;
        c.first_be = c.last_be = 0;
        c.arrive = rc.empty() ? x.cycle : std::max(x.cycle, rc.at(rc.tail - 1).arrive);
        rc.push();
    }

    template <class Queue>
    bool arrived(const Queue& q) const {
        return !q.empty() && q.front().arrive <= x.cycle;
    }

    u64 next_event() const {
        return std::min(rc.empty() ? NEVER : rc.front().arrive, cq.empty() ? NEVER : cq.front().arrive);
    }

  private:
    u32 reads_in_cq = 0, bytes_in_cq = 0;
};

}  // namespace db
