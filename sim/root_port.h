// SPDX-License-Identifier: Apache-2.0
// The FPGA's PCIe hard block as a root port, and the link behind it: RQ and CC of the core become requests and
// completions to the drive, the drive's become CQ and RC. `down` is towards the drive. Its posted requests (upq) and
// the others (npq) have queues and credits of their own, as on any PCIe link: posted ones may pass, and are not passed.
#pragma once

#include "db_host_sim.h"
#include "drive.h"
#include "lanes.h"
#include "link.h"

namespace db {

enum PortErr : u32 {
    E_RQ_GAP, E_RQ_STABLE, E_RQ_FORMAT, E_RQ_MPS, E_RQ_MRRS, E_RQ_4K, E_RQ_TAG, E_RQ_BE, E_CC_GAP, E_CC_STABLE,
    E_CC_FORMAT, E_CC_UNEXPECTED, E_CC_MPS, E_CC_RCB, E_CC_COUNT, E_CC_ADDRESS, E_CQ_MPS, E_COUNT
};
enum PortStat : u32 {
    S_RQ_STALL, S_CC_STALL, S_CQ_STALL, S_RC_STALL, S_CREDIT_STALL, S_NP_STALL, S_RC_TIMEOUTS, S_RC_LATE, S_DROPPED_DOWN, S_CC_STALE,
    S_RQ_DISCONTINUE, S_CC_UR, S_COUNT
};

template <class Top, u32 DATA_W, u32 PORTS>
struct RootPort final : DrivePort {
    static constexpr u32 N = DATA_W / 32;
    static constexpr bool W512 = DATA_W == 512;
    static constexpr u32 USER_CQ = W512 ? 183 : 88, USER_CC = W512 ? 81 : 33, USER_RQ = W512 ? 137 : 62,
                         USER_RC = W512 ? 161 : 75;
    static constexpr u32 SLOTS = 128, RC_SLOTS = 256, NP_CREDITS = 32;

    struct Down {  // a packet of the core
        u32 w[4 + MAX_DW + N];
        u64 seq, arrive;
        u32 type, ndw;
        u8 first_be, last_be;
    };
    struct Up {  // a request of the drive
        u32 w[4 + MAX_DW + N];
        u64 seq, arrive;
        u32 ndw;
        u8 first_be, last_be;
        bool damaged;
    };
    struct Answer {  // a completion of the drive
        u32 w[3 + 32 + N];
        u64 seq, arrive;
        u32 ndw;
        u8 first_be, last_be;
    };
    struct Request {  // of the core, not answered yet
        bool on;
        u64 addr, deadline;
        u32 dw, type, desc3;
        u8 first_be, last_be;
    };
    struct Read {  // of the drive, not answered yet
        bool on, stale;
        u64 addr;
        u32 dw, done;
        u8 first_be, last_be;
    };
    struct Held {
        bool on;
        u32 data[N], user[6], keep;
        bool last;
    };

    Top& top;
    const u32 me;
    const db_host_port& cfg;
    Drive* drive = nullptr;
    Rng rng;
    u32 stall_pct = 0;
    u64 cycle = 0;
    bool up_now = false;  // the link
    u32 mps = 128, mrrs = 512;
    u64 timeout;
    Link down, up;
    u64 seq = 0;
    u64 err[E_COUNT] = {}, stat[S_COUNT] = {};
    Ring<Down, SLOTS> txq, ccq;
    Ring<Up, SLOTS> upq, npq;
    Ring<Answer, RC_SLOTS> rcq;
    Ring<bool, SLOTS * 2> order;  // what is on its way down: true: ccq
    RqIn<DATA_W, W512, 4 + MAX_DW + N - 1> rq;
    u32 cc_ndw = 0, tx_bytes = 0, cc_bytes = 0, up_bytes = 0;
    bool cc_in = false, cc_bad = false, rq_ready = false, cc_ready = false;
    bool cq_on = false, cq_np = false, cq_fired = false, rc_on = false, rc_fired = false;
    u32 cq_pos = 0, rc_pos = 0;
    u32 np_credit = 0, np_given = 0;  // of PG213's counter; what the core gives in this cycle
    Held rq_held = {}, cc_held = {};
    Request req[256] = {};
    u32 n_req = 0;
    Read rd[TAGS] = {};
    bool drop_wanted = false, damage = false;

