// SPDX-License-Identifier: Apache-2.0
// Key slots by function. The table of the hardware is cut by number: a VF has KEY_SLOTS / NUM_FN of them, the PF the first
// ones and the rest. A VF calls its own 1 and up, and has no way to name another; the PF names all as the table does.
// Slot 0 is that of the PF's features, and what a VF is told of a slot that is not its own.
#ifndef KEY_SLOTS_STATE_H
#define KEY_SLOTS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"

struct drive;
struct function;

#define SLOT_FEATURES 0u   // of the key that features make
#define NO_KEY_SLOT 0xffu  // more than there can be

/// So many numbers of slots, 0 included, a function knows.
uint32_t key_slots_known(const struct drive* drive, const struct function* fn);
/// The slot that a function calls by this number. NO_KEY_SLOT: it has none of that number.
uint32_t key_slot_of(const struct drive* drive, const struct function* fn, uint32_t number);
/// What a function calls a slot. 0: it is not its own.
uint32_t key_slot_shown(const struct drive* drive, const struct function* fn, uint32_t slot);
/// The slot that a function calls so, of its own: the PF's are those of no VF. NO_KEY_SLOT: it is none.
uint32_t key_slot_own(const struct drive* drive, const struct function* fn, uint32_t number);
/// A slot of a VF is for private namespaces that are its own, or nobody's yet; those of the PF are for all.
bool key_slot_serves(const struct drive* drive, uint32_t slot, uint32_t nsid);

#endif
