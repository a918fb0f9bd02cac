# SPDX-License-Identifier: Apache-2.0
"""The firmware's state with its settings on the media, compiled for this machine; what is below it is a stand-in."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest
from doorbell import build

ROOT = Path(__file__).resolve().parents[2]
FW = ROOT / "fw"
BLANK, LOADED, DAMAGED = range(3)

STAND_IN = """
#include <stdlib.h>
#include <string.h>
#include "state/drive.h"
#include "state/function.h"
static struct drive drive;
static struct function functions[FUNCTIONS];
#define fn functions[0]
static struct buffers buffers;
#if FUNCTIONS > 1
static struct reservations reservations;
#endif
static struct boot_record boot;
uint32_t media[4096], base_page, ops, limit, mixed;
struct { uint32_t at, word; } held[4096];  // written, and not flushed
uint32_t held_count, bad_addresses, shown[65][3];
static bool cut(void) { return ops++ >= limit; }
bool hw_media_read(uint64_t addr, uint32_t *word)
{
    uint64_t line = (addr - ((uint64_t)base_page << 12)) / 64;
    if (addr % 64 || line >= 2048) { bad_addresses++; return false; }
    *word = media[line];
    return true;
}
static bool word_ok, flush_ok, slow, busy;
void hw_media_write_start(uint64_t addr, uint32_t word)
{
    uint64_t line = (addr - ((uint64_t)base_page << 12)) / 64;
    word_ok = false;
    busy = slow;
    if (addr % 64 || line >= 2048) { bad_addresses++; return; }
    if (cut()) return;
    held[held_count].at = (uint32_t)line;
    held[held_count++].word = word;
    word_ok = true;
}
static void write_out(bool all)
{
    for (uint32_t i = 0; i < held_count; i++) {  // without a flush: some of them, each whole
        if (all || (mixed = mixed * 1103515245u + 12345u) & 0x10000u) media[held[i].at] = held[i].word;
    }
    held_count = 0;
}
void hw_settings_flush_start(void) { busy = slow; flush_ok = !cut(); if (flush_ok) write_out(true); }
bool hw_media_ok(void) { return flush_ok; }
bool hw_media_word_ok(void) { return word_ok; }
bool hw_media_idle(void) { return true; }
bool hw_media_idle_soon(void)
{
    bool idle = !busy;
    busy = false;
    return idle;
}
bool hw_wait_only(uint32_t events, uint64_t until) { (void)events; (void)until; return true; }
uint64_t hw_time(void) { return 1000; }
uint32_t hw_events(void) { return 0; }
void hw_counters(struct hw_counters *c) { *c = (struct hw_counters){1, 2, 3, 4, 5}; }
void hw_complete(uint32_t f, uint32_t c, uint32_t s, uint32_t d) { (void)f; (void)c; (void)s; (void)d; }
static uint32_t parameters;
void hw_namespace(uint32_t nsid, const struct hw_namespace *ns)
{
    shown[nsid][0] = (ns->attached & 1u) | (uint32_t)ns->lba4k << 1 | (uint32_t)ns->read_only << 2 |
                     (uint32_t)(ns->base ^ ns->blocks) << 3;
}
void hw_keys_wait(void) {}
uint32_t hw_near_operators(void) { return 0; }
void hw_function_queues(const struct hw_function *f) { (void)f; }
void hw_function_share(const struct hw_function *f, uint32_t weight, uint32_t min, uint32_t max, uint32_t deadline_us)
{
    (void)f; (void)weight; (void)min; (void)max;
}
void hw_function_limit(const struct hw_function *f, uint32_t iops, uint32_t burst, uint64_t bytes, uint64_t burst_bytes)
{
    (void)f; (void)iops; (void)burst; (void)bytes; (void)burst_bytes;
}
void hw_key_stage(uint32_t at, uint32_t word) { (void)at; (void)word; }
void hw_key_load(uint32_t slot, uint32_t flags) { (void)slot; (void)flags; }
void hw_key_erase(uint32_t slot) { (void)slot; }
void hw_operator_parameters(const uint32_t *four) { parameters = four[0] ^ four[3]; }
void hw_bind(uint32_t nsid, uint32_t op, uint32_t slot)
{
    shown[nsid][1] = op | slot << 8;
    shown[nsid][2] = parameters;
}
bool hw_reducing(void) { return false; }
bool hw_result(struct hw_result *r) { (void)r; return false; }

