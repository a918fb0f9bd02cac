// SPDX-License-Identifier: Apache-2.0
#include "host/iommu.h"

#include <algorithm>

namespace db {

void Iommu::start(bool active) {
    on = active;
    pages.clear();
    granted.clear();
    strays.clear();
}

void Iommu::grant(u64 addr, u64 bytes, u64 owner, u32 rights) {
    if (!bytes) return;
    std::vector<u64>& own = granted[owner];
    for (u64 p = addr >> PAGE_LOG2; p <= (addr + bytes - 1) >> PAGE_LOG2; ++p) {
        pages[p].grants.push_back({owner, rights});
        own.push_back(p);
    }
}

int Iommu::revoke(u64 owner, u64 cycle) {
    const auto found = granted.find(owner);
    if (found == granted.end()) return 0;
    for (u64 p : found->second) {
        Page& page = pages[p];
        auto& g = page.grants;
        g.erase(std::remove_if(g.begin(), g.end(), [=](const Grant& x) { return x.owner == owner; }), g.end());
        page.last_owner = owner;
        page.returned = cycle;
    }
    const int n = int(found->second.size());
    granted.erase(found);
    return n;
}

bool Iommu::look(u64 page, u32 right) const {
    const auto found = pages.find(page);
    if (found == pages.end()) return false;
    const auto& g = found->second.grants;
    return std::any_of(g.begin(), g.end(), [=](const Grant& x) { return x.rights & right; });
}

void Iommu::report(u64 addr, u32 bytes, u32 right, u64 cycle) {
    ++count[HostCount::NOT_GRANTED];
    if (strays.size() >= KEPT) return;
    db_stray s{};
    s.cycle = cycle;
    s.addr = addr;
    s.bytes = bytes;
    s.rights = right;
    s.fn = fn;
    const auto found = pages.find(addr >> PAGE_LOG2);
    if (found != pages.end()) {
        const auto& g = found->second.grants;
        s.owner = g.empty() ? found->second.last_owner : g.front().owner;
        s.returned = g.empty() ? found->second.returned : 0;
    }
    strays.push_back(s);
}

int Iommu::take(db_stray* out, int n) {
    const int have = std::min(n, int(strays.size()));
    std::copy(strays.begin(), strays.begin() + have, out);
    strays.erase(strays.begin(), strays.begin() + have);
    return have;
}

}  // namespace db
