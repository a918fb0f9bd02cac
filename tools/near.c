// SPDX-License-Identifier: Apache-2.0
// Drives: what they can do, and programs: loaded into a number that no other tool uses, forgotten in the end.
#define _GNU_SOURCE
#include "near.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// All drives that were asked for. Global, because a signal's handler has to find the programs.
static struct near_device* devices;
static volatile sig_atomic_t ending;

static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
enum { NUM_SIGNALS = sizeof SIGNALS / sizeof *SIGNALS };

bool near_ending(void) { return ending; }

void near_status_text(int status, char* why) {
    if (status < 0) snprintf(why, NEAR_WHY, "the kernel refused a command: %s", strerror(-status));
    else
        snprintf(why, NEAR_WHY, "the drive ended a command with status type %xh, code %02Xh", status >> 8 & 7,
                 (unsigned)status & 0xff);
}

// ---- what a drive can do

static int ask(struct near_device* d) {
    static _Alignas(NEAR_PAGE) uint8_t page[NEAR_PAGE];
    int status = d->ops->identify(d, 0, 1, page);
    if (status == -EACCES || status == -EPERM) {
        snprintf(d->why, NEAR_WHY, "only root may send commands to %s", d->name);
        return -1;
    }
    if (status) goto refused;
    uint32_t most = NEAR_MOST_BYTES;
    unsigned mdts = page[77];
    if (mdts && mdts < 8) most = (uint32_t)NEAR_PAGE << mdts;
    if ((status = d->ops->identify(d, d->nsid, 0, page))) goto refused;
    d->blocks = near_get(page, 8);
    unsigned format = (page[26] & 15) | (page[26] >> 5 & 3) << 4;
    unsigned log2 = page[128 + 4 * format + 2];
    if (log2 < 9 || log2 > 16) {
        snprintf(d->why, NEAR_WHY, "%s has blocks of 2^%u bytes", d->name, log2);
        return -1;
    }
    d->block_bytes = 1u << log2;
    // Commands Supported and Effects: 256 words of admin commands, then 256 of I/O commands; bit 0: supported.
    status = d->ops->log_page(d, 5, page, NEAR_PAGE);
    if (status < 0) goto refused;
    if (status || !(page[4 * NEAR_ADMIN_OPC_LOAD] & 1) || !(page[1024 + 4 * NEAR_OPC] & 1)) {
        snprintf(d->why, NEAR_WHY, "the drive has no near-storage commands");
        return -1;
    }
    d->stores = page[1024 + 4 * NEAR_STORE_OPC] & 1;
    // A result is at most a quarter of the data and a little more (near_job.large: of fewer data): so it fits what the
    // kernel moves with one command.
    if (d->most_transfer && most > 4 * (d->most_transfer - 128)) most = 4 * (d->most_transfer - 128);
    uint32_t own = near_platform()->most_bytes;
    if (own && most > own) most = own;
    most -= most % d->block_bytes;
    d->most_bytes = most ? most : d->block_bytes;
    return 0;
refused:
    near_status_text(status, d->why);
    return -1;
}

struct near_device* near_device(const struct near_place* place) {
    for (struct near_device* d = devices; d; d = d->next)
        if (!strcmp(d->name, place->disk)) return d;
    struct near_device* d = calloc(1, sizeof *d);
    if (!d) abort();
    snprintf(d->name, sizeof d->name, "%s", place->disk);
    snprintf(d->controller, sizeof d->controller, "%s", place->controller);
    d->program = d->lock = d->fd = -1;
    if (!near_platform()->open(d, d->why)) ask(d);
    d->next = devices;
    devices = d;
    return d;
}

// ---- programs

static int load(struct near_device* d, const void* program, uint32_t bytes) {
    struct nvme_passthru_cmd c = {
        .opcode = NEAR_ADMIN_OPC_LOAD,
        .addr = (uint64_t)(uintptr_t)program,
        .data_len = bytes,
        .cdw10 = (uint32_t)d->program,
        .cdw11 = bytes,
        .timeout_ms = NEAR_TIMEOUT_MS,
    };
    return d->ops->admin(d, &c);
}

static void forget_all(void) {
    for (struct near_device* d = devices; d; d = d->next)
        if (d->program >= 0) {
            load(d, NULL, 0);
            d->program = -1;
        }
}

