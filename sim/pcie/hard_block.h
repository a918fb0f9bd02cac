// SPDX-License-Identifier: Apache-2.0
// What the hard block counts and checks at both ends of the link: rules of RQ and CC, and pauses of the streams.
#pragma once

#include "common/counters.h"
#include "pcie/tlp.h"

namespace db {

#define DB_RQ_ERRORS(X)            \
    X(GAP, "error.rq_gap")         \
    X(UNSTABLE, "error.rq_stable") \
    X(FORMAT, "error.rq_format")   \
    X(ABOVE_MPS, "error.rq_mps")   \
    X(ABOVE_MRRS, "error.rq_mrrs") \
    X(CROSSES_4K, "error.rq_4k")   \
    X(TAG_IN_USE, "error.rq_tag")  \
    X(BYTE_ENABLES, "error.rq_be")
DB_COUNTERS(RqError, DB_RQ_ERRORS)

#define DB_CC_ERRORS(X)          \
    X(GAP, "error.cc_gap")       \
    X(FORMAT, "error.cc_format") \
    X(UNEXPECTED, "error.cc_unexpected")
DB_COUNTERS(CcError, DB_CC_ERRORS)

#define DB_HARD_BLOCK_COUNTERS(X)   \
    X(RQ_STALL, "stall.rq")         \
    X(RC_STALL, "stall.rc")         \
    X(CQ_STALL, "stall.cq")         \
    X(CREDIT_STALL, "stall.credit") \
    X(RQ_DISCONTINUED, "hard.rq_discontinued")
DB_COUNTERS(HardBlockCount, DB_HARD_BLOCK_COUNTERS)

struct HardBlockCounters {
    Counters<RqError> rq;
    Counters<CcError> cc;
    Counters<HardBlockCount> stat;
};

template <class Visit>
void each_counter(const HardBlockCounters* c, Visit& visit) {
    each_counter(c ? &c->rq : nullptr, visit);
    each_counter(c ? &c->cc : nullptr, visit);
    each_counter(c ? &c->stat : nullptr, visit);
}

/// A request as RQ brought it.
struct RqRequest {
    u64 addr;
    u32 dw, type;
    u8 fn, tag, first_be, last_be, number;

    bool config() const { return type >= REQ_CFGRD0 && type <= REQ_CFGWR1; }
    bool memory() const { return type <= REQ_MWR; }
    bool write() const { return type == REQ_MWR || type >= REQ_CFGWR0; }
};

/// Takes the packet that `rq` (an RqIn) holds apart. False: it cannot be taken, and that is counted.
template <class Rq>
bool rq_well_formed(const Rq& rq, bool config_allowed, HardBlockCounters& count, RqRequest& r) {
    r = {(u64(rq.desc[1]) << 32) | (rq.desc[0] & ~3u),
         rq.desc[2] & 0x7ff,
         rq.type,
         u8(rq.desc[2] >> 16),
         u8(rq.desc[3]),
         rq.first_be,
         rq.last_be,
         rq.number};
    if (rq.drop) {
        ++count.stat[HardBlockCount::RQ_DISCONTINUED];
        return false;
    }
    const bool config = config_allowed && r.config();
    if (rq.bad || !(config || r.memory()) || !r.dw || r.dw > 1024 || rq.ndw != REQ_DESC + (r.write() ? r.dw : 0) ||
        (config && (r.dw != 1 || rq.desc[1] || rq.desc[0] & ~0xffcu))) {
        ++count.rq[RqError::FORMAT];
        return false;
    }
    if (r.memory() && (r.addr & 4095) + r.dw * 4 > 4096) {
        ++count.rq[RqError::CROSSES_4K];
        return false;
    }
    if (r.dw == 1 ? r.last_be != 0 : r.first_be == 0 || r.last_be == 0) ++count.rq[RqError::BYTE_ENABLES];
    return true;
}

/// Counts payload above MPS (false: it cannot be taken) and reads above MRRS.
inline bool rq_size_allowed(const RqRequest& r, u32 mps, u32 mrrs, HardBlockCounters& count) {
    if (r.type == REQ_MWR && r.dw * 4 > mps) {
        ++count.rq[RqError::ABOVE_MPS];
        return false;
    }
    if (r.type == REQ_MRD && r.dw * 4 > mrrs) ++count.rq[RqError::ABOVE_MRRS];
    return true;
}

}  // namespace db
