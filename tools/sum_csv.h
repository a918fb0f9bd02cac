// SPDX-License-Identifier: Apache-2.0
// dbsum --csv: a field of text lines, looked at by the drive.
#ifndef SUM_CSV_H
#define SUM_CSV_H

#include "csv.h"
#include "near.h"

struct sum_csv {
    const struct near_options* options;
    struct csv csv;
    int header;  // lines that do not count
    // Of the file.
    const struct near_file* file;
    uint64_t skip;  // bytes of the header
    uint64_t odd;   // fields that only the CPU may know
    struct csv_total total;
    int (*say)(void* context, const struct near_file* f);  // what there is, in the end
    void* context;
    bool refused;  // there was nothing to say of a file: the exit status is 2
};
// All of the job but the program.
struct near_job sum_csv_job(struct sum_csv* s, const uint8_t* program);

#endif
