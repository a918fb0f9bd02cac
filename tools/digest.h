// SPDX-License-Identifier: Apache-2.0
// Digests on the CPU: SHA-256 (FIPS 180-4) and CRC-32C (RFC 3720).
#ifndef DIGEST_H
#define DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_BLOCK = 64 };

struct sha256 {
    uint32_t state[8];
    uint64_t bytes;               // so far
    uint8_t block[SHA256_BLOCK];  // what has come of one
};

void sha256_begin(struct sha256* s);
void sha256_more(struct sha256* s, const uint8_t* data, size_t bytes);
void sha256_end(struct sha256* s, uint8_t digest[SHA256_BYTES]);

uint32_t crc32c(const uint8_t* data, size_t bytes);
// Of data of which the first ones have `crc`, and `bytes` behind them have `behind`.
uint32_t crc32c_join(uint32_t crc, uint32_t behind, uint64_t bytes);

#endif
