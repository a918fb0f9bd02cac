// SPDX-License-Identifier: Apache-2.0
// Card memory, the Controller Memory Buffer's: an AXI4 slave (m_cmb_*) of bursts of one beat, without ids, with a latency and
// injected errors. With LOG2 0 there is none.
#pragma once

#include <algorithm>
#include <cstring>

#include "common/counters.h"
#include "common/ring.h"
#include "interface/db_sim.h"
#include "media/media.h"

namespace db {

#define DB_CARD_COUNTERS(X)            \
    X(BAD_BURST, "error.card_burst")   \
    X(UNSTABLE, "error.card_stable")   \
    X(READ_BEATS, "card.read_beats")   \
    X(WRITE_BEATS, "card.write_beats") \
    X(PORT_WORDS, "card.port_words")
DB_COUNTERS(CardCount, DB_CARD_COUNTERS)

/// LOG2: of its bytes.
template <class Top, u32 DATA_W, u32 LOG2>
class CardMemory {
    static constexpr u32 BYTES = DATA_W / 8;
    static constexpr u32 DEPTH = 128;  // accesses a direction

    struct Access {
        u64 addr, when;
        u8 resp;
    };

    Top& top;
    Media& memory;
    Counters<CardCount>& count;
    u64 latency;
    Ring<Access, DEPTH> reads, writes;  // the newest of `writes` may lack its data
    bool r_done = false, b_done = false;
    bool aw = false, w = false;  // an address waits for its data, data for its address
    u64 aw_addr = 0, w_strb = 0;
    u8 w_data[BYTES];
    bool held_aw = false, held_w = false, held_ar = false;
    u64 held_aw_addr = 0, held_ar_addr = 0;

    u8 response(u64 addr) { return memory.meets_error(addr, BYTES) ? 2 : 0; }

    bool good(u64 addr, u32 len, u32 size, u32 type) {
        const bool is = !(addr & (BYTES - 1)) && !len && (1u << size) == BYTES && type == 1;
        if (!is) ++count[CardCount::BAD_BURST];
        return is;
    }

    void stable(bool valid, bool ready, u64 addr, bool& held, u64& held_addr) {
        if (held && (!valid || addr != held_addr)) ++count[CardCount::UNSTABLE];
        held = valid && !ready;
        held_addr = addr;
    }

    void write(u64 now) {
        Access a{aw_addr, now + latency, response(aw_addr)};
        u8* const to = memory.store.mem + aw_addr;
        if (!a.resp)
            for (u32 i = 0; i < BYTES; ++i)
                if (w_strb >> i & 1) to[i] = w_data[i];
        writes.push(a);
        ++count[CardCount::WRITE_BEATS];
        aw = w = false;
    }

  public:
    CardMemory(Top& t, Media& m, Counters<CardCount>& c, const db_config& cfg)
        : top(t), memory(m), count(c), latency(ns_to_cycles(cfg.card_latency_ns, cfg.clock_khz)) {}

    void reset() {
        if constexpr (LOG2 > 0) {
            reads.clear();
            writes.clear();
            r_done = b_done = aw = w = held_aw = held_w = held_ar = false;
            top.m_cmb_rvalid = top.m_cmb_bvalid = 0;
            top.m_cmb_awready = top.m_cmb_wready = top.m_cmb_arready = 0;
        }
    }

    /// Outputs of the core in the cycle that ends now. True if something moves.
    bool sample(u64 now) {
        if constexpr (LOG2 > 0) {
            stable(top.m_cmb_awvalid, top.m_cmb_awready, top.m_cmb_awaddr, held_aw, held_aw_addr);
            stable(top.m_cmb_arvalid, top.m_cmb_arready, top.m_cmb_araddr, held_ar, held_ar_addr);
            if (held_w && (!top.m_cmb_wvalid || std::memcmp(w_data, &top.m_cmb_wdata, BYTES)))
                ++count[CardCount::UNSTABLE];
            held_w = top.m_cmb_wvalid && !top.m_cmb_wready && !w;
            if (held_w) std::memcpy(w_data, &top.m_cmb_wdata, BYTES);
            if (top.m_cmb_awvalid && top.m_cmb_awready) {
                aw = good(top.m_cmb_awaddr, top.m_cmb_awlen, top.m_cmb_awsize, top.m_cmb_awburst);
                aw_addr = top.m_cmb_awaddr;
            }
            if (top.m_cmb_wvalid && top.m_cmb_wready) {
                w = true;
                w_strb = top.m_cmb_wstrb;
                std::memcpy(w_data, &top.m_cmb_wdata, BYTES);
                if (!top.m_cmb_wlast) ++count[CardCount::BAD_BURST];
            }
            if (top.m_cmb_arvalid && top.m_cmb_arready &&
                good(top.m_cmb_araddr, top.m_cmb_arlen, top.m_cmb_arsize, top.m_cmb_arburst))
                reads.push({top.m_cmb_araddr, now + 1 + latency, response(top.m_cmb_araddr)});
            r_done = top.m_cmb_rvalid && top.m_cmb_rready;
            b_done = top.m_cmb_bvalid && top.m_cmb_bready;
            return top.m_cmb_rvalid | top.m_cmb_bvalid | top.m_cmb_awvalid | top.m_cmb_wvalid | top.m_cmb_arvalid;
        }
        return false;
    }

    /// After the clock edge; `now` is the cycle that begins. stall: bits to hold AW, W, AR, R, B back in this cycle.
    void update(u64 now, u32 stall) {
        if constexpr (LOG2 > 0) {
            if (aw && w) write(now);
            if (r_done) reads.pop();
            if (b_done) writes.pop();
            if (r_done || !top.m_cmb_rvalid) {
                top.m_cmb_rvalid = !reads.empty() && reads.front().when <= now && !(stall & 8);
                if (top.m_cmb_rvalid) {
                    top.m_cmb_rresp = reads.front().resp;
                    top.m_cmb_rlast = 1;
                    std::memcpy(&top.m_cmb_rdata, memory.store.mem + reads.front().addr, BYTES);
                    ++count[CardCount::READ_BEATS];
                }
            }
            if (b_done || !top.m_cmb_bvalid) {
                top.m_cmb_bvalid = !writes.empty() && writes.front().when <= now && !(stall & 16);
                if (top.m_cmb_bvalid) top.m_cmb_bresp = writes.front().resp;
            }
            r_done = b_done = false;
            const bool room = writes.size() < DEPTH - 2;
            top.m_cmb_awready = room && !aw && !(stall & 1);
            top.m_cmb_wready = room && !w && !(stall & 2);
            top.m_cmb_arready = reads.size() < DEPTH - 2 && !(stall & 4);
        }
        (void)now;
        (void)stall;
    }

    /// First cycle in which something will happen without the core doing anything.
    u64 next_event(u64 now) const {
        u64 e = NEVER;
        if constexpr (LOG2 > 0) {
            if (top.m_cmb_rvalid || top.m_cmb_bvalid || (aw && w)) return now;
            if (!reads.empty()) e = std::min(e, reads.front().when);
            if (!writes.empty()) e = std::min(e, writes.front().when);
        }
        return e < now ? now : e;
    }
};

}  // namespace db
