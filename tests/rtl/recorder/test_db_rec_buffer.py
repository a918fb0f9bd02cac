# SPDX-License-Identifier: Apache-2.0
"""db_rec_buffer: what is given while a capture is on comes out whole and in order, what it leaves never does."""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Iterator
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiRam
from streams import Sink, Source, reset
from structs import layout

STATE = layout("db_rec_pkg", "buffer_state_t")
WIDTH, BYTES = int(os.environ.get("WIDTH", "128")), 1 << 14
ROWS = 4096 * 8 // WIDTH
DROP = 8192


class Bench:
    """The block between a source and a model of the core, which takes whole blocks while it captures."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.source = Source(dut, self.rng, "s_axis_t", ("data", "last"))
        self.sink = Sink(dut, self.rng, "m_axis_t", ("data", "last"))
        self.cycle = self.number = 0
        self.enable = self.capturing = self.stop = self.held = False
        self.chunk = self.rows = self.left = 0  # blocks of the capture, rows taken, cycles until its begin or end
        self.given: list[int] = []  # rows of this capture: accepted, received
        self.taken: list[int] = []
        self.given_at: list[int] = []
        self.levels: deque[int] = deque([0, 0], maxlen=2)
        self.inside = self.closed = 0
        self.mid = self.shy = False  # inside a block at the source; the core is ready only when there is something

    async def start(self) -> None:
        d = self.dut
        d.capturing.value = d.enable.value = d.taking.value = 0
        d.rst.value = 1
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        await RisingEdge(d.clk)
        self.ram = AxiRam(AxiBus.from_prefix(d, "m_axi"), d.clk, d.rst, size=BYTES)
        for port in (self.ram.write_if, self.ram.read_if):
            port.log.setLevel("ERROR")
        await reset(d)

    def stalls(self, source: float, sink: float, memory: float) -> None:
        def pauses() -> Iterator[bool]:
            rng = random.Random(self.rng.random())
            while True:
                yield rng.random() < memory

        self.source.stall, self.sink.stall = source, sink
        w, r = self.ram.write_if, self.ram.read_if
        for channel in (w.aw_channel, w.w_channel, w.b_channel, r.ar_channel, r.r_channel):
            channel.set_pause_generator(pauses() if memory else None)
            channel.pause = False

    def feed(self, blocks: int) -> None:
        for _ in range(blocks):
            for k in range(ROWS):
                self.source.queue.append((self.number << 16 | k, int(k == ROWS - 1)))
            self.number += 1

    async def step(self, n: int = 1) -> None:
        d = self.dut
        for _ in range(n):
            await RisingEdge(d.clk)
            self.cycle += 1
            state = STATE.unpack(int(d.state.value))
            assert state["blocks"] == self.inside * WIDTH // 8 // 4096
            assert int(d.drop.value) == (self.levels[0] >= DROP), "two cycles after the level"
            assert int(d.idle.value) == (self.inside == 0 and not int(d.data_enabled_out.value))
            self.levels.append(self.inside * WIDTH // 8)
            self.closed = 0 if int(d.taking.value) and int(d.enable.value) else self.closed + 1
            if self.closed > 1 and not self.mid:
                assert not int(d.data_enabled_out.value), "for the rest of a block at most"
            busy, wanted = state["busy"], int(d.enable.value)
            pops = int(d.i_fifo.m_axis_tvalid.value) and int(d.i_fifo.m_axis_tready.value)
            word = self.source.step()
            if not self.capturing:
                self.sink.held = None  # what is on offer when a capture ends is taken back
            shy = self.shy and not self.sink.valid.get()
            rows = self.rows + (self.sink.on and self.sink.valid.get())
            got = self.sink.step(self.capturing and not self.held and not shy and rows < self.chunk * ROWS)
            self.inside += bool(word) - bool(pops)
            if word:
                self.mid = not word[1]
            if word and (self.given or word[0] & 0xFFFF == 0):  # not the rest of a block of the capture before
                self.given.append(word[0])
                self.given_at.append(self.cycle)
            if got and self.capturing:  # not what a core takes that is being reset
                assert got[1] == ((got[0] & 0xFFFF) == ROWS - 1)
                self.taken.append(got[0])
                self.rows += 1
            # the core
            whole = self.rows % ROWS == 0
            if self.capturing and not wanted and not busy:
                self.stop = True
            over = self.stop or self.rows == self.chunk * ROWS
            if self.left:
                self.left -= 1
                if not self.left:
                    self.capturing = not self.capturing
            elif self.capturing and over and whole:
                self.left = self.rng.randint(1, 30)  # statuses
            d.enable.value = int(self.enable)
            d.capturing.value = int(self.capturing)
            d.taking.value = int(self.capturing and not (over and whole))

    async def begin(self, chunk: int) -> None:
        assert not self.capturing
        self.enable, self.stop, self.chunk, self.rows, self.left = True, False, chunk, 0, self.rng.randint(1, 20)
        self.given, self.taken, self.given_at = [], [], []

    async def end(self, limit: int = 30000) -> None:
        for _ in range(limit):
            if not self.capturing and not self.left:
                return
            await self.step()
        raise AssertionError("the capture does not end")


def whole_blocks(rows: list[int]) -> bool:
    return len(rows) % ROWS == 0 and all(
        row == (rows[0] >> 16) + i // ROWS << 16 | i % ROWS for i, row in enumerate(rows)
    )  # fmt: skip


@cocotb.test()
async def stopped_by_software(dut: Any) -> None:
    """All that was accepted when DataEnable falls is recorded, from wherever it is, also half a block at the source."""
    b = Bench(dut, 1)
    await b.start()
    deepest = 0
    for k in range(10):
        b.stalls(*b.rng.choice(((0, 0, 0), (0.3, 0, 0.2), (0, 0.6, 0.3), (0.1, 0.2, 0))))
        await b.begin(1000)
        b.feed(8)
        b.held = bool(k % 2)  # the drives stand still: the memory fills
        await b.step(b.rng.randrange(60, 8 * ROWS))
        deepest = max(deepest, b.inside)
        b.held = False
        b.enable = False
        await b.end()
        assert b.taken == b.given and whole_blocks(b.taken), f"{len(b.taken)} of {len(b.given)} rows"
        assert b.inside == 0
    assert deepest * WIDTH // 8 > 12288, "more than the FIFOs at the ends hold at 128 bit"


@cocotb.test()
async def stopped_at_the_first_row(dut: Any) -> None:
    """DataEnable falls some cycles around a block's first row, the rest comes long after: it is still recorded."""
    b = Bench(dut, 4)
    await b.start()
    b.stalls(0, 0, 0)
    accepted = 0
    for when in range(-3, 6):
        b.source.queue.clear()
        await b.begin(1000)
        while not int(dut.data_enabled_out.value):
            await b.step()
        for k in range(9):
            if k == 3:
                b.feed(1)
                rest = [b.source.queue.pop() for _ in range(ROWS - 1)][::-1]
            if k == 3 + when:
                b.enable = False
            await b.step()
        await b.step(80)
        if b.mid:
            accepted += 1
            b.source.queue.extend(rest)
        else:  # the source sees that it is too late, and takes its row back
            b.source.queue.clear()
            b.source.word = None
        await b.end()
        assert b.taken == b.given and len(b.taken) == (ROWS if b.given else 0)
    assert 2 <= accepted < 9


