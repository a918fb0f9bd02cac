// SPDX-License-Identifier: Apache-2.0
// The lives of several functions, side by side: nothing here waits for one of them, and none stops the data path. A reset ends
// a function's commands and deletes its queues; what the media still does for it keeps it from being enabled again.
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

#include "dispatch/dispatcher.h"
#include "dispatch/io_commands.h"
#include "hw/hw.h"
#include "state/drive.h"

/// io: the command of reservations that has begun.
_Noreturn void functions_loop(struct drive* drive, struct waiting* waiting, struct io_waiting* io, hw_ring_t* ring);

#endif
