# SPDX-License-Identifier: Apache-2.0
"""The simulator's straddled CQ and CC, by PG213: how requests stand in beats, which beats of completions are wrong."""

from __future__ import annotations

import ctypes
import random
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from doorbell import paths

MAX = 256
HALF, LANES = 8, 16
Words = ctypes.c_uint32 * (4 + MAX + LANES)


class Request(ctypes.Structure):
    _fields_ = [("w", Words), ("ndw", ctypes.c_uint32), ("first_be", ctypes.c_uint8), ("last_be", ctypes.c_uint8),
                ("damaged", ctypes.c_bool)]  # fmt: skip


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("straddled") / "lib.so"
    source = paths.ROOT / "tests" / "rtl" / "tb" / "sim_straddled.cpp"
    warnings = ("-Wall", "-Wextra", "-Werror")
    subprocess.run(["g++", "-std=c++17", "-O1", *warnings, "-shared", "-fPIC", f"-I{paths.ROOT / 'sim'}", str(source),
                    "-o", str(out)], check=True)  # fmt: skip
    loaded = ctypes.CDLL(str(out))
    loaded.found.restype = ctypes.POINTER(ctypes.c_uint32)
    return loaded


# ---- CQ


def bits(user: list[int], at: int, n: int) -> int:
    return sum(w << 32 * i for i, w in enumerate(user)) >> at & (1 << n) - 1


def request(rng: random.Random, payload: int, damaged: bool = False) -> Request:
    words = [rng.getrandbits(32) for _ in range(4 + payload)]
    return Request(Words(*words), len(words), rng.getrandbits(4), rng.getrandbits(4), damaged)


def beats_of(lib: Any, requests: list[Request]) -> Iterator[tuple[list[int], list[int]]]:
    at, pos = ctypes.c_uint32(0), ctypes.c_uint32(0)
    data, user = (ctypes.c_uint32 * LANES)(), (ctypes.c_uint32 * 6)()
    many = (Request * len(requests))(*requests)
    while lib.cq_beat(many, len(requests), ctypes.byref(at), ctypes.byref(pos), data, user):
        yield list(data), list(user)


def test_requests_stand_in_beats_as_pg213_says(lib: Any) -> None:
    """All of them come out, by the marks of tuser alone: starts and ends, where, and byte enables."""
    rng = random.Random(1)
    sizes = [0, 0, 0, 1, 4, 4, 5, 12, 13, 64, 64, *(rng.randrange(0, 70) for _ in range(300))]
    given = [request(rng, n, rng.random() < 0.05) for n in sizes]
    found: list[tuple[list[int], list[int], int, int, bool]] = []
    inside = False
    for data, user in beats_of(lib, given):
        starts = [bits(user, 82 + 2 * k, 2) * 4 for k in range(2) if bits(user, 80 + k, 1)]
        ends = [bits(user, 88 + 4 * k, 4) for k in range(2) if bits(user, 86 + k, 1)]
        assert bits(user, 80, 2) != 2 and bits(user, 86, 2) != 2
        for k, start in enumerate(starts):
            assert start in (0, HALF)
            assert start == 0 or (ends and ends[0] < HALF), "in the upper half only behind one that ends below"
            assert start == HALF or not inside, "at lane 0 only if none goes on"
            assert k == 0 or start == HALF
        order = 0
        for lane in range(LANES):
            if lane in starts:
                assert not inside
                found.append(([], [], bits(user, 4 * order, 4), bits(user, 8 + 4 * order, 4), False))
                order, inside = order + 1, True
            if inside:
                found[-1][0].append(data[lane])
                found[-1][1].append(bits(user, 16 + 4 * lane, 4))
            else:
                assert bits(user, 16 + 4 * lane, 4) == 0
            if lane in ends:
                assert inside
                inside = False
        if bits(user, 96, 1):
            assert ends and not inside, "which one is damaged is not said"
            found[-1] = (*found[-1][:4], True)
    assert len(found) == len(given)
    for f, r in zip(found, given):
        assert f[0] == list(r.w)[: r.ndw] and f[2:] == (r.first_be, r.last_be, r.damaged)
        enables = [0] * 4 + [15] * (r.ndw - 4)
        if r.ndw > 5:
            enables[-1] = r.last_be
        if r.ndw > 4:
            enables[4] = r.first_be
        assert f[1] == enables


