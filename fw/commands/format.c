// SPDX-License-Identifier: Apache-2.0
#include "commands/format.h"

/// NSID FFFFFFFFh: all that are attached.
uint32_t format(struct request* r) {
    uint32_t nsid = nsid_of(r), dw10 = r->cmd.dw[10], control;
    uint32_t lbaf = (dw10 & 15u) | (dw10 >> 12 & 3u) << 4;
    uint32_t erase = dw10 >> 9 & 7u;
    if (lbaf > 1 || (dw10 >> 5 & 7u)) return ST_INVALID_FORMAT;  // no such format, or protection information
    if (erase > (r->drive->hw.key_slots ? 2u : 1u)) return ST_INVALID_FIELD;
    // No command is fetched until this is over, and those inside are let out first.
    uint32_t status = hw_hold(&control) ? ST_SUCCESS : ST_WRITE_FAULT;
    for (uint32_t i = 1; i <= r->drive->hw.num_ns && status == ST_SUCCESS; i++) {
        if (!ns_active(r->fn, i) || (nsid != NSID_ALL && i != nsid)) continue;
        if (erase) operators_erase_ns(r->drive, i);
        if (!ns_format(r->drive, r->fn, i, lbaf == 1)) status = ST_WRITE_FAULT;
    }
    hw_go_on(control);
    uint32_t kept = saved(r);
    return status == ST_SUCCESS ? kept : status;
}
