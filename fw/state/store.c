// SPDX-License-Identifier: Apache-2.0
#include "state/store.h"

#include "base/bytes.h"
#include "state/drive.h"
#include "state/function.h"

#define MAGIC (EXTENTS ? 0x32584244u : 0x32534244u)  // "DBX2", "DBS2": another layout has another
#define LINE 64u                                     // bytes of the media that a word has to itself
#define COPY_WORDS (SETTINGS_PAGES / 2u * (PAGE_SIZE / LINE))

enum { W_MAGIC, W_SEQUENCE, W_COUNT, W_CRC, W_FIRST };

_Static_assert(COPY_WORDS * 4u <= PAGE_SIZE, "a copy is put together in a page");

// At most: counters, those of `walk`, features, namespaces, what VFs are attached to, shares of functions.
#define NS_WORDS 10u
#define MOST_WORDS                                                                                            \
    (3u + 15u + 6u + FUNCTIONS * (1u + VALUES) + MAX_NS * NS_WORDS + (FUNCTIONS - 1u) * 2u + FUNCTIONS * 7u + \
     EXTENTS * (1u + 2u * EXTENT_RUNS))
// With extents and several functions there are 48 namespaces at most (db_vcsd).
_Static_assert(W_FIRST + MOST_WORDS - (EXTENTS && FUNCTIONS > 1 ? 16u * NS_WORDS : 0) <= COPY_WORDS,
               "a full drive's settings fit");

// Registrants have what is left.
#define REGISTRANT_WORDS 8u

static uint32_t* words_of(struct drive* drive) { return (uint32_t*)(void*)drive->buffers->page; }

static uint64_t place(const struct drive* drive, bool second, uint32_t word) {
    return drive->store.base + ((second ? COPY_WORDS : 0) + word) * (uint64_t)LINE;
}

/// CRC-32C, four bits at a time, of the sequence number, the count and the words.
static uint32_t crc(const uint32_t* words) {
    static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
                                       0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    uint32_t sum = ~0u;
    for (uint32_t i = W_SEQUENCE; i < W_FIRST + words[W_COUNT]; i++) {
        if (i == W_CRC) continue;
        sum ^= words[i];
        for (uint32_t n = 0; n < 8; n++) sum = sum >> 4 ^ table[sum & 15u];
    }
    return ~sum;
}

// ---------------------------------------------------------------- what is saved: each thing once, for both ways
struct walk {
    uint32_t* at;
    const uint32_t* end;  // load: what is not there is 0; save: behind it there is no room
    bool load;
};

static void word(struct walk* w, uint32_t* value) {
    if (w->load) *value = w->at < w->end ? *w->at : 0;
    else if (w->at < w->end) *w->at = *value;
    w->at++;
}

static void two_words(struct walk* w, uint64_t* value) {
    uint32_t low = (uint32_t)*value, high = (uint32_t)(*value >> 32);
    word(w, &low);
    word(w, &high);
    *value = (uint64_t)high << 32 | low;
}

static void walk_namespace(struct walk* w, struct namespace* ns, struct attachment* seen, struct binding* b,
                           struct reservation* resv) {
    uint32_t is = (uint32_t)ns->exists | (uint32_t)ns->lba4k << 1 | (uint32_t)seen->attached << 2 |
                  (uint32_t)b->own << 3 | (uint32_t)ns->protection << 4 | (uint32_t)ns->shared << 6 |
                  (uint32_t)ns->spare << 8 | (uint32_t)ns->generation << 16;
    uint32_t does = b->op | (uint32_t)b->slot << 8;
    if (FUNCTIONS > 1) is |= (uint32_t)resv->persists << 7;
    word(w, &is);
    if (!w->load && !ns->exists) return;
    ns->exists = is & 1u;
    if (!ns->exists) return;
    word(w, &does);
    two_words(w, &ns->base);
    two_words(w, &ns->pages);
    ns->lba4k = is >> 1 & 1u;
    seen->attached = is >> 2 & 1u;
    b->own = is >> 3 & 1u;
    ns->protection = is >> 4 & 3u;
    ns->shared = is >> 6 & 1u;
    if (FUNCTIONS > 1) resv->persists = is >> 7 & 1u;
    ns->spare = (uint8_t)(is >> 8);
    ns->generation = (uint16_t)(is >> 16);
    b->op = (uint8_t)does;
    b->slot = (uint8_t)(does >> 8);
    for (uint32_t i = 0; i < 4 && b->own; i++) word(w, &b->parameters[i]);
}

