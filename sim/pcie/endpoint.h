// SPDX-License-Identifier: Apache-2.0
// The hard block of an endpoint, core side: samples RQ and CC, drives RC and CQ. Packets go to Transmit and come from
// Receive.
#pragma once

#include <type_traits>

#include "pcie/cc_in.h"
#include "pcie/cq_straddled.h"
#include "pcie/receive.h"
#include "pcie/rq_in.h"
#include "pcie/stream_out.h"
#include "pcie/transmit.h"

namespace db {

#define DB_ENDPOINT_COUNTERS(X)                     \
    X(RQ_WITHOUT_BUS_MASTER, "error.rq_bus_master") \
    X(RQ_NO_FUNCTION, "error.rq_function")          \
    X(DROPPED_WITHOUT_BUS_MASTER, "hard.rq_dropped_bus_master")
DB_COUNTERS(EndpointCount, DB_ENDPOINT_COUNTERS)

/// Cycles after bus master goes off in which a request is dropped without complaint.
constexpr u32 BUS_MASTER_GRACE = 64;

/// STRADDLE, CQ_CC_STRADDLE: of RQ and RC, of CQ and CC: options of the hard block at 512 bits.
template <class Top, u32 DATA_W, bool STRADDLE, bool CQ_CC_STRADDLE>
class Endpoint {
    static_assert(DATA_W == 128 || DATA_W == 256 || DATA_W == 512, "DATA_W");
    static_assert(!(STRADDLE || CQ_CC_STRADDLE) || DATA_W == 512, "only streams of 512 bits straddle here");
    static constexpr u32 N = DATA_W / 32;
    using Bits = UserBits<DATA_W>;
    static constexpr u32 MAX_CREDITS = 32;
    static constexpr u32 CC_ROOM = CPL_DESC + MAX_DW + N - 1;
    static constexpr u32 CC_A_CYCLE = CQ_CC_STRADDLE ? 2 : 1;  // completions that may end
    using Cc = std::conditional_t<CQ_CC_STRADDLE, CcStraddledIn<CC_ROOM>, CcIn<DATA_W, false, CC_ROOM>>;
    friend RqIn<DATA_W, STRADDLE, REQ_DESC + MAX_DW + N - 1>;
    friend CcStraddledIn<CC_ROOM>;

    Top& top;
    EndpointContext& x;
    Transmit& tx;
    Receive& rx;
    HardBlockCounters& count;
    Counters<EndpointCount>& own;
    const Pins<1> pins{0};
    RqIn<DATA_W, STRADDLE, REQ_DESC + MAX_DW + N - 1> rq;
    StreamIn<DATA_W> rq_stream;
    Cc cc;
    StreamOut rc, cq;
    bool cc_ready = false;
    u32 rc_release = 0;
    bool cq_credited = false;            // what stands on CQ is the first of `uncredited`
    u32 credits = 0, credits_given = 0;  // of PG213's counter, for reads; by the core in this cycle
    bool numbers_on = false;

    template <class P>
    static const u32* words(const P& port) {
        return reinterpret_cast<const u32*>(&port);
    }

    // ---- RQ

    void rq_store(u32 at, const u32* src, u32 n) {
        if (rq.type != REQ_MRD) std::memcpy(tx.posted_words() + at, src, n * 4);
    }
    void rq_malformed() { ++count.rq[RqError::FORMAT]; }

    void without_bus_master(u32 fn) {
        if (fn == NO_FN) ++own[EndpointCount::RQ_NO_FUNCTION];
        else if (x.cycle - x.bus_master_off_at[fn] > BUS_MASTER_GRACE) ++own[EndpointCount::RQ_WITHOUT_BUS_MASTER];
        ++own[EndpointCount::DROPPED_WITHOUT_BUS_MASTER];
    }

    void rq_packet() {
        RqRequest r;
        if (!rq_well_formed(rq, false, count, r)) return;
        const u32 fn = x.index_of(r.fn);
        if (!(x.bus_master >> fn & 1)) {
            without_bus_master(fn);
            if (!r.write()) rx.make_up(r.tag, r.fn, RC_BAD_STATUS);
            return;
        }
        if (!rq_size_allowed(r, x.mps, x.mrrs, count)) return;
        if (r.write()) tx.push_posted(r);
        else if (!tx.push_read(r)) ++count.rq[RqError::TAG_IN_USE];
    }

