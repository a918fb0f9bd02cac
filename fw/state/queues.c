// SPDX-License-Identifier: Apache-2.0
#include "state/queues.h"

void queues_reset(struct queue* sq, struct queue* cq, uint32_t count) {
    for (uint32_t i = 1; i <= count; i++) sq[i].exists = sq[i].deleting = cq[i].exists = false;
}

bool queues_exist(const struct queue* sq, const struct queue* cq, uint32_t count) {
    for (uint32_t i = 1; i <= count; i++) {
        if (sq[i].exists || cq[i].exists) return true;
    }
    return false;
}
