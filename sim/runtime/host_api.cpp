// SPDX-License-Identifier: Apache-2.0
// The C interface of a simulated host (interface/db_host_sim.h).
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>

#include "runtime/counter_list.h"
#include "runtime/drive_calls.h"
#include "runtime/host.h"

using namespace db;

namespace {

/// What is wrong with a configuration, or "".
std::string fault_in(const db_host_config& c, const db_host_port* p, u32 n) {
    if (c.abi != DB_HOST_ABI) return "the library and host_sim.py are of different versions";
    if (n != db_host_ports()) return "this top has " + std::to_string(db_host_ports()) + " root ports";
    if (c.clock_khz < 1000 || c.clock_khz > 2000000) return "clock: 1 to 2000 MHz";
    if (c.stall_pct > 95 || c.user_stall_pct > 95) return "stalls: 95 % at most";
    for (u32 i = 0; i < n; ++i)
        if (std::string why = db::fault_in(p[i]); !why.empty()) return why;
    return "";
}

/// Those of one port, and of all.
template <class Visit>
void each_counter(const db_host_sim* s, u32 port, Visit& visit) {
    const RootPortLink* p = s ? s->ports[port].get() : nullptr;
    const ModelDrive* m = s ? s->drive<ModelDrive>(port) : nullptr;
    each_counter(p ? &p->down : nullptr, LINK_DOWN_NAMES, ALL_KINDS, visit);
    each_counter(p ? &p->up : nullptr, LINK_UP_NAMES, ALL_KINDS, visit);
    each_counter(p ? &p->hard : nullptr, visit);
    each_counter(p ? &p->count : nullptr, visit);
    each_counter(m ? &m->count : nullptr, visit);
    each_counter(s ? &s->user().count : nullptr, visit);
    each_counter(s ? &s->count : nullptr, visit);
}

u64 wdata_left(const UserState& user) {
    u64 n = 0;
    for (const auto& b : user.wbufs) n += b.len * (b.repeat + 1) - b.at;
    return n;
}

}  // namespace

