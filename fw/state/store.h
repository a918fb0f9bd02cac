// SPDX-License-Identifier: Apache-2.0
// What a drive remembers without power, on the last pages of its media: namespaces and their formats, what operators do
// in them, saved features, counters. Never a key.
//
// There are two copies, written in turn. A copy is one word in each line of 64 bytes, so it is the same whatever the
// width of the data path: magic, sequence number, words that follow, their CRC-32C, the words. A save takes the magic
// away, writes all else, and the magic last, with a flush between: so a copy that has its magic is whole, wherever power
// was cut, and the other one is the state before. The newest whole copy counts.
#ifndef STORE_H
#define STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "hw/hw.h"

struct drive;
struct function;

/// What the drive did before this power-on.
struct history {
    uint64_t us, errors;  // time with power, errors of commands
    struct hw_counters io;
};

/// BLANK: nothing was ever saved. DAMAGED: something was, and no copy of it can be read.
enum store_found { STORE_BLANK, STORE_LOADED, STORE_DAMAGED };

struct store {
    uint64_t base;      // of the media, bytes; 0: it is too small, nothing is remembered
    uint32_t sequence;  // of the newest copy
    bool second;        // which that is
    bool stale;         // the last save failed, or is not over
    bool part;          // part of a change has been made: if a reset ends it here, that is to be saved
    uint8_t found;      // at power-on
    // A save that is under way:
    bool saving, begun;  // ... and its step
    uint16_t step;
#if FUNCTIONS > 1
    uint32_t sum, crc;       // of its words
    bool gathered;           // they are in the page
    struct history counted;  // what they say of the drive's past
#endif
};

/// The page is for something else now than for what is being saved.
static inline void store_page_taken(struct store* store) {
#if FUNCTIONS > 1
    store->gathered = false;
#else
    (void)store;
#endif
}
/// Add what the hardware has counted since power-on, or take it off.
void store_count(struct hw_counters* sum, bool off);
/// So many registrants of reservations there may be: there is room to save them all.
uint32_t store_registrants(const struct drive* drive);
/// At power-on: find the area, and what it says to the drive and the function.
void store_load(struct drive* drive);
/// Save what there is now. store_save_step does it; false: call again when the media is idle. It is over: store.stale says
/// whether it failed, and then what was saved before is still there. store_save_end gives it up.
void store_save_start(struct drive* drive);
bool store_save_step(struct drive* drive);
void store_save_end(struct drive* drive);
/// From start to end. False: it failed, or took longer than CFG_WAIT_US.
bool store_save(struct drive* drive);
/// The controller is enabled, or has been shut down, and nothing is under way: a save, unless that is known.
bool store_in_use(struct drive* drive, bool in_use);

#endif
