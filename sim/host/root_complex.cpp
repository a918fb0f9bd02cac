// SPDX-License-Identifier: Apache-2.0
// Requests of the device; what it sends down is in root_complex_send.cpp.
#include "host/root_complex.h"

#include <algorithm>

namespace db {

RootComplex::RootComplex(EndpointContext& context, Transmit& transmit, Receive& receive, Link& down_link,
                         HardBlockCounters& hard, Counters<HostCount>& counters)
    : x(context), tx(transmit), rx(receive), down(down_link), count(counters),
      read_cycles(x.cycles(x.cfg.host_latency_ns)), timeout_cycles(x.cycles(x.cfg.cpl_timeout_ns)),
      jitter_cycles(u32(x.cycles(x.cfg.completion_jitter_ns))), domains(x.num_fn, counters),
      interrupts(context, counters), watches(context, domains), reads(context, transmit, counters),
      mmio(context, receive, hard, counters) {}

void RootComplex::clear() {
    reads.clear();
    mmio.clear();
    messages.clear();
    interrupts.clear();
    late.clear();
    for (auto& writes : kept) writes.clear();
    keeps = 0;
}

// A write into memory, an interrupt or a read of memory stays behind writes that the caller has yet to fetch, so that
// nobody sees them overtaken. Writes and interrupts are kept meanwhile, so that other functions' go on.
void RootComplex::take_requests() {
    while (tx.request_arrived()) {
        if (!(tx.next_is_read() ? read(tx.next_read()) : write(tx.next_posted()))) return;
        tx.accept();
    }
}

// In their order: one for an SSD whose queue is full holds up those behind it.
void RootComplex::take_answers() {
    while (tx.answer_arrived()) {
        const AnswerTlp& c = tx.next_answer();
        if (!peers || !c.requester()) mmio.answer(c);
        else if (!peers->asked(c.requester())) mmio.nobody_asked();
        else if (!peers->answer(c)) return;
        tx.accept_answer();
    }
}

// ---- writes

bool RootComplex::write(const PostedTlp& p) {
    if (for_peers(p.addr(), p.function())) return peers->write(p);
    const u32 fn = x.index_of(p.function());
    const bool waits = (keeps | held) >> fn & 1;
    if (waits && !has_bus_master(fn)) return true;
    if (!waits && deliver(p)) return true;
    kept[fn].push_back(p);
    keeps |= 1u << fn;
    return true;
}

void RootComplex::deliver_kept() {
    for (u32 left = keeps & ~held; left; left &= left - 1) {
        auto& writes = kept[__builtin_ctz(left)];
        while (!writes.empty() && deliver(writes.front())) writes.pop_front();
        if (writes.empty()) keeps &= ~(left & -left);
    }
}

// False: messages of the function are before it that the caller has yet to fetch.
bool RootComplex::deliver(const PostedTlp& p) {
    const u64 addr = p.addr();
    const u32 n = p.ndw * 4, fn = x.index_of(p.function());
    if (is_interrupt(addr)) {
        if (messages.writes(fn)) return false;
        interrupts.raise(fn, addr, p.w[REQ_DESC]);
        ++traffic[fn].interrupts;
        return true;
    }
    auto& [regions, iommu] = domains[fn];
    const Region* r = regions.find(addr, n);
    if (!r) {
        ++count[HostCount::WRITE_UNMAPPED];
        return true;
    }
    if (p.first_be == 0) return true;
    if (!iommu.allows(addr, n, DB_GRANT_WRITE, x.cycle)) return true;
    if (!r->ptr) {
        if (!has_bus_master(fn)) return true;
        const u32 lead = bytes_before(p.first_be, 4);
        const u32 trail = bytes_behind(enables_of_last(p.ndw, p.first_be, p.last_be), 4);
        const u8* src = reinterpret_cast<const u8*>(&p.w[REQ_DESC]);
        messages.add_write(fn, addr + lead, src + lead, src + n - trail);
        traffic[fn].written += n;
        ++count[HostCount::MESSAGE_WRITES];
        x.happens(fn, DB_STOP_DMA);
        return true;
    }
    if (messages.writes(fn)) return false;
    if (!r->writable) {
        ++count[HostCount::WRITE_UNMAPPED];
        return true;
    }
    store(r->ptr + (addr - r->base), p);
    if (regions.lost(addr, n)) ++count[HostCount::WRITE_UNMAPPED];
    traffic[fn].written += n;
    watches.written(fn, addr, n);
    return true;
}

void RootComplex::store(u8* dst, const PostedTlp& p) {
    const u8* src = reinterpret_cast<const u8*>(&p.w[REQ_DESC]);
    const u8 last_be = enables_of_last(p.ndw, p.first_be, p.last_be);
    const u32 n = p.ndw * 4;
    if (p.first_be == 15 && last_be == 15) {
        host_store(dst, src, n);
        return;
    }
    for (u32 i = 0; i < n; ++i) {
        const u8 be = i < 4 ? p.first_be : i >= n - 4 ? last_be : 15;
        if (be >> (i & 3) & 1) dst[i] = src[i];
    }
}

// ---- reads

bool RootComplex::read(const ReadTlp& t) {
    if (for_peers(t.addr, t.fn)) return peers->read(t);
    const u32 fn = x.index_of(t.fn);
    auto& [regions, iommu] = domains[fn];
    const Region* region = regions.find(t.addr, t.dw * 4);
    const bool by_message = region && !region->ptr;
    if (messages.writes(fn) && !by_message) return false;
    u16 i;
    HostRead& r = reads.add(t, i);
    traffic[fn].read += t.dw * 4;
    r.fault = faults.list.empty() ? 0 : faults.meet(fn, t.addr, t.dw * 4);
    if (r.first_be && !iommu.allows(t.addr, t.dw * 4, DB_GRANT_READ, x.cycle)) r.fault = DB_FAULT_UR;
    if (by_message && !has_bus_master(fn)) r.fault = DB_FAULT_UR;
    r.ready = x.cycle + read_cycles + (jitter_cycles ? x.rng.below(jitter_cycles + 1) : 0);
    if (timeout_cycles && r.ready - x.cycle > timeout_cycles) r.fault = DB_FAULT_DROP;
    if (r.fault == DB_FAULT_DROP || (r.fault == DB_FAULT_LATE && timeout_cycles)) {
        if (r.fault == DB_FAULT_LATE) late.add({x.cycle + 2 * timeout_cycles, t.addr, t.dw, t.tag, t.fn});
        reads.wait_for_timeout(i, x.cycle + timeout_cycles);
    } else if (by_message && !r.fault) {
        reads.wait_for_caller(i, messages.add_read(fn, t.addr, t.dw * 4u));
        ++count[HostCount::MESSAGE_READS];
        x.happens(fn, DB_STOP_DMA);
    } else {
        reads.wait(i);
    }
    return true;
}

// ---- the caller

bool RootComplex::next_message(u32 fn, db_msg* out) {
    Message m;
    if (!messages.take(fn, m)) return false;
    out->id = m.id;
    out->addr = m.addr;
    out->len = m.len;
    out->fn = m.fn;
    out->write = m.write;
    if (m.write) std::copy(m.data.begin(), m.data.end(), out->data);
    return true;
}

int RootComplex::unmap(u32 fn, u64 base, u64 size) {
    const int n = domains[fn].regions.remove(base, size);
    auto& writes = kept[fn];
    const auto gone = [&](const PostedTlp& p) { return p.addr() - base < size && !is_interrupt(p.addr()); };
    writes.erase(std::remove_if(writes.begin(), writes.end(), gone), writes.end());
    if (writes.empty()) keeps &= ~(1u << fn);
    messages.drop(fn, base, size);
    reads.drop_messages(fn, base, size);
    return n;
}

void RootComplex::drop_messages(u32 fn) {
    kept[fn].clear();
    keeps &= ~(1u << fn);
    messages.drop(fn);
    reads.drop_messages(fn);
}

u64 RootComplex::next_event() const {
    u64 e = std::min({reads.next_event(), mmio.next_deadline(), late.next_event()});
    if (mmio.pending() || reads.ready_count()) e = std::min(e, down.free_c);
    return e;
}

}  // namespace db
