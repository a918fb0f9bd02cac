// SPDX-License-Identifier: Apache-2.0
// Byte positions are those of the specification's tables.
#include "drives/identify.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "drives/nvme_constants.h"

namespace db {

void put(u8* p, u32 at, u64 v, u32 bytes) { std::memcpy(p + at, &v, bytes); }

void text(u8* p, u32 at, u32 n, const char* s) {
    std::memset(p + at, ' ', n);
    std::memcpy(p + at, s, std::min<size_t>(n, std::strlen(s)));
}

void identify_controller(u8* p, const db_model_config& c, u32 vendor, u32 index) {
    put(p, 0, vendor, 2);
    put(p, 2, vendor, 2);
    char serial[21];
    std::snprintf(serial, sizeof serial, "DBMODEL%04u", index);
    text(p, 4, 20, serial);
    text(p, 24, 40, "Doorbell model drive");
    text(p, 64, 8, "1.0");
    put(p, 77, c.mdts, 1);
    put(p, 78, 1, 2);
    put(p, 80, nvme::VERSION_2_0, 4);
    put(p, 111, 1, 1);  // I/O controller
    put(p, 258, 3, 1);  // Abort commands, 0's based
    put(p, 259, 3, 1);  // asynchronous event requests
    put(p, 260, 3, 1);
    put(p, 266, 343, 2);
    put(p, 268, 353, 2);
    put(p, 512, nvme::SQE_BYTES_LOG2 | nvme::SQE_BYTES_LOG2 << 4, 1);
    put(p, 513, nvme::CQE_BYTES_LOG2 | nvme::CQE_BYTES_LOG2 << 4, 1);
    put(p, 514, c.mqes, 2);
    put(p, 516, 1, 4);
    put(p, 520, c.oncs, 2);
    put(p, 525, c.vwc ? 7 : 0, 1);
    put(p, 536, c.sgls ? nvme::SGLS_ANY_ALIGNMENT : 0, 4);
    std::snprintf(reinterpret_cast<char*>(p) + 768, 256, "nqn.2026-11.doorbell:model:%04u", index);
}

void identify_namespace(u8* p, const db_model_config& c, u64 blocks) {
    for (u32 at = 0; at < 24; at += 8) put(p, at, blocks, 8);
    put(p, 25, 1, 1);                          // two formats
    put(p, 26, c.lba_shift == 12 ? 1 : 0, 1);  // the one in use
    put(p, 128, u64(9) << 16, 4);
    put(p, 132, u64(12) << 16, 4);
    put(p, 33, 1, 1);  // deallocated blocks read as zeros
}

void Smart::log(u8* p, u64 hours) const {
    put(p, 1, 311, 2);  // kelvin
    put(p, 3, 100, 1);
    put(p, 4, 10, 1);
    put(p, 32, (units_read + 999) / 1000, 8);
    put(p, 48, (units_written + 999) / 1000, 8);
    put(p, 64, reads, 8);
    put(p, 80, writes, 8);
    put(p, 112, 1, 8);
    put(p, 128, hours, 8);
    put(p, 160, media_errors, 8);
}

}  // namespace db
