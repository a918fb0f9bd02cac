# SPDX-License-Identifier: Apache-2.0
"""db_axi_page_lock: a page is never read and written at once, nobody waits for ever, and nobody without a reason."""

from __future__ import annotations

import random
from collections import Counter, deque
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

ENTRIES = 16
READ, WRITE = "read", "write"


class Bench:
    """Both masters and the slave. A page is a number; the address has noise below and above it."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.todo: dict[str, deque[tuple[int, int]]] = {READ: deque(), WRITE: deque()}  # page, id
        self.at_slave: dict[tuple[str, int], deque[tuple[int, int]]] = {
            (READ, 0): deque(),
            (READ, 1): deque(),
            (WRITE, 0): deque(),
        }  # page, cycle when it ends
        self.held: Counter[tuple[str, int]] = Counter()  # bursts that may be at the slave, by kind and page
        self.may = {READ: False, WRITE: False}  # ... for the address on offer
        self.loading: tuple[int, int] | None = None  # a read's address, in this cycle
        self.reading: tuple[int, int] | None = None  # ... that is on offer
        self.latency = (3, 20)
        self.ready = 1.0
        self.cycle = 0
        self.since = {READ: 0, WRITE: 0}  # when the address on offer came
        self.waited: dict[str, list[int]] = {READ: [], WRITE: []}

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, unit="ns").start())
        for name in (
            "ar_load",
            "ar_load_addr",
            "ar_valid",
            "aw_valid",
            "ar_ready",
            "aw_ready",
            "r_end",
            "b_end",
            "ar_id",
            "r_id",
        ):
            getattr(d, name).value = 0
        await self.reset()

    async def reset(self) -> None:
        d = self.dut
        d.rst.value = 1
        for _ in range(2):
            await FallingEdge(d.clk)
        d.rst.value = 0
        for bursts in self.at_slave.values():
            bursts.clear()
        self.held.clear()
        self.may = {READ: False, WRITE: False}
        self.loading = self.reading = None

    def add(self, kind: str, page: int, number: int = 0) -> None:
        self.todo[kind].append((page, number))

    def offer(self) -> None:
        """A write's address is simply there; a read's is loaded in one cycle and there in the next."""
        d, rng = self.dut, self.rng
        d.aw_valid.value = int(bool(self.todo[WRITE]))
        if self.todo[WRITE]:
            d.aw_addr.value = self.todo[WRITE][0][0] << 12 | rng.getrandbits(12)
        loads = self.reading is None and bool(self.todo[READ]) and not self.loading
        self.reading = self.loading or self.reading
        self.loading = self.todo[READ][0] if loads else None
        d.ar_load.value = int(loads)
        d.ar_load_addr.value = self.loading[0] << 12 if self.loading else rng.getrandbits(30)
        d.ar_valid.value = int(self.reading is not None)
        if self.reading:
            d.ar_addr.value, d.ar_id.value = self.reading[0] << 12 | rng.getrandbits(12), self.reading[1]

    def ended(self, key: tuple[str, int], chance: float) -> bool:
        bursts = self.at_slave[key]
        return bool(bursts) and bursts[0][1] <= self.cycle and self.rng.random() < chance

    async def step(self) -> None:
        d, rng = self.dut, self.rng
        self.offer()
        ready = {READ: rng.random() < self.ready, WRITE: rng.random() < self.ready}
        d.ar_ready.value, d.aw_ready.value = int(ready[READ]), int(ready[WRITE])
        number = rng.getrandbits(1)
        if not self.ended((READ, number), 1.0):
            number = 1 - number
        read_ends = self.ended((READ, number), 0.8)
        d.r_id.value, d.r_end.value, d.b_end.value = number, int(read_ends), 0
        write_ends = self.ended((WRITE, 0), 0.8) and bool(int(d.b_may.value))
        d.b_end.value = int(write_ends)
        await RisingEdge(d.clk)
        for kind, may in ((READ, d.ar_may), (WRITE, d.aw_may)):
            here = self.reading if kind == READ else self.todo[WRITE]
            if here and int(may.value):
                self.goes(kind, ready[kind])
            else:
                assert not self.may[kind], "leave that is taken back"
        if read_ends:
            self.held[READ, self.at_slave[READ, number].popleft()[0]] -= 1
        if write_ends:
            self.held[WRITE, self.at_slave[WRITE, 0].popleft()[0]] -= 1
        self.cycle += 1
        await FallingEdge(d.clk)

    def goes(self, kind: str, taken: bool) -> None:
        page, number = self.todo[kind][0]
        if not self.may[kind]:
            self.may[kind] = True
            self.held[kind, page] += 1
            self.waited[kind].append(self.cycle - self.since[kind])
        assert not (self.held[READ, page] and self.held[WRITE, page]), f"page {page} is read and written"
        if taken:
            self.todo[kind].popleft()
            self.may[kind] = False
            self.since[kind] = self.cycle + (2 if kind == READ else 1)  # when the next can be there
            if kind == READ:
                self.reading = None
            self.at_slave[kind, number].append((page, self.cycle + self.rng.randint(*self.latency)))

    async def drain(self, limit: int = 20_000) -> None:
        for _ in range(limit):
            await self.step()
            if not any((*self.todo.values(), *self.at_slave.values())):
                return
        raise AssertionError("hangs")

    async def cleared(self) -> None:
        """The entries after a reset."""
        for _ in range(ENTRIES + 1):
            await self.step()


@cocotb.test()
async def random_bursts(dut: Any) -> None:
    for seed, pages, latency, ready in (
        (1, 3, (1, 20), 1.0),
        (2, 40, (1, 60), 0.5),
        (3, 1, (0, 3), 0.7),
        (4, 1000, (5, 9), 1.0),
    ):
        b = Bench(dut, seed)
        await b.start()
        b.latency, b.ready = latency, ready
        for _ in range(400):
            b.add(READ, b.rng.randrange(pages), b.rng.getrandbits(1))
            b.add(WRITE, b.rng.randrange(pages))
        await b.drain()
        assert not +b.held


@cocotb.test()
async def nobody_starves(dut: Any) -> None:
    """Endless bursts of one kind for a page: one of the other kind waits for those at the slave alone."""
    for kind, other in ((READ, WRITE), (WRITE, READ)):
        b = Bench(dut, 5)
        await b.start()
        b.latency = (20, 20)
        await b.cleared()
        for _ in range(60):
            b.add(kind, 7)
        for _ in range(30):
            await b.step()
        b.since[other] = b.cycle
        b.add(other, 7)
        await b.drain()
        assert len(b.waited[other]) == 1 and b.waited[other][0] <= 45, b.waited[other]


@cocotb.test()
async def both_for_the_same_page(dut: Any) -> None:
    """They take turns."""
    b = Bench(dut, 6)
    await b.start()
    b.latency = (10, 10)
    await b.cleared()
    for _ in range(40):
        b.add(READ, 3)
        b.add(WRITE, 3)
    b.since = {READ: b.cycle, WRITE: b.cycle}
    await b.drain()
    assert max(b.waited[READ] + b.waited[WRITE]) <= 80


@cocotb.test()
async def others_do_not_wait(dut: Any) -> None:
    """Pages that share no counter: a read alone gets leave in the same cycle, a write two later, both together a few
    cycles later."""
    b = Bench(dut, 7)
    await b.start()
    await b.cleared()
    b.latency = (60, 60)
    for i in range(7):
        b.add(READ, i, 1)
    b.since[READ] = b.cycle + 1
    await b.drain()
    assert b.waited[READ] == [0] * 7
    b.waited[READ].clear()
    for i in range(30):
        b.add(READ, i % 8)
        b.add(WRITE, 8 + i % 8)
    b.since = {READ: b.cycle + 1, WRITE: b.cycle}
    await b.drain()
    assert max(b.waited[READ] + b.waited[WRITE]) <= 8
    b.waited[WRITE].clear()
    b.since[WRITE] = b.cycle
    for i in range(7):
        b.add(WRITE, i)
    await b.drain()
    assert b.waited[WRITE][1:] == [2] * 6 and b.waited[WRITE][0] <= 3  # an end may come between


@cocotb.test()
async def pages_that_share_a_counter_wait(dut: Any) -> None:
    b = Bench(dut, 8)
    await b.start()
    await b.cleared()
    b.latency = (40, 40)
    b.add(WRITE, 1)
    await b.step()
    b.add(READ, 1 + ENTRIES)
    b.since[READ] = b.cycle
    await b.drain()
    assert 40 <= b.waited[READ][0] <= 48


@cocotb.test()
async def reset_forgets(dut: Any) -> None:
    """With bursts at the slave, which forgets them too."""
    b = Bench(dut, 9)
    await b.start()
    for _ in range(5):
        for i in range(20):
            b.add(READ, i % 5, i % 2)
            b.add(WRITE, i % 5)
        for _ in range(b.rng.randint(ENTRIES, 60)):
            await b.step()
        b.todo[READ].clear()
        b.todo[WRITE].clear()
        dut.ar_load.value = dut.ar_valid.value = dut.aw_valid.value = dut.r_end.value = dut.b_end.value = 0
        await b.reset()
    for i in range(20):
        b.add(READ, i % 5, i % 2)
        b.add(WRITE, i % 5)
    await b.drain()


@pytest.mark.parametrize("reads", [32, 128])
def test_db_axi_page_lock(reads: int) -> None:
    bench.run(__file__, "db_axi_page_lock", {"ENTRIES": ENTRIES, "READS": reads})
