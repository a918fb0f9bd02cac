// SPDX-License-Identifier: Apache-2.0
#include "sum_csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 4096 };

static uint32_t phase(void* context, const struct near_part* p) {
    const struct sum_csv* s = context;
    uint64_t before = s->skip - p->offset;
    return s->skip < p->offset || before >= CSV_INSIDE ? CSV_INSIDE : (uint32_t)before;
}

static uint32_t soft(void* context, const uint8_t* data, uint32_t bytes, uint32_t begins, uint8_t* result) {
    const struct sum_csv* s = context;
    const __int128 unit = 1000000000;
    struct csv_reader r;
    uint32_t at = begins == CSV_INSIDE ? 0 : begins;
    csv_begin(&r, &s->csv, true, begins == CSV_INSIDE);
    r.offset = at;
    for (; at < bytes; at++) csv_byte(&r, data[at]);
    memset(result, 0, CSV_BYTES);
    near_put(result, 8, r.total.count);
    near_put(result + 8, 8, r.total.others);
    near_put(result + 16, 8, (uint64_t)(r.total.sum / unit));
    near_put(result + 24, 8, (uint64_t)(r.total.sum / unit >> 64));
    near_put(result + 32, 8, (uint64_t)(r.total.least / unit));
    near_put(result + 40, 8, (uint64_t)(r.total.greatest / unit));
    near_put(result + 48, 8, r.behind);
    return CSV_BYTES;
}

// Bytes of the file from `at` up to `end`, to the reader; until a line ends, if `line`. 0 or -errno.
static int read_to(const struct sum_csv* s, struct csv_reader* r, uint64_t at, uint64_t end, bool line) {
    uint8_t data[CHUNK];
    while (at < end) {
        size_t bytes = end - at < CHUNK ? (size_t)(end - at) : CHUNK;
        int e = near_read(s->file, at, data, bytes);
        if (e) return e;
        for (size_t i = 0; i < bytes; i++)
            if (csv_byte(r, data[i]) && line) return 0;
        at += bytes;
    }
    if (end == s->file->size && line) csv_end(r);
    return 0;
}

static void begin(void* context, const struct near_file* f) {
    struct sum_csv* s = context;
    s->file = f;
    s->total = (struct csv_total){0};
    s->skip = s->odd = 0;
    for (int i = 0; i < s->header && s->skip < f->size; i++) {
        struct csv_reader r;
        csv_begin(&r, &s->csv, false, false);
        if (read_to(s, &r, s->skip, f->size, true)) return;  // whoever looks at the file says what is wrong
        s->skip = r.behind ? s->skip + r.behind : f->size;
    }
}

static int take(void* context, const struct near_part* p, const uint8_t* result, uint32_t bytes) {
    struct sum_csv* s = context;
    uint64_t end = p->offset + p->bytes, behind;
    uint32_t begins = phase(s, p);
    bool header = p->offset < s->skip;
    struct csv_total t;
    struct csv_reader r;
    if (bytes != CSV_BYTES) return -EPROTO;
    if (end <= s->skip) return 0;
    int e = csv_total_of(&t, result, p->bytes, &behind);
    if (e) return e;
    uint64_t from = header ? s->skip : p->offset;
    if (t.others ||
        (header && begins == CSV_INSIDE)) {  // what the drive did not take, or a header that PHASE cannot say
        if (p->on_drive && s->file->device) s->odd += t.others;
        csv_begin(&r, &s->csv, false, !header && begins == CSV_INSIDE);
        r.offset = from - p->offset;
        if ((e = read_to(s, &r, from, end, false))) return e;
        t = r.total;
        behind = r.behind;
    }
    csv_join(&s->total, &t);
    // The line that begins in this part and ends behind it, or begins with the next, which takes it for one that is cut:
    // its field, if that has not ended here.
    if (!behind && !header && begins == CSV_INSIDE) return 0;
    uint64_t line = behind ? p->offset + behind : header ? from : p->offset + begins;
    if (line > end || line == s->file->size) return 0;
    csv_begin(&r, &s->csv, false, false);
    r.offset = line;
    if ((e = read_to(s, &r, line, s->file->size, true))) return e;
    if (r.ended > end) csv_join(&s->total, &r.total);
    return 0;
}

static int end(void* context, const struct near_file* f) {
    struct sum_csv* s = context;
    char text[NEAR_WHY];
    if (s->odd) {
        snprintf(text, sizeof text, "%s: %" PRIu64 " fields are no numbers for the drive",
                 s->options->drive ? "not by the drive" : "partly on the CPU", s->odd);
        near_say(s->options, f->path, text);
        if (s->options->drive) {
            s->refused = true;
            return 0;
        }
    }
    if (s->total.overflow) {
        near_say(s->options, f->path, "the sum is beyond 10^23: look at parts of it");
        s->refused = true;
        return 0;
    }
    return s->say(s->context, f);
}

struct near_job sum_csv_job(struct sum_csv* s, const uint8_t* program) {
    return (struct near_job){
        .program = program,
        .program_bytes = CSV_PROGRAM_BYTES,
        .phase = phase,
        .result_room = CSV_BYTES,
        .soft = soft,
        .take = take,
        .begin = begin,
        .end = end,
        .context = s,
    };
}
