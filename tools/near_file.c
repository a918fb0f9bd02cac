// SPDX-License-Identifier: Apache-2.0
// Files and block devices: where their bytes lie on a drive, and whether someone changed them meanwhile.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "near.h"

enum { FEW_EXTENTS = 128, TICK_NS = 20000000 };

// ---- open, read, close

// Files of /proc say that they are empty, those of /sys that they have a page; most have something else.
static bool says_no_size(int fd, const struct stat* st) {
    struct statfs fs;
    return !st->st_size || (!fstatfs(fd, &fs) && fs.f_type == SYSFS_MAGIC);
}

static int read_whole(struct near_file* f) {
    size_t room = 0;
    for (;;) {
        if (f->size == room) {
            room = room ? 2 * room : NEAR_PAGE;
            uint8_t* more = realloc(f->memory, room);
            if (!more) return -ENOMEM;
            f->memory = more;
        }
        ssize_t n = read(f->fd, f->memory + f->size, room - f->size);
        if (n < 0) return -errno;
        if (n == 0) return 0;
        f->size += (uint64_t)n;
    }
}

static int open_as(struct near_file* f, const char* path, int flags) {
    *f = (struct near_file){.path = path, .fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    if (f->fd < 0) return -errno;
    int e = 0;
    if (fstat(f->fd, &f->before)) return -errno;
    if (S_ISDIR(f->before.st_mode)) return -EISDIR;
    if (S_ISBLK(f->before.st_mode)) {
        if (ioctl(f->fd, BLKGETSIZE64, &f->size)) e = -errno;
    } else if (S_ISREG(f->before.st_mode)) {
        const bool reads = (flags & O_ACCMODE) == O_RDONLY && says_no_size(f->fd, &f->before);
        f->size = reads ? 0 : (uint64_t)f->before.st_size;
        if (reads) e = read_whole(f);
    } else {
        e = -ENOTBLK;
    }
    return e;
}

int near_open(struct near_file* f, const char* path) { return open_as(f, path, O_RDONLY); }

int near_open_to(struct near_file* f, const char* path) {
    int e = open_as(f, path, O_RDWR | O_EXCL);  // O_EXCL: not what is mounted; of files Linux ignores it
    f->writes = true;
    return e;
}

void near_close(struct near_file* f) {
    if (f->fd >= 0) close(f->fd);  // and gives the lease back
    free(f->extents);
    free(f->memory);
}

int near_read(const struct near_file* f, uint64_t offset, void* to, size_t bytes) {
    if (f->memory) {
        memcpy(to, f->memory + offset, bytes);
        return 0;
    }
    uint8_t* at = to;
    while (bytes) {
        ssize_t n = pread(f->fd, at, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -errno;
        if (n == 0) return -ESTALE;
        at += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return 0;
}

// ---- extents

static int add(struct near_file* f, struct near_extent e) {
    if (f->count && e.on_drive == f->extents[f->count - 1].on_drive) {
        struct near_extent* last = &f->extents[f->count - 1];
        if (!e.on_drive || last->place + last->bytes == e.place) {
            last->bytes += e.bytes;
            return 0;
        }
    }
    if (f->count % FEW_EXTENTS == 0) {
        struct near_extent* more = realloc(f->extents, (f->count + FEW_EXTENTS) * sizeof *more);
        if (!more) return -1;
        f->extents = more;
    }
    f->extents[f->count++] = e;
    return 0;
}

static void no_extents(struct near_file* f) {
    free(f->extents);
    f->extents = NULL;
    f->count = 0;
}

void near_on_cpu(struct near_file* f) {
    no_extents(f);
    f->device = NULL;
    f->guarded = false;
    if (f->size && add(f, (struct near_extent){.bytes = f->size})) abort();
}

int near_extents(struct near_file* f, const struct fiemap_extent* from, size_t count, char* why) {
    const uint32_t nowhere = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_ENCODED |
                             FIEMAP_EXTENT_DATA_ENCRYPTED | FIEMAP_EXTENT_NOT_ALIGNED | FIEMAP_EXTENT_DATA_INLINE |
                             FIEMAP_EXTENT_DATA_TAIL;
    const uint32_t block = f->device->block_bytes;
    const uint64_t drive = f->device->blocks * block;
    uint64_t at = 0;  // so far the extents are known
    no_extents(f);
    for (size_t i = 0; i < count && at < f->size; i++) {
        const struct fiemap_extent* e = &from[i];
        if (e->fe_logical >= f->size) break;
        struct near_extent x = {e->fe_logical, e->fe_length, e->fe_physical + f->start, true};
        if (x.bytes > f->size - x.offset) x.bytes = f->size - x.offset;
        if (e->fe_flags & nowhere) {
            snprintf(why, NEAR_WHY, "the file system keeps a part of it in a form of its own (extent flags %xh)",
                     (unsigned)(e->fe_flags & nowhere));
            return -1;
        }
        if (f->writes && (e->fe_flags & FIEMAP_EXTENT_SHARED)) {
            snprintf(why, NEAR_WHY, "it shares blocks with another file");
            return -1;
        }
        if (x.offset < at || !x.bytes) {
            snprintf(why, NEAR_WHY, "what the file system says of its extents makes no sense");
            return -1;
        }
        if (x.offset > at && add(f, (struct near_extent){.offset = at, .bytes = x.offset - at})) abort();
        if (e->fe_flags & FIEMAP_EXTENT_UNWRITTEN) {
            x.on_drive = false;
            x.place = 0;
        } else if (x.place % block || (x.bytes % block && x.offset + x.bytes != f->size)) {
            snprintf(why, NEAR_WHY, "an extent of it does not begin or end with a block of the drive");
            return -1;
        } else if (x.place > drive || x.bytes > drive - x.place) {
            snprintf(why, NEAR_WHY, "an extent of it lies behind the end of %s", f->device->name);
            return -1;
        }
        if (add(f, x)) abort();
        at = x.offset + x.bytes;
    }
    if (at < f->size && add(f, (struct near_extent){.offset = at, .bytes = f->size - at})) abort();
    return 0;
}

// All that FIEMAP says of a file, in *list: how many, or -1 with a reason.
static ssize_t fiemap(struct near_file* f, struct fiemap_extent** list, char* why) {
    struct fiemap* map = malloc(sizeof *map + FEW_EXTENTS * sizeof map->fm_extents[0]);
    size_t count = 0;
    uint64_t from = 0;
    bool last = false;
    *list = NULL;
    while (map && !last) {
        memset(map, 0, sizeof *map);
        map->fm_start = from;
        map->fm_length = FIEMAP_MAX_OFFSET - from;
        map->fm_flags = FIEMAP_FLAG_SYNC;
        map->fm_extent_count = FEW_EXTENTS;
        int e = near_platform()->fiemap(f->fd, map);
        if (e) {
            snprintf(why, NEAR_WHY, "the file system does not say where it lies: %s", strerror(-e));
            goto failed;
        }
        size_t n = map->fm_mapped_extents;
        if (n == 0) break;
        struct fiemap_extent* more = realloc(*list, (count + n) * sizeof *more);
        if (!more) abort();
        *list = more;
        memcpy(*list + count, map->fm_extents, n * sizeof *more);
        count += n;
        const struct fiemap_extent* x = &map->fm_extents[n - 1];
        last = (x->fe_flags & FIEMAP_EXTENT_LAST) || x->fe_logical + x->fe_length <= from;
        from = x->fe_logical + x->fe_length;
    }
    if (!map) abort();
    free(map);
    return (ssize_t)count;
failed:
    free(map);
    free(*list);
    return -1;
}

static int find_extents(struct near_file* f, char* why) {
    struct fiemap_extent* list;
    if (S_ISBLK(f->before.st_mode)) {
        struct fiemap_extent all = {.fe_length = f->size};
        return near_extents(f, &all, 1, why);
    }
    ssize_t count = fiemap(f, &list, why);
    if (count < 0) return -1;
    int e = near_extents(f, list, (size_t)count, why);
    free(list);
    return e;
}

// ---- the guard

static bool same_time(const struct timespec* a, const struct timespec* b) {
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

// A file that changed within this tick of the kernel's clock could change again and keep its times.
static void let_tick_pass(const struct stat* st) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age = (now.tv_sec - st->st_ctim.tv_sec) * INT64_C(1000000000) + now.tv_nsec - st->st_ctim.tv_nsec;
    if (age >= 0 && age < TICK_NS) nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
}

static int lease_of(const struct near_file* f) { return f->writes ? F_WRLCK : F_RDLCK; }

bool near_leased(const struct near_file* f) { return f->lease && fcntl(f->fd, F_GETLEASE) == lease_of(f); }

int near_on_drive(struct near_file* f, char* why) {
    struct near_place place;
    if (near_platform()->find(f->fd, &f->before, &place, why)) return -1;
    struct near_device* d = near_device(&place);
    if (*d->why) {
        snprintf(why, NEAR_WHY, "%s", d->why);
        return -1;
    }
    f->device = d;
    f->start = place.start;
    if (S_ISREG(f->before.st_mode)) {
        // With a lease none opens the file to write, a target at all, unless we let go (at most fs.lease-break-time,
        // 45 s). Its breaking comes as SIGIO.
        signal(SIGIO, SIG_IGN);
        f->lease = !fcntl(f->fd, F_SETLEASE, lease_of(f));
        let_tick_pass(&f->before);
    }
    if (fsync(f->fd)) {
        snprintf(why, NEAR_WHY, "cannot be brought to the drive: %s", strerror(errno));
        return -1;
    }
    if (S_ISREG(f->before.st_mode)) {
        if (fstat(f->fd, &f->before)) {
            snprintf(why, NEAR_WHY, "cannot be looked at: %s", strerror(errno));
            return -1;
        }
        f->size = (uint64_t)f->before.st_size;
    }
    f->guarded = true;
    return find_extents(f, why);
}

bool near_unchanged(struct near_file* f) {
    struct stat now;
    char why[NEAR_WHY];
    if (!f->guarded || !S_ISREG(f->before.st_mode)) return true;
    if (fstat(f->fd, &now) || now.st_size != f->before.st_size || !same_time(&now.st_mtim, &f->before.st_mtim) ||
        !same_time(&now.st_ctim, &f->before.st_ctim))
        return false;
    // Whoever removes duplicates moves it without a change of its times, and may have it open to read.
    struct near_file again = *f;
    again.extents = NULL;
    again.count = 0;
    bool same = !find_extents(&again, why) && again.count == f->count;
    for (size_t i = 0; same && i < f->count; i++) {
        const struct near_extent *a = &f->extents[i], *b = &again.extents[i];
        same = a->offset == b->offset && a->bytes == b->bytes && a->place == b->place && a->on_drive == b->on_drive;
    }
    free(again.extents);
    return same;
}
