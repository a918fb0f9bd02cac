// SPDX-License-Identifier: Apache-2.0
#include "host/interrupts.h"

#include <algorithm>
#include <atomic>

#include <poll.h>
#include <unistd.h>

namespace db {

Interrupts::Interrupts(EndpointContext& context, Counters<HostCount>& counters)
    : x(context), count(counters), queues(x.num_fn), eventfds(size_t(x.num_fn) * EVENTFDS, int{TO_QUEUE}) {}

void Interrupts::raise(u32 fn, u64 addr, u32 data) {
    ++count[HostCount::IRQS];
    x.happens(fn, DB_STOP_IRQ);
    const int fd = data < EVENTFDS ? eventfds[fn * EVENTFDS + data] : int{TO_QUEUE};
    if (fd == TO_NOBODY) return;
    if (fd >= 0) {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        // At its maximum its owner has enough to wake up for, and we would wait there: whether it blocks, its owner says.
        pollfd room{fd, POLLOUT, 0};
        const u64 one = 1;
        if (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT)) return;
        if (write(fd, &one, 8) != 8) ++count[HostCount::IRQ_LOST];
        return;
    }
    if (queues[fn].size() >= QUEUE) {
        ++count[HostCount::IRQ_LOST];
        return;
    }
    queues[fn].push_back(db_irq{addr, x.cycle, data, fn});
}

int Interrupts::take(u32 fn, db_irq* out, int n) {
    auto& queue = queues[fn];
    int k = 0;
    for (; k < n && !queue.empty(); ++k) {
        out[k] = queue.front();
        queue.pop_front();
    }
    return k;
}

}  // namespace db
