// SPDX-License-Identifier: Apache-2.0
// Message-signalled interrupts: a queue for the caller, or an eventfd for one function and value of data.
#pragma once

#include <deque>
#include <vector>

#include "host/host_counters.h"
#include "pcie/endpoint_context.h"

namespace db {

class Interrupts {
    static constexpr u32 EVENTFDS = 4096, QUEUE = 1 << 20;
    EndpointContext& x;
    Counters<HostCount>& count;
    std::vector<std::deque<db_irq>> queues;  // by function
    std::vector<int> eventfds;               // EVENTFDS for each function

  public:
    static constexpr int TO_QUEUE = -1, TO_NOBODY = -2;

    Interrupts(EndpointContext& context, Counters<HostCount>& counters);

    /// Bits: functions that have some.
    u32 waiting() const {
        u32 found = 0;
        for (u32 fn = 0; fn < x.num_fn; ++fn) found |= u32(!queues[fn].empty()) << fn;
        return found;
    }
    void clear() {
        for (auto& queue : queues) queue.clear();
    }
    void raise(u32 fn, u64 addr, u32 data);
    int take(u32 fn, db_irq* out, int n);
    /// fd: an eventfd, TO_QUEUE or TO_NOBODY.
    void send_to(u32 fn, u32 data, int fd) {
        if (data < EVENTFDS) eventfds[fn * EVENTFDS + data] = fd;
    }
};

}  // namespace db
