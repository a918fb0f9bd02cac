// SPDX-License-Identifier: Apache-2.0
// Slots of operators for near-storage commands (docs/csd/slots.md), where there are any.
#ifndef HW_SLOTS_H
#define HW_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

/// Bits 27:0 what is in each slot, NEAR_*, 4 bits each; 31:28 slots. 0: there are none, and what follows does nothing.
uint32_t hw_slots(void);
/// Bit n: what is in slot n can be exchanged.
uint32_t hw_slots_exchangeable(void);
/// A function may use the slots of these bits.
void hw_slots_share(uint32_t place, uint32_t slots);
/// A bitstream at byte `at` of the PF's card memory goes to a slot. It begins.
void hw_slots_exchange(uint32_t slot, uint32_t at);
/// One is under way.
bool hw_slots_busy(void);
/// How many have ended, modulo 256.
uint32_t hw_slots_ended(void);
/// How the last one ended, SLOT_OK if well.
uint32_t hw_slots_error(void);
/// Bitstreams that are loaded when they are missed: form as the register has it.
void hw_slots_library(uint32_t at, uint32_t form);

#endif
