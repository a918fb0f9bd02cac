// SPDX-License-Identifier: Apache-2.0
// Near-storage commands of a Doorbell drive from Linux: a file or a block device is looked at where it lies
// (docs/csd/near-storage.md). near_run does all of it for one path; what a tool adds is a struct near_job.
#ifndef NEAR_H
#define NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#if defined(__has_include)
#if __has_include(<linux/nvme_ioctl.h>)
#include <linux/nvme_ioctl.h>
#endif
#endif
#ifndef NVME_IOCTL_IO_CMD
#include <sys/ioctl.h>
struct nvme_passthru_cmd {
    uint8_t opcode, flags;
    uint16_t rsvd1;
    uint32_t nsid, cdw2, cdw3;
    uint64_t metadata, addr;
    uint32_t metadata_len, data_len, cdw10, cdw11, cdw12, cdw13, cdw14, cdw15, timeout_ms, result;
};
#define NVME_IOCTL_ID _IO('N', 0x40)
#define NVME_IOCTL_ADMIN_CMD _IOWR('N', 0x41, struct nvme_passthru_cmd)
#define NVME_IOCTL_IO_CMD _IOWR('N', 0x43, struct nvme_passthru_cmd)
#endif
#include <linux/fiemap.h>

enum {
    NEAR_OPC = 0x82,             // near-storage command
    NEAR_STORE_OPC = 0x83,       // ... whose result is written to blocks, too
    NEAR_STORE_NSID = 0xff,      // the last namespace that it can name
    NEAR_ADMIN_OPC_LOAD = 0xd5,  // Load Program
    NEAR_SC_TOO_LARGE = 0x1c0,   // Result Too Large: type 1h, code C0h
    NEAR_SC_MASK = 0x7ff,        // type and code in what the kernel returns
    NEAR_PROGRAMS = 4,           // of a function
    NEAR_PROGRAM_BYTES = 1024,   // at most
    NEAR_MOST_BYTES = 1 << 20,   // of the data of a command
    NEAR_TIMEOUT_MS = 120000,    // a simulated drive is slow
    NEAR_PAGE = 4096,
    NEAR_WHY = 160,  // bytes of a reason, one line
};

// ---- drives

struct near_device;

// How commands reach a drive. 0, an NVMe status (as the kernel returns it), or -errno.
struct near_device_ops {
    int (*identify)(struct near_device*, uint32_t nsid, uint8_t cns, void* page);
    int (*log_page)(struct near_device*, uint8_t log, void* data, uint32_t bytes);
    int (*admin)(struct near_device*, struct nvme_passthru_cmd*);
    int (*io)(struct near_device*, struct nvme_passthru_cmd*);
};

struct near_device {
    // Of the platform.
    const struct near_device_ops* ops;
    int fd;
    uint32_t nsid;
    uint32_t most_transfer;  // bytes that the kernel moves with one command
    // Of near.c.
    char name[64], controller[64];
    uint32_t block_bytes, most_bytes;  // of a block; of the data of a command
    uint64_t blocks;
    bool stores;         // it has NEAR_STORE_OPC
    int program, lock;   // number of the program that is ours, and its lock file; -1: none
    char why[NEAR_WHY];  // not empty: it cannot be used
    struct near_device* next;
};

// Where something lies: on which drive, and how far behind its beginning.
struct near_place {
    char disk[64], controller[64];
    uint64_t start;
};

// What differs between Linux (near_linux.c) and a test without a drive. The functions return 0, or -1 with a reason.
struct near_platform {
    const char* lock_folder;
    uint32_t most_bytes;  // of the data of a command or of a step on the CPU; 0: no limit of its own
    int patience_s;       // so long a tool waits for a drive that has no time for it
    int (*find)(int fd, const struct stat* st, struct near_place* place, char* why);
    int (*open)(struct near_device* d, char* why);
    int (*fiemap)(int fd, struct fiemap* map);  // 0 or -errno
};
const struct near_platform* near_platform(void);

// The drive with that name, asked for what it can do; d->why says whether it can be used.
struct near_device* near_device(const struct near_place* place);
// Load a program into one of the four, unless this process did so already. 0, or -1 with a reason. It is forgotten when
// the process ends, also by a signal.
int near_load(struct near_device* d, const uint8_t* program, uint32_t bytes, char* why);
// Another program in place of it. 0, an NVMe status, or -errno.
int near_exchange(struct near_device* d, const uint8_t* program, uint32_t bytes);
// Whether a signal is about to end the process; then the program is gone, and what commands say means nothing.
bool near_ending(void);
void near_status_text(int status, char* why);  // of a command that failed

// ---- files

struct near_extent {
    uint64_t offset, bytes;  // in the file
    uint64_t place;          // on the drive, in bytes
    bool on_drive;           // or for the CPU: holes and what was never written
};

struct near_file {
    const char* path;
    int fd;
    uint64_t size;
    uint8_t* memory;  // what a file holds that does not say its size (of /proc, /sys); or NULL
    struct near_device* device;
    uint64_t start;  // of the partition
    struct near_extent* extents;
    size_t count;
    bool writes;  // it is a target: open to write
    bool guarded, lease;
    struct stat before;
};

int near_open(struct near_file* f, const char* path);     // 0 or -errno
int near_open_to(struct near_file* f, const char* path);  // to write it; a block device that nobody has in use
void near_close(struct near_file* f);
// All of the file for the CPU; or its extents on a drive, and a guard: 0, or -1 with a reason.
void near_on_cpu(struct near_file* f);
int near_on_drive(struct near_file* f, char* why);
bool near_unchanged(struct near_file* f);     // since near_on_drive
bool near_leased(const struct near_file* f);  // so nobody else has opened it in a way that matters
bool near_lies_whole(const struct near_file* f, char* why);
int near_read(const struct near_file* f, uint64_t offset, void* to,
              size_t bytes);  // 0, -errno, -ESTALE: not so long now
