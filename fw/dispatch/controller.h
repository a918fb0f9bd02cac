// SPDX-License-Identifier: Apache-2.0
// The controller's life: enable, disable, shutdown, resets (Base 2.0, 3.5 to 3.7), and the loop that waits for work.
#ifndef CONTROLLER_H
#define CONTROLLER_H

#include "dispatch/dispatcher.h"
#include "hw/hw.h"
#include "state/drive.h"
#include "state/function.h"

/// What a controller reset leaves of what a function remembers: also where it begins.
void controller_reset_state(struct drive* drive, struct function* fn);

/// The processor was started again under a controller that ran: wait until nothing is under way, and reset the data path.
void controller_settle(void);

_Noreturn void controller_loop(struct drive* drive, struct function* fn, struct waiting* waiting, hw_ring_t* ring);

#endif
