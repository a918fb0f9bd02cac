// SPDX-License-Identifier: Apache-2.0
// dbsum: count, sum, least and greatest of a column of records, looked at by the drive.
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "near.h"
#include "records.h"

enum {
    OPT_CPU = 256,
    OPT_DRIVE,
    OPT_HELP,
    OPT_TYPE,
    OPT_RECORD,
    OPT_COLUMN,
    OPT_JSON,
    OPT_WHERE,
    OPT_OR,
};

static const char HELP[] =
    "Usage: dbsum --type TYPE [OPTION]... FILE...\n"
    "Say how many values a column of records has, their sum, the least and the greatest one: a line for each file or\n"
    "block device. The drive looks at them, if it has near-storage commands. Values are little-endian.\n"
    "\n"
    "      --type=TYPE     u8, u16, u32, u64, i8, i16, i32 or i64\n"
    "      --record=BYTES  of a record, 1 to 65535; those of the type, if not said\n"
    "      --column=BYTE   where in the record the value begins; 0, if not said\n"
    "      --where=TEST    only records of which it is true, as u32@8>=5: type, column, ==, !=, <, <=, > or >=, number;\n"
    "                      with several all are\n"
    "      --or            between two --where: those before it are true, or those behind it\n"
    "      --json          a line of JSON for each file\n"
    "  -j, --jobs=N        commands in flight, 1 to 64; 4, if not said\n"
    "      --cpu           do not ask the drive\n"
    "      --drive         only the drive: what it cannot do is an error\n"
    "      --help          this text\n"
    "Exit status: 0, or 2 after an error.\n"
    "\n"
    "Example: dbsum --type i32 --record 16 --column 4 --where 'u8@0==3' samples.bin\n";

