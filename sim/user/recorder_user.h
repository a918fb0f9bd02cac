// SPDX-License-Identifier: Apache-2.0
// The user's side of db_recorder: the source of the capture stream with the buffer before it, packets from and to the
// host, registers of the recorder and of its hosts. Packets with blocks are taken apart here: header checked, payload to
// its place in the caller's buffer. No input depends on an output of the same cycle.
#pragma once

#include <algorithm>
#include <cstring>

#include "common/ports.h"
#include "media/buffer_memory.h"
#include "user/axil_access.h"
#include "user/recorder_state.h"

namespace db {

/// N drives. BUFFER_LOG2: log2 of the bytes of the buffer's memory; 0: there is none.
template <class Top, u32 STREAM_W, u32 N, u32 BUFFER_LOG2>
struct RecorderUser final : RecorderState {
    static_assert(N <= MAX_DRIVES, "drives");
    static constexpr bool RECORDER = true;
    static constexpr u32 BEAT = STREAM_W / 8, HEAD_DW = 4, REPLY_DW = 3, RARE_DW = HEAD_DW + DB_REC_PACKET_DW;

    Top& top;
    bool w_on = false, rready = false, send_on = false;
    u32 send_at = 0, up_was = 0, rst_was = 0;
    // the packet that is coming
    u32 head[RARE_DW] = {}, dwords = 0, drive = 0;
    struct {
        bool on;
        u32 data[4];
        u8 side;
    } held = {};

    BufferMemory<Top, STREAM_W, BUFFER_LOG2> memory{top};
    u64 now = 0;

    RecorderUser(Top& t, const db_host_config& c) : RecorderState(c, BEAT, N), top(t) {}

    void clear() {
        RecorderState::clear();
        w_on = send_on = rready = false;
        send_at = dwords = 0;
        held = {};
        up_was = 0;
        rst_was = u32(ones(N));
        top.phy_ready = 0;
        memory.clear();
        top.s_axis_tvalid = top.s_axis_hostsend_tvalid = top.m_axis_hostrecv_tready = top.data_drop_blocks = 0;
        update_registers();
    }

    // Before the edge. True if something moves.
    bool sample(u64 cycle) {
        bool busy = false;
        now = cycle;
        busy |= memory.sample(cycle);
        count[UserCount::BUFFER_AXI] = memory.errors;
        if (w_on) {
            if (top.s_axis_tready) {
                busy = true;
                w_on = false;
                used(BEAT);
            } else {
                ++count[UserCount::WDATA_STALL];
            }
        }
        if (send_on && top.s_axis_hostsend_tready) {
            send_on = false;
            send_at += 4;
            if (send_at >= sends.front().dwords) {
                sends.pop_front();
                send_at = 0;
            }
        }
        busy |= send_on || !sends.empty();
        if (top.m_axis_hostrecv_tvalid) {
            busy = true;
            receive(cycle);
        } else {
            if (held.on) ++count[UserCount::RDATA_UNSTABLE];
            held.on = false;
        }
        busy |= sample_registers();
        if (top.stat_doorbell) count[UserCount::STAT_DOORBELLS] += u32(__builtin_popcount(top.stat_doorbell));
        if (top.stat_cqe) count[UserCount::STAT_CQES] += u32(__builtin_popcount(top.stat_cqe));
        if (u32(top.up) != up_was) events |= DB_HSTOP_UP;
        up_was = top.up;
        return busy;
    }

    void receive(u64 cycle) {
        u32 data[4];
        get_words(top.m_axis_hostrecv_tdata, data);
        const u32 keep = top.m_axis_hostrecv_tkeep;
        const bool last = top.m_axis_hostrecv_tlast;
        const u8 side = u8(keep | last << 4);
        if (held.on && (std::memcmp(held.data, data, 16) || held.side != side)) ++count[UserCount::RDATA_UNSTABLE];
        held.on = !rready;
        std::memcpy(held.data, data, 16);
        held.side = side;
        if (!rready) {
            ++count[UserCount::RDATA_STALL];
            return;
        }
        ++count[UserCount::RDATA_BEATS];
        rd.took();
        const u32 n = u32(__builtin_popcount(keep));
        if (keep != ones(n) || !n || (n < 4 && !last)) ++count[UserCount::RECV_FORMAT];
        if (dwords >= HEAD_DW && is_block()) {
            if (rbuf_len && drive < N) {
                const u64 at = got[drive];
                std::memcpy(rbuf + ((at / BLOCK * places + place[drive]) * BLOCK + at % BLOCK) % rbuf_len, data, 16);
            }
            got[drive % N] += 16;
            rbytes += 16;
        } else {
            for (u32 i = 0; i < n && dwords + i < RARE_DW; ++i) head[dwords + i] = data[i];
        }
        dwords += n;
        if (dwords == HEAD_DW && is_block()) {
            drive = head[0] >> 28;
            if (drive >= N || (head[0] & 0xfffff) != (got[drive % N] & 0xfffff)) ++count[UserCount::RECV_FORMAT];
            if (head[1] || head[3] || (head[2] != 0x800 + 1024 && head[2] != 0x800 + 32))
                ++count[UserCount::RECV_FORMAT];
        }
        if (!last) return;
        const u32 least = is_reply() ? REPLY_DW : HEAD_DW;
        if (dwords < least || (is_block() && dwords - HEAD_DW != (head[2] & 0x7ff))) ++count[UserCount::RECV_FORMAT];
        if (!is_block()) {
            db_rec_packet p{};
            p.cycle = cycle;
            p.dwords = dwords;
            std::memcpy(p.data, head, std::min(dwords, RARE_DW) * 4);
            packets.push_back(p);
            events |= DB_HSTOP_FORWARD;
        } else if (got[drive % N] % BLOCK == 0) {
            events |= DB_HSTOP_DATA;
        }
        dwords = 0;
    }
    // A reply has bit 31 of DWord 2 set.
    bool is_reply() const { return head[2] >> 31; }
    bool is_block() const { return !is_reply() && (head[0] >> 20 & 0xff) == 0x1f; }

