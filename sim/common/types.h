// SPDX-License-Identifier: Apache-2.0
// Short names of integers, and the little arithmetic that every part needs.
#pragma once

#include <cstdint>

namespace db {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

/// A cycle that never comes.
constexpr u64 NEVER = ~u64{0};

constexpr u64 ones(u32 n) { return n >= 64 ? ~u64{0} : (u64{1} << n) - 1; }

inline u64 ns_to_cycles(u64 ns, u64 khz) { return (ns * khz + 500000) / 1000000; }

}  // namespace db
