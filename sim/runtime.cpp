// SPDX-License-Identifier: Apache-2.0
// The simulator runtime: hard block, PCIe link, root complex and host memory around one Verilated top, and the loop
// that turns its clock. README.md says how each part behaves. Nothing in step() allocates or looks into a map, but for
// DMA to regions without memory, which is the caller's slow path.
#include "db_sim.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include DB_TOP_HEADER
#include "host.h"
#include "link.h"
#include "media.h"
#include "pcie_pack.h"
#include "stats.h"
#include "util.h"

#if VM_COVERAGE
#include "verilated_cov.h"
#endif
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif
#ifdef DB_STATS_HEADER
#include DB_STATS_HEADER  // struct DbStats { void sample(const DB_TOP&, uint64_t cycle); }: called before each edge
#endif

namespace db {

using Top = DB_TOP;
constexpr u32 DATA_W = DB_DATA_W;
constexpr u32 N = DATA_W / 32;  // dwords a beat
constexpr bool W512 = DATA_W == 512;
#ifndef DB_STRADDLE
#define DB_STRADDLE (DB_DATA_W == 512)
#endif
constexpr bool STRADDLE = DB_STRADDLE;  // RQ and RC, an option of the hard block
static_assert(!STRADDLE || W512, "only streams of 512 bits straddle here");
static_assert(DATA_W == 128 || DATA_W == 256 || DATA_W == 512, "DB_DATA_W");
static_assert(sizeof(std::declval<Top&>().m_axis_rq_tdata) == DATA_W / 8, "DB_DATA_W is not the top's width");

constexpr u32 P_SLOTS = 64, NP_SLOTS = 64, CC_SLOTS = 64, RC_SLOTS = 64, MMIO_SLOTS = 1024, CQ_SLOTS = 64;
constexpr u32 MAX_MMIO_DW = 16;
constexpr u32 MMIO_TAGS = 64;
constexpr u32 READS = 1024;
constexpr u32 POLL_CYCLES = 256;
constexpr u32 IDLE_CYCLES = 8;  // the core's idle must be high for so many cycles in a row before time is skipped
constexpr u32 BME_GRACE = 64;   // cycles after bus master goes off in which a request is dropped without complaint

struct PostedTlp {
    u32 w[4 + MAX_DW + N];
    u64 seq;
    u32 ndw;
    u8 first_be, last_be;
};
struct ReadTlp {
    u64 addr, seq;
    u16 dw;
    u8 first_be, last_be, tag, fn;
};
struct CplTlp {  // completion of a read of the BAR
    u32 w[3 + 32 + N];
    u64 seq, arrive;
    u32 ndw;
};
struct RcPacket {
    u32 w[3 + MAX_DW + N];
    u64 arrive;
    u32 ndw, release;  // release: bytes of completion buffer that are free once the core has it
    u8 first_be, last_be;
};
struct CqPacket {
    u32 w[4 + MAX_MMIO_DW + N];
    u64 arrive;
    u32 ndw;
    u8 first_be, last_be;
};
struct MmioReq {
    u32 off, len, tag;
    bool write;
    u8 data[MAX_MMIO_DW * 4];
};
struct MmioRead {
    int state;  // 0 free, 1 waiting, 2 answered, else a DB_MMIO_* code
    u32 off, len, dw;
    u64 deadline;
    u8 data[MAX_MMIO_DW * 4];
};
struct HostRead {
    u64 addr, ready;
    u32 dw, done_dw;
    u8 first_be, last_be, tag, fn, fault;
    bool msg;
    u64 msg_id;
    u8* data;  // answer of a message
};
struct Flight {
    u64 arrive;
    bool np;
};
struct Credit {
    u64 at;
    u32 ph, pd, nph;
};
struct Message {
    u64 id, addr;
    u32 len;
    bool write;
    std::vector<u8> data;
};

enum Err : u32 {
    E_RQ_GAP, E_RQ_STABLE, E_RQ_FORMAT, E_RQ_MPS, E_RQ_MRRS, E_RQ_4K, E_RQ_TAG, E_RQ_BE, E_RQ_BME, E_CC_GAP,
    E_CC_FORMAT, E_CC_UNEXPECTED, E_IRQ_LOST, E_MMIO_TIMEOUT, E_RTL, E_COUNT
};
enum Stat : u32 {
    S_RQ_DISCONTINUE, S_RQ_DROPPED_BME, S_WRITE_UNMAPPED, S_READ_UNMAPPED, S_READS_ANSWERED, S_IRQS, S_MSG_READS,
    S_MSG_WRITES, S_SKIPPED, S_DOORBELLS, S_RQ_STALL, S_RC_STALL, S_CQ_STALL, S_CREDIT_STALL, S_COUNT
};

static const char* const counter_names[] = {
    "up.MRd.tlps", "up.MRd.header", "up.MRd.payload", "up.MWr.tlps", "up.MWr.header", "up.MWr.payload",
    "up.CplD.tlps", "up.CplD.header", "up.CplD.payload", "up.Cpl.tlps", "up.Cpl.header", "up.Cpl.payload",
    "up.ack.bytes", "up.fc.bytes",
    "down.MRd.tlps", "down.MRd.header", "down.MRd.payload", "down.MWr.tlps", "down.MWr.header", "down.MWr.payload",
    "down.CplD.tlps", "down.CplD.header", "down.CplD.payload", "down.Cpl.tlps", "down.Cpl.header", "down.Cpl.payload",
    "down.ack.bytes", "down.fc.bytes",
    "error.rq_gap", "error.rq_stable", "error.rq_format", "error.rq_mps", "error.rq_mrrs", "error.rq_4k",
    "error.rq_tag", "error.rq_be", "error.rq_bus_master", "error.cc_gap", "error.cc_format", "error.cc_unexpected",
    "error.irq_lost", "error.mmio_timeout", "error.rtl",
    "hard.rq_discontinued", "hard.rq_dropped_bus_master", "host.write_unmapped", "host.read_unmapped",
    "host.reads_answered", "host.irqs", "host.message_reads", "host.message_writes", "sim.skipped_cycles",
    "sim.doorbells", "stall.rq", "stall.rc", "stall.cq", "stall.credit",
    "error.media_burst", "error.media_wlast", "error.media_stable", "error.media_range", "error.media_cmd",
    "media.read_beats", "media.write_beats", "media.read_bursts", "media.write_bursts", "media.flushes",
    "media.zeroes", "media.errors_injected",
};
constexpr int COUNTERS = int(sizeof counter_names / sizeof *counter_names);

}  // namespace db

using namespace db;

struct db_sim {
    db_config cfg;
    VerilatedContext ctx;
    std::unique_ptr<Top> top_p;
    Top& top;
    Media<Top, DATA_W> media;
    Rng rng;
#ifdef DB_STATS_HEADER
    DbStats stats;
#endif
    Events<Top, DATA_W> recorder;
#if VM_TRACE
    std::unique_ptr<VerilatedVcdC> vcd;
    void dump(bool high) {
        if (vcd) vcd->dump(cycle * 2 + high);
    }
#else
    void dump(bool) {}
#endif

    u64 cycle = 0;
    u32 events = 0;  // DB_STOP_* that have happened
    u64 err[E_COUNT] = {};
    u64 stat[S_COUNT] = {};

    // time_us
    u64 us = 0, us_frac = 0, us_offset = 0;

