// SPDX-License-Identifier: Apache-2.0
// dbhash: digests of files, made by the drive.
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "digest.h"
#include "near.h"

enum { OPT_CPU = 256, OPT_DRIVE, OPT_HELP };
// Of a message on the drive (docs/csd/near-storage.md): what a command does to it, in its PHASE, and flags of a result.
enum { BEGIN = 1, END = 2, ASK = 4, SKIP_SHIFT = 6, HAS_DIGEST = 1, RESULT_BYTES = 64, CRC_BYTES = 4 };
enum {
    PART_BYTES = 8192,  // of a command: half of what waits in a core, so that another one comes meanwhile
    LEAST_PAUSE_NS = 20000,
    MOST_PAUSE_NS = 5000000,
};

static const char HELP[] =
    "Usage: dbhash [OPTION]... FILE...\n"
    "Write the digest of each file or block device, as sha256sum does: sha256sum -c reads it. The drive makes it, if it\n"
    "has near-storage commands.\n"
    "\n"
    "  -a, --algorithm=NAME  sha256, or crc32c; sha256, if not said\n"
    "  -j, --jobs=N          of crc32c: commands in flight, 1 to 64; 4, if not said\n"
    "      --cpu             do not ask the drive\n"
    "      --drive           only the drive: what it cannot do is an error\n"
    "      --help            this text\n"
    "Exit status: 0, or 2 after an error.\n"
    "\n"
    "Example: dbhash /var/lib/images/*.qcow2 >sums\n";

static const struct option OPTIONS[] = {
    {"algorithm", required_argument, NULL, 'a'}, {"jobs", required_argument, NULL, 'j'},
    {"cpu", no_argument, NULL, OPT_CPU},         {"drive", no_argument, NULL, OPT_DRIVE},
    {"help", no_argument, NULL, OPT_HELP},       {NULL, 0, NULL, 0},
};

struct hash {
    struct near_options options;
    bool crc32c;
    uint8_t digest[SHA256_BYTES];  // of the file
    uint32_t crc;
};

// ---- SHA-256: one command behind another, as each goes on where the one before ended

static int sha256_on_cpu(struct hash* h, const struct near_file* f) {
    struct sha256 s;
    uint8_t* data = malloc(NEAR_MOST_BYTES);
    int e = data ? 0 : -ENOMEM;
    sha256_begin(&s);
    for (uint64_t at = 0; !e && at < f->size;) {
        size_t bytes = f->size - at < NEAR_MOST_BYTES ? (size_t)(f->size - at) : NEAR_MOST_BYTES;
        e = near_read(f, at, data, bytes);
        if (!e) sha256_more(&s, data, bytes);
        at += bytes;
    }
    free(data);
    sha256_end(&s, h->digest);
    return e;
}

static const struct near_extent* extent_at(const struct near_file* f, uint64_t offset) {
    const struct near_extent* e = f->extents;
    while (offset - e->offset >= e->bytes) e++;
    return e;
}

// 0, an NVMe status, or -errno.
static int sha256_on_drive(struct hash* h, const struct near_file* f) {
    const uint32_t block = f->device->block_bytes;
    _Alignas(NEAR_PAGE) static uint8_t result[NEAR_PAGE];
    uint64_t taken = 0;
    long pause = 0;
    struct timespec since, now;
    clock_gettime(CLOCK_MONOTONIC, &since);
    while (true) {
        struct near_part p = {.offset = taken, .bytes = 1, .place = f->extents[0].place};
        uint32_t phase = ASK, before = 0;  // bytes of the first block that are before the part
        if (taken < f->size) {
            const struct near_extent* e = extent_at(f, taken);
            uint64_t left = e->offset + e->bytes - taken;
            p.bytes = left < PART_BYTES ? (uint32_t)left : PART_BYTES;
            p.place = e->place + (taken - e->offset);
            before = (uint32_t)(p.place % block);
            phase = (taken ? 0 : BEGIN) | (taken + p.bytes == f->size ? END : 0) | before / SHA256_BLOCK << SKIP_SHIFT;
            p.place -= before;
        }
        p.bytes += before;
        uint32_t bytes;
        int status = near_command(f->device, &p, phase, result, RESULT_BYTES, &bytes);
        if (status) return status;
        uint64_t total = near_get(result, 8);
        uint64_t most = phase == ASK ? taken : taken + p.bytes - before;
        if (bytes != RESULT_BYTES || total < taken || total > most) return -EPROTO;
        if (near_get(result + 8, 8) & HAS_DIGEST) {
            memcpy(h->digest, result + 32, SHA256_BYTES);
            return total == f->size ? 0 : -EPROTO;
        }
        // Others have all cores, or this one is not done: its rate is a byte a cycle.
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (total > taken) since = now;
        else if (now.tv_sec - since.tv_sec > near_platform()->patience_s) return -EBUSY;
        pause = total > taken ? 0 : pause ? 2 * pause : LEAST_PAUSE_NS;
        if (pause > MOST_PAUSE_NS) pause = MOST_PAUSE_NS;
        if (pause) nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
        taken = total;
    }
}

