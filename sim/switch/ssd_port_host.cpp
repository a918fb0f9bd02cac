// SPDX-License-Identifier: Apache-2.0
// The host as the owner of an SSD beside a device: accesses to its registers over its link, and what it does with the
// host's memory. An access of the host is a request with a tag that no request of the device has.
#include <algorithm>
#include <cstring>

#include "switch/ssd_port.h"

namespace db {

// ---- registers

bool SsdPort::host_request(u32 off, u32 len, const void* data) {
    if ((len != 4 && len != 8) || off % len || off + len > cfg.bar_bytes || !is_up || !request_room()) return false;
    cycle = x.cycle;
    const u64 addr = bar + off;
    const u32 type = data ? REQ_MWR : REQ_MRD, dw = len / 4;
    DownRequest& d = requests.slot();
    d.w[0] = u32(addr);
    d.w[1] = u32(addr >> 32);
    d.w[2] = dw | type << 11;
    d.w[3] = data ? 0 : HOST_TAG;
    if (data) std::memcpy(&d.w[REQ_DESC], data, len);
    take_request({addr, dw, type, 0, u8(data ? 0 : HOST_TAG), 15, u8(dw == 1 ? 0 : 15), 0});
    return true;
}

bool SsdPort::host_read(u32 off, u32 len) {
    if (host_answer == DB_MMIO_PENDING || open_request[HOST_TAG].on || !host_request(off, len, nullptr)) return false;
    host_answer = DB_MMIO_PENDING;
    return true;
}

int SsdPort::host_poll(void* data) {
    if (host_answer > 0) std::memcpy(data, host_data, u32(host_answer));
    return host_answer;
}

void SsdPort::take_host_answer() {
    const UpCompletion& c = answers.front();
    const u32 code = c.w[0] >> 12 & 15, n = (c.ndw - CPL_DESC) * 4;
    if (host_answer == DB_MMIO_PENDING) {
        if (code == RC_TIMEOUT) host_answer = DB_MMIO_TIMEOUT;
        else if (code != RC_OK || n > sizeof host_data) host_answer = DB_MMIO_UR;
        else std::memcpy(host_data, &c.w[CPL_DESC], n), host_answer = int(n);
    }
    answers.pop();
}

// ---- memory

void SsdPort::store(const UpRequest& u) {
    const u32 dw = u.ndw - REQ_DESC;
    const u8* const from = reinterpret_cast<const u8*>(&u.w[REQ_DESC]);
    const u32 lead = bytes_before(u.first_be, 0);
    const u32 n = dw * 4 - lead - bytes_behind(enables_of_last(dw, u.first_be, u.last_be), 0);
    const Region* const r = memory.find(u.addr(), dw * 4);
    host_store(r->ptr + (u.addr() - r->base) + lead, from + lead, n);
}

// One thing that has come for the host, in the order in which the SSD has sent it. False: there is none.
bool SsdPort::take_for_host() {
    const bool writes = !posted.empty();
    if (arrived(answers) && (answers.front().w[2] & 0xff) == HOST_TAG &&
        (!writes || answers.front().seq < posted.front().seq)) {
        take_host_answer();
        return true;
    }
    if (memory.v.empty()) return false;
    if (arrived(non_posted) && (!writes || non_posted.front().seq < posted.front().seq) &&
        in_memory(non_posted.front())) {
        host_reads.push(u8(non_posted.front().w[3]));
        request_sent(non_posted.front());
        return true;
    }
    if (!arrived(posted) || !in_memory(posted.front())) return false;
    store(posted.front());
    request_sent(posted.front());
    return true;
}

// A part of a read's answer, up to 128 bytes: what every MPS allows. True: the last one.
bool SsdPort::push_answer(u32 tag, u32 status, const u8* data) {
    OpenRead& r = open_read[tag];
    DownCompletion& d = completions.slot();
    d.ndw = status ? 0 : std::min(r.dw - r.done, 32 - u32((r.addr / 4 + r.done) % 32));
    if (d.ndw) std::memcpy(&d.w[CPL_DESC], data + r.done * 4, d.ndw * 4);
    d.tag = tag;
    d.status = status;
    d.done = r.done;
    r.done += d.ndw;
    d.last = status || r.done == r.dw;
    d.seq = seq++;
    r.on = !d.last;
    completion_bytes += 12 + d.ndw * 4;
    completions.push();
    return d.last;
}

void SsdPort::answer_host_reads() {
    while (!host_reads.empty() && completion_room()) {
        const u32 tag = host_reads.front();
        const OpenRead& r = open_read[tag];
        const Region* const there = memory.find(r.addr, r.dw * 4);
        if (push_answer(tag, there ? SC : UR, there ? there->ptr + (r.addr - there->base) : nullptr)) host_reads.pop();
    }
}

}  // namespace db
