// SPDX-License-Identifier: Apache-2.0
#include "state/extents.h"

#include "base/bytes.h"
#include "state/drive.h"

static struct extents* extents_of(const struct drive* drive) { return (struct extents*)drive->extents; }

uint32_t extents_total(const struct drive* drive) { return extents_of(drive)->hw.each << extents_of(drive)->hw.ssds; }

uint32_t extents_granule(const struct drive* drive, uint64_t page) {
    return (uint32_t)shift_right(page, extents_of(drive)->hw.granule - 12u);
}

uint64_t extents_pages(const struct drive* drive, uint32_t granules) {
    return shift_left(granules, extents_of(drive)->hw.granule - 12u);
}

// ---------------------------------------------------------------- what namespaces have: bits in the buffers' page
static uint32_t* bits_of(const struct drive* drive) { return (uint32_t*)(void*)drive->buffers->page; }

static bool used(const struct drive* drive, uint32_t granule) {
    return bits_of(drive)[granule / 32u] >> (granule & 31u) & 1u;
}

/// Those of all namespaces but one.
static void mark(struct drive* drive, uint32_t but) {
    const struct namespaces* all = &drive->namespaces;
    uint32_t* bits = bits_of(drive);
    for (uint32_t g = 0; g < extents_total(drive); g += 32u) bits[g / 32u] = 0;
    for (uint32_t nsid = 1; nsid <= all->count && nsid <= MAX_NS; nsid++) {
        const struct namespace* ns = &all->of[nsid];
        if (!ns->exists || nsid == but || ns->pages == 0) continue;
        uint32_t last = extents_granule(drive, ns->base + ns->pages - 1u);
        for (uint32_t g = extents_granule(drive, ns->base); g <= last; g++) bits[g / 32u] |= 1u << (g & 31u);
    }
}

// ---------------------------------------------------------------- places
static uint32_t default_of(const struct extents* e, uint32_t granule) {
    uint32_t ssds = 1u << e->hw.ssds, ssd = 0;
    if (e->hw.stripe)
        return hw_extent_place(granule >> e->hw.ssds, 0, granule & (ssds - 1u), e->hw.ssds) | HW_SOMEWHERE;
    for (; granule >= e->hw.each; granule -= e->hw.each) ssd++;
    return hw_extent_place(granule, ssd, 0, 0) | HW_SOMEWHERE;
}

/// What comes behind it on the same SSDs.
static uint32_t behind(uint32_t place) {
    if (!place) return 0;
    if ((hw_extent_part(place) + 1u) >> hw_extent_log2(place) == 0) return place + (1u << HW_PART_BP);
    return (place & ~DB_VCSD__PLACE__PART_bm) + 1u;
}

/// What is known of free places while none is given back.
struct search {
    uint32_t full;  // there is none: a bit for each log2 and first SSD
    uint32_t next;  // behind the one that was found last: all before it are taken. 0: not known
};

/// The first place that is free on the SSDs of `place`. The hardware begins at the first of all each time, and with many
/// granules that would be seconds.
static bool find(struct search* s, uint32_t granule, uint32_t place) {
    uint32_t those = place & HW_EXTENT_SSDS, one = 1u << (hw_extent_log2(place) * 8u + hw_extent_ssd(place));
    if (s->full & one) return false;
    bool near = s->next && (s->next & HW_EXTENT_SSDS) == those && hw_extent_put(granule, s->next);
    if (!near && !hw_extent_find(granule, place)) {
        s->full |= one;
        return false;
    }
    s->next = behind(hw_extent(granule));
    return true;
}

/// The default place, or one of its kind; else whatever there is, over as many SSDs as can be.
static bool find_any(const struct extents* e, struct search* s, uint32_t granule) {
    uint32_t place = default_of(e, granule);
    if (hw_extent_put(granule, place) || find(s, granule, place)) return true;
    for (uint32_t log2 = e->hw.stripe ? e->hw.ssds : 0, turn = 0; turn <= e->hw.ssds; turn++) {
        for (uint32_t ssd = 0; ssd < 1u << e->hw.ssds; ssd += 1u << log2) {
            if (find(s, granule, hw_extent_place(0, ssd, 0, log2))) return true;
        }
        log2 = e->hw.stripe ? log2 - 1u : log2 + 1u;
    }
    return false;
}

