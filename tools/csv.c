// SPDX-License-Identifier: Apache-2.0
#include "csv.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "near.h"

void csv_program(const struct csv* c, uint8_t* program) {
    memset(program, 0, CSV_PROGRAM_BYTES);
    program[0] = 6;
    program[4] = c->separator;
    program[5] = '\n';
    program[6] = (uint8_t)c->field;
}

// ---- totals

void csv_join(struct csv_total* t, const struct csv_total* more) {
    t->others += more->others;
    if (!more->count) return;
    if (!t->count || more->least < t->least) t->least = more->least;
    if (!t->count || more->greatest > t->greatest) t->greatest = more->greatest;
    t->count += more->count;
    if (more->overflow || __builtin_add_overflow(t->sum, more->sum, &t->sum)) t->overflow = true;
}

int csv_total_of(struct csv_total* t, const uint8_t* result, uint32_t bytes, uint64_t* behind) {
    const __int128 unit = 1000000000;  // the drive counts in 10^-6
    *t = (struct csv_total){.count = near_get(result, 8), .others = near_get(result + 8, 8)};
    *behind = near_get(result + 48, 8);
    if (t->count > bytes || t->others > bytes || *behind > bytes) return -EPROTO;
    int64_t high = (int64_t)near_get(result + 24, 8);
    if (high < -(1 << 20) || high >= 1 << 20) return -EPROTO;
    t->sum = (__int128)((unsigned __int128)(uint64_t)high << 64 | near_get(result + 16, 8)) * unit;
    t->least = (int64_t)near_get(result + 32, 8) * unit;
    t->greatest = (int64_t)near_get(result + 40, 8) * unit;
    return 0;
}

// ---- numbers

// [+-] digits [. digits], and on the CPU also without a digit before the point, with an exponent and blanks around it.
// In 10^-CSV_DECIMALS; false: none, or one that we cannot hold.
static bool number(const char* text, size_t bytes, bool as_drive, __int128* value) {
    const char *at = text, *end = text + bytes;
    if (!as_drive) {
        while (at < end && (*at == ' ' || *at == '\t')) at++;
        while (end > at && (end[-1] == ' ' || end[-1] == '\t')) end--;
    }
    bool minus = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    __int128 v = 0;
    long whole = 0, decimals = 0, used = 0, exponent = 0;
    for (bool point = false; at < end; at++) {
        if (*at == '.' && !point) {
            point = true;
            continue;
        }
        if (!isdigit((unsigned char)*at)) break;
        if (v || *at != '0') used++;
        if (used > 30) return false;
        v = 10 * v + (*at - '0');
        *(point ? &decimals : &whole) += 1;
    }
    if (as_drive && (!whole || whole > CSV_DRIVE_WHOLE || decimals > CSV_DRIVE_DECIMALS)) return false;
    if (!whole && !decimals) return false;
    if (!as_drive && at < end && (*at | 32) == 'e') {
        bool down = ++at < end && *at == '-';
        if (at < end && (*at == '-' || *at == '+')) at++;
        if (at == end) return false;
        for (; at < end && isdigit((unsigned char)*at) && exponent < 1000; at++) exponent = 10 * exponent + (*at - '0');
        if (down) exponent = -exponent;
    }
    if (at != end) return false;
    long shift = v ? CSV_DECIMALS - decimals + exponent : 0;
    for (; shift > 0; shift--)
        if (__builtin_mul_overflow(v, 10, &v)) return false;
    for (; shift < 0; shift++) {
        if (v % 10) return false;
        v /= 10;
    }
    *value = minus ? -v : v;
    return true;
}

// ---- fields

void csv_begin(struct csv_reader* r, const struct csv* c, bool as_drive, bool inside) {
    memset(r, 0, sizeof *r);
    r->csv = c;
    r->as_drive = as_drive;
    r->at = inside ? -1 : 0;
}

static void field_ends(struct csv_reader* r) {
    if (r->at != r->csv->field) return;
    r->ended = r->offset;
    if (!r->bytes) return;
    __int128 v;
    struct csv_total one = {.others = 1};
    if (r->bytes <= CSV_MOST && number(r->text, r->bytes, r->as_drive, &v))
        one = (struct csv_total){.count = 1, .sum = v, .least = v, .greatest = v};
    csv_join(&r->total, &one);
}

bool csv_byte(struct csv_reader* r, uint8_t c) {
    r->offset++;
    bool line = c == '\n';
    if (line || c == r->csv->separator || c == '\r') {
        field_ends(r);
        r->at = line ? 0 : r->at < 0 || r->at > r->csv->field ? -1 : r->at + 1;
        r->bytes = 0;
        if (line) r->behind = r->offset;
    } else if (r->at == r->csv->field) {
        if (r->bytes < CSV_MOST) r->text[r->bytes] = (char)c;
        if (r->bytes <= CSV_MOST) r->bytes++;
    }
    return line;
}

void csv_end(struct csv_reader* r) {
    r->offset++;
    field_ends(r);
}
