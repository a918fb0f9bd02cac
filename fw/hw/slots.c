// SPDX-License-Identifier: Apache-2.0
#include "hw/slots.h"

#include "base/config.h"
#include "hw/registers.h"

uint32_t hw_slots(void) { return PROGRAMS ? SLOTS->NOW : 0; }

uint32_t hw_slots_exchangeable(void) { return SLOTS->CAPS & DB_CSD_SLOTS__CAPS__EXCHANGEABLE_bm; }

void hw_slots_share(uint32_t place, uint32_t slots) { SLOTS->SHARE = place << DB_CSD_SLOTS__SHARE__PLACE_bp | slots; }

void hw_slots_exchange(uint32_t slot, uint32_t at) {
    SLOTS->FROM = at;
    SLOTS->GO = slot;
}

bool hw_slots_busy(void) { return SLOTS->STATE & DB_CSD_SLOTS__STATE__BUSY_bm; }

uint32_t hw_slots_ended(void) {
    return (SLOTS->STATE & DB_CSD_SLOTS__STATE__ENDED_bm) >> DB_CSD_SLOTS__STATE__ENDED_bp;
}

uint32_t hw_slots_error(void) {
    return (SLOTS->STATE & DB_CSD_SLOTS__STATE__ERROR_bm) >> DB_CSD_SLOTS__STATE__ERROR_bp;
}

void hw_slots_library(uint32_t at, uint32_t form) {
    SLOTS->FORM = form;
    SLOTS->LIBRARY = at;
}