    // configuration that the host sets
    int c_bm = 1, c_msix = 0, c_mask = 0, c_intx_off = 0;
    u32 mps, mrrs;
    u64 bme_off_at = 0;

    // link
    Link up, down;
    u64 seq = 0;
    Ring<PostedTlp, P_SLOTS> pq;
    Ring<ReadTlp, NP_SLOTS> nq;
    Ring<CplTlp, CC_SLOTS> cq_cpl;
    Ring<Flight, 256> flight;
    Ring<Credit, 1024> credits;
    u32 tx_bytes = 0;  // posted payload and headers waiting for the wire
    u32 ph, pd, nph;
    u32 reads_out = 0, cpld_out = 0;
    u64 credit_lat;

    // RQ, CC: packet that comes in
    RqIn<DATA_W, STRADDLE, 4 + MAX_DW + N - 1> rq;
    bool rq_ready = false;
    bool cc_in = false, cc_ready = false, cc_bad = false;
    u32 cc_ndw = 0;
    struct {
        bool on, last;
        u32 keep;
        u32 data[N], user[5];
    } rq_held = {};

    // host reads
    HostRead reads[READS];
    u16 free_read[READS];
    u32 n_free = 0;
    Ring<u16, READS> waiting;  // by ready time
    u16 active[READS];
    u32 n_active = 0, n_msg = 0;
    Ring<std::pair<u64, u16>, READS> timeouts;
    u8 tag_used[256 * 256] = {};
    u64 read_lat, timeout_cycles, mmio_timeout;
    u32 jitter;

    // to the core
    Ring<RcPacket, RC_SLOTS> rcq;
    Ring<CqPacket, CQ_SLOTS> cqq;
    Ring<MmioReq, MMIO_SLOTS> mmio;
    u32 rc_pos = 0, cq_pos = 0;
    u32 rc_release = 0;
    bool rc_on = false, cq_on = false, rc_fired = false, cq_fired = false;
    MmioRead mread[MMIO_TAGS] = {};
    u32 mread_n = 0, mread_next = 0;

    // host memory, messages, interrupts
    Regions regions;
    std::deque<Message> msgs;  // not fetched yet
    u32 msg_writes = 0;        // of these, writes
    u64 next_msg = 1;
    std::deque<db_irq> irqs;
    int eventfds[4096];
    std::vector<Fault> faults;
    db_watch watch[64];
    u32 n_watch = 0;
    u8* bell = nullptr;
    static constexpr u32 BELL_EMPTY = ~0u;  // in the doorbell page: nothing written since we looked
    u64 next_poll = 0;

    u32 intx = 0;
    u32 quiet = 0;
    bool flr_done = false;

    explicit db_sim(const db_config& c)
        : cfg(c), top_p(new Top(&ctx, "top")), top(*top_p), media(top), rng(c.seed), mps(c.mps), mrrs(c.mrrs) {
        ctx.fatalOnError(false);
#if VM_TRACE
        ctx.traceEverOn(true);
#endif
        up.rate(c.gen, c.lanes, c.clock_khz);
        down.rate(c.gen, c.lanes, c.clock_khz);
        up.back = &down;
        down.back = &up;
        up.latency = down.latency = ns_to_cycles(c.link_latency_ns, c.clock_khz);
        up.ack_every = down.ack_every = c.ack_every;
        up.fc_every = down.fc_every = c.fc_every;
        credit_lat = ns_to_cycles(c.credit_ns, c.clock_khz);
        read_lat = ns_to_cycles(c.host_latency_ns, c.clock_khz);
        jitter = u32(ns_to_cycles(c.jitter_ns, c.clock_khz));
        timeout_cycles = ns_to_cycles(c.cpl_timeout_ns, c.clock_khz);
        mmio_timeout = ns_to_cycles(c.mmio_timeout_ns, c.clock_khz);
        std::fill(eventfds, eventfds + 4096, -1);
    }
    ~db_sim() {
        top.final();
#if VM_TRACE
        if (vcd) vcd->close();
#endif
    }

    // ---------------------------------------------------------------- reset

    void clear() {
        up.restart();
        down.restart();
        pq.clear();
        nq.clear();
        cq_cpl.clear();
        flight.clear();
        credits.clear();
        tx_bytes = 0;
        ph = cfg.ph;
        pd = cfg.pd;
        nph = cfg.nph;
        reads_out = cpld_out = 0;
        rq.in = cc_in = rc_on = cq_on = rc_fired = cq_fired = false;
        rc_pos = rc_release = 0;
        rq_held = {};
        for (u32 i = 0; i < READS; ++i) {
            reads[i].data = nullptr;
            reads[i].msg = false;
            free_read[i] = u16(READS - 1 - i);
        }
        read_data.clear();
        n_free = READS;
        waiting.clear();
        n_active = n_msg = 0;
        timeouts.clear();
        std::memset(tag_used, 0, sizeof tag_used);
        rcq.clear();
        cqq.clear();
        mmio.clear();
        for (MmioRead& m : mread)
            if (m.state == 1) m.state = DB_MMIO_TIMEOUT;
        mread_n = 0;
        msgs.clear();
        msg_writes = 0;
        irqs.clear();
        events = 0;
        quiet = 0;
        intx = 0;
        flr_done = false;
        top.s_axis_cq_tvalid = top.s_axis_rc_tvalid = 0;
        top.m_axis_rq_tready = top.m_axis_cc_tready = 0;
        rq_ready = cc_ready = false;
        media.reset();
    }

    void apply_cfg() {
        auto enc = [](u32 bytes) { return u32(__builtin_ctz(bytes)) - 7; };
        top.cfg_max_payload = enc(mps);
        top.cfg_max_read_req = enc(mrrs);
        if (top.cfg_bus_master && !c_bm) bme_off_at = cycle;
        top.cfg_bus_master = c_bm;
        top.cfg_msix_enable = c_msix;
        top.cfg_msix_mask = c_mask;
        top.cfg_intx_disable = c_intx_off;
        quiet = 0;
    }

    void reset() {
        clear();
        top.rst = 1;
        top.cfg_flr = 0;
        top.media_pages = media.size / 4096;
        apply_cfg();
        tick_us(0);
        for (int i = 0; i < 16; ++i) {
            top.clk = 0;
            top.eval();
            top.clk = 1;
            top.eval();
            ++cycle;
            tick_us(1);
        }
        top.rst = 0;
        drive_ready();
    }

    void tick_us(u64 cycles) {
        us_frac += cycles * 1000;
        if (us_frac >= cfg.clock_khz) {
            us += us_frac / cfg.clock_khz;
            us_frac %= cfg.clock_khz;
        }
        top.time_us = us + us_offset;
    }

    bool stalled() { return cfg.stall_pct && rng.below(100) < cfg.stall_pct; }

    // ---------------------------------------------------------------- RQ: requests of the core

    // room for a packet is certain: tready falls before the queues are full
    void rq_store(u32 at, const u32* src, u32 n) {
        if (rq.type != REQ_MRD) std::memcpy(&pq.slot().w[at], src, n * 4);
    }

    void rq_malformed() { ++err[E_RQ_FORMAT]; }

    void rq_beat() {
        u32 user[5] = {};
        get_words(top.m_axis_rq_tuser, user);
        rq.beat(reinterpret_cast<const u32*>(&top.m_axis_rq_tdata), user, top.m_axis_rq_tkeep, top.m_axis_rq_tlast,
                *this);
    }

