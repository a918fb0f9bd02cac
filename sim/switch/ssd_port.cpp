// SPDX-License-Identifier: Apache-2.0
#include "switch/ssd_port.h"

#include <algorithm>
#include <cstring>

#include "drives/pci_function.h"

namespace db {

SsdPort::SsdPort(u32 index, const db_host_port& port, const db_host_config& host, const db_switch_config& sw,
                 u64 window_size, Regions& host_memory, const EndpointContext& context)
    : RootPortLink(index, port, host), x(context), window(sw.window_base), window_bytes(window_size),
      mrrs_code(sw.ssd_mrrs_code), memory(host_memory), bar(sw.ssd_bar + index * sw.ssd_step) {}

// ---- the host

// An SSD that the caller plays has no configuration space here.
void SsdPort::configure() {
    configured = true;
    if (cfg.drive == DB_DRIVE_EXTERNAL) return;
    configuring = true;
    register_write(PciFunction::BAR0, u32(bar));
    if (cfg.bar64) register_write(PciFunction::BAR0 + 4, u32(bar >> 32));
    set_sizes();
    register_write(PciFunction::COMMAND, 6);
    configuring = false;
}

void SsdPort::set_sizes() {
    configuring = true;
    register_write(PciFunction::DEVCTL, 1u << 8 | (u32(__builtin_ctz(mps)) - 7) << 5 | mrrs_code << 12);
    configuring = false;
    mps_given = mps;
}

// The SSD is reset by either edge, so it has lost all of that.
void SsdPort::show_link(bool on) {
    if (on == is_up) return;
    configured = false;
    configure_at = cycle + ns_to_cycles(cfg.crs_ns, x.cfg.clock_khz);
    drop_refused();
    if (!on) reopen_answered();
}

// An answer that is lost with the link: the read's time runs out.
void SsdPort::reopen_answered() {
    for (u32 i = answers.head; i != answers.tail; ++i) {
        OpenRequest& r = open_request[answers.at(i).w[2] & 0xff];
        if (!r.on) ++open_requests;
        r.on = true;
    }
}

// ---- from the device

bool SsdPort::take_write(const PostedTlp& p) {
    if (!request_room()) return false;
    cycle = x.cycle;
    DownRequest& d = requests.slot();
    std::memcpy(d.w, p.w, (REQ_DESC + p.ndw) * 4);
    take_request({p.addr(), p.ndw, REQ_MWR, 0, 0, p.first_be, p.last_be, 0});
    return true;
}

bool SsdPort::take_read(const ReadTlp& t) {
    if (!request_room() || answers.size() > RC_SLOTS / 2) return false;
    cycle = x.cycle;
    DownRequest& d = requests.slot();
    d.w[0] = u32(t.addr);
    d.w[1] = u32(t.addr >> 32);
    d.w[2] = t.dw | REQ_MRD << 11;
    d.w[3] = t.tag;
    read_left[t.tag] = t.dw;
    take_request({t.addr, t.dw, REQ_MRD, 0, t.tag, t.first_be, t.last_be, 0});
    return true;
}

bool SsdPort::take_answer(const AnswerTlp& c) {
    if (!completion_room()) return false;
    cycle = x.cycle;
    std::memcpy(completions.slot().w, c.w, (CPL_DESC + std::max(c.ndw, CC_ECHO)) * 4);
    take_completion();
    return true;
}

// ---- for the device

const UpRequest* SsdPort::request(bool write_only) {
    for (;;) {
        const bool read =
            !write_only && arrived(non_posted) && (posted.empty() || non_posted.front().seq < posted.front().seq);
        if (!read && !arrived(posted)) return nullptr;
        const UpRequest& u = read ? non_posted.front() : posted.front();
        if (in_window(u)) return &u;
        if (!memory.v.empty() && in_memory(u)) return nullptr;  // not the device's; it is taken in the next cycle
        // neither for the device nor for anybody: an SSD of the card has no business in the host's memory
        ++own[SsdPortCount::STRAY];
        if (read) refused.push(u8(u.w[3]));
        request_sent(u);
    }
}

void SsdPort::request_sent(const UpRequest& u) {
    if (&u == &posted.front()) {
        posted_bytes -= u.ndw * 4;
        posted.pop();
    } else {
        non_posted.pop();
    }
}

// Behind the writes that the SSD has sent before it.
const UpCompletion* SsdPort::completion() const {
    if (!arrived(answers)) return nullptr;
    const UpCompletion& c = answers.front();
    return posted.empty() || c.seq < posted.front().seq ? &c : nullptr;
}

u32 SsdPort::completion_sent(bool& last) {
    const UpCompletion& c = answers.front();
    u32& left = read_left[c.w[2] & 0xff];
    last = c.w[0] >> 30 & 1;
    const u32 n = last ? left : std::min(left, c.ndw - CPL_DESC);
    left -= n;
    answers.pop();
    return n * 4;
}

void SsdPort::drop_refused() {
    for (Ring<u8, TAGS>* q : {&refused, &host_reads}) {
        for (u32 i = q->head; i != q->tail; ++i) open_read[q->at(i)].on = false;
        q->clear();
    }
}

void SsdPort::answer_refused() {
    while (!refused.empty() && completions.size() < SLOTS - 1) {
        push_answer(refused.front(), UR, nullptr);
        refused.pop();
    }
}

// ---- life

// What the SSD has asked the device ends as unsupported, what it has told it is lost; it goes on. What the device has
// asked has nobody to go to.
void SsdPort::device_reset() {
    cycle = x.cycle;
    posted.clear();
    non_posted.clear();
    posted_bytes = 0;
    answers.clear();
    for (OpenRequest& r : open_request) r.on = false;
    open_requests = 0;
    forgotten = seq;  // else the answer would pass for that of the next read with this tag
    drive->forget();
    if (host_answer == DB_MMIO_PENDING) host_answer = DB_MMIO_TIMEOUT;
    refused.clear();
    host_reads.clear();
    for (u32 t = 0; t < TAGS; ++t) {
        open_read[t].stale = false;
        if (open_read[t].on) refused.push(u8(t));
    }
}

void SsdPort::clear() {
    clear_link();
    refused.clear();
    host_reads.clear();
    host_answer = DB_MMIO_BAD;
}

// As the switch finds it: there, or not.
void SsdPort::link_on() {
    cycle = drive->now = x.cycle;
    set_link(cfg.link_up);
    update(cycle);
}

void SsdPort::update(u64 now) {
    cycle = now;
    mps = x.mps;
    mrrs = x.mrrs;
    act();
    while (take_for_host()) {}
    if (!host_reads.empty()) answer_host_reads();
    if (is_up && !configured && cycle >= configure_at) configure();
    if (configured && mps != mps_given && cfg.drive != DB_DRIVE_EXTERNAL) set_sizes();
    if (!refused.empty()) answer_refused();
}

u64 SsdPort::next_event() const {
    if (!refused.empty() || !host_reads.empty()) return cycle;
    const u64 e = RootPortLink::next_event();
    return is_up && !configured ? std::min(e, std::max(configure_at, cycle)) : e;
}

}  // namespace db
