// SPDX-License-Identifier: Apache-2.0
// What a top shows of its work goes into an EventLog: its stat_* pulses, first and last beats at its boundaries. A top
// without stat_* ports has boundary events alone.
#pragma once

#include "runtime/event_log.h"
#include "runtime/stalls.h"

namespace db {

template <class Top>
void sample_stats(EventLog& log, const Top& top, u64 cycle) {
    if constexpr (HasStats<Top>::value) {
        if (top.stat_doorbell_valid) log.put(cycle, DB_EV_DOORBELL, top.stat_doorbell_qid, top.stat_doorbell_tail);
        if (top.stat_fetch_valid)
            log.put(cycle, DB_EV_FETCH, top.stat_fetch_qid, top.stat_fetch_index | u64(top.stat_fetch_count) << 16);
        if (top.stat_decode_valid)
            log.put(cycle, DB_EV_DECODE, top.stat_decode_slot, top.stat_decode_sqid | u64(top.stat_decode_cid) << 16);
        if (top.stat_data_valid) log.put(cycle, DB_EV_DATA, top.stat_data_slot, 0);
        if (top.stat_cqe_valid) log.put(cycle, DB_EV_CQE, top.stat_cqe_slot, 0);
        if (top.stat_irq_valid) log.put(cycle, DB_EV_IRQ, top.stat_irq_vector, 0);
    }
}

/// bits: the causes that the last edge has counted, STALL_LATENCY cycles after them.
inline void sample_stalls(EventLog& log, u32 bits, u64 cycle) {
    constexpr u32 STALL_LATENCY = 2;
    if (!log.stalls_seen) log.stalls_seen = true;
    else if (bits != log.stalled) log.put(cycle - STALL_LATENCY, DB_EV_STALL, log.stalled = bits, 0);
}

/// ready, on: what the hard block has offered to the core.
template <u32 DATA_W, class Top>
void sample_streams(EventLog& log, const Top& top, u64 cycle, bool rq_ready, bool rc_on, bool cq_on) {
    if (top.m_axis_rq_tvalid && rq_ready) {
        const auto& d = top.m_axis_rq_tdata;
        auto first = [&](u32 at) {  // dword of a descriptor
            const u64 addr = (u64(port_word(d, at + 1)) << 32) | (port_word(d, at) & ~3u);
            const u32 w = port_word(d, at + 2);
            log.put(cycle, w >> 11 & 15 ? DB_EV_RQ_WRITE : DB_EV_RQ_READ, w & 0x7ff, addr);
        };
        if constexpr (DATA_W == 512) {  // two packets may share a beat: PG213, RQ tuser of 512 bits
            const u32 u = port_word(top.m_axis_rq_tuser, 0);
            const u32 sops = u >> 20 & 3, eops = u >> 26 & 3;
            for (u32 i = 0; i < (eops + 1) / 2; ++i) log.put(cycle, DB_EV_RQ_LAST, 0, 0);
            if (sops & 1) first(4 * (u >> 22 & 3));
            if (sops & 2) first(4 * (u >> 24 & 3));
        } else {
            if (!log.rq_in) first(0);
            if (top.m_axis_rq_tlast) log.put(cycle, DB_EV_RQ_LAST, 0, 0);
            log.rq_in = !top.m_axis_rq_tlast;
        }
    }
    if (rc_on && top.s_axis_rc_tready) {
        bool last = top.s_axis_rc_tlast;
        if constexpr (DATA_W == 512) last |= (port_word(top.s_axis_rc_tuser, 2) >> 12 & 15) != 0;
        if (!log.rc_in) log.put(cycle, DB_EV_RC, 0, 0);
        if (last) log.put(cycle, DB_EV_RC_LAST, 0, 0);
        log.rc_in = !last;
    }
    if (cq_on && top.s_axis_cq_tready) log.put(cycle, DB_EV_CQ, 0, 0);
}

template <class Top>
void sample_media(EventLog& log, const Top& top, u64 cycle) {
    if (top.m_axi_arvalid && top.m_axi_arready) log.put(cycle, DB_EV_AR, top.m_axi_arid, top.m_axi_araddr);
    if (top.m_axi_rvalid && top.m_axi_rready) {
        bool& in = log.r_in[top.m_axi_rid & 1];
        if (!in) log.put(cycle, DB_EV_R, top.m_axi_rid, 0);
        if (top.m_axi_rlast) log.put(cycle, DB_EV_R_LAST, top.m_axi_rid, 0);
        in = !top.m_axi_rlast;
    }
    if (top.m_axi_awvalid && top.m_axi_awready) log.put(cycle, DB_EV_AW, 0, top.m_axi_awaddr);
    if (top.m_axi_wvalid && top.m_axi_wready) {
        if (!log.w_in) log.put(cycle, DB_EV_W, 0, 0);
        if (top.m_axi_wlast) log.put(cycle, DB_EV_W_LAST, 0, 0);
        log.w_in = !top.m_axi_wlast;
    }
    if (top.m_axi_bvalid && top.m_axi_bready) log.put(cycle, DB_EV_B, 0, 0);
}

}  // namespace db
