// SPDX-License-Identifier: Apache-2.0
#include "aes.h"

#include <string.h>

static const uint8_t SBOX[256] = {
    0x63, 0x7c, 0x77, 0x7b, 0xf2, 0x6b, 0x6f, 0xc5, 0x30, 0x01, 0x67, 0x2b, 0xfe, 0xd7, 0xab, 0x76, 0xca, 0x82, 0xc9,
    0x7d, 0xfa, 0x59, 0x47, 0xf0, 0xad, 0xd4, 0xa2, 0xaf, 0x9c, 0xa4, 0x72, 0xc0, 0xb7, 0xfd, 0x93, 0x26, 0x36, 0x3f,
    0xf7, 0xcc, 0x34, 0xa5, 0xe5, 0xf1, 0x71, 0xd8, 0x31, 0x15, 0x04, 0xc7, 0x23, 0xc3, 0x18, 0x96, 0x05, 0x9a, 0x07,
    0x12, 0x80, 0xe2, 0xeb, 0x27, 0xb2, 0x75, 0x09, 0x83, 0x2c, 0x1a, 0x1b, 0x6e, 0x5a, 0xa0, 0x52, 0x3b, 0xd6, 0xb3,
    0x29, 0xe3, 0x2f, 0x84, 0x53, 0xd1, 0x00, 0xed, 0x20, 0xfc, 0xb1, 0x5b, 0x6a, 0xcb, 0xbe, 0x39, 0x4a, 0x4c, 0x58,
    0xcf, 0xd0, 0xef, 0xaa, 0xfb, 0x43, 0x4d, 0x33, 0x85, 0x45, 0xf9, 0x02, 0x7f, 0x50, 0x3c, 0x9f, 0xa8, 0x51, 0xa3,
    0x40, 0x8f, 0x92, 0x9d, 0x38, 0xf5, 0xbc, 0xb6, 0xda, 0x21, 0x10, 0xff, 0xf3, 0xd2, 0xcd, 0x0c, 0x13, 0xec, 0x5f,
    0x97, 0x44, 0x17, 0xc4, 0xa7, 0x7e, 0x3d, 0x64, 0x5d, 0x19, 0x73, 0x60, 0x81, 0x4f, 0xdc, 0x22, 0x2a, 0x90, 0x88,
    0x46, 0xee, 0xb8, 0x14, 0xde, 0x5e, 0x0b, 0xdb, 0xe0, 0x32, 0x3a, 0x0a, 0x49, 0x06, 0x24, 0x5c, 0xc2, 0xd3, 0xac,
    0x62, 0x91, 0x95, 0xe4, 0x79, 0xe7, 0xc8, 0x37, 0x6d, 0x8d, 0xd5, 0x4e, 0xa9, 0x6c, 0x56, 0xf4, 0xea, 0x65, 0x7a,
    0xae, 0x08, 0xba, 0x78, 0x25, 0x2e, 0x1c, 0xa6, 0xb4, 0xc6, 0xe8, 0xdd, 0x74, 0x1f, 0x4b, 0xbd, 0x8b, 0x8a, 0x70,
    0x3e, 0xb5, 0x66, 0x48, 0x03, 0xf6, 0x0e, 0x61, 0x35, 0x57, 0xb9, 0x86, 0xc1, 0x1d, 0x9e, 0xe1, 0xf8, 0x98, 0x11,
    0x69, 0xd9, 0x8e, 0x94, 0x9b, 0x1e, 0x87, 0xe9, 0xce, 0x55, 0x28, 0xdf, 0x8c, 0xa1, 0x89, 0x0d, 0xbf, 0xe6, 0x42,
    0x68, 0x41, 0x99, 0x2d, 0x0f, 0xb0, 0x54, 0xbb, 0x16,
};

static uint8_t times_x(uint8_t a) { return (uint8_t)(a << 1 ^ (a >> 7) * 0x1b); }

static uint8_t times(uint8_t a, int by) {
    uint8_t sum = 0;
    for (; by; by >>= 1, a = times_x(a))
        if (by & 1) sum ^= a;
    return sum;
}

static void add(uint8_t* to, const uint8_t* what) {
    for (int i = 0; i < AES_BLOCK; i++) to[i] ^= what[i];
}

