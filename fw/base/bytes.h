// SPDX-License-Identifier: Apache-2.0
// Little-endian fields, text, division.
#ifndef BYTES_H
#define BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void* memset(void* to, int value, size_t n);

void put16(uint8_t* at, uint32_t v);
void put32(uint8_t* at, uint32_t v);
void put64(uint8_t* at, uint64_t v);
/// Text, padded with spaces to n bytes.
void put_text(uint8_t* at, const char* text, uint32_t n);
void put_hex(uint8_t* at, uint32_t v);
/// n / d; the remainder too if asked for.
uint64_t div_u64(uint64_t n, uint32_t d, uint32_t* remainder);

/// Shifts by up to 63 bits, where the compiler would call a library.
uint64_t shift_left(uint64_t value, uint32_t by);
uint64_t shift_right(uint64_t value, uint32_t by);

#endif
