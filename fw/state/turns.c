// SPDX-License-Identifier: Apache-2.0
#include "state/turns.h"

bool turn_waits(struct turns* t, bool taken, uint32_t place) {
    if (FUNCTIONS == 1) return taken;
    uint32_t mine = 1u << place;
    t->now |= mine;
    if (taken) return true;
    uint32_t wait = t->now | t->before, behind = wait & t->last;
    if (behind) wait = behind;
    if ((wait & (0u - wait)) != mine) return true;
    t->now &= ~mine;
    t->before &= ~mine;
    t->last = 0u - (mine << 1);
    return false;
}

void turns_begin(struct turns* t) {
    t->before = t->now;
    t->now = 0;
}