def test_requests_of_256_bytes_take_four_beats_and_a_half(lib: Any) -> None:
    rng = random.Random(2)
    assert len(list(beats_of(lib, [request(rng, 64) for _ in range(20)]))) == 90


# ---- CC


class Completions:
    def __init__(self, lib: Any) -> None:
        self.lib, self.state = lib, ctypes.create_string_buffer(lib.size_of_completions())
        self.found: list[list[int]] = []

    def beat(self, data: list[int], starts: list[int], ends: list[int]) -> None:
        user = sum(1 << k | s // 4 << (2 + 2 * k) for k, s in enumerate(starts))
        user |= sum(1 << (6 + k) | e << (8 + 4 * k) for k, e in enumerate(ends))
        self.raw(data, user)

    def raw(self, data: list[int], user: int) -> None:
        lib, state = self.lib, self.state
        lib.cc_beat(state, (ctypes.c_uint32 * LANES)(*data), user)
        self.found += [lib.found(state, i)[: lib.length(state, i)] for i in range(lib.count(state))]

    @property
    def malformed(self) -> int:
        return int(self.lib.malformed(self.state))


def test_completions_come_out(lib: Any) -> None:
    rng = random.Random(3)
    given = [[rng.getrandbits(32) for _ in range(3 + rng.choice((0, 1, 5, 6, 13, 64, rng.randrange(70))))]
             for _ in range(300)]  # fmt: skip
    c = Completions(lib)
    todo = [list(w) for w in given]
    at = 0
    while todo:
        data, starts, ends, lane = [rng.getrandbits(32) for _ in range(LANES)], [], [], 0
        while todo and lane < LANES and not (at == 0 and lane and rng.random() < 0.1):
            if at == 0:
                starts.append(lane)
            part = todo[0][at : at + LANES - lane]
            data[lane : lane + len(part)] = part
            at += len(part)
            if at == len(todo[0]):
                ends.append(lane + len(part) - 1)
                todo.pop(0)
                at = 0
            lane = -(-(lane + len(part)) // HALF) * HALF
        c.beat(data, starts, ends)
    assert c.found == given and not c.malformed


@pytest.mark.parametrize(("why", "user"), [
    ("nothing starts or goes on", 0),
    ("starts at lane 8, none before it", 1 | 2 << 2 | 1 << 6 | 12 << 8),
    ("starts at lane 4", 1 | 1 << 2 | 1 << 6 | 12 << 8),
    ("the second alone", 2 | 2 << 4 | 1 << 6 | 12 << 8),
    ("ends twice, starts once", 1 | 3 << 6 | 4 << 8 | 9 << 12),
    ("the second end alone", 1 | 2 << 6 | 9 << 12),
    ("both start at lane 0", 3 | 3 << 6 | 4 << 8 | 9 << 12),
    ("ends before it starts", 3 | 2 << 4 | 3 << 6 | 4 << 8 | 5 << 12),
    ("starts behind one that ends above lane 7", 3 | 2 << 4 | 3 << 6 | 9 << 8 | 12 << 12),
])  # fmt: skip
def test_wrong_beats_are_seen(lib: Any, why: str, user: int) -> None:
    c = Completions(lib)
    c.raw([0] * LANES, user)
    assert c.malformed == 1, why


def test_one_that_is_too_long_is_seen(lib: Any) -> None:
    c = Completions(lib)
    c.beat([0] * LANES, [0], [])
    for _ in range(20):
        c.beat([0] * LANES, [], [])
    c.beat([0] * LANES, [], [4])
    assert c.malformed == 1 and not c.found
    c.beat([7] * LANES, [0], [4])
    assert c.found == [[7] * 5], "the next one is taken"
