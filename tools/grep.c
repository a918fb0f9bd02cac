// SPDX-License-Identifier: Apache-2.0
// dbgrep: lines with fixed strings, as grep -F -a says them, looked for by the drive.
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "grep.h"

enum { OPT_CPU = 256, OPT_DRIVE, OPT_HELP };

static const char HELP[] =
    "Usage: dbgrep [OPTION]... STRING FILE...\n"
    "       dbgrep [OPTION]... -e STRING... FILE...\n"
    "Say the lines of files and block devices that have one of the strings, as grep -F -a does in the C locale. The\n"
    "drive looks for them, if it has near-storage commands.\n"
    "\n"
    "  -e, --regexp=STRING        a string; may stand several times\n"
    "  -i, --ignore-case          upper and lower case letters (ASCII) are the same\n"
    "  -v, --invert-match         lines that have none of the strings\n"
    "  -c, --count                only how many lines\n"
    "  -l, --files-with-matches   only the names of files with such lines\n"
    "  -q, --quiet                nothing: the exit status says it\n"
    "  -n, --line-number          the number of each line\n"
    "  -H, --with-filename        the file's name before each line; so it is with several files\n"
    "  -h, --no-filename          no file's name\n"
    "  -j, --jobs=N               commands in flight, 1 to 64; 4, if not said\n"
    "      --cpu                  do not ask the drive\n"
    "      --drive                only the drive: what it cannot do is an error\n"
    "      --help                 this text\n"
    "-F and -a are taken, and change nothing. Exit status: 0 a line was found, 1 none, 2 an error.\n"
    "\n"
    "Example: dbgrep -n -e 'Out of memory' -e oom-kill /var/log/syslog\n";

