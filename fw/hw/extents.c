// SPDX-License-Identifier: Apache-2.0
#include "hw/extents.h"

#include "hw/registers.h"

enum { LOOK, RELEASE, PUT, FIND };

static void wait(void) { while (VCSD->STATUS & DB_VCSD__STATUS__BUSY_bm); }

void hw_extents(struct hw_extents* is) {
    wait();
    is->caps = VCSD->CAPS;
    is->granule = is->caps & DB_VCSD__CAPS__GRANULE_bm;
    is->ssds = (is->caps & DB_VCSD__CAPS__SSDS_bm) >> DB_VCSD__CAPS__SSDS_bp;
    is->each = is->caps >> DB_VCSD__CAPS__EACH_bp;
    is->stripe = is->caps & DB_VCSD__CAPS__STRIPE_bm;
}

static bool command(uint32_t granule, uint32_t op) {
    VCSD->CTL = granule | op << DB_VCSD__CTL__OP_bp | DB_VCSD__CTL__GO_bm;
    wait();
    return !(VCSD->STATUS & DB_VCSD__STATUS__REFUSED_bm);
}

uint32_t hw_extent(uint32_t granule) {
    command(granule, LOOK);
    uint32_t found = VCSD->FOUND;
    return found & HW_SOMEWHERE ? found : 0;
}

void hw_extent_release(uint32_t granule) { command(granule, RELEASE); }

static bool set(uint32_t granule, uint32_t place, uint32_t op) {
    VCSD->PLACE = place & ~HW_SOMEWHERE;
    return command(granule, op);
}

bool hw_extent_put(uint32_t granule, uint32_t place) { return set(granule, place, PUT); }

bool hw_extent_find(uint32_t granule, uint32_t place) { return set(granule, place, FIND); }
