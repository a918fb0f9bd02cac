// SPDX-License-Identifier: Apache-2.0
#include "hw/programs.h"

#include "base/config.h"
#include "hw/registers.h"

uint32_t hw_memory_log2(void) { return SLM ? HW->MEMORY & DB_SSD_FW__MEMORY__LOG2_BYTES_bm : 0; }

void hw_range(uint32_t place, uint32_t set, uint32_t which, uint32_t start, uint32_t bytes) {
    HW->RANGE_START = start;
    HW->RANGE_BYTES = bytes;
    HW->RANGE_CTL = place | set << DB_SSD_FW__RANGE_CTL__SET_bp | which << DB_SSD_FW__RANGE_CTL__WHICH_bp |
                    DB_SSD_FW__RANGE_CTL__GO_bm;
}

void hw_program_state(uint32_t place, uint32_t there, uint32_t active) {
    HW->PROGRAM_STATE = place | there << DB_SSD_FW__PROGRAM_STATE__THERE_bp |
                        active << DB_SSD_FW__PROGRAM_STATE__ACTIVE_bp | DB_SSD_FW__PROGRAM_STATE__GO_bm;
}
