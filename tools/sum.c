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
#include "sum_csv.h"

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
    OPT_CSV,
    OPT_SEPARATOR,
    OPT_FIELD,
    OPT_HEADER,
};

static const char HELP[] =
    "Usage: dbsum --type TYPE [OPTION]... FILE...\n"
    "  or:  dbsum --csv --field N [OPTION]... FILE...\n"
    "Say how many values a column of records has, or a field of text lines, their sum, the least and the greatest one: a\n"
    "line for each file or block device. The drive looks at them, if it has near-storage commands. Values of records are\n"
    "little-endian; those of text are decimal numbers, and fields that are something else are counted as other.\n"
    "\n"
    "      --type=TYPE     u8, u16, u32, u64, i8, i16, i32 or i64\n"
    "      --record=BYTES  of a record, 1 to 65535; those of the type, if not said\n"
    "      --column=BYTE   where in the record the value begins; 0, if not said\n"
    "      --where=TEST    only records of which it is true, as u32@8>=5: type, column, ==, !=, <, <=, > or >=, number;\n"
    "                      with several all are\n"
    "      --or            between two --where: those before it are true, or those behind it\n"
    "      --csv           text lines, cut as by awk -F: quotes are bytes as others\n"
    "      --field=N       which field of a line, from 1 to 256\n"
    "      --separator=C   between fields, a byte or \\t; a comma, if not said\n"
    "      --header=N      lines at a file's begin that do not count; 0, if not said\n"
    "      --json          a line of JSON for each file\n"
    "  -j, --jobs=N        commands in flight, 1 to 64; 4, if not said\n"
    "      --cpu           do not ask the drive\n"
    "      --drive         only the drive: what it cannot do is an error\n"
    "      --help          this text\n"
    "Exit status: 0, or 2 after an error.\n"
    "\n"
    "Example: dbsum --type i32 --record 16 --column 4 --where 'u8@0==3' samples.bin\n"
    "         dbsum --csv --header 1 --field 3 sales.csv\n";

static const struct option OPTIONS[] = {
    {"type", required_argument, NULL, OPT_TYPE},
    {"record", required_argument, NULL, OPT_RECORD},
    {"column", required_argument, NULL, OPT_COLUMN},
    {"where", required_argument, NULL, OPT_WHERE},
    {"or", no_argument, NULL, OPT_OR},
    {"csv", no_argument, NULL, OPT_CSV},
    {"separator", required_argument, NULL, OPT_SEPARATOR},
    {"field", required_argument, NULL, OPT_FIELD},
    {"header", required_argument, NULL, OPT_HEADER},
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
    bool json, names, is_csv;
    struct sum_csv csv;
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

// A number in units of 10^-decimals, without zeros behind its point that say nothing.
static const char* decimal(__int128 v, int decimals, char* room, size_t bytes) {
    unsigned __int128 left = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    char* at = room + bytes - 1;
    *at = 0;
    for (; decimals && left % 10 == 0; decimals--) left /= 10;
    for (bool point = decimals; decimals > 0 || point || left; decimals--) {
        if (decimals == 0 && point) {
            *--at = '.';
            point = false;
            if (!left) break;
        }
        *--at = (char)('0' + (int)(left % 10));
        left /= 10;
    }
    if (!*at || *at == '.') *--at = '0';
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

struct said {
    uint64_t count, others;
    __int128 sum, least, greatest;
    int decimals;
};

static void say(const struct sum* s, const struct near_file* f, const struct said* what) {
    char sum[64], least[64] = "none", greatest[64] = "none";
    const char *low = least, *high = greatest;
    if (what->count) {
        low = decimal(what->least, what->decimals, least, sizeof least);
        high = decimal(what->greatest, what->decimals, greatest, sizeof greatest);
    } else if (s->json) {
        low = high = "null";
    }
    const char* all = decimal(what->sum, what->decimals, sum, sizeof sum);
    if (s->json) {
        printf("{\"file\": ");
        print_json_text(f->path);
        printf(", \"count\": %" PRIu64 ", \"sum\": %s, \"min\": %s, \"max\": %s", what->count, all, low, high);
        if (s->is_csv) printf(", \"other\": %" PRIu64, what->others);
        printf("}\n");
    } else {
        if (s->names) printf("%s: ", f->path);
        printf("count=%" PRIu64 " sum=%s min=%s max=%s", what->count, all, low, high);
        if (s->is_csv) printf(" other=%" PRIu64, what->others);
        printf("\n");
    }
}

static int end(void* context, const struct near_file* f) {
    const struct sum* s = context;
    const struct total* t = &s->total;
    say(s, f, &(struct said){t->count, 0, t->sum, one(s, t->least).sum, one(s, t->greatest).sum, 0});
    return 0;
}

static int end_csv(void* context, const struct near_file* f) {
    const struct sum* s = context;
    const struct csv_total* t = &s->csv.total;
    say(s, f, &(struct said){t->count, t->others, t->sum, t->least, t->greatest, CSV_DECIMALS});
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
            case OPT_CSV: s->is_csv = true; break;
            case OPT_SEPARATOR:
                if (!strcmp(optarg, "\\t")) optarg = "\t";
                if (strlen(optarg) != 1 || *optarg == '\n') return bad("--separator takes a byte or \\t, not ", optarg);
                s->csv.csv.separator = (uint8_t)*optarg;
                break;
            case OPT_FIELD:
                if (!near_number(optarg, 1, 256, &s->csv.csv.field))
                    return bad("--field takes a number from 1 to 256, not ", optarg);
                break;
            case OPT_HEADER:
                if (!near_number(optarg, 0, 1000000, &s->csv.header))
                    return bad("--header takes a number from 0 to 1000000, not ", optarg);
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
    if (s->is_csv) {
        if (s->type.bytes || s->record || s->column || s->where.count || s->where.alternative)
            return bad("--csv excludes --type, --record, --column, --where and --or", "");
        if (!s->csv.csv.field--) return bad("--field is missing", "");
        if (!s->csv.csv.separator) s->csv.csv.separator = ',';
        if (optind == argc) return bad("a file is missing", "");
        s->names = argc - optind > 1;
        return -1;
    }
    if (s->csv.csv.field || s->csv.csv.separator || s->csv.header)
        return bad("--field, --separator and --header are of --csv, which is missing", "");
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
    if (s.is_csv) {
        s.csv.options = &s.options;
        s.csv.say = end_csv;
        s.csv.context = &s;
        csv_program(&s.csv.csv, program);
        job = sum_csv_job(&s.csv, program);
    }
    status = 0;
    for (int i = optind; i < argc; i++)
        if (near_run(argv[i], &job, &s.options)) status = 2;
    return near_finish("dbsum", s.csv.refused ? 2 : status);
}