    bool sample_rq() {
        if (!top.m_axis_rq_tvalid) {
            rq_stream.nothing(rq.in, count.rq[RqError::GAP], count.rq[RqError::UNSTABLE]);
            return false;
        }
        Beat b{words(top.m_axis_rq_tdata), {}, u32(top.m_axis_rq_tkeep), bool(top.m_axis_rq_tlast)};
        pins.get(top.m_axis_rq_tuser, Bits::RQ, b.user);
        if (rq_stream.offered(b, count.rq[RqError::UNSTABLE], count.stat[HardBlockCount::RQ_STALL])) rq.beat(b, *this);
        return true;
    }

    // ---- CC

    u32* cc_words() { return tx.answer_words(); }
    void cc_malformed() { ++count.cc[CcError::FORMAT]; }

    void cc_beat() {
        Beat b{words(top.m_axis_cc_tdata), {}, u32(top.m_axis_cc_tkeep), bool(top.m_axis_cc_tlast)};
        if constexpr (CQ_CC_STRADDLE) {
            pins.get(top.m_axis_cc_tuser, Bits::CC, b.user);
            cc.beat(b, *this);
        } else if (cc.beat(b, cc_words())) {
            cc_packet();
        }
    }

    void cc_packet() {
        const u32* const w = tx.answer_words();
        const u32 dw = w[1] & 0x7ff;
        const bool refused = w[1] >> 11 & 7 && !dw && cc.ndw == CPL_DESC + CC_ECHO;
        if (cc.bad || (cc.ndw != CPL_DESC + dw && !refused)) ++count.cc[CcError::FORMAT];
        else tx.push_answer(dw);
    }

    bool sample_cc() {
        if (top.m_axis_cc_tvalid) {
            if (cc_ready) cc_beat();
            return true;
        }
        if (cc.in) ++count.cc[CcError::GAP];
        return false;
    }

    // ---- RC and CQ

    // A straddled beat: what has arrived, each completion at the next multiple of 4 lanes, up to four of them.
    void rc_straddled() {
        if (rc.on && !rc.fired) return;
        rc.fired = rc.on = false;
        tx.release(rc_release);
        rc_release = 0;
        u32 user[6] = {}, data[LANES] = {}, sops = 0, eops = 0;
        for (u32 lane = 0; lane < N;) {
            if (!rc.pos && (!rx.arrived(rx.rc) || (!lane && x.stalled()))) break;
            const RcPacket& c = rx.rc.front();
            const u32 n = std::min(N - lane, c.ndw - rc.pos);
            std::memcpy(data + lane, &c.w[rc.pos], n * 4);
            const u64 be = byte_enables(rc.pos, c.ndw, CPL_DESC, c.first_be, c.last_be, n) << lane * 4;
            user[0] |= u32(be);
            user[1] |= u32(be >> 32);
            if (!rc.pos) {
                user[2] |= 1u << sops | (lane / 4) << (4 + 2 * sops);
                ++sops;
            }
            rc.pos += n;
            rc.on = true;
            if (rc.pos == c.ndw) {
                user[2] |= 1u << (12 + eops) | (lane + n - 1) << (16 + 4 * eops);
                ++eops;
                rc_release += c.release;
                rc.pos = 0;
                rx.rc.pop();
            }
            lane = (lane + n + 3) & ~3u;
        }
        top.s_axis_rc_tvalid = rc.on;
        if (!rc.on) return;
        std::memcpy(&top.s_axis_rc_tdata, data, DATA_W / 8);
        put_words(top.s_axis_rc_tuser, user);
        top.s_axis_rc_tkeep = u32(ones(N));
        top.s_axis_rc_tlast = 0;
    }

    // True: there is a beat to show.
    template <class Queue>
    bool begin(StreamOut& s, const Queue& queue) {
        if (!s.on && rx.arrived(queue) && !x.stalled()) s.begin();
        return s.on;
    }

