// SPDX-License-Identifier: Apache-2.0
// What both loops count and how they wait.
#pragma once

#include "common/counters.h"

namespace db {

#define DB_SIM_COUNTERS(X)     \
    X(RTL_ERRORS, "error.rtl") \
    X(SKIPPED_CYCLES, "sim.skipped_cycles")
DB_COUNTERS(SimCount, DB_SIM_COUNTERS)

/// Cycles that the core must be idle, and nothing be said to it or by it, before time is skipped.
constexpr u32 IDLE_CYCLES = 8;
/// How often the loop looks for what is rare: doorbells in the page, time limits, a failed assertion.
constexpr u32 POLL_CYCLES = 256;
/// How long the top's reset is held.
constexpr u32 RESET_CYCLES = 16;

}  // namespace db
