// SPDX-License-Identifier: Apache-2.0
// AES (FIPS 197) on the CPU, and its modes XTS (IEEE 1619) and CTR (NIST SP 800-38A). Small, not fast; its time depends on
// data and key.
#ifndef AES_H
#define AES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AES_BLOCK = 16 };

struct aes {
    int rounds;
    uint8_t keys[15][AES_BLOCK], inverse[256];
};

void aes_begin(struct aes* a, const uint8_t* key, size_t bytes);  // 16 or 32
// data: `bytes`, a multiple of `unit`, itself one of AES_BLOCK; the first is data unit `number`.
void aes_xts(const struct aes* data_key, const struct aes* tweak_key, bool encrypt, uint64_t number, size_t unit,
             uint8_t* data, size_t bytes);
// The first byte is the first of block `number` behind the IV.
void aes_ctr(const struct aes* a, const uint8_t iv[AES_BLOCK], uint64_t number, uint8_t* data, size_t bytes);

#endif
