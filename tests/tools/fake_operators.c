// SPDX-License-Identifier: Apache-2.0
// The operators of near-storage commands on the fake drive, byte by byte: what a program may be, and what it makes of
// the data of a command.
#define _GNU_SOURCE
#include "fake_operators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aes.h"
#include "digest.h"
#include "near.h"

static void put(struct result* r, uint64_t v) {
    for (int i = 0; i < 8; i++) r->bytes[r->count++] = (uint8_t)(v >> 8 * i);
}

static bool has_string(const uint8_t* p, const uint8_t* line, uint32_t bytes) {
    const uint8_t* text = p + 16;
    for (int s = 0; s < p[6]; text += p[8 + s], s++)
        for (uint32_t at = 0; at + p[8 + s] <= bytes; at++)
            if (p[4] & 1 ? !strncasecmp((const char*)line + at, (const char*)text, p[8 + s]) &&
                               !memchr(line + at, 0, p[8 + s])
                         : !memcmp(line + at, text, p[8 + s]))
                return true;
    return false;
}

static void grep(const uint8_t* p, const uint8_t* data, uint32_t bytes, struct result* r) {
    uint8_t* marks = calloc(1, bytes);
    uint64_t counted = 0, lines = 0, behind_first = bytes;
    bool unended = false, first_counts = false, last_counts = false;
    uint32_t begin = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        bool line_end = data[i] == p[5];
        if (!line_end && i != bytes - 1) continue;
        last_counts = has_string(p, data + begin, i + !line_end - begin) != ((p[4] & 4) != 0);
        unended = !line_end;
        if (!lines) first_counts = last_counts;
        if (!lines && line_end) behind_first = i + 1;
        lines++;
        counted += last_counts;
        marks[i] = last_counts;
        begin = i + 1;
    }
    for (uint32_t stretch = 0; (p[4] & 2) && stretch < bytes; stretch += 64) {
        uint64_t bits = 0;
        for (uint32_t n = 0; n < 64 && stretch + n < bytes; n++) bits |= (uint64_t)marks[stretch + n] << n;
        if (!bits) continue;
        put(r, stretch);
        put(r, bits);
    }
    free(marks);
    put(r, counted);
    put(r, lines);
    put(r, behind_first);
    put(r, (uint64_t)(unended + 2 * last_counts + 4 * first_counts));
}

static void aggregate(const uint8_t* p, const uint8_t* data, uint32_t bytes, uint32_t phase, struct result* r) {
    const uint32_t record = p[8] | p[9] << 8, column = p[10] | p[11] << 8, size = 1u << (p[4] & 3);
    __int128 sum = 0, least = 0, greatest = 0;
    uint64_t count = 0;
    for (uint32_t i = 0; i + size <= bytes; i++) {
        if ((phase + i) % record != column) continue;
        __int128 v = 0;
        for (uint32_t k = 0; k < size; k++) v += (__int128)data[i + k] << 8 * k;
        if (p[4] >= 4 && data[i + size - 1] >= 128) v -= (__int128)1 << 8 * size;
        if (!count || v < least) least = v;
        if (!count || v > greatest) greatest = v;
        sum += v;
        count++;
    }
    put(r, count);
    put(r, 0);
    put(r, (uint64_t)sum);
    put(r, (uint64_t)(sum >> 64));
    put(r, (uint64_t)least);
    put(r, (uint64_t)greatest);
}

static bool passes(const uint8_t* p, const uint8_t* record) {
    bool any = false, all = true;
    for (int i = 0; i < p[5]; i++) {
        const uint8_t* c = p + 16 + 16 * i;
        const uint32_t column = c[4] | (uint32_t)c[5] << 8, size = 1u << (c[0] & 3);
        __int128 v = 0, number = 0;
        for (uint32_t k = 0; k < size; k++) v += (__int128)record[column + k] << 8 * k;
        for (uint32_t k = 0; k < 8; k++) number += (__int128)c[8 + k] << 8 * k;
        if (c[0] >= 4 && record[column + size - 1] >= 128) v -= (__int128)1 << 8 * size;
        if (c[0] >= 4 && c[15] >= 128) number -= (__int128)1 << 64;
        const bool is[] = {v == number, v != number, v<number, v <= number, v> number, v >= number};
        if (c[2]) {
            any = any || all;
            all = true;
        }
        all = all && is[c[1]];
    }
    return any || all;
}

static uint32_t put_bytes(const struct result* r, const uint8_t* data, uint32_t bytes) {
    memcpy(r->bytes + r->count, data, bytes);
    return bytes;
}

