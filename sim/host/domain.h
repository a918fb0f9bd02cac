// SPDX-License-Identifier: Apache-2.0
// What one function reaches of the host: its memory, behind its IOMMU. Addresses of two functions have nothing to do
// with each other.
#pragma once

#include <vector>

#include "common/host_memory.h"
#include "host/iommu.h"

namespace db {

struct Domain {
    Regions regions;
    Iommu iommu;

    Domain(Counters<HostCount>& counters, u32 fn) : iommu(counters, fn) {}
};

/// What a function has moved: bytes of requests that reached host memory, interrupts.
struct Traffic {
    u64 written = 0, read = 0, interrupts = 0;
};

/// One for each function.
class Domains {
    std::vector<Domain> list;

  public:
    Domains(u32 num_fn, Counters<HostCount>& counters) {
        list.reserve(num_fn);
        for (u32 fn = 0; fn < num_fn; ++fn) list.emplace_back(counters, fn);
    }
    Domain& operator[](u32 fn) { return list[fn]; }
    auto begin() { return list.begin(); }
    auto end() { return list.end(); }
};

}  // namespace db
