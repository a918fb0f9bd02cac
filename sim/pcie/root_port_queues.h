// SPDX-License-Identifier: Apache-2.0
// What a root port counts, and the packets that it holds. `down` is towards the drive.
#pragma once

#include "common/counters.h"
#include "common/ring.h"
#include "pcie/hard_block.h"

namespace db {

#define DB_ROOT_PORT_COUNTERS(X)                   \
    X(CC_UNSTABLE, "error.cc_stable")              \
    X(CC_ABOVE_MPS, "error.cc_mps")                \
    X(CC_NOT_AT_RCB, "error.cc_rcb")               \
    X(CC_BYTE_COUNT, "error.cc_count")             \
    X(CC_LOWER_ADDRESS, "error.cc_address")        \
    X(CQ_ABOVE_MPS, "error.cq_mps")                \
    X(CC_STALL, "stall.cc")                        \
    X(NON_POSTED_STALL, "stall.np")                \
    X(RC_TIMEOUTS, "hard.rc_timeouts")             \
    X(RC_LATE, "hard.rc_late")                     \
    X(DROPPED_LINK_DOWN, "hard.dropped_link_down") \
    X(CC_STALE, "hard.cc_stale")                   \
    X(CC_REFUSED, "hard.cc_refused")
DB_COUNTERS(RootPortCount, DB_ROOT_PORT_COUNTERS)

/// A request of the core.
struct DownRequest {
    u32 w[REQ_DESC + MAX_DW + LANES];
    u64 seq, arrive;
    u32 type, ndw;  // ndw: of payload
    u8 first_be, last_be;

    u64 addr() const { return (u64(w[1]) << 32) | (w[0] & ~3u); }
};
/// A completion of the core.
struct DownCompletion {
    u32 w[REQ_DESC + MAX_DW + LANES];
    u64 seq, arrive;
    u32 ndw;                // of payload
    u32 tag, status, done;  // done: dwords of the request before this completion
    bool last;
};
/// A request of the drive.
struct UpRequest {
    u32 w[REQ_DESC + MAX_DW + LANES];
    u64 seq, arrive;
    u32 ndw;
    u8 first_be, last_be;
    bool damaged;

    u64 addr() const { return (u64(w[1]) << 32) | w[0]; }
};
/// A completion of the drive.
struct UpCompletion {
    static constexpr u32 MAX_PAYLOAD = 32;
    u32 w[CPL_DESC + MAX_PAYLOAD + LANES];
    u64 seq, arrive;
    u32 ndw;
    u8 first_be, last_be;
};
/// A request of the core that is not answered yet.
struct OpenRequest {
    bool on;
    u64 addr, deadline;
    u32 dw, type;
    u8 first_be, last_be;
};
/// A read of the drive that is not answered yet. stale: it was asked before the link went down.
struct OpenRead {
    bool on, stale;
    u64 addr;
    u32 dw, done;
    u8 first_be, last_be;
};

}  // namespace db
