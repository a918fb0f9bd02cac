// SPDX-License-Identifier: Apache-2.0
// dbcrypt: files decrypted or encrypted by the drive, with a key that is in it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aes.h"
#include "near.h"

enum { OPT_CPU = 256, OPT_DRIVE, OPT_HELP, OPT_KEY, OPT_MODE, OPT_SLOT, OPT_TO, OPT_UNIT };
enum { STEP_BYTES = NEAR_TARGET_BYTES, MOST_KEY = 64, MOST_SLOT = 63, PROGRAM_BYTES = 16, CRYPT = 5 };

static const char HELP[] =
    "Usage: dbcrypt (-d | -e) [--slot N] [--key FILE] [OPTION]... FILE...\n"
    "       dbcrypt (-d | -e) [--slot N] [--key FILE] [OPTION]... --to TARGET FILE\n"
    "Write files or block devices, decrypted or encrypted with AES, to standard output, or to the beginning of TARGET. The\n"
    "drive does it, if it has near-storage commands and the key; else the CPU, if it has the key.\n"
    "\n"
    "  -d, --decrypt    one of these two\n"
    "  -e, --encrypt\n"
    "      --mode=MODE  xts, or ctr; xts, if not said\n"
    "      --slot=N     the drive's key slot, 1 to 63, into which somebody loaded the key\n"
    "      --key=FILE   the key for the CPU: of xts both keys, of 16 or 32 bytes each; of ctr the key and 16 bytes IV\n"
    "      --to=TARGET  a block device that is not mounted, or a file that is there already; at least as large as FILE.\n"
    "                   If it lies on FILE's drive, the drive writes it\n"
    "      --unit=BYTES of xts: a data unit, 512 or 4096; the first of a file has number 0. 512, if not said\n"
    "      --cpu        do not ask the drive\n"
    "      --drive      only the drive: what it cannot do is an error, as it is without --key\n"
    "      --help       this text\n"
    "Exit status: 0, or 2 after an error.\n"
    "\n"
    "Example: dbcrypt -d --slot 3 archive.xts >archive\n"
    "Example: dbcrypt -e --slot 3 --to /dev/nvme0n1p2 /dev/nvme0n1p1\n";

