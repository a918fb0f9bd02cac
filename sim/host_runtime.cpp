// SPDX-License-Identifier: Apache-2.0
// The simulator runtime of tops that are hosts: root ports with links and drives around one Verilated top, its user's
// side, and the loop that turns its clock. README.md, "Root ports and drives", says how each part behaves.
#include "db_host_sim.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include DB_TOP_HEADER
#include "external_drive.h"
#include "lib_drive.h"
#include "model_drive.h"
#include "root_port.h"
#ifdef DB_STREAM_W
#include "recorder_user.h"
#else
#include "host_user.h"
#endif

#if VM_COVERAGE
#include "verilated_cov.h"
#endif
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

namespace db {

using Top = DB_TOP;
constexpr u32 DATA_W = DB_DATA_W, PORTS = DB_PORTS;
constexpr u32 IDLE_CYCLES = 8, POLL_CYCLES = 256;
using Port = RootPort<Top, DATA_W, PORTS>;
#ifdef DB_STREAM_W
using User = RecorderUser<Top, DB_STREAM_W, PORTS>;
#else
using User = HostUser<Top, DATA_W>;
#endif

static const char* const counter_names[] = {
    "down.MRd.tlps", "down.MRd.header", "down.MRd.payload", "down.MWr.tlps", "down.MWr.header", "down.MWr.payload",
    "down.CplD.tlps", "down.CplD.header", "down.CplD.payload", "down.Cpl.tlps", "down.Cpl.header", "down.Cpl.payload",
    "down.Cfg.tlps", "down.Cfg.header", "down.Cfg.payload", "down.ack.bytes", "down.fc.bytes",
    "up.MRd.tlps", "up.MRd.header", "up.MRd.payload", "up.MWr.tlps", "up.MWr.header", "up.MWr.payload",
    "up.CplD.tlps", "up.CplD.header", "up.CplD.payload", "up.Cpl.tlps", "up.Cpl.header", "up.Cpl.payload",
    "up.Cfg.tlps", "up.Cfg.header", "up.Cfg.payload", "up.ack.bytes", "up.fc.bytes",
    "error.rq_gap", "error.rq_stable", "error.rq_format", "error.rq_mps", "error.rq_mrrs", "error.rq_4k",
    "error.rq_tag", "error.rq_be", "error.cc_gap", "error.cc_stable", "error.cc_format", "error.cc_unexpected",
    "error.cc_mps", "error.cc_rcb", "error.cc_count", "error.cc_address", "error.cq_mps",
    "stall.rq", "stall.cc", "stall.cq", "stall.rc", "stall.credit", "stall.np", "hard.rc_timeouts", "hard.rc_late",
    "hard.dropped_link_down", "hard.cc_stale", "hard.rq_discontinued", "hard.cc_refused",
    "drive.fetches", "drive.sqes", "drive.list_reads", "drive.data_reads", "drive.data_writes", "drive.cqes",
    "drive.doorbells", "drive.faults", "drive.stalls", "drive.max_inflight", "error.drive_doorbell",
    "error.drive_access",
    "error.status_stable", "error.rdata_stable", "error.recv_format", "error.buffer_axi",
    "user.cmds", "stall.cmd", "user.wdata_beats", "stall.wdata", "user.rdata_beats", "stall.rdata", "user.statuses",
    "user.forwarded", "user.stat_doorbells", "user.stat_cqes", "user.source_full",
    "error.rtl", "sim.skipped_cycles",
};
constexpr int COUNTERS = int(sizeof counter_names / sizeof *counter_names);
static_assert(COUNTERS == 2 * (ALL_KINDS * 3 + 2) + E_COUNT + S_COUNT + M_COUNT + E_USER_COUNT + S_USER_COUNT + 2,
              "names and counters go together");

}  // namespace db

using namespace db;