    RootPort(Top& t, u32 index, const db_host_port& c, const db_host_config& g)
        : top(t), me(index), cfg(c), rng(g.seed * 16 + index), stall_pct(g.stall_pct) {
        for (Link* l : {&down, &up}) {
            l->rate(c.gen, c.lanes, g.clock_khz);
            l->latency = ns_to_cycles(c.link_latency_ns, g.clock_khz);
            l->ack_every = c.ack_every;
            l->fc_every = c.fc_every;
        }
        down.back = &up;
        up.back = &down;
        timeout = ns_to_cycles(g.cpl_timeout_ns, g.clock_khz);
    }

    bool stalled() { return stall_pct && rng.below(100) < stall_pct; }

    void clear() {
        down.restart();
        up.restart();
        txq.clear();
        ccq.clear();
        upq.clear();
        npq.clear();
        np_credit = np_given = 0;
        rcq.clear();
        order.clear();
        tx_bytes = cc_bytes = up_bytes = 0;
        rq.in = cc_in = cq_on = cq_fired = rc_on = rc_fired = false;
        rq_held = cc_held = {};
        for (Request& r : req) r.on = false;
        for (Read& r : rd) r = {};
        n_req = 0;
        rq_ready = cc_ready = false;
        put_bit(top.s_axis_cq_tvalid, me, false);
        put_bit(top.s_axis_rc_tvalid, me, false);
        put_bit(top.m_axis_rq_tready, me, false);
        put_bit(top.m_axis_cc_tready, me, false);
    }

    // Data link up or down. What was on its way is gone; a packet that has begun on CQ or RC is finished.
    void set_link(bool on) {
        put_bit(top.link_up, me, on);
        if (on == up_now) return;
        up_now = on;
        if (!on) {
            // not clear(): a packet that the core has begun is being put together in the next slot
            txq.head = txq.mid = txq.tail;
            ccq.head = ccq.mid = ccq.tail;
            order.clear();
            tx_bytes = cc_bytes = 0;
            const u32 keep_q = upq.head + (cq_on && !cq_np ? 1 : 0), keep_n = npq.head + (cq_on && cq_np ? 1 : 0),
                      keep_r = rcq.head + (rc_on ? 1 : 0);
            // reads that the core has, or is about to have, will still be answered
            for (u32 i = keep_n; i != npq.tail; ++i) rd[npq.at(i).w[3] & 0xff].on = false;
            for (Read& r : rd) {
                r.stale |= r.on;
                r.on = false;
            }
            np_credit = 0;
            upq.tail = upq.mid = keep_q;
            npq.tail = npq.mid = keep_n;
            rcq.tail = rcq.mid = keep_r;
            up_bytes = upq.empty() ? 0 : upq.front().ndw * 4;
        }
        down.restart();
        up.restart();
        drive->link(on);
    }

    // ---------------------------------------------------------------- from the core

    void rq_store(u32 at, const u32* src, u32 n) { std::memcpy(&txq.slot().w[at], src, n * 4); }
    void rq_malformed() { ++err[E_RQ_FORMAT]; }

    void rq_packet() {
        const u64 addr = (u64(rq.desc[1]) << 32) | (rq.desc[0] & ~3u);
        const u32 dw = rq.desc[2] & 0x7ff, type = rq.type, tag = rq.desc[3] & 0xff;
        const bool write = type == REQ_MWR || type >= REQ_CFGWR0;
        const bool config = type >= REQ_CFGRD0 && type <= REQ_CFGWR1, memory = type <= REQ_MWR;
        if (rq.drop) {
            ++stat[S_RQ_DISCONTINUE];
            return;
        }
        if (rq.bad || !(config || memory) || !dw || dw > 1024 || rq.ndw != 4 + (write ? dw : 0)) {
            ++err[E_RQ_FORMAT];
            return;
        }
        if (config && (dw != 1 || rq.desc[1] || rq.desc[0] & ~0xffcu)) {
            ++err[E_RQ_FORMAT];
            return;
        }
        if (memory && (addr & 4095) + dw * 4 > 4096) {
            ++err[E_RQ_4K];
            return;
        }
        if (dw == 1 ? rq.last_be != 0 : rq.first_be == 0 || rq.last_be == 0) ++err[E_RQ_BE];
        if (type == REQ_MWR && dw * 4 > mps) {
            ++err[E_RQ_MPS];
            return;
        }
        if (type == REQ_MRD && dw * 4 > mrrs) ++err[E_RQ_MRRS];
        if (type != REQ_MWR) {
            Request& r = req[tag];
            if (r.on) {
                ++err[E_RQ_TAG];
                return;
            }
            r = Request{true, addr, cycle + timeout, dw, type, rq.desc[3], rq.first_be, rq.last_be};
            ++n_req;
        }
        if (!up_now) {
            ++stat[S_DROPPED_DOWN];
            if (type != REQ_MWR) local_rc(tag, RC_BAD_STATUS, UR);
            return;
        }
        Down& d = txq.slot();
        d.seq = seq++;
        d.type = type;
        d.ndw = write ? dw : 0;
        d.first_be = rq.first_be;
        d.last_be = rq.last_be;
        std::memcpy(d.w, rq.desc, 16);
        tx_bytes += 16 + d.ndw * 4;
        txq.push();
    }

