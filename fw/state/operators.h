// SPDX-License-Identifier: Apache-2.0
// Operators in the data path, where there are any: what each namespace does, the words of a key that come by features,
// results of reducers.
//
// What a namespace does outlives a reset, and power, keys do not: it is locked then, and nothing is ever written plain.
#ifndef OPERATORS_STATE_H
#define OPERATORS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "hw/hw.h"
#include "hw/operators.h"

struct drive;

#define OPERATOR_WORDS 13u  // features C1h to CDh
#define SLOT_FEATURES 0u    // of the key that they make

struct binding {
    bool own;  // bound by command, not by feature C0h
    uint8_t op, slot;
    uint32_t parameters[4];  // if it is bound by command
};

struct operators {
    uint32_t config;                            // feature C0h
    uint32_t addend;                            // by feature C1h
    uint32_t words[OPERATOR_WORDS], words_set;  // C1h to CDh until the key is whole, and which have been set
    uint8_t loaded;                             // value of C0h that the key in SLOT_FEATURES is for; 0: there is none
    struct binding bound[MAX_NS + 1];
    struct hw_result results[CFG_RESULTS];  // the newest is before results_next
    uint32_t results_next, results_count;
};

/// At power-on: what namespaces do that are bound by command. Where that was saved and cannot be read all are locked: none
/// is to be written plain that was encrypted.
void operators_restore(struct drive* drive);
/// At power-on and controller reset. The hardware has erased all keys by itself.
void operators_reset(struct drive* drive);

// ---------------------------------------------------------------- while the namespaces are closed that it is about, and drained
/// Set feature C0h.
void operators_configure(struct drive* drive, uint32_t config);
/// Set feature C1h + i.
void operators_set_word(struct drive* drive, uint32_t i, uint32_t value);
/// Bind it by command, or else to what feature C0h says. False: it was so before.
bool operators_bind(struct drive* drive, uint32_t nsid, const struct binding* binding);
/// What feature C0h says, to all namespaces that are not bound by command.
void operators_apply(struct drive* drive);

// ---------------------------------------------------------------- any time
void operators_erase_slot(struct operators* operators, uint32_t slot);
/// The key of a namespace goes, also for others that it is the key of: before its media is zeroed, so that nothing
/// readable is left if that fails.
void operators_erase_ns(struct drive* drive, uint32_t nsid);
/// The namespace is gone: a new one of its number does what feature C0h says, and what was found in it is no result.
/// Last, when nothing of it is under way.
void operators_forget_ns(struct drive* drive, uint32_t nsid);
/// Take over what the reducers have found; the hardware keeps only so many. What comes meanwhile waits for the next call.
void operators_collect(struct operators* operators);

#endif
