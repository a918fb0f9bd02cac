// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine.
#pragma once

#include "common/types.h"

namespace db {

/// xorshift64*: small and fast.
struct Rng {
    u64 s;
    explicit Rng(u64 seed) : s(seed * 0x9e3779b97f4a7c15ull + 0x853c49e6748fea9bull) {
        if (!s) s = 1;
    }
    u32 next() {
        s ^= s >> 12;
        s ^= s << 25;
        s ^= s >> 27;
        return u32((s * 0x2545f4914f6cdd1dull) >> 32);
    }
    u32 below(u32 n) { return u32((u64(next()) * n) >> 32); }
};

}  // namespace db
