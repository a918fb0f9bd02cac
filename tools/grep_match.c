// SPDX-License-Identifier: Apache-2.0
// Fixed strings: as a program of the drive, and looked for on the CPU.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "grep.h"

enum { MOST_STRINGS = 8, MOST_STRING = 64, MOST_PIECES = 8, PIECE = 16, STRETCH = 64, SUMMARY = 32 };

static uint8_t lower(uint8_t c) { return c >= 'A' && c <= 'Z' ? (uint8_t)(c + 'a' - 'A') : c; }

static void fold_bytes(uint8_t* to, const uint8_t* from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) to[i] = lower(from[i]);
}

void strings_add(struct strings* s, const char* lines) {
    for (;;) {
        size_t n = strcspn(lines, "\n");
        s->text = realloc(s->text, (s->count + 1) * sizeof *s->text);
        s->bytes = realloc(s->bytes, (s->count + 1) * sizeof *s->bytes);
        if (!s->text || !s->bytes) abort();
        s->text[s->count] = (uint8_t*)strndup(lines, n);
        if (!s->text[s->count]) abort();
        s->bytes[s->count++] = n;
        if (n > s->longest) s->longest = n;
        if (!lines[n]) return;
        lines += n + 1;
    }
}

void strings_ready(struct strings* s) {
    for (size_t i = 0; s->fold && i < s->count; i++) fold_bytes(s->text[i], s->text[i], s->bytes[i]);
}

void strings_free(struct strings* s) {
    for (size_t i = 0; i < s->count; i++) free(s->text[i]);
    free(s->text);
    free(s->bytes);
}

bool strings_in(const struct strings* s, const uint8_t* data, size_t bytes) {
    uint8_t* folded = s->fold ? malloc(bytes + 1) : NULL;
    bool found = false;
    if (s->fold) {
        if (!folded) abort();
        fold_bytes(folded, data, bytes);
        data = folded;
    }
    for (size_t i = 0; !found && i < s->count; i++) found = memmem(data, bytes, s->text[i], s->bytes[i]);
    free(folded);
    return found;
}

uint32_t strings_program(const struct strings* s, bool where, bool invert, uint8_t* to, const char** why) {
    size_t pieces = 0, at = 16;
    *why = s->count > MOST_STRINGS ? "the drive takes 8 strings at most" : NULL;
    for (size_t i = 0; !*why && i < s->count; i++) {
        if (!s->bytes[i]) *why = "the drive takes no empty string";
        if (s->bytes[i] > MOST_STRING) *why = "the drive takes strings of 64 bytes at most";
        pieces += (s->bytes[i] + PIECE - 1) / PIECE;
    }
    if (!*why && pieces > MOST_PIECES) *why = "the strings have more than the drive's 8 pieces of 16 bytes";
    if (*why) return 0;
    memset(to, 0, 16);
    to[0] = 1;
    to[4] = (uint8_t)(s->fold | where << 1 | invert << 2);
    to[5] = '\n';
    to[6] = (uint8_t)s->count;
    for (size_t i = 0; i < s->count; i++) {
        to[8 + i] = (uint8_t)s->bytes[i];
        memcpy(to + at, s->text[i], s->bytes[i]);
        at += s->bytes[i];
    }
    return (uint32_t)at;
}

// Where each string is found next; a string that is nowhere is behind the end.
static bool line_has(const struct strings* s, size_t* next, const uint8_t* data, size_t bytes, size_t at, size_t end) {
    for (size_t i = 0; i < s->count; i++) {
        if (next[i] < at) {
            const uint8_t* found = memmem(data + at, bytes - at, s->text[i], s->bytes[i]);
            next[i] = found ? (size_t)(found - data) : SIZE_MAX;
        }
        if (next[i] <= end && end - next[i] >= s->bytes[i]) return true;
    }
    return false;
}

uint32_t strings_result(const struct strings* s, bool where, bool invert, const uint8_t* data, uint32_t bytes,
                        uint8_t* result) {
    size_t* next = calloc(s->count, sizeof *next);
    uint8_t* folded = s->fold ? malloc(bytes) : NULL;
    uint64_t counted = 0, lines = 0, first = bytes, flags = 0;
    uint8_t* entry = result;  // of the stretch that is not complete yet
    uint64_t stretch = 0, bits = 0;
    if (!next || (s->fold && !folded)) abort();
    const uint8_t* text = data;
    if (s->fold) {
        fold_bytes(folded, data, bytes);
        text = folded;
    }
    for (size_t i = 0; i < s->count; i++) {
        const uint8_t* found = memmem(text, bytes, s->text[i], s->bytes[i]);
        next[i] = found ? (size_t)(found - text) : SIZE_MAX;
    }
    for (size_t at = 0; at < bytes;) {
        const uint8_t* newline = memchr(data + at, '\n', bytes - at);
        size_t end = newline ? (size_t)(newline - data) : bytes;
        bool counts = line_has(s, next, text, bytes, at, end) != invert;
        size_t last = newline ? end : bytes - 1;
        if (lines++ == 0) {
            flags |= (uint64_t)counts << 2;
            if (newline) first = end + 1;
        }
        if (!newline) flags |= 1;
        flags = (flags & ~UINT64_C(2)) | (uint64_t)counts << 1;
        if (counts) {
            counted++;
            if (where) {
                if (bits && stretch != last / STRETCH * STRETCH) {
                    near_put(entry, 8, stretch);
                    near_put(entry + 8, 8, bits);
                    entry += 16;
                    bits = 0;
                }
                stretch = last / STRETCH * STRETCH;
                bits |= UINT64_C(1) << last % STRETCH;
            }
        }
        at = end + 1;
    }
    if (bits) {
        near_put(entry, 8, stretch);
        near_put(entry + 8, 8, bits);
        entry += 16;
    }
    near_put(entry, 8, counted);
    near_put(entry + 8, 8, lines);
    near_put(entry + 16, 8, first);
    near_put(entry + 24, 8, flags);
    free(next);
    free(folded);
    return (uint32_t)(entry - result) + SUMMARY;
}