    void rq_packet() {
        const u64 addr = (u64(rq.desc[1]) << 32) | (rq.desc[0] & ~3u);
        const u32 dw = rq.desc[2] & 0x7ff;
        const u8 fn = rq.desc[2] >> 16 & 0xff, tag = rq.desc[3] & 0xff;
        const bool np = rq.type == REQ_MRD;
        if (rq.drop) {
            ++stat[S_RQ_DISCONTINUE];
            return;
        }
        if (rq.bad || rq.type > REQ_MWR || dw == 0 || dw > 1024 || rq.ndw != (np ? 4 : 4 + dw)) {
            ++err[E_RQ_FORMAT];
            return;
        }
        if ((addr & 4095) + dw * 4 > 4096) {
            ++err[E_RQ_4K];
            return;
        }
        if (dw == 1 ? rq.last_be != 0 : rq.first_be == 0 || rq.last_be == 0) ++err[E_RQ_BE];
        if (!c_bm) {
            if (cycle - bme_off_at > BME_GRACE) ++err[E_RQ_BME];
            ++stat[S_RQ_DROPPED_BME];
            if (np) local_rc(tag, fn, RC_BAD_STATUS);
            return;
        }
        if (np) {
            if (dw * 4 > mrrs) ++err[E_RQ_MRRS];
            u8& used = tag_used[fn << 8 | tag];
            if (used) {
                ++err[E_RQ_TAG];
                return;
            }
            used = 1;
            nq.push(ReadTlp{addr, seq++, u16(dw), rq.first_be, rq.last_be, tag, fn});
        } else {
            if (dw * 4 > mps) {
                ++err[E_RQ_MPS];
                return;
            }
            PostedTlp& p = pq.slot();
            p.seq = seq++;
            p.ndw = dw;
            p.first_be = rq.first_be;
            p.last_be = rq.last_be;
            tx_bytes += 16 + dw * 4;
            pq.push();
        }
    }

    void rq_stalled() {
        ++stat[S_RQ_STALL];
        u32 user[5] = {};
        get_words(top.m_axis_rq_tuser, user);
        if (rq_held.on) {
            if (std::memcmp(rq_held.data, &top.m_axis_rq_tdata, N * 4) || rq_held.keep != top.m_axis_rq_tkeep ||
                rq_held.last != bool(top.m_axis_rq_tlast) || std::memcmp(rq_held.user, user, sizeof user))
                ++err[E_RQ_STABLE];
        }
        std::memcpy(rq_held.user, user, sizeof user);
        rq_held.on = true;
        std::memcpy(rq_held.data, &top.m_axis_rq_tdata, N * 4);
        rq_held.keep = top.m_axis_rq_tkeep;
        rq_held.last = top.m_axis_rq_tlast;
    }

    void cc_beat() {
        CplTlp& c = cq_cpl.slot();
        if (!cc_in) {
            cc_ndw = 0;
            cc_bad = false;
        }
        const bool last = top.m_axis_cc_tlast;
        const u32 keep = top.m_axis_cc_tkeep;
        cc_in = !last;
        if (cc_ndw + N > 3 + 32 + N - 1) cc_bad = true;
        else std::memcpy(&c.w[cc_ndw], &top.m_axis_cc_tdata, N * 4);
        const u32 n = last ? u32(__builtin_popcount(keep)) : N;
        if (keep != ones(n)) cc_bad = true;
        cc_ndw += n;
        if (!last) return;
        const u32 dw = c.w[1] & 0x7ff;
        if (cc_bad || cc_ndw != 3 + dw) {
            ++err[E_CC_FORMAT];
            return;
        }
        c.seq = seq++;
        c.ndw = dw;
        c.arrive = 0;
        cq_cpl.push();
    }

    // ---------------------------------------------------------------- upstream link

    void up_tx() {
        while (up.ready(cycle)) {
            const bool have_p = pq.mid != pq.tail, have_n = nq.mid != nq.tail, have_c = cq_cpl.mid != cq_cpl.tail;
            const u64 p_seq = have_p ? pq.next().seq : NEVER;
            bool p_ok = false, n_ok = false, c_ok = false;
            if (have_p) {
                const u32 need = (pq.next().ndw + 3) / 4;
                p_ok = !cfg.ph || (ph && (!cfg.pd || pd >= need));
            }
            if (have_n) {
                const ReadTlp& r = nq.next();
                n_ok = r.seq < p_seq && (!cfg.nph || nph) && n_free > NP_SLOTS &&
                       (!cfg.max_reads || reads_out < cfg.max_reads) &&
                       (!cfg.cpld_bytes || cpld_out == 0 || cpld_out + r.dw * 4u <= cfg.cpld_bytes);
            }
            // a completion stays behind earlier writes, unless those cannot move
            if (have_c) c_ok = cq_cpl.next().seq < p_seq || !p_ok;
            const u64 n_seq = n_ok ? nq.next().seq : NEVER, c_seq = c_ok ? cq_cpl.next().seq : NEVER;
            if (p_ok && p_seq < n_seq && p_seq < c_seq) {
                send_posted();
            } else if (n_ok && n_seq < c_seq) {
                send_read();
            } else if (c_ok) {
                CplTlp& c = cq_cpl.next();
                c.arrive = up.send(cycle, c.ndw ? CPLD : CPL, 3, c.ndw * 4);
                ++cq_cpl.mid;
            } else {
                if (have_p || have_n) ++stat[S_CREDIT_STALL];
                return;
            }
        }
    }

    void send_posted() {
        PostedTlp& p = pq.next();
        const u64 addr = (u64(p.w[1]) << 32) | p.w[0];
        flight.push(Flight{up.send(cycle, MWR, u32(header_dw(addr)), p.ndw * 4), false});
        if (cfg.ph) {
            --ph;
            if (cfg.pd) pd -= (p.ndw + 3) / 4;
        }
        tx_bytes -= 16 + p.ndw * 4;
        ++pq.mid;
    }

    void send_read() {
        ReadTlp& r = nq.next();
        flight.push(Flight{up.send(cycle, MRD, u32(header_dw(r.addr)), 0), true});
        if (cfg.nph) --nph;
        ++reads_out;
        cpld_out += r.dw * 4;
        ++nq.mid;
    }

    // Requests arrive at the root complex in the order in which they were sent. A write into memory, an interrupt or
    // a read stays behind writes that the caller has yet to fetch, so that nobody sees them overtaken.
    void up_rx() {
        while (!flight.empty() && flight.front().arrive <= cycle) {
            Credit c{cycle + credit_lat, 0, 0, 0};
            if (flight.front().np) {
                const ReadTlp& r = nq.front();
                if (!host_read(r)) return;
                c.nph = 1;
                nq.pop();
            } else {
                const PostedTlp& p = pq.front();
                if (!host_write(p)) return;
                c.ph = 1;
                c.pd = (p.ndw + 3) / 4;
                pq.pop();
            }
            flight.pop();
            if (c.nph ? cfg.nph : cfg.ph) credits.push(c);
        }
    }

    void credits_back() {
        while (!credits.empty() && credits.front().at <= cycle) {
            const Credit& c = credits.front();
            ph += c.ph;
            pd += c.pd;
            nph += c.nph;
            credits.pop();
        }
    }