struct db_host_sim {
    db_host_config cfg;
    std::vector<db_host_port> port_cfg;
    VerilatedContext ctx;
    std::unique_ptr<Top> top_p;
    Top& top;
    User user;
    std::vector<std::unique_ptr<Drive>> drives;
    std::vector<std::unique_ptr<Port>> ports;
#if VM_TRACE
    std::unique_ptr<VerilatedVcdC> vcd;
    void dump(bool high) {
        if (vcd) vcd->dump(cycle * 2 + high);
    }
#else
    void dump(bool) {}
#endif
    u64 cycle = 0, skipped = 0, rtl_errors = 0, next_poll = 0;
    u32 events = 0, quiet = 0;

    db_host_sim(const db_host_config& c, const db_host_port* p, u32 n)
        : cfg(c), port_cfg(p, p + n), top_p(new Top(&ctx, "top")), top(*top_p), user(top, c) {
        ctx.fatalOnError(false);
#if VM_TRACE
        ctx.traceEverOn(true);
#endif
        for (u32 i = 0; i < n; ++i) ports.emplace_back(new Port(top, i, port_cfg[i], c));
    }
    ~db_host_sim() {
        top.final();
#if VM_TRACE
        if (vcd) vcd->close();
#endif
    }

    bool open(std::string& why) {
        for (u32 i = 0; i < PORTS; ++i) {
            db_host_port& p = port_cfg[i];
            std::unique_ptr<Drive> d;
            if (p.drive == DB_DRIVE_MODEL) {
                auto m = std::make_unique<ModelDrive>(p, cfg.clock_khz, cfg.seed, i);
                if (!m->open(why)) return false;
                p.model.image = nullptr;
                d = std::move(m);
            } else if (p.drive == DB_DRIVE_LIB) {
                d = std::make_unique<LibDrive>(p, cfg.clock_khz);
            } else {
                d = std::make_unique<ExternalDrive>();
            }
            d->port = ports[i].get();
            ports[i]->drive = d.get();
            drives.push_back(std::move(d));
        }
        reset(true);
        return true;
    }

    template <class D>
    D* drive(u32 port) {
        return port < PORTS ? dynamic_cast<D*>(drives[port].get()) : nullptr;
    }

    void reset(bool with_drives) {
        for (u32 i = 0; i < PORTS; ++i) {
            ports[i]->clear();
            const u64 window = cfg.window_base + i * cfg.window_step, bar = cfg.bar_base + i * cfg.bar_step;
            const u32 w[2] = {u32(window), u32(window >> 32)}, b[2] = {u32(bar), u32(bar >> 32)};
            put_lane(top.window_base, i, 64, w);
            put_lane(top.bar_base, i, 64, b);
            put_lane(top.cfg_mps_cap, i, 3, &port_cfg[i].mps_cap);
            put_bit(top.link_up, i, false);
            // the hard block is reset with the core: the drive sees its link go and come back
            const bool was = ports[i]->up_now;
            ports[i]->cycle = drives[i]->now = cycle;
            if (was) ports[i]->set_link(false);
            if (with_drives) drives[i]->reset();
        }
        user.clear();
        top.rst = 1;
        for (int i = 0; i < 16; ++i) {
            top.clk = 0;
            top.eval();
            top.clk = 1;
            top.eval();
            ++cycle;
        }
        top.rst = 0;
        for (u32 i = 0; i < PORTS; ++i) {
            drives[i]->now = cycle;
            ports[i]->set_link(port_cfg[i].link_up);
            ports[i]->update(cycle);
        }
        user.update();
        quiet = events = 0;
    }

    void step() {
        top.clk = 0;
        top.eval();
        dump(false);
        bool busy = !top.idle;
        for (u32 i = 0; i < PORTS; ++i)
            if (!in_reset(i)) busy |= ports[i]->sample();
        busy |= user.sample(cycle);
        top.clk = 1;
        top.eval();
        dump(true);
        ++cycle;
        quiet = busy ? 0 : quiet + 1;
        if (cycle >= next_poll) poll();
        for (auto& p : ports) p->update(cycle);
#ifdef DB_STREAM_W
        if (top.drive_rst != user.rst_was) reset_pins();
#endif
        user.update();
        events |= user.events;
        user.events = 0;
    }

#ifdef DB_STREAM_W
    // drive_rst resets a host, its hard block and the drive: no link, and what was begun is forgotten.
    void reset_pins() {
        const u32 now = u32(top.drive_rst), phy = ~now & u32(ones(PORTS));
        for (u32 i = 0; i < PORTS; ++i) {
            const bool in = now >> i & 1;
            if (in == (user.rst_was >> i & 1)) continue;
            ports[i]->set_link(!in && port_cfg[i].link_up);
            if (in) ports[i]->clear();
        }
        put_lane(top.phy_ready, 0, PORTS, &phy);
        user.rst_was = now;
    }
    bool in_reset(u32 i) const { return user.rst_was >> i & 1; }
#else
    bool in_reset(u32) const { return false; }
#endif

