// SPDX-License-Identifier: Apache-2.0
// The memory of db_recorder's buffer: an AXI4 slave that takes a row and gives a row in every cycle, in order, with the
// latency of a DDR controller, and pauses at random where the user's streams have them. No input depends on an output of
// the same cycle.
#pragma once

#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>

#include <sys/mman.h>

#include "common/ports.h"
#include "common/random.h"

namespace db {

/// SIZE_LG: log2 of its bytes; 0: the top has no such port.
template <class Top, u32 STREAM_W, u32 SIZE_LG>
struct BufferMemory {
    static constexpr u32 ROW = STREAM_W / 8, BURSTS = 32, PAGE = 4096;
    static constexpr u64 SIZE = u64{1} << SIZE_LG, READ_CYCLES = 60, WRITE_CYCLES = 20;
    struct Burst {
        u64 addr, due;
        u32 rows;
    };

    Top& top;
    u8* mem = nullptr;
    std::deque<Burst> writes, reads;
    std::deque<u64> responses;  // when each is due
    u64 errors = 0;             // what an AXI4 master must not do, or this one: out of its place, half rows

    explicit BufferMemory(Top& t) : top(t) {
        void* p = mmap(nullptr, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            throw std::runtime_error("no memory for the recorder's buffer of " + std::to_string(SIZE >> 20) +
                                     " MiB: choose a smaller one");
        mem = static_cast<u8*>(p);
    }
    BufferMemory(const BufferMemory&) = delete;
    BufferMemory& operator=(const BufferMemory&) = delete;
    ~BufferMemory() {
        if (mem) munmap(mem, SIZE);
    }

    void clear() {
        writes.clear();
        reads.clear();
        responses.clear();
        top.m_axi_awready = top.m_axi_wready = top.m_axi_arready = top.m_axi_bvalid = top.m_axi_rvalid = 0;
    }

    Burst burst(u64 addr, u32 len, u32 size, u32 kind, u64 due) {
        const u64 bytes = u64(len + 1) * ROW;
        if (addr % ROW || 1u << size != ROW || kind != 1 || addr / PAGE != (addr + bytes - 1) / PAGE) ++errors;
        if (addr + bytes > SIZE) ++errors, addr = 0;
        return Burst{addr, due, len + 1};
    }

    // Before the edge. True if something moves.
    bool sample(u64 cycle) {
        if (top.m_axi_wvalid && top.m_axi_wready) {
            Burst& b = writes.front();
            u32 row[STREAM_W / 32];
            get_words(top.m_axi_wdata, row);
            std::memcpy(mem + b.addr, row, ROW);
            b.addr += ROW;
            if (bool(top.m_axi_wlast) != (--b.rows == 0)) ++errors;
            if (!b.rows) {
                writes.pop_front();
                responses.push_back(cycle + WRITE_CYCLES);
            }
        }
        if (top.m_axi_awvalid && top.m_axi_awready)
            writes.push_back(burst(top.m_axi_awaddr, top.m_axi_awlen, top.m_axi_awsize, top.m_axi_awburst, 0));
        if (top.m_axi_bvalid && top.m_axi_bready) responses.pop_front();
        if (top.m_axi_rvalid && top.m_axi_rready) {
            reads.front().addr += ROW;
            if (!--reads.front().rows) reads.pop_front();
        }
        if (top.m_axi_arvalid && top.m_axi_arready)
            reads.push_back(
                burst(top.m_axi_araddr, top.m_axi_arlen, top.m_axi_arsize, top.m_axi_arburst, cycle + READ_CYCLES));
        return !writes.empty() || !reads.empty() || !responses.empty();
    }

    // Between two edges. What was offered and not taken stays.
    void update(u64 cycle, Rng& rng, u32 pause) {
        const auto now = [&] { return !(pause && rng.below(100) < pause); };
        top.m_axi_awready = writes.size() < BURSTS && now();
        top.m_axi_wready = !writes.empty() && now();
        top.m_axi_arready = reads.size() < BURSTS && now();
        if (!top.m_axi_bvalid || responses.empty() || responses.front() > cycle)
            top.m_axi_bvalid = !responses.empty() && responses.front() <= cycle && now();
        const bool due = !reads.empty() && reads.front().due <= cycle;
        top.m_axi_rvalid = due && (top.m_axi_rvalid || now());
        if (!due) return;
        u32 row[STREAM_W / 32];
        std::memcpy(row, mem + reads.front().addr, ROW);
        put_words(top.m_axi_rdata, row);
        top.m_axi_rlast = reads.front().rows == 1;
    }
};

template <class Top, u32 STREAM_W>
struct BufferMemory<Top, STREAM_W, 0> {
    static constexpr u64 errors = 0;
    explicit BufferMemory(Top&) {}
    void clear() {}
    bool sample(u64) { return false; }
    void update(u64, Rng&, u32) {}
};

}  // namespace db
