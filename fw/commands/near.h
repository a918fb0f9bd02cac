// SPDX-License-Identifier: Apache-2.0
// Programs of near-storage commands, where there are operators for these (docs/csd/near-storage.md). They are in the
// hardware, each function's own; nothing of them is kept here.
#ifndef NEAR_H
#define NEAR_H

#include "commands/command.h"

handler_t load_program;
/// CDW10: number of a program. CDW11: its bytes, which are the command's data; 0: it is forgotten, as it is when they are no
/// program. The command then ends with the status `no_program`.
uint32_t near_load(struct request* r, uint32_t no_program);
void near_unload(struct function* fn, uint32_t which);
/// At power-on and reset of a function, when nothing of it is under way: its programs go.
void near_reset(const struct function* fn);

#endif
