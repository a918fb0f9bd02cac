// SPDX-License-Identifier: Apache-2.0
// The C interface of a simulated device (interface/db_sim.h).
#include <algorithm>
#include <cstring>

#include "runtime/counter_list.h"
#include "runtime/device.h"

using namespace db;

namespace {

bool power_of_2(u32 v) { return v && !(v & (v - 1)); }

}  // namespace

std::string db::fault_in(const db_config& c) {
    if (c.abi != DB_SIM_ABI) return "the library and sim.py are of different versions";
    if (c.gen < 1 || c.gen > 5 || c.lanes < 1 || c.lanes > 16) return "link: generation 1-5, 1-16 lanes";
    if (!power_of_2(c.mps) || c.mps < 128 || c.mps > MAX_DW * 4) return "mps: 128, 256, 512 or 1024";
    if (!power_of_2(c.mrrs) || c.mrrs < 128 || c.mrrs > 4096) return "mrrs: 128, 256, ... 4096";
    if (c.rcb != 64 && c.rcb != 128) return "rcb: 64 or 128";
    if (c.clock_khz < 1000 || c.clock_khz > 2000000) return "clock: 1 to 2000 MHz";
    if (c.posted_headers > 512 || c.read_headers > 512) return "posted_headers, read_headers: 512 at most";
    if (c.posted_headers && c.posted_credits && c.posted_credits < c.mps / 16)
        return "posted_credits: must hold one TLP";
    if (!c.tx_tlps || !c.tx_bytes || !c.read_queue) return "tx_tlps, tx_bytes, read_queue: at least 1";
    if (c.tx_tlps > Transmit::MAX_POSTED || c.read_queue > Transmit::MAX_READS)
        return "tx_tlps, read_queue: 32 at most";
    if (c.max_reads > 512) return "max_reads: 512 at most";
    if (c.stall_pct > 95) return "stall_pct: 95 at most";
    return "";
}

namespace {

void say(const std::string& text, char* to, u32 len) {
    if (!len) return;
    const size_t n = std::min(text.size(), size_t(len - 1));
    std::memcpy(to, text.data(), n);
    to[n] = 0;
}

bool has(const db_sim* s, u32 fn) { return fn < s->context.num_fn; }

template <class Visit>
void each_counter(const db_sim* s, Visit& visit) {
    each_counter(s ? &s->up : nullptr, LINK_UP_NAMES, KINDS, visit);
    each_counter(s ? &s->down : nullptr, LINK_DOWN_NAMES, KINDS, visit);
    each_counter(s ? &s->count.hard : nullptr, visit);
    each_counter(s ? &s->count.endpoint : nullptr, visit);
    each_counter(s ? &s->count.host : nullptr, visit);
    each_counter(s ? &s->media.count : nullptr, visit);
    each_counter(s ? &s->count.card : nullptr, visit);
    each_counter(s ? &s->count.sim : nullptr, visit);
}

}  // namespace