    void drive_rc() {
        if constexpr (STRADDLE) return rc_straddled();
        if (rc.fired && rc.advance(rx.rc.front().ndw, N)) {
            tx.release(rx.rc.front().release);
            rx.rc.pop();
        }
        top.s_axis_rc_tvalid = begin(rc, rx.rc);
        if (rc.on)
            put_beat<DATA_W>(pins, rc, rx.rc.front(), top.s_axis_rc_tdata, top.s_axis_rc_tuser, Bits::RC,
                             top.s_axis_rc_tkeep, top.s_axis_rc_tlast, false,
                             [](const RcPacket& p, u32 pos, u32 n, u32* user) {
                                 rc_user<DATA_W>(pos, n, p.ndw, p.first_be, p.last_be, user);
                             });
    }

    // A function that is not enabled takes no access: a write is gone, a read ends as unsupported. False: its answer
    // finds no room yet.
    bool refuse(const CqPacket& p) {
        if (!p.read()) return true;
        if (cc.in || !tx.answer_room(CC_A_CYCLE)) return false;  // the answer that comes in has the next place
        u32* const w = tx.answer_words();
        w[0] = 0;
        w[1] = u32(UR) << 11;
        w[2] = (p.w[3] & 0xff) | p.function() << 8;
        tx.push_answer(0);
        return true;
    }
    bool is_enabled(const CqPacket& p) const { return x.is_enabled(x.index_of(p.function())); }

    // What has arrived: reads wait for a credit, up to the first write. False: something is yet to be refused.
    bool sort_cq() {
        while (!rx.uncredited.empty() && !is_enabled(rx.uncredited.front())) {
            if (!refuse(rx.uncredited.front())) return false;
            rx.uncredited.pop();
        }
        while (rx.arrived(rx.cq)) {
            const CqPacket& p = rx.cq.front();
            if (!is_enabled(p)) {
                if (!refuse(p)) return false;
            } else if (p.read()) {
                rx.uncredited.push(p);
            } else {
                break;
            }
            rx.pop_request();
        }
        return true;
    }

    // delivered: requests that have used a credit in this cycle.
    void count_credits(u32 delivered) {
        if (credits_given && !delivered) credits = std::min(credits + (credits_given > 1 ? 2 : 1), MAX_CREDITS);
        else if (credits_given) credits -= delivered - 1;
        else credits -= delivered;
        credits_given = 0;
    }

    // A straddled beat: what has arrived, up to two requests. A packet begins only where none goes on.
    void drive_straddled_cq() {
        u32 delivered = 0;
        if (!cq.on || cq.fired) {
            cq.fired = cq.on = false;
            CqStraddledBeat beat;
            while (beat.room()) {
                if (!cq.pos) {
                    if (!sort_cq()) break;
                    const bool credited = credits > delivered && !rx.uncredited.empty();
                    if (!rx.arrived(credited ? rx.uncredited : rx.cq) || (beat.empty() && x.stalled())) break;
                    cq_credited = credited;
                    delivered += credited;
                }
                const CqPacket& p = (cq_credited ? rx.uncredited : rx.cq).front();
                cq.pos += beat.put(p, cq.pos);
                if (cq.pos < p.ndw) continue;
                cq.pos = 0;
                if (cq_credited) rx.uncredited.pop();
                else rx.pop_request();
            }
            cq.on = !beat.empty();
            if (cq.on) {
                const u32 keep = u32(ones(N));
                pins.put(top.s_axis_cq_tdata, DATA_W, beat.data);
                pins.put(top.s_axis_cq_tuser, Bits::CQ, beat.user);
                pins.put(top.s_axis_cq_tkeep, N, &keep);
                pins.put_bit(top.s_axis_cq_tlast, false);
            }
        }
        count_credits(delivered);
        top.s_axis_cq_tvalid = cq.on;
    }

