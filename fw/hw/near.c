// SPDX-License-Identifier: Apache-2.0
#include "hw/near.h"

#include "base/config.h"
#include "hw/registers.h"

uint32_t hw_near_operators(void) { return PROGRAMS ? NEAR->CAPS & DB_CSD_NEAR__CAPS__OPS_bm : 0; }

uint32_t hw_near_cells(void) { return (NEAR->CAPS & DB_CSD_NEAR__CAPS__CELLS_bm) >> DB_CSD_NEAR__CAPS__CELLS_bp; }

uint32_t hw_near_programs(void) {
    return PROGRAMS ? (NEAR->CAPS & DB_CSD_NEAR__CAPS__PROGRAMS_bm) >> DB_CSD_NEAR__CAPS__PROGRAMS_bp : 0;
}

uint32_t hw_near_words(void) { return 1u << (NEAR->CAPS >> DB_CSD_NEAR__CAPS__WORDS_bp); }

void hw_near_first(uint32_t place, uint32_t which, uint32_t word) {
    NEAR->PROGRAM = place << DB_CSD_NEAR__PROGRAM__PLACE_bp | which << DB_CSD_NEAR__PROGRAM__WHICH_bp;
    NEAR->WORD = word;
}

void hw_near_word(uint32_t word) { NEAR->WORD = word; }
