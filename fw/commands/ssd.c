// SPDX-License-Identifier: Apache-2.0
#include "commands/ssd.h"

#include "base/config.h"
#include "hw/ssds.h"

// CDW10: 3:0 what, 10:8 the SSD. Of a hand-over also 15:12 log2 of a block's bytes, 20:16 log2 of the bytes of the largest
// transfer; CDW11: 15:0 QID, 31:16 entries less 1, as in the commands that create queues; CDW12, CDW13: doorbells of
// submission and completion queue, offsets in BAR 0; CDW14, CDW15: blocks. NSID: the SSD's.
enum { DOORBELLS = 0x1000, BAR_BYTES_MOST = 1u << 24, BLOCK_LEAST = 9, BLOCK_MOST = 12, TRANSFER_LEAST = 12 };

static bool is_doorbell(uint32_t offset) {
    return offset >= DOORBELLS && offset < BAR_BYTES_MOST && (offset & 3u) == 0;
}

/// log2 of a power of two; 0: it is none, or 1.
static uint32_t log2_of(uint32_t n) {
    for (uint32_t k = 1; k <= 16; k++) {
        if (n == 1u << k) return k;
    }
    return 0;
}

SMALL static uint32_t hand_over(struct request* r, uint32_t ssd, const struct hw_ssd* is) {
    const uint32_t* dw = r->cmd.dw;
    const struct hw_extents* all = &r->drive->extents->hw;
    struct hw_queue_pair pair = {.sq_doorbell = dw[12],
                                 .cq_doorbell = dw[13],
                                 .nsid = nsid_of(r),
                                 .block = dw[10] >> 12 & 15u,
                                 .depth = log2_of((dw[11] >> 16) + 1u),
                                 .transfer = dw[10] >> 16 & 31u};
    if (pair.nsid == 0 || pair.nsid == NSID_ALL || (dw[11] & 0xffffu) == 0) return ST_INVALID_FIELD;
    if (pair.block < BLOCK_LEAST || pair.block > BLOCK_MOST || pair.transfer < TRANSFER_LEAST) return ST_INVALID_FIELD;
    if (pair.depth < 2 || pair.depth > is->depth) return ST_INVALID_FIELD;
    if (!is_doorbell(pair.sq_doorbell) || !is_doorbell(pair.cq_doorbell) || pair.sq_doorbell == pair.cq_doorbell)
        return ST_INVALID_FIELD;
    uint64_t granules = (uint64_t)dw[15] << 32 | dw[14];
    for (uint32_t k = pair.block; k < all->granule; k++) granules >>= 1;
    if (granules < all->each) return ST_INVALID_FIELD;
    if (is->owner != SSD_OWNER_NOBODY || !is->present) return ST_SEQUENCE;
    hw_ssd_hand_over(ssd, &pair);
    return ST_SUCCESS;
}

SMALL uint32_t ssd_command(struct request* r) {
    uint32_t what = r->cmd.dw[10] & 15u, ssd = r->cmd.dw[10] >> 8 & 7u;
    if (ssd >> r->drive->extents->hw.ssds) return ST_INVALID_FIELD;
    struct hw_ssd is = hw_ssd(ssd);
    switch (what) {
        case SSD_GET: r->dw0 = is.status; return ST_SUCCESS;
        case SSD_HAND_OVER: return hand_over(r, ssd, &is);
        case SSD_TAKE_BACK:
            if (is.owner == SSD_OWNER_NOBODY) return ST_SUCCESS;
            if (r->step)
                return is.owner == SSD_OWNER_LEAVING ? WAIT : (uint32_t)ST_SUCCESS;  // another one has it since
            if (is.owner != SSD_OWNER_LEAVING) hw_ssd_take_back(ssd);
            r->step = 1;
            return WAIT;
        case SSD_BRING_UP:
            if (is.owner == SSD_OWNER_CARD) return ST_SUCCESS;
            if (is.owner != SSD_OWNER_NOBODY) return ST_SEQUENCE;
            hw_ssd_bring_up(ssd);
            return ST_SUCCESS;
        default: return ST_INVALID_FIELD;
    }
}
