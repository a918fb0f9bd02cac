// SPDX-License-Identifier: Apache-2.0
// The ports of one hard block, where a top has PORTS of them side by side; with one, each port is its alone.
#pragma once

#include "common/ports.h"

namespace db {

template <u32 PORTS>
struct Pins {
    u32 index;

    template <class P>
    void get(const P& port, u32 width, u32* out) const {
        if constexpr (PORTS == 1) get_words(port, out);
        else get_lane(port, index, width, out);
    }
    template <class P>
    void put(P& port, u32 width, const u32* in) const {
        if constexpr (PORTS == 1) put_words(port, in);
        else put_lane(port, index, width, in);
    }
    template <class P>
    bool get_bit(const P& port) const {
        if constexpr (PORTS == 1) return port;
        else return db::get_bit(port, index);
    }
    template <class P>
    void put_bit(P& port, bool v) const {
        if constexpr (PORTS == 1) port = v;
        else db::put_bit(port, index, v);
    }
};

/// Bits of tuser of the four streams.
template <u32 DATA_W>
struct UserBits {
    static constexpr bool WIDE = DATA_W == 512;
    static constexpr u32 CQ = WIDE ? 183 : 88, CC = WIDE ? 81 : 33, RQ = WIDE ? 137 : 62, RC = WIDE ? 161 : 75;
};

}  // namespace db
