// SPDX-License-Identifier: Apache-2.0
// What the users of all host tops have in common: queues between the caller and the top's streams, their pace, errors
// and counters, registers over AXI4-Lite.
#pragma once

#include <algorithm>
#include <deque>

#include "common/counters.h"
#include "common/random.h"
#include "interface/db_host_sim.h"

namespace db {

#define DB_USER_COUNTERS(X)                   \
    X(STATUS_UNSTABLE, "error.status_stable") \
    X(RDATA_UNSTABLE, "error.rdata_stable")   \
    X(RECV_FORMAT, "error.recv_format")       \
    X(BUFFER_AXI, "error.buffer_axi")         \
    X(CMDS, "user.cmds")                      \
    X(CMD_STALL, "stall.cmd")                 \
    X(WDATA_BEATS, "user.wdata_beats")        \
    X(WDATA_STALL, "stall.wdata")             \
    X(RDATA_BEATS, "user.rdata_beats")        \
    X(RDATA_STALL, "stall.rdata")             \
    X(STATUSES, "user.statuses")              \
    X(FORWARDED, "user.forwarded")            \
    X(STAT_DOORBELLS, "user.stat_doorbells")  \
    X(STAT_CQES, "user.stat_cqes")            \
    X(SOURCE_FULL, "user.source_full")
DB_COUNTERS(UserCount, DB_USER_COUNTERS)

/// Pace of a stream: so many bytes in 1000 cycles, saved up for a few beats and `buffer` bytes at most; random
/// pauses.
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

/// A register access of the caller.
struct Access {
    enum : u32 { NOTHING, ASKED, ANSWERED };
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
    Counters<UserCount> count;
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

    bool answered() const {
        return axil.state == Access::ANSWERED || reg.state == Access::ANSWERED || adm.state == Access::ANSWERED;
    }

    // The write buffer in front has given a beat.
    void used(u32 bytes) {
        ++count[UserCount::WDATA_BEATS];
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

}  // namespace db