    void poll() {
        next_poll = cycle + POLL_CYCLES;
        if (ctx.gotFinish()) {
            ++rtl_errors;
            ctx.gotFinish(false);
            ctx.gotError(false);
            events |= DB_HSTOP_RTL;
        }
    }

    u64 next_event() const {
        u64 e = user.next_event(cycle);
        for (const auto& p : ports) e = std::min(e, std::max(p->next_event(), cycle));
        return e;
    }

    bool messages() const {
        for (const auto& d : drives)
            if (d->messages()) return true;
        return false;
    }

    int run(u64 cycles, u32 stop) {
        const u64 end = cycle + cycles;
        events = (user.statuses.empty() ? 0 : DB_HSTOP_STATUS) | (user.ends.empty() ? 0 : DB_HSTOP_DATA) |
                 (user.fwd.empty() ? 0 : DB_HSTOP_FWD) |
                 (user.axil.state == 2 || user.reg.state == 2 || user.adm.state == 2 ? DB_HSTOP_ANSWER : 0);
        const u32 mask = stop | DB_HSTOP_RTL;
        if (messages()) events |= DB_HSTOP_MSG;
        if (events & mask) return int(events & mask);
        while (cycle < end) {
            if (quiet >= IDLE_CYCLES && (cfg.idle_skip || (stop & DB_HSTOP_IDLE))) {
                const u64 e = next_event();
                if (e == NEVER && (stop & DB_HSTOP_IDLE)) return DB_HSTOP_IDLE;
                const u64 to = std::min(e, end);
                if (to > cycle + 1 && cfg.idle_skip) {
                    const u64 n = to - 1 - cycle;
                    skipped += n;
                    cycle += n;
                    user.skipped(n);
                }
            }
            step();
            if ((stop & DB_HSTOP_MSG) && messages()) events |= DB_HSTOP_MSG;
            if (events & mask) break;
        }
        return int(events & mask);
    }
};

// -------------------------------------------------------------------- C interface

template <class T>
static int take(std::deque<T>& q, T* out, int n) {
    int k = 0;
    for (; k < n && !q.empty(); ++k) {
        out[k] = q.front();
        q.pop_front();
    }
    return k;
}

