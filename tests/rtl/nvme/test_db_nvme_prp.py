# SPDX-License-Identifier: Apache-2.0
"""db_nvme_prp against a model of PRPs written from the NVMe Base Specification 2.0, section 4.1.1."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from rtl_bench import WIDTHS, run
from streams import ROW, Sink, Source, reset
from structs import layout

SEGMENT = layout("db_mem_pkg", "segment_t")
PRP = layout("db_nvme_pkg", "prp_t")
PAGE = 4096
OFFSET_INVALID = 1 << 14 | 0x13  # DNR, generic, PRP Offset Invalid
TRANSFER_ERROR = 0x04


@dataclass
class Command:
    fn: int
    prp1: int
    prp2: int
    size: int
    user: int
    lists: list[tuple[int, int]] = field(default_factory=list)  # expected list reads: address, bytes
    segs: list[tuple[int, int, bool]] = field(default_factory=list)  # expected: address, length, drop
    status: int = 0
    sgl: int = 0  # prp1 and prp2 are an SGL descriptor


class Memory:
    """Host memory as 8-byte words; `bad` holds the word addresses where a read fails."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.words: dict[int, int] = {}
        self.bad: set[int] = set()
        self.lists = 0

    def list_page(self) -> int:
        """Address of a page that no other list has."""
        self.lists += 1
        return self.rng.getrandbits(36) << 28 | self.lists << 12

    def word(self, addr: int) -> int:
        assert addr % 4 == 0
        return self.words.setdefault(addr, self.rng.getrandbits(64))  # not a page address: an entry nobody set


def expect(cmd: Command, mem: Memory) -> None:
    """Fill in what the specification asks for: segments, list reads, status."""
    left = cmd.size
    if cmd.prp1 % 4:
        cmd.status = OFFSET_INVALID
    else:
        n = min(left, PAGE - cmd.prp1 % PAGE)
        cmd.segs.append((cmd.prp1, n, False))
        left -= n
        if left > PAGE:
            walk_lists(cmd, mem, left)
            left -= sum(length for _, length, _ in cmd.segs[1:])
        elif left:
            if cmd.prp2 % PAGE:
                cmd.status = OFFSET_INVALID
            else:
                cmd.segs.append((cmd.prp2, left, False))
                left = 0
    assert (left > 0) == (cmd.status != 0)
    while left:
        cmd.segs.append((0, min(left, PAGE), True))
        left -= min(left, PAGE)


