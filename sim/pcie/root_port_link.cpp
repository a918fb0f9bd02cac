// SPDX-License-Identifier: Apache-2.0
// The link: its state, and what is sent and delivered over it. Requests of the drive are in root_port_link_drive.cpp,
// those of the core in root_port_link_core.cpp.
#include "pcie/root_port_link.h"

#include <algorithm>

namespace db {

RootPortLink::RootPortLink(u32 index, const db_host_port& port, const db_host_config& host)
    : timeout(host.cpl_timeout_ns ? ns_to_cycles(host.cpl_timeout_ns, host.clock_khz) : NEVER),
      rng(host.seed * 16 + index), stall_pct(host.stall_pct), cfg(port) {
    for (Link* l : {&down, &up}) {
        l->rate(port.gen, port.lanes, host.clock_khz);
        l->latency = ns_to_cycles(port.link_latency_ns, host.clock_khz);
        l->ack_every = port.ack_every;
        l->fc_every = port.fc_every;
    }
    down.back = &up;
    up.back = &down;
}

void RootPortLink::clear_link() {
    down.restart();
    up.restart();
    requests.clear();
    completions.clear();
    posted.clear();
    non_posted.clear();
    np_credit = 0;
    answers.clear();
    on_way_down.clear();
    request_bytes = completion_bytes = posted_bytes = 0;
    cq.on = cq.fired = rc.on = rc.fired = false;
    for (OpenRequest& r : open_request) r.on = false;
    for (OpenRead& r : open_read) r = {};
    open_requests = 0;
}

void RootPortLink::set_link(bool on) {
    show_link(on);
    if (on == is_up) return;
    is_up = on;
    if (!on) {
        // not clear(): a packet that the core has begun is being put together in the next slot
        requests.head = requests.mid = requests.tail;
        completions.head = completions.mid = completions.tail;
        on_way_down.clear();
        request_bytes = completion_bytes = 0;
        const u32 keep_posted = posted.head + (cq.on && !cq_non_posted ? 1 : 0),
                  keep_non_posted = non_posted.head + (cq.on && cq_non_posted ? 1 : 0),
                  keep_answers = answers.head + (rc.on ? 1 : 0);
        // reads that the core has, or is about to have, will still be answered
        for (u32 i = keep_non_posted; i != non_posted.tail; ++i) open_read[non_posted.at(i).w[3] & 0xff].on = false;
        for (OpenRead& r : open_read) {
            r.stale |= r.on;
            r.on = false;
        }
        np_credit = 0;
        posted.tail = posted.mid = keep_posted;
        non_posted.tail = non_posted.mid = keep_non_posted;
        answers.tail = answers.mid = keep_answers;
        posted_bytes = posted.empty() ? 0 : posted.front().ndw * 4;
    }
    down.restart();
    up.restart();
    drive->link(on);
}

void RootPortLink::act() {
    drive->now = cycle;
    if (drop_wanted) {
        drop_wanted = false;
        set_link(false);
    }
    if (requests.unsent() || completions.unsent()) send_down();
    if (!on_way_down.empty()) deliver_down();
    drive->step();
    if (posted.unsent() || non_posted.unsent() || answers.unsent()) send_up();
    if (open_requests && !(cycle & 63)) expire();
}

u64 RootPortLink::next_event() const {
    if (cq.on || rc.on || drop_wanted) return cycle;
    u64 e = drive->next_event();
    auto at = [&](u64 t) { e = std::min(e, t); };
    if (requests.unsent() || completions.unsent()) at(down.free_c);
    if (posted.unsent() || non_posted.unsent() || answers.unsent()) at(up.free_c);
    if (!on_way_down.empty()) at(on_way_down.front() ? completions.front().arrive : requests.front().arrive);
    if (posted.sent()) at(posted.front().arrive);
    if (non_posted.sent()) at(non_posted.front().arrive);
    if (answers.sent()) at(answers.front().arrive);
    if (open_requests)
        for (const OpenRequest& r : open_request)
            if (r.on && r.deadline != NEVER) at((r.deadline + 63) & ~u64{63});
    return std::max(e, cycle);
}

// ---- towards the drive

void RootPortLink::send_down() {
    while (down.ready(cycle)) {
        const bool r = requests.unsent(), c = completions.unsent();
        if ((!r && !c) || on_way_down.full()) return;
        const bool completion = c && (!r || completions.next().seq < requests.next().seq);
        if (completion) {
            DownCompletion& d = completions.next();
            d.arrive = wire(down, d.ndw ? CPLD : CPL, CPL_DESC, d.ndw * 4);
            completion_bytes -= 12 + d.ndw * 4;
            ++completions.mid;
        } else {
            DownRequest& d = requests.next();
            d.arrive = wire(down,
                            d.type == REQ_MRD   ? MRD
                            : d.type == REQ_MWR ? MWR
                                                : CFG,
                            d.type <= REQ_MWR ? header_dw((u64(d.w[1]) << 32) | d.w[0]) : 3, d.ndw * 4);
            request_bytes -= 16 + d.ndw * 4;
            ++requests.mid;
        }
        on_way_down.push(completion);
    }
}

void RootPortLink::deliver_down() {
    while (!on_way_down.empty()) {
        if (on_way_down.front()) {
            const DownCompletion& d = completions.front();
            if (d.arrive > cycle) return;
            on_way_down.pop();
            completions.pop();
            drive->read_data(d.tag, d.done, reinterpret_cast<const u8*>(&d.w[CPL_DESC]), d.ndw, d.status, d.last);
        } else {
            const DownRequest& d = requests.front();
            if (d.arrive > cycle) return;
            on_way_down.pop();
            requests.pop();
            deliver(d);
        }
        if (!is_up) return;
    }
}

void RootPortLink::deliver(const DownRequest& d) {
    const u32 dw = d.w[2] & 0x7ff, tag = d.w[3] & 0xff;
    if (d.seq < forgotten && d.type != REQ_MWR) return;
    switch (d.type) {
        case REQ_MWR:
            return drive->mem_write(d.addr(), reinterpret_cast<const u8*>(&d.w[REQ_DESC]), dw, d.first_be, d.last_be);
        case REQ_MRD: return drive->mem_read(tag, d.addr(), dw, d.first_be, d.last_be);
        case REQ_CFGRD0:
        case REQ_CFGWR0:
            return drive->config(tag, d.w[3] >> 8 & 0xffff, d.w[0] & 0xffc, d.type == REQ_CFGWR0, d.w[4], d.first_be);
        default: return answer(tag, UR, nullptr);  // type 1: there is no bridge
    }
}

// ---- towards the core

void RootPortLink::send_up() {
    while (up.ready(cycle)) {
        const bool p = posted.unsent(), n = non_posted.unsent(), a = answers.unsent();
        if (!p && !n && !a) return;
        const bool p_go = p && (!cfg.cq_tlps || posted.sent() < cfg.cq_tlps) &&
                          (!cfg.cq_bytes || !posted.sent() || posted_bytes + posted.next().ndw * 4 <= cfg.cq_bytes);
        const bool n_go = n && (!cfg.cq_tlps || non_posted.sent() < cfg.cq_tlps) &&
                          !(p && posted.next().seq < non_posted.next().seq);  // never past a posted one
        if (a && !(p_go && posted.next().seq < answers.next().seq) &&
            !(n_go && non_posted.next().seq < answers.next().seq)) {
            UpCompletion& c = answers.next();
            c.arrive = wire(up, c.ndw > CPL_DESC ? CPLD : CPL, CPL_DESC, (c.ndw - CPL_DESC) * 4);
            ++answers.mid;
        } else if (n_go) {  // the oldest: a posted one before it would have forbidden it
            UpRequest& u = non_posted.next();
            u.arrive = wire(up, MRD, header_dw(u.addr()), 0);
            ++non_posted.mid;
        } else if (p_go) {
            UpRequest& u = posted.next();
            u.arrive = wire(up, MWR, header_dw(u.addr()), (u.ndw - REQ_DESC) * 4);
            posted_bytes += u.ndw * 4;
            ++posted.mid;
        } else {
            ++hard.stat[HardBlockCount::CREDIT_STALL];
            return;
        }
    }
}

}  // namespace db