// The extents of a file from what FIEMAP says, ascending. Shared with no one; here for tests.
int near_extents(struct near_file* f, const struct fiemap_extent* from, size_t count, char* why);

// ---- a scan

struct near_part {
    uint64_t offset;  // in the file
    uint64_t place;
    uint32_t bytes;
    bool on_drive;
};

struct near_options;
struct near_target;

// What a tool wants of each part of a file, in the drive's words: a program, and results as the page has them.
struct near_job {
    const uint8_t* program;
    uint32_t program_bytes;
    const char* cpu_why;  // why no drive could do it, or NULL
    uint32_t record;      // PHASE is the offset in a record of so many bytes; 0: none
    uint32_t (*phase)(void* context, const struct near_part* part);  // or what this says
    uint32_t result_room;  // bytes of the result buffer to begin with, a multiple of 64
    bool large;            // results may be as large as the data; else a quarter of them, and a little more
    // Instead of near_scan, for what has no parts that stand alone: soft and take are not used.
    int (*scan)(struct near_file*, const struct near_job*, const struct near_options*, char* note, char* why);
    bool whole;  // a file that does not lie on the drive as a whole comes to the CPU
    // What the drive would say of these data, on the CPU: bytes of the result. The buffer has room for the largest.
    uint32_t (*soft)(void* context, const uint8_t* data, uint32_t bytes, uint32_t phase, uint8_t* result);
    // A result, in the order of the file. 0: go on. 1: enough. -errno. -EPROTO: makes no sense.
    int (*take)(void* context, const struct near_part* part, const uint8_t* result, uint32_t bytes);
    // Before the first and behind the last part.
    void (*begin)(void* context, const struct near_file* f);
    int (*end)(void* context, const struct near_file* f);  // 0 or -errno
    void* context;
};

struct near_options {
    const char* tool;  // for messages
    bool cpu, drive;   // only there
    int jobs;          // commands in flight
};

// One command of a part: p->place and p->bytes. room: bytes of `result`, a multiple of 64; NEAR_PAGE aligned. *bytes: of
// the result. 0, an NVMe status, or -errno.
int near_command(struct near_device* d, const struct near_part* p, uint32_t phase, uint8_t* result, uint32_t room,
                 uint32_t* bytes);
// ... and its result is written, too, from place `to` of target->file's namespace on, in bytes: `room` is whole blocks of
// that, which is d's or another one of the same drive. The drive writes to `result` and reads it, so it is target->memory.
int near_store(struct near_device* d, const struct near_part* p, uint32_t phase, uint32_t room,
               const struct near_target* target, uint64_t to, uint32_t* bytes);
// All parts of a file: 0, 1 (enough), or -errno; -ECANCELED with a reason. *note: why a part came to the CPU.
int near_scan(struct near_file* f, const struct near_job* job, const struct near_options* o, char* note, char* why);
// A path from its beginning to its end. 0, or 2 where an error was said.
int near_run(const char* path, const struct near_job* job, const struct near_options* o);
// One line on stderr: TOOL: PATH: TEXT.
void near_say(const struct near_options* o, const char* path, const char* text);

// ---- a target: what comes of one file goes to a file or a block device, from its beginning on

struct near_target {
    struct near_file file;
    bool drive;       // it stores there
    uint8_t* memory;  // for results: NEAR_TARGET_BYTES
    uint32_t unit;    // a block of the source and one of the target are no larger
    size_t extent;    // of the last piece
};

enum { NEAR_TARGET_BYTES = 1 << 17 };
enum near_aim { NEAR_AIM_DRIVE, NEAR_AIM_CPU, NEAR_AIM_NONE };

int near_target_open(struct near_target* t, const char* path, const struct near_options* o);  // 0; 2: an error was said
// Who writes there: the drive; we, with a reason that is empty if it is the source's; nobody, with a reason. The program
// of the source's drive is loaded, and its result is as long as the data.
enum near_aim near_target_aim(struct near_target* t, const struct near_file* source, char* why);
bool near_target_held(const struct near_target* t);  // false: somebody opens it, and the drive must not write there now
// Cut a part to what the drive can store at once: *to. False: none of it, as it is less than a block. Parts ascend.
bool near_target_piece(struct near_target* t, struct near_part* p, uint64_t* to);
int near_target_write(struct near_target* t, const struct near_part* p, const uint8_t* data);  // by us: 0 or -errno
// All of it is on the drive, none in the page cache. The exit status; with `failed` others have said what is wrong.
int near_target_close(struct near_target* t, bool failed, const struct near_options* o);

// ---- command lines

// What is wrong with one, on stderr; 2, the exit status.
int near_bad(const char* tool, const char* text, const char* what);
bool near_number(const char* text, long least, long most, int* to);  // a decimal one
// The exit status, or 2 if what was said did not get out.
int near_finish(const char* tool, int status);

static inline uint64_t near_get(const uint8_t* at, unsigned bytes) {
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++) v |= (uint64_t)at[i] << 8 * i;
    return v;
}
static inline void near_put(uint8_t* at, unsigned bytes, uint64_t v) {
    for (unsigned i = 0; i < bytes; i++) at[i] = (uint8_t)(v >> 8 * i);
}

#endif
