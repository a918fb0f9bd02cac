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
#include "base/nvme.h"
#include "hw/hw.h"
#include "hw/operators.h"
#include "state/key_slots.h"

struct drive;
struct function;

#define OPERATOR_WORDS 13u  // features C1h to CDh

struct binding {
    bool own;  // bound by command, not by feature C0h
    uint8_t op, slot;
    uint32_t parameters[4];  // if it is bound by command
};

#if FUNCTIONS == 1
typedef struct hw_result result_t;
typedef uint32_t result_count_t;
#else
typedef struct {  // in less
    uint32_t number, command, bytes, lba[2], digest[8];
    uint16_t status;
    uint8_t nsid;
} result_t;
typedef uint8_t result_count_t;
#endif

/// What reducers have found of the commands of a function; the newest is before `next`.
struct found {
    result_t of[CFG_RESULTS];
    result_count_t next, count;
    uint32_t number;  // of the next, where there are several functions
};

struct operators {
    uint32_t config;                            // feature C0h
    uint32_t addend;                            // by feature C1h
    uint32_t words[OPERATOR_WORDS], words_set;  // C1h to CDh until the key is whole, and which have been set
    uint8_t loaded;                             // value of C0h that the key in SLOT_FEATURES is for; 0: there is none
    struct binding bound[MAX_NS + 1];
    struct found found[FUNCTIONS];
};

/// At power-on: what namespaces do that are bound by command. Where that was saved and cannot be read all are locked: none
/// is to be written plain that was encrypted.
void operators_restore(struct drive* drive);
/// At power-on and reset of a function, when nothing of it is under way: its keys and results go. Where it is the only one
/// the hardware has erased the keys by itself.
void operators_reset(struct drive* drive, const struct function* fn);

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
/// The namespace has got another owner: it is locked, if its key is in a slot that is not for it. Before it is shown.
void operators_attached(struct drive* drive, uint32_t nsid);
/// The operator is AES.
bool operators_keyed(uint32_t op);
/// Take over what the reducers have found, each to the function whose command it was; the hardware keeps only so many. What
/// comes meanwhile waits for the next call.
void operators_collect(struct drive* drive);

#endif