extern "C" {

// ---- life

db_host_sim* db_host_open(const db_host_config* c, const db_host_port* p, uint32_t n, char* err, uint32_t len) {
    std::string why = fault_in(*c, p, n);
    std::unique_ptr<db_host_sim> s;
    try {
        if (why.empty()) s = make_host(*c, p, why);
    } catch (const std::exception& e) {
        why = e.what();
    }
    if (!s && len) std::snprintf(err, len, "%s", why.c_str());
    return s.release();
}

void db_host_close(db_host_sim* s) { delete s; }
void db_host_reset(db_host_sim* s, int drives) { s->reset(drives != 0); }
uint64_t db_host_cycle(const db_host_sim* s) { return s->cycle; }
int db_host_run(db_host_sim* s, uint64_t cycles, uint32_t stop) {
    PageFaults::Guard guard;
    return s->run(cycles, stop);
}

uint64_t db_host_signal(db_host_sim* s, uint32_t port, uint32_t which) {
    const RootPortLink* p = port < s->ports.size() ? s->ports[port].get() : nullptr;
    const RecorderState* r = s->recorder();
    switch (which) {
        case DB_SIG_LEVEL: return r ? r->level() : 0;
        case DB_SIG_LEVEL_PEAK: return r ? r->level_peak : 0;
        case DB_SIG_IDLE: return s->idle();
        case DB_SIG_CMDS_LEFT: return s->user().cmds.size();
        case DB_SIG_WDATA_LEFT: return wdata_left(s->user());
        case DB_SIG_RDATA_BYTES: return s->user().rbytes;
        case DB_SIG_LINK_UP: return p && p->is_up;
        case DB_SIG_MPS: return p ? p->mps : 0;
        case DB_SIG_MRRS: return p ? p->mrrs : 0;
        default: return s->signal(which);
    }
}

// ---- the user

int db_host_cmds(db_host_sim* s, const db_block_cmd* c, uint32_t n) {
    s->user().cmds.insert(s->user().cmds.end(), c, c + n);
    s->quiet = 0;
    return 0;
}
void db_host_wdata(db_host_sim* s, const void* data, uint64_t len, uint32_t repeat) {
    s->user().wbufs.push_back(UserState::Buffer{static_cast<const u8*>(data), len, 0, repeat});
    s->quiet = 0;
}
void db_host_rdata(db_host_sim* s, void* data, uint64_t len) {
    s->user().rbuf = static_cast<u8*>(data);
    s->user().rbuf_len = data ? len : 0;
    s->user().rbytes = 0;
}
int db_host_status(db_host_sim* s, db_block_status* out, int n) { return take(s->user().statuses, out, n); }
int db_host_rdata_ends(db_host_sim* s, db_rdata_end* out, int n) { return take(s->user().ends, out, n); }
int db_host_forwarded(db_host_sim* s, db_fwd* out, int n) { return take(s->user().fwd, out, n); }
void db_host_forward_stall(db_host_sim* s, int on) {
    s->user().fwd_stall = on != 0;
    s->quiet = 0;
}

// ---- the user of a recorder: nothing happens where there is none

void db_host_rec_source(db_host_sim* s, uint64_t buffer, uint64_t drop, int drop_on) {
    if (RecorderState* r = s->recorder()) r->source(buffer, drop, drop_on != 0);
}
void db_host_rec_read(db_host_sim* s, void* data, uint64_t len, uint32_t drives) {
    if (RecorderState* r = s->recorder()) r->read_from(static_cast<u8*>(data), len, drives);
}
int db_host_rec_send(db_host_sim* s, const uint32_t* data, uint32_t dwords) {
    RecorderState* r = s->recorder();
    db_rec_packet p{};
    if (!r || !dwords || dwords > sizeof p.data / 4) return -1;
    p.dwords = dwords;
    std::memcpy(p.data, data, dwords * 4);
    r->sends.push_back(p);
    s->quiet = 0;
    return 0;
}
int db_host_rec_packets(db_host_sim* s, db_rec_packet* out, int n) {
    RecorderState* r = s->recorder();
    return r ? take(r->packets, out, n) : 0;
}

// ---- registers

int db_host_axil(db_host_sim* s, int write, uint32_t addr, uint32_t data) {
    if (s->user().axil.state || (addr >> 16) > s->ports.size()) return -1;
    s->user().axil = {Access::ASKED, addr, data, 0, write != 0, false, false};
    s->quiet = 0;
    return 0;
}
int db_host_axil_poll(db_host_sim* s, uint32_t* data) {
    if (s->user().axil.state != Access::ANSWERED) return -1;
    s->user().axil.state = Access::NOTHING;
    *data = s->user().axil.data;
    return int(s->user().axil.resp);
}
int db_host_admin(db_host_sim* s, const void* sqe) {
    if (s->user().adm.state) return -1;
    s->user().adm = {};
    s->user().adm.state = Access::ASKED;
    std::memcpy(s->user().adm.sqe, sqe, sizeof s->user().adm.sqe);
    s->quiet = 0;
    return 0;
}
int db_host_admin_poll(db_host_sim* s, void* cqe) {
    if (s->user().adm.state != Access::ANSWERED) return -1;
    s->user().adm.state = Access::NOTHING;
    std::memcpy(cqe, s->user().adm.cqe, sizeof s->user().adm.cqe);
    return s->user().adm.timeout;
}
int db_host_reg(db_host_sim* s, int write, uint32_t addr, uint32_t data) {
    if (s->user().reg.state) return -1;
    s->user().reg = {Access::ASKED, addr, data, 0, write != 0, false, false};
    s->quiet = 0;
    return 0;
}
int db_host_reg_poll(db_host_sim* s, uint32_t* data) {
    if (s->user().reg.state != Access::ANSWERED) return -1;
    s->user().reg.state = Access::NOTHING;
    *data = s->user().reg.data;
    return int(s->user().reg.resp);
}

// ---- drives

void db_host_link(db_host_sim* s, uint32_t port, int up) {
    if (port >= s->ports.size()) return;
    s->ports[port]->set_link(up != 0);
    s->port_cfg[port].link_up = up != 0;
    s->quiet = 0;
}
void db_host_drive_reset(db_host_sim* s, uint32_t port) {
    if (port < s->ports.size()) s->drives[port]->reset();
    s->quiet = 0;
}
uint32_t db_host_fault(db_host_sim* s, uint32_t port, uint32_t kind, int32_t opcode, int32_t admin, uint64_t lba,
                       uint64_t blocks, uint32_t skip, uint32_t count, uint64_t arg) {
    return add_fault(s->drive<ModelDrive>(port), {kind, opcode, admin, lba, blocks, skip, count, arg, 0});
}
uint64_t db_host_fault_hits(db_host_sim* s, uint32_t port, uint32_t id) {
    return fault_hits(s->drive<ModelDrive>(port), id);
}
void db_host_fault_clear(db_host_sim* s, uint32_t port) { clear_faults(s->drive<ModelDrive>(port)); }
void db_host_hang(db_host_sim* s, uint32_t port) { hang(s->drive<ModelDrive>(port)); }
uint8_t* db_host_media(db_host_sim* s, uint32_t port) { return data_of(s->drive<ModelDrive>(port)); }
int db_host_media_sync(db_host_sim* s, uint32_t port) { return sync(s->drive<ModelDrive>(port)); }

// ---- the caller as a drive

int db_host_ext_next(db_host_sim* s, uint32_t port, db_ext_msg* out) {
    return next_message(s->drive<ExternalDrive>(port), out);
}
int db_host_ext_answer(db_host_sim* s, uint32_t port, uint64_t id, uint32_t status, const void* data) {
    s->quiet = 0;
    return answer(s->drive<ExternalDrive>(port), id, status, data);
}
int db_host_ext_read(db_host_sim* s, uint32_t port, uint64_t addr, uint32_t len) {
    s->quiet = 0;
    return start_read(s->drive<ExternalDrive>(port), addr, len);
}
int db_host_ext_poll(db_host_sim* s, uint32_t port, int handle, void* data) {
    return poll(s->drive<ExternalDrive>(port), handle, data);
}
void db_host_ext_write(db_host_sim* s, uint32_t port, uint64_t addr, const void* data, uint32_t len) {
    s->quiet = 0;
    start_write(s->drive<ExternalDrive>(port), addr, data, len);
}
void db_host_ext_sizes(db_host_sim* s, uint32_t port, uint32_t mps, uint32_t mrrs) {
    set_sizes(s->drive<ExternalDrive>(port), mps, mrrs);
}

// ---- figures

int db_host_counters(db_host_sim* s, uint32_t port, uint64_t* out, int n) {
    if (port >= s->ports.size()) return 0;
    CounterValues values{out, n};
    each_counter(s, port, values);
    return values.seen;
}
const char* db_host_counter_name(int i) {
    CounterName name{i};
    each_counter(static_cast<const db_host_sim*>(nullptr), 0, name);
    return name.found;
}
int db_host_coverage(db_host_sim* s, const char* path) { return s->coverage(path); }
int db_host_trace(db_host_sim* s, const char* path) { return s->trace(path); }

void db_host_link_rate(const db_host_sim* s, uint32_t port, uint64_t* ticks_per_cycle, uint64_t* ticks_per_byte) {
    const Link& l = s->ports[port < s->ports.size() ? port : 0]->up;
    *ticks_per_cycle = l.ticks_per_cycle;
    *ticks_per_byte = l.ticks_per_byte;
}

}  // extern "C"