extern "C" {

// ---- life

db_sim* db_open(const db_config* c, char* err, uint32_t err_len) {
    std::string why = fault_in(*c);
    std::unique_ptr<db_sim> s;
    if (db_num_ssd()) why = "this device has SSDs beside it: db_switch_open";
    if (why.empty()) s = make_device(*c, 0, why);
    if (s) s->reset();
    if (!s) say(why, err, err_len);
    return s.release();
}

void db_close(db_sim* s) { delete s; }
void db_reset(db_sim* s) { s->reset(); }

// ---- time

uint64_t db_cycle(const db_sim* s) { return s->context.cycle; }
uint64_t db_time_us(const db_sim* s) { return s->time_us(); }
void db_set_time_us(db_sim* s, uint64_t us) {
    s->us_offset = us - s->us;
    s->show_time();
}
uint64_t db_wake_us(const db_sim* s) { return s->wake_us(); }
int db_intx(const db_sim* s) { return s->intx; }
int db_idle(const db_sim* s) { return s->idle(); }
void db_listen(db_sim* s, uint32_t functions) { s->context.listening = functions; }
int db_run(db_sim* s, uint64_t cycles, uint32_t stop) {
    PageFaults::Guard guard;
    return s->run(cycles, stop);
}

// ---- host memory

int db_map(db_sim* s, uint32_t fn, uint64_t base, uint64_t size, void* ptr, int writable) {
    return has(s, fn) ? s->host.domains[fn].regions.add(base, size, static_cast<u8*>(ptr), writable != 0) : -1;
}
int db_unmap(db_sim* s, uint32_t fn, uint64_t base, uint64_t size) {
    return has(s, fn) ? s->host.unmap(fn, base, size) : 0;
}
void db_iommu(db_sim* s, uint32_t fn, int on) {
    if (has(s, fn)) s->host.domains[fn].iommu.start(on != 0);
}
void db_grant(db_sim* s, uint32_t fn, uint64_t addr, uint64_t bytes, uint64_t owner, uint32_t rights) {
    if (has(s, fn)) s->host.domains[fn].iommu.grant(addr, bytes, owner, rights);
}
int db_revoke(db_sim* s, uint32_t fn, uint64_t owner) {
    return has(s, fn) ? s->host.domains[fn].iommu.revoke(owner, s->context.cycle) : 0;
}
int db_strays(db_sim* s, uint32_t fn, db_stray* out, int n) {
    return has(s, fn) ? s->host.domains[fn].iommu.take(out, n) : 0;
}
void db_set_watches(db_sim* s, const db_watch* w, uint32_t n) { s->host.watches.set(w, n); }
int db_dma_next(db_sim* s, uint32_t fn, db_msg* out) { return has(s, fn) && s->host.next_message(fn, out); }
int db_dma_complete(db_sim* s, uint64_t id, const void* data, uint32_t len) {
    return s->host.reads.answer(id, data, len);
}
void db_dma_hold(db_sim* s, uint32_t fn, int on) {
    if (!has(s, fn)) return;
    s->host.hold(fn, on != 0);
    s->quiet = 0;
}
uint32_t db_dma_kept(const db_sim* s, uint32_t fn) { return has(s, fn) ? s->host.kept_writes(fn) : 0; }

// ---- registers

int db_mmio_write(db_sim* s, uint32_t fn, uint32_t off, const void* data, uint32_t len) {
    if (!has(s, fn) || s->host.mmio.start_write(fn, off, data, len)) return -1;
    s->quiet = 0;
    return 0;
}
int db_mmio_read(db_sim* s, uint32_t fn, uint32_t off, uint32_t len) {
    const int handle = has(s, fn) ? s->host.mmio.start_read(fn, off, len) : -1;
    if (handle >= 0) s->quiet = 0;
    return handle;
}
int db_mmio_poll(db_sim* s, int handle, void* data) { return s->host.mmio.poll(handle, data); }
void db_mmio_forget(db_sim* s, int handle) { s->host.mmio.forget(handle); }
void db_doorbell_page(db_sim* s, uint32_t fn, void* page) {
    if (has(s, fn)) s->host.mmio.set_page(fn, page);
}
void db_doorbell_reset(db_sim* s, uint32_t fn) {
    if (has(s, fn)) s->host.mmio.forget_page(fn);
}

// ---- interrupts

int db_irqs(db_sim* s, uint32_t fn, db_irq* out, int n) { return has(s, fn) ? s->host.interrupts.take(fn, out, n) : 0; }
uint32_t db_irqs_wait(const db_sim* s) { return s->host.interrupts.waiting(); }
void db_irq_eventfd(db_sim* s, uint32_t fn, uint32_t data, int fd) {
    if (has(s, fn)) s->host.interrupts.send_to(fn, data, fd);
}

// ---- faults and settings

uint32_t db_inject(db_sim* s, int fn, uint32_t kind, uint64_t addr, uint64_t len, int64_t nth, uint32_t count) {
    auto& list = s->host.faults.list;
    list.push_back(ReadFault{kind, count, fn, addr, len, nth, 0});
    return u32(list.size() - 1);
}
uint64_t db_injected(const db_sim* s, uint32_t id) {
    const auto& list = s->host.faults.list;
    return id < list.size() ? list[id].hits : 0;
}
void db_inject_clear(db_sim* s) { s->host.faults.list.clear(); }

int db_set_cfg(db_sim* s, uint32_t fn, int bus_master, int msix_enable, int msix_mask, int intx_disable, int mps,
               int mrrs) {
    EndpointContext& x = s->context;
    if (!has(s, fn) || !x.is_enabled(fn) || (fn && (intx_disable >= 0 || mps > 0 || mrrs > 0))) return -1;
    auto set = [=](u32& bits, int on) {
        if (on >= 0) bits = (bits & ~(1u << fn)) | u32(on != 0) << fn;
    };
    set(x.bus_master, bus_master);
    set(x.msix_enable, msix_enable);
    set(x.msix_mask, msix_mask);
    if (intx_disable >= 0) x.intx_disable = intx_disable;
    if (mps > 0) x.mps = u32(mps);
    if (mrrs > 0) x.mrrs = u32(mrrs);
    s->show_settings();
    return 0;
}

int db_get_cfg(const db_sim* s, uint32_t fn, int out[7]) {
    if (!has(s, fn)) return -1;
    const EndpointContext& x = s->context;
    auto bit = [=](u32 bits) { return int(bits >> fn & 1); };
    const int v[7] = {bit(x.bus_master), bit(x.msix_enable), bit(x.msix_mask), !fn && x.intx_disable,
                      int(x.mps),        int(x.mrrs),        bit(x.enabled)};
    std::copy(v, v + 7, out);
    return 0;
}

int db_enable_vfs(db_sim* s, uint32_t n) {
    if (!has(s, n)) return -1;
    PageFaults::Guard guard;
    const u64 apart = s->vfs_ended + APART;
    while (s->vfs_ended && u32(ones(n + 1)) & ~s->context.enabled && s->context.cycle < apart) s->step();
    s->enable_vfs(n);
    return 0;
}

int db_flr_begin(db_sim* s, uint32_t fn) {
    if (!has(s, fn) || !s->context.is_enabled(fn)) return -1;
    s->begin_flr(fn);
    return 0;
}
int db_flr_poll(const db_sim* s, uint32_t fn) { return !((s->flr_waiting | s->flr_active) >> fn & 1); }

int db_flr(db_sim* s, uint32_t fn, uint64_t max_cycles) {
    PageFaults::Guard guard;
    if (db_flr_begin(s, fn)) return -1;
    while (s->flr_waiting >> fn & 1) s->step();
    const u64 end = s->context.cycle + max_cycles;
    while (!db_flr_poll(s, fn) && s->context.cycle < end) s->step();
    if (db_flr_poll(s, fn)) return 0;
    s->end_flrs(1u << fn);
    return -1;
}

// ---- media

uint8_t* db_media(db_sim* s) { return s->media.store.mem; }
int db_media_error(db_sim* s, uint64_t off, uint64_t len, int64_t count) {
    s->media.errors.push_back({off, len, count});
    return 0;
}
void db_media_error_clear(db_sim* s) { s->media.errors.clear(); }
int db_media_nand(db_sim* s, const db_nand_config* cfg, char* why, uint32_t why_len) {
    std::string text;
    s->media.nand = Nand::make(*cfg, s->media.store.size, text);
    if (s->media.nand) return 0;
    say(text, why, why_len);
    return -1;
}
int db_media_figures(const db_sim* s, db_nand_figures* out) {
    if (!s->media.nand) return -1;
    *out = s->media.nand->figures();
    return 0;
}
int db_media_sync(db_sim* s) { return s->media.store.sync(); }
uint8_t* db_card(db_sim* s) { return s->card.store.mem; }
int db_card_error(db_sim* s, uint64_t off, uint64_t len, int64_t count) {
    s->card.errors.push_back({off, len, count});
    return 0;
}
void db_card_error_clear(db_sim* s) { s->card.errors.clear(); }
const char* db_trouble(db_sim* s) {
    if (s->say(s->media.store.trouble)) return s->said.c_str();
    for (Domain& d : s->host.domains)
        if (s->say(d.regions.trouble)) return s->said.c_str();
    return nullptr;
}

// ---- figures

int db_counters(const db_sim* s, uint64_t* out, int n) {
    CounterValues values{out, n};
    each_counter(s, values);
    return values.seen;
}
const char* db_counter_name(int i) {
    CounterName name{i};
    each_counter(static_cast<const db_sim*>(nullptr), name);
    return name.found;
}

void db_events_open(db_sim* s, uint32_t kinds, uint32_t capacity) {
    s->events.open(kinds, capacity);
    s->up.watch = s->events.wants(DB_EV_UP) ? &s->up_events : nullptr;
    s->down.watch = s->events.wants(DB_EV_DOWN) ? &s->down_events : nullptr;
}
int db_events(db_sim* s, db_event* out, int n) { return s->events.take(out, n); }
uint64_t db_events_lost(const db_sim* s) { return s->events.lost(); }
int db_stalls(const db_sim* s, uint32_t* out, int n) { return s->stalls(out, n); }
int db_traffic(const db_sim* s, uint32_t fn, uint64_t out[3]) {
    if (!has(s, fn)) return -1;
    const Traffic& t = s->host.traffic[fn];
    out[0] = t.written;
    out[1] = t.read;
    out[2] = t.interrupts;
    return 0;
}
int db_coverage(db_sim* s, const char* path) { return s->coverage(path); }
int db_coverage_counts(const db_sim* s, uint32_t* out, int n) { return s->coverage_counts(out, n); }
int db_trace(db_sim* s, const char* path) { return s->trace(path); }
void db_trace_window(db_sim* s, uint64_t first, uint64_t end) { s->trace_window(first, end); }

void db_link_rate(const db_sim* s, uint64_t* ticks_per_cycle, uint64_t* ticks_per_byte) {
    *ticks_per_cycle = s->up.ticks_per_cycle;
    *ticks_per_byte = s->up.ticks_per_byte;
}

}  // extern "C"
