// SPDX-License-Identifier: Apache-2.0
// A beat of a straddled CQ (PG213, 512 bits): requests that start at lane 0 and at lane 8, two at most.
#pragma once

#include <algorithm>
#include <cstring>

#include "pcie/packing.h"

namespace db {

struct CqStraddledBeat {
    static constexpr u32 HALF = 8;
    u32 data[LANES] = {}, user[6] = {};
    u32 lane = 0;  // where the next request may start
    bool damaged = false;

    /// None starts behind one that is damaged: the mark is for the last that ends in the beat.
    bool room() const { return lane < LANES && !damaged; }
    bool empty() const { return !lane; }

    /// Puts in what there is room for of a request from its dword `pos` on. Returns how many dwords that is.
    template <class Packet>
    u32 put(const Packet& p, u32 pos) {
        const u32 n = std::min(LANES - lane, p.ndw - pos);
        std::memcpy(data + lane, &p.w[pos], n * 4);
        const u64 be = byte_enables(pos, p.ndw, REQ_DESC, p.first_be, p.last_be, n);
        for (u32 i = 0; i < n; ++i) {
            const u32 bit = 16 + 4 * (lane + i);
            user[bit / 32] |= u32(be >> 4 * i & 15) << bit % 32;
        }
        if (!pos) {
            user[0] |= u32(p.first_be) << 4 * starts | u32(p.last_be) << (8 + 4 * starts);
            user[2] |= 1u << (16 + starts) | lane / 4 << (18 + 2 * starts);
            ++starts;
        }
        if (pos + n == p.ndw) {
            user[2] |= 1u << (22 + ends) | (lane + n - 1) << (24 + 4 * ends);
            ++ends;
            damaged = p.damaged;
            user[3] |= damaged;
        }
        lane = (lane + n + HALF - 1) / HALF * HALF;
        return n;
    }

  private:
    u32 starts = 0, ends = 0;
};

}  // namespace db
