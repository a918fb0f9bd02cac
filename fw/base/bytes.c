// SPDX-License-Identifier: Apache-2.0
// Little-endian fields, text, division; and what the compiler calls by itself.
#include "base/bytes.h"

#include "base/config.h"

void* memcpy(void* restrict to, const void* restrict from, size_t n);
uint64_t __muldi3(uint64_t a, uint64_t b);
uint32_t __mulsi3(uint32_t a, uint32_t b);

void put16(uint8_t* at, uint32_t v) {
    at[0] = (uint8_t)v;
    at[1] = (uint8_t)(v >> 8);
}

void put32(uint8_t* at, uint32_t v) {
    put16(at, v);
    put16(at + 2, v >> 16);
}

void put64(uint8_t* at, uint64_t v) {
    put32(at, (uint32_t)v);
    put32(at + 4, (uint32_t)(v >> 32));
}

void put_text(uint8_t* at, const char* text, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) at[i] = *text ? (uint8_t)*text++ : ' ';
}

void put_hex(uint8_t* at, uint32_t v) {
    for (uint32_t i = 0; i < 8; i++, v <<= 4) at[i] = (uint8_t)"0123456789abcdef"[v >> 28];
}

uint64_t div_u64(uint64_t n, uint32_t d, uint32_t* remainder) {
    uint64_t quotient = 0, rest = 0;
    for (int i = 0; i < 64; i++) {
        rest = rest << 1 | n >> 63;
        n <<= 1;
        quotient <<= 1;
        if (rest >= d) {
            rest -= d;
            quotient |= 1;
        }
    }
    if (remainder) *remainder = (uint32_t)rest;
    return quotient;
}

/// The processor has no multiplier.
uint64_t __muldi3(uint64_t a, uint64_t b) {
    uint64_t product = 0;
    for (; b; a <<= 1, b >>= 1) {
        if (b & 1u) product += a;
    }
    return product;
}

uint32_t __mulsi3(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    if (FUNCTIONS > 1 && a < b) {  // compiled for size it multiplies places by sizes, and a place has few bits
        uint32_t more = b;
        b = a;
        a = more;
    }
    for (; b; a <<= 1, b >>= 1) {
        if (b & 1u) product += a;
    }
    return product;
}

void* memset(void* to, int value, size_t n) {
    uint8_t* p = to;
    uint32_t word = (uint8_t)value * 0x01010101u;
    for (; n && ((uintptr_t)p & 3u); n--) *p++ = (uint8_t)value;
    for (; n >= 4; n -= 4, p += 4) *(volatile uint32_t*)(void*)p = word;
    while (n--) *(volatile uint8_t*)p++ = (uint8_t)value;
    return to;
}

void* memcpy(void* restrict to, const void* restrict from, size_t n) {
    volatile uint8_t* p = to;
    const uint8_t* q = from;
    bool words = !(((uintptr_t)p | (uintptr_t)q) & 3u);
    for (; words && n >= 4; n -= 4, p += 4, q += 4)
        *(volatile uint32_t*)(volatile void*)p = *(const uint32_t*)(const void*)q;
    while (n--) *p++ = *q++;
    return to;
}

uint64_t shift_left(uint64_t value, uint32_t by) {
    uint32_t low = (uint32_t)value, high = (uint32_t)(value >> 32);
    if (by >= 32u) return (uint64_t)(low << (by - 32u)) << 32;
    if (by == 0) return value;
    return (uint64_t)(high << by | low >> (32u - by)) << 32 | low << by;
}

uint64_t shift_right(uint64_t value, uint32_t by) {
    uint32_t low = (uint32_t)value, high = (uint32_t)(value >> 32);
    if (by >= 32u) return high >> (by - 32u);
    if (by == 0) return value;
    return (uint64_t)(high >> by) << 32 | (low >> by | high << (32u - by));
}
