// SPDX-License-Identifier: Apache-2.0
// The FPGA's PCIe hard block as a root port, core side: RQ and CC of the core become requests and completions to the
// drive, the drive's become CQ and RC.
#pragma once

#include <algorithm>

#include "pcie/cc_in.h"
#include "pcie/root_port_link.h"
#include "pcie/rq_in.h"

namespace db {

template <class Top, u32 DATA_W, u32 PORTS>
class RootPort final : public RootPortLink {
    static constexpr u32 N = DATA_W / 32, NP_CREDITS = 32;
    static constexpr bool WIDE = DATA_W == 512;  // RQ and RC have the straddled layout
    using Bits = UserBits<DATA_W>;
    friend RqIn<DATA_W, WIDE, REQ_DESC + MAX_DW + N - 1>;

    Top& top;
    const Pins<PORTS> pins;
    RqIn<DATA_W, WIDE, REQ_DESC + MAX_DW + N - 1> rq;
    CcIn<DATA_W, true, REQ_DESC + MAX_DW + N> cc;
    StreamIn<DATA_W> rq_stream, cc_stream;
    u32 np_given = 0;  // credits that the core gives in this cycle

    // ---- from the core

    void rq_store(u32 at, const u32* src, u32 n) { std::memcpy(&requests.slot().w[at], src, n * 4); }
    void rq_malformed() { ++hard.rq[RqError::FORMAT]; }
    void rq_packet() {
        RqRequest r;
        if (rq_well_formed(rq, true, hard, r)) take_request(r);
    }

    template <class Data, class User, class Keep, class Last>
    void get_beat(Beat& b, u32* data, const Data& tdata, const User& tuser, u32 user_bits, const Keep& tkeep,
                  const Last& tlast) const {
        pins.get(tdata, DATA_W, data);
        pins.get(tuser, user_bits, b.user);
        pins.get(tkeep, N, &b.keep);
        b.data = data;
        b.last = pins.get_bit(tlast);
    }

    bool sample_rq() {
        if (!pins.get_bit(top.m_axis_rq_tvalid)) {
            rq_stream.nothing(rq.in, hard.rq[RqError::GAP], hard.rq[RqError::UNSTABLE]);
            return false;
        }
        u32 data[N];
        Beat b;
        get_beat(b, data, top.m_axis_rq_tdata, top.m_axis_rq_tuser, Bits::RQ, top.m_axis_rq_tkeep, top.m_axis_rq_tlast);
        if (rq_stream.offered(b, hard.rq[RqError::UNSTABLE], hard.stat[HardBlockCount::RQ_STALL])) rq.beat(b, *this);
        return true;
    }

    bool sample_cc() {
        if (!pins.get_bit(top.m_axis_cc_tvalid)) {
            cc_stream.nothing(cc.in, hard.cc[CcError::GAP], count[RootPortCount::CC_UNSTABLE]);
            return false;
        }
        u32 data[N];
        Beat b;
        get_beat(b, data, top.m_axis_cc_tdata, top.m_axis_cc_tuser, Bits::CC, top.m_axis_cc_tkeep, top.m_axis_cc_tlast);
        if (cc_stream.offered(b, count[RootPortCount::CC_UNSTABLE], count[RootPortCount::CC_STALL]) &&
            cc.beat(b, completions.slot().w))
            cc_packet();
        return true;
    }

    void cc_packet() {
        const u32* w = completions.slot().w;
        const u32 dw = w[1] & 0x7ff, status = w[1] >> 11 & 7;
        if (cc.bad || cc.ndw != CPL_DESC + (status ? CC_ECHO : dw) || (status && dw)) ++hard.cc[CcError::FORMAT];
        else take_completion();
    }

    // ---- to the core

    template <class Q>
    bool arrived(const Q& q) const {
        return q.head != q.mid && q.front().arrive <= cycle;
    }

