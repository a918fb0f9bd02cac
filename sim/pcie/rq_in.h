// SPDX-License-Identifier: Apache-2.0
// Puts the beats of RQ together to packets, one a beat or straddled. Endpoint and root port share it.
#pragma once

#include <cstring>

#include "pcie/stream_in.h"
#include "pcie/tlp.h"

namespace db {

/// Puts the beats of RQ together. The owner has `void rq_store(u32 at, const u32* src, u32 n)` (dwords of the packet
/// that comes in, descriptor included), `void rq_packet()` (it is complete; look at the members here), and
/// `void rq_malformed()` (a beat that breaks the straddling rules).
template <u32 DATA_W, bool STRADDLE, u32 MAX>
struct RqIn {
    static constexpr u32 N = DATA_W / 32;
    bool in = false, bad = false, drop = false;
    u32 ndw = 0, type = 0;
    u8 first_be = 0, last_be = 0, number = 0;  // number: sequence number
    u32 desc[N < 4 ? 4 : N] = {};

    void first(u32 fbe, u32 lbe, u32 seq_num) {
        type = desc[2] >> 11 & 15;
        first_be = u8(fbe);
        last_be = u8(lbe);
        number = u8(seq_num & 63);
        bad = drop = false;
        ndw = 0;
    }

    template <class Owner>
    void take(const u32* src, u32 n, Owner& o) {
        if (ndw + n > MAX) bad = true;
        else o.rq_store(ndw, src, n);
        ndw += n;
    }

    template <class Owner>
    void beat(const Beat& b, Owner& o) {
        if constexpr (STRADDLE) return straddled(b.data, b.user, o);
        constexpr bool WIDE = DATA_W == 512;
        if (!in) {
            std::memcpy(desc, b.data, N * 4);
            first(b.user[0] & 15, WIDE ? b.user[0] >> 8 & 15 : b.user[0] >> 4 & 15,
                  WIDE ? b.user[1] >> 29 | b.user[2] << 3 : (b.user[0] >> 24 & 15) | (b.user[1] >> 28 & 3) << 4);
        }
        in = !b.last;
        const u32 n = b.last ? u32(__builtin_popcount(b.keep)) : N;
        if (b.keep != ones(n)) bad = true;
        take(b.data, n, o);
        if (b.last) {
            if (b.user[WIDE ? 1 : 0] >> (WIDE ? 4 : 11) & 1) drop = true;
            o.rq_packet();
        }
    }

    // Up to two packets start, at lane 0 and 8, and up to two end. tlast and tkeep mean nothing.
    template <class Owner>
    void straddled(const u32* data, const u32* user, Owner& o) {
        const u32 sop = user[0] >> 20 & 3, eop = user[0] >> 26 & 3;
        const u32 end[2] = {user[0] >> 28 & 15, user[1] & 15};
        const bool discontinue = user[1] >> 4 & 1;
        u32 ends = 0, lane = 0;  // ends seen; first lane where the next packet may start
        bool good = sop != 2 && eop != 2 && (in || sop);
        auto rest = [&](u32 from) {
            const bool last = eop >> ends & 1;
            const u32 to = last ? end[ends] : 15;
            if (discontinue) drop = true;
            if (to < from) {
                good = false;
                in = false;
                return;
            }
            take(data + from, to + 1 - from, o);
            in = !last;
            lane = to / 8 * 8 + 8;
            if (!last) return;
            ++ends;
            o.rq_packet();
        };
        if (in) rest(0);
        for (u32 k = 0; k < 2 && sop >> k & 1; ++k) {
            const u32 from = (user[0] >> (22 + 2 * k) & 3) * 4;
            // at lane 8 only behind another one, at lane 0 only if none is there
            if (in || from != lane || from > 8) {
                good = false;
                in = false;
                break;
            }
            std::memcpy(desc, data + from, 16);
            first(user[0] >> 4 * k & 15, user[0] >> (8 + 4 * k) & 15, k ? user[2] >> 3 : user[1] >> 29 | user[2] << 3);
            rest(from);
        }
        if (!good || eop >> ends) o.rq_malformed();
    }
};

}  // namespace db
