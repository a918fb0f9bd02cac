// SPDX-License-Identifier: Apache-2.0
// Format NVM (Base 2.0, 5.14).
#ifndef FORMAT_H
#define FORMAT_H

#include "commands/command.h"

handler_t format;

#endif
