// SPDX-License-Identifier: Apache-2.0
// Virtual queue (VQ) and virtual interrupt (VI) resources (Base 2.0, 8.26): what the PF keeps, what is shared out among the
// functions. A VQ is a queue pair, the admin queue's included.
#ifndef RESOURCES_H
#define RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "hw/hw.h"

struct drive;
struct function;

struct resources {
    uint16_t queues, interrupts;  // VQ, VI
};

#define MIN_ONLINE_QUEUES 2u  // admin queue and one for I/O

/// After power-on: all functions with their numbers, the PF with what is its own, nothing given to a VF.
void resources_init(struct drive* drive);
/// The flexible resources there are; of them the VFs have, and of them a VF may have at most.
struct resources resources_total(const struct drive* drive);
struct resources resources_given(const struct drive* drive);
struct resources resources_most(const struct drive* drive);
/// Flexible queues that the PF may be promised: an admin queue of a VF is no I/O queue of the PF's.
uint32_t resources_primary_most(const struct drive* drive);
/// Those that are the PF's alone.
struct resources resources_private(const struct drive* drive);
/// Give so many to a VF that is offline, in place of what it has. False: so many in a row are not free.
bool resources_give(struct drive* drive, struct function* fn, struct resources wanted);
/// The PF takes what it was promised: at its reset.
void resources_settle(struct drive* drive);

#endif
