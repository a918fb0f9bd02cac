// SPDX-License-Identifier: Apache-2.0
#include "host/interrupts.h"

#include <algorithm>
#include <atomic>

#include <poll.h>
#include <unistd.h>

namespace db {

Interrupts::Interrupts(EndpointContext& context, Counters<HostCount>& counters) : x(context), count(counters) {
    std::fill(eventfds, eventfds + EVENTFDS, TO_QUEUE);
}

void Interrupts::raise(u64 addr, u32 data) {
    ++count[HostCount::IRQS];
    x.events |= DB_STOP_IRQ;
    if (data < EVENTFDS && eventfds[data] == TO_NOBODY) return;
    if (data < EVENTFDS && eventfds[data] >= 0) {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        // At its maximum its owner has enough to wake up for, and we would wait there: whether it blocks, its owner says.
        pollfd room{eventfds[data], POLLOUT, 0};
        const u64 one = 1;
        if (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT)) return;
        if (write(eventfds[data], &one, 8) != 8) ++count[HostCount::IRQ_LOST];
        return;
    }
    if (queue.size() >= QUEUE) {
        ++count[HostCount::IRQ_LOST];
        return;
    }
    queue.push_back(db_irq{addr, x.cycle, data, 0});
}

int Interrupts::take(db_irq* out, int n) {
    int k = 0;
    for (; k < n && !queue.empty(); ++k) {
        out[k] = queue.front();
        queue.pop_front();
    }
    return k;
}

}  // namespace db