_Static_assert(sizeof(struct history) == 7 * sizeof(uint64_t), "seven numbers, in the order in which they are saved");

/// What is still 0 takes no words: the first save holds up an enable.
static void walk_history(struct walk* w, struct history* h) {
    uint64_t* values = (uint64_t*)(void*)h;
    const uint32_t count = sizeof *h / sizeof *values;
    uint32_t there = 0;
    for (uint32_t i = 0; i < count; i++) there |= (uint32_t)(values[i] != 0) << i;
    word(w, &there);
    for (uint32_t i = 0; i < count; i++) {
        if (there >> i & 1u) two_words(w, &values[i]);
    }
}

static void walk_features(struct walk* w, struct settings* s) {
    word(w, &s->saved);
    for (uint32_t i = 0; i < VALUES; i++) {
        if (s->saved >> i & 1u) word(w, &s->saved_value[i]);
    }
}

static void walk_share(struct walk* w, struct share* s) {
    uint32_t is = s->weight | (uint32_t)s->least << 8 | (uint32_t)s->most << 17 | (uint32_t)(s->iops != 0) << 26 |
                  (uint32_t)(s->bytes_per_s != 0) << 27 | (uint32_t)(s->deadline_us != 0) << 28;
    word(w, &is);
    s->weight = (uint8_t)is;
    s->least = is >> 8 & 0x1ffu;
    s->most = is >> 17 & 0x1ffu;
    if (is >> 26 & 1u) {
        word(w, &s->iops);
        word(w, &s->burst);
    }
    if (is >> 27 & 1u) {
        two_words(w, &s->bytes_per_s);
        word(w, &s->burst_bytes);
    }
    if (is >> 28 & 1u) {
        uint32_t deadline = s->deadline_us;
        word(w, &deadline);
        s->deadline_us = (uint16_t)deadline;
    }
}

#define ITS_SHARE (1u << 31)    // in the word that says which features there are: its share follows
#define SHARE_OF_PF (1u << 30)  // ... of the first VF alone: the PF's too
_Static_assert(VALUES < 30, "bits of features and those of shares are in one word");

/// What the namespaces of the PF do not say, and shares.
static void walk_vf(struct walk* w, struct drive* drive, uint32_t place) {
    struct function* vf = &drive->functions[place];
    struct shares* shares = drive->shares;
    if (shares->saved >> place & 1u) vf->settings.saved |= ITS_SHARE;
    if (place == 1 && (shares->saved & 1u)) vf->settings.saved |= SHARE_OF_PF;
    walk_features(w, &vf->settings);
    uint32_t there = vf->settings.saved;
    vf->settings.saved = there & ~(ITS_SHARE | SHARE_OF_PF);
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t attached = 0;
        for (uint32_t i = 0; i < 32; i++) attached |= (uint32_t)vf->ns[1 + 32 * half + i].attached << i;
        word(w, &attached);
        for (uint32_t i = 0; i < 32; i++) vf->ns[1 + 32 * half + i].attached = attached >> i & 1u;
    }
    if (there & SHARE_OF_PF) {
        shares->saved |= 1u;
        walk_share(w, &shares->kept[0]);
    }
    if (there & ITS_SHARE) {
        shares->saved |= 1u << place;
        walk_share(w, &shares->kept[place]);
    }
}

#if EXTENTS
/// With what places mean on this hardware. Saved by another one, all blocks would be somewhere else; a firmware that saved only
/// how many there are is believed.
static void walk_extents(struct walk* w, struct extents* e) {
    const struct hw_extents* hw = &e->hw;
    uint32_t here = hw->granule << 6 | hw->ssds << 12 | (uint32_t)hw->stripe << 14 | hw->each << 16;
    uint32_t is = e->count | here;
    word(w, &is);
    e->count = is & 63u;
    e->elsewhere = w->load && is >> 6 && is - e->count != here;
    if (e->count > EXTENT_RUNS) e->count = EXTENT_RUNS;
    for (uint32_t i = 0; i < e->count; i++) {
        uint32_t which = e->runs[i].granule | (uint32_t)e->runs[i].count << 16;
        word(w, &which);
        word(w, &e->runs[i].place);
        e->runs[i].granule = (uint16_t)which;
        e->runs[i].count = (uint16_t)(which >> 16);
    }
}
#endif

