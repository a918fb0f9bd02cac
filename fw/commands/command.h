// SPDX-License-Identifier: Apache-2.0
// An admin command while it is executed, and a row of the table of commands.
#ifndef COMMAND_H
#define COMMAND_H

#include <stdint.h>

#include "base/nvme.h"
#include "state/drive.h"
#include "state/function.h"

struct request {
    struct drive* drive;
    struct function* fn;
    uint32_t dw0;  // of the completion
    cmd_t cmd;
    // Of a command that takes several calls: where it is. All 0 at the first.
    uint8_t step, at;        // what comes next; with which namespace
    bool looking, found;     // draining.h: it has the hardware look at the slots; there was one
    bool zeroing, flushing;  // ... the media at work; what it does is the flush at the end
    bool watching;           // Abort: it watches a queue until `from`, in us
    uint8_t watch;           // ... with this watch
    uint32_t controllers;    // Namespace Attachment: whose, a bit each
    bool saving;             // what it has set is being saved; then it is over
    uint16_t status;         // ... with this status, unless that fails
    uint64_t from, left;
};

/// Executes a command, or its next step; the status of its completion. PENDING: it has none yet, and waits for an event
/// that completes it. WAIT: it is not over; call again when one of the events in fn->wake is there, or soon.
typedef uint32_t handler_t(struct request* r);
#define PENDING 0xffffu
#define WAIT 0xfffeu

struct admin_command {
    handler_t* run;
    uint32_t effects : 19;  // as log page 05h says them
    uint32_t flags : 5;
    uint32_t opcode : 8;
};
#define COMMANDS (20u + 2u * EXTENTS + 3u * SLM)  // rows

// Flags. What NSIDs the dispatcher lets through; without a flag the command itself looks at it, or does not care.
enum {
    NSID_ACTIVE_OR_ALL = 1u << 0,
    NSID_EXISTS_OR_ALL = 1u << 1,
    OPERATORS_ONLY = 1u << 2,  // there is no such command where there are no operators in the data path
    PF_ONLY = 1u << 4,         // a VF has no such command
    CHANGES = 1u << 3,         // changes what is saved, or what a namespace's data passes through: one at a time
};

static inline uint32_t nsid_of(const struct request* r) { return cmd_nsid(&r->cmd); }

static inline uint8_t* page_of(const struct request* r) { return r->drive->buffers->page; }

static inline struct namespace* namespace_of(const struct request* r, uint32_t nsid) {
    return &r->drive->namespaces.of[nsid];
}

#endif
