# SPDX-License-Identifier: Apache-2.0
"""db_pcie_cmb_landed: an answer waits for the writes that were posted before it, and for those alone; a hard block that
says nothing of them is waited for so long and no longer."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from rtl_bench import run
from streams import start
from structs import layout

SEQ = layout("db_pcie_pkg", "rq_seq_t")
PATIENCE_LOG2 = 6
WRITE, OTHER = 1, 0  # sequence numbers: RQ_SEQ_WRITE, that of a read


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.cycle = 0
        self.posted = 0  # writes so far
        self.landed = 0  # of these, reported
        self.due: deque[int] = deque()  # cycle in which each of the others will be
        self.came: tuple[int, int] | None = None  # the packet that waits: when, behind how many writes
        self.reports = True  # the hard block says when a write has landed
        self.quick = 4  # cycles after the last report at most
        self.last_report = 0
        self.ending = False

    async def step(self, write: bool, packet: bool) -> int | None:
        """A cycle. packet: one comes if none is there. Cycles that a packet had to wait, if it may go now."""
        d, rng = self.dut, self.rng
        await RisingEdge(d.clk)
        self.cycle += 1
        waited = None
        if self.came and d.open.value:
            waited, behind = self.cycle - self.came[0], self.came[1]
            if self.reports:
                assert self.landed >= behind, f"{behind - self.landed} writes before it have not landed"
            self.came = None
        elif self.came and self.reports and self.landed >= self.came[1]:
            since = max(self.last_report, self.came[0])
            assert self.cycle - since <= self.quick, "all have landed, and it still waits"
        if packet and not self.came and waited is None:
            self.came = (self.cycle, self.posted)
        self.ending = waited is not None  # its last beat goes in the next cycle, the next one may come behind it
        if write:
            self.posted += 1
            self.due.append(self.cycle + rng.randrange(2, 30))
        numbers = []
        while self.reports and self.due and self.due[0] <= self.cycle and len(numbers) < 2:
            self.due.popleft()
            numbers.append(WRITE)
        self.landed += len(numbers)
        if numbers:
            self.last_report = self.cycle
        ways = [*numbers, *[OTHER] * (rng.random() < 0.2)][:2]  # also of reads, which say nothing
        valid = (1 << len(ways)) - 1
        d.s_write.value = int(write)
        d.s_seq.value = SEQ.pack(valid=valid, num=sum(n << 6 * i for i, n in enumerate(ways)))
        d.s_valid.value = int(self.came is not None or self.ending)
        d.s_end.value = int(self.ending)
        return waited


@cocotb.test()
async def answers_wait_for_what_was_posted_before(dut: Any) -> None:
    for seed in range(6):
        await start(dut, s_write=0, s_seq=0, s_stall=0, s_valid=0, s_end=0)
        b = Bench(dut, seed)
        eager = b.rng.choice((0.05, 0.3))
        waits = [
            w for _ in range(3000) if (w := await b.step(b.rng.random() < eager, b.rng.random() < 0.1)) is not None
        ]
        assert len(waits) > 50 and max(waits) > 20
        for _ in range(60):
            await b.step(False, False)
        waits = [w for k in range(9) if (w := await b.step(False, k == 0)) is not None]
        assert waits == [3], "2 cycles behind that in which it comes, if there is nothing to wait for"


@cocotb.test()
async def what_is_never_reported_is_waited_for_so_long_and_no_longer(dut: Any) -> None:
    await start(dut, s_write=0, s_seq=0, s_stall=0, s_valid=0, s_end=0)
    b = Bench(dut, 7)
    for _ in range(3):
        b.reports = False
        for n in range(5):
            await b.step(True, n == 4)
        waits = [w for _ in range(200) if (w := await b.step(False, False)) is not None]
        assert len(waits) == 1 and 2**PATIENCE_LOG2 - 8 <= waits[0] <= 2**PATIENCE_LOG2 + 4, waits
        b.due.clear()  # dropped: nobody will say anything of them
        b.landed, b.reports = b.posted, True
        for k in range(400):  # those that come now are waited for
            await b.step(k < 300 and b.rng.random() < 0.2, k < 300 and b.rng.random() < 0.1)
        assert b.landed == b.posted and b.came is None


@cocotb.test()
async def while_rq_stands_still_nothing_is_given_up(dut: Any) -> None:
    """The host takes nothing for a while: what is posted will be reported when it does."""
    await start(dut, s_write=0, s_seq=0, s_stall=0, s_valid=0, s_end=0)
    b = Bench(dut, 8)
    b.reports = False
    dut.s_stall.value = 1
    for n in range(5):
        await b.step(True, n == 4)
    for _ in range(5 << PATIENCE_LOG2):
        assert await b.step(False, False) is None, "what it waits for is on its way yet"
    b.reports = True
    dut.s_stall.value = 0
    assert len([w for _ in range(60) if (w := await b.step(False, False)) is not None]) == 1
    for k in range(400):  # and of later ones none is taken for one of those
        await b.step(k < 300 and b.rng.random() < 0.2, k < 300 and b.rng.random() < 0.1)
    assert b.landed == b.posted and b.came is None


def test_db_pcie_cmb_landed() -> None:
    run(__file__, "db_pcie_cmb_landed", {"PATIENCE_LOG2": PATIENCE_LOG2})
