// SPDX-License-Identifier: Apache-2.0
// All that a function, which is an NVMe controller, remembers.
#ifndef FUNCTION_H
#define FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "state/error_log.h"
#include "state/events.h"
#include "state/namespaces.h"
#include "state/queues.h"
#include "state/settings.h"

/// DISABLED: CC.EN is 0. READY: commands are executed. OFF: shut down. FAILED: CSTS.CFS is 1. STOPPING: a reset was asked
/// for, the host's memory may still be touched. DRAINING: it is not any more, but the media is still at work.
enum life { DISABLED, READY, OFF, FAILED, STOPPING, DRAINING };

struct function {
    enum life life;
    bool was_ready;       // FAILED: it was READY before
    bool notified;        // the shutdown that CC.SHN asks for has been done
    uint32_t cc;          // CC at enable
    uint32_t wake;        // events that commands which are not over wait for
    bool poll;            // ... and one of them for something that is no event
    bool looking;         // one of them has the hardware look at its slots
    uint8_t watching;     // a bit each: ... watch the entries of a queue
    uint8_t aborts;       // Abort commands that are not answered
    uint64_t stop_limit;  // STOPPING: when the host is told that it takes too long
    struct settings settings;
    struct events events;
    struct error_log errors;
    struct attachment ns[MAX_NS + 1];
    struct queues queues;
};

#endif