bool extents_take(struct drive* drive, uint64_t page, uint64_t pages, uint32_t wanted) {
    const struct extents* e = extents_of(drive);
    struct search s = {0, 0};
    uint32_t last = extents_granule(drive, page + pages - 1u);
    for (uint32_t g = extents_granule(drive, page); g <= last; g++) {
        if (hw_extent(g)) continue;
        if (!(wanted == EXTENT_ANY ? find_any(e, &s, g) : find(&s, g, wanted))) return false;
    }
    return true;
}

bool extents_settle(struct drive* drive) {
    struct extents* e = extents_of(drive);
    uint32_t total = extents_total(drive), next = 0;
    struct extent_run* run = NULL;
    bool fits = true;
    mark(drive, 0);
    e->count = 0;
    for (uint32_t g = 0; g < total; g++, next = behind(next)) {
        if (!used(drive, g)) {  // a run goes on behind it, so that a deletion makes no more of them
            hw_extent_release(g);
            continue;
        }
        uint32_t place = hw_extent(g);
        if (run && place == next) {
            run->count = (uint16_t)(g + 1u - run->granule);
        } else if (place == default_of(e, g)) {
            run = NULL;
        } else if (e->count == EXTENT_RUNS) {
            run = NULL;
            fits = false;
        } else {
            run = &e->runs[e->count++];
            *run = (struct extent_run){.granule = (uint16_t)g, .count = 1, .place = place};
        }
        next = place;
    }
    return fits;
}

void extents_restore(struct drive* drive) {
    struct extents* e = extents_of(drive);
    uint32_t total = extents_total(drive);
    for (uint32_t g = 0; g < total; g++) hw_extent_release(g);
    if (drive->store.found != STORE_LOADED) e->count = 0;
    mark(drive, 0);
    for (uint32_t i = 0; i < e->count; i++) {
        uint32_t place = e->runs[i].place;
        for (uint32_t g = e->runs[i].granule; g < e->runs[i].granule + (uint32_t)e->runs[i].count && g < total; g++) {
            if (place && used(drive, g)) hw_extent_put(g, place);
            bits_of(drive)[g / 32u] &= ~(1u << (g & 31u));  // wherever that is: not at its default place
            place = behind(place);
        }
    }
    for (uint32_t g = 0; g < total; g++) {
        if (used(drive, g)) hw_extent_put(g, default_of(e, g));
    }
}

uint32_t extents_ssds(const struct drive* drive, const struct namespace* ns) {
    uint32_t found = 0, last = extents_granule(drive, ns->base + ns->pages - 1u);
    for (uint32_t g = extents_granule(drive, ns->base); ns->pages && g <= last; g++) {
        uint32_t place = hw_extent(g);
        if (place) found |= ((1u << (1u << hw_extent_log2(place))) - 1u) << hw_extent_ssd(place);
    }
    return found;
}

// ---------------------------------------------------------------- numbers
bool extents_own(const struct drive* drive, const struct namespace* ns) {
    uint64_t below = extents_pages(drive, 1) - 1u;
    return ((ns->base | ns->pages) & below) == 0;
}

bool extents_gap(struct drive* drive, uint32_t count, uint32_t own, uint32_t* first) {
    uint32_t total = extents_total(drive), run = 0;
    mark(drive, own);
    for (uint32_t g = 0; g < total; g++) {
        run = used(drive, g) ? 0 : run + 1u;
        if (run == count) {
            *first = g + 1u - count;
            return true;
        }
    }
    return false;
}

void extents_renumber(uint32_t from, uint32_t to, uint32_t count) {
    for (uint32_t i = 0; i < count && from != to; i++) {
        uint32_t k = to < from ? i : count - 1u - i;  // the two may overlap
        uint32_t place = hw_extent(from + k);
        hw_extent_release(from + k);
        if (place) hw_extent_put(to + k, place);
    }
}

void extents_exchange(uint32_t a, uint32_t b, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t of_a = hw_extent(a + i), of_b = hw_extent(b + i);
        hw_extent_release(a + i);
        hw_extent_release(b + i);
        if (of_b) hw_extent_put(a + i, of_b);
        if (of_a) hw_extent_put(b + i, of_a);
    }
}
