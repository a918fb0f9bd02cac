// SPDX-License-Identifier: Apache-2.0
// The C interface of the SSDs beside a simulated device (interface/db_switch_sim.h).
#include <cstdio>
#include <exception>

#include "drives/make_drive.h"
#include "runtime/counter_list.h"
#include "runtime/device.h"
#include "runtime/drive_calls.h"
#include "switch/switch.h"

using namespace db;

namespace {

Switch& switch_of(db_sim* s) { return static_cast<Switch&>(*s->host.peers); }
const Switch& switch_of(const db_sim* s) { return static_cast<const Switch&>(*s->host.peers); }

template <class D>
D* drive(const db_sim* s, u32 port) {
    if (port >= switch_of(s).size()) return nullptr;
    return dynamic_cast<D*>(switch_of(s).port(port).drive);
}

/// What is wrong with a configuration, or "".
std::string fault_in(const db_switch_config& c, u32 mps, const db_host_port* p, u32 n) {
    if (c.abi != DB_SWITCH_ABI) return "the library and switch_sim.py are of different versions";
    if (!db_num_ssd() || n != db_num_ssd()) return "this top has " + std::to_string(db_num_ssd()) + " SSDs";
    if (c.ssd_mrrs_code > 5) return "ssd_mrrs: 128, 256, ... 4096";
    if (!c.cq_tlps || c.cq_tlps > Receive::CQ_SLOTS / 2 || !c.cq_bytes) return "cq_tlps: 1 to 32; cq_bytes: at least 1";
    if (c.window_base & ((u64{n} << 26) - 1)) return "window: a multiple of its size, 64 MiB for each SSD";
    for (u32 i = 0; i < n; ++i) {
        if (std::string why = db::fault_in(p[i]); !why.empty()) return why;
        if (128u << p[i].drive_mps_cap_code < mps)
            return "mps: drive_mps_cap of an SSD is less; all of a switch have one MPS";
        if (c.ssd_step < p[i].bar_bytes || (c.ssd_bar | c.ssd_step) & (p[i].bar_bytes - 1))
            return "ssd_bar, ssd_step: multiples of bar_bytes";
        if (!p[i].bar64 && (c.ssd_bar + i * c.ssd_step) >> 32) return "ssd_bar: below 4 GiB without bar64";
    }
    return "";
}

/// Those of one SSD.
template <class Visit>
void each_counter(const db_sim* s, u32 port, Visit& visit) {
    const SsdPort* p = s ? &switch_of(s).port(port) : nullptr;
    const ModelDrive* m = s ? drive<ModelDrive>(s, port) : nullptr;
    each_counter(p ? &p->down : nullptr, LINK_DOWN_NAMES, KINDS, visit);
    each_counter(p ? &p->up : nullptr, LINK_UP_NAMES, KINDS, visit);
    each_counter(p ? &p->hard : nullptr, visit);
    each_counter(p ? &p->count : nullptr, visit);
    each_counter(p ? &p->own : nullptr, visit);
    each_counter(m ? &m->count : nullptr, visit);
}

}  // namespace

