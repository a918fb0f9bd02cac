// SPDX-License-Identifier: Apache-2.0
#include "commands/format.h"

#include "commands/draining.h"
#include "commands/operators.h"

/// NSID FFFFFFFFh: all that are attached.
static bool chosen(const struct request* r, uint32_t nsid) {
    return ns_active(r->fn, nsid) && (nsid_of(r) == NSID_ALL || nsid == nsid_of(r));
}

static uint32_t lba_format(const struct request* r) { return (r->cmd.dw[10] & 15u) | (r->cmd.dw[10] >> 12 & 3u) << 4; }

static void wiped(struct request* r, uint32_t nsid) { ns_formatted(r->drive, nsid, lba_format(r) == 1); }

uint32_t format(struct request* r) {
    uint32_t dw10 = r->cmd.dw[10], erase = dw10 >> 9 & 7u;
    if (lba_format(r) > 1 || (dw10 >> 5 & 7u)) return ST_INVALID_FORMAT;  // no such format, or protection information
    if (erase > (r->drive->hw.key_slots ? 2u : 1u)) return ST_INVALID_FIELD;
    for (uint32_t nsid = 1; FUNCTIONS > 1 && r->step == 0 && nsid <= r->drive->hw.num_ns; nsid++) {
        if (chosen(r, nsid) && resv_bars(r->drive, r->fn, nsid)) return ST_RESV_CONFLICT;
    }
    for (uint32_t nsid = 1; FUNCTIONS > 1 && r->fn->hw.place && nsid <= r->drive->hw.num_ns; nsid++) {
        if (!chosen(r, nsid)) continue;
        if (ns_attached(r->drive, nsid) > 1) return ST_DENIED;         // others have it too
        if (erase && !operator_key_is_own(r, nsid)) return ST_DENIED;  // others may have its key too
    }
    return wipe_step(r, chosen, HW_NS_FORMATTING, erase != 0, wiped);
}
