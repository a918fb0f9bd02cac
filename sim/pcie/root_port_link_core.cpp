// SPDX-License-Identifier: Apache-2.0
// What the core has sent on RQ and CC: checked against what is open, and queued for the link.
#include <algorithm>
#include <cstring>

#include "pcie/root_port_link.h"

namespace db {

void RootPortLink::take_request(const RqRequest& r) {
    if (!rq_size_allowed(r, mps, mrrs, hard)) return;
    if (r.type != REQ_MWR) {
        OpenRequest& open = open_request[r.tag];
        if (open.on) {
            ++hard.rq[RqError::TAG_IN_USE];
            return;
        }
        const u64 deadline = timeout == NEVER ? NEVER : cycle + timeout;
        open = OpenRequest{true, r.addr, deadline, r.dw, r.type, r.first_be, r.last_be};
        ++open_requests;
    }
    if (!is_up) {
        ++count[RootPortCount::DROPPED_LINK_DOWN];
        if (r.type != REQ_MWR) end_here(r.tag, RC_BAD_STATUS, UR);
        return;
    }
    DownRequest& d = requests.slot();
    d.seq = seq++;
    d.type = r.type;
    d.ndw = r.write() ? r.dw : 0;
    d.first_be = r.first_be;
    d.last_be = r.last_be;
    request_bytes += 16 + d.ndw * 4;
    requests.push();
}

void RootPortLink::take_completion() {
    DownCompletion& d = completions.slot();
    const u32 dw = d.w[1] & 0x7ff, status = d.w[1] >> 11 & 7, tag = d.w[2] & 0xff, left = d.w[0] >> 16 & 0x1fff;
    OpenRead& r = open_read[tag];
    if (r.stale) {
        ++count[RootPortCount::CC_STALE];
        r.done += dw;
        if (status || r.done >= r.dw) r.stale = false;
        return;
    }
    if (!r.on || d.w[1] >> 16 != cfg.bdf) {
        ++hard.cc[CcError::UNEXPECTED];
        return;
    }
    const u32 lead = r.done == 0 ? bytes_before(r.first_be, 0) : 0;
    const u32 trail = bytes_behind(enables_of_last(r.dw, r.first_be, r.last_be), 0);
    const u32 left_dw = r.dw - r.done;
    if (left != left_dw * 4 - lead - trail) ++count[RootPortCount::CC_BYTE_COUNT];
    if (!status) {
        const u64 at = r.addr + r.done * 4;
        if (!dw || dw > left_dw) {
            ++hard.cc[CcError::FORMAT];
            return;
        }
        if ((d.w[0] & 0x7f) != ((at + lead) & 0x7f)) ++count[RootPortCount::CC_LOWER_ADDRESS];
        if (dw * 4 > mps) ++count[RootPortCount::CC_ABOVE_MPS];
        if (dw != left_dw && (at + dw * 4) % 64) ++count[RootPortCount::CC_NOT_AT_RCB];
    } else {
        const u32* const echo = &d.w[CPL_DESC];  // byte enables, then the descriptor that CQ had
        if (echo[0] != (r.first_be | u32(r.last_be) << 4) || echo[1] != u32(r.addr) || echo[2] != u32(r.addr >> 32) ||
            echo[3] != (r.dw | REQ_MRD << 11 | cfg.bdf << 16) || (echo[4] & 0xff) != tag)
            ++hard.cc[CcError::FORMAT];
        ++count[RootPortCount::CC_REFUSED];
    }
    d.tag = tag;
    d.ndw = dw;
    d.status = status;
    d.last = status || dw == left_dw;
    d.done = r.done;
    d.seq = seq++;
    r.done += dw;
    if (d.last) r.on = false;
    if (!is_up) return;
    completion_bytes += 12 + dw * 4;
    completions.push();
}

// An end that the hard block makes up itself: nothing on the wire.
void RootPortLink::end_here(u32 tag, u32 code, u32 status) {
    UpCompletion& c = answers.slot();
    c.w[0] = code << 12 | 1u << 30;
    c.w[1] = status << 11;
    c.w[2] = tag;
    c.ndw = CPL_DESC;
    c.first_be = c.last_be = 0;
    c.arrive = cycle;
    c.seq = seq++;
    const bool waiting = answers.unsent();
    answers.push();
    if (!waiting) answers.mid = answers.tail;
    open_request[tag].on = false;
    --open_requests;
}

void RootPortLink::expire() {
    for (u32 t = 0; t < REQUEST_TAGS; ++t) {
        if (!open_request[t].on || open_request[t].deadline > cycle || answers.size() > RC_SLOTS / 2) continue;
        ++count[RootPortCount::RC_TIMEOUTS];
        end_here(t, RC_TIMEOUT, 0);
    }
}

}  // namespace db
