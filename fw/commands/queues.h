// SPDX-License-Identifier: Apache-2.0
// Create and Delete I/O queues (Base 2.0, 5.4 to 5.7).
#ifndef QUEUES_H
#define QUEUES_H

#include "commands/command.h"

/// Delete I/O Submission Queue aborts the commands of the queue, wherever they are, and is answered when nothing touches
/// the host's memory for them any more. Create waits for what engines still have of an earlier queue of that number.
handler_t create_cq, create_sq, delete_cq, delete_sq;

#endif
