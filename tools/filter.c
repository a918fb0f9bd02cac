// SPDX-License-Identifier: Apache-2.0
// dbfilter: the records of which conditions are true, chosen by the drive.
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "near.h"
#include "records.h"

enum { OPT_CPU = 256, OPT_DRIVE, OPT_HELP, OPT_RECORD, OPT_WHERE, OPT_OR, OPT_COLUMNS };

static const char HELP[] =
    "Usage: dbfilter --record BYTES --where TEST [OPTION]... FILE...\n"
    "Write the records of which TEST is true to standard output, as they are and in their order, or columns of them. The\n"
    "drive chooses them, if it has near-storage commands. Values are little-endian; what is left at a file's end is no\n"
    "record.\n"
    "\n"
    "      --record=BYTES  of a record, 1 to 65535\n"
    "      --where=TEST    as u32@8>=5: type (u8 to u64, i8 to i64), place in the record, ==, !=, <, <=, > or >=, number;\n"
    "                      with several all are true\n"
    "      --or            between two --where: those before it are true, or those behind it\n"
    "      --columns=LIST  only these bytes of each record, as 4:4,12:2: places and sizes, ascending, none in another\n"
    "  -c, --count         how many there are of each file, not themselves\n"
    "  -j, --jobs=N        commands in flight, 1 to 64; 4, if not said\n"
    "      --cpu           do not ask the drive\n"
    "      --drive         only the drive: what it cannot do is an error\n"
    "      --help          this text\n"
    "Exit status: 0, or 1 if there is none, or 2 after an error.\n"
    "\n"
    "Example: dbfilter --record 16 --where 'u32@4>=1000' --where 'u8@0==3' samples.bin >some.bin\n";

