// SPDX-License-Identifier: Apache-2.0
// What the drive does with its link: requests, and answers to those of the core.
#include <algorithm>
#include <cstring>

#include "pcie/root_port_link.h"

namespace db {

UpRequest& RootPortLink::request(UpRequest& u, u64 addr, u32 len, u32 type, u32 tag) {
    const u32 lead = addr & 3, dw = (lead + len + 3) / 4, trail = dw * 4 - lead - len;
    u.w[0] = u32(addr) & ~3u;
    u.w[1] = u32(addr >> 32);
    u.w[2] = dw | type << 11 | cfg.bdf << 16;
    u.w[3] = tag | 26u << 19;  // BAR 0 of the root port, an aperture of 64 MiB
    u.first_be = 15u << lead & 15;
    u.last_be = dw == 1 ? 0 : 15 >> trail;
    if (dw == 1) u.first_be &= 15 >> trail;
    u.ndw = REQ_DESC;
    u.damaged = false;
    u.seq = seq++;
    return u;
}

void RootPortLink::write(u64 addr, const u8* data, u32 len) {
    if (len > mps) ++count[RootPortCount::CQ_ABOVE_MPS];  // above what our Device Control allows: a malformed TLP
    UpRequest& u = request(posted.slot(), addr, len, REQ_MWR, 0);
    const u32 dw = u.w[2] & 0x7ff;
    u.w[REQ_DESC] = u.w[REQ_DESC - 1 + dw] = 0;
    std::memcpy(reinterpret_cast<u8*>(&u.w[REQ_DESC]) + (addr & 3), data, len);
    u.ndw += dw;
    u.damaged = damage;
    damage = false;
    posted.push();
}

void RootPortLink::read(u64 addr, u32 len, u32 tag) {
    const UpRequest& u = request(non_posted.slot(), addr, len, REQ_MRD, tag);
    open_read[tag] = OpenRead{true, false, addr & ~u64{3}, u.w[2] & 0x7ff, 0, u.first_be, u.last_be};
    non_posted.push();
}

void RootPortLink::answer(u32 tag, u32 status, const u8* data) {
    OpenRequest& r = open_request[tag];
    if (!r.on) {  // timed out
        ++count[RootPortCount::RC_LATE];
        return;
    }
    const bool memory = r.type == REQ_MRD;
    const u32 n = data && !status ? r.dw : 0;
    const u8 last_be = enables_of_last(r.dw, r.first_be, r.last_be);
    for (u32 done = 0;;) {
        UpCompletion& c = answers.slot();
        const u64 at = r.addr + done * 4;
        const u32 here = std::min(n - done, UpCompletion::MAX_PAYLOAD - u32(at / 4 % UpCompletion::MAX_PAYLOAD));
        const u32 lead = memory && !done ? bytes_before(r.first_be, 0) : 0;
        const u32 trail = memory ? bytes_behind(last_be, 0) : 0;
        const u32 left = memory ? (r.dw - done) * 4 - lead - trail : 4;
        const bool last = done + here == n;
        c.w[0] = (memory ? (u32(at) + lead) & 0xfff : 0) | (status ? RC_BAD_STATUS : RC_OK) << 12 | left << 16 |
                 u32(last) << 30;
        c.w[1] = here | status << 11;
        c.w[2] = tag | cfg.bdf << 8;
        if (here) std::memcpy(&c.w[CPL_DESC], data + done * 4, here * 4);
        c.ndw = CPL_DESC + here;
        c.first_be = done == 0 ? r.first_be : 15;
        c.last_be = last ? last_be : 15;
        if (here == 1) c.first_be &= c.last_be;
        c.seq = seq++;
        answers.push();
        done += here;
        if (last) break;
    }
    r.on = false;
    --open_requests;
}

}  // namespace db