    bool unchanged(Held& h, const u32* data, const u32* user, u32 keep, bool last) {
        return !h.on || (!std::memcmp(h.data, data, N * 4) && !std::memcmp(h.user, user, 24) && h.keep == keep &&
                         h.last == last);
    }

    bool sample_rq() {
        if (!get_bit(top.m_axis_rq_tvalid, me)) {
            if (rq.in) ++err[E_RQ_GAP];
            else if (rq_held.on) ++err[E_RQ_STABLE];
            rq_held.on = false;
            return false;
        }
        u32 data[N], user[6] = {}, keep = 0;
        get_lane(top.m_axis_rq_tdata, me, DATA_W, data);
        get_lane(top.m_axis_rq_tuser, me, USER_RQ, user);
        get_lane(top.m_axis_rq_tkeep, me, N, &keep);
        const bool last = get_bit(top.m_axis_rq_tlast, me);
        if (!unchanged(rq_held, data, user, keep, last)) ++err[E_RQ_STABLE];
        rq_held.on = !rq_ready;
        if (rq_ready) {
            rq.beat(data, user, keep, last, *this);
        } else {
            ++stat[S_RQ_STALL];
            hold(rq_held, data, user, keep, last);
        }
        return true;
    }

    void hold(Held& h, const u32* data, const u32* user, u32 keep, bool last) {
        std::memcpy(h.data, data, N * 4);
        std::memcpy(h.user, user, 24);
        h.keep = keep;
        h.last = last;
    }

    bool sample_cc() {
        if (!get_bit(top.m_axis_cc_tvalid, me)) {
            if (cc_in) ++err[E_CC_GAP];
            else if (cc_held.on) ++err[E_CC_STABLE];
            cc_held.on = false;
            return false;
        }
        u32 data[N], user[6] = {}, keep = 0;
        get_lane(top.m_axis_cc_tdata, me, DATA_W, data);
        get_lane(top.m_axis_cc_tuser, me, USER_CC, user);
        get_lane(top.m_axis_cc_tkeep, me, N, &keep);
        const bool last = get_bit(top.m_axis_cc_tlast, me);
        if (!unchanged(cc_held, data, user, keep, last)) ++err[E_CC_STABLE];
        cc_held.on = !cc_ready;
        if (!cc_ready) {
            ++stat[S_CC_STALL];
            hold(cc_held, data, user, keep, last);
            return true;
        }
        if (!cc_in) {
            cc_ndw = 0;
            cc_bad = false;
        }
        const u32 n = last ? u32(__builtin_popcount(keep)) : N;
        if (keep != ones(n)) cc_bad = true;
        if constexpr (W512) {  // tuser says it again: packets start at lane 0 here
            const bool sop = user[0] & 3, eop = user[0] >> 6 & 3;
            if (sop != !cc_in || eop != last || (eop && (user[0] >> 8 & 15) != n - 1)) cc_bad = true;
        }
        cc_in = !last;
        Down& d = ccq.slot();
        if (cc_ndw + N > 4 + MAX_DW + N) cc_bad = true;
        else std::memcpy(&d.w[cc_ndw], data, N * 4);
        cc_ndw += n;
        if (last) cc_packet();
        return true;
    }

