// SPDX-License-Identifier: Apache-2.0
// Asynchronous Event Request, Abort, Keep Alive (Base 2.0, 5.2, 5.1, 5.18).
#ifndef EVENT_COMMANDS_H
#define EVENT_COMMANDS_H

#include "commands/command.h"

handler_t asynchronous_event_request, abort_command, keep_alive;

#endif