#if EXTENTS
/* The hardware's table and what is taken of each SSD, in eighths of its granules (rtl/virt/db_virt_place.sv). */
struct { uint32_t granule, ssds, each, stripe; } card = {20, 1, 512, 0};
enum { MOST = 32768 };
static uint32_t places[MOST];
static uint8_t taken[MOST][8];
uint64_t cycles;
void hw_extents(struct hw_extents *is)
{
    *is = (struct hw_extents){.granule = card.granule, .ssds = card.ssds, .each = card.each, .stripe = card.stripe};
}
static uint8_t *of(uint32_t place, uint32_t ssd) { return &taken[place & 0xffffu][ssd]; }
static uint8_t eighths(uint32_t place)
{
    uint32_t each = 8u >> hw_extent_log2(place);
    return (uint8_t)(((1u << each) - 1u) << hw_extent_part(place) * each);
}
static bool is_free(uint32_t place)
{
    uint32_t first = place >> 16 & 7u, log2 = hw_extent_log2(place);
    if ((place & 0xffffu) >= card.each || log2 > card.ssds || first >> card.ssds || first & ((1u << log2) - 1u) ||
        hw_extent_part(place) >> log2)
        return false;
    for (uint32_t s = first; s < first + (1u << log2); s++) {
        if (*of(place, s) & eighths(place)) return false;
    }
    return true;
}
static void take(uint32_t place)
{
    for (uint32_t s = 0; s < 1u << hw_extent_log2(place); s++) *of(place, (place >> 16 & 7u) + s) ^= eighths(place);
}
uint32_t hw_extent(uint32_t granule) { cycles += 2; return places[granule]; }
void hw_extent_release(uint32_t granule)
{
    cycles += 4;
    if (places[granule]) take(places[granule]);
    places[granule] = 0;
}
static bool put(uint32_t granule, uint32_t place)
{
    if (!is_free(place)) return false;
    take(place);
    places[granule] = place | HW_SOMEWHERE;
    return true;
}
bool hw_extent_put(uint32_t granule, uint32_t place)
{
    hw_extent_release(granule);
    cycles += 2;
    return put(granule, place & ~HW_SOMEWHERE);
}
bool hw_extent_find(uint32_t granule, uint32_t place)
{
    hw_extent_release(granule);
    cycles += 2;
    for (uint32_t at = 0; at < card.each; at++, cycles += 2) {
        for (uint32_t part = 0; part < 1u << hw_extent_log2(place); part++) {
            if (put(granule, hw_extent_place(at, place >> 16 & 7u, part, hw_extent_log2(place)))) return true;
        }
    }
    return false;
}
#endif