void aes_begin(struct aes* a, const uint8_t* key, size_t bytes) {
    uint8_t *w = a->keys[0], factor = 1;
    for (int i = 0; i < 256; i++) a->inverse[SBOX[i]] = (uint8_t)i;
    a->rounds = (int)bytes / 4 + 6;
    memcpy(w, key, bytes);
    for (size_t at = bytes; at < (size_t)(a->rounds + 1) * AES_BLOCK; at += 4) {
        uint8_t t[4];
        memcpy(t, w + at - 4, 4);
        bool first = at % bytes == 0;
        if (first) {
            uint8_t gone = t[0];
            memmove(t, t + 1, 3);
            t[3] = gone;
        }
        if (first || (bytes == 32 && at % bytes == 16))
            for (int i = 0; i < 4; i++) t[i] = SBOX[t[i]];
        if (first) {
            t[0] ^= factor;
            factor = times_x(factor);
        }
        for (int i = 0; i < 4; i++) w[at + (size_t)i] = w[at + (size_t)i - bytes] ^ t[i];
    }
}

static void encrypt_block(const struct aes* a, uint8_t* s) {
    add(s, a->keys[0]);
    for (int round = 1; round <= a->rounds; round++) {
        uint8_t t[AES_BLOCK];
        for (int i = 0; i < AES_BLOCK; i++) t[i] = SBOX[s[(i + 4 * (i % 4)) % AES_BLOCK]];
        for (int i = 0; i < AES_BLOCK; i++) {
            const uint8_t* c = t + i / 4 * 4;
            int r = i % 4;
            s[i] = round == a->rounds
                       ? t[i]
                       : (uint8_t)(times_x(c[r]) ^ times(c[(r + 1) % 4], 3) ^ c[(r + 2) % 4] ^ c[(r + 3) % 4]);
        }
        add(s, a->keys[round]);
    }
}

static void decrypt_block(const struct aes* a, uint8_t* s) {
    for (int round = a->rounds; round >= 1; round--) {
        uint8_t t[AES_BLOCK];
        add(s, a->keys[round]);
        for (int i = 0; i < AES_BLOCK; i++) {
            const uint8_t* c = s + i / 4 * 4;
            int r = i % 4;
            t[i] = round == a->rounds ? s[i]
                                      : (uint8_t)(times(c[r], 14) ^ times(c[(r + 1) % 4], 11) ^
                                                  times(c[(r + 2) % 4], 13) ^ times(c[(r + 3) % 4], 9));
        }
        for (int i = 0; i < AES_BLOCK; i++) s[(i + 4 * (i % 4)) % AES_BLOCK] = a->inverse[t[i]];
    }
    add(s, a->keys[0]);
}

void aes_xts(const struct aes* data_key, const struct aes* tweak_key, bool encrypt, uint64_t number, size_t unit,
             uint8_t* data, size_t bytes) {
    uint8_t tweak[AES_BLOCK];
    for (size_t at = 0; at < bytes; at += AES_BLOCK) {
        if (at % unit == 0) {
            uint64_t n = number + at / unit;
            for (int i = 0; i < AES_BLOCK; i++) tweak[i] = i < 8 ? (uint8_t)(n >> 8 * i) : 0;
            encrypt_block(tweak_key, tweak);
        }
        add(data + at, tweak);
        (encrypt ? encrypt_block : decrypt_block)(data_key, data + at);
        add(data + at, tweak);
        uint8_t carry = 0;
        for (int i = 0; i < AES_BLOCK; i++) {
            uint8_t next = tweak[i] >> 7;
            tweak[i] = (uint8_t)(tweak[i] << 1 | carry);
            carry = next;
        }
        tweak[0] ^= carry * 0x87;
    }
}

void aes_ctr(const struct aes* a, const uint8_t iv[AES_BLOCK], uint64_t number, uint8_t* data, size_t bytes) {
    for (size_t at = 0; at < bytes; at += AES_BLOCK, number++) {
        uint8_t counter[AES_BLOCK];
        uint64_t rest = number;
        unsigned carry = 0;
        for (int i = AES_BLOCK - 1; i >= 0; i--) {
            carry += iv[i] + (unsigned)(rest & 255);
            counter[i] = (uint8_t)carry;
            carry >>= 8;
            rest >>= 8;
        }
        encrypt_block(a, counter);
        for (size_t i = 0; i < AES_BLOCK && at + i < bytes; i++) data[at + i] ^= counter[i];
    }
}
