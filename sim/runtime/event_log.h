// SPDX-License-Identifier: Apache-2.0
// Events with cycle numbers, kept until the caller takes them. Off until the caller asks for some kinds.
#pragma once

#include <vector>

#include "common/types.h"
#include "interface/db_sim.h"

namespace db {

class EventLog {
    std::vector<db_event> ring;
    u64 head = 0, tail = 0, lost_ = 0;
    u32 kinds = 0;

  public:
    bool rc_in = false, rq_in = false, w_in = false, r_in[2] = {};  // packets and bursts that have begun

    bool on() const { return kinds != 0; }
    /// Events that found no room.
    u64 lost() const { return lost_; }

    /// wanted: bits 1 << DB_EV_*. To be called while nothing moves.
    void open(u32 wanted, u32 capacity) {
        kinds = capacity ? wanted : 0;
        ring.assign(capacity, db_event{});
        head = tail = lost_ = 0;
        rc_in = rq_in = w_in = r_in[0] = r_in[1] = false;
    }
    void put(u64 cycle, u32 kind, u32 a, u64 b) {
        if (!(kinds >> kind & 1)) return;
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

}  // namespace db
