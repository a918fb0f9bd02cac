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
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aes.h"
#include "digest.h"
#include "near.h"

enum { INVALID_FIELD = 0x4002, INVALID_OPCODE = 0x4001, INVALID_NS = 0x400b, LBA_RANGE = 0x4080, WRITE_FAULT = 0x280 };

static uint8_t programs[NEAR_PROGRAMS][NEAR_PROGRAM_BYTES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int commands;

static uint64_t setting(const char* name, uint64_t otherwise) {
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

// ---- the operators

struct result {
    uint8_t* bytes;
    uint32_t count;
};

static void put(struct result* r, uint64_t v) {
    for (int i = 0; i < 8; i++) r->bytes[r->count++] = (uint8_t)(v >> 8 * i);
}

static bool has_string(const uint8_t* p, const uint8_t* line, uint32_t bytes) {
    const uint8_t* text = p + 16;
    for (int s = 0; s < p[6]; text += p[8 + s], s++)
        for (uint32_t at = 0; at + p[8 + s] <= bytes; at++)
            if (p[4] & 1 ? !strncasecmp((const char*)line + at, (const char*)text, p[8 + s]) &&
                               !memchr(line + at, 0, p[8 + s])
                         : !memcmp(line + at, text, p[8 + s]))
                return true;
    return false;
}

static void grep(const uint8_t* p, const uint8_t* data, uint32_t bytes, struct result* r) {
    uint8_t* marks = calloc(1, bytes);
    uint64_t counted = 0, lines = 0, behind_first = bytes;
    bool unended = false, first_counts = false, last_counts = false;
    uint32_t begin = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        bool line_end = data[i] == p[5];
        if (!line_end && i != bytes - 1) continue;
        last_counts = has_string(p, data + begin, i + !line_end - begin) != ((p[4] & 4) != 0);
        unended = !line_end;
        if (!lines) first_counts = last_counts;
        if (!lines && line_end) behind_first = i + 1;
        lines++;
        counted += last_counts;
        marks[i] = last_counts;
        begin = i + 1;
    }
    for (uint32_t stretch = 0; (p[4] & 2) && stretch < bytes; stretch += 64) {
        uint64_t bits = 0;
        for (uint32_t n = 0; n < 64 && stretch + n < bytes; n++) bits |= (uint64_t)marks[stretch + n] << n;
        if (!bits) continue;
        put(r, stretch);
        put(r, bits);
    }
    free(marks);
    put(r, counted);
    put(r, lines);
    put(r, behind_first);
    put(r, (uint64_t)(unended + 2 * last_counts + 4 * first_counts));
}

static void aggregate(const uint8_t* p, const uint8_t* data, uint32_t bytes, uint32_t phase, struct result* r) {
    const uint32_t record = p[8] | p[9] << 8, column = p[10] | p[11] << 8, size = 1u << (p[4] & 3);
    __int128 sum = 0, least = 0, greatest = 0;
    uint64_t count = 0;
    for (uint32_t i = 0; i + size <= bytes; i++) {
        if ((phase + i) % record != column) continue;
        __int128 v = 0;
        for (uint32_t k = 0; k < size; k++) v += (__int128)data[i + k] << 8 * k;
        if (p[4] >= 4 && data[i + size - 1] >= 128) v -= (__int128)1 << 8 * size;
        if (!count || v < least) least = v;
        if (!count || v > greatest) greatest = v;
        sum += v;
        count++;
    }
    put(r, count);
    put(r, 0);
    put(r, (uint64_t)sum);
    put(r, (uint64_t)(sum >> 64));
    put(r, (uint64_t)least);
    put(r, (uint64_t)greatest);
}

static bool passes(const uint8_t* p, const uint8_t* record) {
    bool any = false, all = true;
    for (int i = 0; i < p[5]; i++) {
        const uint8_t* c = p + 16 + 16 * i;
        const uint32_t column = c[4] | (uint32_t)c[5] << 8, size = 1u << (c[0] & 3);
        __int128 v = 0, number = 0;
        for (uint32_t k = 0; k < size; k++) v += (__int128)record[column + k] << 8 * k;
        for (uint32_t k = 0; k < 8; k++) number += (__int128)c[8 + k] << 8 * k;
        if (c[0] >= 4 && record[column + size - 1] >= 128) v -= (__int128)1 << 8 * size;
        if (c[0] >= 4 && c[15] >= 128) number -= (__int128)1 << 64;
        const bool is[] = {v == number, v != number, v<number, v <= number, v> number, v >= number};
        if (c[2]) {
            any = any || all;
            all = true;
        }
        all = all && is[c[1]];
    }
    return any || all;
}

static uint32_t put_bytes(const struct result* r, const uint8_t* data, uint32_t bytes) {
    memcpy(r->bytes + r->count, data, bytes);
    return bytes;
}

static void filter(const uint8_t* p, const uint8_t* data, uint32_t bytes, uint32_t phase, struct result* r) {
    const uint32_t record = p[8] | (uint32_t)p[9] << 8;
    uint32_t records = 0;
    for (uint32_t i = 0; i + record <= bytes; i++) {
        if ((phase + i) % record) continue;
        if (p[4] & 1) {
            if (records % 8 == 0) r->bytes[r->count++] = 0;
            r->bytes[r->count - 1] |= (uint8_t)(passes(p, data + i) << records % 8);
        } else if (passes(p, data + i)) {
            if (!p[6]) r->count += put_bytes(r, data + i, record);
            for (const uint8_t* c = p + 16 + 16 * p[5]; c < p + 16 + 16 * p[5] + 4 * p[6]; c += 4)
                r->count += put_bytes(r, data + i + (c[0] | c[1] << 8), c[2] | (uint32_t)c[3] << 8);
        }
        records++;
    }
}

// What commands brought of a message, and what it came to.
static struct message {
    struct sha256 sum;
    bool open, ended;
    uint8_t digest[SHA256_BYTES];
    uint64_t asked;
} messages[NEAR_PROGRAMS][4];
static uint64_t hashes;

static void hash(const uint8_t* p, struct message* of, const uint8_t* data, uint32_t bytes, uint32_t phase,
                 struct result* r) {
    struct message* m = of + (phase >> 4 & 3);
    uint64_t every = setting("DBNEAR_REFUSE", 0), most = setting("DBNEAR_TAKE", 16384);
    memset(r->bytes, 0, 64);
    if (p[4]) {
        put(r, bytes);
        put(r, 3);
        r->count = 32;
        put(r, crc32c(data, bytes));
        r->count = 64;
        return;
    }
    uint32_t skip = (phase >> 6) * 64, left = bytes > skip ? bytes - skip : 0,
             taken = left < most ? left : (uint32_t)most;
    bool refused = every && ++hashes % every == 0, asks = phase & 4;
    if (!(phase & 2) || taken < left) taken -= taken % 64;
    if (refused || asks) taken = 0;
    if ((phase & 1) && !asks) {
        *m = (struct message){.open = taken != 0};
        sha256_begin(&m->sum);
    }
    if (m->open && !m->ended && taken) {
        sha256_more(&m->sum, data + skip, taken);
        m->ended = (phase & 2) && taken == left;
    }
    if (asks) m->asked++;
    bool there = m->open && m->ended && asks && m->asked >= every;
    put(r, m->open ? m->sum.bytes : 0);
    put(r, (uint64_t)(there + 2 * (m->open && m->ended)));
    struct sha256 sum = m->sum;
    sha256_end(&sum, m->digest);
    if (there) memcpy(r->bytes + 32, m->digest, SHA256_BYTES);
    r->count = 64;
}

static int crypted(const uint8_t* p, uint64_t slba, uint32_t lba, const uint8_t* data, uint32_t bytes,
                   struct result* r) {
    const char* path = getenv("DBNEAR_KEY");
    uint8_t key[64];
    FILE* f = path ? fopen(path, "re") : NULL;
    size_t n = f ? fread(key, 1, sizeof key, f) : 0;
    if (f) fclose(f);
    if (p[6] != 3 || n != (p[4] ? 48 : 64)) return 0x281;  // Unrecovered Read Error
    struct aes one, two;
    uint64_t number = slba;
    for (int i = 0; i < 8; i++) number += (uint64_t)p[8 + i] << 8 * i;
    aes_begin(&one, key, 32);
    aes_begin(&two, key + 32, 32);
    memcpy(r->bytes, data, bytes);
    if (p[4]) aes_ctr(&one, key + 32, number * (lba / 16), r->bytes, bytes);
    else aes_xts(&one, &two, p[5], number, lba, r->bytes, bytes);
    r->count = bytes;
    return 0;
}

static bool csv_number(const uint8_t* text, uint32_t bytes, __int128* value) {
    uint32_t i = text[0] == '-' || text[0] == '+', whole = 0, decimals = 0;
    __int128 v = 0;
    for (; i < bytes && text[i] >= '0' && text[i] <= '9'; i++, whole++) v = 10 * v + (text[i] - '0');
    if (i < bytes && text[i] == '.')
        for (i++; i < bytes && text[i] >= '0' && text[i] <= '9' && decimals < 7; i++, decimals++)
            v = 10 * v + (text[i] - '0');
    if (i < bytes || whole < 1 || whole > 12 || decimals > 6) return false;
    for (; decimals < 6; decimals++) v *= 10;
    *value = text[0] == '-' ? -v : v;
    return true;
}

static void csv(const uint8_t* p, const uint8_t* data, uint32_t bytes, uint32_t phase, struct result* r) {
    uint64_t count = 0, others = 0, behind = 0;
    __int128 sum = 0, least = 0, greatest = 0, v;
    uint32_t i = phase == 0xffff ? 0 : phase, begin = i, field = 0;
    bool looks = phase != 0xffff;
    for (; i < bytes; i++) {
        bool line = data[i] == p[5];
        if (!line && data[i] != p[4] && data[i] != '\r') continue;
        if (looks && field == p[6] && i > begin) {
            if (csv_number(data + begin, i - begin, &v)) {
                if (!count || v < least) least = v;
                if (!count || v > greatest) greatest = v;
                sum += v;
                count++;
            } else others++;
        }
        field = line ? 0 : field + 1;
        looks = looks || line;
        begin = i + 1;
        if (line) behind = i + 1;
    }
    put(r, count);
    put(r, others);
    put(r, (uint64_t)sum);
    put(r, (uint64_t)(sum >> 64));
    put(r, (uint64_t)least);
    put(r, (uint64_t)greatest);
    put(r, behind);
    put(r, 0);
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
    const char *touched = getenv("DBNEAR_TOUCH"), *opened = getenv("DBNEAR_OPEN");
    if (touched && number == 0) utimensat(AT_FDCWD, touched, NULL, 0);
    // It does not get it, but the lease is asked back.
    if (opened && number == 2 && open(opened, O_RDONLY | O_NONBLOCK) >= 0) abort();
}

static bool legal_filter(const uint8_t* p, uint32_t bytes) {
    uint32_t record = p[8] | (uint32_t)p[9] << 8, all = 16u * (1u + p[5] + (p[6] != 0) + p[1]);
    if (p[1] > 1 || p[4] > !p[1] || p[6] > (p[4] ? 0 : 4) || p[5] < 1 || p[5] > 4 || record < 1 || record > 1024 ||
        all > bytes)
        return false;
    for (const uint8_t* c = p + 16; c < p + 16 + 16 * p[5]; c += 16) {
        uint32_t column = c[4] | (uint32_t)c[5] << 8, size = 1u << (c[0] & 3);
        bool negative = c[0] >= 4 && c[8 + size - 1] >= 128;
        if (c[0] > 7 || c[1] > 5 || c[2] > (c > p + 16) || c[3] || c[6] || c[7] || column + size > record) return false;
        for (uint32_t k = size; k < 8; k++)
            if (c[8 + k] != (negative ? 255 : 0)) return false;
    }
    uint32_t next = 0;
    for (const uint8_t* c = p + 16 + 16 * p[5]; c < p + 16 + 16 * p[5] + 4 * p[6]; c += 4) {
        uint32_t at = c[0] | (uint32_t)c[1] << 8, size = c[2] | (uint32_t)c[3] << 8;
        if (at < next || !size || at + size > record) return false;
        next = at + size;
    }
    return !p[1] || (p[all - 16] == 2 && p[all - 12] < 8);
}

static bool legal(const uint8_t* p, uint32_t bytes) {
    uint32_t pieces = 0, all = 16;
    if (bytes < 16) return false;
    if (p[0] == 2) {
        uint32_t record = p[8] | p[9] << 8, column = p[10] | p[11] << 8;
        return p[4] < 8 && record && column + (1u << (p[4] & 3)) <= record;
    }
    if (p[0] == 3) return legal_filter(p, bytes);
    if (p[0] == 4) return p[4] < 2;
    if (p[0] == 6) return p[4] != p[5] && !p[7];
    if (p[0] == 5) return !p[1] && p[4] < 2 && p[5] < 2 && p[6] > 0 && p[6] < 16;
    if (p[0] != 1 || p[4] > 7 || p[6] < 1 || p[6] > 8) return false;
    for (int i = 0; i < p[6]; i++) {
        if (p[8 + i] < 1 || p[8 + i] > 64) return false;
        pieces += (p[8 + i] + 15u) / 16;
        all += p[8 + i];
    }
    return pieces <= 8 && all <= bytes && !memchr(p + 16, p[5], all - 16);
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
    memset(messages[c->cdw10], 0, sizeof messages[0]);
    if (!c->cdw11) return 0;
    memcpy(p, (const void*)(uintptr_t)c->addr, c->cdw11);
    if (legal(p, c->cdw11)) return 0;
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
        if (p[0] == 1) grep(p, data, length, &r);
        else if (p[0] == 5) status = crypted(p, slba, lba, data, length, &r);
        else if (p[0] == 6) csv(p, data, length, c->cdw15 >> 16, &r);
        else if (p[0] == 4) hash(p, messages[c->cdw15 & 3], data, length, c->cdw15 >> 16, &r);
        else if (p[0] == 3 && p[1]) {
            struct result records = {malloc(bytes), 0};
            if (!records.bytes) abort();
            filter(p, data, length, c->cdw15 >> 16, &records);
            aggregate(p + 16 * (1 + p[5] + (p[6] != 0)), records.bytes, records.count, 0, &r);
            free(records.bytes);
        } else if (p[0] == 3) filter(p, data, length, c->cdw15 >> 16, &r);
        else aggregate(p, data, length, c->cdw15 >> 16, &r);
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
