# SPDX-License-Identifier: Apache-2.0
"""db_nvme_prp with SGLs against a model of them written from the NVMe Base Specification 2.0, section 4.1.2."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
import test_db_nvme_prp as prp
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from rtl_bench import WIDTHS, rare, run
from test_db_nvme_prp import PAGE, Command, Memory, begin, make_command

BLOCK, BUCKET, SEGMENT, LAST_SEGMENT, KEYED = range(5)
DNR = 1 << 14
BAD_SEGMENT, BAD_COUNT, TOO_SHORT, BAD_TYPE, NOT_DWORDS = (DNR | code for code in (0x0D, 0x0E, 0x0F, 0x11, 0x1E))
TRANSFER_ERROR = 0x04
EMPTY_MAX = 32  # descriptors without data in a row that a list may have: docs/ssd/limits.md
TO_HOST = os.environ.get("TO_HOST", "1") == "1"
BUDGET = os.environ.get("BUDGET", "0") == "1"
# Units of a command with BUDGET: rtl/nvme/README.md.
START, EACH_PAGE, PIECE, PAGES_MAX = 256, 8, 64, 511

Descriptor = tuple[int, int, int, int]  # address, length, type, subtype


def words(descriptor: Descriptor, noise: int = 0) -> tuple[int, int]:
    """A descriptor as two qwords (Base 2.0, figure 'SGL Descriptor Format'); noise in its reserved bytes."""
    addr, length, kind, subtype = descriptor
    return addr, length | (noise & 0xFFFFFF) << 32 | subtype << 56 | kind << 60


class Lists:
    """The descriptors of a command, as a controller comes by them: those of a segment in reads that end at a page."""

    def __init__(self, cmd: Command, mem: Memory) -> None:
        self.cmd, self.mem = cmd, mem
        self.at = self.left = 0  # of the segment: what has not been asked for
        self.piece: list[int] = []  # addresses of qwords
        self.taken = 0
        self.units = START + EACH_PAGE * min(-(-cmd.size // PAGE), PAGES_MAX)
        self.in_command = True

    def pay(self, units: int) -> None:
        if BUDGET and units > self.units:
            raise Spent
        self.units -= units

    def enter(self, addr: int, length: int, last: bool) -> None:
        """A segment. The first piece is free if it is the only one."""
        free = self.in_command and last and addr % PAGE + length <= PAGE
        self.at, self.left, self.in_command = addr, length, False
        self.ask(0 if free else PIECE)

    def ask(self, units: int) -> None:
        self.pay(units)
        here = min(self.left, PAGE - self.at % PAGE)
        self.cmd.lists.append((self.at, here))
        self.piece, self.taken = list(range(self.at, self.at + here, 8)), 0
        self.at, self.left = self.at + here, self.left - here

    def qword(self) -> int | None:
        """The next one; None: it could not be read. A failed read spoils its row and what follows in the piece."""
        if self.taken == len(self.piece):
            self.ask(PIECE)
        row = prp.WIDTH // 64
        seen = self.piece[: (self.taken // row + 1) * row]
        if any(w in self.mem.bad for w in seen):
            return None
        self.taken += 1
        return self.mem.word(self.piece[self.taken - 1])

    def descriptor(self) -> tuple[int | None, int | None]:
        if self.taken == len(self.piece):
            self.ask(PIECE)
        self.pay(1)
        first = self.qword()
        return first, None if first is None else self.qword()

    @property
    def over(self) -> bool:
        return not self.left and self.taken == len(self.piece)


class Spent(Exception):
    """A list takes more than the command has units for."""


def expect(cmd: Command, mem: Memory) -> None:
    """Fill in what the specification asks for: segments, list reads, status."""
    left = walk(cmd, Lists(cmd, mem))
    while left:
        cmd.segs.append((0, min(left, PAGE), True))
        left -= min(left, PAGE)


def walk(cmd: Command, lists: Lists) -> int:
    """What is left of the data when the list or the command is over."""
    left = cmd.size
    low, high = cmd.prp1, cmd.prp2
    final, in_last, empty = True, False, 0
    while left and not cmd.status:
        length, subtype, kind = high & 0xFFFFFFFF, high >> 56 & 15, high >> 60
        points = kind in (SEGMENT, LAST_SEGMENT)
        data = 0 if points or (kind == BUCKET and not TO_HOST) else length
        empty = 0 if data else empty + 1
        if subtype or kind > LAST_SEGMENT:
            cmd.status = BAD_TYPE
        elif points and not final:
            cmd.status = BAD_COUNT
        elif points and (in_last or low % 8 or length % 16 or not length):
            cmd.status = BAD_SEGMENT
        elif (kind == BLOCK and (low % 4 or length % 4)) or (kind == BUCKET and data % 4):
            cmd.status = NOT_DWORDS
        elif empty > EMPTY_MAX:
            cmd.status = BAD_COUNT
        elif points:
            in_last = kind == LAST_SEGMENT
            try:
                lists.enter(low, length, in_last)
            except Spent:
                cmd.status = BAD_COUNT
        else:
            data = min(data, left)
            left -= data
            while data:
                n = min(data, PAGE - (low % PAGE if kind == BLOCK else 0))
                cmd.segs.append((low, n, False) if kind == BLOCK else (0, n, True))
                low, data = low + n, data - n
            if left and final:
                cmd.status = TOO_SHORT
        if left and not cmd.status:
            try:
                first, second = lists.descriptor()
            except Spent:
                cmd.status = BAD_COUNT
                break
            if first is None or second is None:
                cmd.status = TRANSFER_ERROR
            else:
                low, high, final = first, second, lists.over
    return left


FAULTS = ("", "", "type", "subtype", "middle", "pointer in the last", "pointer address", "pointer length", "no pointer",
          "short", "address", "length", "read", "empty", "long")  # fmt: skip


def data_descriptors(rng: random.Random, size: int) -> list[Descriptor]:
    """Blocks, bit buckets and empty ones that describe `size` bytes, or a little more."""
    out: list[Descriptor] = []
    typical = rng.choice((8, 64, 600, 5000, 40_000))
    while size > 0:
        length = 4 * rng.choice((rng.randint(1, typical), rng.randint(1, 4), 1024, typical))
        if rng.random() < 0.7:
            length = min(length, size)
        page = rng.getrandbits(rng.choice((20, 36, 51))) << 12
        kind = BUCKET if rng.random() < 0.1 else BLOCK
        if rng.random() < 0.08:
            length = 0
        out.append((page | rng.choice((0, 4 * rng.randrange(1024), PAGE - 4)), length, kind, 0))
        size -= length if kind == BLOCK or TO_HOST else 0
    return out


def sgl_command(rng: random.Random, mem: Memory, size: int | None = None, fault: str | None = None) -> Command:
    """A random command with its segments in memory, and a fault that may be met or not."""
    if size is None:
        size = 4 * rng.choice((rng.randint(1, 32), rng.randint(1, 2048), 1024, 128, rng.randint(1, 20 * 1024)))
    fault = rng.choice(FAULTS) if fault is None else fault
    every = data_descriptors(rng, size)
    pick = rng.randrange(len(every))
    addr, length, kind, _ = every[pick]
    if fault == "type":
        every[pick] = addr, length, rng.choice((KEYED, 5, 8, 15)), 0
    elif fault == "subtype":
        every[pick] = addr, length, kind, rng.randint(1, 15)
    elif fault == "middle":
        every.insert(pick, (addr & ~7, 64, rng.choice((SEGMENT, LAST_SEGMENT)), 0))
    elif fault == "pointer in the last":
        every[pick:] = [(addr & ~7, 64, rng.choice((SEGMENT, LAST_SEGMENT)), 0)]
    elif fault == "short":
        del every[pick:]
    elif fault == "address":
        every[pick] = addr | rng.randint(1, 3), length, kind, 0
    elif fault == "length":
        every[pick] = addr, length | rng.randint(1, 3), kind, 0
    elif fault == "empty":
        every[pick:pick] = [(addr, 0, BLOCK, 0)] * (EMPTY_MAX + rng.randint(-2, 2))
    elif fault == "long":
        every += data_descriptors(rng, 40_000)
    # into segments
    alone = len(every) == 1 and rng.random() < 0.8
    parts: list[list[Descriptor]] = []
    while every and not alone:
        n = rng.choice((1, 2, rng.randint(1, 40), len(every), 255, 256, 600))
        parts.append(every[:n])
        del every[:n]
    if not parts:
        parts = [every or [(0, 0, BLOCK, 0)]]
    pointer: Descriptor | None = None
    for i, part in reversed(list(enumerate(parts))):
        last = i == len(parts) - 1
        if pointer:
            part = [*part, pointer]
        if alone:
            pointer = part[0]
            break
        offset = 8 * rng.choice((0, rng.randrange(512), 511))
        at = mem.list_page() + offset
        mem.lists += (offset + 16 * len(part)) // PAGE + 1
        for k, descriptor in enumerate(part):
            low, high = words(descriptor, rng.getrandbits(24))
            mem.words[at + 16 * k], mem.words[at + 16 * k + 8] = low, high
            if fault == "read" and rng.random() < 0.02:
                mem.bad.add(at + 16 * k + rng.choice((0, 8)))
        kind = LAST_SEGMENT if last and rng.random() < 0.8 else SEGMENT
        length = 16 * len(part)
        if not rng.randrange(len(parts)):
            if fault == "pointer address":
                at |= rng.randint(1, 7)
            elif fault == "pointer length":
                length = rng.choice((0, length + rng.randint(1, 15)))
            elif fault == "no pointer":
                kind = LAST_SEGMENT
        pointer = at, length, kind, 0
    assert pointer is not None
    low, high = words(pointer, rng.getrandbits(24))
    cmd = Command(rng.getrandbits(8), low, high, size, rng.getrandbits(16), sgl=1)
    expect(cmd, mem)
    return cmd


def block_command(i: int, size: int, addr: int) -> Command:
    cmd = Command(1, *words((addr, size, BLOCK, 0)), size, i, sgl=1)
    expect(cmd, Memory(random.Random(0)))
    return cmd


@cocotb.test()
async def random_lists(dut: Any) -> None:
    """Any list with any fault between commands with PRPs, under stalls of every interface."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    statuses, lists = set(), 0
    for seed, stall in ((1, 0.0), (2, 0.3), (3, 0.7), (4, 0.0)):
        b = await begin(dut, seed, stall, (1, 60))
        cmds = [(make_command if b.rng.random() < 0.3 else sgl_command)(b.rng, b.mem) for _ in range(250)]
        await b.run(cmds)
        statuses |= {c.status for c in cmds if c.sgl}
        lists = max(lists, *(len(c.lists) for c in cmds if c.sgl))
    all_of_them = {0, BAD_SEGMENT, BAD_COUNT, TOO_SHORT, BAD_TYPE, NOT_DWORDS, TRANSFER_ERROR}
    assert statuses == all_of_them, f"the random mix misses {all_of_them - statuses}"
    assert lists > 3, "the random mix misses chains"