    // CQ in the order of the link, but without a credit (PG213, "Selective Flow Control for Non-Posted Requests") the
    // non-posted requests wait and the posted ones go on.
    void drive_cq() {
        auto& was = cq_non_posted ? non_posted : posted;
        if (cq.fired && cq.advance(was.front().ndw, N)) {
            if (!cq_non_posted) posted_bytes -= was.front().ndw * 4;
            was.pop();
        }
        bool delivered = false;
        if (!cq.on) {
            bool np = arrived(non_posted) && (posted.empty() || non_posted.front().seq < posted.front().seq);
            if (np && cfg.np_credits && !np_credit) {
                np = false;
                ++count[RootPortCount::NON_POSTED_STALL];
            }
            if ((np || arrived(posted)) && !stalled()) {
                cq.begin();
                cq_non_posted = delivered = np;
            }
        }
        if (np_given && !delivered) np_credit = std::min(np_credit + (np_given > 1 ? 2 : 1), NP_CREDITS);
        if (!np_given && delivered && np_credit) --np_credit;
        np_given = 0;
        pins.put_bit(top.s_axis_cq_tvalid, cq.on);
        if (cq.on)
            put_beat<DATA_W>(pins, cq, (cq_non_posted ? non_posted : posted).front(), top.s_axis_cq_tdata,
                             top.s_axis_cq_tuser, Bits::CQ, top.s_axis_cq_tkeep, top.s_axis_cq_tlast, false,
                             [](const UpRequest& p, u32 pos, u32 n, u32* user) {
                                 cq_user<DATA_W>(pos, n, p.ndw, p.first_be, p.last_be, user);
                                 if (p.damaged && pos + n == p.ndw) user[WIDE ? 3 : 1] |= WIDE ? 1u : 1u << 9;
                             });
    }

    void drive_rc() {
        if (rc.fired && rc.advance(answers.front().ndw, N)) answers.pop();
        if (!rc.on && arrived(answers) && !stalled()) rc.begin();
        pins.put_bit(top.s_axis_rc_tvalid, rc.on);
        if (rc.on)
            put_beat<DATA_W>(pins, rc, answers.front(), top.s_axis_rc_tdata, top.s_axis_rc_tuser, Bits::RC,
                             top.s_axis_rc_tkeep, top.s_axis_rc_tlast, WIDE,
                             [](const UpCompletion& p, u32 pos, u32 n, u32* user) {
                                 rc_user<DATA_W>(pos, n, p.ndw, p.first_be, p.last_be, user);
                             });
    }

    void drive_ready() {
        rq_stream.ready = ((rq.in && !WIDE) || request_room()) && answers.size() < RC_SLOTS - 64 && !stalled();
        cc_stream.ready = (cc.in || completion_room()) && !stalled();
        pins.put_bit(top.m_axis_rq_tready, rq_stream.ready);
        pins.put_bit(top.m_axis_cc_tready, cc_stream.ready);
    }

    void show_link(bool on) override { pins.put_bit(top.link_up, on); }

  public:
    RootPort(Top& t, u32 index, const db_host_port& port, const db_host_config& host)
        : RootPortLink(index, port, host), top(t), pins{index} {}

    void clear() override {
        clear_link();
        np_given = 0;
        rq.in = cc.in = false;
        rq_stream.clear();
        cc_stream.clear();
        pins.put_bit(top.s_axis_cq_tvalid, false);
        pins.put_bit(top.s_axis_rc_tvalid, false);
        pins.put_bit(top.m_axis_rq_tready, false);
        pins.put_bit(top.m_axis_cc_tready, false);
    }

    bool sample() override {
        bool busy = sample_rq();
        busy |= sample_cc();
        pins.get(top.pcie_cq_np_req, 2, &np_given);
        if (cq.on) {
            cq.fired = pins.get_bit(top.s_axis_cq_tready);
            hard.stat[HardBlockCount::CQ_STALL] += !cq.fired;
        }
        if (rc.on) {
            rc.fired = pins.get_bit(top.s_axis_rc_tready);
            hard.stat[HardBlockCount::RC_STALL] += !rc.fired;
        }
        return busy || cq.on || rc.on;
    }

    void update(u64 now) override {
        cycle = now;
        u32 code;
        pins.get(top.set_mps, 3, &code);
        mps = 128u << std::min({code, cfg.mps_cap_code, 3u});
        pins.get(top.set_mrrs, 3, &code);
        mrrs = 128u << std::min(code, 5u);
        act();
        if (cq.on || np_given || !posted.empty() || !non_posted.empty()) drive_cq();
        if (rc.on || !answers.empty()) drive_rc();
        drive_ready();
    }
};

}  // namespace db
