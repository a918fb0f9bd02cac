// SPDX-License-Identifier: Apache-2.0
#include "state/error_log.h"

void error_log_add(struct error_log* log, uint32_t sqid, uint32_t cid, uint32_t status, uint32_t nsid, uint64_t lba) {
#if FUNCTIONS == 1
    log->entries[log->next] =
        (struct error_entry){++log->count, lba, log->specific, nsid, (uint16_t)cid, (uint16_t)status, (uint8_t)sqid};
#else
    bool specific = log->specific;
    if (specific) lba = log->specific;  // an admin command's, which has no LBA
    log->entries[log->count++ % CFG_ERROR_LOG] = (struct error_entry){
        {(uint32_t)lba, (uint32_t)(lba >> 32)}, nsid, (uint16_t)cid, (uint16_t)status, (uint8_t)sqid, specific};
#endif
    log->specific = 0;
#if FUNCTIONS == 1
    log->next = log->next + 1 == CFG_ERROR_LOG ? 0 : log->next + 1;
#endif
}
