// SPDX-License-Identifier: Apache-2.0
// What a top shows of its work, recorded with cycle numbers: its stat_* pulses, and first and last beats at its
// boundaries. Off until db_events_open; then one look a cycle. A top without stat_* ports has boundary events alone.
#ifndef DB_STATS_H
#define DB_STATS_H

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "db_sim.h"

namespace db {

template <class T, class = void>
struct HasStats : std::false_type {};
template <class T>
struct HasStats<T, std::void_t<decltype(std::declval<T&>().stat_doorbell_valid)>> : std::true_type {};

// The port as an array of 32-bit words, whatever type Verilator gave it.
template <class P>
inline uint32_t port_word(const P& port, unsigned i) {
    uint32_t w;
    std::memcpy(&w, reinterpret_cast<const char*>(&port) + 4 * i, 4);
    return w;
}

template <class Top, unsigned DATA_W>
class Events {
    std::vector<db_event> ring;
    uint64_t head = 0, tail = 0, lost_ = 0;
    uint32_t kinds = 0;
    bool rc_in = false, rq_in = false, w_in = false, r_in[2] = {};

    void put(uint64_t cycle, uint32_t kind, uint32_t a, uint64_t b) {
        if (!(kinds >> kind & 1)) return;
        if (head - tail == ring.size()) {
            ++lost_;
            return;
        }
        ring[head++ % ring.size()] = db_event{cycle, b, kind, a};
    }

  public:
    bool on() const { return kinds != 0; }
    uint64_t lost() const { return lost_; }

    void open(uint32_t wanted, uint32_t capacity) {
        kinds = capacity ? wanted : 0;
        ring.assign(capacity, db_event{});
        head = tail = lost_ = 0;
        rc_in = rq_in = w_in = r_in[0] = r_in[1] = false;  // to be opened while nothing moves
    }

    int take(db_event* out, int n) {
        int k = 0;
        for (; k < n && tail != head; ++k) out[k] = ring[tail++ % ring.size()];
        return k;
    }

    // Before the rising edge, when all handshakes of this cycle can be seen.
    void sample(const Top& top, uint64_t cycle, bool rq_ready, bool rc_on, bool cq_on) {
        if constexpr (HasStats<Top>::value) {
            if (top.stat_doorbell_valid) put(cycle, DB_EV_DOORBELL, top.stat_doorbell_qid, top.stat_doorbell_tail);
            if (top.stat_fetch_valid)
                put(cycle, DB_EV_FETCH, top.stat_fetch_qid, top.stat_fetch_index | uint64_t(top.stat_fetch_count) << 16);
            if (top.stat_decode_valid)
                put(cycle, DB_EV_DECODE, top.stat_decode_slot,
                    top.stat_decode_sqid | uint64_t(top.stat_decode_cid) << 16);
            if (top.stat_data_valid) put(cycle, DB_EV_DATA, top.stat_data_slot, 0);
            if (top.stat_cqe_valid) put(cycle, DB_EV_CQE, top.stat_cqe_slot, 0);
            if (top.stat_irq_valid) put(cycle, DB_EV_IRQ, top.stat_irq_vector, 0);
        }
        if (top.m_axis_rq_tvalid && rq_ready) {
            const auto& d = top.m_axis_rq_tdata;
            auto first = [&](unsigned at) {  // dword of a descriptor
                const uint64_t addr = (uint64_t(port_word(d, at + 1)) << 32) | (port_word(d, at) & ~3u);
                const uint32_t w = port_word(d, at + 2);
                put(cycle, w >> 11 & 15 ? DB_EV_RQ_WRITE : DB_EV_RQ_READ, w & 0x7ff, addr);
            };
            if constexpr (DATA_W == 512) {  // two packets may share a beat: PG213, RQ tuser of 512 bits
                const uint32_t u = port_word(top.m_axis_rq_tuser, 0);
                const unsigned sops = u >> 20 & 3, eops = u >> 26 & 3;
                for (unsigned i = 0; i < (eops + 1) / 2; ++i) put(cycle, DB_EV_RQ_LAST, 0, 0);
                if (sops & 1) first(4 * (u >> 22 & 3));
                if (sops & 2) first(4 * (u >> 24 & 3));
            } else {
                if (!rq_in) first(0);
                if (top.m_axis_rq_tlast) put(cycle, DB_EV_RQ_LAST, 0, 0);
                rq_in = !top.m_axis_rq_tlast;
            }
        }
        if (rc_on && top.s_axis_rc_tready) {
            bool last = top.s_axis_rc_tlast;
            if constexpr (DATA_W == 512) last |= (port_word(top.s_axis_rc_tuser, 2) >> 12 & 15) != 0;
            if (!rc_in) put(cycle, DB_EV_RC, 0, 0);
            if (last) put(cycle, DB_EV_RC_LAST, 0, 0);
            rc_in = !last;
        }
        if (cq_on && top.s_axis_cq_tready) put(cycle, DB_EV_CQ, 0, 0);
        if (top.m_axi_arvalid && top.m_axi_arready) put(cycle, DB_EV_AR, top.m_axi_arid, top.m_axi_araddr);
        if (top.m_axi_rvalid && top.m_axi_rready) {
            bool& in = r_in[top.m_axi_rid & 1];
            if (!in) put(cycle, DB_EV_R, top.m_axi_rid, 0);
            if (top.m_axi_rlast) put(cycle, DB_EV_R_LAST, top.m_axi_rid, 0);
            in = !top.m_axi_rlast;
        }
        if (top.m_axi_awvalid && top.m_axi_awready) put(cycle, DB_EV_AW, 0, top.m_axi_awaddr);
        if (top.m_axi_wvalid && top.m_axi_wready) {
            if (!w_in) put(cycle, DB_EV_W, 0, 0);
            if (top.m_axi_wlast) put(cycle, DB_EV_W_LAST, 0, 0);
            w_in = !top.m_axi_wlast;
        }
        if (top.m_axi_bvalid && top.m_axi_bready) put(cycle, DB_EV_B, 0, 0);
    }

    // Counters of cycles in which an engine waited; how many there are.
    static int stalls(const Top& top, uint32_t* out, int n) {
        if constexpr (HasStats<Top>::value) {
            const int have = int(sizeof top.stat_stall / 4);
            for (int i = 0; i < have && i < n; ++i) out[i] = port_word(top.stat_stall, unsigned(i));
            return have;
        }
        (void)top, (void)out, (void)n;
        return 0;
    }
};

}  // namespace db
#endif
