# SPDX-License-Identifier: Apache-2.0
"""db_axi_fifo: every row once and in order whatever stalls, only legal bursts, nothing read before it is written."""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Iterator
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from axi_model import check_burst
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiRam, AxiResp
from streams import Sink, Source, reset

NAMES = ("DATA_W", "BYTES", "BURST_BYTES", "BLOCK_BYTES", "BYPASS", "FAST", "FLUSH_CYCLES", "IN_ROWS", "OUT_ROWS")
WIDTH, BYTES, BURST_BYTES, BLOCK, BYPASS, FAST, FLUSH, IN_ROWS, OUT_ROWS = (
    int(os.environ.get(n, "256")) for n in NAMES
)
ROW = WIDTH // 8
ROWS = BYTES // ROW
BURST = min(BURST_BYTES, BLOCK or BURST_BYTES) // ROW
BASE = 3 << 32
THRESHOLD = BYTES // 4


class Monitor:
    """Watches the AXI port and knows of each place of the ring whether it is free, written or may be read."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.place: dict[int, str] = {}  # row address: writing, written, reading; free ones are absent
        self.aw: list[tuple[int, int]] = []  # all bursts: address, rows
        self.ar: list[tuple[int, int]] = []
        self.reading: deque[int] = deque()  # addresses of rows that must come
        self.w_rows: list[int] = []  # extents by wlast
        self.w_open = self.b = self.r_bursts = 0
        self.most_writes = self.most_reads = 0  # bursts under way at once
        self.held_w = self.idle_r = 0  # cycles: W was not taken; data was asked for and R was empty
        self.w_taken = self.r_came = 0  # rows
        self.bad = False  # an error was answered
        self.unasked = 0  # cycles: nothing was asked for
        self.idle_w = 0  # cycles: W would be taken and there was none

    def on(self, channel: str) -> bool:
        d = self.dut
        return bool(int(getattr(d, f"m_axi_{channel}valid").value) and int(getattr(d, f"m_axi_{channel}ready").value))

    def burst(self, channel: str) -> tuple[int, int]:
        d = self.dut
        addr, rows = (int(getattr(d, f"m_axi_{channel}{f}").value) for f in ("addr", "len"))
        rows += 1
        check_burst(addr, rows, ROW)
        assert rows <= BURST and addr // (BURST * ROW) == (addr + rows * ROW - 1) // (BURST * ROW)
        assert BASE <= addr and addr + rows * ROW <= BASE + BYTES, f"{addr:#x} is outside of the ring"
        assert int(getattr(d, f"m_axi_{channel}size").value) == ROW.bit_length() - 1
        assert int(getattr(d, f"m_axi_{channel}burst").value) == 1
        return addr, rows

    def step(self) -> None:
        d = self.dut
        got_b, got_ar, got_r, got_aw = self.on("b"), self.on("ar"), self.on("r"), self.on("aw")
        w_valid, w_ready = int(d.m_axi_wvalid.value), int(d.m_axi_wready.value)
        self.held_w += w_valid and not w_ready
        self.idle_w += w_ready and not w_valid
        self.unasked += not self.reading
        self.idle_r += bool(self.reading) and not got_r
        # A read of this cycle may not count on a response of this cycle, nor a write on data of this cycle.
        if got_ar:
            addr, rows = self.burst("ar")
            self.ar.append((addr, rows))
            for a in range(addr, addr + rows * ROW, ROW):
                assert self.place.get(a) == "written", f"{a:#x} is read while it is {self.place.get(a, 'free')}"
                self.place[a] = "reading"
                self.reading.append(a)
        if got_aw:
            addr, rows = self.burst("aw")
            self.aw.append((addr, rows))
            for a in range(addr, addr + rows * ROW, ROW):
                assert a not in self.place, f"{a:#x} is written over"
                self.place[a] = "writing"
        if w_valid and w_ready:
            assert int(d.m_axi_wstrb.value) == (1 << ROW) - 1
            self.w_open += 1
            self.w_taken += 1
            if int(d.m_axi_wlast.value):
                self.w_rows.append(self.w_open)
                self.w_open = 0
        self.bad |= (got_b and int(d.m_axi_bresp.value) >= 2) or (got_r and int(d.m_axi_rresp.value) >= 2)
        if got_b:
            addr, rows = self.aw[self.b]
            assert self.w_rows[self.b] == rows, "wlast"
            self.b += 1
            for a in range(addr, addr + rows * ROW, ROW):
                self.place[a] = "written"
        if got_r:
            del self.place[self.reading.popleft()]
            self.r_came += 1
            self.r_bursts += int(d.m_axi_rlast.value)
        self.most_writes = max(self.most_writes, len(self.aw) - self.b)
        self.most_reads = max(self.most_reads, len(self.ar) - self.r_bursts)


class Bench:
    def __init__(self, dut: Any, seed: int, ram: AxiRam | None = None) -> None:
        self.dut = dut
        self.old_ram = ram
        self.rng = rng = random.Random(seed)
        self.source = Source(dut, rng, "s_axis_t", ("data", "last"))
        self.sink = Sink(dut, rng, "m_axis_t", ("data", "last"))
        self.expected: deque[int] = deque()
        self.sent = self.received = self.cycle = self.added = 0
        self.almost = False
        self.check_data = True
        self.take = True
        self.in_cycles: list[int] = []
        self.out_cycles: list[int] = []

    async def start(self) -> None:
        d = self.dut
        d.rst.value = 1
        if not self.old_ram:
            cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        await RisingEdge(d.clk)
        self.ram = self.old_ram or AxiRam(AxiBus.from_prefix(d, "m_axi"), d.clk, d.rst, size=BYTES)
        for channel in (
            self.ram.write_if.aw_channel,
            self.ram.write_if.w_channel,
            self.ram.write_if.b_channel,
            self.ram.read_if.ar_channel,
            self.ram.read_if.r_channel,
        ):
            channel.log.setLevel("WARNING")
        self.ram.write_if.log.setLevel("ERROR")
        self.ram.read_if.log.setLevel("ERROR")
        await reset(d)
        self.axi = Monitor(d)

    def add(self, n: int) -> None:
        for _ in range(n):
            self.added += 1
            self.source.queue.append((self.rng.getrandbits(WIDTH), int(bool(BLOCK) and self.added * ROW % BLOCK == 0)))

    def stalls(self, aw: float, w: float, b: float, ar: float, r: float) -> None:
        def pauses(share: float) -> Iterator[bool]:
            rng = random.Random(self.rng.random())
            while True:
                yield rng.random() < share

        for channel, share in (
            (self.ram.write_if.aw_channel, aw),
            (self.ram.write_if.w_channel, w),
            (self.ram.write_if.b_channel, b),
            (self.ram.read_if.ar_channel, ar),
            (self.ram.read_if.r_channel, r),
        ):
            channel.set_pause_generator(pauses(share) if share else None)
            if not share:
                channel.pause = False

    async def step(self) -> None:
        d = self.dut
        await RisingEdge(d.clk)
        self.cycle += 1
        inside = (self.sent - self.received) * ROW
        assert int(d.level.value) == inside
        assert int(d.almost_full.value) == self.almost
        assert int(d.error.value) == self.axi.bad
        self.almost = inside >= THRESHOLD
        self.axi.step()
        word = self.source.step()
        if word:
            self.expected.append(word[0])
            self.sent += 1
            self.in_cycles.append(self.cycle)
        got = self.sink.step(self.take)
        if got:
            self.received += 1
            data = self.expected.popleft()
            assert not self.check_data or got[0] == data, f"row {self.received - 1}"
            assert got[1] == int(bool(BLOCK) and self.received * ROW % BLOCK == 0), f"tlast of {self.received - 1}"
            self.out_cycles.append(self.cycle)

    async def steps(self, n: int) -> None:
        for _ in range(n):
            await self.step()

    async def drain(self) -> None:
        limit = self.cycle + 30_000
        while self.source.queue or self.source.word or self.expected:
            assert self.cycle < limit, "hangs"
            await self.step()
        await self.steps(10)
        assert not self.axi.place and self.axi.b == len(self.axi.aw) and int(self.dut.level.value) == 0


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    """Stalls everywhere, pauses of the source, a consumer that stops: empty, filled, round the ring."""
    partial = empty = through = past = 0
    ram = None
    for seed, share in (
        (1, (0, 0, 0, 0, 0)),
        (2, (0.5, 0.3, 0.6, 0.5, 0.3)),
        (3, (0.9, 0, 0.9, 0.9, 0)),
        (4, (0, 0.5, 0, 0, 0.6)),
    ):
        b = Bench(dut, seed, ram)
        rng = b.rng
        await b.start()
        ram = b.ram
        b.stalls(*share)
        goal = ROWS + 300
        while b.sent < goal:
            b.source.stall, b.sink.stall = (rng.choice((0, 0, 0.3, 0.8)) for _ in range(2))
            mode = rng.randrange(5)
            b.take = mode != 0
            if mode != 1:
                b.add(rng.choice((1, rng.randint(2, BURST), rng.randint(BURST, 4 * BURST))))
            if mode == 0:  # into the memory, also when there is a short way
                b.source.stall = 0
                b.add(OUT_ROWS)
                await b.steps(OUT_ROWS)
            await b.steps(rng.choice((rng.randint(1, 50), rng.randint(1, 3 * BURST), FLUSH + rng.randint(1, 60))))
            empty += not b.expected
        b.take, b.source.stall, b.sink.stall = True, 0, 0
        await b.drain()
        partial += sum((addr // ROW + rows) % BURST != 0 for addr, rows in b.axi.aw)
        rows = sum(rows for _, rows in b.axi.aw)
        through += rows
        past += b.sent - rows
        assert not int(dut.error.value) and not int(dut.bad_last.value)
    assert partial and empty and through > ROWS and past >= BYPASS * ROWS, (partial, empty, through, past)
    assert BYPASS or past == 0


@cocotb.test()
async def full(dut: Any) -> None:
    """A consumer that stands still: all of the ring and both FIFOs fill up. A slow one then keeps them full."""
    b = Bench(dut, 20)
    await b.start()
    b.take = False
    all_rows = ROWS + IN_ROWS + OUT_ROWS
    b.add(all_rows + ROWS + 100)
    while b.sent < all_rows:
        await b.step()
        assert b.cycle < 4 * all_rows, "never full"
    await b.steps(300)
    assert b.sent == all_rows and not int(dut.s_axis_tready.value) and int(dut.almost_full.value)
    assert len(b.axi.place) == ROWS
    b.take, b.sink.stall = True, 0.5
    b.stalls(0.3, 0.2, 0.3, 0.3, 0.2)
    while b.source.queue:
        await b.step()
        assert b.cycle < 20 * all_rows, "hangs"
    assert len(b.expected) > ROWS
    b.sink.stall = 0
    await b.drain()
    assert not int(dut.almost_full.value)


async def through_memory(b: Bench, rows: int) -> None:
    """Stop the consumer until so many rows are in the memory and can be read."""
    b.take = False
    while sum(state == "written" for state in b.axi.place.values()) < rows:
        await b.step()
        assert b.cycle < 10 * (ROWS + OUT_ROWS), "never written"
    b.take = True


@cocotb.test()
async def a_row_a_cycle(dut: Any) -> None:
    """Through the memory, a row in and one out each cycle; when the memory stalls, it alone is what is waited for."""
    ram = None
    for stall_w, stall_r in ((0, 0), (0.2, 0), (0, 0.2)):
        b = Bench(dut, 30, ram)
        await b.start()
        ram = b.ram
        m = b.axi
        b.add(OUT_ROWS + ROWS + 2 * IN_ROWS + 1000)
        await through_memory(b, ROWS - 2 * BURST if stall_w else 2 * BURST)
        b.stalls(0, stall_w, 0, 0, stall_r)
        await b.steps(OUT_ROWS + IN_ROWS // 2 if stall_w > stall_r else 2 * IN_ROWS)
        cycle, sent, received, held_w, idle_w, idle_r = b.cycle, b.sent, b.received, m.held_w, m.idle_w, m.idle_r
        unasked, taken, came = m.unasked, m.w_taken, m.r_came
        window = min(500, ROWS // 2)
        await b.steps(window)
        assert b.cycle - cycle == window and b.source.queue
        if not stall_w and not stall_r:
            assert (b.sent - sent, b.received - received, m.held_w - held_w) == (window, window, 0)
            assert (m.idle_w - idle_w, m.idle_r - idle_r) == (0, 0)
        if stall_w >= stall_r:  # W decides: there is always a row for it
            assert m.idle_w == idle_w and m.w_taken - taken == window - (m.held_w - held_w)
            assert bool(m.held_w - held_w) == bool(stall_w)
        if stall_r >= stall_w:  # R decides: all that it can give was asked for, and is taken
            assert m.unasked == unasked and m.r_came - came == window - (m.idle_r - idle_r)
            assert b.received - received >= m.r_came - came - 3
        await b.drain()


@cocotb.test()
async def bursts_under_way(dut: Any) -> None:
    """No responses: 16 writes are under way, or the ring is full. No data: as many reads as there is room for."""
    b = Bench(dut, 35)
    await b.start()
    b.take = False
    w, r = b.ram.write_if, b.ram.read_if
    w.b_channel.queue_occupancy_limit = r.ar_channel.queue_occupancy_limit = -1
    w.b_channel.pause = True
    b.add(ROWS + OUT_ROWS + IN_ROWS)
    await b.steps(ROWS + OUT_ROWS + IN_ROWS + 500)
    assert b.axi.most_writes == min(16, ROWS // BURST) and not b.axi.ar
    w.b_channel.pause = False
    r.r_channel.pause = True
    b.take = True
    await b.steps(2 * OUT_ROWS + 200)
    assert b.axi.most_reads == OUT_ROWS // BURST and not b.axi.r_came
    r.r_channel.pause = False
    await b.drain()


@cocotb.test()
async def latency(dut: Any) -> None:
    """Cycle by cycle: on the short way, of whole bursts and of what a pause leaves."""
    b = Bench(dut, 40)
    await b.start()
    await b.steps(20)
    for n in (1, 2, BURST - 3, BURST, 2 * BURST):
        b.add(n)
        b.in_cycles.clear()
        b.out_cycles.clear()
        marks: dict[str, int] = {}
        while b.expected or b.source.queue or b.source.word:
            await b.step()
            assert b.cycle < 10_000, "hangs"
            for name in ("aw", "w", "b", "ar", "r"):
                if b.axi.on(name):
                    marks.setdefault(name, b.cycle)
        assert b.in_cycles[-1] - b.in_cycles[0] == n - 1
        if BYPASS:
            assert not marks
            assert [o - i for i, o in zip(b.in_cycles, b.out_cycles, strict=True)] == [2 if FAST else 6] * n
        else:
            whole = b.sent % BURST == 0  # a whole burst goes with its last row
            first = b.in_cycles[min(n, BURST) - 1]
            assert marks["aw"] - first == (4 if whole else FLUSH + 3), (n, marks)
            assert marks["w"] - marks["aw"] == 3
            assert marks["ar"] - marks["b"] == 5
            assert b.out_cycles[0] - marks["r"] == (1 if FAST else 3)
        await b.steps(30)
    if not BYPASS:
        assert [rows for _, rows in b.axi.aw] == [1, 2, BURST - 3, BURST, BURST, BURST]


@cocotb.test()
async def a_row_short_of_a_burst(dut: Any) -> None:
    """Rows pass just before the output stops, with all but one of a burst's rows waiting: that is not a burst yet."""
    ram = None
    for taken in (1, 2, 3, 7):
        b = Bench(dut, 45, ram)
        await b.start()
        ram = b.ram
        b.take = False
        b.add(OUT_ROWS + BURST - 1)
        await b.steps(OUT_ROWS + BURST + 50)
        assert b.sent == OUT_ROWS + BURST - 1
        b.take = True
        await b.steps(taken)
        b.take = False
        await b.steps(FLUSH + 50)
        assert b.received == taken and not (BYPASS and b.axi.aw)
        b.add(1)
        await b.steps(50)
        assert len(b.axi.aw) == 1 or not BYPASS
        if BYPASS:  # by the memory now: what is no whole burst waits for a pause
            b.add(3)
            await b.steps(FLUSH - 8)
            assert len(b.axi.aw) == 1
            await b.steps(30)
            assert len(b.axi.aw) == 2
        b.take = True
        await b.drain()
        if BYPASS:  # all is out: the short way again
            await b.steps(20)
            b.in_cycles.clear()
            b.out_cycles.clear()
            b.add(3)
            await b.drain()
            assert len(b.axi.aw) == 2
            assert [o - i for i, o in zip(b.in_cycles, b.out_cycles, strict=True)] == [2 if FAST else 6] * 3


