# SPDX-License-Identifier: Apache-2.0
"""The settings on the media, with the firmware's own code compiled for this machine: a save that power cuts at any
point, with the writes between two flushes in any order, leaves what was saved before or what was to be saved.
"""

from __future__ import annotations

import ctypes
import random
import subprocess
from pathlib import Path

import pytest
from doorbell import build

ROOT = Path(__file__).resolve().parents[2]
FW = ROOT / "fw"
PAGES = 0x1000
NUM_NS = 5
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
    store_load(&drive);
    boot.power_cycles++;
    operators_restore(&drive);
    namespaces_init(&drive);
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
        if (i == when) change(n);
    }
    slow = false;
    return !drive.store.stale;
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
int nothing_behind_the_page(void)
{
    const uint8_t *end = (const uint8_t *)(&buffers + 1);
    for (const uint8_t *at = buffers.page + sizeof buffers.page; at < end; at++) if (*at != 0xa5) return 0;
    return 1;
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


def made(tmp_path_factory: pytest.TempPathFactory, functions: int) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("store")
    (folder / "stand_in.c").write_text(STAND_IN)
    own = (FW / "base" / "bytes.c").read_text()
    for name in ("memset", "memcpy"):  # the processor's own stay out of this process
        own = own.replace(f"{name}(void", f"fw_{name}(void")
    (folder / "bytes.c").write_text(own)
    library = folder / "store.so"
    command = ["cc", "-std=gnu11", "-O1", "-shared", "-fPIC", "-w", "-I", str(FW), "-I", str(FW / "base"),
               "-I", str(build.regs() / "c"), "-I", str(ROOT / "facts" / "c"), f"-DFUNCTIONS={functions}",
               "-o", str(library),
               str(folder / "stand_in.c"), str(folder / "bytes.c"),
               *(str(f) for f in sorted((FW / "state").glob("*.c")) if f.name != "extents.c")]  # fmt: skip
    subprocess.run(command, check=True)
    lib = ctypes.CDLL(str(library))
    lib.state.restype = ctypes.c_uint64
    wipe(lib)
    return lib


@pytest.fixture(scope="module", params=[1, 17])
def fw(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> ctypes.CDLL:
    """With one function, and with several, which have less memory."""
    return made(tmp_path_factory, request.param)


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return made(tmp_path_factory, 17)


def area(lib: ctypes.CDLL) -> ctypes.Array:
    return (ctypes.c_uint32 * 2048).in_dll(lib, "media")


def wipe(lib: ctypes.CDLL) -> None:
    area(lib)[:] = [0] * 2048


def steps(lib: ctypes.CDLL) -> int:
    return ctypes.c_uint32.in_dll(lib, "ops").value


def shown(lib: ctypes.CDLL) -> list[tuple[int, int, int]]:
    flat = (ctypes.c_uint32 * (65 * 3)).in_dll(lib, "shown")
    return [tuple(flat[3 * i : 3 * i + 3]) for i in range(65)]  # type: ignore[misc]


def test_what_is_saved_comes_back(fw: ctypes.CDLL) -> None:
    """Namespaces, formats, bindings with parameters, features, counters; the hardware is told of them."""
    wipe(fw)
    assert fw.power_on(PAGES, NUM_NS, 16) == BLANK
    first = shown(fw)
    for n in range(1, 60):
        fw.change(n)
        assert fw.save(1 << 30)
        want = fw.state()
        assert fw.power_on(PAGES, NUM_NS, 16) == LOADED
        assert fw.state() == want
    assert shown(fw) != first and any(op for _, op, _ in shown(fw))
    assert ctypes.c_uint32.in_dll(fw, "bad_addresses").value == 0


def test_others_use_the_page_meanwhile(fw: ctypes.CDLL) -> None:
    """A save takes many turns, between which other commands build their data."""
    wipe(fw)
    fw.power_on(PAGES, NUM_NS, 16)
    for n in range(1, 9):
        fw.change(n)
        want = fw.state()
        assert fw.save_slowly(1 << 30, 0)
        assert fw.power_on(PAGES, NUM_NS, 16) == LOADED and fw.state() == want


def test_what_changes_during_a_save_is_saved(several: ctypes.CDLL) -> None:
    """Words are gathered again in each turn: a save is never half of one state and half of another, which nobody could
    read again."""
    wipe(several)
    several.power_on(PAGES, NUM_NS, 16)
    several.change(1)
    assert several.save_slowly(1 << 30, 0)
    turns = steps(several)
    for when in range(turns - 1):
        assert several.save_slowly(when, 2 + when)
        assert steps(several) > turns
        want = several.state()
        assert several.power_on(PAGES, NUM_NS, 16) == LOADED and several.state() == want


@pytest.mark.parametrize("num_ns", [1, 64])
def test_power_cut_at_any_point(fw: ctypes.CDLL, num_ns: int) -> None:
    """Old or new, never a mixture or nothing; old until the last write, new once the save says so."""
    wipe(fw)
    ctypes.c_uint32.in_dll(fw, "mixed").value = 7
    media = area(fw)
    fw.power_on(PAGES, num_ns, 16)
    for saves in range(3):  # from nothing, from one copy, from two
        before, old = list(media), fw.state()
        fw.change(100 + saves)
        new = fw.state()
        assert old != new and fw.save(1 << 30)
        total = steps(fw)
        seen = []
        for step in sorted(
            {*range(min(9, total)), *range(0, total, 1 if num_ns == 1 else 31), *range(total - 9, total)}
        ):
            media[:] = before
            assert fw.power_on(PAGES, num_ns, 16) == (LOADED if saves else BLANK) and fw.state() == old
            fw.change(100 + saves)
            assert not fw.save(step), "it says so"
            assert fw.power_on(PAGES, num_ns, 16) == (LOADED if fw.state() == new or saves else BLANK)
            seen.append(fw.state())
        assert seen[:-1] == [old] * (len(seen) - 1) and seen[-1] in (old, new)
        media[:] = before
        fw.power_on(PAGES, num_ns, 16)
        fw.change(100 + saves)
        assert fw.save(1 << 30)
        assert fw.power_on(PAGES, num_ns, 16) == LOADED and fw.state() == new


def test_a_copy_that_is_broken(fw: ctypes.CDLL) -> None:
    """Any bit of the newest copy: the one before. Of both: that is known, and nothing passes."""
    wipe(fw)
    fw.power_on(PAGES, 3, 16)
    states = []
    for n in (4, 5):
        fw.change(n)
        assert fw.save(1 << 30)
        states.append(fw.state())
    media = area(fw)
    whole = list(media)
    newest, older = sorted((0, 1024), key=lambda at: -media[at + 1])
    assert media[newest + 1] == media[older + 1] + 1
    rng = random.Random(1)
    used = 4 + media[newest + 2]
    for word in range(1, used):
        media[newest + word] ^= 1 << rng.randrange(32)
        assert fw.power_on(PAGES, 3, 16) == LOADED and fw.state() == states[0], word
        media[:] = whole
    media[newest] = 0
    assert fw.power_on(PAGES, 3, 16) == LOADED and fw.state() == states[0]
    media[newest], media[newest + 5], media[older + 5] = whole[newest], 1, 1 << 31
    assert fw.power_on(PAGES, 3, 16) == DAMAGED
    assert [op for _, op, _ in shown(fw)[1:4]] == [3, 3, 3], "locked: XTS, whose slot has no key"
    fw.change(8)
    assert fw.save(1 << 30)
    want = fw.state()
    assert fw.power_on(PAGES, 3, 16) == LOADED and fw.state() == want


def test_hardware_with_more_or_fewer_namespaces(fw: ctypes.CDLL) -> None:
    """What has been saved of one counts in the other: nothing is made up, and nothing is given away."""
    wipe(fw)
    fw.power_on(PAGES, 1, 16)
    fw.change(1)
    assert fw.save(1 << 30)
    assert fw.power_on(PAGES, 4, 16) == LOADED
    assert [valid & 1 for valid, _, _ in shown(fw)][1:] == [0] * (len(shown(fw)) - 1)
    for n in range(1, 5):
        fw.change(n)
    assert fw.save(1 << 30)
    want = fw.state()
    assert fw.power_on(PAGES, 2, 16) == LOADED
    assert fw.save(1 << 30) and fw.power_on(PAGES, 4, 16) == LOADED
    assert fw.state() == want


def test_namespaces_of_larger_hardware_take_their_room(several: ctypes.CDLL) -> None:
    """They are saved with the others, so there is room for fewer registrants."""
    wipe(several)
    several.power_on(PAGES, 64, 16)
    several.fill()
    assert several.save(1 << 30) and several.power_on(PAGES, NUM_NS, 16) == LOADED
    registered = several.register_all()
    want = several.state()
    assert registered and several.save(1 << 30) and several.nothing_behind_the_page()
    assert several.power_on(PAGES, NUM_NS, 16) == LOADED
    assert several.state() == want and several.registrants() == registered


def test_more_than_there_is_room_for(several: ctypes.CDLL) -> None:
    """Registrants of smaller hardware, and then a larger one's namespaces: such a save fails, that before is kept."""
    wipe(several)
    several.power_on(PAGES, NUM_NS, 16)
    several.change(2)
    registered = several.register_all()
    assert registered > 40 and several.save(1 << 30)
    assert several.power_on(PAGES, 64, 16) == LOADED and several.registrants() == registered
    want = several.state()
    several.fill()
    assert not several.save(1 << 30) and not several.save_slowly(1 << 30, 0)
    assert several.nothing_behind_the_page() and steps(several) == 0
    assert several.power_on(PAGES, 64, 16) == LOADED
    assert several.state() == want and several.registrants() == registered


def test_a_media_that_is_too_small(fw: ctypes.CDLL) -> None:
    wipe(fw)
    assert fw.power_on(127, 1, 0) == BLANK
    fw.change(2)
    assert fw.save(1 << 30) and not any(area(fw))