static int sha256_scan(struct near_file* f, const struct near_job* job, const struct near_options* o, char* note,
                       char* why) {
    struct hash* h = job->context;
    if (f->device && f->size) {  // it may have become empty since it was opened
        int status = sha256_on_drive(h, f);
        if (!status) return 0;
        if (status == -EBUSY)
            snprintf(note, NEAR_WHY, "the drive has had no core for it for %d s", near_platform()->patience_s);
        else if (status == -EPROTO) snprintf(note, NEAR_WHY, "what the drive says makes no sense");
        else near_status_text(status, note);
        snprintf(why, NEAR_WHY, "%s", note);
        if (o->drive) return -ECANCELED;
    }
    return sha256_on_cpu(h, f);
}

// ---- CRC-32C: in parts, and each part's is joined to those before it

static uint32_t soft(void* context, const uint8_t* data, uint32_t bytes, uint32_t phase, uint8_t* result) {
    (void)context, (void)phase;
    memset(result, 0, RESULT_BYTES);
    near_put(result, 8, bytes);
    result[8] = HAS_DIGEST;
    near_put(result + 32, CRC_BYTES, crc32c(data, bytes));
    return RESULT_BYTES;
}

static int take(void* context, const struct near_part* part, const uint8_t* result, uint32_t bytes) {
    struct hash* h = context;
    if (bytes != RESULT_BYTES || near_get(result, 8) != part->bytes || !(result[8] & HAS_DIGEST)) return -EPROTO;
    h->crc = crc32c_join(h->crc, (uint32_t)near_get(result + 32, CRC_BYTES), part->bytes);
    return 0;
}

// ---- a file

static void begin(void* context, const struct near_file* f) {
    struct hash* h = context;
    (void)f;
    h->crc = 0;  // of nothing
}

// As sha256sum writes it: a name that would break the line is escaped, and the line says so.
static int end(void* context, const struct near_file* f) {
    const struct hash* h = context;
    if (strpbrk(f->path, "\\\n\r")) putchar('\\');
    if (h->crc32c) printf("%08" PRIx32, h->crc);
    for (int i = 0; i < SHA256_BYTES && !h->crc32c; i++) printf("%02x", h->digest[i]);
    printf("  ");
    for (const char* c = f->path; *c; c++) {
        if (*c == '\\') printf("\\\\");
        else if (*c == '\n') printf("\\n");
        else if (*c == '\r') printf("\\r");
        else putchar(*c);
    }
    putchar('\n');
    return 0;
}

// ---- options

static int bad(const char* text, const char* what) { return near_bad("dbhash", text, what); }

// -1: go on; else the exit status.
static int options(struct hash* h, int argc, char** argv) {
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":a:j:", OPTIONS, NULL)) != -1) switch (c) {
            case 'a':
                h->crc32c = !strcmp(optarg, "crc32c");
                if (!h->crc32c && strcmp(optarg, "sha256"))
                    return bad("the algorithm is sha256 or crc32c, not ", optarg);
                break;
            case 'j':
                if (!near_number(optarg, 1, 64, &h->options.jobs))
                    return bad("-j takes a number from 1 to 64, not ", optarg);
                break;
            case OPT_CPU: h->options.cpu = true; break;
            case OPT_DRIVE: h->options.drive = true; break;
            case OPT_HELP: fputs(HELP, stdout); return fflush(stdout) ? 2 : 0;
            case ':': return bad("something is missing behind ", argv[argc - 1]);
            default:
                return bad("there is no such option: ", optopt ? (char[]){'-', (char)optopt, 0} : argv[optind - 1]);
        }
    if (h->options.cpu && h->options.drive) return bad("--cpu and --drive exclude each other", "");
    if (optind == argc) return bad("a file is missing", "");
    return -1;
}

int main(int argc, char** argv) {
    struct hash h = {.options = {.tool = "dbhash", .jobs = 4}};
    int status = options(&h, argc, argv);
    if (status >= 0) return status;
    const uint8_t program[16] = {4, 0, 0, 0, h.crc32c};
    struct near_job job = {
        .program = program,
        .program_bytes = sizeof program,
        .result_room = RESULT_BYTES,
        .scan = h.crc32c ? NULL : sha256_scan,
        .whole = !h.crc32c,
        .soft = soft,
        .take = take,
        .begin = begin,
        .end = end,
        .context = &h,
    };
    status = 0;
    for (int i = optind; i < argc; i++)
        if (near_run(argv[i], &job, &h.options)) status = 2;
    return near_finish("dbhash", status);
}
