// SPDX-License-Identifier: Apache-2.0
// The device's reads of host memory that have arrived and are not answered: each waits for its latency, for the caller,
// or for its time limit.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "common/ring.h"
#include "host/host_counters.h"
#include "pcie/transmit.h"

namespace db {

struct HostRead {
    u64 addr, ready;
    u32 dw, done_dw;
    u8 first_be, last_be, tag, fn, fault;  // fn: the hard block's number
    bool message;                          // the caller is to answer it
    u64 message_id;
    u8* data;  // the caller's answer
};

class PendingReads {
    static constexpr u32 SLOTS = Transmit::HOST_READS;

    EndpointContext& x;
    Transmit& tx;
    Counters<HostCount>& count;
    HostRead slot[SLOTS];
    u16 free[SLOTS];
    u32 n_free = 0;
    Ring<u16, SLOTS> waiting;  // by ready time
    u16 active[SLOTS];
    u32 n_active = 0, n_messages = 0;
    Ring<std::pair<u64, u16>, SLOTS> timeouts;
    std::vector<std::unique_ptr<u8[]>> answers;

    void give_up(u16 i);  // ends as unsupported
    void finish(u16 i);
    void activate_due();

  public:
    PendingReads(EndpointContext& context, Transmit& transmit, Counters<HostCount>& counters)
        : x(context), tx(transmit), count(counters) {}

    void clear();

    // ---- arrival

    HostRead& add(const ReadTlp& t, u16& index);
    /// Answered when `ready` has come.
    void wait(u16 i);
    /// Never answered: it ends at its time limit.
    void wait_for_timeout(u16 i, u64 at) { timeouts.push({at, i}); }
    /// Answered by the caller.
    void wait_for_caller(u16 i, u64 message_id);

    // ---- the caller

    /// Answers a read (data null: unsupported). 0, or -1: there is none of this id, or it has another length.
    int answer(u64 message_id, const void* data, u32 len);
    /// Those of a function that wait for the caller end as unsupported.
    void drop_messages(u32 fn);
    /// The same, of those in [base, base + size), which are counted.
    void drop_messages(u32 fn, u64 base, u64 size);

    /// Some wait for the caller.
    bool any_for_caller() const { return n_messages != 0; }

    // ---- completion

    /// Those whose time has come are ready to be completed.
    void activate() {
        if (!waiting.empty()) activate_due();
    }
    u32 ready_count() const { return n_active; }
    HostRead& ready(u32 k) { return slot[active[k]]; }
    /// The k-th of the ready ones is answered in full.
    void completed(u32 k);

    /// A read whose time is over, or null.
    const HostRead* timed_out() {
        return !timeouts.empty() && timeouts.front().first <= x.cycle ? &slot[timeouts.front().second] : nullptr;
    }
    void drop_timed_out() {
        const u16 i = timeouts.front().second;
        timeouts.pop();
        finish(i);
    }

    /// The next cycle in which one gets ready or its time is over.
    u64 next_event() const;
};

}  // namespace db
