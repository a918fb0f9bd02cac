// SPDX-License-Identifier: Apache-2.0
// Faults that the caller wants in the device's reads of host memory.
#pragma once

#include <vector>

#include "common/types.h"

namespace db {

struct ReadFault {
    u32 kind, count;  // DB_FAULT_*
    int fn;           // whose reads; -1: everybody's
    u64 addr, len;    // len 0: any address
    long long nth;    // so many matching reads to go; then `count` of them are hit
    u64 hits;
};

struct ReadFaults {
    std::vector<ReadFault> list;

    /// The DB_FAULT_* that a read meets, or 0.
    u8 meet(u32 fn, u64 addr, u32 n) {
        u8 kind = 0;
        for (ReadFault& f : list) {
            if (!f.count || (f.fn >= 0 && u32(f.fn) != fn)) continue;
            if (f.len && (addr + n <= f.addr || addr >= f.addr + f.len)) continue;
            if (f.nth > 0) {
                --f.nth;
                continue;
            }
            if (kind) continue;
            --f.count;
            ++f.hits;
            kind = u8(f.kind);
        }
        return kind;
    }
};

}  // namespace db
