// SPDX-License-Identifier: Apache-2.0
#include "hw/ssds.h"

#include "hw/registers.h"

struct hw_ssd hw_ssd(uint32_t ssd) {
    SSDS->SELECT = ssd;
    uint32_t status = SSDS->STATUS;
    return (struct hw_ssd){.status = status,
                           .owner = status & DB_VCSD_SSDS__STATUS__OWNER_bm,
                           .depth = (status & DB_VCSD_SSDS__STATUS__DEPTH_bm) >> DB_VCSD_SSDS__STATUS__DEPTH_bp,
                           .present = status & DB_VCSD_SSDS__STATUS__PRESENT_bm};
}

static void command(uint32_t ssd, uint32_t what) {
    SSDS->SELECT = ssd;
    SSDS->CTL = what;
}

void hw_ssd_hand_over(uint32_t ssd, const struct hw_queue_pair* pair) {
    SSDS->QUEUES = pair->block << DB_VCSD_SSDS__QUEUES__BLOCK_bp | pair->depth << DB_VCSD_SSDS__QUEUES__DEPTH_bp |
                   pair->transfer << DB_VCSD_SSDS__QUEUES__TRANSFER_bp;
    SSDS->SQ_DOORBELL = pair->sq_doorbell;
    SSDS->CQ_DOORBELL = pair->cq_doorbell;
    SSDS->NSID = pair->nsid;
    command(ssd, DB_VCSD_SSDS__CTL__HAND_bm);
}

void hw_ssd_bring_up(uint32_t ssd) { command(ssd, DB_VCSD_SSDS__CTL__BRING_UP_bm); }

void hw_ssd_take_back(uint32_t ssd) { command(ssd, DB_VCSD_SSDS__CTL__TAKE_BACK_bm); }