    // Registers: the recorder's, and from 0x10000 (1 + i) on those of host i.
    bool sample_registers() {
        const u32 which = axil.addr >> 16;
        if (!which || axil.state != Access::ASKED) return sample_axil(top, axil, events);
        const u32 i = which - 1;
        if (axil.write) {
            if (get_bit(top.s_axil_host_awvalid, i) && get_bit(top.s_axil_host_awready, i)) axil.a_done = true;
            if (get_bit(top.s_axil_host_wvalid, i) && get_bit(top.s_axil_host_wready, i)) axil.w_done = true;
            if (get_bit(top.s_axil_host_bvalid, i)) {
                axil.state = Access::ANSWERED;
                get_lane(top.s_axil_host_bresp, i, 2, &axil.resp);
            }
        } else {
            if (get_bit(top.s_axil_host_arvalid, i) && get_bit(top.s_axil_host_arready, i)) axil.a_done = true;
            if (get_bit(top.s_axil_host_rvalid, i)) {
                axil.state = Access::ANSWERED;
                get_lane(top.s_axil_host_rresp, i, 2, &axil.resp);
                get_lane(top.s_axil_host_rdata, i, 32, &axil.data);
            }
        }
        if (axil.state == 2) events |= DB_HSTOP_ANSWER;
        return true;
    }
    void update_registers() {
        const u32 which = axil.addr >> 16;
        update_axil(top, axil, !which);
        for (u32 i = 0; i < N; ++i) {
            const bool ask = axil.state == Access::ASKED && which == i + 1;
            put_bit(top.s_axil_host_awvalid, i, ask && axil.write && !axil.a_done);
            put_bit(top.s_axil_host_wvalid, i, ask && axil.write && !axil.w_done);
            put_bit(top.s_axil_host_arvalid, i, ask && !axil.write && !axil.a_done);
            put_bit(top.s_axil_host_bready, i, ask && axil.write);
            put_bit(top.s_axil_host_rready, i, ask && !axil.write);
            if (!ask) continue;
            const u32 strobe = 15;
            put_lane(top.s_axil_host_awaddr, i, 16, &axil.addr);
            put_lane(top.s_axil_host_araddr, i, 16, &axil.addr);
            put_lane(top.s_axil_host_wdata, i, 32, &axil.data);
            put_lane(top.s_axil_host_wstrb, i, 4, &strobe);
        }
    }

    // Between two edges.
    void update() {
        if (top.data_enabled_out && !wbufs.empty()) {
            wr.tick();
            if (wr.buffer && wr.saved == wr.most()) ++count[UserCount::SOURCE_FULL];
            level_peak = std::max(level_peak, level());
        }
        rd.tick();
        if (!w_on && !wbufs.empty() && wr.ready(rng)) {
            const Buffer& b = wbufs.front();
            u32 w[STREAM_W / 32];
            std::memcpy(w, b.p + b.at, BEAT);
            put_words(top.s_axis_tdata, w);
            top.s_axis_tlast = b.at % BLOCK == BLOCK - BEAT;
            w_on = true;
        }
        top.s_axis_tvalid = w_on;
        top.data_drop_blocks = drop_on || (drop_bytes && level() > drop_bytes);
        if (!send_on && !sends.empty() && !(wr.pause && rng.below(100) < wr.pause)) {
            const db_rec_packet& p = sends.front();
            const u32 n = std::min(4u, p.dwords - send_at);
            put_words(top.s_axis_hostsend_tdata, p.data + send_at);
            top.s_axis_hostsend_tkeep = u8(ones(n));
            top.s_axis_hostsend_tlast = send_at + n == p.dwords;
            send_on = true;
        }
        top.s_axis_hostsend_tvalid = send_on;
        memory.update(now + 1, rng, wr.pause);
        rready = rd.ready(rng);
        top.m_axis_hostrecv_tready = rready;
        update_registers();
    }

    // The next cycle in which it would do something to a top that is idle.
    u64 next_event(u64 cycle) const {
        if (send_on || !sends.empty() || axil.state == Access::ASKED) return cycle;
        if (w_on || wbufs.empty()) return NEVER;
        return cycle + wr.wait();
    }
};

}  // namespace db
