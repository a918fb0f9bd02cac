// SPDX-License-Identifier: Apache-2.0
// The last errors of a function's commands, for log page 01h.
#ifndef ERROR_LOG_H
#define ERROR_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"

#if FUNCTIONS == 1
struct error_entry {
    uint64_t count, lba, specific;
    uint32_t nsid;
    uint16_t cid, status;
    uint8_t sqid;
};
#else  // the same, in less: its count follows from its place; what is specific to a command is in place of the LBA
struct __attribute__((packed, aligned(2))) error_entry {
    uint32_t lba[2];
    uint32_t nsid;
    uint16_t cid, status;  // status 0: there is no entry
    uint8_t sqid;
    bool specific;
};
#endif

struct error_log {
    struct error_entry entries[CFG_ERROR_LOG];  // the newest is before `next`
#if FUNCTIONS == 1
    uint32_t next;
#endif
    uint64_t count;     // of all errors there have been; several functions: `next` is what is left of it
    uint64_t specific;  // command specific information of the next entry
};

#define NO_COMMAND 0xffffu  // command identifier of an error that is no command's: it has no queue either
void error_log_add(struct error_log* log, uint32_t sqid, uint32_t cid, uint32_t status, uint32_t nsid, uint64_t lba);

#endif
