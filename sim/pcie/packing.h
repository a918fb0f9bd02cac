// SPDX-License-Identifier: Apache-2.0
// What goes to the core on RC and CQ (PG213, dword-aligned): byte enables and tuser. Endpoint and root port share it.
#pragma once

#include <algorithm>

#include "pcie/tlp.h"

namespace db {

/// Byte enables (one bit a byte) of up to `room` dwords of a packet of `ndw` from dword `pos` on; `desc` of them are
/// descriptor, `first` and `last` the enables of the payload's first and last dword.
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

/// tuser of an RC beat that holds `n` dwords of one packet from dword `pos` on.
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

/// tuser of a CQ beat.
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

}  // namespace db
