// SPDX-License-Identifier: Apache-2.0
// Visitors of all counters of a simulation, in one order: the values, or the name of one.
#pragma once

#include "common/types.h"

namespace db {

/// Stores values as long as there is room; `seen` is how many there are.
struct CounterValues {
    u64* out;
    int room;
    int seen = 0;
    void operator()(const char*, u64 value) {
        if (seen < room) out[seen] = value;
        ++seen;
    }
};

/// Finds the name of the counter with an index; null: there is none.
struct CounterName {
    int left;
    const char* found = nullptr;
    void operator()(const char* name, u64) {
        if (left-- == 0) found = name;
    }
};

}  // namespace db
