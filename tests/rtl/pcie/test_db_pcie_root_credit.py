# SPDX-License-Identifier: Apache-2.0
"""db_pcie_root_credit against PG213's rules for pcie_cq_np_req (the hard block's counter, and that it holds requests
back
while the counter is 0), with places that are given back after any time."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

SATURATION = 32


class HardBlock:
    """Selective Flow Control for Non-Posted Requests."""

    def __init__(self) -> None:
        self.credit = 0

    def cycle(self, np_req: int, wanted: bool) -> bool:
        """Whether a request is delivered in this cycle."""
        delivered = wanted and self.credit > 0
        if np_req and not delivered:
            assert self.credit + (1 if np_req == 1 else 2) <= SATURATION, "a credit is lost"
            self.credit += 1 if np_req == 1 else 2
        elif not np_req and delivered:
            self.credit -= 1
        return delivered


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng, self.block = dut, random.Random(seed), HardBlock()
        self.limit = int(dut.CREDITS.value)
        self.places = self.most = self.delivered = self.dropped = self.cycle = 0
        self.pulses: list[int] = []
        self.done = self.drop = False  # what the core says in the next cycle

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        d.rst.value = 1
        d.s_done.value = d.s_drop.value = 0
        d.link_up.value = 1
        for _ in range(3):
            await FallingEdge(d.clk)
            assert int(d.pcie_cq_np_req.value) == 0
        d.rst.value = 0

    async def step(self, wanted: bool, done: bool, damaged: bool = False) -> bool:
        """A cycle: a request of the drive is there, the oldest place is given back, what comes now is damaged."""
        d = self.dut
        d.s_done.value = int(done and self.places > 0)
        if done and self.places:
            self.places -= 1
        d.s_drop.value = int(self.drop)
        self.drop = False
        await RisingEdge(d.clk)
        np_req = int(d.pcie_cq_np_req.value)
        assert np_req <= 1
        if np_req:
            self.pulses.append(self.cycle)
        got = self.block.cycle(np_req, wanted)
        if got and damaged:
            self.drop = True  # a register of db_pcie_root_rx
            self.dropped += 1
        elif got:
            self.places += 1
        self.delivered += got
        assert self.places + self.block.credit <= self.limit, "more promised than there is room for"
        self.most = max(self.most, self.places)
        self.cycle += 1
        await FallingEdge(d.clk)
        return got


@cocotb.test()
async def promises(dut: Any) -> None:
    """After reset one credit a cycle, as many as there are, and no more; then one for each place given back."""
    b = Bench(dut, 1)
    await b.start()
    for _ in range(b.limit + 20):
        await b.step(False, False)
    assert b.pulses == list(range(1, b.limit + 1)) and b.block.credit == b.limit
    for _ in range(b.limit + 20):
        await b.step(True, False)
    assert b.delivered == b.places == b.limit and len(b.pulses) == b.limit, "nothing more without a place"
    for n in (1, 2):
        b.pulses.clear()
        start = b.cycle
        for _ in range(n):
            await b.step(False, True)
        for _ in range(9):
            await b.step(False, False)
        assert b.pulses == list(range(start + 2, start + 2 + n)), "two cycles later"
    assert b.block.credit == 3


@cocotb.test()
async def dropped(dut: Any) -> None:
    """A damaged request takes no place: its credit is given again a cycle later, for ever so many in a row."""
    b = Bench(dut, 2)
    await b.start()
    for _ in range(b.limit + 5):
        await b.step(False, False)
    b.pulses.clear()
    start = b.cycle
    for _ in range(100):
        assert await b.step(True, False, damaged=True)
    for _ in range(9):
        await b.step(False, False)
    assert b.pulses == list(range(start + 2, start + 102)) and b.block.credit == b.limit and not b.places


@cocotb.test()
async def any_order(dut: Any) -> None:
    """Requests, answers and damage at random, at many rates: every place is used, none twice, none is ever lost."""
    b = Bench(dut, 3)
    await b.start()
    for _ in range(60):
        wanted, done = b.rng.random(), b.rng.choice([0.0, 0.1, b.rng.random(), 1.0])
        damaged = b.rng.choice([0, 0.05, 0.5])
        for _ in range(120):
            await b.step(b.rng.random() < wanted, b.rng.random() < done, b.rng.random() < damaged)
    assert b.most == b.limit and b.delivered > 1000 and b.dropped > 100
    for _ in range(100):
        await b.step(False, True)
    assert b.places == 0 and b.block.credit == b.limit, "all come home"


@cocotb.test()
async def link(dut: Any) -> None:
    """Nothing is given without a link, all anew with it; answers of requests from before the link went do no harm."""
    b = Bench(dut, 5)
    await b.start()
    for _ in range(b.limit + 5):
        await b.step(True, False)
    left = b.places
    dut.link_up.value, b.block.credit, b.places = 0, 0, 0
    b.pulses.clear()
    for n in range(20):
        dut.s_done.value = int(n % 4 == 0 and left > 2)  # not of a place that the model counts
        left -= int(dut.s_done.value)
        await RisingEdge(dut.clk)
        assert n == 0 or int(dut.pcie_cq_np_req.value) == 0
        await FallingEdge(dut.clk)
    dut.link_up.value, dut.s_done.value = 1, 1  # the first cycle with a link: an old one ends, none is out
    await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    start = b.cycle
    for _ in range(b.limit + 20):
        await b.step(False, False)
    assert b.pulses == list(range(start, start + b.limit)) and b.block.credit == b.limit


@cocotb.test()
async def rate(dut: Any) -> None:
    """A request a cycle, answered six cycles later: a request every cycle."""
    b = Bench(dut, 4)
    await b.start()
    came: deque[int] = deque()
    for _ in range(410):
        done = bool(came) and came[0] + 6 <= b.cycle
        if done:
            came.popleft()
        at = b.cycle
        if await b.step(True, done):
            came.append(at)
    # the first in the cycle after the first pulse; of few places each comes round in 6 + 3 cycles
    assert b.pulses[0] == 1 and b.delivered == (408 if b.limit == 28 else 183)


@pytest.mark.parametrize("credits", [4, 28])
def test_db_pcie_root_credit(credits: int) -> None:
    bench.run(__file__, "db_pcie_root_credit", {"CREDITS": credits})