extern "C" {

db_sim* db_switch_open(const db_config* c, const db_switch_config* sw, const db_host_port* p, uint32_t n, char* err,
                       uint32_t len) {
    std::string why = db::fault_in(*c);
    if (why.empty()) why = fault_in(*sw, c->mps, p, n);
    std::unique_ptr<db_sim> s;
    try {
        if (why.empty()) s = make_device(*c, n * sw->ssd_pages * 4096, why);
        if (s) {
            auto peers = std::make_unique<Switch>(*sw, p, n, s->context, s->transmit, s->receive, s->down);
            if (peers->open(why)) {
                s->host.peers = peers.get();
                s->peers = std::move(peers);
                s->reset();
            } else {
                s.reset();
            }
        }
    } catch (const std::exception& e) {
        why = e.what();
    }
    if (!s && len) std::snprintf(err, len, "%s", why.c_str());
    return s.release();
}

void db_switch_power_cycle(db_sim* s) {
    s->powered = false;
    s->reset();
}
uint64_t db_switch_signal(const db_sim* s, uint32_t which) { return s->ssd_signal(which); }

// ---- the host as their owner

int db_switch_mmio_write(db_sim* s, uint32_t port, uint32_t off, const void* data, uint32_t len) {
    s->quiet = 0;
    return port < switch_of(s).size() && switch_of(s).port(port).host_write(off, data, len) ? 0 : -1;
}
int db_switch_mmio_read(db_sim* s, uint32_t port, uint32_t off, uint32_t len) {
    s->quiet = 0;
    return port < switch_of(s).size() && switch_of(s).port(port).host_read(off, len) ? 0 : -1;
}
int db_switch_mmio_poll(db_sim* s, uint32_t port, void* data) { return switch_of(s).port(port).host_poll(data); }
int db_switch_map(db_sim* s, uint64_t base, uint64_t size, void* ptr) {
    return switch_of(s).map(base, size, static_cast<u8*>(ptr));
}

// ---- the SSDs

void db_switch_link(db_sim* s, uint32_t port, int up) {
    if (port < switch_of(s).size()) switch_of(s).link(port, up != 0);
    s->quiet = 0;
}
uint32_t db_switch_fault(db_sim* s, uint32_t port, uint32_t kind, int32_t opcode, int32_t admin, uint64_t lba,
                         uint64_t blocks, uint32_t skip, uint32_t count, uint64_t arg) {
    return add_fault(drive<ModelDrive>(s, port), {kind, opcode, admin, lba, blocks, skip, count, arg, 0});
}
uint64_t db_switch_fault_hits(db_sim* s, uint32_t port, uint32_t id) {
    return fault_hits(drive<ModelDrive>(s, port), id);
}
void db_switch_fault_clear(db_sim* s, uint32_t port) { clear_faults(drive<ModelDrive>(s, port)); }
void db_switch_hang(db_sim* s, uint32_t port) { hang(drive<ModelDrive>(s, port)); }
uint8_t* db_switch_media(db_sim* s, uint32_t port) { return data_of(drive<ModelDrive>(s, port)); }
int db_switch_media_sync(db_sim* s, uint32_t port) { return sync(drive<ModelDrive>(s, port)); }
const char* db_switch_trouble(db_sim* s, uint32_t port) {
    ModelDrive* const d = drive<ModelDrive>(s, port);
    return d && s->say(d->media.store.trouble) ? s->said.c_str() : nullptr;
}

// ---- the caller as an SSD

int db_switch_ext_next(db_sim* s, uint32_t port, db_ext_msg* out) {
    return next_message(drive<ExternalDrive>(s, port), out);
}
int db_switch_ext_answer(db_sim* s, uint32_t port, uint64_t id, uint32_t status, const void* data) {
    s->quiet = 0;
    return answer(drive<ExternalDrive>(s, port), id, status, data);
}
int db_switch_ext_read(db_sim* s, uint32_t port, uint64_t addr, uint32_t len) {
    s->quiet = 0;
    return start_read(drive<ExternalDrive>(s, port), addr, len);
}
int db_switch_ext_poll(db_sim* s, uint32_t port, int handle, void* data) {
    return poll(drive<ExternalDrive>(s, port), handle, data);
}
void db_switch_ext_write(db_sim* s, uint32_t port, uint64_t addr, const void* data, uint32_t len) {
    s->quiet = 0;
    start_write(drive<ExternalDrive>(s, port), addr, data, len);
}
void db_switch_ext_sizes(db_sim* s, uint32_t port, uint32_t mps, uint32_t mrrs) {
    set_sizes(drive<ExternalDrive>(s, port), mps, mrrs);
}

// ---- figures

int db_switch_counters(const db_sim* s, uint32_t port, uint64_t* out, int n) {
    if (port >= switch_of(s).size()) return 0;
    CounterValues values{out, n};
    each_counter(s, port, values);
    return values.seen;
}
const char* db_switch_counter_name(int i) {
    CounterName name{i};
    each_counter(static_cast<const db_sim*>(nullptr), 0, name);
    return name.found;
}
void db_switch_link_rate(const db_sim* s, uint32_t port, uint64_t* ticks_per_cycle, uint64_t* ticks_per_byte) {
    const Link& l = switch_of(s).port(port < switch_of(s).size() ? port : 0).up;
    *ticks_per_cycle = l.ticks_per_cycle;
    *ticks_per_byte = l.ticks_per_byte;
}

}  // extern "C"
