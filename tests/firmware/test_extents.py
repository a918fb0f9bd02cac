# SPDX-License-Identifier: Apache-2.0
"""Places of namespaces on SSDs (db_vcsd), with the firmware's own code compiled for this machine: whatever is made and
deleted, after power everything is where it was."""

from __future__ import annotations

import ctypes
import random

import pytest
from store_firmware import LOADED, made, wipe

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
    """The watchdog takes a processor for dead whose turn takes half a second; nobody else is served meanwhile. An SSD as a
    whole, then all that is left, whose default places are partly taken."""
    each = 32768 >> ssds
    empty(fw, ssds=ssds, each=each)
    cycles = ctypes.c_uint64.in_dll(fw, "cycles")
    for nsid, count, wanted in ((1, each - 9, on((1 << ssds) - 1)), (2, (each << ssds) - each + 9, ANY)):
        cycles.value = 0
        assert fw.create(nsid, count, wanted)
        assert cycles.value < WATCHED // 10, "the firmware takes most of the time itself"
        assert fw.nothing_behind_the_page()
    assert not fw.create(3, 1, ANY)