static void on_signal(int number) {
    ending = 1;
    forget_all();
    signal(number, SIG_DFL);
    raise(number);
}

static void set_signals(sigset_t* set) {
    sigemptyset(set);
    for (int i = 0; i < NUM_SIGNALS; i++) sigaddset(set, SIGNALS[i]);
}

static void watch_signals(void) {
    static bool done;
    if (done) return;
    done = true;
    atexit(forget_all);
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_NODEFER}, old;
    set_signals(&a.sa_mask);
    for (int i = 0; i < NUM_SIGNALS; i++) {
        sigdelset(&a.sa_mask, SIGNALS[i]);
        if (!sigaction(SIGNALS[i], NULL, &old) && old.sa_handler == SIG_DFL) sigaction(SIGNALS[i], &a, NULL);
        sigaddset(&a.sa_mask, SIGNALS[i]);
    }
}

// A number from 0 to 3 whose lock file no other process holds. It is held until the process ends.
static int claim(struct near_device* d, char* why) {
    mkdir(near_platform()->lock_folder, 01777);  // a small system may have none
    for (int n = 0; n < NEAR_PROGRAMS; n++) {
        char path[256];
        snprintf(path, sizeof path, "%s/dbnear-%s-%d", near_platform()->lock_folder, d->controller, n);
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0) {
            snprintf(why, NEAR_WHY, "cannot make %.80s: %s", path, strerror(errno));
            return -1;
        }
        if (!flock(fd, LOCK_EX | LOCK_NB)) {
            d->lock = fd;
            return n;
        }
        close(fd);
    }
    snprintf(why, NEAR_WHY, "all %d programs of %s are in use", NEAR_PROGRAMS, d->controller);
    return -1;
}

int near_exchange(struct near_device* d, const uint8_t* program, uint32_t bytes) {
    static _Alignas(NEAR_PAGE) uint8_t page[NEAR_PROGRAM_BYTES];
    memcpy(page, program, bytes);
    return load(d, page, bytes);
}

int near_load(struct near_device* d, const uint8_t* program, uint32_t bytes, char* why) {
    if (d->program >= 0) return 0;
    watch_signals();
    sigset_t set, old;
    set_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    int status = -1;
    if ((d->program = claim(d, why)) >= 0) {
        status = near_exchange(d, program, bytes);
        if (status) {
            near_status_text(status, why);
            d->program = -1;
            close(d->lock);
        }
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return status ? -1 : 0;
}

// ---- a command

// Where a result is stored: which block of which namespace, 0: of its own.
struct store {
    uint64_t block;
    uint32_t nsid;
};

// store: NULL: it is not.
static int command(struct near_device* d, const struct near_part* p, uint32_t phase, uint8_t* result, uint32_t room,
                   const struct store* store, uint32_t* bytes) {
    uint64_t slba = p->place / d->block_bytes;
    struct nvme_passthru_cmd c = {
        .opcode = store ? NEAR_STORE_OPC : NEAR_OPC,
        .nsid = d->nsid,
        .cdw2 = store ? (uint32_t)store->block : 0,
        .cdw3 = store ? (uint32_t)(store->block >> 32) : 0,
        .addr = (uint64_t)(uintptr_t)result,
        .data_len = room,
        .cdw10 = (uint32_t)slba,
        .cdw11 = (uint32_t)(slba >> 32),
        .cdw12 = (p->bytes + d->block_bytes - 1) / d->block_bytes - 1,
        .cdw13 = p->bytes,
        .cdw14 = room,
        .cdw15 = (uint32_t)d->program | (store ? store->nsid << 8 : 0) | phase << 16,
        .timeout_ms = NEAR_TIMEOUT_MS,
    };
    int status = d->ops->io(d, &c);
    while (near_ending()) pause();
    *bytes = c.result;
    return status;
}

int near_command(struct near_device* d, const struct near_part* p, uint32_t phase, uint8_t* result, uint32_t room,
                 uint32_t* bytes) {
    return command(d, p, phase, result, room, NULL, bytes);
}

int near_store(struct near_device* d, const struct near_part* p, uint32_t phase, uint32_t room,
               const struct near_target* target, uint64_t to, uint32_t* bytes) {
    const struct near_device* of = target->file.device;
    const struct store store = {to / of->block_bytes, of == d ? 0 : of->nsid};
    return command(d, p, phase, target->memory, room, &store, bytes);
}
