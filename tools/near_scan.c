// SPDX-License-Identifier: Apache-2.0
// A file in parts: each a command, or looked at on the CPU. Several are under way, and results come in order.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "near.h"

enum { TRIES = 4, RESULT_LEAST = 4096 };

struct slot {
    struct near_part part;
    bool full;
    int error;  // 0 or -errno
    uint8_t *data, *result;
    size_t room;  // of result
    uint32_t bytes;
};

struct scan {
    struct near_file* file;
    const struct near_job* job;
    bool drive_only;
    uint32_t step;  // most bytes of a part
    pthread_mutex_t lock;
    pthread_cond_t changed;
    // Under the lock.
    size_t extent;    // of the next part
    uint64_t within;  // bytes of it that are given out
    uint64_t given, taken;
    bool stop, drive_off;
    uint32_t result_room;
    char *note, *why;
    int slots;
    struct slot* slot;
};

// ---- one part

static int room_for(struct slot* s, size_t bytes) {
    if (s->room >= bytes) return 0;
    free(s->result);
    s->room = 0;
    size_t pages = (bytes + NEAR_PAGE - 1) / NEAR_PAGE * NEAR_PAGE;
    s->result = aligned_alloc(NEAR_PAGE, pages);
    if (!s->result) return -ENOMEM;
    s->room = pages;
    return 0;
}

static uint32_t phase_of(const struct scan* k, const struct near_part* p) {
    if (k->job->phase) return k->job->phase(k->job->context, p);
    return k->job->record ? (uint32_t)(p->offset % k->job->record) : 0;
}

static int on_cpu(struct scan* k, struct slot* s) {
    if (!s->data && !(s->data = malloc(k->step))) return -ENOMEM;
    int e = room_for(s, (size_t)s->part.bytes + RESULT_LEAST);
    if (!e) e = near_read(k->file, s->part.offset, s->data, s->part.bytes);
    if (!e) s->bytes = k->job->soft(k->job->context, s->data, s->part.bytes, phase_of(k, &s->part), s->result);
    return e;
}

// 0, an NVMe status, or -errno.
static int command(struct scan* k, struct slot* s) {
    struct near_device* d = k->file->device;
    uint32_t most = (s->part.bytes + d->block_bytes - 1) / d->block_bytes * d->block_bytes;  // always enough
    int status = 0;
    for (int i = 0; i < TRIES; i++) {
        pthread_mutex_lock(&k->lock);
        uint32_t room = k->result_room;
        pthread_mutex_unlock(&k->lock);
        if (room > most) room = most;
        if ((status = room_for(s, room))) return status;
        status = near_command(d, &s->part, phase_of(k, &s->part), s->result, room, &s->bytes);
        if (status == 0) return s->bytes <= room ? 0 : -EPROTO;
        if ((status & NEAR_SC_MASK) != NEAR_SC_TOO_LARGE || s->bytes <= room || s->bytes > most) break;
        // A larger buffer, for the commands behind this one too.
        uint32_t larger = (s->bytes + 63) / 64 * 64;
        pthread_mutex_lock(&k->lock);
        if (larger > k->result_room) k->result_room = larger;
        pthread_mutex_unlock(&k->lock);
    }
    return status;
}

static void process(struct scan* k, struct slot* s, bool drive_off) {
    s->error = 0;
    if (s->part.on_drive && !drive_off) {
        int status = command(k, s);
        if (!status) return;
        pthread_mutex_lock(&k->lock);
        near_status_text(status, k->note);
        // What the media cannot read is the matter of this command; anything else is of all.
        if (status < 0 || (status >> 8 & 7) != 2) k->drive_off = true;
        if (k->drive_only) {
            s->error = -ECANCELED;
            near_status_text(status, k->why);
        }
        pthread_mutex_unlock(&k->lock);
    }
    if (!s->error) s->error = on_cpu(k, s);
}

// ---- all parts

// The next part in the file's order; false behind the last one.
static bool next_part(struct scan* k, struct near_part* p) {
    const struct near_file* f = k->file;
    if (k->extent == f->count) return false;
    const struct near_extent* e = &f->extents[k->extent];
    uint64_t left = e->bytes - k->within;
    uint32_t bytes = left < k->step ? (uint32_t)left : k->step;
    *p = (struct near_part){e->offset + k->within, e->place + k->within, bytes, e->on_drive};
    k->within += bytes;
    if (k->within == e->bytes) {
        k->extent++;
        k->within = 0;
    }
    return true;
}

