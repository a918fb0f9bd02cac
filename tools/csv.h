// SPDX-License-Identifier: Apache-2.0
// A field of text lines: the numbers that are in it, and the program of Csv (docs/csd/near-storage.md).
#ifndef CSV_H
#define CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CSV_BYTES = 64,       // of the result of a command
    CSV_INSIDE = 0xffff,  // PHASE of data that begin inside a line; below: bytes before the first line
    CSV_PROGRAM_BYTES = 16,
    CSV_DECIMALS = 15,  // what we count in: 10^-15
    CSV_DRIVE_WHOLE = 12,
    CSV_DRIVE_DECIMALS = 6,
    CSV_MOST = 128,  // bytes of a field that may be a number
};

struct csv {
    uint8_t separator;
    int field;  // from 0 on
};
void csv_program(const struct csv* c, uint8_t* program);

struct csv_total {
    uint64_t count, others;  // others: fields that are not empty and no number
    __int128 sum, least, greatest;
    bool overflow;  // the sum is beyond what we can hold
};
void csv_join(struct csv_total* t, const struct csv_total* more);
// Of the result of a command. 0 or -EPROTO.
int csv_total_of(struct csv_total* t, const uint8_t* result, uint32_t bytes, uint64_t* behind);

// Bytes one behind another; fields count as they end.
struct csv_reader {
    const struct csv* csv;
    bool as_drive;  // only numbers that the drive takes
    int at;         // which field we are in; -1: nothing counts until the line ends
    size_t bytes;   // of our field
    char text[CSV_MOST];
    struct csv_total total;
    uint64_t offset, behind,
        ended;  // bytes up to now; behind the last line end, or 0; behind the last field that ended
};
void csv_begin(struct csv_reader* r, const struct csv* c, bool as_drive, bool inside);
bool csv_byte(struct csv_reader* r, uint8_t c);  // whether a line ends
void csv_end(struct csv_reader* r);              // the data end, and so does the field

#endif
