// SPDX-License-Identifier: Apache-2.0
// Access to the ports of a Verilated top, whatever type Verilator gave them: as 32-bit words, and where the signals of
// several streams lie side by side (stream i at [i * width +: width]) those of one stream.
#pragma once

#include <cstring>
#include <type_traits>

#include "common/types.h"

namespace db {

// ---- a whole port

template <class P>
inline void put_words(P& port, const u32* w) {
    if constexpr (std::is_integral<P>::value) {
        u64 v = w[0];
        if (sizeof(P) == 8) v |= u64(w[1]) << 32;
        port = P(v);
    } else {
        std::memcpy(&port[0], w, sizeof(P));
    }
}

template <class P>
inline void get_words(const P& port, u32* w) {
    if constexpr (std::is_integral<P>::value) {
        w[0] = u32(port);
        if (sizeof(P) == 8) w[1] = u32(u64(port) >> 32);
    } else {
        std::memcpy(w, &port[0], sizeof(P));
    }
}

// ---- one of several streams

template <class P>
inline void get_lane(const P& port, u32 i, u32 width, u32* out) {
    const u32 lo = i * width;
    if constexpr (std::is_integral<P>::value) {
        const u64 v = (u64(port) >> lo) & ones(width);
        out[0] = u32(v);
        if (width > 32) out[1] = u32(v >> 32);
    } else {
        const u32 words = (width + 31) / 32, shift = lo & 31;
        constexpr u32 have = sizeof(P) / 4;
        for (u32 k = 0; k < words; ++k) {
            const u32 at = lo / 32 + k;
            u64 v = port[at];
            if (shift && at + 1 < have) v |= u64(port[at + 1]) << 32;
            out[k] = u32(v >> shift);
        }
        if (width & 31) out[words - 1] &= u32(ones(width & 31));
    }
}

template <class P>
inline void put_lane(P& port, u32 i, u32 width, const u32* in) {
    const u32 lo = i * width;
    if constexpr (std::is_integral<P>::value) {
        const u64 v = in[0] | (width > 32 ? u64(in[1]) << 32 : 0);
        port = P((u64(port) & ~(ones(width) << lo)) | (v & ones(width)) << lo);
    } else {
        for (u32 done = 0; done < width;) {
            const u32 at = (lo + done) / 32, shift = (lo + done) & 31;
            const u32 n = width - done < 32 - shift ? width - done : 32 - shift;
            u32 v = in[done / 32] >> (done & 31);
            if ((done & 31) && (done & 31) + n > 32) v |= in[done / 32 + 1] << (32 - (done & 31));
            const u32 mask = u32(ones(n)) << shift;
            port[at] = (port[at] & ~mask) | (v << shift & mask);
            done += n;
        }
    }
}

template <class P>
inline bool get_bit(const P& port, u32 i) {
    return port >> i & 1;
}

template <class P>
inline void put_bit(P& port, u32 i, bool v) {
    port = P((port & ~(P(1) << i)) | P(P(v) << i));
}

}  // namespace db
