// SPDX-License-Identifier: Apache-2.0
// All that a function, which is an NVMe controller, remembers.
#ifndef FUNCTION_H
#define FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "state/drive.h"
#include "state/error_log.h"
#include "state/events.h"
#include "state/namespaces.h"
#include "state/programs.h"
#include "state/queues.h"
#include "state/reservations.h"
#include "state/resources.h"
#include "state/settings.h"

/// DISABLED: CC.EN is 0. READY: commands are executed. OFF: shut down. FAILED: CSTS.CFS is 1. STOPPING: a reset was asked
/// for, the host's memory may still be touched. DRAINING: it is not any more, but the media is still at work. SHUTTING:
/// a shutdown was asked for, its commands end.
enum life { DISABLED, READY, OFF, FAILED, STOPPING, DRAINING, SHUTTING };

struct function {
    struct hw_function hw;
    enum life life : 8;
    bool was_ready;  // FAILED: it was READY before
    bool notified;   // the shutdown that CC.SHN asks for has been done
    bool poll;       // a command that is not over waits for something that is no event
    uint8_t aborts;  // Abort commands that are not answered
    // Where there are several functions:
    struct resources own;  // of virtual queues and interrupts, what it has been given
    bool online;           // a VF: it may be enabled
    bool going_offline;    // ... the PF wants it not to be, and waits
    bool look;             // its CC was written
    uint8_t flr;           // FLR_*: a function-level reset
    bool nssr;             // a reset of its own, or of all, is in process
    bool aborting;         // STOPPING: the hardware ends its commands. SHUTTING: it looks for one that is not done
    uint8_t idle;          // DRAINING: queues up to this one have nothing under way
    bool flushing;         // SHUTTING: the media is told to
    // What has a size in front of what has a larger one, so that nothing is between them.
    struct events events;
    uint32_t cc;    // CC at enable
    uint32_t wake;  // events that commands which are not over wait for
    // STOPPING: when the host is told that it takes too long. DRAINING, with others beside it: when all results have come
    uint64_t stop_limit;
    struct settings settings;
    struct error_log errors;
    struct attachment ns[MAX_NS + 1];
#if FUNCTIONS == 1
    struct queues queues;
#else  // in less: memory is scarce
    uint16_t error_recovery[MAX_NS + 1];  // feature 05h
#endif
    struct reservation_view reservations[FUNCTIONS > 1];
    struct programs programs[SLM];
};

static inline uint16_t* error_recovery(struct function* fn, uint32_t nsid) {
#if FUNCTIONS == 1
    return &fn->ns[nsid].error_recovery;
#else
    return &fn->error_recovery[nsid];
#endif
}

/// Its submission queues, and its completion queues, by the number that they have for its host.
static inline struct queue* sqs_of(struct drive* drive, struct function* fn) {
#if FUNCTIONS == 1
    (void)drive;
    return fn->queues.sq;
#else
    return drive->queues.sq + fn->hw.before_first;
#endif
}
static inline struct queue* cqs_of(struct drive* drive, struct function* fn) {
#if FUNCTIONS == 1
    (void)drive;
    return fn->queues.cq;
#else
    return drive->queues.cq + fn->hw.before_first;
#endif
}

#endif
