// SPDX-License-Identifier: Apache-2.0
#include "host/pending_reads.h"

#include <algorithm>
#include <cstring>

namespace db {

void PendingReads::clear() {
    for (u32 i = 0; i < SLOTS; ++i) {
        slot[i].data = nullptr;
        slot[i].message = false;
        free[i] = u16(SLOTS - 1 - i);
    }
    answers.clear();
    n_free = SLOTS;
    waiting.clear();
    n_active = n_messages = 0;
    timeouts.clear();
}

// ---- arrival

HostRead& PendingReads::add(const ReadTlp& t, u16& index) {
    index = free[--n_free];
    HostRead& r = slot[index];
    r.addr = t.addr;
    r.dw = t.dw;
    r.done_dw = 0;
    r.first_be = t.first_be;
    r.last_be = enables_of_last(t.dw, t.first_be, t.last_be);
    r.tag = t.tag;
    r.fn = t.fn;
    r.fault = 0;
    r.message = false;
    r.data = nullptr;
    return r;
}

void PendingReads::wait(u16 i) {
    u32 p = waiting.tail;
    waiting.push(i);
    while (p != waiting.head && slot[waiting.at(p - 1)].ready > slot[i].ready) {
        waiting.at(p) = waiting.at(p - 1);
        --p;
    }
    waiting.at(p) = i;
}

void PendingReads::wait_for_caller(u16 i, u64 message_id) {
    slot[i].message = true;
    slot[i].message_id = message_id;
    ++n_messages;
}

// ---- the caller

int PendingReads::answer(u64 message_id, const void* data, u32 len) {
    for (u32 i = 0; n_messages && i < SLOTS; ++i) {
        HostRead& r = slot[i];
        if (!r.message || r.message_id != message_id) continue;
        if (data && len != r.dw * 4) return -1;
        r.message = false;
        --n_messages;
        if (data) {
            answers.emplace_back(new u8[len]);
            r.data = answers.back().get();
            std::memcpy(r.data, data, len);
        } else {
            r.fault = DB_FAULT_UR;
        }
        r.ready = std::max(x.cycle, r.ready);
        wait(u16(i));
        return 0;
    }
    return -1;
}

void PendingReads::give_up(u16 i) {
    slot[i].message = false;
    slot[i].fault = DB_FAULT_UR;
    slot[i].ready = x.cycle;
    --n_messages;
    wait(i);
}

void PendingReads::drop_messages(u32 fn) {
    for (u32 i = 0; n_messages && i < SLOTS; ++i)
        if (slot[i].message && slot[i].fn == number_of(fn)) give_up(u16(i));
}

void PendingReads::drop_messages(u32 fn, u64 base, u64 size) {
    for (u32 i = 0; n_messages && i < SLOTS; ++i) {
        if (!slot[i].message || slot[i].fn != number_of(fn) || slot[i].addr - base >= size) continue;
        ++count[HostCount::READ_UNMAPPED];
        give_up(u16(i));
    }
}

// ---- completion

void PendingReads::activate_due() {
    while (!waiting.empty() && slot[waiting.front()].ready <= x.cycle) {
        active[n_active++] = waiting.front();
        waiting.pop();
    }
}

void PendingReads::completed(u32 k) {
    const u16 i = active[k];
    --n_active;
    for (u32 j = k; j < n_active; ++j) active[j] = active[j + 1];
    finish(i);
}

void PendingReads::finish(u16 i) {
    HostRead& r = slot[i];
    if (r.data) {
        answers.erase(std::find_if(answers.begin(), answers.end(), [&](const auto& d) { return d.get() == r.data; }));
        r.data = nullptr;
    }
    r.message = false;
    free[n_free++] = i;
    tx.read_done(r.fn, r.tag);
    ++count[HostCount::READS_ANSWERED];
}

u64 PendingReads::next_event() const {
    u64 e = NEVER;
    if (!waiting.empty()) e = slot[waiting.front()].ready;
    if (!timeouts.empty()) e = std::min(e, timeouts.front().first);
    return e;
}

}  // namespace db
