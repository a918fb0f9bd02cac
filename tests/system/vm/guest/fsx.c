// SPDX-License-Identifier: Apache-2.0
// What fsx does: one file, random operations, and a copy of it in memory that says what has to be in it.
//
//     fsx FILE KIB OPERATIONS SEED COPY
//
// Reads and writes through the page cache, around it (O_DIRECT) and by mmap; truncates, punches holes, zeroes, collapses and
// inserts ranges where the file system can; syncs, drops the cache, opens the file anew. At the end writes what is right
// to COPY. Status 1: a byte is wrong.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN = 4096, MOST = 128 << 10 };
enum op { READ, WRITE, DIRECT_READ, DIRECT_WRITE, MAP_READ, MAP_WRITE, TRUNCATE, PUNCH, ZERO, COLLAPSE, INSERT, SYNC, DROP, OPEN, OPS };
static const char *const names[OPS] = {"read",  "write", "direct read", "direct write", "map read", "map write", "truncate",
                                       "punch", "zero",  "collapse",    "insert",       "sync",     "drop",      "open"};

static const char *file;
static uint8_t *model, *data;
static size_t size, most_bytes;
static int fd = -1, direct = -1;
static uint64_t state;
static unsigned long number, done[OPS];
static enum op now;

static uint64_t next(void) {  // xorshift64*
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * UINT64_C(2685821657736338717) >> 16;
}

static void stop(const char *what, size_t at) {
  fprintf(stderr, "fsx: operation %lu, %s at %zu of %zu: %s (%s)\n", number, names[now], at, size, what, strerror(errno));
  exit(1);
}

static void compare(const uint8_t *found, size_t at, size_t count) {
  errno = 0;
  for (size_t i = 0; i < count; i++)
    if (found[i] != model[at + i]) {
      fprintf(stderr, "fsx: byte %zu is %02x, has to be %02x\n", at + i, found[i], model[at + i]);
      stop("wrong data", at);
    }
}

static void noise(uint8_t *to, size_t count) {
  for (size_t i = 0; i < count; i++) to[i] = (uint8_t)(next() >> 7);
}

static void open_file(void) {
  if (fd >= 0) close(fd);
  if (direct >= 0) close(direct);
  fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  direct = open(file, O_RDWR | O_DIRECT | O_CLOEXEC);
  if (fd < 0 || direct < 0) stop("cannot open", 0);
}

static void grow(size_t to) {  // what nobody wrote is zero
  if (to > size) memset(model + size, 0, to - size), size = to;
}

static void map(size_t at, size_t count) {
  size_t begin = at & ~(size_t)(ALIGN - 1);
  uint8_t *mapped = mmap(NULL, at + count - begin, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)begin);
  if (mapped == MAP_FAILED) stop("mmap", at);
  if (now == MAP_WRITE) {
    noise(model + at, count);
    memcpy(mapped + (at - begin), model + at, count);
    if (next() % 2 && msync(mapped, at + count - begin, MS_SYNC)) stop("msync", at);
  } else {
    compare(mapped + (at - begin), at, count);
  }
  munmap(mapped, at + count - begin);
}

static int allocate(int mode, size_t at, size_t count) {
  if (!fallocate(fd, mode, (off_t)at, (off_t)count)) return 1;
  if (errno != EOPNOTSUPP) stop("fallocate", at);
  return 0;
}

static void step(void) {
  now = (enum op)(next() % OPS);
  size_t at = next() % most_bytes, count = next() % MOST + 1;
  int in_blocks = now == DIRECT_READ || now == DIRECT_WRITE || now == COLLAPSE || now == INSERT;
  if (in_blocks) at &= ~(size_t)(ALIGN - 1), count = (count + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  if (at + count > most_bytes) count = most_bytes - at;
  int inside = now == READ || now == DIRECT_READ || now == MAP_READ || now == MAP_WRITE || now == PUNCH;
  if (inside) {
    if (at >= size) return;
    if (at + count > size && now != DIRECT_READ) count = size - at;
  }
  size_t in_file = at + count > size && at < size ? size - at : count;
  switch (now) {
    case READ:
    case DIRECT_READ:
      if (pread(now == READ ? fd : direct, data, count, (off_t)at) != (ssize_t)in_file) stop("short read", at);
      compare(data, at, in_file);
      break;
    case WRITE:
    case DIRECT_WRITE:
      noise(data, count);
      if (pwrite(now == WRITE ? fd : direct, data, count, (off_t)at) != (ssize_t)count) stop("short write", at);
      grow(at + count);
      memcpy(model + at, data, count);
      break;
    case MAP_READ:
    case MAP_WRITE: map(at, count); break;
    case TRUNCATE:
      if (ftruncate(fd, (off_t)at)) stop("truncate", at);
      grow(at);
      size = at;
      break;
    case PUNCH:
      if (!allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, count)) return;
      memset(model + at, 0, count);
      break;
    case ZERO:
      if (!allocate(FALLOC_FL_ZERO_RANGE, at, count)) return;
      grow(at + count);
      memset(model + at, 0, count);
      break;
    case COLLAPSE:
      if (at + count >= size) return;
      if (!allocate(FALLOC_FL_COLLAPSE_RANGE, at, count)) return;
      memmove(model + at, model + at + count, size - at - count);
      size -= count;
      break;
    case INSERT:
      if (at >= size || size + count > most_bytes) return;
      if (!allocate(FALLOC_FL_INSERT_RANGE, at, count)) return;
      memmove(model + at + count, model + at, size - at);
      memset(model + at, 0, count);
      size += count;
      break;
    case SYNC:
      if (next() % 2 ? fsync(fd) : fdatasync(fd)) stop("fsync", at);
      break;
    case DROP:
      if (fdatasync(fd)) stop("fdatasync", at);
      posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
      break;
    case OPEN: open_file(); break;
    default: return;
  }
  done[now]++;
}

int main(int count, char **words) {
  if (count != 6) return 2;
  file = words[1];
  most_bytes = strtoull(words[2], NULL, 0) << 10;
  unsigned long operations = strtoul(words[3], NULL, 0);
  state = strtoull(words[4], NULL, 0) * 2 + 1;
  model = calloc(1, most_bytes);
  data = aligned_alloc(ALIGN, MOST + ALIGN);
  if (!model || !data || most_bytes % ALIGN) return 2;
  open_file();
  for (number = 1; number <= operations; number++) step();
  now = READ;
  if (fsync(fd)) stop("fsync", 0);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  for (size_t at = 0; at < size; at += MOST) {
    size_t some = size - at < MOST ? size - at : MOST;
    if (pread(fd, data, some, (off_t)at) != (ssize_t)some) stop("short read", at);
    compare(data, at, some);
  }
  if (lseek(fd, 0, SEEK_END) != (off_t)size) stop("size", size);
  FILE *copy = fopen(words[5], "wb");
  if (!copy || fwrite(model, 1, size, copy) != size || fclose(copy)) return 2;
  printf("fsx:");
  for (int i = 0; i < OPS; i++) printf(" %s %lu%s", names[i], done[i], i < OPS - 1 ? "," : "\n");
  return 0;
}
