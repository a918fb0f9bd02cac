// SPDX-License-Identifier: Apache-2.0
// Message-signalled interrupts: a queue for the caller, or an eventfd for one value of data.
#pragma once

#include <deque>

#include "host/host_counters.h"
#include "pcie/endpoint_context.h"

namespace db {

class Interrupts {
    static constexpr u32 EVENTFDS = 4096, QUEUE = 1 << 20;
    EndpointContext& x;
    Counters<HostCount>& count;
    std::deque<db_irq> queue;
    int eventfds[EVENTFDS];

  public:
    static constexpr int TO_QUEUE = -1, TO_NOBODY = -2;

    Interrupts(EndpointContext& context, Counters<HostCount>& counters);

    bool empty() const { return queue.empty(); }
    void clear() { queue.clear(); }
    void raise(u64 addr, u32 data);
    int take(db_irq* out, int n);
    /// fd: an eventfd, TO_QUEUE or TO_NOBODY.
    void send_to(u32 data, int fd) {
        if (data < EVENTFDS) eventfds[data] = fd;
    }
};

}  // namespace db