@cocotb.test()
async def full_chunks_and_resets(dut: Any) -> None:
    """A chunk that is full, or a reset: the rest is gone when the next capture begins, at the begin of a block."""
    b = Bench(dut, 2)
    await b.start()
    thrown = 0
    for k in range(12):
        b.stalls(*b.rng.choice(((0, 0, 0), (0.3, 0, 0.2), (0, 0.6, 0.3))))
        reset_it, b.shy = k % 3 == 2, k % 2 == 1
        await b.begin(b.rng.randint(1, 4))
        b.feed(7)
        if reset_it:
            await b.step(b.rng.randrange(100, 3 * ROWS))
            b.capturing, b.left, b.chunk = False, 0, 0
        await b.end()
        assert b.taken == b.given[: len(b.taken)] and (not b.taken or b.taken[0] & 0xFFFF == 0)
        if not reset_it:
            assert len(b.taken) == b.chunk * ROWS and whole_blocks(b.taken)
        thrown += len(b.given) - len(b.taken)
        b.enable = b.rng.random() < 0.5
        await b.step(b.rng.randrange(1, 40))
    assert thrown > 3 * ROWS


@cocotb.test()
async def to_the_cycle(dut: Any) -> None:
    """data_enabled_out 2 cycles after the core's, a row every cycle, and through the empty buffer in 6."""
    b = Bench(dut, 3)
    await b.start()
    b.stalls(0, 0, 0)
    await b.begin(3)
    b.feed(3)
    while not int(dut.taking.value):
        await b.step()
    first = b.cycle
    while not int(dut.data_enabled_out.value):
        await b.step()
    assert b.cycle - first == 2
    while not b.taken:
        await b.step()
    assert b.cycle - b.given_at[0] == 6
    await b.end()
    assert len(b.given_at) >= 3 * ROWS and b.given_at[-1] - b.given_at[0] == len(b.given_at) - 1
    assert len(b.taken) == 3 * ROWS


@pytest.mark.parametrize("width", [bench.rare(128), 256])
def test_db_rec_buffer(width: int) -> None:
    bench.run(__file__, "db_rec_buffer", {"STREAM_W": width, "BYTES": f"64'd{BYTES}", "DROP_BYTES": f"64'd{DROP}"},
              env={"WIDTH": str(width)}, inside=("db_axi_fifo",))  # fmt: skip
