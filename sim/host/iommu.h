// SPDX-License-Identifier: Apache-2.0
// The IOMMU in front of host memory: which pages a function may touch, given by whom and for what. Off unless switched on;
// then every access to a page that is not granted, or not in this direction, is refused and counted.
#pragma once

#include <unordered_map>
#include <vector>

#include "host/host_counters.h"
#include "interface/db_sim.h"

namespace db {

class Iommu {
    static constexpr u32 PAGE_LOG2 = 12, KEPT = 64;

    struct Grant {
        u64 owner;
        u32 rights;  // DB_GRANT_*
    };
    struct Page {
        std::vector<Grant> grants;  // one page may be given several times
        u64 last_owner = 0, returned = 0;
    };

    Counters<HostCount>& count;
    u32 fn;
    std::unordered_map<u64, Page> pages;                // by number
    std::unordered_map<u64, std::vector<u64>> granted;  // by owner: page numbers
    std::vector<db_stray> strays;                       // the first ones
    bool on = false;

    bool look(u64 page, u32 right) const;
    void report(u64 addr, u32 bytes, u32 right, u64 cycle);

  public:
    /// function: whose accesses it sees.
    Iommu(Counters<HostCount>& counters, u32 function) : count(counters), fn(function) {}

    /// Nothing is granted from now on; off: everything is.
    void start(bool active);
    void grant(u64 addr, u64 bytes, u64 owner, u32 rights);
    /// What an owner was given is taken back; how many pages.
    int revoke(u64 owner, u64 cycle);
    /// May the function do this? If not, it is counted.
    bool allows(u64 addr, u32 bytes, u32 right, u64 cycle) {
        if (!on || (look(addr >> PAGE_LOG2, right) && look((addr + bytes - 1) >> PAGE_LOG2, right))) return true;
        report(addr, bytes, right, cycle);
        return false;
    }
    /// The refused accesses since the last call, oldest first; how many.
    int take(db_stray* out, int n);
};

}  // namespace db
