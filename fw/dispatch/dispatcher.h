// SPDX-License-Identifier: Apache-2.0
// From an entry of the admin submission queue to the completion of its command.
#ifndef DISPATCHER_H
#define DISPATCHER_H

#include "commands/command.h"

/// By opcode; what has no handler is no command.
extern const struct admin_command admin_commands[COMMANDS];

/// Commands of a function that are not over, in the order in which they came: as many as the hardware lets in.
struct waiting {
    struct request of[FUNCTIONS > 1 ? 8 : 16];
    uint32_t count;
};

/// A new command.
void execute(struct waiting* waiting, struct request* r);
/// The next step of each that is not over.
void go_on(struct waiting* waiting, struct function* fn);
/// Forget them all, and let go of what they have.
void dismiss(struct waiting* waiting, struct drive* drive);

#endif
