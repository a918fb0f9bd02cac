// SPDX-License-Identifier: Apache-2.0
// Whose turn it is to have what there is one of. Each function that waits says so in each turn of the loop; it goes round,
// so none that comes again at once keeps another one from it.
#ifndef TURNS_H
#define TURNS_H

#include <stdbool.h>
#include <stdint.h>

struct turns {
    uint32_t now, before;  // who waits, a bit each by place: in this turn of the loop, in the one before
    uint32_t last;         // the bits above that of who had it last
};

/// False: the function has it now. taken: nobody can have it.
bool turn_waits(struct turns* t, bool taken, uint32_t place);

/// A turn of the loop begins.
void turns_begin(struct turns* t);

#endif
