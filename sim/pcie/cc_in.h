// SPDX-License-Identifier: Apache-2.0
// Puts the beats of CC together to completions: one a beat, which endpoint and root port share, or straddled.
#pragma once

#include "pcie/stream_in.h"

namespace db {

/// USER: tuser must say the same as tlast and tkeep, at 512 bits where it can. ROOM: words that a packet may take.
template <u32 DATA_W, bool USER, u32 ROOM>
struct CcIn {
    static constexpr u32 N = DATA_W / 32;
    bool in = false, bad = false;
    u32 ndw = 0;

    /// One beat, into the packet `w`. True: it was the last.
    bool beat(const Beat& b, u32* w) {
        if (!in) {
            ndw = 0;
            bad = false;
        }
        const u32 n = b.last ? u32(__builtin_popcount(b.keep)) : N;
        if (b.keep != ones(n)) bad = true;
        if constexpr (USER && DATA_W == 512) {  // packets start at lane 0 here
            const bool sop = b.user[0] & 3, eop = b.user[0] >> 6 & 3;
            if (sop != !in || eop != b.last || (eop && (b.user[0] >> 8 & 15) != n - 1)) bad = true;
        }
        in = !b.last;
        if (ndw + N > ROOM) bad = true;
        else std::memcpy(&w[ndw], b.data, N * 4);
        ndw += n;
        return b.last;
    }
};

/// Straddled, at 512 bits (PG213): completions start at lane 0, or at lane 8 behind another that ends below it; up to two
/// start and two end. tlast and tkeep mean nothing. The owner has `u32* cc_words()` (where the completion that comes in is
/// put), `void cc_packet()` (it is complete; look at the members here) and `void cc_malformed()` (a beat that breaks the
/// rules).
template <u32 ROOM>
struct CcStraddledIn {
    static constexpr u32 HALF = 8;
    bool in = false, bad = false;
    u32 ndw = 0;

    template <class Owner>
    void beat(const Beat& b, Owner& o) {
        const u32 u = b.user[0];
        const u32 sop = u & 3, eop = u >> 6 & 3, end[2] = {u >> 8 & 15, u >> 12 & 15};
        u32 ends = 0, free = 0;  // ends seen; first lane where the next may start
        bool good = sop != 2 && eop != 2 && (in || sop);
        auto rest = [&](u32 from) {
            const bool last = eop >> ends & 1;
            const u32 to = last ? end[ends] : 2 * HALF - 1;
            if (to < from) return good = in = false;
            const u32 n = to + 1 - from;
            if (ndw + n > ROOM) bad = true;
            else std::memcpy(o.cc_words() + ndw, b.data + from, n * 4);
            ndw += n;
            in = !last;
            free = (to / HALF + 1) * HALF;
            if (last) {
                ++ends;
                o.cc_packet();
            }
            return true;
        };
        if (in) rest(0);
        for (u32 k = 0; k < 2 && sop >> k & 1 && good; ++k) {
            const u32 from = (u >> (2 + 2 * k) & 3) * 4;
            if (in || from != free || from > HALF) {
                good = in = false;
                break;
            }
            bad = false;
            ndw = 0;
            rest(from);
        }
        if (!good || eop >> ends) o.cc_malformed();
    }
};

}  // namespace db
