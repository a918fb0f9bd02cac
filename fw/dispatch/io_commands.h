// SPDX-License-Identifier: Apache-2.0
// From an I/O command that is the firmware's to its completion, where there are several functions. One is executed at a time:
// the others stay in the ring, and so does one that cannot begin, past which those of other functions go.
#ifndef DISPATCH_IO_COMMANDS_H
#define DISPATCH_IO_COMMANDS_H

#include "commands/command.h"

struct io_waiting {
    struct request of;
    bool there;  // it has begun and is not over
    uint8_t slot;
};

/// A turn: what has begun goes on; else one more command is done. False: there was none that can begin. `poll`: one waits
/// for what is no event.
bool io_commands_turn(struct drive* drive, struct io_waiting* io, uint32_t* wake, bool* poll);
/// A function is reset, has failed or shuts down: nothing more is done for its commands.
void io_commands_dismiss(struct drive* drive, const struct function* fn, struct io_waiting* io);

#endif
