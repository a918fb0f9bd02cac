// SPDX-License-Identifier: Apache-2.0
// Puts the beats of CC together to completions. Endpoint and root port share it.
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

}  // namespace db
