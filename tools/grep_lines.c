// SPDX-License-Identifier: Apache-2.0
// Lines of a file from the results of its parts. A line that lies across parts has a string if one of its fragments has
// it, or if it lies across a seam: only bytes beside the seam are read for that.
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grep.h"

enum { SUMMARY = 32, ENTRY = 16, WINDOW = 16384, BEFORE = 4096 };

void lines_begin(struct lines* l, const struct near_file* f) {
    size_t beside = l->strings->longest ? l->strings->longest - 1 : 0;
    l->file = f;
    l->counted = l->ended = 0;
    l->open = false;
    l->window_bytes = 0;
    if (!l->window) {
        l->window = malloc(WINDOW);
        l->tail = malloc(beside + 1);
        l->seam = malloc(2 * beside + 1);
        if (!l->window || !l->tail || !l->seam) abort();
    }
}

void lines_free(struct lines* l) {
    free(l->window);
    free(l->tail);
    free(l->seam);
}

// ---- what the file says

ssize_t lines_window(struct lines* l, uint64_t at, uint64_t most, const uint8_t** data) {
    if (at < l->window_at || at - l->window_at >= l->window_bytes) {
        uint64_t from = at & ~(uint64_t)4095;
        if (from >= BEFORE) from -= BEFORE;  // a line that ends here begins a little before, as a rule
        uint64_t left = l->file->size - from;
        size_t bytes = left < WINDOW ? (size_t)left : WINDOW;
        l->window_bytes = 0;
        int e = near_read(l->file, from, l->window, bytes);
        if (e) return e;
        l->window_at = from;
        l->window_bytes = bytes;
    }
    uint64_t here = l->window_at + l->window_bytes - at;
    *data = l->window + (at - l->window_at);
    return (ssize_t)(here < most ? here : most);
}

int lines_ends_in(struct lines* l, uint64_t from, uint64_t to, uint64_t* count) {
    const uint8_t* data;
    *count = 0;
    while (from < to) {
        ssize_t n = lines_window(l, from, to - from, &data);
        if (n < 0) return (int)n;
        for (ssize_t i = 0; i < n; i++) *count += data[i] == '\n';
        from += (uint64_t)n;
    }
    return 0;
}

// Where the line begins that has the byte before `high`: behind the last line end in low to high, or at low.
static int line_start(struct lines* l, uint64_t low, uint64_t high, uint64_t* start) {
    while (high > low) {
        const uint8_t* data;
        ssize_t n = lines_window(l, high - 1, 1, &data);
        if (n < 0) return (int)n;
        uint64_t from = l->window_at > low ? l->window_at : low;
        const uint8_t* here = l->window + (from - l->window_at);
        const uint8_t* found = memrchr(here, '\n', (size_t)(high - from));
        if (found) {
            *start = from + (uint64_t)(found - here) + 1;
            return 0;
        }
        high = from;
    }
    *start = low;
    return 0;
}

// ---- the open line

// The last bytes of a fragment that ends at `end` and has no line end in it, as far as a seam needs them.
static int set_tail(struct lines* l, uint64_t end, uint64_t bytes) {
    size_t beside = l->strings->longest ? l->strings->longest - 1 : 0;
    l->tail_bytes = bytes < beside ? (size_t)bytes : beside;
    return near_read(l->file, end - l->tail_bytes, l->tail, l->tail_bytes);
}

static int open_line(struct lines* l, bool has, uint64_t low, uint64_t high) {
    int e = set_tail(l, high, high - low);
    if (e) return e;
    const uint8_t* end = memrchr(l->tail, '\n', l->tail_bytes);
    if (end) {
        size_t skip = (size_t)(end - l->tail) + 1;
        l->tail_bytes -= skip;
        memmove(l->tail, end + 1, l->tail_bytes);
    }
    l->open = true;
    l->has = has;
    l->low = low;
    l->high = high;
    return 0;
}

