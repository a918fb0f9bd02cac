// SPDX-License-Identifier: Apache-2.0
// What every part around a simulated device sees of the whole: configuration, time, what the host has set.
//
// A device has one or more PCIe functions: the physical one (PF) and virtual ones (VFs, SR-IOV). Here, and for the
// caller, a function is its index: 0 is the PF, the VFs follow. The hard block has numbers of its own (PG213), which
// stand in descriptors alone.
#pragma once

#include "common/random.h"
#include "doorbell_facts.h"
#include "interface/db_sim.h"

namespace db {

/// Functions that a device may have, the PF's and the first VF's number, and what no function has for an index.
constexpr u32 MAX_FN = 17, FIRST_VF = 4, NO_FN = 31;

/// The hard block's number of a function.
constexpr u32 number_of(u32 fn) { return fn ? FIRST_VF + fn - 1 : 0; }

struct EndpointContext {
    const db_config cfg;
    const u32 num_fn;
    u32 cmb_log2 = 0;        // log2 of the bytes of a function's region of card memory, BAR 4; 0: it has none
    bool has_peers = false;  // SSDs stand beside the device
    u64 cycle = 0;
    u32 events = 0;           // DB_STOP_* that have happened
    u32 listening = ~u32{0};  // bits: functions whose messages and interrupts end a run
    Rng rng;                  // of all parts: the order in which they draw is part of the behaviour

    // configuration space, as far as the hard block knows it; a bit for each function. A VF that is not enabled has 0 in
    // the others.
    u32 enabled = 1, bus_master = 1, msix_enable = 0, msix_mask = 0;
    bool intx_disable = false;  // the PF's, and so are these
    u32 mps, mrrs;
    u64 bus_master_off_at[MAX_FN] = {};

    EndpointContext(const db_config& c, u32 functions)
        : cfg(c), num_fn(functions), rng(c.seed), mps(c.mps), mrrs(c.mrrs) {}

    /// The function with a number of the hard block; NO_FN: there is none.
    u32 index_of(u32 number) const {
        if (number < FIRST_VF) return number ? NO_FN : 0;
        const u32 fn = number - FIRST_VF + 1;
        return fn < num_fn ? fn : NO_FN;
    }
    /// Something of a function has happened.
    void happens(u32 fn, u32 event) {
        if (listening >> fn & 1) events |= event;
    }
    bool is_enabled(u32 fn) const { return enabled >> fn & 1; }
    /// Where the host has BAR 0 of a function.
    u64 bar(u32 fn) const { return fn ? cfg.vf_bar0 + u64(fn - 1) * BAR_BYTES : cfg.bar0; }

    u64 bar4(u32 fn) const { return cfg.bar4 + (u64(fn) << cmb_log2); }

    u64 cycles(u64 ns) const { return ns_to_cycles(ns, cfg.clock_khz); }
    /// A random pause, drawn anew with each call.
    bool stalled() { return cfg.stall_pct && rng.below(100) < cfg.stall_pct; }
};

}  // namespace db
