// SPDX-License-Identifier: Apache-2.0
// Dwords of host memory that the caller waits for: a run ends when the device writes the value wanted.
#pragma once

#include <algorithm>
#include <cstring>

#include "host/domain.h"
#include "pcie/endpoint_context.h"

namespace db {

class Watches {
    static constexpr u32 MOST = 64;
    EndpointContext& x;
    Domains& domains;
    db_watch watch[MOST];
    u32 n = 0;

    bool look(const db_watch& w) {
        Regions& regions = domains[w.fn].regions;
        const Region* r = regions.find(w.addr, 4);
        if (!r || !r->ptr) return false;
        u32 v;
        std::memcpy(&v, r->ptr + (w.addr - r->base), 4);
        if (regions.lost(w.addr, 4) || (v & w.mask) != w.value) return false;
        x.events |= DB_STOP_WATCH;
        return true;
    }

  public:
    Watches(EndpointContext& context, Domains& memory) : x(context), domains(memory) {}

    /// Those of functions that there are.
    void set(const db_watch* w, u32 count) {
        n = 0;
        for (u32 i = 0; i < std::min(count, MOST); ++i)
            if (w[i].fn < x.num_fn) watch[n++] = w[i];
    }
    /// A function has written `bytes` at `addr`.
    void written(u32 fn, u64 addr, u32 bytes) {
        for (u32 i = 0; i < n; ++i)
            if (watch[i].addr - addr < bytes && watch[i].fn == fn) look(watch[i]);
    }
    /// Is a value there already?
    void look_at_all() {
        for (u32 i = 0; i < n; ++i)
            if (look(watch[i])) break;
    }
};

}  // namespace db