    bool host_write(const PostedTlp& p) {
        const u64 addr = (u64(p.w[1]) << 32) | (p.w[0] & ~3u);
        const u32 n = p.ndw * 4;
        if (addr - cfg.msi_base < cfg.msi_bytes) {
            if (msg_writes) return false;
            interrupt(addr, p.w[4]);
            return true;
        }
        const u32 lead = p.first_be ? u32(__builtin_ctz(p.first_be)) : 4;
        const u8 lbe = p.ndw == 1 ? p.first_be : p.last_be;
        const u32 trail = lbe ? u32(__builtin_clz(u32(lbe))) - 28 : 4;
        const u8* src = reinterpret_cast<const u8*>(&p.w[4]);
        const Region* r = regions.find(addr, n);
        if (!r) {
            ++stat[S_WRITE_UNMAPPED];
            return true;
        }
        if (p.first_be == 0) return true;
        if (!r->ptr) {
            Message m{next_msg++, addr + lead, n - lead - trail, true, {}};
            m.data.assign(src + lead, src + n - trail);
            msgs.push_back(std::move(m));
            ++msg_writes;
            ++stat[S_MSG_WRITES];
            events |= DB_STOP_DMA;
            return true;
        }
        if (msg_writes) return false;
        if (!r->writable) {
            ++stat[S_WRITE_UNMAPPED];
            return true;
        }
        u8* dst = r->ptr + (addr - r->base);
        if (p.first_be == 15 && lbe == 15) {
            host_store(dst, src, n);
        } else {
            for (u32 i = 0; i < n; ++i) {
                const u8 be = i < 4 ? p.first_be : i >= n - 4 ? lbe : 15;
                if (be >> (i & 3) & 1) dst[i] = src[i];
            }
        }
        for (u32 i = 0; i < n_watch; ++i)
            if (watch[i].addr - addr < n) check_watch(watch[i]);
        return true;
    }

    bool check_watch(const db_watch& w) {
        const Region* r = regions.find(w.addr, 4);
        if (!r || !r->ptr) return false;
        u32 v;
        std::memcpy(&v, r->ptr + (w.addr - r->base), 4);
        if ((v & w.mask) != w.value) return false;
        events |= DB_STOP_WATCH;
        return true;
    }

    void interrupt(u64 addr, u32 data) {
        ++stat[S_IRQS];
        events |= DB_STOP_IRQ;
        if (data < 4096 && eventfds[data] == -2) return;
        if (data < 4096 && eventfds[data] >= 0) {
            std::atomic_thread_fence(std::memory_order_seq_cst);
            const u64 one = 1;
            if (write(eventfds[data], &one, 8) != 8) ++err[E_IRQ_LOST];
            return;
        }
        if (irqs.size() >= 1 << 20) {
            ++err[E_IRQ_LOST];
            return;
        }
        irqs.push_back(db_irq{addr, cycle, data, 0});
    }

    u8 fault_of(u64 addr, u32 n) {
        u8 kind = 0;
        for (Fault& f : faults) {
            if (!f.count || (f.len && (addr + n <= f.addr || addr >= f.addr + f.len))) continue;
            if (f.nth > 0) {
                --f.nth;
                continue;
            }
            if (kind) continue;
            --f.count;
            ++f.hits;
            kind = u8(f.kind);
        }
        return kind;
    }

    bool host_read(const ReadTlp& t) {
        const Region* reg = regions.find(t.addr, t.dw * 4);
        const bool msg = reg && !reg->ptr;
        if (msg_writes && !msg) return false;
        const u16 i = free_read[--n_free];
        HostRead& r = reads[i];
        r.addr = t.addr;
        r.dw = t.dw;
        r.done_dw = 0;
        r.first_be = t.first_be;
        r.last_be = t.dw == 1 ? t.first_be : t.last_be;
        r.tag = t.tag;
        r.fn = t.fn;
        r.fault = faults.empty() ? 0 : fault_of(t.addr, t.dw * 4);
        r.msg = false;
        r.data = nullptr;
        r.ready = cycle + read_lat + (jitter ? rng.below(jitter + 1) : 0);
        if (timeout_cycles && r.ready - cycle > timeout_cycles) r.fault = DB_FAULT_DROP;
        if (r.fault == DB_FAULT_DROP) {
            timeouts.push({cycle + timeout_cycles, i});
        } else if (msg && !r.fault) {
            r.msg = true;
            r.msg_id = next_msg;
            ++n_msg;
            ++stat[S_MSG_READS];
            msgs.push_back(Message{next_msg++, t.addr, t.dw * 4u, false, {}});
            events |= DB_STOP_DMA;
        } else {
            wait_ready(i);
        }
        return true;
    }

    // Reads that wait for the caller end as unsupported, writes it has not fetched are gone.
    void drop_messages() {
        msgs.clear();
        msg_writes = 0;
        for (u32 i = 0; n_msg && i < READS; ++i) {
            if (!reads[i].msg) continue;
            reads[i].msg = false;
            reads[i].fault = DB_FAULT_UR;
            reads[i].ready = cycle;
            --n_msg;
            wait_ready(u16(i));
        }
    }

    void wait_ready(u16 i) {
        u32 p = waiting.tail;
        waiting.push(i);
        while (p != waiting.head && reads[waiting.at(p - 1)].ready > reads[i].ready) {
            waiting.at(p) = waiting.at(p - 1);
            --p;
        }
        waiting.at(p) = i;
    }

    void free_slot(u16 i) {
        HostRead& r = reads[i];
        tag_used[r.fn << 8 | r.tag] = 0;
        if (r.data) {
            read_data.erase(std::find_if(read_data.begin(), read_data.end(),
                                         [&](const auto& d) { return d.get() == r.data; }));
            r.data = nullptr;
        }
        r.msg = false;
        free_read[n_free++] = i;
        --reads_out;
        ++stat[S_READS_ANSWERED];
    }
    std::vector<std::unique_ptr<u8[]>> read_data;

    // ---------------------------------------------------------------- downstream link

    void down_tx() {
        while (down.ready(cycle)) {
            if (!mmio.empty() && (!cfg.cq_tlps || cqq.size() < cfg.cq_tlps) && !cqq.full()) send_mmio();
            else if (n_active && rcq.size() < RC_SLOTS - 16) send_completion();
            else return;
        }
    }

    void send_mmio() {
        const MmioReq& m = mmio.front();
        CqPacket& c = cqq.slot();
        const u64 addr = cfg.bar0 + (m.off & ~3u);
        const u32 lead = m.off & 3, end = m.off + m.len, dw = (end + 3) / 4 - m.off / 4;
        const u32 first = dw == 1 ? (ones(m.len) << lead & 15) : (15u << lead & 15);
        const u32 lastb = dw == 1 ? 0 : (end & 3 ? u32(ones(end & 3)) : 15u);
        c.w[0] = u32(addr);
        c.w[1] = u32(addr >> 32);
        c.w[2] = dw | (m.write ? REQ_MWR : REQ_MRD) << 11;  // requester: the root complex, 0000
        c.w[3] = m.tag | 14u << 19;                         // function 0, BAR 0, aperture 16 KiB
        c.ndw = 4;
        if (m.write) {
            std::memset(&c.w[4], 0, dw * 4);
            std::memcpy(reinterpret_cast<u8*>(&c.w[4]) + lead, m.data, m.len);
            c.ndw += dw;
        }
        c.first_be = u8(first);
        c.last_be = u8(lastb);
        c.arrive = down.send(cycle, m.write ? MWR : MRD, u32(header_dw(addr)), m.write ? dw * 4 : 0);
        cqq.push();
        mmio.pop();
    }

