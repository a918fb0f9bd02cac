// SPDX-License-Identifier: Apache-2.0
// Writes and reads a part of a disk from several threads and remembers what each block has to hold, whatever happens to
// the drive meanwhile. A write that was acknowledged is there; one that failed is there or not, block by block of 512
// bytes, never half. If the disk goes away, a thread waits until its name is there again.
//
//     witness DISK FIRST_MIB MIB THREADS SEED END_FILE
//
// Ends when END_FILE exists: then it reads everything once more, and says what it did. Status 1: a block is wrong.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 512, MOST = 128, PATIENCE_MS = 180000, STEP_MS = 20 };  // MOST: blocks of one command

struct range {  // the generations that a block may have, 0: what was there before; and the last that was tried
  uint32_t least, most, last;
};

struct slice {
  uint64_t first, blocks, random;
  struct range *may;
  int fd;
  unsigned long writes, reads, errors, blocks_checked;
};

static const char *disk, *end_file;
static uint64_t salt;

static uint64_t next(uint64_t *state) {  // xorshift64*
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * UINT64_C(2685821657736338717);
}

static void fill(uint64_t *words, uint64_t block, uint32_t generation) {
  uint64_t state = (block + 1) * UINT64_C(0x9E3779B97F4A7C15) ^ salt ^ (uint64_t)generation << 40;
  words[0] = block ^ salt;
  words[1] = generation;
  for (int i = 2; i < BLOCK / 8; i++) words[i] = next(&state);
}

static void give_up(const char *why, uint64_t block) {
  fprintf(stderr, "witness: block %llu: %s\n", (unsigned long long)block, why);
  exit(1);
}

// A disk that is away is waited for.
static void reopen(struct slice *s) {
  if (s->fd >= 0) close(s->fd);
  for (int waited = 0;; waited += STEP_MS) {
    s->fd = open(disk, O_RDWR | O_DIRECT | O_CLOEXEC);
    struct stat what;
    if (s->fd >= 0 && !fstat(s->fd, &what) && S_ISBLK(what.st_mode)) return;
    if (s->fd >= 0) close(s->fd);
    if (waited > PATIENCE_MS) give_up("the disk does not come back", s->first);
    usleep(STEP_MS * 1000);
  }
}

static void check(struct slice *s, const uint64_t *data, uint64_t at, unsigned count) {
  uint64_t right[BLOCK / 8];
  for (unsigned i = 0; i < count; i++, data += BLOCK / 8) {
    struct range *may = &s->may[at - s->first + i];
    uint32_t found = (uint32_t)data[1];
    if (!may->least && data[0] != ((at + i) ^ salt)) continue;  // from before the first write
    if (found < may->least || found > may->most) {
      fprintf(stderr, "witness: wanted generation %u to %u, found %u\n", may->least, may->most, found);
      give_up("of another time", at + i);
    }
    fill(right, at + i, found);
    if (memcmp(data, right, BLOCK)) give_up("is not what was written", at + i);
    may->least = may->most = found;  // and so it stays
    s->blocks_checked++;
  }
}

static void read_some(struct slice *s, uint64_t *data, uint64_t at, unsigned count) {
  while (pread(s->fd, data, count * BLOCK, (off_t)(at * BLOCK)) != (ssize_t)(count * BLOCK)) {
    s->errors++;
    reopen(s);
  }
  s->reads++;
  check(s, data, at, count);
}

static void write_some(struct slice *s, uint64_t *data, uint64_t at, unsigned count) {
  struct range *may = &s->may[at - s->first];
  for (unsigned i = 0; i < count; i++) fill(data + i * (BLOCK / 8), at + i, may[i].most = ++may[i].last);
  if (pwrite(s->fd, data, count * BLOCK, (off_t)(at * BLOCK)) != (ssize_t)(count * BLOCK)) {
    s->errors++;
    reopen(s);
    read_some(s, data, at, count);
    return;
  }
  s->writes++;
  for (unsigned i = 0; i < count; i++) may[i].least = may[i].last;
}

static void *work(void *argument) {
  struct slice *s = argument;
  uint64_t *data = aligned_alloc(4096, MOST * BLOCK);
  if (!data) exit(2);
  reopen(s);
  for (uint64_t at = 0; at < s->blocks; at += MOST) {
    uint64_t left = s->blocks - at;
    write_some(s, data, s->first + at, left < MOST ? (unsigned)left : MOST);
  }
  while (access(end_file, F_OK)) {
    unsigned count = (unsigned)(next(&s->random) >> 33) % MOST + 1;
    uint64_t at = s->first + (next(&s->random) >> 20) % (s->blocks - count + 1);
    if (next(&s->random) >> 62)
      write_some(s, data, at, count);
    else
      read_some(s, data, at, count);
  }
  reopen(s);
  for (uint64_t at = 0; at < s->blocks; at += MOST) {
    uint64_t left = s->blocks - at;
    read_some(s, data, s->first + at, left < MOST ? (unsigned)left : MOST);
  }
  free(data);
  close(s->fd);
  return NULL;
}

int main(int count, char **words) {
  if (count != 7) return 2;
  disk = words[1];
  end_file = words[6];
  uint64_t first = strtoull(words[2], NULL, 0) << 11, blocks = strtoull(words[3], NULL, 0) << 11;
  unsigned threads = (unsigned)strtoul(words[4], NULL, 0);
  uint64_t seed = strtoull(words[5], NULL, 0) + 1;
  salt = next(&seed);
  struct slice *slices = calloc(threads, sizeof *slices);
  pthread_t *ids = calloc(threads, sizeof *ids);
  if (!threads || !slices || !ids) return 2;
  for (unsigned i = 0; i < threads; i++) {
    slices[i] = (struct slice){.first = first + blocks / threads * i, .blocks = blocks / threads, .fd = -1};
    slices[i].random = next(&seed);
    slices[i].may = calloc(slices[i].blocks, sizeof *slices[i].may);
    if (!slices[i].may || pthread_create(&ids[i], NULL, work, &slices[i])) return 2;
  }
  struct slice sum = {0};
  for (unsigned i = 0; i < threads; i++) {
    pthread_join(ids[i], NULL);
    sum.writes += slices[i].writes;
    sum.reads += slices[i].reads;
    sum.errors += slices[i].errors;
    sum.blocks_checked += slices[i].blocks_checked;
  }
  printf("witness: %lu writes, %lu reads, %lu errors, %lu blocks right\n", sum.writes, sum.reads, sum.errors,
         sum.blocks_checked);
  return 0;
}
