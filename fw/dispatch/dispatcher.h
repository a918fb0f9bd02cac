// SPDX-License-Identifier: Apache-2.0
// From an entry of the admin submission queue to the completion of its command.
#ifndef DISPATCHER_H
#define DISPATCHER_H

#include "commands/command.h"

/// What has no row, or no handler in it, is no command.
extern const struct admin_command admin_commands[COMMANDS];

#if FUNCTIONS == 1
typedef struct request parked_t;
#else
/// A command between two of its calls, in less. What only the one has that changes things is in drive->change.
typedef struct {
    uint32_t dw[12];  // of the command: 0, 1, 6 to 15; of an Abort the low half of `from` is in place of 6
    uint8_t step, at, watch;
    uint8_t looking : 1, found : 1, zeroing : 1, flushing : 1, watching : 1, saving : 1, changes : 1;
} parked_t;
#endif

/// Commands of a function that are not over, in the order in which they came: as many as the hardware lets in.
struct waiting {
    parked_t of[FUNCTIONS > 1 ? 8 : 16];
    uint32_t count;
};

/// A new command.
void execute(struct waiting* waiting, struct request* r);
/// The next step of each that is not over.
void go_on(struct waiting* waiting, struct drive* drive, struct function* fn);
/// Forget them all, and let go of what they have.
void dismiss(struct waiting* waiting, struct drive* drive);

#endif