@cocotb.test()
async def longest(dut: Any) -> None:
    """Blocks of 4 GiB less 4 bytes and a command of 8 MiB; a list of 4 GiB less 16 bytes, of which little is read."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    b = await begin(dut, 5, 0.1, (1, 20))
    whole = Command(1, *words((0x1234_5678_9004, 0xFFFF_FFFC, BLOCK, 0)), 8 << 20, 1, sgl=1)
    expect(whole, b.mem)
    at = b.mem.list_page() + 8
    for k in range(700):
        b.mem.words[at + 16 * k], b.mem.words[at + 16 * k + 8] = words((k << 12, 4, BLOCK, 0))
    much = Command(1, *words((at, 0xFFFF_FFF0, LAST_SEGMENT, 0)), 4 * 600, 2, sgl=1)
    expect(much, b.mem)
    assert not whole.status and much.status == (BAD_COUNT if BUDGET else 0) and len(much.lists) == (1 if BUDGET else 3)
    await b.run([whole, much, whole])


@cocotb.test()
async def full_speed(dut: Any) -> None:
    """Without stalls: a block of 4 KiB every 4 cycles, a segment of a long one each cycle, a descriptor of a list
    every 4, and the lists of following commands are read ahead. What the link takes for 4 KiB at 512 bit: 64 cycles."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    b = await begin(dut, 6, 0.0, (1, 1))
    short = [block_command(i, PAGE, i << 12) for i in range(64)]
    assert await b.run(short) <= 4 * len(short) + 4
    long = [block_command(i, 1 << 20, i << 20) for i in range(4)]
    assert await b.run(long) <= sum(len(c.segs) + 3 for c in long) + 4

    def listed(i: int, count: int) -> Command:
        at = b.mem.list_page()
        for k in range(count):
            page = b.rng.getrandbits(30) << 12
            b.mem.words[at + 16 * k], b.mem.words[at + 16 * k + 8] = words((page, PAGE, BLOCK, 0))
        cmd = Command(1, *words((at, 16 * count, LAST_SEGMENT, 0)), PAGE * count, i, sgl=1)
        expect(cmd, b.mem)
        return cmd

    b.lists.latency = (200, 200)
    cmds = [listed(i, 32) for i in range(16)]
    assert await b.run(cmds) <= 200 + sum(4 * len(c.segs) + 6 for c in cmds) + 20