    void send_completion() {
        const u32 k = jitter ? rng.below(n_active) : 0;
        const u16 i = active[k];
        HostRead& r = reads[i];
        RcPacket& c = rcq.slot();
        const u32 lead = r.done_dw == 0 && r.first_be ? u32(__builtin_ctz(r.first_be)) : 0;
        const u32 trail = r.last_be ? u32(__builtin_clz(u32(r.last_be))) - 28 : 0;
        const u64 addr = r.addr + r.done_dw * 4;
        const u32 left_dw = r.dw - r.done_dw;
        // a read of no bytes is answered as if it had asked for one
        const u32 count = r.first_be == 0 && r.dw == 1 ? 1 : left_dw * 4 - lead - trail;
        u32 status = SC, code = RC_OK, n_dw = 0;
        const u8* src = nullptr;
        if (r.fault == DB_FAULT_UR) status = UR;
        else if (r.fault == DB_FAULT_CA) status = CA;
        if (status == SC) {
            n_dw = left_dw;
            u32 limit = cfg.cpl_bytes == 0 ? mps : cfg.cpl_bytes == 1 ? (1 + rng.below(mps / cfg.rcb)) * cfg.rcb
                                                                      : std::min(cfg.cpl_bytes, mps);
            const u64 end = (addr + std::max(limit, cfg.rcb)) / cfg.rcb * cfg.rcb;
            if (addr + left_dw * 4 > end) n_dw = u32(end - addr) / 4;
            if (r.data) {
                src = r.data + r.done_dw * 4;
            } else {
                const Region* reg = regions.find(addr, n_dw * 4);
                if (reg && reg->ptr) {
                    src = reg->ptr + (addr - reg->base);
                } else {
                    status = UR;
                    n_dw = 0;
                    ++stat[S_READ_UNMAPPED];
                }
            }
        }
        if (status != SC) code = RC_BAD_STATUS;
        else if (r.fault == DB_FAULT_POISON && r.done_dw == 0) code = RC_POISONED;
        const bool done = status != SC || n_dw == left_dw;
        c.w[0] = ((u32(addr) + lead) & 0xfff) | code << 12 | count << 16 | u32(done) << 30;
        c.w[1] = n_dw | status << 11 | u32(code == RC_POISONED) << 14 | u32(r.fn) << 16;
        c.w[2] = r.tag;  // completer: the root complex, 0000
        if (n_dw) std::memcpy(&c.w[3], src, n_dw * 4);
        c.ndw = 3 + n_dw;
        c.release = done ? left_dw * 4 : n_dw * 4;
        c.first_be = r.done_dw == 0 ? r.first_be : 15;
        c.last_be = done ? r.last_be : 15;
        if (n_dw == 1) c.first_be &= c.last_be;
        c.arrive = down.send(cycle, n_dw ? CPLD : CPL, 3, n_dw * 4);
        rcq.push();
        r.done_dw += n_dw;
        if (done) {
            --n_active;
            for (u32 j = k; j < n_active; ++j) active[j] = active[j + 1];
            free_slot(i);
        }
    }

    // A completion that the hard block makes up itself: nothing on the wire, but behind what is on it. The queue has
    // room: link and timeouts leave a reserve, and the core can spoil at most one read a cycle.
    void local_rc(u8 tag, u8 fn, u32 code, u32 release = 0) {
        if (rcq.full()) return;
        RcPacket& c = rcq.slot();
        c.w[0] = code << 12 | 1u << 30;
        c.w[1] = (code == RC_BAD_STATUS ? u32(UR) << 11 : 0) | u32(fn) << 16;
        c.w[2] = tag;
        c.ndw = 3;
        c.release = release;
        c.first_be = c.last_be = 0;
        c.arrive = rcq.empty() ? cycle : std::max(cycle, rcq.at(rcq.tail - 1).arrive);
        rcq.push();
    }

    void expire() {
        while (!timeouts.empty() && timeouts.front().first <= cycle && rcq.size() < RC_SLOTS - 8) {
            const u16 i = timeouts.front().second;
            timeouts.pop();
            const HostRead& r = reads[i];
            local_rc(r.tag, r.fn, RC_TIMEOUT, r.dw * 4);
            free_slot(i);
        }
    }

    // ---------------------------------------------------------------- RC and CQ: to the core

    // A straddled beat: what has arrived, each completion at the next multiple of 4 lanes, up to four of them.
    void rc_straddled() {
        if (rc_on && !rc_fired) return;
        rc_fired = rc_on = false;
        cpld_out -= rc_release;
        rc_release = 0;
        u32 user[6] = {}, data[16] = {}, sops = 0, eops = 0;
        for (u32 lane = 0; lane < N;) {
            if (!rc_pos && (rcq.empty() || rcq.front().arrive > cycle || (!lane && stalled()))) break;
            const RcPacket& c = rcq.front();
            const u32 n = std::min(N - lane, c.ndw - rc_pos);
            std::memcpy(data + lane, &c.w[rc_pos], n * 4);
            const u64 be = byte_enables(rc_pos, c.ndw, 3, c.first_be, c.last_be, n) << lane * 4;
            user[0] |= u32(be);
            user[1] |= u32(be >> 32);
            if (!rc_pos) {
                user[2] |= 1u << sops | (lane / 4) << (4 + 2 * sops);
                ++sops;
            }
            rc_pos += n;
            rc_on = true;
            if (rc_pos == c.ndw) {
                user[2] |= 1u << (12 + eops) | (lane + n - 1) << (16 + 4 * eops);
                ++eops;
                rc_release += c.release;
                rc_pos = 0;
                rcq.pop();
            }
            lane = (lane + n + 3) & ~3u;
        }
        top.s_axis_rc_tvalid = rc_on;
        if (!rc_on) return;
        std::memcpy(&top.s_axis_rc_tdata, data, sizeof data);
        put_words(top.s_axis_rc_tuser, user);
        top.s_axis_rc_tkeep = u32(ones(N));
        top.s_axis_rc_tlast = 0;
    }

    void drive_rc() {
        if constexpr (STRADDLE) return rc_straddled();
        if (rc_fired) {
            rc_fired = false;
            rc_pos += N;
            if (rc_pos >= rcq.front().ndw) {
                cpld_out -= rcq.front().release;
                rcq.pop();
                rc_on = false;
            }
        }
        if (!rc_on) {
            if (rcq.empty() || rcq.front().arrive > cycle || stalled()) {
                top.s_axis_rc_tvalid = 0;
                return;
            }
            rc_on = true;
            rc_pos = 0;
        }
        const RcPacket& c = rcq.front();
        const bool last = rc_pos + N >= c.ndw;
        const u32 n = last ? c.ndw - rc_pos : N;
        std::memcpy(&top.s_axis_rc_tdata, &c.w[rc_pos], N * 4);
        u32 user[6] = {};
        rc_user<DATA_W>(rc_pos, n, c.ndw, c.first_be, c.last_be, user);
        put_words(top.s_axis_rc_tuser, user);
        top.s_axis_rc_tkeep = u32(ones(n));
        top.s_axis_rc_tlast = last;
        top.s_axis_rc_tvalid = 1;
    }

