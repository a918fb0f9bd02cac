// SPDX-License-Identifier: Apache-2.0
#include "digest.h"

#include <string.h>

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotated(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void compress(uint32_t state[8], const uint8_t* block) {
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + w[i - 7] +
               (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = v[7] + (rotated(v[4], 6) ^ rotated(v[4], 11) ^ rotated(v[4], 25)) +
                      ((v[4] & v[5]) ^ (~v[4] & v[6])) + K[i] + w[i];
        uint32_t t2 = (rotated(v[0], 2) ^ rotated(v[0], 13) ^ rotated(v[0], 22)) +
                      ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) state[i] += v[i];
}

void sha256_begin(struct sha256* s) {
    static const uint32_t START[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->state, START, sizeof START);
    s->bytes = 0;
}

void sha256_more(struct sha256* s, const uint8_t* data, size_t bytes) {
    while (bytes) {
        size_t at = s->bytes % SHA256_BLOCK, n = SHA256_BLOCK - at < bytes ? SHA256_BLOCK - at : bytes;
        memcpy(s->block + at, data, n);
        s->bytes += n;
        data += n;
        bytes -= n;
        if (at + n == SHA256_BLOCK) compress(s->state, s->block);
    }
}

void sha256_end(struct sha256* s, uint8_t digest[SHA256_BYTES]) {
    uint64_t bits = 8 * s->bytes;
    uint8_t size[8], padding[SHA256_BLOCK] = {0x80};
    for (int i = 0; i < 8; i++) size[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_more(s, padding, 1 + (SHA256_BLOCK + 55 - s->bytes % SHA256_BLOCK) % SHA256_BLOCK);
    sha256_more(s, size, sizeof size);
    for (int i = 0; i < SHA256_BYTES; i++) digest[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

// ---- CRC-32C, least significant bit first

static const uint32_t POLY = 0x82f63b78;

static uint32_t zero_bit(uint32_t crc) { return crc >> 1 ^ (crc & 1 ? POLY : 0); }

uint32_t crc32c(const uint8_t* data, size_t bytes) {
    static const uint32_t FOUR_ZEROS[16] = {
        // zero_bit four times, of 0 to 15
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
        0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    uint32_t crc = ~0u;
    while (bytes--) {
        crc ^= *data++;
        for (int i = 0; i < 2; i++) crc = crc >> 4 ^ FOUR_ZEROS[crc & 15];
    }
    return ~crc;
}

// What a CRC of these bits becomes: map[i] is what a one in bit i does.
static uint32_t through(const uint32_t map[32], uint32_t bits) {
    uint32_t sum = 0;
    for (int i = 0; i < 32; i++)
        if (bits >> i & 1) sum ^= map[i];
    return sum;
}

uint32_t crc32c_join(uint32_t crc, uint32_t behind, uint64_t bytes) {
    uint32_t map[32], twice[32];
    for (int i = 0; i < 32; i++) {
        map[i] = 1u << i;
        for (int k = 0; k < 8; k++) map[i] = zero_bit(map[i]);
    }
    for (; bytes; bytes >>= 1) {  // map: 1, 2, 4, ... zero bytes
        if (bytes & 1) crc = through(map, crc);
        for (int i = 0; i < 32; i++) twice[i] = through(map, map[i]);
        memcpy(map, twice, sizeof map);
    }
    return crc ^ behind;
}