    // CQ in the order of the link, but without a credit (PG213, "Selective Flow Control for Non-Posted Requests") reads
    // wait and writes go on.
    void drive_cq() {
        if constexpr (CQ_CC_STRADDLE) return drive_straddled_cq();
        if (cq.fired && cq.advance((cq_credited ? rx.uncredited : rx.cq).front().ndw, N)) {
            if (cq_credited) rx.uncredited.pop();
            else rx.pop_request();
        }
        bool delivered = false;
        if (!cq.on && sort_cq()) {
            cq_credited = credits && !rx.uncredited.empty();
            delivered = begin(cq, cq_credited ? rx.uncredited : rx.cq) && cq_credited;
        }
        count_credits(delivered);
        top.s_axis_cq_tvalid = cq.on;
        if (cq.on)
            put_beat<DATA_W>(pins, cq, (cq_credited ? rx.uncredited : rx.cq).front(), top.s_axis_cq_tdata,
                             top.s_axis_cq_tuser, Bits::CQ, top.s_axis_cq_tkeep, top.s_axis_cq_tlast, false,
                             [](const CqPacket& p, u32 pos, u32 n, u32* user) {
                                 cq_user<DATA_W>(pos, n, p.ndw, p.first_be, p.last_be, user);
                                 if (p.damaged && pos + n == p.ndw)
                                     user[DATA_W == 512 ? 3 : 1] |= DATA_W == 512 ? 1u : 1u << 9;
                             });
    }

    // What the core is told of its requests: two numbers a cycle.
    void drive_numbers() {
        auto& n = tx.numbers;
        top.pcie_rq_seq_num_vld0 = !n.empty();
        if (!n.empty()) top.pcie_rq_seq_num0 = n.front(), n.pop();
        top.pcie_rq_seq_num_vld1 = !n.empty();
        if (!n.empty()) top.pcie_rq_seq_num1 = n.front(), n.pop();
        numbers_on = top.pcie_rq_seq_num_vld0;
    }

  public:
    Endpoint(Top& t, EndpointContext& context, Transmit& transmit, Receive& receive, HardBlockCounters& counters,
             Counters<EndpointCount>& own_counters)
        : top(t), x(context), tx(transmit), rx(receive), count(counters), own(own_counters) {
        static_assert(sizeof top.m_axis_rq_tdata == DATA_W / 8, "DATA_W is not the top's width");
    }

    bool rq_ready() const { return rq_stream.ready; }
    bool rc_on() const { return rc.on; }
    bool cq_on() const { return cq.on; }
    bool numbers_shown() const { return numbers_on; }

    void clear() {
        rq.in = cc.in = cc_ready = false;
        rq_stream.clear();
        rc.clear();
        cq.clear();
        rc_release = 0;
        credits = credits_given = 0;
        cq_credited = numbers_on = false;
        top.pcie_rq_seq_num_vld0 = top.pcie_rq_seq_num_vld1 = 0;
        top.s_axis_cq_tvalid = top.s_axis_rc_tvalid = 0;
        top.m_axis_rq_tready = top.m_axis_cc_tready = 0;
    }

    /// What happens at the coming edge. True if something moves.
    bool sample() {
        bool busy = sample_rq();
        busy |= sample_cc();
        if (rc.on) {
            rc.fired = top.s_axis_rc_tready;
            count.stat[HardBlockCount::RC_STALL] += !rc.fired;
        }
        credits_given = top.pcie_cq_np_req;
        if (cq.on) {
            cq.fired = top.s_axis_cq_tready;
            count.stat[HardBlockCount::CQ_STALL] += !cq.fired;
        }
        return busy || rc.on || cq.on;
    }

    /// The next cycle's RC, CQ and sequence numbers.
    void drive() {
        if (rc.on || !rx.rc.empty()) drive_rc();
        if (cq.on || credits_given || !rx.cq.empty() || !rx.uncredited.empty()) drive_cq();
        if (numbers_on || !tx.numbers.empty()) drive_numbers();
    }

    /// The core gives credits for reads, and they are counted: each cycle is another one.
    bool counts_credits() const { return top.pcie_cq_np_req && credits < MAX_CREDITS; }

    /// The next cycle's tready of RQ and CC.
    void drive_ready() {
        const bool room = (rq.in && !STRADDLE) || tx.request_room();
        rq_stream.ready = room && !x.stalled();
        cc_ready = tx.answer_room(CC_A_CYCLE) && !x.stalled();
        top.m_axis_rq_tready = rq_stream.ready;
        top.m_axis_cc_tready = cc_ready;
    }
};

}  // namespace db
