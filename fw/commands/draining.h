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
/// Its namespaces open again, and it is saved if `save`. The status of its command: `status`, or that of the save if
/// `status` is success.
uint32_t change_ends(struct request* r, uint32_t status, bool save);

/// Close the namespaces for which `chosen` is true, and let their commands end. WAIT: call again; ST_SUCCESS: they have.
typedef bool ns_choice_t(const struct request* r, uint32_t nsid);
uint32_t drain_step(struct request* r, ns_choice_t* chosen, uint32_t gate);
/// The gate of a short change: to come again, with a delay (CRD), where the host knows of that, by Host Behavior Support. Where
/// there are several, all of those that have one of the namespaces must know.
uint32_t later_gate(const struct request* r, ns_choice_t* chosen);

/// Zero so many bytes of the media from r->from on, r->left is what is left; the media does it a piece at a time, so
/// commands of others come between. WAIT: call again; ST_SUCCESS: done and durable; else it failed.
uint32_t zero_step(struct request* r);

/// A change that leaves nothing of the chosen namespaces' data: they close, their commands end, and one after the other is
/// zeroed, its key erased before if `erase`, and `wiped` told. None is, if one of them is write protected. r->step is 0 at
/// the first call. WAIT: call again.
typedef void ns_wiped_t(struct request* r, uint32_t nsid);
uint32_t wipe_step(struct request* r, ns_choice_t* chosen, uint32_t gate, bool erase, ns_wiped_t* wiped);

/// What a command has set is to outlast power: its end, with `status` unless the save fails. WAIT: `save_step` goes on. No
/// change begins meanwhile.
uint32_t end_saved(struct request* r, uint32_t status);
uint32_t save_step(struct request* r);

#endif
