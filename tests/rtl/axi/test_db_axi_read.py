# SPDX-License-Identifier: Apache-2.0
"""db_axi_read: every row of every command once and in order, bursts of legal extent, never more than fits."""

from __future__ import annotations

import os
import random
from collections import deque
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from axi_model import AxiRead, Media, stretches
from cocotb.triggers import RisingEdge
from streams import ROW as ROW_PARTS
from streams import Sink, Source, start

WIDTH, ROWS, BURST, FAST = (int(os.environ.get(n, "0")) for n in ("DATA_W", "ROWS", "BURST_BYTES", "FAST"))
ROW = WIDTH // 8


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut = dut
        self.rng = rng = random.Random(seed)
        self.media = Media(WIDTH)
        self.axi = AxiRead(dut, rng, self.media, self.burst)
        self.cmd = Source(dut, rng, "s_cmd", ("addr", "bytes", "pages", "fua", "user"))
        self.out = Sink(dut, rng, "m_row", (*ROW_PARTS, "user"))
        self.plan: deque[tuple[int, int, int]] = deque()  # bursts that must come
        self.rows: deque[tuple[int, int, int]] = deque()  # rows that must come: address, last, user
        self.held = 0  # rows asked for and not yet given out
        self.cycle = 0
        self.out_cycles: list[int] = []
        self.take = True

    async def start(self) -> None:
        await start(self.dut, stop=0)

    def burst(self, addr: int, rows: int) -> None:
        assert self.axi.ar.new is not None
        assert self.plan, f"burst at {addr:#x} that no command asks for"
        assert (addr, rows, self.axi.ar.new.fua) == self.plan.popleft()
        self.held += rows
        assert self.held <= ROWS, "more asked for than there is room"

    def add(self, addr: int, size: int) -> None:
        pages = addr % 4096 == 0 and size % 4096 == 0 and self.rng.random() < 0.7
        self.cmd.queue.append((addr, size, int(pages), self.rng.getrandbits(1), self.rng.getrandbits(8)))

    async def step(self) -> None:
        await RisingEdge(self.dut.clk)
        self.cycle += 1
        taken = self.cmd.step()
        if taken:
            addr, size, pages, fua, user = taken
            self.plan.extend((*s, fua) for s in stretches(addr, size, 4096 if pages else BURST, ROW))
            self.rows.extend((a, int(a + ROW == addr + size), user) for a in range(addr, addr + size, ROW))
        self.axi.step(self.cycle)
        row = self.out.step(self.take)
        if row:
            addr, last, user = self.rows.popleft()
            bad = int(addr in self.media.bad)
            assert row == (self.media.read(addr), last, WIDTH // 32, bad, user), f"row of {addr:#x}"
            self.held -= 1
            self.out_cycles.append(self.cycle)
        if int(self.dut.quiet.value):
            assert self.axi.missing == 0, "quiet while data is missing"

    async def drain(self) -> None:
        limit = self.cycle + 100_000
        while self.cmd.queue or self.cmd.word or self.rows:
            assert self.cycle < limit, "hangs"
            await self.step()
        for _ in range(4):
            await self.step()
        assert not self.plan and not self.axi.missing and int(self.dut.quiet.value)

    def random_commands(self, n: int, sectors: int = 24) -> None:
        for _ in range(n):
            addr = 512 * self.rng.randrange(1 << 20)
            if self.rng.random() < 0.3:
                self.add(addr & ~0xFFF, 4096 * self.rng.randint(1, 3))
            size = 512 * self.rng.choice((1, 1, 2, self.rng.randint(1, 8), self.rng.randint(1, sectors)))
            self.add(addr, size)
            if self.rng.random() < 0.2:
                self.media.bad.update(self.rng.sample(range(addr, addr + size, ROW), 2))


@cocotb.test()
async def random_commands(dut: Any) -> None:
    for seed, stalls, latency in (
        (1, (0, 0, 0, 0), (0, 2)),
        (2, (0.3, 0.3, 0.3, 0.3), (1, 90)),
        (3, (0, 0, 0, 0.6), (0, 0)),
        (4, (0.8, 0.5, 0.6, 0), (0, 300)),
    ):
        b = Bench(dut, seed)
        await b.start()
        b.cmd.stall, b.axi.ar.stall, b.axi.stall, b.out.stall = stalls
        b.axi.latency = latency
        b.random_commands(20 * WIDTH // 256 + 5)
        await b.drain()
        assert b.media.bad


@cocotb.test()
async def a_row_a_cycle(dut: Any) -> None:
    """Whatever the size of the commands, with a media that gives a row a cycle."""
    for sectors in (1, 3, 40):
        b = Bench(dut, sectors)
        await b.start()
        b.axi.latency = (12, 12)
        for i in range(1 + 120 // sectors):
            b.add(512 * sectors * i, 512 * sectors)
        await b.drain()
        cycles = b.out_cycles[-1] - b.out_cycles[0] + 1
        assert cycles == len(b.out_cycles), f"{sectors} sectors: {cycles - len(b.out_cycles)} bubbles"


@cocotb.test()
async def runs_ahead_as_far_as_the_buffer(dut: Any) -> None:
    """A reader that pauses: the buffer fills to its end and then runs empty at a row a cycle."""
    b = Bench(dut, 7)
    await b.start()
    b.take = False
    b.axi.latency = (5, 5)
    for i in range(4 * ROWS * ROW // 512):
        b.add(512 * i, 512)
    for _ in range(3 * ROWS + 100):
        await b.step()
    assert ROWS - BURST // ROW < b.held <= ROWS
    dut.stop.value = 1
    await b.step()
    assert b.axi.missing == 0 and int(dut.quiet.value)
    dut.stop.value = 0
    b.take = True
    b.out_cycles.clear()
    while len(b.out_cycles) < ROWS:
        await b.step()
    assert b.out_cycles[-1] - b.out_cycles[0] == ROWS - 1
    await b.drain()


@cocotb.test()
async def latency(dut: Any) -> None:
    b = Bench(dut, 8)
    await b.start()
    await b.step()
    b.add(0, 512)
    b.axi.latency = (0, 0)
    marks = {}
    for _ in range(12):
        await b.step()
        for name, seen in (
            ("cmd", b.cmd.valid),
            ("ar", b.axi.ar.valid),
            ("r", b.axi.rsp["r_valid"]),
            ("out", b.out.valid),
        ):
            if seen.get():
                marks.setdefault(name, b.cycle)
    assert marks["ar"] - marks["cmd"] == 1, marks
    assert marks["out"] - marks["r"] == (1 if FAST else 3 if ROWS > 64 else 2), marks


@cocotb.test()
async def stop_is_obeyed(dut: Any) -> None:
    """After stop no new address; what was asked for comes; quiet then, even if nobody takes the rows."""
    for seed in range(10, 18):
        b = Bench(dut, seed)
        await b.start()
        b.axi.ar.stall, b.axi.stall, b.out.stall = 0.5, 0.3, 0.3
        b.random_commands(30)
        for _ in range(b.rng.randint(1, 400)):
            await b.step()
        dut.stop.value = 1
        b.take = b.rng.random() < 0.5
        await b.step()
        for _ in range(4 * ROWS + 500):
            await b.step()
            assert b.axi.ar.new is None, "address after stop"
            if int(dut.quiet.value):
                break
        assert int(dut.quiet.value), "never quiet"
        for _ in range(20):
            await b.step()
            assert int(dut.quiet.value) and b.axi.ar.new is None
        dut.stop.value = 0
        if seed % 2:
            b.take = True
            await b.drain()  # goes on as if nothing had been
        else:
            b = Bench(dut, seed)  # or is reset
            await b.start()
            b.random_commands(5)
            await b.drain()


@pytest.mark.parametrize(
    ("data_w", "rows", "burst", "fast"),
    [bench.rare(128, 1024, 4096, 0), (256, 512, 1024, 1), (256, 2048, 1024, 0), bench.rare(512, 128, 512, 0)],
)
def test_db_axi_read(data_w: int, rows: int, burst: int, fast: int) -> None:
    parameters = {"DATA_W": data_w, "ROWS": rows, "BURST_BYTES": burst, "FAST": fast}
    bench.run(__file__, "db_axi_read", parameters, env={k: str(v) for k, v in parameters.items()})
