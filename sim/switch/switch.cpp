// SPDX-License-Identifier: Apache-2.0
#include "switch/switch.h"

#include <algorithm>
#include <cstring>

#include "drives/make_drive.h"

namespace db {

Switch::Switch(const db_switch_config& c, const db_host_port* p, u32 n, EndpointContext& context, Transmit& transmit,
               Receive& receive, Link& down_link)
    : x(context), tx(transmit), rx(receive), down(down_link), cfg(c), port_cfg(p, p + n),
      aperture_log2(WINDOW_LOG2 + u32(__builtin_ctz(n))) {
    x.has_peers = true;
    rx.cq_tlps = cfg.cq_tlps;
    rx.cq_bytes = cfg.cq_bytes;
    db_host_config world = {};
    world.clock_khz = x.cfg.clock_khz;
    world.seed = x.cfg.seed;
    world.cpl_timeout_ns = x.cfg.cpl_timeout_ns;
    for (u32 i = 0; i < n; ++i) {
        port_cfg[i].bdf = (FIRST_BUS + i) << 8;
        ports.push_back(std::make_unique<SsdPort>(i, port_cfg[i], world, cfg, u64{1} << aperture_log2, memory, x));
    }
}

bool Switch::open(std::string& why) {
    for (u32 i = 0; i < size(); ++i) {
        std::unique_ptr<Drive> d = make_drive(port_cfg[i], x.cfg.clock_khz, x.cfg.seed, i, why);
        if (!d) return false;
        d->port = ports[i].get();
        ports[i]->drive = d.get();
        drives.push_back(std::move(d));
    }
    return true;
}

SsdPort* Switch::at(u64 addr) const {
    for (const auto& p : ports)
        if (p->takes(addr)) return p.get();
    return nullptr;
}

// ---- towards the device

bool Switch::pending() const {
    for (const auto& p : ports)
        if (p->pending()) return true;
    return false;
}

// The SSDs in turn, a packet each.
bool Switch::send() {
    for (u32 k = 0; k < size(); ++k) {
        const u32 i = (turn + k) % size();
        if (!send_completion(*ports[i]) && !send_request(*ports[i])) continue;
        turn = i + 1;
        return true;
    }
    return false;
}

bool Switch::send_completion(SsdPort& p) {
    const UpCompletion* const a = p.completion();
    if (!a || !rx.completion_room()) return false;
    const u32 code = a->w[0] >> 12 & 15, tag = a->w[2] & 0xff;
    RcPacket& c = rx.rc.slot();
    std::memcpy(c.w, a->w, a->ndw * 4);
    c.ndw = a->ndw;
    c.first_be = a->first_be;
    c.last_be = a->last_be;
    bool last;
    const u32 bytes = p.completion_sent(last), data = (c.ndw - CPL_DESC) * 4;
    if (code == RC_TIMEOUT) {  // of the device's own hard block: nothing comes over the link
        rx.make_up(u8(tag), 0, code, bytes);
    } else {
        c.release = bytes;
        c.arrive = down.send(x.cycle, data ? CPLD : CPL, CPL_DESC, data);
        rx.rc.push();
    }
    if (last) tx.read_done(0, u8(tag));
    return true;
}

bool Switch::send_request(SsdPort& p) {
    const UpRequest* u = p.request(!rx.request_room(true));
    if (!u) return false;
    const bool read = (u->w[2] >> 11 & 15) == REQ_MRD;
    if (!read && !rx.request_room(false)) return false;
    CqPacket& c = rx.cq.slot();
    std::memcpy(c.w, u->w, u->ndw * 4);
    c.w[3] = (u->w[3] & 0xff) | BAR_OF_WINDOW << 16 | aperture_log2 << 19;  // for function 0
    c.ndw = u->ndw;
    c.first_be = u->first_be;
    c.last_be = u->last_be;
    c.damaged = u->damaged;
    c.arrive = down.send(x.cycle, read ? MRD : MWR, header_dw(u->addr()), (u->ndw - REQ_DESC) * 4);
    rx.push_request();
    p.request_sent(*u);
    return true;
}

// ---- life

u32 Switch::present() const {
    u32 bits = 0;
    for (u32 i = 0; i < size(); ++i) bits |= u32(ports[i]->present()) << i;
    return bits;
}

void Switch::reset(bool power) {
    turn = 0;
    starting = power;
    for (auto& p : ports) {
        p->device_reset();
        if (!power) continue;
        p->drive->now = x.cycle;
        p->set_link(false);
        p->clear();
        p->drive->reset();
    }
}

void Switch::link(u32 i, bool up) {
    SsdPort& p = *ports[i];
    port_cfg[i].link_up = up;
    p.cycle = p.drive->now = x.cycle;
    p.set_link(up);
}

void Switch::start() {
    if (!starting) return;
    for (auto& p : ports) p->link_on();
    starting = false;
}

void Switch::step() {
    for (auto& p : ports) p->update(x.cycle);
}

u64 Switch::next_event() const {
    u64 e = NEVER;
    for (const auto& p : ports) e = std::min(e, p->next_event());
    return e;
}

}  // namespace db
