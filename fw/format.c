// SPDX-License-Identifier: Apache-2.0
// Format NVM (Base 2.0, 5.14).
#include "fw.h"

uint32_t format(const cmd_t *cmd)
{
    uint32_t nsid = cmd_nsid(cmd), dw10 = cmd->dw[10], ctl;
    uint32_t lbaf = (dw10 & 15u) | (dw10 >> 12 & 3u) << 4;
    uint32_t erase = dw10 >> 9 & 7u;
    bool all = nsid == NVME_NSID_ALL;  // that are attached
    if (!all && !ns_active(nsid))
        return ns_check_active(nsid);
    if (lbaf > 1 || (dw10 >> 5 & 7u))
        return ST_INVALID_FORMAT;  // no such format, or protection information
    if (erase > (csd_slots ? 2u : 1u))
        return ST_INVALID_FIELD;
    // No command is fetched until this is over, and those inside are let out first.
    uint32_t status = hw_hold(&ctl) ? ST_SUCCESS : ST_WRITE_FAULT;
    for (uint32_t i = 1; i <= num_ns && status == ST_SUCCESS; i++) {
        if (!ns_active(i) || (!all && i != nsid))
            continue;
        if (erase)
            csd_erase_ns(i);
        if (!ns_format(i, lbaf == 1))
            status = ST_WRITE_FAULT;
    }
    hw_go_on(ctl);
    return status;
}
