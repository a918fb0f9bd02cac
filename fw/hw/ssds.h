// SPDX-License-Identifier: Apache-2.0
// Who has each SSD behind the card (db_vcsd; docs/vcsd/hand-over.md).
#ifndef HW_SSDS_H
#define HW_SSDS_H

#include <stdbool.h>
#include <stdint.h>

/// A queue pair that an SSD's owner hands over. Sizes are log2; doorbells are offsets in BAR 0 of the SSD.
struct hw_queue_pair {
    uint32_t sq_doorbell, cq_doorbell, nsid;
    uint32_t block, depth, transfer;
};

/// What is known of an SSD.
struct hw_ssd {
    uint32_t status;  // as the register has it
    uint32_t owner;   // SSD_OWNER_*
    uint32_t depth;   // log2 of the most entries of a queue
    bool present;
};
struct hw_ssd hw_ssd(uint32_t ssd);

/// Of one that nobody has.
void hw_ssd_hand_over(uint32_t ssd, const struct hw_queue_pair* pair);
void hw_ssd_bring_up(uint32_t ssd);
/// It begins; it is over when nobody has it.
void hw_ssd_take_back(uint32_t ssd);

#endif