    void cc_packet() {
        Down& d = ccq.slot();
        const u32 dw = d.w[1] & 0x7ff, status = d.w[1] >> 11 & 7, tag = d.w[2] & 0xff, left = d.w[0] >> 16 & 0x1fff;
        if (cc_bad || cc_ndw != 3 + dw || (status && dw)) {
            ++err[E_CC_FORMAT];
            return;
        }
        Read& r = rd[tag];
        if (r.stale) {  // asked before the link went down
            ++stat[S_CC_STALE];
            r.done += dw;
            if (status || r.done >= r.dw) r.stale = false;
            return;
        }
        if (!r.on || d.w[1] >> 16 != cfg.bdf) {
            ++err[E_CC_UNEXPECTED];
            return;
        }
        const u32 lead = r.done == 0 && r.first_be ? u32(__builtin_ctz(r.first_be)) : 0;
        const u8 lbe = r.dw == 1 ? r.first_be : r.last_be;
        const u32 trail = lbe ? u32(__builtin_clz(u32(lbe))) - 28 : 0;
        const u32 left_dw = r.dw - r.done;
        if (left != left_dw * 4 - lead - trail) ++err[E_CC_COUNT];
        if (!status) {
            const u64 at = r.addr + r.done * 4;
            if (!dw || dw > left_dw) {
                ++err[E_CC_FORMAT];
                return;
            }
            if ((d.w[0] & 0x7f) != ((at + lead) & 0x7f)) ++err[E_CC_ADDRESS];
            if (dw * 4 > mps) ++err[E_CC_MPS];
            if (dw != left_dw && (at + dw * 4) % 64) ++err[E_CC_RCB];
        } else {
            ++stat[S_CC_UR];
        }
        // what the drive is told travels with the packet
        d.type = tag;
        d.ndw = dw;
        d.first_be = u8(status);
        d.last_be = status || dw == left_dw;
        d.arrive = r.done;
        d.seq = seq++;
        r.done += dw;
        if (d.last_be) r.on = false;
        if (!up_now) return;
        cc_bytes += 12 + dw * 4;
        ccq.push();
    }

    // ---------------------------------------------------------------- the link

    void send_down() {
        while (down.ready(cycle)) {
            const bool t = txq.mid != txq.tail, c = ccq.mid != ccq.tail;
            if ((!t && !c) || order.full()) return;
            const bool cc = c && (!t || ccq.next().seq < txq.next().seq);
            Down& d = cc ? ccq.next() : txq.next();
            const u64 at = d.arrive;
            if (cc) {
                d.arrive = wire(down, d.ndw ? CPLD : CPL, 3, d.ndw * 4);
                cc_bytes -= 12 + d.ndw * 4;
                d.seq = at;  // dwords of the request before this completion
                ++ccq.mid;
            } else {
                const u64 addr = (u64(d.w[1]) << 32) | d.w[0];
                d.arrive = wire(down, d.type == REQ_MRD ? MRD : d.type == REQ_MWR ? MWR : CFG,
                                d.type <= REQ_MWR ? header_dw(addr) : 3, d.ndw * 4);
                tx_bytes -= 16 + d.ndw * 4;
                ++txq.mid;
            }
            order.push(cc);
        }
    }

    u64 wire(Link& l, Kind k, u32 head, u32 payload) {
        return drive->on_wire() ? l.send(cycle, k, head, payload) : cycle;
    }

    void deliver_down() {
        while (!order.empty()) {
            const bool cc = order.front();
            Down& d = cc ? ccq.front() : txq.front();
            if (d.arrive > cycle) return;
            order.pop();
            if (cc) {
                ccq.pop();
                drive->read_data(d.type, u32(d.seq), reinterpret_cast<const u8*>(&d.w[3]), d.ndw, d.first_be,
                                 d.last_be);
            } else {
                txq.pop();
                const u64 addr = (u64(d.w[1]) << 32) | (d.w[0] & ~3u);
                const u32 dw = d.w[2] & 0x7ff, tag = d.w[3] & 0xff;
                const u8* data = reinterpret_cast<const u8*>(&d.w[4]);
                if (d.type == REQ_MWR) {
                    drive->mem_write(addr, data, dw, d.first_be, d.last_be);
                } else if (d.type == REQ_MRD) {
                    drive->mem_read(tag, addr, dw, d.first_be, d.last_be);
                } else if (d.type == REQ_CFGRD0 || d.type == REQ_CFGWR0) {
                    drive->config(tag, d.w[3] >> 8 & 0xffff, d.w[0] & 0xffc, d.type == REQ_CFGWR0, d.w[4], d.first_be);
                } else {
                    answer(tag, UR, nullptr);  // type 1: there is no bridge
                }
            }
            if (!up_now) return;
        }
    }