    void drive_cq() {
        if (cq_fired) {
            cq_fired = false;
            cq_pos += N;
            if (cq_pos >= cqq.front().ndw) {
                cqq.pop();
                cq_on = false;
            }
        }
        if (!cq_on) {
            if (cqq.empty() || cqq.front().arrive > cycle || stalled()) {
                top.s_axis_cq_tvalid = 0;
                return;
            }
            cq_on = true;
            cq_pos = 0;
        }
        const CqPacket& c = cqq.front();
        const bool last = cq_pos + N >= c.ndw;
        const u32 n = last ? c.ndw - cq_pos : N;
        std::memcpy(&top.s_axis_cq_tdata, &c.w[cq_pos], N * 4);
        u32 user[6] = {};
        cq_user<DATA_W>(cq_pos, n, c.ndw, c.first_be, c.last_be, user);
        put_words(top.s_axis_cq_tuser, user);
        top.s_axis_cq_tkeep = u32(ones(n));
        top.s_axis_cq_tlast = last;
        top.s_axis_cq_tvalid = 1;
    }

    // ---------------------------------------------------------------- the host's own reads

    void cpl_rx() {
        while (cq_cpl.head != cq_cpl.mid && cq_cpl.front().arrive <= cycle) {
            const CplTlp& c = cq_cpl.front();
            const u32 tag = c.w[2] & 0xff, status = c.w[1] >> 11 & 7, count = c.w[0] >> 16 & 0x1fff;
            if (tag >= MMIO_TAGS || mread[tag].state != 1) {
                ++err[E_CC_UNEXPECTED];
            } else {
                MmioRead& m = mread[tag];
                const bool poison = c.w[1] >> 14 & 1;
                if (status) {
                    m.state = DB_MMIO_UR;
                } else if (poison || c.ndw != m.dw || count != m.len || (c.w[0] & 0x7f) != (m.off & 0x7f)) {
                    ++err[E_CC_FORMAT];
                    m.state = DB_MMIO_BAD;
                } else {
                    std::memcpy(m.data, reinterpret_cast<const u8*>(&c.w[3]) + (m.off & 3), m.len);
                    m.state = 2;
                }
                --mread_n;
                events |= DB_STOP_MMIO;
            }
            cq_cpl.pop();
        }
    }

    void poll() {
        next_poll = cycle + POLL_CYCLES;
        if (bell) scan_doorbells();
        if (mread_n) {
            for (MmioRead& m : mread) {
                if (m.state == 1 && m.deadline <= cycle) {
                    m.state = DB_MMIO_TIMEOUT;
                    --mread_n;
                    ++err[E_MMIO_TIMEOUT];
                    events |= DB_STOP_MMIO;
                }
            }
        }
        if (ctx.gotFinish()) {
            ++err[E_RTL];
            ctx.gotFinish(false);
            ctx.gotError(false);
            events |= DB_STOP_RTL;
        }
    }

    void scan_doorbells() {
        for (u32 i = 0; i < 1024 && mmio.size() < MMIO_SLOTS; ++i) {
            u32* const word = reinterpret_cast<u32*>(bell) + i;
            if (__atomic_load_n(word, __ATOMIC_RELAXED) == BELL_EMPTY) continue;
            const u32 v = __atomic_exchange_n(word, BELL_EMPTY, __ATOMIC_ACQUIRE);
            MmioReq m{0x1000 + i * 4, 4, 0, true, {}};
            std::memcpy(m.data, &v, 4);
            mmio.push(m);
            ++stat[S_DOORBELLS];
        }
    }

    // ---------------------------------------------------------------- the loop

    void drive_ready() {
        const bool p_room = pq.unsent() < cfg.tx_tlps && tx_bytes < cfg.tx_bytes && pq.size() < P_SLOTS - 3;
        const bool n_room = nq.unsent() < cfg.np_queue && nq.size() < NP_SLOTS - 2;
        const bool rq_room = (rq.in && !STRADDLE) || (p_room && n_room);
        rq_ready = rq_room && !stalled();
        cc_ready = cq_cpl.size() < CC_SLOTS - 1 && !stalled();
        top.m_axis_rq_tready = rq_ready;
        top.m_axis_cc_tready = cc_ready;
    }

    void step() {
        // No input may change between the two evaluations: the model follows its inputs in the first alone (settle_once
        // in python/doorbell/build.py).
        top.clk = 0;
        top.eval();
        dump(false);
        bool busy = !top.idle;
        // what happens at the coming edge
        if (top.m_axis_rq_tvalid) {
            busy = true;
            if (rq_ready) {
                if (rq_held.on) {
                    rq_stalled();
                    --stat[S_RQ_STALL];
                    rq_held.on = false;
                }
                rq_beat();
            } else {
                rq_stalled();
            }
        } else if (rq_held.on || rq.in) {
            ++err[rq.in ? E_RQ_GAP : E_RQ_STABLE];
            rq_held.on = false;
        }
        if (top.m_axis_cc_tvalid) {
            busy = true;
            if (cc_ready) cc_beat();
        } else if (cc_in) {
            ++err[E_CC_GAP];
        }
        if (rc_on) {
            rc_fired = top.s_axis_rc_tready;
            stat[S_RC_STALL] += !rc_fired;
            busy = true;
        }
        if (cq_on) {
            cq_fired = top.s_axis_cq_tready;
            stat[S_CQ_STALL] += !cq_fired;
            busy = true;
        }
        media.sample();
        // whatever the core is being told may wake it
        if (top.m_axi_rvalid | top.m_axi_bvalid | top.s_media_rsp_valid | top.m_axi_awvalid | top.m_axi_wvalid |
            top.m_axi_arvalid | top.m_media_cmd_valid)
            busy = true;
        if (top.cfg_flr_done) flr_done = true;
        if (top.cfg_intx != intx) {
            intx = top.cfg_intx;
            if (intx) events |= DB_STOP_INTX;
        }
#ifdef DB_STATS_HEADER
        stats.sample(top, cycle);
#endif
        if (recorder.on()) recorder.sample(top, cycle, rq_ready, rc_on, cq_on);
        top.clk = 1;
        top.eval();
        dump(true);
        ++cycle;
        us_frac += 1000;
        if (us_frac >= cfg.clock_khz) tick_us(0);
        quiet = busy ? 0 : quiet + 1;
        // the world between two edges
        if (cycle >= next_poll) poll();
        if (!credits.empty()) credits_back();
        if (pq.mid != pq.tail || nq.mid != nq.tail || cq_cpl.mid != cq_cpl.tail) up_tx();
        if (!flight.empty()) up_rx();
        if (!cq_cpl.empty()) cpl_rx();
        if (!timeouts.empty()) expire();
        while (!waiting.empty() && reads[waiting.front()].ready <= cycle) {
            active[n_active++] = waiting.front();
            waiting.pop();
        }
        if (n_active || !mmio.empty()) down_tx();
        if (rc_on || !rcq.empty()) drive_rc();
        if (cq_on || !cqq.empty()) drive_cq();
        u32 stall = 0;
        if (cfg.stall_pct)
            for (u32 b = 1; b < 32; b <<= 1) stall |= stalled() ? b : 0;
        media.update(cycle, stall);
        drive_ready();
    }