extern "C" {

db_host_sim* db_host_open(const db_host_config* c, const db_host_port* p, uint32_t n, char* err, uint32_t len) {
    std::string why;
    if (c->abi != DB_HOST_ABI) why = "the library and host_sim.py are of different versions";
    else if (n != PORTS) why = "this top has " + std::to_string(PORTS) + " root ports";
    else if (c->clock_khz < 1000 || c->clock_khz > 2000000) why = "clock: 1 to 2000 MHz";
    else if (c->stall_pct > 95 || c->user_stall_pct > 95) why = "stalls: 95 % at most";
    for (u32 i = 0; why.empty() && i < n; ++i) {
        const db_model_config& m = p[i].model;
        if (p[i].gen < 1 || p[i].gen > 5 || p[i].lanes < 1 || p[i].lanes > 16) why = "link: generation 1-5, 1-16 lanes";
        else if (!p[i].tx_tlps || p[i].tx_tlps > 32 || !p[i].tx_bytes) why = "tx_tlps: 1 to 32; tx_bytes: at least 1";
        else if (!p[i].drive_tx || p[i].drive_tx > 32 || p[i].cq_tlps > 64) why = "drive_tx: 1 to 32; cq_tlps: 64 at most";
        else if (p[i].mps_cap > 3 || p[i].drive_mps_cap > 5) why = "MPS: 128 to 1024 bytes";
        else if (p[i].bar_bytes < 0x2000 || p[i].bar_bytes & (p[i].bar_bytes - 1)) why = "bar_bytes: a power of 2, 8 KiB or more";
        else if (p[i].drive == DB_DRIVE_MODEL) {
            if (!m.max_reads || m.max_reads > 128 || !m.fetches || !m.fetch_entries || !m.max_cmds || m.max_cmds > 2000)
                why = "model: max_reads 1-128, fetches and fetch_entries at least 1, max_cmds 1-2000";
            else if (m.queues < 1 || m.queues > 63 || m.mqes < 2 || m.mqes > 65536) why = "model: queues 1-63, mqes 2-65536";
            else if (m.lba_shift < 9 || m.lba_shift > 12) why = "model: blocks of 512 to 4096 bytes";
        }
    }
    db_host_sim* s = nullptr;
    if (why.empty()) {
        try {
            s = new db_host_sim(*c, p, n);
        } catch (const std::exception& e) {
            if (len) std::snprintf(err, len, "%s", e.what());
            return nullptr;
        }
        if (!s->open(why)) {
            delete s;
            s = nullptr;
        }
    }
    if (!s && len) std::snprintf(err, len, "%s", why.c_str());
    return s;
}

void db_host_close(db_host_sim* s) { delete s; }
void db_host_reset(db_host_sim* s, int drives) { s->reset(drives != 0); }
uint32_t db_host_data_w(void) { return DATA_W; }
uint32_t db_host_ports(void) { return PORTS; }
uint64_t db_host_cycle(const db_host_sim* s) { return s->cycle; }
int db_host_run(db_host_sim* s, uint64_t cycles, uint32_t stop) { return s->run(cycles, stop); }

uint64_t db_host_signal(db_host_sim* s, uint32_t port, uint32_t which) {
    switch (which) {
        case DB_SIG_UP: return s->top.up;
        case DB_SIG_DEAD: return s->top.dead;
#ifdef DB_STREAM_W
        case DB_SIG_LEVEL: return s->user.level();
        case DB_SIG_LEVEL_PEAK: return s->user.level_peak;
        case DB_SIG_ENABLED: return s->top.data_enabled_out;
#else
        case DB_SIG_BLOCKS: return s->top.blocks;
        case DB_SIG_LBA_SHIFT: return s->top.lba_shift;
#endif
        case DB_SIG_IDLE: return s->top.idle && s->quiet >= IDLE_CYCLES && s->next_event() == NEVER;
        case DB_SIG_CMDS_LEFT: return s->user.cmds.size();
        case DB_SIG_WDATA_LEFT: {
            u64 n = 0;
            for (const auto& b : s->user.wbufs) n += b.len * (b.repeat + 1) - b.at;
            return n;
        }
        case DB_SIG_RDATA_BYTES: return s->user.rbytes;
        case DB_SIG_LINK_UP: return port < PORTS && s->ports[port]->up_now;
        case DB_SIG_MPS: return port < PORTS ? s->ports[port]->mps : 0;
        case DB_SIG_MRRS: return port < PORTS ? s->ports[port]->mrrs : 0;
        default: return 0;
    }
}

int db_host_cmds(db_host_sim* s, const db_block_cmd* c, uint32_t n) {
    s->user.cmds.insert(s->user.cmds.end(), c, c + n);
    s->quiet = 0;
    return 0;
}
void db_host_wdata(db_host_sim* s, const void* data, uint64_t len, uint32_t repeat) {
    s->user.wbufs.push_back(User::Buffer{static_cast<const u8*>(data), len, 0, repeat});
    s->quiet = 0;
}
void db_host_rdata(db_host_sim* s, void* data, uint64_t len) {
    s->user.rbuf = static_cast<u8*>(data);
    s->user.rbuf_len = data ? len : 0;
    s->user.rbytes = 0;
}
int db_host_status(db_host_sim* s, db_block_status* out, int n) { return take(s->user.statuses, out, n); }
int db_host_rdata_ends(db_host_sim* s, db_rdata_end* out, int n) { return take(s->user.ends, out, n); }
int db_host_forwarded(db_host_sim* s, db_fwd* out, int n) { return take(s->user.fwd, out, n); }
void db_host_forward_stall(db_host_sim* s, int on) {
    s->user.fwd_stall = on != 0;
    s->quiet = 0;
}

#ifdef DB_STREAM_W
void db_host_rec_source(db_host_sim* s, uint64_t buffer, uint64_t drop, int drop_on) {
    s->user.wr.buffer = buffer;
    s->user.wr.saved = std::min(s->user.wr.saved, s->user.wr.most());
    s->user.drop_bytes = drop;
    s->user.drop_on = drop_on != 0;
    s->user.level_peak = 0;
}
void db_host_rec_read(db_host_sim* s, void* data, uint64_t len, uint32_t drives) {
    s->user.read_from(static_cast<u8*>(data), len, drives);
}
int db_host_rec_send(db_host_sim* s, const uint32_t* data, uint32_t dwords) {
    db_rec_packet p{};
    if (!dwords || dwords > sizeof p.data / 4) return -1;
    p.dwords = dwords;
    std::memcpy(p.data, data, dwords * 4);
    s->user.sends.push_back(p);
    s->quiet = 0;
    return 0;
}
int db_host_rec_packets(db_host_sim* s, db_rec_packet* out, int n) { return take(s->user.packets, out, n); }
#endif

int db_host_axil(db_host_sim* s, int write, uint32_t addr, uint32_t data) {
    if (s->user.axil.state || (addr >> 16) > PORTS) return -1;
    s->user.axil = {1, addr, data, 0, write != 0, false, false};
    s->quiet = 0;
    return 0;
}
int db_host_axil_poll(db_host_sim* s, uint32_t* data) {
    if (s->user.axil.state != 2) return -1;
    s->user.axil.state = 0;
    *data = s->user.axil.data;
    return int(s->user.axil.resp);
}
int db_host_admin(db_host_sim* s, const void* sqe) {
    if (s->user.adm.state) return -1;
    s->user.adm = {};
    s->user.adm.state = 1;
    std::memcpy(s->user.adm.sqe, sqe, 64);
    s->quiet = 0;
    return 0;
}
int db_host_admin_poll(db_host_sim* s, void* cqe) {
    if (s->user.adm.state != 2) return -1;
    s->user.adm.state = 0;
    std::memcpy(cqe, s->user.adm.cqe, 16);
    return s->user.adm.timeout;
}
int db_host_reg(db_host_sim* s, int write, uint32_t addr, uint32_t data) {
    if (s->user.reg.state) return -1;
    s->user.reg = {1, addr, data, 0, write != 0, false, false};
    s->quiet = 0;
    return 0;
}
int db_host_reg_poll(db_host_sim* s, uint32_t* data) {
    if (s->user.reg.state != 2) return -1;
    s->user.reg.state = 0;
    *data = s->user.reg.data;
    return int(s->user.reg.resp);
}

void db_host_link(db_host_sim* s, uint32_t port, int up) {
    if (port >= PORTS) return;
    s->ports[port]->set_link(up != 0);
    s->port_cfg[port].link_up = up != 0;
    s->quiet = 0;
}
void db_host_drive_reset(db_host_sim* s, uint32_t port) {
    if (port < PORTS) s->drives[port]->reset();
    s->quiet = 0;
}
uint32_t db_host_fault(db_host_sim* s, uint32_t port, uint32_t kind, int32_t opcode, int32_t admin, uint64_t lba,
                       uint64_t blocks, uint32_t skip, uint32_t count, uint64_t arg) {
    auto* d = s->drive<ModelDrive>(port);
    if (!d) return ~0u;
    d->faults.push_back(ModelFault{kind, opcode, admin, lba, blocks, skip, count, arg, 0});
    return u32(d->faults.size() - 1);
}
uint64_t db_host_fault_hits(db_host_sim* s, uint32_t port, uint32_t id) {
    auto* d = s->drive<ModelDrive>(port);
    return d && id < d->faults.size() ? d->faults[id].hits : 0;
}
void db_host_fault_clear(db_host_sim* s, uint32_t port) {
    if (auto* d = s->drive<ModelDrive>(port)) d->faults.clear();
}
void db_host_hang(db_host_sim* s, uint32_t port) {
    if (auto* d = s->drive<ModelDrive>(port)) d->hang();
}
uint8_t* db_host_media(db_host_sim* s, uint32_t port) {
    auto* d = s->drive<ModelDrive>(port);
    return d ? d->media.mem : nullptr;
}
int db_host_media_sync(db_host_sim* s, uint32_t port) {
    auto* d = s->drive<ModelDrive>(port);
    return d ? d->media.sync() : 0;
}

int db_host_ext_next(db_host_sim* s, uint32_t port, db_ext_msg* out) {
    auto* d = s->drive<ExternalDrive>(port);
    return d ? take(d->out, out, 1) : 0;
}
int db_host_ext_answer(db_host_sim* s, uint32_t port, uint64_t id, uint32_t status, const void* data) {
    auto* d = s->drive<ExternalDrive>(port);
    s->quiet = 0;
    return d ? d->answer(id, status, static_cast<const u8*>(data)) : -1;
}
int db_host_ext_read(db_host_sim* s, uint32_t port, uint64_t addr, uint32_t len) {
    auto* d = s->drive<ExternalDrive>(port);
    s->quiet = 0;
    return d && len ? d->start_read(addr, len) : -1;
}
int db_host_ext_poll(db_host_sim* s, uint32_t port, int handle, void* data) {
    auto* d = s->drive<ExternalDrive>(port);
    return d ? d->poll(handle, static_cast<u8*>(data)) : -2;
}
void db_host_ext_write(db_host_sim* s, uint32_t port, uint64_t addr, const void* data, uint32_t len) {
    s->quiet = 0;
    if (auto* d = s->drive<ExternalDrive>(port)) d->start_write(addr, static_cast<const u8*>(data), len);
}
void db_host_ext_sizes(db_host_sim* s, uint32_t port, uint32_t mps, uint32_t mrrs) {
    if (auto* d = s->drive<ExternalDrive>(port)) {
        d->mps = mps;
        d->mrrs = mrrs;
    }
}

int db_host_counters(db_host_sim* s, uint32_t port, uint64_t* out, int n) {
    if (port >= PORTS) return 0;
    u64 v[COUNTERS];
    int k = 0;
    const auto& p = *s->ports[port];
    for (const Link* l : {&p.down, &p.up}) {
        for (const auto& c : l->n) v[k++] = c.tlps, v[k++] = c.head, v[k++] = c.data;
        v[k++] = l->acks * DLLP_BYTES;
        v[k++] = l->fcs * DLLP_BYTES;
    }
    for (u64 e : p.err) v[k++] = e;
    for (u64 e : p.stat) v[k++] = e;
    const auto* m = s->drive<ModelDrive>(port);
    for (u32 i = 0; i < M_COUNT; ++i) v[k++] = m ? m->stat[i] : 0;
    for (u64 e : s->user.err) v[k++] = e;
    for (u64 e : s->user.stat) v[k++] = e;
    v[k++] = s->rtl_errors;
    v[k++] = s->skipped;
    std::copy(v, v + std::min(n, k), out);
    return COUNTERS;
}
const char* db_host_counter_name(int i) { return i >= 0 && i < COUNTERS ? counter_names[i] : nullptr; }

int db_host_coverage(db_host_sim* s, const char* path) {
#if VM_COVERAGE
    s->ctx.coveragep()->write(path);
    return 0;
#else
    (void)s, (void)path;
    return -1;
#endif
}

int db_host_trace(db_host_sim* s, const char* path) {
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

void db_host_link_rate(const db_host_sim* s, uint32_t port, uint64_t* ticks_per_cycle, uint64_t* ticks_per_byte) {
    const auto& l = s->ports[port < PORTS ? port : 0]->up;
    *ticks_per_cycle = l.ticks_per_cycle;
    *ticks_per_byte = l.ticks_per_byte;
}

}  // extern "C"
