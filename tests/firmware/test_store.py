# SPDX-License-Identifier: Apache-2.0
"""The settings on the media, with the firmware's own code compiled for this machine: a save that power cuts at any
point, with the writes between two flushes in any order, leaves what was saved before or what was to be saved.
"""

from __future__ import annotations

import ctypes
import random

import pytest
from store_firmware import BLANK, DAMAGED, LOADED, area, made, wipe

PAGES = 0x1000
NUM_NS = 5


@pytest.fixture(scope="module", params=[1, 17])
def fw(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> ctypes.CDLL:
    """With one function, and with several, which have less memory."""
    return made(tmp_path_factory, request.param)


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return made(tmp_path_factory, 17)


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


def test_namespaces_of_a_larger_media(several: ctypes.CDLL) -> None:
    """They do not fit on this one, so it is as new, but for what is locked. Nothing of them is left: who had one has
    not what now has its number, and who had reserved it bars nobody."""
    wipe(several)
    several.power_on(PAGES, NUM_NS, 16)
    for n in range(1, NUM_NS + 1):
        several.change(n)
        several.attach(n, n)
    assert several.register_all() and several.save(1 << 30)
    assert several.power_on(PAGES, NUM_NS, 16) == LOADED
    assert all(several.attached(n) >> n & 1 for n in range(1, NUM_NS + 1)) and several.registrants()
    assert several.power_on(PAGES // 2, NUM_NS, 16) == DAMAGED
    assert [several.attached(n) for n in range(1, NUM_NS + 1)] == [1] * NUM_NS, "the PF's alone"
    assert [op for _, op, _ in shown(several)[1 : 1 + NUM_NS]] == [3] * NUM_NS
    assert all(valid & 6 == 0 for valid, _, _ in shown(several)), "blocks of 512 bytes, which may be written"
    assert several.registrants() == 0


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
