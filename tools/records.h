// SPDX-License-Identifier: Apache-2.0
// Records of a column each: types, values, conditions; and the Filter program of these (docs/csd/near-storage.md).
#ifndef RECORDS_H
#define RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MOST_RECORD = 65535,       // bytes of a record
    MOST_DRIVE_RECORD = 1024,  // ... of a Filter
    MOST_CONDITIONS = 16,
    MOST_DRIVE_CONDITIONS = 4,  // ... of a Filter
    MOST_COLUMNS = 16,
    MOST_DRIVE_COLUMNS = 4,  // ... of a Filter
    CONDITION_BYTES = 16,    // of a Filter's program, as of its head
    TOTAL_BYTES = 48,        // of the result of an Aggregate
};

// ---- values

struct type {
    unsigned number, bytes;  // number: the drive's
    bool has_sign;
};
bool type_of(struct type* type, const char* text, size_t length);  // "u8" to "i64"
uint64_t value_at(const struct type* type, const uint8_t* at);     // its bits, extended to 64
bool value_less(const struct type* type, uint64_t a, uint64_t b);

// ---- conditions

struct condition {
    struct type type;
    int column;
    unsigned comparison;  // the drive's number
    uint64_t value;
    bool alternative;  // those before it, or from it on
};
struct where {
    struct condition conditions[MOST_CONDITIONS];
    unsigned count;
    bool alternative;  // the next one begins one
};
// --where TEXT and --or, in the order of the line: NULL, or what is wrong.
const char* where_add(struct where* w, const char* text);
const char* where_or(struct where* w);
// When all have come: NULL, or what is wrong for records of so many bytes.
const char* where_check(const struct where* w, int record);
bool where_holds(const struct where* w, const uint8_t* record);
// Why no drive can do it, or NULL.
const char* where_cpu_why(const struct where* w, int record);

// ---- columns that are chosen of a record: ascending, none in another

struct columns {
    int at[MOST_COLUMNS], bytes[MOST_COLUMNS];
    unsigned count;  // 0: all of the record
};
// --columns TEXT: NULL, or what is wrong.
const char* columns_of(struct columns* c, const char* text);
const char* columns_check(const struct columns* c, int record);  // for records of so many bytes
const char* columns_cpu_why(const struct columns* c);
uint32_t columns_bytes(const struct columns* c, int record);                                     // of what is chosen
void columns_copy(const struct columns* c, const uint8_t* record, uint32_t bytes, uint8_t* to);  // bytes: of it

// A Filter's program; `behind`: another program follows. Its bytes, at most FILTER_BYTES.
enum { FILTER_BYTES = CONDITION_BYTES * (2 + MOST_DRIVE_CONDITIONS) };
uint32_t where_program(const struct where* w, const struct columns* c, int record, bool behind, uint8_t* program);

// An Aggregate's program: 16 bytes.
void total_program(const struct type* type, int record, int column, uint8_t* program);

#endif