@cocotb.test()
async def as_many_as_there_are_units(dut: Any) -> None:
    """Exactly what a command has units for, and one more: descriptors of a dword in one piece and in two, chains of
    segments of one descriptor, with a little data and with much."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    b = await begin(dut, 7, 0.2, (1, 20))
    cmds: list[Command] = []

    def add(size: int, first: Descriptor) -> Command:
        cmds.append(Command(1, *words(first), size, len(cmds), sgl=1))
        expect(cmds[-1], b.mem)
        return cmds[-1]

    def put(at: int, every: list[Descriptor]) -> None:
        for k, descriptor in enumerate(every):
            b.mem.words[at + 16 * k], b.mem.words[at + 16 * k + 8] = words(descriptor)

    for pages in (1, 2, 40, 600):
        units = START + EACH_PAGE * min(pages, PAGES_MAX)
        for crossing, count in ((False, 256), (True, units - 2 * PIECE), (True, units - 2 * PIECE + 1)):
            if crossing and count > 300:
                continue
            at = b.mem.list_page() + (PAGE - 16 if crossing else 0)
            b.mem.lists += 2
            size = PAGE * pages
            put(at, [(k << 12, 4, BLOCK, 0) for k in range(count - 1)] + [(0, size - 4 * (count - 1), BLOCK, 0)])
            spent = BUDGET and crossing and count > units - 2 * PIECE
            assert add(size, (at, 16 * count, LAST_SEGMENT, 0)).status == (BAD_COUNT if spent else 0)
        most = units // (PIECE + 1)  # segments of one descriptor, and what is left of the units is no segment more
        for count in (most - 1, most, most + 1):
            pieces = [b.mem.list_page() + 8 for _ in range(count)]
            chain = [(at, 16, SEGMENT, 0) for at in pieces]
            for at, following in zip(pieces, [*chain[1:], (0, PAGE * pages, BLOCK, 0)]):
                put(at, [following])
            c = add(PAGE * pages, chain[0])
            empty = count + 1 > EMPTY_MAX
            assert c.status == (BAD_COUNT if empty or (BUDGET and count > most) else 0), (pages, count)
    await b.run(cmds)


@cocotb.test()
async def reset_in_the_middle(dut: Any) -> None:
    """After a reset at any time in a list that chains, the next command is walked as if it were the first."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    for cycles in range(3, 60, 4):
        b = await begin(dut, cycles, 0.0, (3, 3))
        half = sgl_command(b.rng, b.mem, 200_000, "")
        b.lists.add(half)
        b.cmd.queue.append((half.fn, half.sgl, half.prp1, half.prp2, half.size, half.user))
        b.seg.step()
        for cycle in range(cycles):
            await RisingEdge(dut.clk)
            b.cmd.step()
            b.lists.step(cycle)
            b.seg.step()
        b = await begin(dut, cycles, 0.0, (3, 3))
        await b.run([(sgl_command, make_command)[i % 2](b.rng, b.mem) for i in range(10)])


@pytest.mark.parametrize(("to_host", "budget"), [(1, 0), (0, 0), (1, 1), rare(0, 1)])
@pytest.mark.parametrize("data_w", WIDTHS)
def test_db_nvme_sgl(data_w: int, to_host: int, budget: int) -> None:
    parameters = {"DATA_W": data_w, "USER_W": 16, "SGL": 1, "TO_HOST": to_host, "BUDGET": budget}
    run(__file__, "db_nvme_prp", parameters, env={"TO_HOST": str(to_host), "BUDGET": str(budget)})
