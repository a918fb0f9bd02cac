// SPDX-License-Identifier: Apache-2.0
// All that is one a drive, however many functions it has.
#ifndef DRIVE_H
#define DRIVE_H

#include <stddef.h>
#include <stdint.h>

#include "hw/hw.h"
#include "hw/io_commands.h"
#include "hw/programs.h"
#include "state/extents.h"
#include "state/namespaces.h"
#include "state/operators.h"
#include "state/queues.h"
#include "state/reservations.h"
#include "state/resources.h"
#include "state/shares.h"
#include "state/store.h"
#include "state/turns.h"
#include "transfer/transfer.h"

struct admin_command;
struct function;

/// Outlives a reset of the core, as it is loaded with the memory; and power, by the settings on the media.
struct boot_record {
    uint32_t power_cycles, unsafe_shutdowns;
    uint32_t in_use;  // enabled and not shut down
};

/// Of the command of `changing`, between two of its calls: where there are several functions.
struct change {
    uint64_t from, left;
    uint32_t controllers, dw0;
    uint16_t status;
};

#define CONTROLLER_BYTES 1024u  // of Identify Controller: behind them zeros, and one power state

struct drive {
    struct hw_config hw;
    uint32_t serial;
    struct boot_record* boot;
    uint64_t started_at;
    struct history before;
    struct store store;
    struct buffers* buffers;
    const struct admin_command* commands;  // the dispatcher's table
#if FUNCTIONS == 1
    struct namespaces namespaces;
    struct operators operators;
#endif
    struct function* functions;  // hw.num_fn
    // What there is one of: who has it.
    struct function* changing;  // changes namespaces, or what their data passes through
    struct function* looking;   // has the hardware look at its slots
    bool releasing;            // `changing` has been reset; others have it when the media is done with what it was told
    uint8_t watching;          // watches of queues that are in use, a bit each
    struct resources primary;  // flexible resources that the PF has from its next reset on
    uint32_t off;              // places of functions that send nothing, a bit each
#if FUNCTIONS == 1
    _Alignas(4) uint8_t controller[CONTROLLER_BYTES];  // Identify Controller, but for what changes; copied in words
#endif
    // Where there are several functions; what is large comes last, as what is near the beginning takes less code.
    struct change change[FUNCTIONS > 1];
    struct hw_io io[FUNCTIONS > 1];
#if FUNCTIONS > 1
    struct namespaces namespaces;
    struct operators operators;
    struct queues queues;  // by the hardware's number
#endif
    struct extents extents[EXTENTS];
    struct shares shares[FUNCTIONS > 1];
    struct turns change_turns, look_turns;  // of functions that wait for `changing`, for `looking`
    struct reservations* reservations[FUNCTIONS > 1];
};

/// The highest NSID that there can be: functions' own namespaces come behind those of the media (state/programs.h).
static inline uint32_t last_nsid(const struct drive* drive) {
    return SLM && hw_memory_log2() ? drive->hw.num_ns + 2u * drive->hw.num_fn : drive->hw.num_ns;
}

/// Where there are several functions.
static inline struct reservations* reservations_of(const struct drive* drive) { return *drive->reservations; }

#endif
