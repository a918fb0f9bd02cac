# SPDX-License-Identifier: Apache-2.0
"""Data of the firmware's I/O commands through SGLs, compiled for this machine, against a walk written from NVMe Base
2.0, section 4.1.2: which bytes move, which are read beside them, and how each fault ends."""

from __future__ import annotations

import ctypes
import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from doorbell.nvme.constants import Status
from doorbell.nvme.sgl import PSDT_SGL, Descriptor, Kind
from test_firmware import Buffers, Command, Memory, library

DNR = 1 << 14
DESCRIPTORS = 32  # that are read: docs/virtualization.md
REPORT, REGISTER = 0x0E, 0x0D  # to the host, from the host
ERRORS = {DNR | s for s in (Status.SGL_INVALID_LAST, Status.SGL_INVALID_COUNT, Status.SGL_INVALID_DATA,
                            Status.SGL_INVALID_TYPE, Status.SGL_INVALID_GRANULARITY)}  # fmt: skip


@pytest.fixture(scope="module")
def fw(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return library(tmp_path_factory.mktemp("fw"), 17)


@dataclass
class Walk:
    """What the specification makes of a command's list."""

    memory: Memory
    to_host: bool
    places: list[int | None] = field(default_factory=list)  # of each byte; None: nowhere
    read: list[int] = field(default_factory=list)  # addresses of descriptors
    status: int = 0

    def qword(self, address: int) -> int:
        return int.from_bytes(self.memory.page(address)[address & 4095 :][:8], "little")

    def go(self, low: int, high: int, size: int) -> None:
        at = left = 0
        last = False
        while not self.status:
            length, subtype, kind = high & 0xFFFFFFFF, high >> 56 & 15, high >> 60
            if subtype or kind > Kind.LAST_SEGMENT:
                self.status = DNR | Status.SGL_INVALID_TYPE
            elif kind >= Kind.SEGMENT:
                if left:
                    self.status = DNR | Status.SGL_INVALID_COUNT
                elif last or not length or length % 16 or low % 8:
                    self.status = DNR | Status.SGL_INVALID_LAST
                at, left, last = low, length, kind == Kind.LAST_SEGMENT
            elif kind == Kind.BLOCK and (low % 4 or length % 4):
                self.status = DNR | Status.SGL_INVALID_GRANULARITY
            elif kind == Kind.BLOCK or self.to_host:
                if length % 4:
                    self.status = DNR | Status.SGL_INVALID_GRANULARITY
                else:
                    n = min(length, size - len(self.places))
                    self.places += [low + i if kind == Kind.BLOCK else None for i in range(n)]
            if self.status or len(self.places) == size:
                return
            if not left:
                self.status = DNR | Status.SGL_INVALID_DATA
            elif len(self.read) == DESCRIPTORS:
                self.status = DNR | Status.SGL_INVALID_COUNT
            elif {at >> 12, at + 8 >> 12} & self.memory.broken:
                self.status = Status.DATA_TRANSFER_ERROR
                self.read.append(at)
            else:
                self.read.append(at)
                low, high = self.qword(at), self.qword(at + 8)
                at, left = at + 16, left - 16


def store(memory: Memory, address: int, descriptor: Descriptor, noise: int) -> None:
    low, high = descriptor.words
    for a, word in ((address, low), (address + 8, high | noise << 32)):
        memory.page(a)[a & 4095 : (a & 4095) + 8] = word.to_bytes(8, "little")


def make(rng: random.Random, memory: Memory, size: int) -> Descriptor:
    """A random list of `size` bytes, a little longer or shorter, with a fault or none; blocks do not overlap."""
    pages = iter(rng.sample(range(1, 1 << 30), 300))
    lengths, left = [], size
    typical = rng.choice((4, 16, 64, 1024, 4096))
    while left > 0:
        lengths.append(min(4 * rng.randint(1, typical), left + 4 * rng.choice((0, 0, 0, 1, 50))))
        left -= lengths[-1]
    every = [Descriptor(next(pages) << 12 | 4 * rng.choice((0, 1023, rng.randrange(1024))), n) for n in lengths[:120]]
    every = [d._replace(kind=Kind.BIT_BUCKET, address=rng.getrandbits(64)) if rng.random() < 0.1 else d for d in every]
    for _ in range(rng.choice((0, 0, 1, 3))):
        every.insert(rng.randrange(len(every) + 1), Descriptor(next(pages) << 12, 0))
    pick = rng.randrange(len(every))
    match rng.randrange(16):
        case 0:
            every[pick] = every[pick]._replace(kind=rng.choice((4, 5, 15)))
        case 1:
            every[pick] = every[pick]._replace(subtype=rng.randint(1, 15))
        case 2:
            every[pick] = every[pick]._replace(length=every[pick].length | rng.randint(1, 3))
        case 3:
            every[pick] = every[pick]._replace(address=every[pick].address | rng.randint(1, 3))
        case 4:
            every.insert(pick, Descriptor(next(pages) << 12, 16, rng.choice((Kind.SEGMENT, Kind.LAST_SEGMENT))))
        case 5:
            del every[max(1, pick) :]
    if len(every) == 1 and rng.random() < 0.7:
        return every[0]
    parts = []
    while every:
        n = rng.choice((1, 2, 5, len(every)))
        parts.append(every[:n])
        del every[:n]
    pointer: Descriptor | None = None
    fault = rng.randrange(12)
    for i, part in reversed(list(enumerate(parts))):
        here = [*part, *([pointer] if pointer else [])]
        at = next(pages) << 12 | 8 * rng.choice((0, 1, 511, rng.randrange(512)))
        for k, descriptor in enumerate(here):
            store(memory, at + 16 * k, descriptor, rng.getrandbits(24))
        if fault == 0 and not rng.randrange(len(parts)):
            memory.broken.add(at + 16 * rng.randrange(len(here)) >> 12)
        kind = Kind.LAST_SEGMENT if pointer is None and rng.random() < 0.8 else Kind.SEGMENT
        pointer = Descriptor(at, 16 * len(here), kind)
        if not rng.randrange(len(parts)):
            if fault == 1:
                pointer = pointer._replace(length=rng.choice((0, 8, 24)))
            elif fault == 2:
                pointer = pointer._replace(address=at | rng.randint(1, 7))
            elif fault == 3 and i < len(parts) - 1:
                pointer = pointer._replace(kind=Kind.LAST_SEGMENT)
    assert pointer is not None
    return pointer


@pytest.mark.parametrize("to_host", [True, False], ids=["to the host", "from the host"])
def test_sgl_walks(fw: ctypes.CDLL, to_host: bool) -> None:
    rng = random.Random(to_host)
    buffers = Buffers()
    statuses = set()
    for _ in range(3000):
        memory = Memory(fw)
        size = 4 * rng.choice((1, 4, 4, 16, rng.randint(1, 1024)))
        pointer = make(rng, memory, size)
        low, high = pointer.words
        cmd = Command(function=3)
        cmd.dw[0] = (REPORT if to_host else REGISTER) | rng.choice((PSDT_SGL, 2 * PSDT_SGL)) << 8
        cmd.dw[6:10] = low & 0xFFFFFFFF, low >> 32, high & 0xFFFFFFFF, high >> 32
        walk = Walk(memory, to_host)
        walk.go(low, high, size)
        statuses.add(walk.status)
        data = rng.randbytes(4096)
        lists = {n: bytes(p) for n, p in memory.pages.items()}
        if to_host:
            buffers.page[:] = data
            have = min(size, 4 * rng.randrange(1025))
            status = fw.data_send(ctypes.byref(buffers), ctypes.byref(cmd), have, size)
            want = data[:have] + bytes(size - have)
        else:
            for place, byte in zip(walk.places, data):
                assert place is not None
                memory.page(place)[place & 4095] = byte
            words = (ctypes.c_uint32 * (size // 4))()
            status = fw.data_receive(ctypes.byref(buffers), ctypes.byref(cmd), words, size, size)
            want = data[:size]
        assert memory.errors == []
        assert status == walk.status
        # No descriptor twice, and nothing beside them. A failed read is one of its two qwords.
        beside = [a for a, n in memory.reads if a >> 12 in lists]
        least = [a + i for a in walk.read for i in (0, 8)]
        assert beside == (least if status != Status.DATA_TRANSFER_ERROR else least[: len(beside)])
        assert len(least) - len(beside) <= 1
        if to_host:
            for place, byte in zip(walk.places, want):
                assert place is None or memory.page(place)[place & 4095] == byte
            moved = {p for p in walk.places if p is not None}
            for n, page in memory.pages.items():
                if n not in lists:
                    assert not any(b for i, b in enumerate(page) if n << 12 | i not in moved), "written beside the data"
                else:
                    assert lists[n] == bytes(page)
        elif status == 0:
            assert bytes(words) == want
    assert statuses == {0, Status.DATA_TRANSFER_ERROR, *ERRORS}


def test_as_many_descriptors_as_may_be(fw: ctypes.CDLL) -> None:
    """Beside that in the command; also if they have no data, in one segment and each in its own."""
    for chain in (False, True):
        for count in (DESCRIPTORS, DESCRIPTORS + 1):
            memory = Memory(fw)
            end = Descriptor(0x5000, 64)
            if chain:
                every = [*(Descriptor(0x10_0000 + 4096 * (i + 1), 16, Kind.SEGMENT) for i in range(count - 1)), end]
                for i, d in enumerate(every):
                    store(memory, 0x10_0000 + 4096 * i, d, 0)
                first = Descriptor(0x10_0000, 16, Kind.SEGMENT)
            else:
                for i in range(count):
                    store(memory, 0x10_0000 + 16 * i, end if i == count - 1 else Descriptor(0, 0), 0)
                first = Descriptor(0x10_0000, 16 * count, Kind.LAST_SEGMENT)
            low, high = first.words
            cmd = Command(function=3)
            cmd.dw[0] = REPORT | PSDT_SGL << 8
            cmd.dw[6:10] = low & 0xFFFFFFFF, low >> 32, high & 0xFFFFFFFF, high >> 32
            status = fw.data_send(ctypes.byref(Buffers()), ctypes.byref(cmd), 64, 64)
            assert status == (0 if count == DESCRIPTORS else DNR | Status.SGL_INVALID_COUNT)


def test_prps_of_many_functions(tmp_path: Path) -> None:
    """A command without PSDT has PRPs there, too."""
    lib = library(tmp_path, 17)
    memory = Memory(lib)
    cmd = Command(function=3)
    cmd.dw[0], cmd.dw[6] = REPORT, 0x5004
    buffers = Buffers()
    buffers.page[:8] = b"rightway"
    assert lib.data_send(ctypes.byref(buffers), ctypes.byref(cmd), 8, 16) == 0
    assert bytes(memory.page(0x5000)[4:20]) == b"rightway" + bytes(8) and memory.reads == []