static const struct option OPTIONS[] = {
    {"decrypt", no_argument, NULL, 'd'},
    {"encrypt", no_argument, NULL, 'e'},
    {"mode", required_argument, NULL, OPT_MODE},
    {"slot", required_argument, NULL, OPT_SLOT},
    {"key", required_argument, NULL, OPT_KEY},
    {"unit", required_argument, NULL, OPT_UNIT},
    {"cpu", no_argument, NULL, OPT_CPU},
    {"drive", no_argument, NULL, OPT_DRIVE},
    {"to", required_argument, NULL, OPT_TO},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

struct crypt {
    struct near_options options;
    bool encrypt, decrypt, ctr;
    int slot;
    uint32_t unit;
    const char *key_path, *to_path;
    struct near_target* to;  // or NULL
    struct aes data_key, tweak_key;
    uint8_t iv[AES_BLOCK];
};

// ---- a part of a file: decrypted or encrypted

struct run {
    const struct crypt* c;
    struct near_file* file;
    struct near_target* to;  // or NULL: standard output
    bool drive;              // it does it, as long as it goes
    bool known;              // what is loaded: not yet, of a file before this one perhaps
    uint64_t loaded;         // what is added to the number of a block now
    uint8_t* data;
    char *note, *why;  // as near_scan
};

static int on_cpu(const struct run* r, const struct near_part* p) {
    const struct crypt* c = r->c;
    int e = near_read(r->file, p->offset, r->data, p->bytes);
    if (e) return e;
    if (c->ctr) aes_ctr(&c->data_key, c->iv, p->offset / AES_BLOCK, r->data, p->bytes);
    else aes_xts(&c->data_key, &c->tweak_key, c->encrypt, p->offset / c->unit, c->unit, r->data, p->bytes);
    return 0;
}

static void make_program(const struct crypt* c, uint64_t offset, uint8_t* program) {
    memset(program, 0, PROGRAM_BYTES);
    program[0] = CRYPT;
    program[4] = c->ctr;
    program[5] = c->encrypt;
    program[6] = (uint8_t)c->slot;
    near_put(program + 8, 8, offset);
}

// store: the place of the target that the drive writes, or NULL. 0, an NVMe status, or -errno.
static int on_drive(struct run* r, const struct near_part* p, const uint64_t* store) {
    struct near_device* d = r->file->device;
    uint64_t offset = p->offset / d->block_bytes - p->place / d->block_bytes;
    uint8_t program[PROGRAM_BYTES];
    uint32_t bytes;
    int status = 0;
    if (!r->known || offset != r->loaded) {
        make_program(r->c, offset, program);
        status = near_exchange(d, program, sizeof program);
        r->loaded = offset;
        r->known = true;
    }
    uint32_t room = (p->bytes + d->block_bytes - 1) / d->block_bytes * d->block_bytes;
    if (!status)
        status =
            store ? near_store(d, p, 0, room, r->to, *store, &bytes) : near_command(d, p, 0, r->data, room, &bytes);
    return status ? status : bytes == p->bytes ? 0 : -EPROTO;
}

// ---- a file

static int write_out(const struct run* r, const struct near_part* p) {
    if (r->to) {
        int e = near_target_write(r->to, p, r->data);
        if (e) snprintf(r->why, NEAR_WHY, "not to %.60s: %.60s", r->to->file.path, strerror(-e));
        return e ? -ECANCELED : 0;
    }
    errno = EIO;
    return fwrite(r->data, 1, p->bytes, stdout) == p->bytes ? 0 : -errno;
}

// It may become shorter: what the drive can store at once.
static int part(struct run* r, struct near_part* p) {
    uint64_t to;
    bool theirs = r->drive && p->on_drive, stores = theirs && r->to && near_target_piece(r->to, p, &to);
    int status = theirs ? on_drive(r, p, stores ? &to : NULL) : 0;
    if (status == -EPROTO) snprintf(r->note, NEAR_WHY, "what the drive says makes no sense");
    else if (status) near_status_text(status, r->note);
    if (status) r->drive = false;
    if (theirs && !status) return stores ? 0 : write_out(r, p);
    if (!r->c->options.drive) {
        int e = on_cpu(r, p);
        return e ? e : write_out(r, p);
    }
    snprintf(r->why, NEAR_WHY, "%s", status ? r->note : "a part of it lies on no drive: a hole, or never written");
    return -ECANCELED;
}

static int parts(struct run* r, uint32_t step) {
    const struct near_file* f = r->file;
    for (const struct near_extent* x = f->extents; x < f->extents + f->count; x++) {
        for (uint64_t at = 0; at < x->bytes;) {
            uint64_t left = x->bytes - at;
            struct near_part p = {x->offset + at, x->place + at, left < step ? (uint32_t)left : step, x->on_drive};
            if (r->to && !near_target_held(r->to)) {
                snprintf(r->why, NEAR_WHY, "not to the end of %.60s: somebody opens it", r->to->file.path);
                return -ECANCELED;
            }
            int e = part(r, &p);
            if (e) return e;
            at += p.bytes;
        }
    }
    return 0;
}

// 0; -ECANCELED with a reason: nobody can write the target.
static int aim(struct run* r) {
    char why[NEAR_WHY], text[NEAR_WHY + 32];
    enum near_aim by = near_target_aim(r->to, r->file, why);
    const bool only = r->c->options.drive && *why;
    if (by == NEAR_AIM_DRIVE) return 0;
    r->drive = false;
    snprintf(text, sizeof text, "%s: %s", only ? "not by the drive" : "on the CPU", why);
    snprintf(r->why, NEAR_WHY, "%.*s", NEAR_WHY - 1, by == NEAR_AIM_NONE ? why : text);
    if (by == NEAR_AIM_NONE || only) return -ECANCELED;
    if (*why) near_say(&r->c->options, r->file->path, r->why);
    return 0;
}

static int scan(struct near_file* f, const struct near_job* job, const struct near_options* o, char* note, char* why) {
    const struct crypt* c = job->context;
    uint32_t step = STEP_BYTES;
    if (!c->ctr && f->size % c->unit) {
        snprintf(why, NEAR_WHY, "its size is no multiple of a data unit of xts");
        return -ECANCELED;
    }
    if (f->device && !c->ctr && f->device->block_bytes != c->unit) {
        snprintf(note, NEAR_WHY, "a block of the drive is no data unit");
        snprintf(why, NEAR_WHY, "%s", note);
        if (o->drive) return -ECANCELED;
        near_on_cpu(f);  // in one: its extents need not be whole data units
    }
    struct run r = {.c = c, .file = f, .to = c->to, .drive = f->device, .note = note, .why = why};
    if (f->device) {
        const struct near_device* d = f->device;
        if (d->most_transfer && d->most_transfer < step) step = d->most_transfer;
        if (d->most_bytes < step) step = d->most_bytes;
        step -= step % d->block_bytes;
    }
    int e = r.to ? aim(&r) : 0;
    if (e) return e;
    uint8_t* own = r.to && r.to->memory ? NULL : aligned_alloc(NEAR_PAGE, STEP_BYTES);
    r.data = own ? own : r.to ? r.to->memory : NULL;
    e = r.data ? parts(&r, step) : -ENOMEM;
    free(own);
    return e;
}

static void begin(void* context, const struct near_file* f) { (void)context, (void)f; }

static int end(void* context, const struct near_file* f) {
    (void)context, (void)f;
    return 0;
}

// ---- options

static int bad(const char* text, const char* what) { return near_bad("dbcrypt", text, what); }

// All that there is, at most `room` bytes; a pipe may bring a key in pieces. How many, or -1.
static ssize_t read_all(const char* path, uint8_t* to, size_t room) {
    size_t got = 0;
    ssize_t n = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    while (got < room && n) {
        n = read(fd, to + got, room - got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) break;
        got += (size_t)n;
    }
    close(fd);
    return n < 0 ? -1 : (ssize_t)got;
}

// -1: it is there; else the exit status.
static int read_key(struct crypt* c) {
    uint8_t key[MOST_KEY + 1];
    ssize_t n = read_all(c->key_path, key, sizeof key);
    if (n < 0) return bad("cannot read the key: ", c->key_path);
    size_t one = c->ctr ? (size_t)n - AES_BLOCK : (size_t)n / 2;
    bool right = (one == 16 || one == 32) && (size_t)n == (c->ctr ? one + AES_BLOCK : 2 * one);
    if (right) {
        aes_begin(&c->data_key, key, one);
        if (c->ctr) memcpy(c->iv, key + one, AES_BLOCK);
        else aes_begin(&c->tweak_key, key + one, one);
    }
    explicit_bzero(key, sizeof key);
    if (!right)
        return bad(c->ctr ? "a key for ctr has 32 or 48 bytes: " : "a key for xts has 32 or 64 bytes: ", c->key_path);
    return -1;
}

// -1: go on; else the exit status.
static int options(struct crypt* c, int argc, char** argv) {
    int o, unit = 512;
    opterr = 0;
    while ((o = getopt_long(argc, argv, ":de", OPTIONS, NULL)) != -1) switch (o) {
            case 'd': c->decrypt = true; break;
            case 'e': c->encrypt = true; break;
            case OPT_MODE:
                c->ctr = !strcmp(optarg, "ctr");
                if (!c->ctr && strcmp(optarg, "xts")) return bad("the mode is xts or ctr, not ", optarg);
                break;
            case OPT_SLOT:
                if (!near_number(optarg, 1, MOST_SLOT, &c->slot))
                    return bad("--slot takes a number from 1 to 63, not ", optarg);
                break;
            case OPT_KEY: c->key_path = optarg; break;
            case OPT_TO: c->to_path = optarg; break;
            case OPT_UNIT:
                if (!near_number(optarg, 512, 4096, &unit) || (unit != 512 && unit != 4096))
                    return bad("--unit takes 512 or 4096, not ", optarg);
                break;
            case OPT_CPU: c->options.cpu = true; break;
            case OPT_DRIVE: c->options.drive = true; break;
            case OPT_HELP: fputs(HELP, stdout); return fflush(stdout) ? 2 : 0;
            case ':': return bad("something is missing behind ", argv[argc - 1]);
            default:
                return bad("there is no such option: ", optopt ? (char[]){'-', (char)optopt, 0} : argv[optind - 1]);
        }
    c->unit = (uint32_t)unit;
    if (c->options.cpu && c->options.drive) return bad("--cpu and --drive exclude each other", "");
    if (c->encrypt == c->decrypt) return bad("one of -d and -e is needed", "");
    if (!c->slot && !c->key_path) return bad("--slot, --key or both are needed", "");
    if (c->options.drive && !c->slot) return bad("--drive needs --slot", "");
    if (c->options.cpu && !c->key_path) return bad("--cpu needs --key", "");
    if (optind == argc) return bad("a file is missing", "");
    if (c->to_path && argc - optind > 1) return bad("--to takes one file, not also ", argv[optind + 1]);
    if (!c->key_path) c->options.drive = true;  // nobody else has the key
    if (!c->slot) c->options.cpu = true;
    return c->key_path ? read_key(c) : -1;
}

int main(int argc, char** argv) {
    struct crypt c = {.options = {.tool = "dbcrypt", .jobs = 1}};
    int status = options(&c, argc, argv);
    if (status >= 0) return status;
    uint8_t program[PROGRAM_BYTES];
    make_program(&c, 0, program);
    struct near_job job = {
        .program = program,
        .program_bytes = sizeof program,
        .scan = scan,
        .begin = begin,
        .end = end,
        .context = &c,
    };
    struct near_target target;
    if (c.to_path && near_target_open(&target, c.to_path, &c.options)) return 2;
    if (c.to_path) c.to = &target;
    status = 0;
    for (int i = optind; i < argc; i++)
        if (near_run(argv[i], &job, &c.options)) status = 2;
    if (c.to) status = near_target_close(&target, status, &c.options);
    return near_finish("dbcrypt", status);
}