static void filter(const uint8_t* p, const uint8_t* data, uint32_t bytes, uint32_t phase, struct result* r) {
    const uint32_t record = p[8] | (uint32_t)p[9] << 8;
    uint32_t records = 0;
    for (uint32_t i = 0; i + record <= bytes; i++) {
        if ((phase + i) % record) continue;
        if (p[4] & 1) {
            if (records % 8 == 0) r->bytes[r->count++] = 0;
            r->bytes[r->count - 1] |= (uint8_t)(passes(p, data + i) << records % 8);
        } else if (passes(p, data + i)) {
            if (!p[6]) r->count += put_bytes(r, data + i, record);
            for (const uint8_t* c = p + 16 + 16 * p[5]; c < p + 16 + 16 * p[5] + 4 * p[6]; c += 4)
                r->count += put_bytes(r, data + i + (c[0] | c[1] << 8), c[2] | (uint32_t)c[3] << 8);
        }
        records++;
    }
}

// What commands brought of a message, and what it came to.
static struct message {
    struct sha256 sum;
    bool open, ended;
    uint8_t digest[SHA256_BYTES];
    uint64_t asked;
} messages[NEAR_PROGRAMS][4];
static uint64_t hashes;

static void hash(const uint8_t* p, struct message* of, const uint8_t* data, uint32_t bytes, uint32_t phase,
                 struct result* r) {
    struct message* m = of + (phase >> 4 & 3);
    uint64_t every = setting("DBNEAR_REFUSE", 0), most = setting("DBNEAR_TAKE", 16384);
    memset(r->bytes, 0, 64);
    if (p[4]) {
        put(r, bytes);
        put(r, 3);
        r->count = 32;
        put(r, crc32c(data, bytes));
        r->count = 64;
        return;
    }
    uint32_t skip = (phase >> 6) * 64, left = bytes > skip ? bytes - skip : 0,
             taken = left < most ? left : (uint32_t)most;
    bool refused = every && ++hashes % every == 0, asks = phase & 4;
    if (!(phase & 2) || taken < left) taken -= taken % 64;
    if (refused || asks) taken = 0;
    if ((phase & 1) && !asks) {
        *m = (struct message){.open = taken != 0};
        sha256_begin(&m->sum);
    }
    if (m->open && !m->ended && taken) {
        sha256_more(&m->sum, data + skip, taken);
        m->ended = (phase & 2) && taken == left;
    }
    if (asks) m->asked++;
    bool there = m->open && m->ended && asks && m->asked >= every;
    put(r, m->open ? m->sum.bytes : 0);
    put(r, (uint64_t)(there + 2 * (m->open && m->ended)));
    struct sha256 sum = m->sum;
    sha256_end(&sum, m->digest);
    if (there) memcpy(r->bytes + 32, m->digest, SHA256_BYTES);
    r->count = 64;
}

static int crypted(const uint8_t* p, uint64_t slba, uint32_t lba, const uint8_t* data, uint32_t bytes,
                   struct result* r) {
    const char* path = getenv("DBNEAR_KEY");
    uint8_t key[64];
    FILE* f = path ? fopen(path, "re") : NULL;
    size_t n = f ? fread(key, 1, sizeof key, f) : 0;
    if (f) fclose(f);
    if (p[6] != 3 || n != (p[4] ? 48 : 64)) return 0x281;  // Unrecovered Read Error
    struct aes one, two;
    uint64_t number = slba;
    for (int i = 0; i < 8; i++) number += (uint64_t)p[8 + i] << 8 * i;
    aes_begin(&one, key, 32);
    aes_begin(&two, key + 32, 32);
    memcpy(r->bytes, data, bytes);
    if (p[4]) aes_ctr(&one, key + 32, number * (lba / 16), r->bytes, bytes);
    else aes_xts(&one, &two, p[5], number, lba, r->bytes, bytes);
    r->count = bytes;
    return 0;
}

static bool csv_number(const uint8_t* text, uint32_t bytes, __int128* value) {
    uint32_t i = text[0] == '-' || text[0] == '+', whole = 0, decimals = 0;
    __int128 v = 0;
    for (; i < bytes && text[i] >= '0' && text[i] <= '9'; i++, whole++) v = 10 * v + (text[i] - '0');
    if (i < bytes && text[i] == '.')
        for (i++; i < bytes && text[i] >= '0' && text[i] <= '9' && decimals < 7; i++, decimals++)
            v = 10 * v + (text[i] - '0');
    if (i < bytes || whole < 1 || whole > 12 || decimals > 6) return false;
    for (; decimals < 6; decimals++) v *= 10;
    *value = text[0] == '-' ? -v : v;
    return true;
}

