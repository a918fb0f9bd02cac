// SPDX-License-Identifier: Apache-2.0
#include "records.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "near.h"

// ---- values

static const char TYPES[8][4] = {"u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"};

bool type_of(struct type* type, const char* text, size_t length) {
    for (unsigned i = 0; i < 8; i++)
        if (strlen(TYPES[i]) == length && !strncmp(text, TYPES[i], length)) {
            *type = (struct type){i, 1u << (i & 3), i >= 4};
            return true;
        }
    return false;
}

uint64_t value_at(const struct type* type, const uint8_t* at) {
    uint64_t v = near_get(at, type->bytes);
    unsigned bits = 8 * type->bytes;
    if (type->has_sign && bits < 64 && v >> (bits - 1)) v |= ~UINT64_C(0) << bits;
    return v;
}

bool value_less(const struct type* type, uint64_t a, uint64_t b) {
    return type->has_sign ? (int64_t)a < (int64_t)b : a < b;
}

// ---- conditions

// In the drive's order; longer ones are looked for first.
static const char COMPARISONS[6][3] = {"==", "!=", "<", "<=", ">", ">="};
enum { EQUAL, NOT_EQUAL, LESS, NOT_GREATER, GREATER, NOT_LESS };

static const char* skip(const char* text) {
    while (isspace((unsigned char)*text)) text++;
    return text;
}

static bool value_of(const struct type* type, const char* text, uint64_t* value) {
    char* rest;
    const char* digits = text + (*text == '-');
    int base = digits[0] == '0' && (digits[1] | 32) == 'x' ? 16 : 10;  // 010 is ten
    unsigned unused = 64 - 8 * type->bytes;
    errno = 0;
    if (type->has_sign) {
        int64_t v = strtoll(text, &rest, base);
        *value = (uint64_t)v;
        if (v > INT64_MAX >> unused || v < INT64_MIN >> unused) return false;
    } else {
        *value = strtoull(text, &rest, base);
        if (*text == '-' || *value > UINT64_MAX >> unused) return false;
    }
    return rest != text && !*skip(rest) && !errno;
}

const char* where_add(struct where* w, const char* text) {
    struct condition c = {.alternative = w->alternative};
    if (w->count == MOST_CONDITIONS) return "--where: there are more than 16: ";
    const char* at = strchr(text, '@');
    text = skip(text);
    if (!at || !type_of(&c.type, text, (size_t)(at - text))) return "--where takes TYPE@COLUMN, as in u32@8>=5, not ";
    char* rest;
    errno = 0;
    long column = strtol(at + 1, &rest, 10);
    if (!isdigit((unsigned char)at[1]) || errno || column > MOST_RECORD)
        return "--where takes a column from 0 to 65535, not ";
    c.column = (int)column;
    const char* sign = skip(rest);
    size_t length = 0;
    for (unsigned i = 0; i < 6; i++)
        if (strlen(COMPARISONS[i]) > length && !strncmp(sign, COMPARISONS[i], strlen(COMPARISONS[i]))) {
            c.comparison = i;
            length = strlen(COMPARISONS[i]);
        }
    if (!length) return "--where takes ==, !=, <, <=, > or >= behind the column, not ";
    if (!value_of(&c.type, skip(sign + length), &c.value)) return "--where takes a number that the type can hold, not ";
    w->conditions[w->count++] = c;
    w->alternative = false;
    return NULL;
}

const char* where_or(struct where* w) {
    if (!w->count || w->alternative) return "--or stands between two --where";
    w->alternative = true;
    return NULL;
}

const char* where_check(const struct where* w, int record) {
    if (w->alternative) return "--or stands between two --where";
    for (unsigned i = 0; i < w->count; i++)
        if (w->conditions[i].column + (int)w->conditions[i].type.bytes > record)
            return "a column of --where does not lie in the record";
    return NULL;
}

static bool holds(const struct condition* c, const uint8_t* record) {
    uint64_t v = value_at(&c->type, record + c->column);
    bool less = value_less(&c->type, v, c->value), equal = v == c->value;
    switch (c->comparison) {
        case EQUAL: return equal;
        case NOT_EQUAL: return !equal;
        case LESS: return less;
        case NOT_GREATER: return less || equal;
        case GREATER: return !less && !equal;
        default: return !less;
    }
}

