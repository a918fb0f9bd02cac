// SPDX-License-Identifier: Apache-2.0
// Host memory: regions that are plain memory of this process, or that only the caller can reach (messages).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "common/page_faults.h"

namespace db {

struct Region {
    u64 base, size;
    u8* ptr;  // null: DMA becomes messages
    bool writable;
    bool lost = false;  // its file has gone: accesses fail until it is removed
};

inline std::string hexadecimal(u64 n) {
    char text[20];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(n));
    return text;
}

struct Regions {
    std::vector<Region> v;  // sorted, none overlaps another
    u32 last = 0;           // what find() has found
    PageFaults faults;
    std::string trouble;  // for the user, a line; who has said it clears it

    const Region* find(u64 a, u32 n) {
        if (last < v.size() && inside(v[last], a, n)) return &v[last];
        auto it = std::upper_bound(v.begin(), v.end(), a, [](u64 x, const Region& r) { return x < r.base; });
        if (it == v.begin()) return nullptr;
        --it;
        if (!inside(*it, a, n)) return nullptr;
        last = u32(it - v.begin());
        return &*it;
    }
    static bool inside(const Region& r, u64 a, u32 n) {
        return a >= r.base && a - r.base < r.size && r.size - (a - r.base) >= n && !r.lost;
    }
    /// After an access to n bytes at `a` of a region: has its file gone under it? Then it was the last one.
    bool lost(u64 a, u32 n) {
        const Region& r = v[last];
        if (!faults.hit(r.ptr + (a - r.base), n)) return false;
        v[last].lost = true;
        if (trouble.empty())
            trouble = "memory of the host at " + hexadecimal(r.base) + " is gone: its file was truncated";
        return true;
    }
    int add(u64 base, u64 size, u8* ptr, bool writable) {
        if (!size || base + (size - 1) < base) return -1;
        auto it = std::upper_bound(v.begin(), v.end(), base, [](u64 x, const Region& r) { return x < r.base; });
        if (it != v.begin() && base - (it - 1)->base < (it - 1)->size) return -1;
        if (it != v.end() && it->base - base < size) return -1;
        v.insert(it, Region{base, size, ptr, writable});
        last = 0;
        return 0;
    }
    int remove(u64 base, u64 size) {
        const size_t before = v.size();
        v.erase(std::remove_if(v.begin(), v.end(),
                               [=](const Region& r) {
                                   return r.base >= base && r.base - base < size && size - (r.base - base) >= r.size;
                               }),
                v.end());
        last = 0;
        return int(before - v.size());
    }
};

/// Copies into memory that other threads or processes may poll. Short writes (queue entries) go upwards in words of 8
/// bytes, so that whoever sees the last word sees all.
inline void host_store(u8* dst, const u8* src, u32 n) {
    if (n <= 64) {
        std::atomic_thread_fence(std::memory_order_release);
        u32 i = 0;
        if ((reinterpret_cast<uintptr_t>(dst) & 7) == 0) {
            for (; i + 8 <= n; i += 8) {
                u64 w;
                std::memcpy(&w, src + i, 8);
                __atomic_store_n(reinterpret_cast<u64*>(dst + i), w, __ATOMIC_RELEASE);
            }
        }
        for (; i + 4 <= n; i += 4) {
            u32 w;
            std::memcpy(&w, src + i, 4);
            __atomic_store_n(reinterpret_cast<u32*>(dst + i), w, __ATOMIC_RELEASE);
        }
        if (i < n) std::memcpy(dst + i, src + i, n - i);
    } else {
        std::memcpy(dst, src, n);
    }
}

}  // namespace db