/* Power-on, as main does it. */
uint32_t power_on(uint32_t pages, uint32_t num_ns, uint32_t key_slots)
{
    write_out(false);
    memset(&drive, 0, sizeof drive);
    memset(functions, 0, sizeof functions);
    memset(&boot, 0, sizeof boot);
    memset(shown, 0, sizeof shown);
    memset(&buffers, 0xa5, sizeof buffers);
    base_page = pages - 32;
    limit = ~0u;
    drive.boot = &boot;
    drive.buffers = &buffers;
#if FUNCTIONS > 1
    memset(&reservations, 0, sizeof reservations);
    *drive.reservations = &reservations;
#endif
    drive.hw.media_pages = pages;
    drive.hw.num_ns = (uint8_t)num_ns;
    drive.hw.key_slots = (uint8_t)key_slots;
    drive.hw.operators = 0x3f;
    drive.hw.num_fn = FUNCTIONS;
    drive.hw.num_cmds = 128;
    drive.functions = functions;
#if EXTENTS
    memset(places, 0, sizeof places);
    memset(taken, 0, sizeof taken);
    hw_extents(&drive.extents->hw);
#endif
    store_load(&drive);
    boot.power_cycles++;
    operators_restore(&drive);
    namespaces_init(&drive);
#if EXTENTS
    extents_restore(&drive);
#endif
    return drive.store.found;
}
/* Something else that is to be remembered. Each namespace stays in its own part of the media. */
void change(uint32_t n)
{
    uint32_t nsid = 1 + n % drive.hw.num_ns, part = (uint32_t)drive.namespaces.total / drive.hw.num_ns;
    struct namespace *ns = &drive.namespaces.of[nsid];
    if (drive.namespaces.of[1].pages > part) drive.namespaces.of[1].pages = part;
    ns->exists = n % 7 != 0;
    ns->lba4k = n & 1;
    ns->base = (nsid - 1) * part + n % 16;
    ns->pages = part - 16 - n % 32;
    ns->generation = (uint16_t)n;
    ns->protection = n >> 2 & 1 ? NS_PROTECTED : NS_WRITABLE;
    fn.ns[nsid].attached = n >> 1 & 1;
    drive.operators.bound[nsid] = (struct binding){n % 3 > 0, n % 6, n % 4, {n, n * 2, n * 3, n * 5}};
    fn.settings.saved |= 1u << n % VALUES;
    fn.settings.saved_value[n % VALUES] = n * 77;
    boot.unsafe_shutdowns += n;
}
int save(uint32_t most)
{
    ops = 0;
    limit = most;
    int done = store_save(&drive);
    return done;
}
/* The media takes its time over each word. Meanwhile the page is used for something else, and something changes. */
int save_slowly(uint32_t when, uint32_t n)
{
    slow = true;
    limit = ~0u;
    ops = 0;
    store_save_start(&drive);
    for (uint32_t i = 0; !store_save_step(&drive); i++) {
        memset(buffers.page, (int)i, sizeof buffers.page);
        store_page_taken(&drive.store);
        if (i == when) change(n);
    }
    slow = false;
    return !drive.store.stale;
}
void attach(uint32_t place, uint32_t nsid) { functions[place].ns[nsid].attached = true; }
/* Functions that have a namespace, a bit each. */
uint32_t attached(uint32_t nsid)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < FUNCTIONS; i++) bits |= (uint32_t)functions[i].ns[nsid].attached << i;
    return bits;
}
int nothing_behind_the_page(void)
{
    const uint8_t *end = (const uint8_t *)(&buffers + 1);
    for (const uint8_t *at = buffers.page + sizeof buffers.page; at < end; at++) if (*at != 0xa5) return 0;
    return 1;
}
#if FUNCTIONS > 1
/* As much as there can be: namespaces with a binding each, features and shares of all functions. */
void fill(void)
{
    uint32_t part = (uint32_t)drive.namespaces.total / MAX_NS;
    for (uint32_t i = 1; i <= drive.hw.num_ns; i++) {
        drive.namespaces.of[i] = (struct namespace){.exists = true, .base = (i - 1) * part, .pages = part};
        drive.operators.bound[i] = (struct binding){.own = true, .op = 1};
    }
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        functions[i].settings.saved = (1u << VALUES) - 1;
        drive.shares->saved |= 1u << i;
        drive.shares->kept[i] = (struct share){.weight = 1, .iops = 1, .bytes_per_s = 1, .deadline_us = 1};
    }
}
uint32_t registrants(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < MAX_REGISTRANTS; i++) count += reservations.of[i].nsid != 0;
    return count;
}
/* As many registrants that outlast power as there may be. How many there are then. */
uint32_t register_all(void)
{
    uint32_t count = registrants();
    reservations.ns[1].persists = true;
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        *functions[i].reservations = (struct reservation_view){0};
        functions[i].hw.place = (uint8_t)i;
    }
    for (; resv_has_room(&drive, &functions[count % FUNCTIONS], store_registrants(&drive)); count++) {
        struct function *f = &functions[count % FUNCTIONS];
        f->reservations->host.id[0] = 1 + count;
        resv_add(&drive, f, 1, count);
    }
    return count;
}
#endif
#if EXTENTS
/* A namespace of so many granules, as Create of a virtual drive makes it. */
int create(uint32_t nsid, uint32_t granules, uint32_t wanted)
{
    uint32_t first;
    if (!extents_gap(&drive, granules, 0, &first)) return 0;
    uint64_t page = extents_pages(&drive, first), pages = extents_pages(&drive, granules);
    bool fits = extents_take(&drive, page, pages, wanted);
    if (fits) {
        drive.namespaces.of[nsid] = (struct namespace){.base = page, .pages = pages, .exists = true};
        fits = drive.namespaces.of[nsid].exists = extents_settle(&drive);
    }
    if (!fits) extents_settle(&drive);
    return fits;
}
void delete(uint32_t nsid) { ns_deleted(&drive, nsid); }
uint32_t runs(void) { return drive.extents->count; }
/* Where a granule of a namespace is. */
uint32_t where(uint32_t nsid, uint32_t granule)
{
    return places[extents_granule(&drive, drive.namespaces.of[nsid].base) + granule];
}
#endif
/* What is remembered, as one number. */
uint64_t state(void)
{
    uint64_t h = 14695981039346656037u;
    uint32_t *p = calloc(1, 1 << 16), n = 0;
    for (uint32_t i = 1; i <= drive.hw.num_ns; i++) {
        const struct namespace *ns = &drive.namespaces.of[i];
        p[n++] = ns->exists;
        if (!ns->exists) continue;
        const struct binding *b = &drive.operators.bound[i];
        p[n++] = (uint32_t)ns->base; p[n++] = (uint32_t)ns->pages; p[n++] = ns->lba4k; p[n++] = ns->generation;
        p[n++] = ns->protection;
        p[n++] = fn.ns[i].attached; p[n++] = b->own;
        if (b->own) { p[n++] = b->op; p[n++] = b->slot; p[n++] = b->parameters[0]; p[n++] = b->parameters[3]; }
    }
    p[n++] = fn.settings.saved;
    for (uint32_t i = 0; i < VALUES; i++) p[n++] = fn.settings.saved >> i & 1u ? fn.settings.saved_value[i] : 0;
    p[n++] = boot.unsafe_shutdowns;
    for (uint32_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211u;
    free(p);
    return h;
}
"""


def made(tmp_path_factory: pytest.TempPathFactory, functions: int, extents: bool = False) -> ctypes.CDLL:
    """extents: of a card whose namespaces have places on SSDs."""
    folder = tmp_path_factory.mktemp("store")
    (folder / "stand_in.c").write_text(STAND_IN)
    own = (FW / "base" / "bytes.c").read_text()
    for name in ("memset", "memcpy"):  # the processor's own stay out of this process
        own = own.replace(f"{name}(void", f"fw_{name}(void")
    (folder / "bytes.c").write_text(own)
    library = folder / "store.so"
    command = ["cc", "-std=gnu11", "-O1", "-shared", "-fPIC", "-w", "-I", str(FW), "-I", str(FW / "base"),
               "-I", str(build.regs() / "c"), "-I", str(ROOT / "facts" / "c"), f"-DFUNCTIONS={functions}",
               f"-DEXTENTS={int(extents)}", "-o", str(library),
               str(folder / "stand_in.c"), str(folder / "bytes.c"),
               *(str(f) for f in sorted((FW / "state").glob("*.c")) if extents or f.name != "extents.c")]  # fmt: skip
    subprocess.run(command, check=True)
    lib = ctypes.CDLL(str(library))
    lib.state.restype = ctypes.c_uint64
    wipe(lib)
    return lib


def area(lib: ctypes.CDLL) -> ctypes.Array:
    return (ctypes.c_uint32 * 2048).in_dll(lib, "media")


def wipe(lib: ctypes.CDLL) -> None:
    area(lib)[:] = [0] * 2048