static const struct option OPTIONS[] = {
    {"record", required_argument, NULL, OPT_RECORD},
    {"where", required_argument, NULL, OPT_WHERE},
    {"or", no_argument, NULL, OPT_OR},
    {"columns", required_argument, NULL, OPT_COLUMNS},
    {"count", no_argument, NULL, 'c'},
    {"jobs", required_argument, NULL, 'j'},
    {"cpu", no_argument, NULL, OPT_CPU},
    {"drive", no_argument, NULL, OPT_DRIVE},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

struct filter {
    struct near_options options;
    struct where where;
    struct columns columns;
    int record;
    uint32_t packed;  // bytes that are written of a record
    bool count, names;
    const struct near_file* file;
    uint64_t found, all;  // of the file, of all
};

// ---- a file

static uint32_t soft(void* context, const uint8_t* data, uint32_t bytes, uint32_t phase, uint8_t* result) {
    const struct filter* f = context;
    uint64_t record = (uint64_t)f->record, count = 0;
    for (uint64_t at = (record - phase) % record; at + record <= bytes; at += record) {
        if (!where_holds(&f->where, data + at)) continue;
        if (!f->count) columns_copy(&f->columns, data + at, f->packed, result + count * f->packed);
        count++;
    }
    if (!f->count) return (uint32_t)count * f->packed;
    memset(result, 0, TOTAL_BYTES);
    near_put(result, 8, count);
    return TOTAL_BYTES;
}

static void begin(void* context, const struct near_file* file) {
    struct filter* f = context;
    f->file = file;
    f->found = 0;
}

static int out(const uint8_t* data, size_t bytes) {
    errno = EIO;
    return fwrite(data, 1, bytes, stdout) == bytes ? 0 : -errno;
}

static int take(void* context, const struct near_part* p, const uint8_t* result, uint32_t bytes) {
    struct filter* f = context;
    uint64_t end = p->offset + p->bytes, record = (uint64_t)f->record, at = (end - 1) / record * record;
    uint64_t found = f->count && bytes == TOTAL_BYTES ? near_get(result, 8) : bytes / f->packed;
    if (f->count ? bytes != TOTAL_BYTES : bytes % f->packed != 0 || bytes > p->bytes) return -EPROTO;
    if (found > p->bytes / record) return -EPROTO;
    f->found += found;
    int e = f->count ? 0 : out(result, bytes);
    // The record that begins in this part and ends behind it.
    if (e || at < p->offset || at + record <= end || at + record > f->file->size) return e;
    uint8_t data[MOST_RECORD], chosen[MOST_RECORD];
    e = near_read(f->file, at, data, record);
    if (e || !where_holds(&f->where, data)) return e;
    f->found++;
    columns_copy(&f->columns, data, f->packed, chosen);
    return f->count ? 0 : out(chosen, f->packed);
}

static int end(void* context, const struct near_file* file) {
    struct filter* f = context;
    f->all += f->found;
    if (f->count && f->names) printf("%s:", file->path);
    if (f->count) printf("%" PRIu64 "\n", f->found);
    return 0;
}

// ---- options

static int bad(const char* text, const char* what) { return near_bad("dbfilter", text, what); }

// -1: go on; else the exit status.
static int options(struct filter* f, int argc, char** argv) {
    int c;
    const char* wrong;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":cj:", OPTIONS, NULL)) != -1) switch (c) {
            case OPT_RECORD:
                if (!near_number(optarg, 1, MOST_RECORD, &f->record))
                    return bad("--record takes a number from 1 to 65535, not ", optarg);
                break;
            case OPT_WHERE:
                if ((wrong = where_add(&f->where, optarg))) return bad(wrong, optarg);
                break;
            case OPT_OR:
                if ((wrong = where_or(&f->where))) return bad(wrong, "");
                break;
            case OPT_COLUMNS:
                if ((wrong = columns_of(&f->columns, optarg))) return bad(wrong, optarg);
                break;
            case 'c': f->count = true; break;
            case 'j':
                if (!near_number(optarg, 1, 64, &f->options.jobs))
                    return bad("-j takes a number from 1 to 64, not ", optarg);
                break;
            case OPT_CPU: f->options.cpu = true; break;
            case OPT_DRIVE: f->options.drive = true; break;
            case OPT_HELP: fputs(HELP, stdout); return fflush(stdout) ? 2 : 0;
            case ':': return bad("something is missing behind ", argv[argc - 1]);
            default:
                return bad("there is no such option: ", optopt ? (char[]){'-', (char)optopt, 0} : argv[optind - 1]);
        }
    if (f->options.cpu && f->options.drive) return bad("--cpu and --drive exclude each other", "");
    if (!f->record) return bad("--record is missing", "");
    if (!f->where.count) return bad("--where is missing", "");
    if ((wrong = where_check(&f->where, f->record))) return bad(wrong, "");
    if ((wrong = columns_check(&f->columns, f->record))) return bad(wrong, "");
    if (f->count && f->columns.count) return bad("-c and --columns exclude each other", "");
    f->packed = columns_bytes(&f->columns, f->record);
    if (optind == argc) return bad("a file is missing", "");
    f->names = argc - optind > 1;
    return -1;
}

int main(int argc, char** argv) {
    struct filter f = {.options = {.tool = "dbfilter", .jobs = 4}};
    int status = options(&f, argc, argv);
    if (status >= 0) return status;
    uint8_t program[FILTER_BYTES + 16];
    uint32_t bytes = where_program(&f.where, &f.columns, f.record, f.count, program);
    const char* why = where_cpu_why(&f.where, f.record);
    if (f.count) total_program(&(struct type){0, 1, false}, f.record, 0, program + bytes);
    struct near_job job = {
        .program = program,
        .program_bytes = f.count ? bytes + 16 : bytes,
        .cpu_why = why ? why : columns_cpu_why(&f.columns),
        .record = (uint32_t)f.record,
        .result_room = f.count ? 64 : 4096,
        .large = !f.count,
        .soft = soft,
        .take = take,
        .begin = begin,
        .end = end,
        .context = &f,
    };
    for (int i = optind; i < argc; i++)
        if (near_run(argv[i], &job, &f.options)) status = 2;
    return near_finish("dbfilter", status == 2 ? 2 : f.all ? 0 : 1);
}
