// SPDX-License-Identifier: Apache-2.0
// What the users of all host tops have in common: queues between the caller and the top's streams, their pace, errors
// and counters, registers over AXI4-Lite.
#pragma once

#include <deque>

#include "db_host_sim.h"
#include "util.h"

namespace db {

enum UserErr : u32 { E_STATUS_STABLE, E_RDATA_STABLE, E_RECV_FORMAT, E_BUFFER_AXI, E_USER_COUNT };
enum UserStat : u32 {
    S_CMDS, S_CMD_STALL, S_WDATA_BEATS, S_WDATA_STALL, S_RDATA_BEATS, S_RDATA_STALL, S_STATUSES, S_FWD, S_STAT_DOORBELLS,
    S_STAT_CQES, S_SOURCE_FULL, S_USER_COUNT
};

// Pace of a stream: so many bytes in 1000 cycles, saved up for a few beats and `buffer` bytes at most; random
// pauses.
struct Pace {
    u64 rate = 0, saved = 0, beat = 0, buffer = 0;
    u32 pause = 0;
    bool ready(Rng& rng) const { return (!rate || saved >= beat * 1000) && !(pause && rng.below(100) < pause); }
    void tick(u64 cycles = 1) {
        if (rate) saved = std::min(saved + rate * cycles, most());
    }
    u64 most() const { return beat * 4000 + buffer * 1000; }
    void took() {
        if (rate) saved -= beat * 1000;
    }
    // Cycles until a beat may go.
    u64 wait() const { return !rate || saved >= beat * 1000 ? 0 : (beat * 1000 - saved + rate - 1) / rate; }
};

// 0 nothing, 1 asked, 2 answered
struct Access {
    u32 state, addr, data, resp;
    bool write, a_done, w_done;
};

struct UserState {
    static constexpr u32 SQE_DW = 16;
    struct Buffer {
        const u8* p;
        u64 len, at;
        u32 repeat;  // further times
    };

    Rng rng;
    Pace wr, rd;
    u64 err[E_USER_COUNT] = {}, stat[S_USER_COUNT] = {};
    u32 events = 0;
    std::deque<db_block_cmd> cmds;
    std::deque<Buffer> wbufs;
    std::deque<db_block_status> statuses;
    std::deque<db_rdata_end> ends;
    std::deque<db_fwd> fwd;
    u8* rbuf = nullptr;
    u64 rbuf_len = 0, rbytes = 0;
    bool fwd_stall = false;
    Access axil = {}, reg = {};
    struct {
        u32 state, sqe[SQE_DW], cqe[4];
        u32 sent;  // dwords
        bool timeout;
    } adm = {};

    UserState(const db_host_config& c, u32 write_beat, u32 read_beat) : rng(c.seed + 77) {
        wr.rate = c.write_rate;
        rd.rate = c.read_rate;
        wr.beat = write_beat;
        rd.beat = read_beat;
        wr.pause = rd.pause = c.user_stall_pct;
    }

    void clear() {
        cmds.clear();
        wbufs.clear();
        statuses.clear();
        ends.clear();
        fwd.clear();
        axil = reg = {};
        adm = {};
    }

    // The write buffer in front has given a beat.
    void used(u32 bytes) {
        ++stat[S_WDATA_BEATS];
        wr.took();
        Buffer& b = wbufs.front();
        b.at += bytes;
        if (b.at < b.len) return;
        b.at = 0;
        if (b.repeat) --b.repeat;
        else wbufs.pop_front();
    }

    void skipped(u64 n) {
        wr.tick(n);
        rd.tick(n);
    }
};

// Before the edge: one AXI4-Lite access. True if one is under way.
template <class Top>
bool sample_axil(const Top& top, Access& a, u32& events) {
    if (a.state != 1) return false;
    if (a.write) {
        if (top.s_axil_awvalid && top.s_axil_awready) a.a_done = true;
        if (top.s_axil_wvalid && top.s_axil_wready) a.w_done = true;
        if (top.s_axil_bvalid && top.s_axil_bready) a.state = 2, a.resp = top.s_axil_bresp;
    } else {
        if (top.s_axil_arvalid && top.s_axil_arready) a.a_done = true;
        if (top.s_axil_rvalid && top.s_axil_rready) {
            a.state = 2;
            a.resp = top.s_axil_rresp;
            a.data = top.s_axil_rdata;
        }
    }
    if (a.state == 2) events |= DB_HSTOP_ANSWER;
    return true;
}

// Between two edges. on: this port is meant.
template <class Top>
void update_axil(Top& top, const Access& a, bool on = true) {
    const bool ask = on && a.state == 1;
    top.s_axil_awvalid = ask && a.write && !a.a_done;
    top.s_axil_wvalid = ask && a.write && !a.w_done;
    top.s_axil_arvalid = ask && !a.write && !a.a_done;
    top.s_axil_bready = ask && a.write;
    top.s_axil_rready = ask && !a.write;
    if (ask) {
        top.s_axil_awaddr = top.s_axil_araddr = a.addr;
        top.s_axil_wdata = a.data;
        top.s_axil_wstrb = 15;
    }
}

}  // namespace db
