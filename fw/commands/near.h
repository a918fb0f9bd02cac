// SPDX-License-Identifier: Apache-2.0
// Programs of near-storage commands, where there are operators for these (docs/csd/near-storage.md). They are in the
// hardware, each function's own; nothing of them is kept here.
#ifndef NEAR_H
#define NEAR_H

#include "commands/command.h"

handler_t load_program;
/// At power-on and reset of a function, when nothing of it is under way: its programs go.
void near_reset(const struct function* fn);

#endif
