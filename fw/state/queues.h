// SPDX-License-Identifier: Apache-2.0
// Which I/O queues a function has.
#ifndef QUEUES_STATE_H
#define QUEUES_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "hw/hw.h"

#define QUEUES (FUNCTIONS > 1 ? 32 : MAX_QP)  // that a function can have

#if FUNCTIONS == 1
struct queue {
    bool exists;
    uint8_t users;  // completion queue: submission queues that report to it
    uint8_t cqid;   // submission queue: where it reports to
    bool deleting;  // submission queue: Delete has come and is not answered
};
#else  // the same, in less: memory is scarce
struct queue {
    uint8_t exists : 1, users : 6, deleting : 1;
    uint8_t cqid;
};
#endif

struct queues {
    struct queue sq[QUEUES + 1], cq[QUEUES + 1];
};

/// Forget the queues 1 to `count`.
void queues_reset(struct queues* queues, uint32_t count);
bool queues_exist(const struct queues* queues, uint32_t count);

#endif