    void send_up() {
        while (up.ready(cycle)) {
            const bool p = upq.mid != upq.tail, n = npq.mid != npq.tail, a = rcq.mid != rcq.tail;
            if (!p && !n && !a) return;
            const u32 sent = upq.mid - upq.head;
            const bool p_go = p && (!cfg.cq_tlps || sent < cfg.cq_tlps) &&
                              (!cfg.cq_bytes || !sent || up_bytes + upq.next().ndw * 4 <= cfg.cq_bytes);
            const bool n_go = n && (!cfg.cq_tlps || npq.mid - npq.head < cfg.cq_tlps) &&
                              !(p && upq.next().seq < npq.next().seq);  // never past a posted one
            if (a && !(p_go && upq.next().seq < rcq.next().seq) && !(n_go && npq.next().seq < rcq.next().seq)) {
                Answer& c = rcq.next();
                c.arrive = wire(up, c.ndw > 3 ? CPLD : CPL, 3, (c.ndw - 3) * 4);
                ++rcq.mid;
            } else if (n_go) {  // the oldest: a posted one before it would have forbidden it
                Up& u = npq.next();
                u.arrive = wire(up, MRD, header_dw((u64(u.w[1]) << 32) | u.w[0]), 0);
                ++npq.mid;
            } else if (p_go) {
                Up& u = upq.next();
                u.arrive = wire(up, MWR, header_dw((u64(u.w[1]) << 32) | u.w[0]), (u.ndw - 4) * 4);
                up_bytes += u.ndw * 4;
                ++upq.mid;
            } else {
                ++stat[S_CREDIT_STALL];
                return;
            }
        }
    }

    // ---------------------------------------------------------------- the drive's requests (DrivePort)

    bool room(bool read) const override {
        const auto& q = read ? npq : upq;
        return up_now && q.unsent() < cfg.drive_tx && q.size() < SLOTS - 1;
    }
    bool tag_ready(u32 tag) const override { return !rd[tag].on && !rd[tag].stale; }

    Up& request(Up& u, u64 addr, u32 len, u32 type, u32 tag) {
        const u32 lead = addr & 3, dw = (lead + len + 3) / 4, trail = dw * 4 - lead - len;
        u.w[0] = u32(addr) & ~3u;
        u.w[1] = u32(addr >> 32);
        u.w[2] = dw | type << 11 | cfg.bdf << 16;
        u.w[3] = tag | 26u << 19;  // BAR 0 of the root port, an aperture of 64 MiB
        u.first_be = 15u << lead & 15;
        u.last_be = dw == 1 ? 0 : 15 >> trail;
        if (dw == 1) u.first_be &= 15 >> trail;
        u.ndw = 4;
        u.damaged = false;
        u.seq = seq++;
        return u;
    }

    void write(u64 addr, const u8* data, u32 len) override {
        if (len > mps) ++err[E_CQ_MPS];  // above what our Device Control allows: a malformed TLP
        Up& u = request(upq.slot(), addr, len, REQ_MWR, 0);
        const u32 dw = u.w[2] & 0x7ff;
        u.w[4] = u.w[3 + dw] = 0;
        std::memcpy(reinterpret_cast<u8*>(&u.w[4]) + (addr & 3), data, len);
        u.ndw += dw;
        u.damaged = damage;
        damage = false;
        upq.push();
    }

    void read(u64 addr, u32 len, u32 tag) override {
        const Up& u = request(npq.slot(), addr, len, REQ_MRD, tag);
        rd[tag] = Read{true, false, addr & ~u64{3}, u.w[2] & 0x7ff, 0, u.first_be, u.last_be};
        npq.push();
    }