bool where_holds(const struct where* w, const uint8_t* record) {
    bool all = true;
    for (unsigned i = 0; i < w->count; i++) {
        if (w->conditions[i].alternative) {
            if (all) return true;
            all = true;
        }
        all = all && holds(&w->conditions[i], record);
    }
    return all;
}

const char* where_cpu_why(const struct where* w, int record) {
    if (w->count > MOST_DRIVE_CONDITIONS) return "the drive takes 4 conditions";
    if (record > MOST_DRIVE_RECORD) return "the drive takes records of up to 1024 bytes";
    return NULL;
}

// ---- columns

const char* columns_of(struct columns* c, const char* text) {
    static const char WRONG[] = "--columns takes PLACE:BYTES, as in 4:4,12:2, ascending, none in another, not ";
    const char* at = text;
    long next = 0;
    if (c->count) return "--columns is there twice: ";
    do {
        char* rest;
        errno = 0;
        if (c->count == MOST_COLUMNS) return "--columns: there are more than 16: ";
        long place = strtol(at, &rest, 10);
        if (!isdigit((unsigned char)*at) || *rest != ':' || !isdigit((unsigned char)rest[1])) return WRONG;
        long bytes = strtol(rest + 1, &rest, 10);
        if (errno || place < next || bytes < 1 || place > MOST_RECORD || bytes > MOST_RECORD) return WRONG;
        if (*rest && *rest != ',') return WRONG;
        next = place + bytes;
        c->at[c->count] = (int)place;
        c->bytes[c->count++] = (int)bytes;
        at = rest + 1;
        if (!*rest) return NULL;
    } while (true);
}

const char* columns_check(const struct columns* c, int record) {
    if (c->count && c->at[c->count - 1] + c->bytes[c->count - 1] > record)
        return "a column of --columns does not lie in the record";
    return NULL;
}

const char* columns_cpu_why(const struct columns* c) {
    return c->count > MOST_DRIVE_COLUMNS ? "the drive chooses 4 columns" : NULL;
}

uint32_t columns_bytes(const struct columns* c, int record) {
    uint32_t bytes = c->count ? 0 : (uint32_t)record;
    for (unsigned i = 0; i < c->count; i++) bytes += (uint32_t)c->bytes[i];
    return bytes;
}

void columns_copy(const struct columns* c, const uint8_t* record, uint32_t bytes, uint8_t* to) {
    if (!c->count) memcpy(to, record, bytes);
    for (unsigned i = 0; i < c->count; to += c->bytes[i++]) memcpy(to, record + c->at[i], (size_t)c->bytes[i]);
}

// ---- programs

uint32_t where_program(const struct where* w, const struct columns* c, int record, bool behind, uint8_t* program) {
    unsigned count = w->count < MOST_DRIVE_CONDITIONS ? w->count : MOST_DRIVE_CONDITIONS;
    unsigned columns = c->count < MOST_DRIVE_COLUMNS ? c->count : MOST_DRIVE_COLUMNS;
    memset(program, 0, FILTER_BYTES);
    program[0] = 3;
    program[1] = behind;
    program[5] = (uint8_t)count;
    program[6] = (uint8_t)columns;
    near_put(program + 8, 2, (uint64_t)record);
    for (unsigned i = 0; i < count; i++) {
        const struct condition* of = &w->conditions[i];
        uint8_t* to = program + CONDITION_BYTES * (1 + i);
        to[0] = (uint8_t)of->type.number;
        to[1] = (uint8_t)of->comparison;
        to[2] = of->alternative;
        near_put(to + 4, 2, (uint64_t)of->column);
        near_put(to + 8, 8, of->value);
    }
    for (unsigned i = 0; i < columns; i++) {
        uint8_t* to = program + CONDITION_BYTES * (1 + count) + 4 * i;
        near_put(to, 2, (uint64_t)c->at[i]);
        near_put(to + 2, 2, (uint64_t)c->bytes[i]);
    }
    return CONDITION_BYTES * (1 + count + (columns != 0));
}

void total_program(const struct type* type, int record, int column, uint8_t* program) {
    memset(program, 0, 16);
    program[0] = 2;
    program[4] = (uint8_t)type->number;
    near_put(program + 8, 2, (uint64_t)record);
    near_put(program + 10, 2, (uint64_t)column);
}
