// SPDX-License-Identifier: Apache-2.0
// From an entry of the admin submission queue to the completion of its command.
#ifndef DISPATCHER_H
#define DISPATCHER_H

#include "commands/command.h"

/// By opcode; what has no handler is no command.
extern const struct admin_command admin_commands[COMMANDS];

void execute(struct request* r);

#endif
