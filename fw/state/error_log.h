// SPDX-License-Identifier: Apache-2.0
// The last errors of a function's commands, for log page 01h.
#ifndef ERROR_LOG_H
#define ERROR_LOG_H

#include <stdint.h>

#include "base/config.h"

struct error_entry {
    uint64_t count, lba, specific;
    uint32_t nsid;
    uint16_t cid, status;
    uint8_t sqid;
};

struct error_log {
    struct error_entry entries[CFG_ERROR_LOG];  // the newest is before `next`
    uint32_t next;
    uint64_t count;     // of all errors there have been
    uint64_t specific;  // command specific information of the next entry
};

void error_log_add(struct error_log* log, uint32_t sqid, uint32_t cid, uint32_t status, uint32_t nsid, uint64_t lba);

#endif