static const struct option OPTIONS[] = {
    {"type", required_argument, NULL, OPT_TYPE},
    {"record", required_argument, NULL, OPT_RECORD},
    {"column", required_argument, NULL, OPT_COLUMN},
    {"where", required_argument, NULL, OPT_WHERE},
    {"or", no_argument, NULL, OPT_OR},
    {"json", no_argument, NULL, OPT_JSON},
    {"jobs", required_argument, NULL, 'j'},
    {"cpu", no_argument, NULL, OPT_CPU},
    {"drive", no_argument, NULL, OPT_DRIVE},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

struct total {
    uint64_t count;
    __int128 sum;  // of 2^60 values at most, so it is exact
    uint64_t least, greatest;
};

struct sum {
    struct near_options options;
    struct type type;
    struct where where;
    bool json, names;
    int record, column;
    const struct near_file* file;
    struct total total;
};

// ---- values

static void join(const struct sum* s, struct total* t, const struct total* more) {
    if (!more->count) return;
    if (!t->count || value_less(&s->type, more->least, t->least)) t->least = more->least;
    if (!t->count || value_less(&s->type, t->greatest, more->greatest)) t->greatest = more->greatest;
    t->count += more->count;
    t->sum += more->sum;
}

static struct total one(const struct sum* s, uint64_t v) {
    return (struct total){1, s->type.has_sign ? (__int128)(int64_t)v : (__int128)v, v, v};
}

static uint32_t soft(void* context, const uint8_t* data, uint32_t bytes, uint32_t phase, uint8_t* result) {
    const struct sum* s = context;
    struct total t = {0};
    uint64_t record = (uint64_t)s->record, column = (uint64_t)s->column;
    if (s->where.count) {
        for (uint64_t at = (record - phase) % record; at + record <= bytes; at += record) {
            struct total v = one(s, value_at(&s->type, data + at + column));
            if (where_holds(&s->where, data + at)) join(s, &t, &v);
        }
    } else {
        for (uint64_t at = (column + record - phase) % record; at + s->type.bytes <= bytes; at += record) {
            struct total v = one(s, value_at(&s->type, data + at));
            join(s, &t, &v);
        }
    }
    memset(result, 0, TOTAL_BYTES);
    near_put(result, 8, t.count);
    near_put(result + 16, 8, (uint64_t)t.sum);
    near_put(result + 24, 8, (uint64_t)(t.sum >> 64));
    near_put(result + 32, 8, t.least);
    near_put(result + 40, 8, t.greatest);
    return TOTAL_BYTES;
}

// ---- a file

static void begin(void* context, const struct near_file* f) {
    struct sum* s = context;
    s->file = f;
    s->total = (struct total){0};
}

static int take(void* context, const struct near_part* p, const uint8_t* result, uint32_t bytes) {
    struct sum* s = context;
    if (bytes != TOTAL_BYTES) return -EPROTO;
    struct total t = {.count = near_get(result, 8), .least = near_get(result + 32, 8)};
    t.greatest = near_get(result + 40, 8);
    t.sum = (__int128)((unsigned __int128)near_get(result + 24, 8) << 64 | near_get(result + 16, 8));
    if (t.count > p->bytes) return -EPROTO;
    join(s, &s->total, &t);
    // The value, or the record, that begins in this part and ends behind it.
    bool whole = s->where.count != 0;
    uint64_t end = p->offset + p->bytes, record = (uint64_t)s->record, column = whole ? 0 : (uint64_t)s->column;
    uint64_t size = whole ? record : s->type.bytes;
    if (end <= column) return 0;
    uint64_t at = (end - 1 - column) / record * record + column;
    if (at < p->offset || at + size <= end || at + size > s->file->size) return 0;
    uint8_t data[MOST_RECORD];
    int e = near_read(s->file, at, data, size);
    if (e) return e;
    if (whole && !where_holds(&s->where, data)) return 0;
    t = one(s, value_at(&s->type, data + (whole ? s->column : 0)));
    join(s, &s->total, &t);
    return 0;
}

static const char* decimal(__int128 v, char* room, size_t bytes) {
    unsigned __int128 left = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    char* at = room + bytes - 1;
    *at = 0;
    do *--at = (char)('0' + (int)(left % 10));
    while (left /= 10);
    if (v < 0) *--at = '-';
    return at;
}

static void print_json_text(const char* text) {
    putchar('"');
    for (const unsigned char* c = (const unsigned char*)text; *c; c++) {
        if (*c == '"' || *c == '\\') printf("\\%c", *c);
        else if (*c < 32) printf("\\u%04x", *c);
        else putchar(*c);
    }
    putchar('"');
}

static int end(void* context, const struct near_file* f) {
    const struct sum* s = context;
    char sum[48], least[48] = "none", greatest[48] = "none";
    const char *low = least, *high = greatest;
    if (s->total.count) {
        low = decimal(one(s, s->total.least).sum, least, sizeof least);
        high = decimal(one(s, s->total.greatest).sum, greatest, sizeof greatest);
    } else if (s->json) {
        low = high = "null";
    }
    const char* all = decimal(s->total.sum, sum, sizeof sum);
    if (s->json) {
        printf("{\"file\": ");
        print_json_text(f->path);
        printf(", \"count\": %" PRIu64 ", \"sum\": %s, \"min\": %s, \"max\": %s}\n", s->total.count, all, low, high);
    } else {
        if (s->names) printf("%s: ", f->path);
        printf("count=%" PRIu64 " sum=%s min=%s max=%s\n", s->total.count, all, low, high);
    }
    return 0;
}

// ---- options

static int bad(const char* text, const char* what) { return near_bad("dbsum", text, what); }

// -1: go on; else the exit status.
static int options(struct sum* s, int argc, char** argv) {
    int c;
    const char* wrong;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":j:", OPTIONS, NULL)) != -1) switch (c) {
            case OPT_TYPE:
                if (!type_of(&s->type, optarg, strlen(optarg))) return bad("there is no such type: ", optarg);
                break;
            case OPT_RECORD:
                if (!near_number(optarg, 1, MOST_RECORD, &s->record))
                    return bad("--record takes a number from 1 to 65535, not ", optarg);
                break;
            case OPT_COLUMN:
                if (!near_number(optarg, 0, MOST_RECORD, &s->column))
                    return bad("--column takes a number from 0 to 65535, not ", optarg);
                break;
            case OPT_WHERE:
                if ((wrong = where_add(&s->where, optarg))) return bad(wrong, optarg);
                break;
            case OPT_OR:
                if ((wrong = where_or(&s->where))) return bad(wrong, "");
                break;
            case OPT_JSON: s->json = true; break;
            case 'j':
                if (!near_number(optarg, 1, 64, &s->options.jobs))
                    return bad("-j takes a number from 1 to 64, not ", optarg);
                break;
            case OPT_CPU: s->options.cpu = true; break;
            case OPT_DRIVE: s->options.drive = true; break;
            case OPT_HELP: fputs(HELP, stdout); return fflush(stdout) ? 2 : 0;
            case ':': return bad("something is missing behind ", argv[argc - 1]);
            default:
                return bad("there is no such option: ", optopt ? (char[]){'-', (char)optopt, 0} : argv[optind - 1]);
        }
    if (s->options.cpu && s->options.drive) return bad("--cpu and --drive exclude each other", "");
    if (!s->type.bytes) return bad("--type is missing", "");
    if (!s->record) s->record = (int)s->type.bytes;
    if (s->column + (int)s->type.bytes > s->record) return bad("the column does not lie in the record", "");
    if ((wrong = where_check(&s->where, s->record))) return bad(wrong, "");
    if (optind == argc) return bad("a file is missing", "");
    s->names = argc - optind > 1;
    return -1;
}

int main(int argc, char** argv) {
    struct sum s = {.options = {.tool = "dbsum", .jobs = 4}};
    int status = options(&s, argc, argv);
    if (status >= 0) return status;
    uint8_t program[FILTER_BYTES + 16];
    uint32_t filter = s.where.count ? where_program(&s.where, &(struct columns){0}, s.record, true, program) : 0;
    total_program(&s.type, s.record, s.column, program + filter);
    struct near_job job = {
        .program = program,
        .program_bytes = filter + 16,
        .cpu_why = s.where.count ? where_cpu_why(&s.where, s.record) : NULL,
        .record = (uint32_t)s.record,
        .result_room = 64,
        .soft = soft,
        .take = take,
        .begin = begin,
        .end = end,
        .context = &s,
    };
    status = 0;
    for (int i = optind; i < argc; i++)
        if (near_run(argv[i], &job, &s.options)) status = 2;
    return near_finish("dbsum", status);
}