// More of the open line: a fragment from `at` on. `last`: the line ends with it, so that nothing follows.
static int extend_line(struct lines* l, uint64_t at, uint64_t bytes, bool has, bool last) {
    size_t beside = l->strings->longest ? l->strings->longest - 1 : 0;
    l->has |= has;
    if (l->has && last) return 0;
    size_t head = bytes < beside ? (size_t)bytes : beside;
    memcpy(l->seam, l->tail, l->tail_bytes);
    int e = near_read(l->file, at, l->seam + l->tail_bytes, head);
    if (e) return e;
    size_t all = l->tail_bytes + head;
    if (!l->has) l->has = strings_in(l->strings, l->seam, all);
    if (bytes >= beside) return set_tail(l, at + bytes, bytes);
    l->tail_bytes = all < beside ? all : beside;
    memcpy(l->tail, l->seam + all - l->tail_bytes, l->tail_bytes);
    return 0;
}

static int close_line(struct lines* l, uint64_t end) {
    uint64_t start;
    l->open = false;
    if (l->has == l->invert) return 0;
    l->counted++;
    if (!l->where) return 0;
    int e = line_start(l, l->low, l->high, &start);
    return e ? e : l->line(l->context, start, end, l->ended);
}

int lines_end(struct lines* l) { return l->open ? close_line(l, l->file->size) : 0; }

// ---- a part

struct summary {
    uint64_t counted, lines, first;
    bool unended, last_counts, first_counts;
};

// The lines that end in a part and began there, from its entries. Bits at `first` and `last` (offsets in the part) are
// those of lines that lie across parts.
static int inner_lines(struct lines* l, const struct near_part* p, const uint8_t* entries, size_t count, uint64_t low,
                       uint64_t skip_first, uint64_t skip_last, uint64_t expected) {
    uint64_t counted_to = p->offset, ended = l->ended, found = 0, before = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t stretch = near_get(entries + i * ENTRY, 8), bits = near_get(entries + i * ENTRY + 8, 8);
        if (stretch % 64 || stretch >= p->bytes || (i && stretch <= before)) return -EPROTO;
        before = stretch;
        for (; bits; bits &= bits - 1) {
            uint64_t at = stretch + (uint64_t)__builtin_ctzll(bits), start, n = 0;
            if (at >= p->bytes) return -EPROTO;
            if (at == skip_first || at == skip_last) continue;
            uint64_t end = p->offset + at;
            if (end < low) return -EPROTO;
            int e = line_start(l, low, end, &start);
            if (!e && l->numbers) e = lines_ends_in(l, counted_to, start, &n);
            if (e) return e;
            counted_to = start;
            ended += n;
            if ((e = l->line(l->context, start, end, ended))) return e;
            low = end + 1;
            found++;
        }
    }
    return found == expected ? 0 : -EPROTO;
}

int lines_take(struct lines* l, const struct near_part* p, const uint8_t* result, uint32_t bytes) {
    if (bytes < SUMMARY || (bytes - SUMMARY) % ENTRY) return -EPROTO;
    const uint8_t* at = result + bytes - SUMMARY;
    unsigned flags = (unsigned)near_get(at + 24, 8);
    struct summary s = {near_get(at, 8), near_get(at + 8, 8), near_get(at + 16, 8), flags & 1, flags & 2, flags & 4};
    bool no_end = s.unended && s.lines == 1, was_open = l->open;
    if (!s.lines || s.lines > p->bytes || s.counted > s.lines || !s.first || s.first > p->bytes) return -EPROTO;
    uint64_t inner = s.counted, end = p->offset + p->bytes;
    int e = 0;
    if (was_open) {
        e = extend_line(l, p->offset, no_end ? p->bytes : s.first - 1, s.first_counts != l->invert, !no_end);
        if (e || no_end) return e;
        if (inner < s.first_counts) return -EPROTO;
        inner -= s.first_counts;
        if ((e = close_line(l, p->offset + s.first - 1))) return e;
    }
    if (s.unended) {
        if (inner < s.last_counts) return -EPROTO;
        inner -= s.last_counts;
    }
    l->counted += inner;
    if (l->where) {
        uint64_t none = UINT64_MAX;
        e = inner_lines(l, p, result, (bytes - SUMMARY) / ENTRY, was_open ? p->offset + s.first : p->offset,
                        was_open ? s.first - 1 : none, s.unended ? p->bytes - 1u : none, inner);
        if (e) return e;
    }
    l->ended += s.lines - s.unended;
    if (s.unended) e = open_line(l, s.last_counts != l->invert, no_end ? p->offset : p->offset + s.first, end);
    return e;
}
