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
#define NEW_SQ(to) ((struct queue){.exists = true, .cqid = (uint8_t)(to)})
#else  // the same, in less: memory is scarce
_Static_assert(QUEUES < 1u << 6, "a number has 6 bits");
struct queue {
    union {
        struct {
            uint8_t exists : 1, deleting : 1, users : 6;
        };
        struct {
            uint8_t : 2, cqid : 6;
        };
    };
};

static inline struct queue new_sq(uint32_t cqid) {
    struct queue sq = {.exists = true};
    sq.cqid = cqid & 63u;
    return sq;
}
#define NEW_SQ new_sq
#endif

#define QUEUE_NUMBERS (FUNCTIONS > 1 ? 256 : QUEUES + 1)  // of one function, or the hardware's

struct queues {
    struct queue sq[QUEUE_NUMBERS], cq[QUEUE_NUMBERS];
};

/// Forget the queues 1 to `count`.
void queues_reset(struct queue* sq, struct queue* cq, uint32_t count);
bool queues_exist(const struct queue* sq, const struct queue* cq, uint32_t count);

#endif
