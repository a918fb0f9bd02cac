// SPDX-License-Identifier: Apache-2.0
// The platform: sysfs says on which drive something lies, ioctls of the nvme driver take commands to it.
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "near.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

// ---- commands

static int admin(struct near_device* d, struct nvme_passthru_cmd* c) {
    int status = ioctl(d->fd, NVME_IOCTL_ADMIN_CMD, c);
    return status < 0 ? -errno : status;
}

static int io(struct near_device* d, struct nvme_passthru_cmd* c) {
    int status = ioctl(d->fd, NVME_IOCTL_IO_CMD, c);
    return status < 0 ? -errno : status;
}

static int identify(struct near_device* d, uint32_t nsid, uint8_t cns, void* page) {
    struct nvme_passthru_cmd c = {
        .opcode = 0x06, .nsid = nsid, .addr = (uint64_t)(uintptr_t)page, .data_len = NEAR_PAGE, .cdw10 = cns};
    return admin(d, &c);
}

static int log_page(struct near_device* d, uint8_t log, void* data, uint32_t bytes) {
    uint32_t words = bytes / 4 - 1;
    struct nvme_passthru_cmd c = {.opcode = 0x02,
                                  .nsid = 0xffffffff,
                                  .addr = (uint64_t)(uintptr_t)data,
                                  .data_len = bytes,
                                  .cdw10 = log | (words & 0xffff) << 16,
                                  .cdw11 = words >> 16};
    return admin(d, &c);
}

static const struct near_device_ops OPS = {identify, log_page, admin, io};

static int open_device(struct near_device* d, char* why) {
    char path[128];
    unsigned short sectors = 0;
    struct stat st;
    snprintf(path, sizeof path, "/dev/%s", d->name);
    d->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (d->fd < 0 || fstat(d->fd, &st) || !S_ISBLK(st.st_mode)) {
        snprintf(why, NEAR_WHY, "cannot open %s: %s", path, d->fd < 0 ? strerror(errno) : "no block device");
        return -1;
    }
    int nsid = ioctl(d->fd, NVME_IOCTL_ID);
    if (nsid <= 0) {
        snprintf(why, NEAR_WHY, "%s is no NVMe drive", path);
        return -1;
    }
    d->nsid = (uint32_t)nsid;
    if (!ioctl(d->fd, BLKSECTGET, &sectors)) d->most_transfer = 512u * sectors;
    d->ops = &OPS;
    return 0;
}

// ---- where something lies

static void last_part(char* to, size_t room, const char* path) {
    const char* slash = strrchr(path, '/');
    snprintf(to, room, "%.*s", (int)room - 1, slash ? slash + 1 : path);
}

static bool is_namespace(const char* name) {
    unsigned a, b;
    int end = 0;
    return sscanf(name, "nvme%un%u%n", &a, &b, &end) == 2 && name[end] == 0;
}

// Controllers of a subsystem of several paths. A program belongs to one of them, and a command takes any.
static unsigned paths_of(const char* folder) {
    unsigned count = 0;
    DIR* dir = opendir(folder);
    for (struct dirent* e; dir && (e = readdir(dir));) {
        size_t n = strlen(e->d_name);
        count += !strncmp(e->d_name, "nvme", 4) && strspn(e->d_name + 4, "0123456789") == n - 4;
    }
    if (dir) closedir(dir);
    return count;
}

// Whether the file system of these numbers is mounted so that data may stay in its journal.
static bool journals_data(dev_t dev) {
    char line[4096], number[32];
    FILE* f = fopen("/proc/self/mountinfo", "re");
    bool found = !f;
    snprintf(number, sizeof number, " %u:%u ", major(dev), minor(dev));
    while (f && !found && fgets(line, sizeof line, f)) found = strstr(line, number) && strstr(line, "data=journal");
    if (f) fclose(f);
    return found;
}

// Only of these file systems it is known that FIEMAP's places are those on the one block device of st_dev.
static int check_file_system(int fd, const struct stat* st, char* why) {
    struct statfs fs;
    struct fsxattr x;
    long flags = 0;
    if (major(st->st_dev) == 0) {
        snprintf(why, NEAR_WHY, "its file system has no block device of its own");
        return -1;
    }
    if (fstatfs(fd, &fs)) {
        snprintf(why, NEAR_WHY, "its file system is not known: %s", strerror(errno));
        return -1;
    }
    if (fs.f_type != EXT4_SUPER_MAGIC && fs.f_type != XFS_SUPER_MAGIC) {
        snprintf(why, NEAR_WHY, "its file system is neither ext4 nor XFS");
        return -1;
    }
    if (fs.f_type == XFS_SUPER_MAGIC && !ioctl(fd, FS_IOC_FSGETXATTR, &x) && (x.fsx_xflags & FS_XFLAG_REALTIME)) {
        snprintf(why, NEAR_WHY, "it lies on the realtime device of XFS");
        return -1;
    }
    if (fs.f_type == EXT4_SUPER_MAGIC &&
        ((!ioctl(fd, FS_IOC_GETFLAGS, &flags) && (flags & FS_JOURNAL_DATA_FL)) || journals_data(st->st_dev))) {
        snprintf(why, NEAR_WHY, "its data may be in the journal of its file system");
        return -1;
    }
    return 0;
}

static int find(int fd, const struct stat* st, struct near_place* place, char* why) {
    char link[64], path[PATH_MAX], file[PATH_MAX + 16], controller[PATH_MAX];
    bool device = S_ISBLK(st->st_mode);
    dev_t dev = device ? st->st_rdev : st->st_dev;
    if (!device && check_file_system(fd, st, why)) return -1;
    snprintf(link, sizeof link, "/sys/dev/block/%u:%u", major(dev), minor(dev));
    if (!realpath(link, path)) {
        snprintf(why, NEAR_WHY, "its block device is not known: %s: %s", link, strerror(errno));
        return -1;
    }
    place->start = 0;
    snprintf(file, sizeof file, "%s/partition", path);
    if (!access(file, F_OK)) {
        unsigned long long sectors;
        snprintf(file, sizeof file, "%s/start", path);
        FILE* f = fopen(file, "re");
        bool got = f && fscanf(f, "%llu", &sectors) == 1;
        if (f) fclose(f);
        if (!got) {
            snprintf(why, NEAR_WHY, "it is not known where its partition begins");
            return -1;
        }
        place->start = sectors * 512;
        *strrchr(path, '/') = 0;
    }
    last_part(place->disk, sizeof place->disk, path);
    if (!is_namespace(place->disk)) {
        snprintf(why, NEAR_WHY, "it lies on %s, which is no NVMe drive", place->disk);
        return -1;
    }
    snprintf(file, sizeof file, "%s/device", path);
    if (!realpath(file, controller)) {
        snprintf(why, NEAR_WHY, "the controller of %s is not known", place->disk);
        return -1;
    }
    last_part(place->controller, sizeof place->controller, controller);
    if (!strncmp(place->controller, "nvme-subsys", 11) && paths_of(controller) != 1) {
        snprintf(why, NEAR_WHY, "%s has several paths, and a program is only on one of them", place->disk);
        return -1;
    }
    return 0;
}

static int fiemap(int fd, struct fiemap* map) { return ioctl(fd, FS_IOC_FIEMAP, map) ? -errno : 0; }

const struct near_platform* near_platform(void) {
    static const struct near_platform LINUX = {"/run/lock", 0, 60, find, open_device, fiemap};
    return &LINUX;
}
