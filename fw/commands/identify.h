// SPDX-License-Identifier: Apache-2.0
// Identify (Base 2.0, 5.17; NVM Command Set 1.0, 4.1.5).
#ifndef IDENTIFY_H
#define IDENTIFY_H

#include "commands/command.h"

handler_t identify;

/// Make what Identify Controller says.
void identify_init(struct drive* drive);

#endif
