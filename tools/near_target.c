// SPDX-License-Identifier: Apache-2.0
// Targets: blocks of a file or a block device that the drive writes itself, past the file system and the page cache.
// So nobody else may have the file, its blocks must stay where they are, and none of them may be in the cache.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "near.h"

enum { UNTOUCHED = 0xa5 };

int near_target_open(struct near_target* t, const char* path, const struct near_options* o) {
    *t = (struct near_target){0};
    int e = near_open_to(&t->file, path);
    if (!e) return 0;
    near_say(o, path,
             e == -EBUSY     ? "it is mounted, or in use otherwise"
             : e == -ENOTBLK ? "neither a file nor a block device"
                             : strerror(-e));
    near_close(&t->file);
    return 2;
}

// ---- whether the drive can

static bool same_file(const struct stat* a, const struct stat* b) {
    if (S_ISBLK(a->st_mode) && S_ISBLK(b->st_mode)) return a->st_rdev == b->st_rdev;
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool overlap(const struct near_file* a, const struct near_file* b) {
    for (const struct near_extent* x = a->extents; x < a->extents + a->count; x++)
        for (const struct near_extent* y = b->extents; y < b->extents + b->count; y++)
            if (x->on_drive && y->on_drive && x->place < y->place + y->bytes && y->place < x->place + x->bytes)
                return true;
    return false;
}

// What was written is on the drive, and nothing is in the page cache. 0 or -errno.
static int drop(const struct near_file* f) {
    if (fsync(f->fd)) return -errno;
    if (S_ISBLK(f->before.st_mode)) return ioctl(f->fd, BLKFLSBUF, 0) ? -errno : 0;
    return -posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
}

// Linux takes the command for a write, so it pins pages as they are and lets none become ours. Shared memory has no page
// that is another's or of zeros; locked and touched, each is there and stays.
static int make_memory(struct near_target* t, char* why) {
    void* memory = mmap(NULL, NEAR_TARGET_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mlock(memory, NEAR_TARGET_BYTES)) {
        snprintf(why, NEAR_WHY, "memory for the drive cannot be locked: %s", strerror(errno));
        if (memory != MAP_FAILED) munmap(memory, NEAR_TARGET_BYTES);
        return -1;
    }
    t->memory = memory;
    memset(memory, UNTOUCHED, NEAR_TARGET_BYTES);
    return 0;
}

// An IOMMU lets the drive only read what Linux takes for data of a write, and then the drive would store what was there
// before. So look at a result that is too large: nothing of it is stored, but its first bytes are in memory.
static int check_memory(struct near_target* t, struct near_device* d, const struct near_extent* source, char* why) {
    const uint32_t room = t->unit;
    const bool last = source->place + 2 * room > d->blocks * d->block_bytes;
    struct near_part p = {.place = source->place - (last ? room : 0), .bytes = 2 * room, .on_drive = true};
    uint32_t bytes, untouched = 0;
    int status = near_store(d, &p, 0, room, t, t->file.extents[0].place, &bytes);
    if ((status & NEAR_SC_MASK) != NEAR_SC_TOO_LARGE || status < 0) {
        if (status) near_status_text(status, why);
        else snprintf(why, NEAR_WHY, "what the drive says makes no sense");
        return -1;
    }
    while (untouched < room && t->memory[untouched] == UNTOUCHED) untouched++;
    if (untouched < room) return 0;
    snprintf(why, NEAR_WHY, "the drive cannot write to memory that it reads: an IOMMU, perhaps");
    return -1;
}

static const struct near_extent* first_on_drive(const struct near_file* f) {
    for (const struct near_extent* x = f->extents; x < f->extents + f->count; x++)
        if (x->on_drive) return x;
    return NULL;
}

// What is true of the target alone.
static int check_target(struct near_target* t, char* why) {
    struct near_file* f = &t->file;
    int e;
    if (!near_lies_whole(f, why)) return -1;
    if (S_ISREG(f->before.st_mode) && !near_leased(f)) {
        snprintf(why, NEAR_WHY, "somebody has it open");
        return -1;
    }
    if ((e = drop(f))) {
        snprintf(why, NEAR_WHY, "it does not leave the page cache: %s", strerror(-e));
        return -1;
    }
    return 0;
}

enum near_aim near_target_aim(struct near_target* t, const struct near_file* source, char* why) {
    struct near_file* f = &t->file;
    char own[NEAR_WHY] = "";
    *why = 0;
    if (same_file(&f->before, &source->before)) snprintf(own, sizeof own, "it is the source itself");
    else if (f->size < source->size) snprintf(own, sizeof own, "it is smaller than the source");
    if (*own) goto none;
    const struct near_extent* first = source->device ? first_on_drive(source) : NULL;
    if (!first) return NEAR_AIM_CPU;
    if (near_on_drive(f, own)) goto cpu;
    if (f->size < source->size) {
        snprintf(own, sizeof own, "it is smaller than the source now");
        goto none;
    }
    bool own_namespace = f->device == source->device;
    if (strcmp(f->device->controller, source->device->controller) ||
        (!own_namespace && f->device->nsid > NEAR_STORE_NSID)) {
        snprintf(own, sizeof own, "it does not lie on %s, as the source does", source->device->controller);
        goto cpu;
    }
    if (own_namespace && overlap(f, source)) {
        snprintf(own, sizeof own, "it has blocks of the source");
        goto none;
    }
    if (!source->device->stores) {
        snprintf(why, NEAR_WHY, "the drive has no near-storage commands that store");
        goto cpu;
    }
    t->unit = f->device->block_bytes;
    if (t->unit < source->device->block_bytes) t->unit = source->device->block_bytes;
    if (check_target(t, own) || make_memory(t, why) || check_memory(t, source->device, first, why)) goto cpu;
    t->drive = true;
    return NEAR_AIM_DRIVE;
cpu:
    near_on_cpu(f);
    if (f->lease) fcntl(f->fd, F_SETLEASE, F_UNLCK);
    f->lease = false;
    if (*own) snprintf(why, NEAR_WHY, "%.60s: %.90s", f->path, own);
    return NEAR_AIM_CPU;
none:
    snprintf(why, NEAR_WHY, "not to %.60s: %.90s", f->path, own);
    return NEAR_AIM_NONE;
}

// ---- parts

bool near_target_held(const struct near_target* t) {
    return !t->drive || !S_ISREG(t->file.before.st_mode) || near_leased(&t->file);
}

bool near_target_piece(struct near_target* t, struct near_part* p, uint64_t* to) {
    const struct near_file* f = &t->file;
    while (f->extents[t->extent].offset + f->extents[t->extent].bytes <= p->offset) t->extent++;
    const struct near_extent* x = &f->extents[t->extent];
    const uint64_t within = p->offset - x->offset, left = x->bytes - within;
    uint32_t bytes = left < p->bytes ? (uint32_t)left : p->bytes;
    *to = x->place + within;
    bytes -= bytes % t->unit;
    if (!bytes || *to % f->device->block_bytes) return false;
    p->bytes = bytes;
    return true;
}

// A page that the drive writes, too, must not stay in the cache.
int near_target_write(struct near_target* t, const struct near_part* p, const uint8_t* data) {
    struct near_file* f = &t->file;
    for (size_t done = 0; done < p->bytes;) {
        ssize_t n = pwrite(f->fd, data + done, p->bytes - done, (off_t)(p->offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -errno;
        done += (size_t)n;
    }
    if (!t->drive) return 0;
    int e = drop(f);
    return e ? e : fstat(f->fd, &f->before) ? -errno : 0;
}

int near_target_close(struct near_target* t, bool failed, const struct near_options* o) {
    struct near_file* f = &t->file;
    int result = failed ? 2 : 0;
    if (!failed && !near_unchanged(f)) {
        near_say(o, f->path, "it changed meanwhile, so the result may be wrong");
        result = 2;
    }
    // The drive does not tell the file system that it wrote.
    if (t->drive && S_ISREG(f->before.st_mode)) futimens(f->fd, NULL);
    int e = t->drive ? drop(f) : fsync(f->fd) ? -errno : 0;
    if (e && !result) {
        near_say(o, f->path, strerror(-e));
        result = 2;
    }
    if (t->memory) munmap(t->memory, NEAR_TARGET_BYTES);
    near_close(f);
    return result;
}