static void csv(const uint8_t* p, const uint8_t* data, uint32_t bytes, uint32_t phase, struct result* r) {
    uint64_t count = 0, others = 0, behind = 0;
    __int128 sum = 0, least = 0, greatest = 0, v;
    uint32_t i = phase == 0xffff ? 0 : phase, begin = i, field = 0;
    bool looks = phase != 0xffff;
    for (; i < bytes; i++) {
        bool line = data[i] == p[5];
        if (!line && data[i] != p[4] && data[i] != '\r') continue;
        if (looks && field == p[6] && i > begin) {
            if (csv_number(data + begin, i - begin, &v)) {
                if (!count || v < least) least = v;
                if (!count || v > greatest) greatest = v;
                sum += v;
                count++;
            } else others++;
        }
        field = line ? 0 : field + 1;
        looks = looks || line;
        begin = i + 1;
        if (line) behind = i + 1;
    }
    put(r, count);
    put(r, others);
    put(r, (uint64_t)sum);
    put(r, (uint64_t)(sum >> 64));
    put(r, (uint64_t)least);
    put(r, (uint64_t)greatest);
    put(r, behind);
    put(r, 0);
}

static bool legal_filter(const uint8_t* p, uint32_t bytes) {
    uint32_t record = p[8] | (uint32_t)p[9] << 8, all = 16u * (1u + p[5] + (p[6] != 0) + p[1]);
    if (p[1] > 1 || p[4] > !p[1] || p[6] > (p[4] ? 0 : 4) || p[5] < 1 || p[5] > 4 || record < 1 || record > 1024 ||
        all > bytes)
        return false;
    for (const uint8_t* c = p + 16; c < p + 16 + 16 * p[5]; c += 16) {
        uint32_t column = c[4] | (uint32_t)c[5] << 8, size = 1u << (c[0] & 3);
        bool negative = c[0] >= 4 && c[8 + size - 1] >= 128;
        if (c[0] > 7 || c[1] > 5 || c[2] > (c > p + 16) || c[3] || c[6] || c[7] || column + size > record) return false;
        for (uint32_t k = size; k < 8; k++)
            if (c[8 + k] != (negative ? 255 : 0)) return false;
    }
    uint32_t next = 0;
    for (const uint8_t* c = p + 16 + 16 * p[5]; c < p + 16 + 16 * p[5] + 4 * p[6]; c += 4) {
        uint32_t at = c[0] | (uint32_t)c[1] << 8, size = c[2] | (uint32_t)c[3] << 8;
        if (at < next || !size || at + size > record) return false;
        next = at + size;
    }
    return !p[1] || (p[all - 16] == 2 && p[all - 12] < 8);
}

bool legal_program(const uint8_t* p, uint32_t bytes) {
    uint32_t pieces = 0, all = 16;
    if (bytes < 16) return false;
    if (p[0] == 2) {
        uint32_t record = p[8] | p[9] << 8, column = p[10] | p[11] << 8;
        return p[4] < 8 && record && column + (1u << (p[4] & 3)) <= record;
    }
    if (p[0] == 3) return legal_filter(p, bytes);
    if (p[0] == 4) return p[4] < 2;
    if (p[0] == 6) return p[4] != p[5] && !p[7];
    if (p[0] == 5) return !p[1] && p[4] < 2 && p[5] < 2 && p[6] > 0 && p[6] < 16;
    if (p[0] != 1 || p[4] > 7 || p[6] < 1 || p[6] > 8) return false;
    for (int i = 0; i < p[6]; i++) {
        if (p[8 + i] < 1 || p[8 + i] > 64) return false;
        pieces += (p[8 + i] + 15u) / 16;
        all += p[8 + i];
    }
    return pieces <= 8 && all <= bytes && !memchr(p + 16, p[5], all - 16);
}

void forget_messages(uint32_t which) { memset(messages[which], 0, sizeof messages[0]); }

int run_program(const uint8_t* p, uint32_t which, const struct input* in, struct result* r) {
    int status = 0;
    if (p[0] == 1) grep(p, in->data, in->bytes, r);
    else if (p[0] == 5) status = crypted(p, in->slba, in->lba, in->data, in->bytes, r);
    else if (p[0] == 6) csv(p, in->data, in->bytes, in->phase, r);
    else if (p[0] == 4) hash(p, messages[which], in->data, in->bytes, in->phase, r);
    else if (p[0] == 3 && p[1]) {
        struct result records = {malloc(in->bytes), 0};
        if (!records.bytes) abort();
        filter(p, in->data, in->bytes, in->phase, &records);
        aggregate(p + 16 * (1 + p[5] + (p[6] != 0)), records.bytes, records.count, 0, r);
        free(records.bytes);
    } else if (p[0] == 3) filter(p, in->data, in->bytes, in->phase, r);
    else aggregate(p, in->data, in->bytes, in->phase, r);
    return status;
}
