// SPDX-License-Identifier: Apache-2.0
// Events with cycle numbers, kept until the caller takes them. Off until the caller asks for some kinds.
#pragma once

#include <vector>

#include "common/types.h"
#include "interface/db_sim.h"
#include "pcie/link.h"

namespace db {

class EventLog {
    std::vector<db_event> ring;
    u64 head = 0, tail = 0, lost_ = 0;
    u32 kinds = 0;

  public:
    static constexpr u32 MAX_STALLS = 8;
    bool rc_in = false, rq_in = false, w_in = false, r_in[2] = {};  // packets and bursts that have begun
    u32 stalled = 0;                                                // causes of waiting, as last seen
    bool stalls_seen = false;

    bool on() const { return kinds != 0; }
    bool wants(u32 kind) const { return kinds >> kind & 1; }
    /// Events that found no room.
    u64 lost() const { return lost_; }

    /// wanted: bits 1 << DB_EV_*. To be called while nothing moves.
    void open(u32 wanted, u32 capacity) {
        kinds = capacity ? wanted : 0;
        ring.assign(capacity, db_event{});
        head = tail = lost_ = 0;
        rc_in = rq_in = w_in = r_in[0] = r_in[1] = stalls_seen = false;
        stalled = 0;
    }
    void put(u64 cycle, u32 kind, u32 a, u64 b) {
        if (!wants(kind)) return;
        if (head - tail == ring.size()) {
            ++lost_;
            return;
        }
        ring[head++ % ring.size()] = db_event{cycle, b, kind, a};
    }
    int take(db_event* out, int n) {
        int k = 0;
        for (; k < n && tail != head; ++k) out[k] = ring[tail++ % ring.size()];
        return k;
    }
};

/// Puts the TLPs of a link into a log, as events of a kind.
class LinkEvents final : public LinkWatch {
    EventLog& log;
    const u32 kind;

  public:
    LinkEvents(EventLog& events, u32 event_kind) : log(events), kind(event_kind) {}
    void sent(u64 now, Kind k, u32 bytes, u64 end) override { log.put(now, kind, u32(k) | bytes << 8, end); }
};

}  // namespace db