static const struct option OPTIONS[] = {
    {"regexp", required_argument, NULL, 'e'},
    {"ignore-case", no_argument, NULL, 'i'},
    {"invert-match", no_argument, NULL, 'v'},
    {"count", no_argument, NULL, 'c'},
    {"files-with-matches", no_argument, NULL, 'l'},
    {"quiet", no_argument, NULL, 'q'},
    {"silent", no_argument, NULL, 'q'},
    {"line-number", no_argument, NULL, 'n'},
    {"with-filename", no_argument, NULL, 'H'},
    {"no-filename", no_argument, NULL, 'h'},
    {"fixed-strings", no_argument, NULL, 'F'},
    {"text", no_argument, NULL, 'a'},
    {"jobs", required_argument, NULL, 'j'},
    {"cpu", no_argument, NULL, OPT_CPU},
    {"drive", no_argument, NULL, OPT_DRIVE},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

struct grep {
    struct near_options options;
    struct strings strings;
    struct lines lines;
    bool count, names, quiet, with_name;
    bool found;
};

static uint32_t soft(void* context, const uint8_t* data, uint32_t bytes, uint32_t phase, uint8_t* result) {
    const struct grep* g = context;
    (void)phase;
    return strings_result(&g->strings, g->lines.where, g->lines.invert, data, bytes, result);
}

static void begin(void* context, const struct near_file* f) {
    struct grep* g = context;
    lines_begin(&g->lines, f);
}

static int take(void* context, const struct near_part* part, const uint8_t* result, uint32_t bytes) {
    struct grep* g = context;
    int e = lines_take(&g->lines, part, result, bytes);
    if (e) return e;
    if (ferror(stdout)) return 1;
    return (g->names || g->quiet) && g->lines.counted;
}

static int end(void* context, const struct near_file* f) {
    struct grep* g = context;
    int e = lines_end(&g->lines);
    if (e) return e;
    if (g->lines.counted) g->found = true;
    if (g->quiet) return 0;
    if (g->names) {
        if (g->lines.counted) printf("%s\n", f->path);
    } else if (g->count) {
        if (g->with_name) printf("%s:", f->path);
        printf("%" PRIu64 "\n", g->lines.counted);
    }
    return 0;
}

static int print_line(void* context, uint64_t start, uint64_t stop, uint64_t number) {
    struct grep* g = context;
    if (g->with_name) printf("%s:", g->lines.file->path);
    if (g->lines.numbers) printf("%" PRIu64 ":", number + 1);
    while (start < stop) {
        const uint8_t* data;
        ssize_t n = lines_window(&g->lines, start, stop - start, &data);
        if (n < 0) return (int)n;
        fwrite(data, 1, (size_t)n, stdout);
        start += (uint64_t)n;
    }
    putchar('\n');
    return 0;
}

// Its lines would come out again and again.
static bool is_output(const char* path) {
    struct stat in, out;
    return !fstat(STDOUT_FILENO, &out) && S_ISREG(out.st_mode) && !stat(path, &in) && in.st_dev == out.st_dev &&
           in.st_ino == out.st_ino;
}

static int bad(const char* text, const char* what) { return near_bad("dbgrep", text, what); }

// -1: go on; else the exit status.
static int options(struct grep* g, int argc, char** argv) {
    int with_name = -1, c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":e:ivclqnHhFaj:", OPTIONS, NULL)) != -1) switch (c) {
            case 'e': strings_add(&g->strings, optarg); break;
            case 'i': g->strings.fold = true; break;
            case 'v': g->lines.invert = true; break;
            case 'c': g->count = true; break;
            case 'l': g->names = true; break;
            case 'q': g->quiet = true; break;
            case 'n': g->lines.numbers = true; break;
            case 'H': with_name = 1; break;
            case 'h': with_name = 0; break;
            case 'F':
            case 'a': break;
            case 'j':
                if (!near_number(optarg, 1, 64, &g->options.jobs))
                    return bad("-j takes a number from 1 to 64, not ", optarg);
                break;
            case OPT_CPU: g->options.cpu = true; break;
            case OPT_DRIVE: g->options.drive = true; break;
            case OPT_HELP: fputs(HELP, stdout); return fflush(stdout) ? 2 : 0;
            case ':': return bad("something is missing behind ", argv[argc - 1]);
            default:
                return bad("there is no such option: ", optopt ? (char[]){'-', (char)optopt, 0} : argv[optind - 1]);
        }
    if (g->options.cpu && g->options.drive) return bad("--cpu and --drive exclude each other", "");
    if (!g->strings.count) {
        if (optind == argc) return bad("a string to look for is missing", "");
        strings_add(&g->strings, argv[optind++]);
    }
    if (optind == argc) return bad("a file is missing", "");
    g->with_name = with_name < 0 ? argc - optind > 1 : with_name;
    return -1;
}

int main(int argc, char** argv) {
    static uint8_t program[NEAR_PROGRAM_BYTES];
    struct grep g = {.options = {.tool = "dbgrep", .jobs = 4}};
    int status = options(&g, argc, argv);
    if (status >= 0) return status;
    strings_ready(&g.strings);
    g.lines.strings = &g.strings;
    g.lines.where = !g.count && !g.names && !g.quiet;
    g.lines.line = print_line;
    g.lines.context = &g;
    struct near_job job = {
        .program = program,
        .result_room = g.lines.where ? 4096 : 64,
        .soft = soft,
        .take = take,
        .begin = begin,
        .end = end,
        .context = &g,
    };
    job.program_bytes = strings_program(&g.strings, g.lines.where, g.lines.invert, program, &job.cpu_why);
    bool trouble = false;
    for (int i = optind; i < argc; i++) {
        if (g.lines.where && is_output(argv[i])) {
            near_say(&g.options, argv[i], "input file is also the output");
            trouble = true;
            continue;
        }
        trouble |= near_run(argv[i], &job, &g.options) == 2;
        if (g.quiet && g.found) break;
        if (ferror(stdout)) break;
    }
    lines_free(&g.lines);
    strings_free(&g.strings);
    return near_finish("dbgrep", trouble && !(g.quiet && g.found) ? 2 : !g.found);
}