@cocotb.test()
async def errors_stay(dut: Any) -> None:
    """SLVERR and DECERR of B and R; EXOKAY is none. What was under way at a reset is forgotten."""
    ram = None
    for channel, resp in (
        ("b", AxiResp.EXOKAY),
        ("r", AxiResp.EXOKAY),
        ("b", AxiResp.SLVERR),
        ("r", AxiResp.SLVERR),
        ("b", AxiResp.DECERR),
        ("r", AxiResp.DECERR),
        ("", AxiResp.OKAY),
    ):
        b = Bench(dut, 50, ram)
        await b.start()
        ram = b.ram
        count = 0  # answers
        source = ram.write_if.b_channel if channel == "b" else ram.read_if.r_channel
        plain = source.send

        async def send(t: Any, channel: str = channel, resp: AxiResp = resp, plain: Any = plain) -> None:
            nonlocal count
            count += 1
            if channel and count == 3:
                setattr(t, f"{channel}resp", resp)
            await plain(t)

        source.send = send
        b.add(OUT_ROWS + 6 * BURST)
        await through_memory(b, 2 * BURST)
        await b.steps(OUT_ROWS + 200)
        assert int(dut.error.value) == int(resp in (AxiResp.SLVERR, AxiResp.DECERR)) and (count > 3 or not channel)
        source.send = plain
        b.add(3)  # under way at the next reset
        await b.steps(3)
    await b.drain()


