// SPDX-License-Identifier: Apache-2.0
// Commands that change something under I/O commands that are on their way: those end first, nobody else waits.
#ifndef DRAINING_H
#define DRAINING_H

#include "commands/command.h"

/// A turn of the hardware over its slots, for one command at a time. `how`: HW_ABORT_*; `key`, `sqid` as it says. WAIT:
/// call again; ST_SUCCESS: it is over, and r->found says whether there was a command.
uint32_t slots_step(struct request* r, uint32_t how, uint32_t sqid, uint32_t key);

/// One change of namespaces at a time: until it ends the dispatcher begins no command that is marked CHANGES.
void change_begins(struct request* r);
void change_ends(struct request* r);

/// Close the namespaces for which `chosen` is true, and let their commands end. WAIT: call again; ST_SUCCESS: they have.
typedef bool ns_choice_t(const struct request* r, uint32_t nsid);
uint32_t drain_step(struct request* r, ns_choice_t* chosen, uint32_t gate);

/// Open them all.
void open_namespaces(struct request* r);

/// Zero so many bytes of the media from r->from on, r->left is what is left; the media does it a piece at a time, so
/// commands of others come between. WAIT: call again; ST_SUCCESS: done and durable; else it failed.
uint32_t zero_step(struct request* r);

#endif