def walk_lists(cmd: Command, mem: Memory, left: int) -> None:
    pointer = cmd.prp2
    if pointer % 8:
        cmd.status = OFFSET_INVALID
        return
    while left:
        pages = -(-left // PAGE)
        here = min(pages, (PAGE - pointer % PAGE) // 8)
        cmd.lists.append((pointer, here * 8))
        chains = here < pages
        for i in range(here):
            addr = pointer + 8 * i
            value = mem.word(addr)
            # A failed read spoils the row it is in and the packet's later rows; which row is the DUT's width's matter.
            row = WIDTH // 8
            if any(pointer + w in mem.bad for w in range(0, (8 * i // row + 1) * row, 8) if w < here * 8):
                cmd.status = TRANSFER_ERROR
                return
            if value % PAGE:
                cmd.status = OFFSET_INVALID
                return
            if chains and i == here - 1:
                pointer = value
            else:
                cmd.segs.append((value, min(left, PAGE), False))
                left -= min(left, PAGE)


WIDTH = 0  # DATA_W of the DUT, set by each test


def make_command(
    rng: random.Random, mem: Memory, size: int | None = None, list_room: int | None = None, errors: bool = True
) -> Command:
    """A random command with its lists in memory."""
    if size is None:
        size = 4 * rng.choice(
            (
                rng.randint(1, 32),
                rng.randint(1, 2048),
                rng.randint(1, 2048) + 1024,
                1024,
                rng.randint(1, 20 * 1024),
                1024 * rng.randint(1, 40),
                rng.randint(1, 256 * 1024),
            )
        )
    page = lambda: rng.getrandbits(rng.choice((20, 36, 52))) << 12  # noqa: E731
    prp1 = page() | rng.choice((0, 4 * rng.randrange(1024), PAGE - 4))
    cmd = Command(rng.getrandbits(8), prp1, rng.getrandbits(64), size, rng.getrandbits(16))
    fault = rng.randrange(8) if errors else 99
    if fault == 0:
        cmd.prp1 |= rng.randint(1, 3)
    left = size - min(size, PAGE - prp1 % PAGE)
    if 0 < left <= PAGE:
        cmd.prp2 = page() | (4 * rng.randint(1, 1023) if fault == 1 else 0)
    elif left:
        room = list_room or rng.choice((512, 1, 2, 3, rng.randint(1, 512), rng.randint(1, 16)))
        pointer = mem.list_page() + PAGE - 8 * room
        cmd.prp2 = pointer | (rng.randint(1, 7) if fault == 1 else 0)
        entries = -(-left // PAGE)
        while True:
            room = (PAGE - pointer % PAGE) // 8
            for i in range(min(entries, room)):
                bad = fault == 2 and not rng.randrange(8)
                mem.words[pointer + 8 * i] = page() | (rng.randint(1, 4095) if bad else 0)
                if fault in (3, 4) and not rng.randrange(12):
                    mem.bad.add(pointer + 8 * i)
            if entries <= room:
                break
            entries -= room - 1
            link = mem.list_page()
            bad = fault == 5 and rng.randrange(2)
            mem.words[pointer + 8 * (room - 1)] = link | (rng.randint(1, 4095) if bad else 0)
            pointer = link
    expect(cmd, mem)
    return cmd


Row = tuple[int, int, int, int]  # data, last, dwords, err
Segment = tuple[int, int, int, int, int, int]  # fn, address, length, first, last, drop


class ListReader:
    """The db_pcie_read for PRP lists: checks each read and answers it, in order, from `mem`."""

    def __init__(self, dut: Any, rng: random.Random, mem: Memory, req: str = "m_req", rows: str = "s_list") -> None:
        self.rng, self.mem = rng, mem
        self.latency = (1, 60)
        self.req = Sink(dut, rng, req, SEGMENT)
        self.rows = Source(dut, rng, rows, ROW)
        self.plan: deque[tuple[int, int, int]] = deque()  # reads to come: fn, address, bytes
        self.todo: deque[tuple[int, int, int]] = deque()  # cycle, address, bytes

    def add(self, cmd: Command) -> None:
        self.plan.extend((cmd.fn, *r) for r in cmd.lists)

    def packet(self, addr: int, size: int) -> list[Row]:
        """A list packet as rows."""
        rows, err = [], 0
        step = WIDTH // 8
        for at in range(0, size, step):
            words = range(at, min(at + step, size), 8)
            value = self.rng.getrandbits(WIDTH)
            for i, w in enumerate(words):
                err |= addr + w in self.mem.bad
                value = value & ~(((1 << 64) - 1) << 64 * i) | self.mem.word(addr + w) << 64 * i
            rows.append((value, int(at + step >= size), 2 * len(words), int(err)))
        return rows

    def step(self, cycle: int) -> None:
        word = self.req.step()
        if self.req.new:
            assert self.plan, f"list read {self.req.new} that nothing asks for"
            assert self.req.new == (*self.plan.popleft(), 1, 1, 0)
        if word:
            self.todo.append((cycle + self.rng.randint(*self.latency), word.addr, word.len))
        if self.todo and self.todo[0][0] <= cycle and not self.rows.queue:
            _, addr, size = self.todo.popleft()
            self.rows.queue.extend(self.packet(addr, size))
        self.rows.step()


def segments(cmd: Command) -> list[Segment]:
    """The segments that a command must give."""
    last = len(cmd.segs) - 1
    return [(cmd.fn, addr, n, int(i == 0), int(i == last), int(drop)) for i, (addr, n, drop) in enumerate(cmd.segs)]


class Bench:
    """Commands in, lists beside them, segments out."""

    def __init__(self, dut: Any, rng: random.Random, stall: float, latency: tuple[int, int]) -> None:
        self.dut, self.rng, self.mem = dut, rng, Memory(rng)
        self.cmd = Source(dut, rng, "s_cmd", (("", PRP), "user"))
        self.lists = ListReader(dut, rng, self.mem)
        self.seg = Sink(dut, rng, "m_seg", (("", SEGMENT), "user", "status"))
        self.lists.latency = latency
        for stream in (self.cmd, self.lists.req, self.lists.rows, self.seg):
            stream.stall = stall
        self.cycle = 0

    async def run(self, cmds: list[Command]) -> int:
        """Pass `cmds` through; returns the cycles from the first command in to the last segment out."""
        todo = deque((cmd, s) for cmd in cmds for s in segments(cmd))
        for cmd in cmds:
            self.cmd.queue.append((cmd.fn, cmd.sgl, cmd.prp1, cmd.prp2, cmd.size, cmd.user))
            self.lists.add(cmd)
        start, end, quiet = None, 0, 0
        while todo or quiet < 20:
            await RisingEdge(self.dut.clk)
            self.cycle += 1
            quiet = 0 if todo else quiet + 1
            assert self.cycle < 400_000 and (start is None or self.cycle < start + 200_000), "hangs"
            if self.cmd.step() and start is None:
                start = self.cycle
            self.lists.step(self.cycle)
            if got := self.seg.step():
                assert todo, "segment that nobody asked for"
                cmd, want = todo.popleft()
                assert got[:7] == (*want, cmd.user), f"{cmd}: {got}, expected {want}"
                if got.last:
                    assert got.status == cmd.status, f"{cmd}"
                    end = self.cycle
        assert not self.lists.plan and not self.lists.todo and not self.lists.rows.queue and not self.cmd.queue
        assert start is not None
        return end - start


async def begin(dut: Any, seed: int, stall: float, latency: tuple[int, int]) -> Bench:
    global WIDTH
    WIDTH = len(dut.s_list_data)
    b = Bench(dut, random.Random(seed), stall, latency)
    await reset(dut)
    return b


@cocotb.test()
async def random_commands(dut: Any) -> None:
    """Any offset, length, list place, chain and error, under stalls of every interface."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    for seed, stall in ((1, 0.0), (2, 0.3), (3, 0.7)):
        b = await begin(dut, seed, stall, (1, 60))
        cmds = [make_command(b.rng, b.mem) for _ in range(250)]
        await b.run(cmds)
        statuses = {c.status for c in cmds}
        assert statuses == {0, OFFSET_INVALID, TRANSFER_ERROR}, "the random mix misses a status"
        assert any(len(c.lists) > 1 for c in cmds), "the random mix misses chains"


@cocotb.test()
async def chains(dut: Any) -> None:
    """Lists of three and more pages; the largest length that an Identify MDTS of 8 MiB would allow."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    b = await begin(dut, 4, 0.1, (1, 20))
    cmds = [make_command(b.rng, b.mem, 8 << 20, room, errors=False) for room in (1, 2, 512)]
    cmds += [
        make_command(b.rng, b.mem, PAGE * entries + 4, room, errors=False)  # one more page if PRP1 begins late in its
        for room in (2, 3, 8, 511, 512)
        for entries in (room - 1, room, room + 1)
    ]
    # the second list full or nearly, and the third as short as can be
    cmds += [make_command(b.rng, b.mem, PAGE * (2 + left), 2, errors=False) for left in (510, 511, 512, 513)]
    assert all(len(c.lists) >= 5 for c in cmds[:3]) and {len(c.lists) for c in cmds[-4:]} == {2, 3}
    await b.run(cmds)


@cocotb.test()
async def full_speed(dut: Any) -> None:
    """Without stalls: a short command every other cycle, a segment of a long one each cycle."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    b = await begin(dut, 5, 0.0, (1, 1))
    short = [Command(1, i << 12, 0, PAGE, i) for i in range(64)]
    long = [make_command(b.rng, b.mem, 1 << 20, 512, errors=False) for _ in range(4)]
    for c in short:
        expect(c, b.mem)
    assert await b.run(short) <= 2 * len(short) + 4
    assert await b.run(long) <= sum(len(c.segs) for c in long) + 16


@cocotb.test()
async def lists_are_read_ahead(dut: Any) -> None:
    """With 200 cycles to a list, sixteen commands of 64 KiB wait for about two round trips, not sixteen."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    b = await begin(dut, 6, 0.0, (200, 200))
    cmds = [make_command(b.rng, b.mem, 65536, 512, errors=False) for _ in range(16)]
    segs = sum(len(c.segs) for c in cmds)
    assert await b.run(cmds) < segs + 3 * 200


@cocotb.test()
async def reset_in_the_middle(dut: Any) -> None:
    """After a reset with commands and a chain under way, the next command is walked as if it were the first."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    b = await begin(dut, 7, 0.0, (5, 5))
    half = make_command(b.rng, b.mem, 1 << 20, 4, errors=False)
    b.cmd.queue.append((half.fn, half.sgl, half.prp1, half.prp2, half.size, half.user))
    b.cmd.step()
    dut.m_req_ready.value = 1
    for _ in range(12):
        await RisingEdge(dut.clk)
    b = await begin(dut, 7, 0.0, (5, 5))
    await b.run([make_command(b.rng, b.mem) for _ in range(10)])


@pytest.mark.parametrize("data_w", WIDTHS)
def test_db_nvme_prp(data_w: int) -> None:
    run(__file__, "db_nvme_prp", {"DATA_W": data_w, "USER_W": 16})