    void answer(u32 tag, u32 status, const u8* data) override {
        Request& r = req[tag];
        if (!r.on) {  // timed out
            ++stat[S_RC_LATE];
            return;
        }
        const bool memory = r.type == REQ_MRD;
        const u32 n = data && !status ? r.dw : 0;
        const u8 lbe = r.dw == 1 ? r.first_be : r.last_be;
        for (u32 done = 0;;) {
            Answer& c = rcq.slot();
            const u64 at = r.addr + done * 4;
            const u32 here = std::min(n - done, 32 - u32(at / 4 % 32));
            const u32 lead = memory && !done && r.first_be ? u32(__builtin_ctz(r.first_be)) : 0;
            const u32 trail = memory && lbe ? u32(__builtin_clz(u32(lbe))) - 28 : 0;
            const u32 left = memory ? (r.dw - done) * 4 - lead - trail : 4;
            const bool last = done + here == n;
            c.w[0] = (memory ? (u32(at) + lead) & 0xfff : 0) | (status ? RC_BAD_STATUS : RC_OK) << 12 | left << 16 |
                     u32(last) << 30;
            c.w[1] = here | status << 11;
            c.w[2] = tag | cfg.bdf << 8;
            if (here) std::memcpy(&c.w[3], data + done * 4, here * 4);
            c.ndw = 3 + here;
            c.first_be = done == 0 ? r.first_be : 15;
            c.last_be = last ? lbe : 15;
            if (here == 1) c.first_be &= c.last_be;
            c.seq = seq++;
            rcq.push();
            done += here;
            if (last) break;
        }
        r.on = false;
        --n_req;
    }

    // An end that the hard block makes up itself: nothing on the wire.
    void local_rc(u32 tag, u32 code, u32 status) {
        Answer& c = rcq.slot();
        c.w[0] = code << 12 | 1u << 30;
        c.w[1] = status << 11;
        c.w[2] = tag;
        c.ndw = 3;
        c.first_be = c.last_be = 0;
        c.arrive = cycle;
        c.seq = seq++;
        const bool waiting = rcq.mid != rcq.tail;
        rcq.push();
        if (!waiting) rcq.mid = rcq.tail;
        req[tag].on = false;
        --n_req;
    }

    void expire() {
        for (u32 t = 0; t < 256; ++t) {
            if (!req[t].on || req[t].deadline > cycle || rcq.size() > RC_SLOTS / 2) continue;
            ++stat[S_RC_TIMEOUTS];
            local_rc(t, RC_TIMEOUT, 0);
        }
    }

    void damage_next() override { damage = true; }
    void drop_link() override { drop_wanted = true; }

    // ---------------------------------------------------------------- to the core

    template <class Q>
    bool arrived(Q& q) {
        return q.head != q.mid && q.front().arrive <= cycle;
    }

    // What was taken in the last cycle is gone. True: it was the end of the packet.
    template <class Q>
    bool advance(Q& q, bool& on, bool& fired, u32& pos) {
        if (!fired) return false;
        fired = false;
        pos += N;
        if (pos < q.front().ndw) return false;
        on = false;
        return true;
    }

    // CQ in the order of the link, but without a credit (PG213, "Selective Flow Control for Non-Posted Requests") the
    // non-posted requests wait and the posted ones go on.
    void drive_cq() {
        auto& was = cq_np ? npq : upq;
        if (advance(was, cq_on, cq_fired, cq_pos)) {
            if (!cq_np) up_bytes -= was.front().ndw * 4;
            was.pop();
        }
        bool delivered = false;
        if (!cq_on) {
            bool np = arrived(npq) && (upq.empty() || npq.front().seq < upq.front().seq);
            if (np && cfg.np_credits && !np_credit) {
                np = false;
                ++stat[S_NP_STALL];
            }
            if ((np || arrived(upq)) && !stalled()) {
                cq_on = true;
                cq_np = delivered = np;
                cq_pos = 0;
            }
        }
        if (np_given && !delivered) np_credit = std::min(np_credit + (np_given > 1 ? 2 : 1), NP_CREDITS);
        if (!np_given && delivered && np_credit) --np_credit;
        np_given = 0;
        put_bit(top.s_axis_cq_tvalid, me, cq_on);
        if (cq_on)
            drive_stream(cq_np ? npq : upq, cq_pos, top.s_axis_cq_tdata, top.s_axis_cq_tuser, top.s_axis_cq_tkeep,
                         top.s_axis_cq_tlast, USER_CQ, false, [](const Up& p, u32 pos, u32 n, u32* user) {
                             cq_user<DATA_W>(pos, n, p.ndw, p.first_be, p.last_be, user);
                             if (p.damaged && pos + n == p.ndw) user[W512 ? 3 : 1] |= W512 ? 1u : 1u << 9;
                         });
    }

