// SPDX-License-Identifier: Apache-2.0
// Create and Delete I/O queues (Base 2.0, 5.4 to 5.7).
#ifndef QUEUES_H
#define QUEUES_H

#include "commands/command.h"

handler_t create_cq, create_sq, delete_cq, delete_sq;

#endif
