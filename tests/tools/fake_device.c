// SPDX-License-Identifier: Apache-2.0
// A platform without a drive: near-storage commands of an image file, as docs/csd/near-storage.md has them, byte by
// byte. A file's extents stand in FILE.map ("offset place bytes flags" a line); without it, it lies at the image's
// beginning.
//
// DBNEAR_IMAGE     the image; without it there is no drive
// DBNEAR_LBA       bytes of a block (512)
// DBNEAR_START     where the partition begins (0)
// DBNEAR_MDTS      of Identify (8)
// DBNEAR_MOST      most bytes of a command, or of a step on the CPU
// DBNEAR_TRANSFER  most bytes that the kernel moves with a command
// DBNEAR_LOCKS     folder of lock files
// DBNEAR_LOG       file that gets a line for each command
// DBNEAR_NONE      1: no near-storage commands
// DBNEAR_NOSTORE   1: none that store
// DBNEAR_BLIND     1: what the drive writes to memory does not get there, as with an IOMMU that lets it only read
// DBNEAR_APART     name of a file that lies on another drive
// DBNEAR_BESIDE    name of a file that lies on namespace 2 of the drive, whose image is DBNEAR_IMAGE2
// DBNEAR_LBA2      bytes of a block of that (512)
// DBNEAR_OWN       1: a command that stores does so in its own namespace alone
// DBNEAR_FAIL      "N:S": command N ends with status S; N -1: all do
// DBNEAR_TOUCH     file whose times the first command changes
// DBNEAR_EMPTY     file that somebody empties while it is asked where it lies
// DBNEAR_MOVE      file whose extents are those of FILE.next when the first command comes
// DBNEAR_OPEN      file that somebody tries to open when the third command comes
// DBNEAR_SLOW      milliseconds of a command
// DBNEAR_LIE       1: results make no sense
// DBNEAR_TAKE      bytes of a message that a command of Hash takes at most; 0: none, and tools wait a second
// DBNEAR_KEY       file of the key in slot 3, K1 and K2 or K1 and IV of 32, 32 and 16 bytes; without it there is none
// DBNEAR_REFUSE    N: each Nth command of Hash takes none; the digest is there with the Nth question
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fake_operators.h"
#include "near.h"

enum { INVALID_FIELD = 0x4002, INVALID_OPCODE = 0x4001, INVALID_NS = 0x400b, LBA_RANGE = 0x4080, WRITE_FAULT = 0x280 };

