// SPDX-License-Identifier: Apache-2.0
// What the life of a controller is made of, however many there are: enable, fail, what a reset leaves, what I/O commands
// leave (Base 2.0, 3.5 to 3.7).
#ifndef LIFE_H
#define LIFE_H

#include "dispatch/dispatcher.h"
#include "state/drive.h"
#include "state/function.h"

/// What a controller reset leaves of what a function remembers: also where it begins.
void life_reset_state(struct drive* drive, struct function* fn);
/// CC.EN went from 0 to 1. False: it can't be, or a reset came.
bool life_enable(struct drive* drive, struct function* fn, uint32_t cc);
/// CSTS.CFS; nothing more is done for it.
void life_fail(struct drive* drive, struct function* fn);
/// The function sends nothing, or may again. Where there is one alone it is the drive that is stopped instead.
void life_off(struct drive* drive, struct function* fn, bool off);
/// One record of those that commands leave: those of a storm come between the admin commands, not before them.
void life_collect_error(struct drive* drive);
void life_collect_doorbell(struct drive* drive);
/// The media has a new warning.
void life_media_warning(struct drive* drive);
void life_keep_alive(struct drive* drive, struct function* fn);
/// When to look again though nothing has happened: some of what commands wait for is no event.
uint64_t life_wake(const struct function* fn, bool poll);

#endif
