// SPDX-License-Identifier: Apache-2.0
// Create and Delete I/O queues (Base 2.0, 5.4 to 5.7).
#ifndef QUEUES_H
#define QUEUES_H

#include "commands/command.h"

handler_t create_cq, create_sq, delete_cq, delete_sq;

/// Delete I/O Submission Queue is answered when no command of the queue is under way any more; entries for its
/// completions are dropped meanwhile. This answers what is due; true: queues are still being deleted.
bool queues_delete_step(struct request* r);

#endif
