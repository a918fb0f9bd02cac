// SPDX-License-Identifier: Apache-2.0
// Namespaces, and Format NVM.
#include "fw.h"

static struct {
    bool active, lba4k;
} ns[MAX_NS + 1];

static uint64_t media_pages(void) { return (uint64_t)HW->MEDIA_PAGES_HI << 32 | HW->MEDIA_PAGES_LO; }

bool ns_active(uint32_t nsid) { return nsid >= 1 && nsid <= num_ns && ns[nsid].active; }

bool ns_lba4k(uint32_t nsid) { return ns[nsid].lba4k; }

static uint64_t ns_pages;  // of each namespace

uint64_t ns_blocks(uint32_t nsid) { return ns[nsid].lba4k ? ns_pages : ns_pages << 3; }

static uint64_t base(uint32_t nsid) { return (nsid - 1) * ns_pages << 12; }

static void show(uint32_t nsid) { hw_namespace(nsid, true, ns[nsid].lba4k, base(nsid), ns_blocks(nsid)); }

/// At power-on namespace 1 covers the whole media, in blocks of 512 bytes. Where there are operators, which may differ
/// by namespace, all there is room for share it in equal parts.
void ns_init(void)
{
    uint32_t count = csd_slots ? num_ns : 1;
    ns_pages = div_u64(media_pages(), count, NULL);
    for (uint32_t nsid = 1; nsid <= count; nsid++) {
        ns[nsid].active = true;
        show(nsid);
    }
}

uint32_t format(const cmd_t *cmd)
{
    uint32_t nsid = cmd_nsid(cmd), dw10 = cmd->dw[10];
    uint32_t lbaf = (dw10 & 15u) | (dw10 >> 12 & 3u) << 4;
    uint32_t erase = dw10 >> 9 & 7u, last = nsid;
    if (nsid == NVME_NSID_ALL) {
        nsid = 1;
        last = csd_slots ? num_ns : 1;
    }
    if (!ns_active(nsid))
        return ST_INVALID_NS;
    if (lbaf > 1 || (dw10 >> 5 & 7u))
        return ST_INVALID_FORMAT;  // no such format, or protection information
    if (erase > (csd_slots ? 2u : 1u))
        return ST_INVALID_FIELD;
    // No command is fetched until this is over, and those inside are let out first.
    uint32_t ctl = HW->CTL;
    HW->CTL = ctl & ~DB_SSD_FW__CTL__RUN_bm;
    uint32_t status = ST_WRITE_FAULT;
    if (hw_wait(EV(DRAINED), hw_time() + CFG_WAIT_US))
        status = ST_SUCCESS;
    for (; nsid <= last && status == ST_SUCCESS; nsid++) {
        if (erase)
            csd_erase_ns(nsid);
        if (!hw_media(1, base(nsid), ns_pages << 12) || !hw_media(0, 0, 0)) {
            status = ST_WRITE_FAULT;
            break;
        }
        ns[nsid].lba4k = lbaf == 1;
        show(nsid);
    }
    if (!(HW->EVENT & EV_RESET))
        HW->CTL = ctl;
    return status;
}
