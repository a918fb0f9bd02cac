// SPDX-License-Identifier: Apache-2.0
// What every part around a simulated device sees of the whole: configuration, time, what the host has set.
#pragma once

#include "common/random.h"
#include "interface/db_sim.h"

namespace db {

struct EndpointContext {
    const db_config cfg;
    u64 cycle = 0;
    u32 events = 0;  // DB_STOP_* that have happened
    Rng rng;         // of all parts: the order in which they draw is part of the behaviour

    // configuration space, as far as the hard block knows it
    bool bus_master = true, msix_enable = false, msix_mask = false, intx_disable = false;
    u32 mps, mrrs;
    u64 bus_master_off_at = 0;

    explicit EndpointContext(const db_config& c) : cfg(c), rng(c.seed), mps(c.mps), mrrs(c.mrrs) {}

    u64 cycles(u64 ns) const { return ns_to_cycles(ns, cfg.clock_khz); }
    /// A random pause, drawn anew with each call.
    bool stalled() { return cfg.stall_pct && rng.below(100) < cfg.stall_pct; }
};

}  // namespace db