    // The next cycle in which the world does something to a core that is idle.
    u64 next_event() const {
        if (rc_on || cq_on) return cycle;
        u64 e = media.next_event(cycle);
        auto at = [&](u64 t) { e = std::min(e, std::max(t, cycle)); };
        if (pq.mid != pq.tail || nq.mid != nq.tail || cq_cpl.mid != cq_cpl.tail) at(up.free_c);
        if (!mmio.empty() || n_active) at(down.free_c);
        if (!flight.empty() && !msg_writes) at(flight.a[flight.head & 255].arrive);
        if (!cq_cpl.empty()) at(cq_cpl.a[cq_cpl.head & (CC_SLOTS - 1)].arrive);
        if (!credits.empty()) at(credits.a[credits.head & 1023].at);
        if (!waiting.empty()) at(reads[waiting.a[waiting.head & (READS - 1)]].ready);
        if (!timeouts.empty()) at(timeouts.a[timeouts.head & (READS - 1)].first);
        if (!rcq.empty()) at(rcq.a[rcq.head & (RC_SLOTS - 1)].arrive);
        if (!cqq.empty()) at(cqq.a[cqq.head & (CQ_SLOTS - 1)].arrive);
        if (mread_n)
            for (const MmioRead& m : mread)
                if (m.state == 1) at(m.deadline);
        return e;
    }

    u64 wake_cycle() const {
        const u64 w = top.wake_us;
        if (w == NEVER) return NEVER;
        const u64 t = us + us_offset;
        if (w <= t) return cycle;
        const unsigned __int128 c =
            ((unsigned __int128)(w - t) * cfg.clock_khz - us_frac + 999) / 1000;  // until time_us is w
        return c > NEVER - cycle ? NEVER : cycle + u64(c);
    }

    int run(u64 cycles, u32 stop) {
        const u64 end = cycle + cycles;
        // level events first: what has not been fetched yet
        events = (irqs.empty() ? 0 : DB_STOP_IRQ) | (msgs.empty() ? 0 : DB_STOP_DMA) | (intx ? DB_STOP_INTX : 0);
        for (u32 i = 0; i < n_watch; ++i)
            if (check_watch(watch[i])) break;
        if (bell) scan_doorbells();
        const u32 mask = stop | DB_STOP_RTL;
        if (events & mask) return int(events & mask);
        if (!mmio.empty()) quiet = 0;
        while (cycle < end) {
            if (quiet >= IDLE_CYCLES && (cfg.idle_skip || (stop & DB_STOP_IDLE))) {
                const u64 e = next_event();
                const u64 w = wake_cycle();
                if (e == NEVER && (stop & DB_STOP_IDLE) && w > cycle) return DB_STOP_IDLE;
                const u64 to = std::min(std::min(e, w), end);
                if (to > cycle + 1 && cfg.idle_skip) {  // the step below is the one into cycle `to`
                    const u64 n = to - 1 - cycle;
                    stat[S_SKIPPED] += n;
                    tick_us(n);
                    cycle += n;
                }
            }
            step();
            if (events & mask) break;
        }
        return int(events & mask);
    }
};

// -------------------------------------------------------------------- C interface

static_assert(COUNTERS == 2 * (KINDS * 3 + 2) + E_COUNT + S_COUNT + 12, "names and counters go together");

