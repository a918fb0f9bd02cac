# SPDX-License-Identifier: Apache-2.0
"""Places of namespaces on SSDs (db_vcsd), with the firmware's own code compiled for this machine: whatever is made and
deleted, after power everything is where it was."""

from __future__ import annotations

import ctypes
import random
import struct

import pytest
from doorbell.compute.near import crc32c
from store_firmware import DAMAGED, LOADED, area, made, wipe

NUM_NS = 48
PAGES = 1 << 18  # of the medium, with the settings
ANY = 0xFFFFFFFF
WATCHED = 125_000_000  # cycles of half a second


class Card(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("granule", "ssds", "each", "stripe")]


@pytest.fixture(scope="module", params=[1, 17])
def fw(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> ctypes.CDLL:
    return made(tmp_path_factory, request.param, extents=True)


def powered(fw: ctypes.CDLL, granule: int = 20, ssds: int = 1, each: int = 512, stripe: int = 0) -> int:
    """What was saved is found, or not."""
    card = Card.in_dll(fw, "card")
    card.granule, card.ssds, card.each, card.stripe = granule, ssds, each, stripe
    return int(fw.power_on((each << ssds) * (1 << granule - 12) + 32, NUM_NS, 16))


def empty(fw: ctypes.CDLL, **card: int) -> None:
    """A new card whose namespaces have been deleted."""
    wipe(fw)
    powered(fw, **card)
    for nsid in range(1, NUM_NS + 1):
        fw.delete(nsid)


def on(first: int, log2: int = 0) -> int:
    return first << 16 | log2 << 24


def where(fw: ctypes.CDLL, sizes: dict[int, int]) -> dict[int, list[int]]:
    return {nsid: [fw.where(nsid, g) for g in range(n)] for nsid, n in sizes.items()}


@pytest.mark.parametrize("ssds", [0, 1, 3])
def test_the_largest_table_is_filled_within_a_turn(fw: ctypes.CDLL, ssds: int) -> None:
    """The watchdog takes a processor for dead whose turn takes half a second; nobody else is served meanwhile. An
    SSD as a whole, then all that is left, whose default places are partly taken."""
    each = 32768 >> ssds
    empty(fw, ssds=ssds, each=each)
    cycles = ctypes.c_uint64.in_dll(fw, "cycles")
    for nsid, count, wanted in ((1, each - 9, on((1 << ssds) - 1)), (2, (each << ssds) - each + 9, ANY)):
        cycles.value = 0
        assert fw.create(nsid, count, wanted)
        assert cycles.value < WATCHED // 10, "the firmware takes most of the time itself"
        assert fw.nothing_behind_the_page()
    assert not fw.create(3, 1, ANY)


def test_a_deletion_makes_no_more_runs(fw: ctypes.CDLL) -> None:
    """There are 32 at most. One of three drives that lie behind each other goes, and another that stands between two:
    the others are where they were, after power too."""
    empty(fw)
    for nsid in range(1, 32):
        assert fw.create(nsid, 1, on(nsid % 2))
    for nsid in (32, 33, 34):
        assert fw.create(nsid, 3, on(0))
    assert fw.runs() == 32
    assert not fw.create(35, 1, on(1)), "one more would not be kept"
    sizes = {n: 1 if n < 32 else 3 for n in range(1, 35)}
    for gone in (33, 7):
        fw.delete(gone)
        del sizes[gone]
        before = where(fw, sizes)
        assert fw.save(1 << 30) and powered(fw) == LOADED
        assert where(fw, sizes) == before


@pytest.mark.parametrize("seed", range(6))
def test_all_is_where_it_was_after_power(fw: ctypes.CDLL, seed: int) -> None:
    rng = random.Random(seed)
    ssds = rng.randrange(4)
    card = {"ssds": ssds, "each": 64 >> ssds, "stripe": rng.randrange(2)}
    empty(fw, **card)
    sizes: dict[int, int] = {}
    for _ in range(300):
        if rng.random() < 0.55 and len(sizes) < NUM_NS:
            nsid = next(n for n in range(1, NUM_NS + 1) if n not in sizes)
            log2 = rng.randrange(ssds + 1)
            wanted = rng.choice([ANY, on(rng.randrange(1 << ssds >> log2) << log2, log2)])
            count = rng.choice([1, 1, 1, 2, 3, 9])
            if fw.create(nsid, count, wanted):
                sizes[nsid] = count
        elif sizes:
            nsid = rng.choice(sorted(sizes))
            fw.delete(nsid)
            del sizes[nsid]
        before = where(fw, sizes)
        assert all(place for places in before.values() for place in places)
        assert fw.save(1 << 30) and powered(fw, **card) == LOADED
        assert where(fw, sizes) == before


XTS = 3  # whose slot has no key


def locked(fw: ctypes.CDLL) -> bool:
    shown = (ctypes.c_uint32 * (65 * 3)).in_dll(fw, "shown")
    return all(shown[3 * nsid + 1] == XTS for nsid in range(1, NUM_NS + 1))


def test_hardware_whose_places_are_others(fw: ctypes.CDLL) -> None:
    """Larger SSDs, more of them, other granules, stripes: what was saved says nothing of where blocks are there. So
    nobody gets what now lies at his addresses; on the hardware that saved it, all is as it was."""
    empty(fw, ssds=1, each=64)
    media, sizes = area(fw), {1: 5, 2: 3}
    assert fw.create(1, 5, ANY) and fw.create(2, 3, on(1))
    before = where(fw, sizes)
    assert fw.save(1 << 30)
    saved = list(media)
    for other in ({"ssds": 1, "each": 65}, {"ssds": 2, "each": 64}, {"ssds": 2, "each": 32},
                  {"ssds": 1, "each": 64, "stripe": 1}, {"ssds": 1, "each": 32, "granule": 21},
                  {"ssds": 1, "each": 64, "granule": 21}):  # fmt: skip
        media[:] = saved
        assert powered(fw, **other) == DAMAGED and locked(fw), other
        assert fw.runs() == 0
    media[:] = saved
    assert powered(fw, ssds=1, each=64) == LOADED and not locked(fw)
    assert where(fw, sizes) == before


def test_settings_without_what_places_mean(fw: ctypes.CDLL) -> None:
    """A firmware that saved how many runs there are, and not of what hardware, is believed."""
    empty(fw, ssds=1, each=64)
    media, sizes = area(fw), {1: 5, 2: 3}
    assert fw.create(1, 5, ANY) and fw.create(2, 3, on(1))
    before = where(fw, sizes)
    assert fw.runs() == 1 and fw.save(1 << 30)
    at = max((0, 1024), key=lambda copy: media[copy + 1])
    words = list(media[at : at + 4 + media[at + 2]])
    (count,) = [i for i, word in enumerate(words) if i > 3 and word == 64 << 16 | 1 << 12 | 20 << 6 | 1]
    words[count] = 1
    checked = words[1:3] + words[4:]
    words[3] = crc32c(struct.pack(f"<{len(checked)}I", *checked))
    media[at : at + len(words)] = words
    assert powered(fw, ssds=1, each=64) == LOADED
    assert where(fw, sizes) == before
