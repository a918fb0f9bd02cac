// SPDX-License-Identifier: Apache-2.0
// The packets of the hard block's four streams (PG213, dword-aligned): codes, byte enables, tuser of what goes to the
// core, and the assembly of what comes from it on RQ. Endpoint and root port share them.
#pragma once

#include <algorithm>

#include "util.h"

namespace db {

enum Req : u32 {
    REQ_MRD = 0, REQ_MWR = 1, REQ_CFGRD0 = 8, REQ_CFGRD1 = 9, REQ_CFGWR0 = 10, REQ_CFGWR1 = 11
};
enum Status : u32 { SC = 0, UR = 1, CRS = 2, CA = 4 };
// error codes of a requester completion
enum : u32 { RC_OK = 0, RC_POISONED = 1, RC_BAD_STATUS = 2, RC_TIMEOUT = 9 };

constexpr u32 MAX_DW = 256;  // payload

// Dwords of a memory request's header.
inline u32 header_dw(u64 addr) { return addr >> 32 ? 4 : 3; }

// Byte enables (one bit a byte) of up to `room` dwords of a packet of `ndw` from dword `pos` on; `desc` of them are
// descriptor, `first` and `last` the enables of the payload's first and last dword.
inline u64 byte_enables(u32 pos, u32 ndw, u32 desc, u8 first, u8 last, u32 room) {
    const u32 n = std::min(room, ndw - pos);
    u64 be = ones(n * 4);
    if (pos == 0) be &= ~ones(desc * 4);
    if (pos <= desc && desc < pos + n) {
        const u32 at = (desc - pos) * 4;
        be = (be & ~(u64{15} << at)) | u64(first) << at;
    }
    if (pos + n == ndw && ndw > desc + 1) be = (be & ~(u64{15} << (n - 1) * 4)) | u64(last) << (n - 1) * 4;
    return be;
}

// tuser of an RC beat that holds `n` dwords of one packet from dword `pos` on.
template <u32 DATA_W>
inline void rc_user(u32 pos, u32 n, u32 ndw, u8 first, u8 last_be, u32 user[6]) {
    const u64 be = byte_enables(pos, ndw, 3, first, last_be, DATA_W / 32);
    const bool last = pos + n == ndw;
    user[0] = u32(be);
    if constexpr (DATA_W == 512) {
        user[1] = u32(be >> 32);
        user[2] = u32(pos == 0) | (last ? 1u << 12 | (n - 1) << 16 : 0);
    } else {
        user[1] = u32(pos == 0) | (last ? 1u << 2 | (n - 1) << 3 : 0);
    }
}

// tuser of a CQ beat.
template <u32 DATA_W>
inline void cq_user(u32 pos, u32 n, u32 ndw, u8 first, u8 last_be, u32 user[6]) {
    const u64 be = byte_enables(pos, ndw, 4, first, last_be, DATA_W / 32);
    constexpr bool W512 = DATA_W == 512;
    const u32 bes = pos == 0 ? (W512 ? first | last_be << 8 : first | last_be << 4) : 0;
    if constexpr (W512) {
        const bool last = pos + n == ndw;
        user[0] = bes | u32(be) << 16;
        user[1] = u32(be >> 16);
        user[2] = u32(be >> 48) | u32(pos == 0) << 16 | (last ? 1u << 22 | (n - 1) << 24 : 0);
    } else {
        user[0] = bes | u32(be) << 8;
        user[1] = u32(be >> 24) | u32(pos == 0) << 8;
    }
}

// Puts the beats of RQ together. The owner has `void rq_store(u32 at, const u32* src, u32 n)` (dwords of the packet
// that comes in, descriptor included), `void rq_packet()` (it is complete; look at the members here), and
// `void rq_malformed()` (a beat that breaks the straddling rules).
template <u32 DATA_W, bool STRADDLE, u32 MAX>
struct RqIn {
    static constexpr u32 N = DATA_W / 32;
    bool in = false, bad = false, drop = false;
    u32 ndw = 0, type = 0;
    u8 first_be = 0, last_be = 0;
    u32 desc[N < 4 ? 4 : N] = {};

    void first(u32 fbe, u32 lbe) {
        type = desc[2] >> 11 & 15;
        first_be = u8(fbe);
        last_be = u8(lbe);
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
    void beat(const u32* data, const u32* user, u32 keep, bool last, Owner& o) {
        if constexpr (STRADDLE) return straddled(data, user, o);
        if (!in) {
            std::memcpy(desc, data, N * 4);
            first(user[0] & 15, DATA_W == 512 ? user[0] >> 8 & 15 : user[0] >> 4 & 15);
        }
        in = !last;
        const u32 n = last ? u32(__builtin_popcount(keep)) : N;
        if (keep != ones(n)) bad = true;
        take(data, n, o);
        if (last) {
            if (user[DATA_W == 512 ? 1 : 0] >> (DATA_W == 512 ? 4 : 11) & 1) drop = true;
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
            first(user[0] >> 4 * k & 15, user[0] >> (8 + 4 * k) & 15);
            rest(from);
        }
        if (!good || eop >> ends) o.rq_malformed();
    }
};

}  // namespace db
