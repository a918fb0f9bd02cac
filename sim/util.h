// SPDX-License-Identifier: Apache-2.0
// Ring buffers, random numbers and access to Verilator's port types.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "verilated.h"

namespace db {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

constexpr u64 NEVER = ~u64{0};

// Ring of N (a power of two) entries. `mid` is a second read pointer between head and tail, for queues whose entries
// are first sent and later arrive; plain queues ignore it.
template <class T, u32 N>
struct Ring {
    static_assert((N & (N - 1)) == 0, "power of two");
    T a[N];
    u32 head = 0, mid = 0, tail = 0;

    u32 size() const { return tail - head; }
    u32 unsent() const { return tail - mid; }
    bool empty() const { return head == tail; }
    bool full() const { return tail - head == N; }
    T& front() { return a[head & (N - 1)]; }
    T& next() { return a[mid & (N - 1)]; }
    T& slot() { return a[tail & (N - 1)]; }  // the entry that push() will add
    T& at(u32 i) { return a[i & (N - 1)]; }
    void push() { ++tail; }
    void push(const T& v) {
        slot() = v;
        ++tail;
    }
    void pop() { ++head; }
    void clear() { head = mid = tail = 0; }
};

// xorshift64*: small, fast, the same on every machine.
struct Rng {
    u64 s;
    explicit Rng(u64 seed) : s(seed * 0x9e3779b97f4a7c15ull + 0x853c49e6748fea9bull) {
        if (!s) s = 1;
    }
    u32 next() {
        s ^= s >> 12;
        s ^= s << 25;
        s ^= s >> 27;
        return u32((s * 0x2545f4914f6cdd1dull) >> 32);
    }
    u32 below(u32 n) { return u32((u64(next()) * n) >> 32); }
};

// A port as little-endian 32-bit words, whatever type Verilator gave it.
template <class P>
inline void put_words(P& port, const u32* w) {
    if constexpr (std::is_integral<P>::value) {
        u64 v = w[0];
        if (sizeof(P) == 8) v |= u64(w[1]) << 32;
        port = P(v);
    } else {
        std::memcpy(&port[0], w, sizeof(P));
    }
}

template <class P>
inline void get_words(const P& port, u32* w) {
    if constexpr (std::is_integral<P>::value) {
        w[0] = u32(port);
        if (sizeof(P) == 8) w[1] = u32(u64(port) >> 32);
    } else {
        std::memcpy(w, &port[0], sizeof(P));
    }
}

template <class P>
inline u32 word(const P& port, unsigned i) {
    if constexpr (std::is_integral<P>::value) {
        return i == 0 ? u32(port) : (sizeof(P) == 8 && i == 1 ? u32(u64(port) >> 32) : 0);
    } else {
        return port[i];
    }
}

constexpr u64 ones(u32 n) { return n >= 64 ? ~u64{0} : (u64{1} << n) - 1; }

inline u64 ns_to_cycles(u64 ns, u64 khz) { return (ns * khz + 500000) / 1000000; }

}  // namespace db