static void* work(void* context) {
    struct scan* k = context;
    pthread_mutex_lock(&k->lock);
    while (!k->stop) {
        if (k->given - k->taken == (uint64_t)k->slots) {
            pthread_cond_wait(&k->changed, &k->lock);
            continue;
        }
        struct slot* s = &k->slot[k->given % (uint64_t)k->slots];
        if (!next_part(k, &s->part)) break;
        bool drive_off = k->drive_off;
        k->given++;
        pthread_mutex_unlock(&k->lock);
        process(k, s, drive_off);
        pthread_mutex_lock(&k->lock);
        s->full = true;
        pthread_cond_broadcast(&k->changed);
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

// Results in order, until the last one or until the tool has enough.
static int take_all(struct scan* k) {
    int e = 0;
    pthread_mutex_lock(&k->lock);
    while (!e) {
        struct slot* s = &k->slot[k->taken % (uint64_t)k->slots];
        if (!s->full) {
            if (k->taken == k->given && k->extent == k->file->count) break;
            pthread_cond_wait(&k->changed, &k->lock);
            continue;
        }
        pthread_mutex_unlock(&k->lock);
        e = s->error;
        if (!e) e = k->job->take(k->job->context, &s->part, s->result, s->bytes);
        pthread_mutex_lock(&k->lock);
        s->full = false;
        k->taken++;
        pthread_cond_broadcast(&k->changed);
    }
    k->stop = true;
    pthread_cond_broadcast(&k->changed);
    pthread_mutex_unlock(&k->lock);
    return e;
}

// Most bytes of a part.
static uint32_t step_of(const struct near_file* f, const struct near_job* job) {
    uint32_t own = near_platform()->most_bytes;
    if (!f->device) return own ? own : NEAR_MOST_BYTES;
    const uint32_t block = f->device->block_bytes, most = f->device->most_bytes, quarter = most / 4 / block * block;
    return !job->large ? most : quarter ? quarter : block;
}

int near_scan(struct near_file* f, const struct near_job* job, const struct near_options* o, char* note, char* why) {
    struct scan k = {
        .file = f,
        .job = job,
        .drive_only = o->drive,
        .step = step_of(f, job),
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
        .result_room = job->result_room,
        .note = note,
        .why = why,
        .slots = 2 * o->jobs,
    };
    pthread_t threads[64];
    int started = 0, e = 0;
    if (!f->count) return 0;
    k.slot = calloc((size_t)k.slots, sizeof *k.slot);
    if (!k.slot) return -ENOMEM;
    while (started < o->jobs && !(e = pthread_create(&threads[started], NULL, work, &k))) started++;
    e = started ? take_all(&k) : -e;
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < k.slots; i++) {
        free(k.slot[i].data);
        free(k.slot[i].result);
    }
    free(k.slot);
    return e;
}

// ---- one path

void near_say(const struct near_options* o, const char* path, const char* text) {
    fflush(stdout);
    fprintf(stderr, "%s: %s: %s\n", o->tool, path, text);
}

static int error(const struct near_options* o, const char* path, int e) {
    const char* text = e == -ESTALE    ? "it became shorter meanwhile"
                       : e == -ENOTBLK ? "neither a file nor a block device"
                       : e == -EPROTO  ? "what the drive says makes no sense"
                                       : strerror(-e);
    near_say(o, path, text);
    return 2;
}

bool near_lies_whole(const struct near_file* f, char* why) {
    for (size_t i = 0; i < f->count; i++)
        if (!f->extents[i].on_drive) {
            snprintf(why, NEAR_WHY, "a part of it lies on no drive: a hole, or never written");
            return false;
        }
    return true;
}

int near_run(const char* path, const struct near_job* job, const struct near_options* o) {
    struct near_file f;
    char why[NEAR_WHY] = "", note[NEAR_WHY] = "", text[NEAR_WHY + 64];
    int result = 0, e = near_open(&f, path);
    if (e) {
        result = error(o, path, e);
        goto done;
    }
    if (o->cpu || !f.size) {
        near_on_cpu(&f);
    } else {
        if (f.memory) snprintf(why, sizeof why, "the kernel makes it when it is read");
        else if (job->cpu_why) snprintf(why, sizeof why, "%s", job->cpu_why);
        else if (!near_on_drive(&f, why) && (!job->whole || near_lies_whole(&f, why)))
            near_load(f.device, job->program, job->program_bytes, why);
        if (*why) {
            snprintf(text, sizeof text, "%s: %s", o->drive ? "not by the drive" : "on the CPU", why);
            near_say(o, path, text);
            result = o->drive ? 2 : 0;
            if (result) goto done;
            near_on_cpu(&f);
        }
    }
    job->begin(job->context, &f);
    e = (job->scan ? job->scan : near_scan)(&f, job, o, note, why);
    if (e >= 0) e = job->end(job->context, &f);
    if (*note && !o->drive) {
        snprintf(text, sizeof text, "%son the CPU: %s", job->whole ? "" : "partly ", note);
        near_say(o, path, text);
    }
    if (e == -ECANCELED) {
        near_say(o, path, why);
        result = 2;
    } else if (e < 0) {
        result = error(o, path, e);
    }
    if (!near_unchanged(&f)) {
        near_say(o, path, "it changed meanwhile, so the result may be wrong");
        result = 2;
    }
done:
    near_close(&f);
    return result;
}