static bool outlasts_power(const struct reservations* all, const struct registrant* reg) {
    const uint32_t* id = reg->host.id;
    return reg->nsid && all->ns[reg->nsid].persists && (id[0] | id[1] | id[2] | id[3]);
}

static uint32_t registrants_to_save(const struct reservations* all) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < MAX_REGISTRANTS; i++) count += outlasts_power(all, &all->of[i]);
    return count;
}

/// Registrants of namespaces whose reservations outlast power, each with the reservation. A host with identifier 0 is
/// another one then.
static void walk_registrants(struct walk* w, struct drive* drive, uint32_t count) {
    struct reservations* all = reservations_of(drive);
    // After a second start they are still there, with those that power would take.
    uint32_t places = w->load && drive->hw.restarted ? 0 : MAX_REGISTRANTS;
    for (uint32_t i = 0; i < places && count; i++) {
        struct registrant* reg = &all->of[i];
        if (!w->load && !outlasts_power(all, reg)) continue;
        count--;
        struct reservation* resv = &all->ns[reg->nsid];
        uint32_t is = reg->nsid | (uint32_t)(all->of + resv->holder == reg) << 8 | (uint32_t)reg->host.wide << 9 |
                      (uint32_t)reg->owner << 10 | (uint32_t)resv->type << 16;
        word(w, &is);
        if ((is & 0xffu) == 0 || (is & 0xffu) > MAX_NS) return;  // another layout
        reg->nsid = (uint8_t)is;
        reg->host.wide = is >> 9 & 1u;
        reg->owner = is >> 10 & 31u;
        resv = &all->ns[reg->nsid];
        resv->type = (uint8_t)(is >> 16);
        if (is >> 8 & 1u) resv->holder = (uint8_t)i;
        word(w, &resv->generation);
        two_words(w, &reg->key);
        for (uint32_t n = 0; n < 4; n++) word(w, &reg->host.id[n]);
    }
    if (w->load) w->at += count * REGISTRANT_WORDS;
}

uint32_t store_registrants(const struct drive* drive) {
    uint32_t words = MOST_WORDS - (MAX_NS - drive->namespaces.count) * NS_WORDS + 1;
    if (drive->hw.key_slots == 0) words -= drive->hw.num_ns * 4u;
    uint32_t most = (COPY_WORDS - W_FIRST - words) / REGISTRANT_WORDS;
    return most < MAX_REGISTRANTS ? most : MAX_REGISTRANTS;
}

/// All that is saved. Namespaces beyond those that the hardware has room for stay where they are; nobody sees them.
static void walk(struct walk* w, struct drive* drive) {
    struct namespaces* all = &drive->namespaces;
    uint32_t generation = all->generation;
    if (FUNCTIONS > 1 && !w->load) generation |= registrants_to_save(reservations_of(drive)) << 16;
    word(w, &drive->boot->power_cycles);
    word(w, &drive->boot->unsafe_shutdowns);
    word(w, &drive->boot->in_use);
    walk_history(w, &drive->before);
    walk_features(w, &drive->functions[0].settings);
    word(w, &drive->operators.config);
    word(w, &drive->operators.addend);
    word(w, &generation);
    all->generation = (uint16_t)generation;
    two_words(w, &all->unused);
    word(w, &all->count);
    uint32_t there = FUNCTIONS > 1 && w->load ? all->count : MAX_NS;  // words of functions follow
    if (all->count < drive->hw.num_ns) all->count = drive->hw.num_ns;
    for (uint32_t i = 1; i <= all->count && i <= MAX_NS && (FUNCTIONS == 1 || i <= there); i++)
        walk_namespace(w, &all->of[i], &drive->functions[0].ns[i], &drive->operators.bound[i],
                       FUNCTIONS > 1 ? &reservations_of(drive)->ns[i] : NULL);
#if EXTENTS
    walk_extents(w, drive->extents);
#endif
    if (FUNCTIONS > 1) walk_registrants(w, drive, generation >> 16);
    for (uint32_t i = 1; FUNCTIONS > 1 && i < drive->hw.num_fn; i++) walk_vf(w, drive, i);
}

