// SPDX-License-Identifier: Apache-2.0
// A stream from the hard block to the core (RC, CQ): a packet goes out beat by beat.
#pragma once

#include "pcie/packing.h"
#include "pcie/pins.h"

namespace db {

struct StreamOut {
    bool on = false;     // a beat is offered
    bool fired = false;  // and is taken at the coming edge
    u32 pos = 0;         // its first dword in the packet

    void clear() { *this = {}; }
    void begin() {
        on = true;
        pos = 0;
    }
    /// What was taken in the last cycle is gone. True: it was the end of the packet, which has `ndw` dwords.
    bool advance(u32 ndw, u32 lanes) {
        if (!fired) return false;
        fired = false;
        pos += lanes;
        if (pos < ndw) return false;
        on = false;
        return true;
    }
};

/// Sets the ports of one stream to the beat of `p` that is due. straddled: tlast and tkeep mean nothing.
/// make_user(p, pos, n, user) fills tuser for `n` dwords from dword `pos` on.
template <u32 DATA_W, class Pins, class Packet, class Data, class User, class Keep, class Last, class MakeUser>
inline void put_beat(const Pins& pins, const StreamOut& s, const Packet& p, Data& tdata, User& tuser, u32 user_bits,
                     Keep& tkeep, Last& tlast, bool straddled, MakeUser make_user) {
    constexpr u32 N = DATA_W / 32;
    const bool last = s.pos + N >= p.ndw;
    const u32 n = last ? p.ndw - s.pos : N;
    pins.put(tdata, DATA_W, &p.w[s.pos]);
    u32 user[6] = {};
    make_user(p, s.pos, n, user);
    pins.put(tuser, user_bits, user);
    const u32 keep = u32(ones(straddled ? N : n));
    pins.put(tkeep, N, &keep);
    pins.put_bit(tlast, last && !straddled);
}

}  // namespace db
