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

/// DISABLED: CC.EN is 0. READY: commands are executed. OFF: shut down. FAILED: CSTS.CFS is 1.
enum life { DISABLED, READY, OFF, FAILED };

struct function {
    enum life life;
    bool notified;  // the shutdown that CC.SHN asks for has been done
    uint32_t cc;    // CC at enable
    struct settings settings;
    struct events events;
    struct error_log errors;
    struct attachment ns[MAX_NS + 1];
    struct queues queues;
};

#endif
