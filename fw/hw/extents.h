// SPDX-License-Identifier: Apache-2.0
// The table that says where granules of a virtual medium are (db_vcsd; docs/vcsd/theory.md).
#ifndef HW_EXTENTS_H
#define HW_EXTENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "db_vcsd.h"

struct hw_extents {
    uint32_t caps;     // as the register has it
    uint32_t granule;  // log2 of a granule's bytes
    uint32_t ssds;     // log2 of how many
    uint32_t each;     // granules of an SSD
    bool stripe;
};
void hw_extents(struct hw_extents* is);

/// A place, as registers PLACE and FOUND have it; HW_SOMEWHERE in what was found.
#define HW_SOMEWHERE DB_VCSD__FOUND__VALID_bm
static inline uint32_t hw_extent_place(uint32_t granule, uint32_t ssd, uint32_t part, uint32_t log2) {
    return granule | ssd << DB_VCSD__PLACE__SSD_bp | part << DB_VCSD__PLACE__PART_bp | log2 << DB_VCSD__PLACE__LOG2_bp;
}
static inline uint32_t hw_extent_log2(uint32_t place) {
    return (place & DB_VCSD__PLACE__LOG2_bm) >> DB_VCSD__PLACE__LOG2_bp;
}
static inline uint32_t hw_extent_part(uint32_t place) {
    return (place & DB_VCSD__PLACE__PART_bm) >> DB_VCSD__PLACE__PART_bp;
}
static inline uint32_t hw_extent_ssd(uint32_t place) {
    return (place & DB_VCSD__PLACE__SSD_bm) >> DB_VCSD__PLACE__SSD_bp;
}
#define HW_PART_BP DB_VCSD__PLACE__PART_bp
/// What of a place says on which SSDs it is.
#define HW_EXTENT_SSDS (DB_VCSD__PLACE__SSD_bm | DB_VCSD__PLACE__LOG2_bm)

/// Where a granule of the medium is; 0: nowhere.
uint32_t hw_extent(uint32_t granule);
void hw_extent_release(uint32_t granule);
/// It goes there. False: that is taken, or is no place; it is nowhere then.
bool hw_extent_put(uint32_t granule, uint32_t place);
/// It goes to the first place that is free on the SSDs of `place`. False: there is none; it is nowhere then.
bool hw_extent_find(uint32_t granule, uint32_t place);

#endif