@cocotb.test()
async def tlast_in_the_wrong_place(dut: Any) -> None:
    rows = (BLOCK or 1024) // ROW
    ram = None
    for wrong in (0, rows // 2, rows - 2, rows - 1, rows, 2 * rows - 1):
        b = Bench(dut, 60, ram)
        await b.start()
        ram = b.ram
        b.add(2 * rows + 40)
        data, last = b.source.queue[wrong]
        b.source.queue[wrong] = (data, 1 - last)
        while b.expected or b.source.queue or b.source.word:
            await b.step()
            assert b.cycle < 10_000, "hangs"
            at = b.in_cycles[wrong] if len(b.in_cycles) > wrong else 1 << 60
            assert int(dut.bad_last.value) == int(bool(BLOCK) and b.cycle > at)
        await b.drain()


@pytest.mark.parametrize("values", [
    (256, 32768, 4096, 4096, 1, 0, 40, 512, 512),
    bench.rare((128, 8192, 4096, 512, 0, 0, 24, 128, 256)),
    bench.rare((512, 32768, 1024, 0, 1, 1, 16, 128, 128)),
    bench.rare((1024, 32768, 2048, 4096, 0, 1, 30, 128, 128)),
])  # fmt: skip
def test_db_axi_fifo(values: tuple[int, ...]) -> None:
    parameters: dict[str, int | str] = dict(zip(NAMES, values, strict=True))
    env = {k: str(v) for k, v in parameters.items()}
    parameters |= {"BASE": f"64'd{BASE}", "ALMOST_FULL_BYTES": values[1] // 4}
    bench.run(__file__, "db_axi_fifo", parameters, env=env)