void store_count(struct hw_counters* sum, bool off) {
    struct hw_counters now;
    hw_counters(&now);
    uint64_t *to = (uint64_t*)(void*)sum, *counted = (uint64_t*)(void*)&now;
    for (uint32_t i = 0; i < sizeof now / sizeof *counted; i++) to[i] += off ? -counted[i] : counted[i];
}

// ---------------------------------------------------------------- load
/// One copy into the buffers' page. BLANK: it has no magic.
static enum store_found read_copy(struct drive* drive, bool second) {
    uint32_t* words = words_of(drive);
    for (uint32_t i = 0; i < W_FIRST; i++) {
        if (!hw_media_read(place(drive, second, i), &words[i])) return STORE_DAMAGED;
        if (i == W_MAGIC && words[i] != MAGIC) return STORE_BLANK;
    }
    if (words[W_COUNT] > COPY_WORDS - W_FIRST) return STORE_DAMAGED;
    for (uint32_t i = W_FIRST; i < W_FIRST + words[W_COUNT]; i++) {
        if (!hw_media_read(place(drive, second, i), &words[i])) return STORE_DAMAGED;
    }
    return crc(words) == words[W_CRC] ? STORE_LOADED : STORE_DAMAGED;
}

void store_load(struct drive* drive) {
    struct store* store = &drive->store;
    uint32_t sequence[2] = {0, 0};
    enum store_found found[2];
    drive->namespaces.total = drive->hw.media_pages;
    store->found = STORE_BLANK;
    if (drive->hw.media_pages < 4u * SETTINGS_PAGES) return;
    drive->namespaces.total -= SETTINGS_PAGES;
    store->base = drive->namespaces.total << 12;
#if EXTENTS
    uint64_t pages = extents_pages(drive, extents_total(drive));
    if (drive->namespaces.total > pages) drive->namespaces.total = pages;
#endif
    for (uint32_t i = 0; i < 2; i++) {
        // A media that has not answered is not asked again: its answer may still come.
        found[i] = i && !hw_media_idle() ? STORE_DAMAGED : read_copy(drive, i);
        if (found[i] == STORE_LOADED) sequence[i] = words_of(drive)[W_SEQUENCE];
    }
    if (found[0] != STORE_LOADED && found[1] != STORE_LOADED) {
        if (found[0] == STORE_DAMAGED || found[1] == STORE_DAMAGED) store->found = STORE_DAMAGED;
        return;
    }
    bool newer = (int32_t)(sequence[1] - sequence[0]) > 0;
    store->second = found[1] == STORE_LOADED && (found[0] != STORE_LOADED || newer);
    store->sequence = sequence[store->second];
    if (!store->second && read_copy(drive, false) != STORE_LOADED) {  // the page has the other one
        store->found = STORE_DAMAGED;
        return;
    }
    store->found = STORE_LOADED;
    uint32_t* words = words_of(drive);
    struct walk w = {.at = words + W_FIRST, .end = words + W_FIRST + words[W_COUNT], .load = true};
    walk(&w, drive);
    drive->functions[0].errors.count = drive->before.errors;
    if (drive->hw.restarted) {  // the hardware counts on, and what it had counted when this was saved is in it already
        store_count(&drive->before.io, true);
    }
    if (!ns_fit(drive) || (EXTENTS && drive->extents->elsewhere))
        store->found = STORE_DAMAGED;  // those of a larger media, or of SSDs that are others
}

// ---------------------------------------------------------------- save
/// What is written to the other copy than the newest, one after the other; that one stays whole until this is. Steps: the
/// magic away, flush, all else, flush, the magic, flush. So a copy that has its magic is whole.
enum { S_AWAY, S_FLUSH_AWAY, S_WORDS };

#if FUNCTIONS == 1
static uint32_t* saving_of(struct drive* drive) { return drive->buffers->settings; }
#else
static uint32_t* saving_of(struct drive* drive) { return words_of(drive); }
#endif

/// The step after the last word.
static uint32_t after_words(struct drive* drive) { return S_WORDS + W_FIRST + saving_of(drive)[W_COUNT] - W_SEQUENCE; }

