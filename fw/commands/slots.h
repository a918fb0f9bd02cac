// SPDX-License-Identifier: Apache-2.0
// Command D4h: slots of near-storage operators, what is in them, and who may use them (docs/csd/slots.md).
#ifndef SLOTS_H
#define SLOTS_H

#include "commands/command.h"

handler_t slots_command;

#endif