    void drive_rc() {
        if (advance(rcq, rc_on, rc_fired, rc_pos)) rcq.pop();
        if (!rc_on && arrived(rcq) && !stalled()) {
            rc_on = true;
            rc_pos = 0;
        }
        put_bit(top.s_axis_rc_tvalid, me, rc_on);
        if (rc_on)
            drive_stream(rcq, rc_pos, top.s_axis_rc_tdata, top.s_axis_rc_tuser, top.s_axis_rc_tkeep,
                         top.s_axis_rc_tlast, USER_RC, W512, [](const Answer& p, u32 pos, u32 n, u32* user) {
                             rc_user<DATA_W>(pos, n, p.ndw, p.first_be, p.last_be, user);
                         });
    }

    template <class Q, class Td, class Tu, class Tk, class Tl, class User>
    void drive_stream(Q& q, u32 pos, Td& tdata, Tu& tuser, Tk& tkeep, Tl& tlast, u32 user_w, bool straddle,
                      User make_user) {
        const auto& p = q.front();
        const bool last = pos + N >= p.ndw;
        const u32 n = last ? p.ndw - pos : N;
        put_lane(tdata, me, DATA_W, &p.w[pos]);
        u32 user[6] = {};
        make_user(p, pos, n, user);
        put_lane(tuser, me, user_w, user);
        const u32 keep = u32(ones(straddle ? N : n));
        put_lane(tkeep, me, N, &keep);
        put_bit(tlast, me, last && !straddle);
    }

    // ---------------------------------------------------------------- a cycle

    // Before the edge. True if something moves.
    bool sample() {
        bool busy = sample_rq();
        busy |= sample_cc();
        get_lane(top.pcie_cq_np_req, me, 2, &np_given);
        if (cq_on) {
            cq_fired = get_bit(top.s_axis_cq_tready, me);
            stat[S_CQ_STALL] += !cq_fired;
        }
        if (rc_on) {
            rc_fired = get_bit(top.s_axis_rc_tready, me);
            stat[S_RC_STALL] += !rc_fired;
        }
        return busy || cq_on || rc_on;
    }

    // Between two edges.
    void update(u64 now) {
        cycle = now;
        drive->now = now;
        u32 v[1];
        get_lane(top.set_mps, me, 3, v);
        mps = 128u << std::min({v[0], cfg.mps_cap, 3u});
        get_lane(top.set_mrrs, me, 3, v);
        mrrs = 128u << std::min(v[0], 5u);
        if (drop_wanted) {
            drop_wanted = false;
            set_link(false);
        }
        if (txq.mid != txq.tail || ccq.mid != ccq.tail) send_down();
        if (!order.empty()) deliver_down();
        drive->step();
        if (upq.mid != upq.tail || npq.mid != npq.tail || rcq.mid != rcq.tail) send_up();
        if (n_req && !(cycle & 63)) expire();
        if (cq_on || np_given || !upq.empty() || !npq.empty()) drive_cq();
        if (rc_on || !rcq.empty()) drive_rc();
        const bool rq_room = txq.unsent() < cfg.tx_tlps && tx_bytes < cfg.tx_bytes && txq.size() < SLOTS - 3;
        const bool cc_room = ccq.unsent() < cfg.tx_tlps && cc_bytes < cfg.tx_bytes && ccq.size() < SLOTS - 1;
        rq_ready = ((rq.in && !W512) || rq_room) && rcq.size() < RC_SLOTS - 64 && !stalled();
        cc_ready = (cc_in || cc_room) && !stalled();
        put_bit(top.m_axis_rq_tready, me, rq_ready);
        put_bit(top.m_axis_cc_tready, me, cc_ready);
    }

    u64 next_event() {
        if (cq_on || rc_on || drop_wanted) return cycle;
        u64 e = drive->next_event();
        auto at = [&](u64 t) { e = std::min(e, std::max(t, cycle)); };
        if (txq.mid != txq.tail || ccq.mid != ccq.tail) at(down.free_c);
        if (upq.mid != upq.tail || npq.mid != npq.tail || rcq.mid != rcq.tail) at(up.free_c);
        if (!order.empty()) at(order.front() ? ccq.front().arrive : txq.front().arrive);
        if (upq.head != upq.mid) at(upq.front().arrive);
        if (npq.head != npq.mid) at(npq.front().arrive);
        if (rcq.head != rcq.mid) at(rcq.front().arrive);
        if (n_req)
            for (const Request& r : req)
                if (r.on) at((r.deadline + 63) & ~u64{63});
        return e;
    }
};

}  // namespace db