static bool flushes(struct drive* drive, uint32_t step) {
    return step == S_FLUSH_AWAY || step == after_words(drive) || step == after_words(drive) + 2;
}

static void begin_step(struct drive* drive) {
    uint32_t step = drive->store.step, word = W_MAGIC, value = 0;
    if (flushes(drive, step)) {
        hw_settings_flush_start();
        return;
    }
    if (step == after_words(drive) + 1) {
        value = MAGIC;
    } else if (step != S_AWAY) {
        word = step - S_WORDS + W_SEQUENCE;
        value = saving_of(drive)[word];
    }
    hw_media_write_start(place(drive, !drive->store.second, word), value);
}

#if FUNCTIONS > 1
/// Another word, or another order, is another sum, but by chance.
static uint32_t sum_of(const uint32_t* words) {
    uint32_t sum = 0;
    for (uint32_t i = W_SEQUENCE; i < W_FIRST + words[W_COUNT]; i++) {
        if (i != W_CRC) sum = (sum << 5 | sum >> 27) + words[i];
    }
    return sum;
}
#endif

/// All but the magic and the sum. False: more than there is room for: hardware that has saved more of one thing was followed by
/// some that has more of another.
static bool collect(struct drive* drive) {
    uint32_t* words = saving_of(drive);
    struct walk w = {.at = words + W_FIRST, .end = words + COPY_WORDS};
    walk(&w, drive);
    words[W_SEQUENCE] = drive->store.sequence + 1;
    words[W_COUNT] = (uint32_t)(w.at - words) - W_FIRST;
    return w.at <= w.end;
}

void store_save_start(struct drive* drive) {
    struct store* store = &drive->store;
    store->part = false;
    store->stale = store->base != 0;
    if (!store->stale) return;
    uint32_t* words = saving_of(drive);
    struct history kept = drive->before;
    drive->before.us += hw_time() - drive->started_at;
    drive->before.errors = drive->functions[0].errors.count;
    store_count(&drive->before.io, false);
    store->saving = collect(drive);
#if FUNCTIONS > 1
    store->counted = drive->before;
#endif
    drive->before = kept;
    if (!store->saving) return;
    words[W_CRC] = crc(words);
#if FUNCTIONS > 1
    store->crc = words[W_CRC];
    store->sum = sum_of(words);
    store->gathered = true;
#endif
    store->step = S_AWAY;
    store->begun = false;
}

#if FUNCTIONS > 1
/// The words are in the page. Where that has been another's meanwhile they are gathered again; and towards the end, so that a
/// save in which something has changed begins anew, with that.
static void gather(struct drive* drive) {
    struct store* store = &drive->store;
    uint32_t* words = saving_of(drive);
    struct history before = drive->before;
    drive->before = store->counted;
    bool fits = collect(drive);
    drive->before = before;
    words[W_CRC] = store->crc;
    store->gathered = true;
    if (!fits || sum_of(words) != store->sum) store_save_start(drive);
}
#endif

bool store_save_step(struct drive* drive) {
    struct store* store = &drive->store;
#if FUNCTIONS > 1
    if (store->saving && (!store->gathered || store->step > after_words(drive))) gather(drive);
#endif
    while (store->saving) {
        if (!hw_media_idle_soon()) return false;
        if (!store->begun) {
            begin_step(drive);
            store->begun = true;
            continue;
        }
        store->begun = false;
        if (!(flushes(drive, store->step) ? hw_media_ok() : hw_media_word_ok())) {
            store->saving = false;
        } else if (store->step++ == after_words(drive) + 2) {
            store->saving = store->stale = false;
            store->sequence++;
            store->second = !store->second;
        }
    }
    return true;
}

void store_save_end(struct drive* drive) { drive->store.saving = false; }

bool store_save(struct drive* drive) {
    store_save_start(drive);
    while (!store_save_step(drive)) {
        if (hw_wait_only(EV(MEDIA_IDLE), hw_time() + CFG_WAIT_US)) continue;
        store_save_end(drive);
        break;
    }
    return !drive->store.stale;
}

bool store_in_use(struct drive* drive, bool in_use) {
    // What is being saved says so, too.
    if (drive->boot->in_use == in_use && (!drive->store.stale || drive->store.saving)) return true;
    drive->boot->in_use = in_use;
    return store_save(drive);
}