static uint8_t programs[NEAR_PROGRAMS][NEAR_PROGRAM_BYTES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int commands;

uint64_t setting(const char* name, uint64_t otherwise) {
    const char* text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

static void note(const char* text) {
    const char* path = getenv("DBNEAR_LOG");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (fd < 0) return;
    if (write(fd, text, strlen(text)) < 0) abort();
    close(fd);
}

// ---- commands

// What is common to 82h and 83h in the fields.
static bool legal_fields(const struct nvme_passthru_cmd* c, uint32_t bytes) {
    const uint32_t length = c->cdw13, room = c->cdw14;
    const bool stores = c->opcode == NEAR_STORE_OPC;
    const uint32_t reserved = stores && !setting("DBNEAR_OWN", 0) ? 0xfc : 0xfffc;
    if ((c->opcode != NEAR_OPC && !stores) || (stores && setting("DBNEAR_NOSTORE", 0))) return false;
    if (c->nsid != 1 || c->addr % 4096 || c->data_len != room) return false;
    if (!length || length > bytes || room % (stores ? 512 : 64) || room < 64 || room > bytes) return false;
    return !(c->cdw15 & reserved) && programs[c->cdw15 & 3][0] && bytes <= 4096u << setting("DBNEAR_MDTS", 8) &&
           room <= setting("DBNEAR_TRANSFER", 1 << 20);
}

static uint64_t store_of(const struct nvme_passthru_cmd* c) { return c->cdw2 | (uint64_t)c->cdw3 << 32; }

// The second part of 83h: a Write of the buffer, whatever is there.
static int store(const struct nvme_passthru_cmd* c) {
    const uint32_t nsid = c->cdw15 >> 8 & 0xff, lba = (uint32_t)setting(nsid == 2 ? "DBNEAR_LBA2" : "DBNEAR_LBA", 512);
    const char* image = getenv(nsid == 2 ? "DBNEAR_IMAGE2" : "DBNEAR_IMAGE");
    struct stat st;
    if (nsid > 2 || !image) return INVALID_NS;
    if (c->cdw14 % lba) return INVALID_FIELD;
    int fd = open(image, O_WRONLY | O_CLOEXEC), status = 0;
    if (fd < 0 || fstat(fd, &st)) abort();
    if (store_of(c) + c->cdw14 / lba > (uint64_t)st.st_size / lba) status = LBA_RANGE;
    else if (pwrite(fd, (const void*)(uintptr_t)c->addr, c->cdw14, (off_t)(store_of(c) * lba)) != (ssize_t)c->cdw14)
        status = WRITE_FAULT;
    close(fd);
    return status;
}

static void meanwhile(int number) {
    const char *touched = getenv("DBNEAR_TOUCH"), *opened = getenv("DBNEAR_OPEN"), *moved = getenv("DBNEAR_MOVE");
    char now[4096 + 8], next[4096 + 8];
    if (moved && number == 0) {
        snprintf(now, sizeof now, "%s.map", moved);
        snprintf(next, sizeof next, "%s.next", moved);
        if (rename(next, now)) abort();
    }
    if (touched && number == 0) utimensat(AT_FDCWD, touched, NULL, 0);
    // It does not get it, but the lease is asked back.
    if (opened && number == 2 && open(opened, O_RDONLY | O_NONBLOCK) >= 0) abort();
}

static int admin(struct near_device* d, struct nvme_passthru_cmd* c) {
    char text[80];
    (void)d;
    if (c->opcode != 0xd5 || setting("DBNEAR_NONE", 0)) return INVALID_OPCODE;
    snprintf(text, sizeof text, "load %u %u\n", c->cdw10, c->cdw11);
    note(text);
    if (c->cdw10 >= NEAR_PROGRAMS || c->cdw11 > NEAR_PROGRAM_BYTES || c->data_len != c->cdw11) return INVALID_FIELD;
    uint8_t* p = programs[c->cdw10];
    memset(p, 0, NEAR_PROGRAM_BYTES);
    forget_messages(c->cdw10);
    if (!c->cdw11) return 0;
    memcpy(p, (const void*)(uintptr_t)c->addr, c->cdw11);
    if (legal_program(p, c->cdw11)) return 0;
    p[0] = 0;
    return INVALID_FIELD;
}

static int failure(int number) {
    const char* fail = getenv("DBNEAR_FAIL");
    char* rest;
    if (!fail) return 0;
    long n = strtol(fail, &rest, 0);
    return n < 0 || n == number ? (int)strtol(rest + 1, NULL, 0) : 0;
}

static int io(struct near_device* d, struct nvme_passthru_cmd* c) {
    char text[160];
    const uint32_t lba = (uint32_t)setting("DBNEAR_LBA", 512);
    const uint64_t slba = c->cdw10 | (uint64_t)c->cdw11 << 32;
    const uint32_t bytes = ((c->cdw12 & 0xffff) + 1) * lba, length = c->cdw13, room = c->cdw14;
    c->result = 0;
    pthread_mutex_lock(&lock);
    int number = commands++;
    pthread_mutex_unlock(&lock);
    meanwhile(number);
    uint64_t slow = setting("DBNEAR_SLOW", 0) * 1000000;
    struct timespec t = {(time_t)(slow / 1000000000), (long)(slow % 1000000000)};
    while (slow && nanosleep(&t, &t) && errno == EINTR) continue;
    int status = failure(number);
    if (status) return status;
    const uint8_t* p = programs[c->cdw15 & 3];
    if (!legal_fields(c, bytes)) return INVALID_FIELD;
    if ((p[0] == 2 || p[0] == 3) && c->cdw15 >> 16 >= (p[8] | (uint32_t)p[9] << 8)) return INVALID_FIELD;
    uint8_t* data = malloc(bytes);
    struct result r = {malloc(bytes + 1024), 0};
    if (!data || !r.bytes) abort();
    status = pread(d->fd, data, bytes, (off_t)(slba * lba)) == (ssize_t)bytes ? 0 : LBA_RANGE;
    if (!status) {
        status = run_program(p, c->cdw15 & 3, &(struct input){data, length, slba, lba, c->cdw15 >> 16}, &r);
        if (setting("DBNEAR_LIE", 0)) memset(r.bytes, 0xa5, r.count);
        uint8_t* to = (uint8_t*)(uintptr_t)c->addr;
        if (!setting("DBNEAR_BLIND", 0)) {
            memset(to, 0, room);
            memcpy(to, r.bytes, r.count < room ? r.count : room);
        }
        c->result = r.count;
        if (!status && r.count > room) status = 0x1c0;
        if (!status && c->opcode == NEAR_STORE_OPC) status = store(c);
    }
    snprintf(text, sizeof text, "%s %llu %u %u %u %u %x", c->opcode == NEAR_OPC ? "near" : "store",
             (unsigned long long)slba, (c->cdw12 & 0xffff) + 1, length, room, r.count, (unsigned)status);
    if (c->opcode == NEAR_STORE_OPC) snprintf(text + strlen(text), 32, " %llu", (unsigned long long)store_of(c));
    strcat(text, "\n");
    note(text);
    free(data);
    free(r.bytes);
    return status;
}

static int identify(struct near_device* d, uint32_t nsid, uint8_t cns, void* page) {
    uint8_t* to = page;
    struct stat st;
    memset(page, 0, 4096);
    if (cns == 1) {
        to[77] = (uint8_t)setting("DBNEAR_MDTS", 8);
        return 0;
    }
    if (cns != 0 || nsid != d->nsid || fstat(d->fd, &st)) return INVALID_FIELD;
    uint64_t lba = setting(nsid == 2 ? "DBNEAR_LBA2" : "DBNEAR_LBA", 512), blocks = (uint64_t)st.st_size / lba;
    for (int i = 0; i < 8; i++) to[i] = (uint8_t)(blocks >> 8 * i);
    to[26] = 1;  // the second format
    to[128 + 4 + 2] = lba == 512 ? 9 : 12;
    return 0;
}

static int log_page(struct near_device* d, uint8_t log, void* data, uint32_t bytes) {
    (void)d;
    memset(data, 0, bytes);
    if (log != 5 || bytes != 4096) return INVALID_FIELD;
    if (setting("DBNEAR_NONE", 0)) return 0;
    ((uint8_t*)data)[4 * 0xd5] = 1;
    ((uint8_t*)data)[1024 + 4 * 0x82] = 1;
    ((uint8_t*)data)[1024 + 4 * 0x83] = !setting("DBNEAR_NOSTORE", 0);
    return 0;
}

// ---- the platform

static const struct near_device_ops OPS = {identify, log_page, admin, io};

// The name of an open file, with `more` behind it.
static int path_of(int fd, char path[4096 + 8], const char* more) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, 4096);
    if (n < 0) return -errno;
    strcpy(path + n, more);
    return 0;
}

