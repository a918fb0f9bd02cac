// SPDX-License-Identifier: Apache-2.0
#include "host/mmio.h"

#include <algorithm>
#include <cstring>

#include "pcie/bar_map.h"

namespace db {

void Mmio::clear() {
    requests.clear();
    held.clear();
    for (Read& m : read)
        if (m.state == WAITING) end(m, DB_MMIO_TIMEOUT);
    reads_out = 0;
}

// ---- the caller

int Mmio::start_write(u32 fn, u32 off, const void* data, u32 len) {
    if (!fits(off, len)) return -1;
    Request m{fn, off, len, 0, true, {}};
    std::memcpy(m.data, data, len);
    requests.push(m);
    return 0;
}

int Mmio::start_read(u32 fn, u32 off, u32 len) {
    if (!fits(off, len)) return -1;
    for (u32 k = 0; k < TAGS; ++k) {
        const u32 tag = (next_tag + k) % TAGS;
        Read& m = read[tag];
        if (m.state) continue;
        const u64 deadline = timeout == NEVER ? NEVER : x.cycle + timeout;
        m = Read{WAITING, fn, off, len, (off + len + 3) / 4 - off / 4, deadline, false, {}};
        next_tag = tag + 1;
        ++reads_out;
        requests.push(Request{fn, off, len, tag, false, {}});
        return int(tag);
    }
    return -1;
}

int Mmio::poll(int handle, void* data) {
    if (handle < 0 || u32(handle) >= TAGS) return DB_MMIO_BAD;
    Read& m = read[handle];
    if (m.state == WAITING) return DB_MMIO_PENDING;
    const int r = m.state == ANSWERED ? int(m.len) : m.state ? m.state : int(DB_MMIO_BAD);
    if (m.state == ANSWERED) std::memcpy(data, m.data, m.len);
    m.state = FREE;
    return r;
}

void Mmio::forget(int handle) {
    if (handle < 0 || u32(handle) >= TAGS) return;
    Read& m = read[handle];
    if (m.state == WAITING) m.forgotten = true;
    else m.state = FREE;
}

void Mmio::set_page(u32 fn, void* doorbells) {
    page[fn] = static_cast<u8*>(doorbells);
    pages = (pages & ~(1u << fn)) | u32(doorbells != nullptr) << fn;
    forget_page(fn);
}

void Mmio::forget_page(u32 fn) {
    if (page[fn]) std::memset(page[fn], 0xff, DOORBELL_PAGE_BYTES);
}

// ---- the link

void Mmio::hold_reads() {
    while (!requests.empty() && !requests.front().write && !(held.empty() && rx.request_room(true))) {
        held.push(requests.front());
        requests.pop();
    }
}

void Mmio::send(Link& down) {
    const bool was_held = !held.empty() && rx.request_room(true);
    const Request& m = was_held ? held.front() : requests.front();
    CqPacket& c = rx.cq.slot();
    const bool card = m.off & DB_BAR_4;
    const u64 addr = (card ? x.bar4(m.fn) - DB_BAR_4 : x.bar(m.fn)) + (m.off & ~3u);
    const u32 lead = m.off & 3, end = m.off + m.len, dw = (end + 3) / 4 - m.off / 4;
    const u32 first = dw == 1 ? (ones(m.len) << lead & 15) : (15u << lead & 15);
    const u32 last = dw == 1 ? 0 : (end & 3 ? u32(ones(end & 3)) : 15u);
    c.w[0] = u32(addr);
    c.w[1] = u32(addr >> 32);
    c.w[2] = dw | (m.write ? REQ_MWR : REQ_MRD) << 11;  // requester: the root complex, 0000
    c.w[3] = m.tag | number_of(m.fn) << 8 | (card ? 4u << 16 | x.cmb_log2 << 19 : 14u << 19);  // BAR 0: 16 KiB
    c.ndw = REQ_DESC;
    if (m.write) {
        std::memset(&c.w[REQ_DESC], 0, dw * 4);
        std::memcpy(reinterpret_cast<u8*>(&c.w[REQ_DESC]) + lead, m.data, m.len);
        c.ndw += dw;
    }
    c.first_be = u8(first);
    c.last_be = u8(last);
    c.damaged = false;
    c.arrive = down.send(x.cycle, m.write ? MWR : MRD, header_dw(addr), m.write ? dw * 4 : 0);
    rx.push_request();
    if (was_held) held.pop();
    else requests.pop();
}

void Mmio::answer(const AnswerTlp& c) {
    const u32 tag = c.w[2] & 0xff, status = c.w[1] >> 11 & 7, bytes = c.w[0] >> 16 & 0x1fff;
    if (tag >= TAGS || read[tag].state != WAITING) {
        ++hard.cc[CcError::UNEXPECTED];
        return;
    }
    Read& m = read[tag];
    const bool poison = c.w[1] >> 14 & 1;
    if ((c.w[2] >> 8 & 0xff) != number_of(m.fn)) {  // another function answers
        ++hard.cc[CcError::FORMAT];
        end(m, DB_MMIO_BAD);
    } else if (status) {
        end(m, DB_MMIO_UR);
    } else if (poison) {
        end(m, DB_MMIO_POISON);
    } else if (c.ndw != m.dw || bytes != m.len || (c.w[0] & 0x7f) != (m.off & 0x7f)) {
        ++hard.cc[CcError::FORMAT];
        end(m, DB_MMIO_BAD);
    } else {
        std::memcpy(m.data, reinterpret_cast<const u8*>(&c.w[CPL_DESC]) + (m.off & 3), m.len);
        end(m, ANSWERED);
    }
    --reads_out;
    x.events |= DB_STOP_MMIO;
}

// ---- time

bool Mmio::scan_page(u32 fn) {
    for (u32 i = 0; i < DOORBELL_PAGE_BYTES / 4; ++i) {
        u32* const word = reinterpret_cast<u32*>(page[fn]) + i;
        if (__atomic_load_n(word, __ATOMIC_RELAXED) == NOTHING) continue;
        if (requests.full()) return false;
        const u32 v = __atomic_exchange_n(word, NOTHING, __ATOMIC_ACQUIRE);
        Request m{fn, BAR_DOORBELLS + i * 4, 4, 0, true, {}};
        std::memcpy(m.data, &v, 4);
        requests.push(m);
        ++count[HostCount::DOORBELLS];
    }
    return true;
}

void Mmio::expire() {
    if (!reads_out) return;
    for (Read& m : read) {
        if (m.state != WAITING || m.deadline > x.cycle) continue;
        end(m, DB_MMIO_TIMEOUT);
        --reads_out;
        ++count[HostCount::MMIO_TIMEOUT];
        x.events |= DB_STOP_MMIO;
    }
}

u64 Mmio::next_deadline() const {
    u64 e = NEVER;
    if (reads_out)
        for (const Read& m : read)
            if (m.state == WAITING) e = std::min(e, m.deadline);
    return e;
}

}  // namespace db
