// SPDX-License-Identifier: Apache-2.0
// The life of the controller where there is one function: disable, shutdown, resets (Base 2.0, 3.5 to 3.7) go by the whole
// data path; and the loop that waits for work.
#ifndef CONTROLLER_H
#define CONTROLLER_H

#include "dispatch/dispatcher.h"
#include "hw/hw.h"
#include "state/drive.h"

/// The processor was started again under a controller that ran: wait until nothing is under way, and reset the data path.
void controller_settle(struct drive* drive);

_Noreturn void controller_loop(struct drive* drive, struct waiting* waiting, hw_ring_t* ring);

#endif
