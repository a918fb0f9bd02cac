// SPDX-License-Identifier: Apache-2.0
// A stream from the core to the hard block (RQ, CC): what it offers in a cycle, and the rules of AXI4-Stream on it.
#pragma once

#include <cstring>

#include "common/types.h"
#include "pcie/tlp.h"

namespace db {

struct Beat {
    const u32* data;
    u32 user[6] = {};
    u32 keep = 0;
    bool last = false;
};

/// Watches that an offer stays as it is until it is taken, and that a packet has no gaps.
template <u32 DATA_W>
struct StreamIn {
    static constexpr u32 N = DATA_W / 32;
    bool ready = false;  // tready in this cycle
    bool held = false;   // what follows was offered in the last cycle and not taken
    u32 data[N] = {}, user[6] = {}, keep = 0;
    bool last = false;

    void clear() { ready = held = false; }

    /// A cycle without tvalid. in: a packet has begun.
    void nothing(bool in, u64& gap, u64& unstable) {
        if (in) ++gap;
        else if (held) ++unstable;
        held = false;
    }

    /// A cycle with tvalid. True: the beat is taken.
    bool offered(const Beat& b, u64& unstable, u64& stall) {
        if (held && (std::memcmp(data, b.data, N * 4) || std::memcmp(user, b.user, sizeof user) || keep != b.keep ||
                     last != b.last))
            ++unstable;
        held = !ready;
        if (ready) return true;
        ++stall;
        std::memcpy(data, b.data, N * 4);
        std::memcpy(user, b.user, sizeof user);
        keep = b.keep;
        last = b.last;
        return false;
    }
};

}  // namespace db
