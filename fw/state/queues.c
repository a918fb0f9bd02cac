// SPDX-License-Identifier: Apache-2.0
#include "state/queues.h"

void queues_reset(struct queues* queues, uint32_t count) {
    for (uint32_t i = 1; i <= count; i++) queues->sq[i].exists = queues->sq[i].deleting = queues->cq[i].exists = false;
}

bool queues_exist(const struct queues* queues, uint32_t count) {
    for (uint32_t i = 1; i <= count; i++) {
        if (queues->sq[i].exists || queues->cq[i].exists) return true;
    }
    return false;
}