extern "C" {

db_sim* db_open(const db_config* c, char* err, uint32_t err_len) {
    std::string why;
    db_sim* s = nullptr;
    const bool pow2 = !(c->mps & (c->mps - 1)) && !(c->mrrs & (c->mrrs - 1));
    if (c->abi != DB_SIM_ABI) why = "the library and sim.py are of different versions";
    else if (c->gen < 1 || c->gen > 5 || c->lanes < 1 || c->lanes > 16) why = "link: generation 1-5, 1-16 lanes";
    else if (!pow2 || c->mps < 128 || c->mps > 1024) why = "mps: 128, 256, 512 or 1024";
    else if (!pow2 || c->mrrs < 128 || c->mrrs > 4096) why = "mrrs: 128, 256, ... 4096";
    else if (c->rcb != 64 && c->rcb != 128) why = "rcb: 64 or 128";
    else if (c->clock_khz < 1000 || c->clock_khz > 2000000) why = "clock: 1 to 2000 MHz";
    else if (c->ph > 512 || c->nph > 512) why = "ph, nph: 512 at most";
    else if (c->ph && c->pd && c->pd < c->mps / 16) why = "pd: must hold one TLP";
    else if (!c->tx_tlps || !c->tx_bytes || !c->np_queue) why = "tx_tlps, tx_bytes, np_queue: at least 1";
    else if (c->tx_tlps > P_SLOTS / 2 || c->np_queue > NP_SLOTS / 2) why = "tx_tlps, np_queue: 32 at most";
    else if (c->max_reads > 512) why = "max_reads: 512 at most";
    else if (c->stall_pct > 95) why = "stall_pct: 95 at most";
    if (why.empty()) {
        s = new db_sim(*c);
        s->cfg.image = nullptr;
        if (!s->media.open(*c, why)) {
            delete s;
            s = nullptr;
        } else {
            s->reset();
        }
    }
    if (!s && err_len) {
        const size_t n = std::min(why.size(), size_t(err_len - 1));
        std::memcpy(err, why.data(), n);
        err[n] = 0;
    }
    return s;
}

void db_close(db_sim* s) { delete s; }
void db_reset(db_sim* s) { s->reset(); }
uint32_t db_data_w(void) { return DATA_W; }

uint64_t db_cycle(const db_sim* s) { return s->cycle; }
uint64_t db_time_us(const db_sim* s) { return s->us + s->us_offset; }
void db_set_time_us(db_sim* s, uint64_t us) {
    s->us_offset = us - s->us;
    s->tick_us(0);
}
uint64_t db_wake_us(const db_sim* s) { return s->top.wake_us; }
int db_intx(const db_sim* s) { return int(s->intx); }
int db_idle(const db_sim* s) {
    return s->top.idle && s->quiet >= IDLE_CYCLES && s->next_event() == NEVER && s->msgs.empty();
}

int db_run(db_sim* s, uint64_t cycles, uint32_t stop) { return s->run(cycles, stop); }

int db_map(db_sim* s, uint64_t base, uint64_t size, void* ptr, int writable) {
    return s->regions.add(base, size, static_cast<u8*>(ptr), writable != 0);
}

int db_unmap(db_sim* s, uint64_t base, uint64_t size) {
    const int n = s->regions.remove(base, size);
    auto gone = [&](u64 a) { return a - base < size; };
    for (size_t i = s->msgs.size(); i-- > 0;) {
        if (!gone(s->msgs[i].addr)) continue;
        s->msg_writes -= s->msgs[i].write;
        s->msgs.erase(s->msgs.begin() + long(i));
    }
    if (s->n_msg) {
        for (u32 i = 0; i < READS; ++i) {
            HostRead& r = s->reads[i];
            if (!r.msg || !gone(r.addr)) continue;
            r.msg = false;
            r.fault = DB_FAULT_UR;
            r.ready = s->cycle;
            --s->n_msg;
            ++s->stat[S_READ_UNMAPPED];
            s->wait_ready(u16(i));
        }
    }
    return n;
}

void db_set_watches(db_sim* s, const db_watch* w, uint32_t n) {
    s->n_watch = std::min(n, 64u);
    std::copy(w, w + s->n_watch, s->watch);
}

int db_mmio_write(db_sim* s, uint32_t off, const void* data, uint32_t len) {
    if (s->mmio.full() || !len || (off & 3) + len > MAX_MMIO_DW * 4) return -1;
    MmioReq m{off, len, 0, true, {}};
    std::memcpy(m.data, data, len);
    s->mmio.push(m);
    s->quiet = 0;
    return 0;
}

int db_mmio_read(db_sim* s, uint32_t off, uint32_t len) {
    if (s->mmio.full() || !len || (off & 3) + len > MAX_MMIO_DW * 4) return -1;
    for (u32 k = 0; k < MMIO_TAGS; ++k) {
        const u32 tag = (s->mread_next + k) % MMIO_TAGS;
        MmioRead& m = s->mread[tag];
        if (m.state) continue;
        m = MmioRead{1, off, len, (off + len + 3) / 4 - off / 4, s->cycle + s->mmio_timeout, {}};
        s->mread_next = tag + 1;
        ++s->mread_n;
        s->mmio.push(MmioReq{off, len, tag, false, {}});
        s->quiet = 0;
        return int(tag);
    }
    return -1;
}

int db_mmio_poll(db_sim* s, int handle, void* data) {
    if (handle < 0 || u32(handle) >= MMIO_TAGS) return DB_MMIO_BAD;
    MmioRead& m = s->mread[handle];
    if (m.state == 1) return DB_MMIO_PENDING;
    const int r = m.state == 2 ? int(m.len) : m.state ? m.state : int(DB_MMIO_BAD);
    if (m.state == 2) std::memcpy(data, m.data, m.len);
    m.state = 0;
    return r;
}

void db_doorbell_page(db_sim* s, void* page) {
    s->bell = static_cast<u8*>(page);
    db_doorbell_reset(s);
}

void db_doorbell_reset(db_sim* s) {
    if (s->bell) std::memset(s->bell, 0xff, 4096);
}

int db_irqs(db_sim* s, db_irq* out, int n) {
    int k = 0;
    for (; k < n && !s->irqs.empty(); ++k) {
        out[k] = s->irqs.front();
        s->irqs.pop_front();
    }
    return k;
}

void db_irq_eventfd(db_sim* s, uint32_t data, int fd) {
    if (data < 4096) s->eventfds[data] = fd;
}

int db_dma_next(db_sim* s, db_msg* out) {
    if (s->msgs.empty()) return 0;
    const Message& m = s->msgs.front();
    out->id = m.id;
    out->addr = m.addr;
    out->len = m.len;
    out->write = m.write;
    if (m.write) {
        std::copy(m.data.begin(), m.data.end(), out->data);
        --s->msg_writes;
    }
    s->msgs.pop_front();
    return 1;
}

int db_dma_complete(db_sim* s, uint64_t id, const void* data, uint32_t len) {
    for (u32 i = 0; s->n_msg && i < READS; ++i) {
        HostRead& r = s->reads[i];
        if (!r.msg || r.msg_id != id) continue;
        if (data && len != r.dw * 4) return -1;
        r.msg = false;
        --s->n_msg;
        if (data) {
            s->read_data.emplace_back(new u8[len]);
            r.data = s->read_data.back().get();
            std::memcpy(r.data, data, len);
        } else {
            r.fault = DB_FAULT_UR;
        }
        r.ready = std::max(s->cycle, r.ready);
        s->wait_ready(u16(i));
        return 0;
    }
    return -1;
}

uint32_t db_inject(db_sim* s, uint32_t kind, uint64_t addr, uint64_t len, int64_t nth, uint32_t count) {
    s->faults.push_back(Fault{kind, count, addr, len, nth, 0});
    return u32(s->faults.size() - 1);
}

uint64_t db_injected(const db_sim* s, uint32_t id) { return id < s->faults.size() ? s->faults[id].hits : 0; }
void db_inject_clear(db_sim* s) { s->faults.clear(); }

void db_set_cfg(db_sim* s, int bm, int msix, int mask, int intx_off, int mps, int mrrs) {
    if (bm >= 0) s->c_bm = bm;
    if (msix >= 0) s->c_msix = msix;
    if (mask >= 0) s->c_mask = mask;
    if (intx_off >= 0) s->c_intx_off = intx_off;
    if (mps > 0) s->mps = u32(mps);
    if (mrrs > 0) s->mrrs = u32(mrrs);
    s->apply_cfg();
}

void db_get_cfg(const db_sim* s, int out[6]) {
    const int v[6] = {s->c_bm, s->c_msix, s->c_mask, s->c_intx_off, int(s->mps), int(s->mrrs)};
    std::copy(v, v + 6, out);
}

int db_flr(db_sim* s, uint64_t max_cycles) {
    // as the specification has it, the function's command register and MSI-X enable fall back to 0
    s->c_bm = s->c_msix = s->c_mask = s->c_intx_off = 0;
    s->flr_done = false;
    s->top.cfg_flr = 1;
    s->apply_cfg();
    const u64 end = s->cycle + max_cycles;
    s->drop_messages();
    while (!s->flr_done && s->cycle < end) s->step();
    s->top.cfg_flr = 0;
    s->quiet = 0;
    return s->flr_done ? 0 : -1;
}

uint8_t* db_media(db_sim* s) { return s->media.mem; }
int db_media_error(db_sim* s, uint64_t off, uint64_t len, int64_t count) {
    s->media.errors.push_back({off, len, count});
    return 0;
}
void db_media_error_clear(db_sim* s) { s->media.errors.clear(); }
int db_media_sync(db_sim* s) { return s->media.sync(); }

int db_counters(const db_sim* s, uint64_t* out, int n) {
    u64 v[COUNTERS];
    int k = 0;
    for (const Link* l : {&s->up, &s->down}) {
        for (u32 i = 0; i < KINDS; ++i)
            v[k++] = l->n[i].tlps, v[k++] = l->n[i].head, v[k++] = l->n[i].data;
        v[k++] = l->acks * DLLP_BYTES;
        v[k++] = l->fcs * DLLP_BYTES;
    }
    for (u64 e : s->err) v[k++] = e;
    for (u64 e : s->stat) v[k++] = e;
    const auto& m = s->media;
    for (u64 e : {m.e_burst, m.e_last, m.e_stable, m.e_range, m.e_cmd, m.rd_beats, m.wr_beats, m.rd_bursts,
                  m.wr_bursts, m.flushes, m.zeroes, m.hits})
        v[k++] = e;
    std::copy(v, v + std::min(n, k), out);
    return COUNTERS;
}

void db_events_open(db_sim* s, uint32_t kinds, uint32_t capacity) { s->recorder.open(kinds, capacity); }
int db_events(db_sim* s, db_event* out, int n) { return s->recorder.take(out, n); }
uint64_t db_events_lost(const db_sim* s) { return s->recorder.lost(); }
int db_stalls(const db_sim* s, uint32_t* out, int n) { return s->recorder.stalls(s->top, out, n); }

int db_coverage(db_sim* s, const char* path) {
#if VM_COVERAGE
    s->ctx.coveragep()->write(path);
    return 0;
#else
    (void)s, (void)path;
    return -1;
#endif
}

int db_trace(db_sim* s, const char* path) {
#if VM_TRACE
    if (s->vcd) s->vcd->close();
    s->vcd.reset(new VerilatedVcdC);
    s->top.trace(s->vcd.get(), 99);
    s->vcd->open(path);
    return s->vcd->isOpen() ? 0 : -1;
#else
    (void)s, (void)path;
    return -1;
#endif
}

const char* db_counter_name(int i) { return i >= 0 && i < COUNTERS ? counter_names[i] : nullptr; }

void db_link_rate(const db_sim* s, uint64_t* ticks_per_cycle, uint64_t* ticks_per_byte) {
    *ticks_per_cycle = s->up.ticks_per_cycle;
    *ticks_per_byte = s->up.ticks_per_byte;
}

}  // extern "C"
