// SPDX-License-Identifier: Apache-2.0
// The data structures that the model of a drive returns: Identify (NVMe Base 2.0, 5.17; NVM Command Set 1.0, 4.1.5)
// and the SMART / health log (5.16.1.3).
#pragma once

#include "common/types.h"
#include "interface/db_host_sim.h"

namespace db {

/// Stores the low `bytes` of v at p + at; text is padded with spaces to n.
void put(u8* p, u32 at, u64 v, u32 bytes);
void text(u8* p, u32 at, u32 n, const char* s);

void identify_controller(u8* p, const db_model_config& c, u32 vendor, u32 index);
void identify_namespace(u8* p, const db_model_config& c, u64 blocks);

struct Smart {
    u64 units_read = 0, units_written = 0, reads = 0, writes = 0, media_errors = 0, resets = 0;  // units: 512 bytes
    void log(u8* p, u64 hours) const;
};

}  // namespace db