static int find(int fd, const struct stat* st, struct near_place* place, char* why) {
    char path[4096 + 8];
    const char* emptied = getenv("DBNEAR_EMPTY");
    if (emptied && truncate(emptied, 0)) abort();
    const char *apart = getenv("DBNEAR_APART"), *beside = getenv("DBNEAR_BESIDE"), *name = NULL;
    (void)st;
    if (!getenv("DBNEAR_IMAGE")) {
        snprintf(why, NEAR_WHY, "there is no drive");
        return -1;
    }
    *place = (struct near_place){"fake0n1", "fake0", setting("DBNEAR_START", 0)};
    if (!path_of(fd, path, "")) name = strrchr(path, '/') + 1;
    if (beside && name && !strcmp(name, beside)) strcpy(place->disk, "fake0n2");
    if (apart && name && !strcmp(name, apart)) {
        strcpy(place->disk, "fake1n1");
        strcpy(place->controller, "fake1");
    }
    return 0;
}

static int open_device(struct near_device* d, char* why) {
    (void)why;
    d->nsid = strcmp(d->name, "fake0n2") ? 1 : 2;
    d->fd = open(getenv(d->nsid == 2 ? "DBNEAR_IMAGE2" : "DBNEAR_IMAGE"), O_RDWR | O_CLOEXEC);
    d->most_transfer = (uint32_t)setting("DBNEAR_TRANSFER", 1 << 20);
    d->ops = &OPS;
    return 0;
}

static int fiemap(int fd, struct fiemap* map) {
    char path[4096 + 8], line[128];
    int e = path_of(fd, path, ".map");
    if (e) return e;
    FILE* f = fopen(path, "re");
    map->fm_mapped_extents = 0;
    if (!f) {
        struct stat st;
        if (fstat(fd, &st)) return -errno;
        map->fm_mapped_extents = 1;
        map->fm_extents[0] =
            (struct fiemap_extent){.fe_length = (uint64_t)(st.st_size + 4095) / 4096 * 4096, .fe_flags = 1};
        return 0;
    }
    while (map->fm_mapped_extents < map->fm_extent_count && fgets(line, sizeof line, f)) {
        unsigned long long at, place, bytes;
        unsigned flags;
        if (sscanf(line, "%llu %llu %llu %x", &at, &place, &bytes, &flags) != 4) abort();
        if (at < map->fm_start) continue;
        map->fm_extents[map->fm_mapped_extents++] =
            (struct fiemap_extent){.fe_logical = at, .fe_physical = place, .fe_length = bytes, .fe_flags = flags};
    }
    fclose(f);
    return 0;
}

const struct near_platform* near_platform(void) {
    static struct near_platform fake = {.patience_s = 1, .find = find, .open = open_device, .fiemap = fiemap};
    fake.lock_folder = getenv("DBNEAR_LOCKS") ? getenv("DBNEAR_LOCKS") : "/tmp";
    fake.most_bytes = (uint32_t)setting("DBNEAR_MOST", 0);
    return &fake;
}
