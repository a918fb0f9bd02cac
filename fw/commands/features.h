// SPDX-License-Identifier: Apache-2.0
// Set Features and Get Features (Base 2.0, 5.15 and 5.27).
#ifndef FEATURES_H
#define FEATURES_H

#include "commands/command.h"

handler_t features_set, features_get;

/// Set Features: what it sets is saved, or is all functions', so it waits for who does the like.
bool features_change(const struct request* r);

/// To what was saved, or else the default; but for the clock, which stays over a controller reset.
void features_reset(struct drive* drive, struct function* fn);

/// Tell the host of what it wants to know of Critical Warning, if something of that is on.
void features_warn(struct function* fn);

/// Log page 12h, built in the page of the buffers; how many bytes have been set.
handler_t features_page;

#endif
