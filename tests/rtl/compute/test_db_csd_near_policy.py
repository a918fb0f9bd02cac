# SPDX-License-Identifier: Apache-2.0
"""db_csd_near_policy: what is missed is loaded, each in turn, not before a slot's time is over; the firmware first."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.triggers import RisingEdge
from doorbell.compute.slots import place
from doorbell.nvme.vendor import NearOperator, SlotError
from streams import start

SLOTS = 3
EXCHANGEABLE = int(os.environ.get("EXCHANGEABLE", "0b110"), 2)
AT, STRIDE_LOG2, TICK = 0x4000, 12, 4096
KINDS = [int(o) for o in (NearOperator.GREP, NearOperator.AGGREGATE, NearOperator.FILTER, NearOperator.CSV)]


class Bench:
    """Slots, who uses which, and exchanges that take their time."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.operators = [KINDS[0], 0, 0]
        self.used = [1, 2]  # slots that can be exchanged, the one that was used least recently first
        self.cycle = 0
        self.left = 0  # cycles of the exchange
        self.now: tuple[int, int] = (0, 0)  # its slot, the operator that it brings
        self.broken: set[int] = set()  # addresses of bitstreams that are refused
        self.log: list[tuple[int, int, int]] = []  # cycle, slot, address of each exchange
        self.miss: set[int] = set()  # operators that commands miss while they are not there

    async def step(self) -> None:
        d = self.dut
        await RisingEdge(d.clk)
        self.cycle += 1
        d.s_go.value = d.s_set.value = 0
        if d.m_go.value == 1:
            assert self.left == 0, "one at a time"
            slot, addr = int(d.m_slot.value), int(d.m_addr.value)
            assert EXCHANGEABLE >> slot & 1
            self.log.append((self.cycle, slot, addr))
            kind = next((k for k in KINDS if AT + place(k, slot, 1 << STRIDE_LOG2) == addr), KINDS[1])
            self.now = (slot, 0 if addr in self.broken else kind)
            if addr not in self.broken:
                self.operators[slot] = 0
            self.left = self.rng.randint(5, 60)
        elif self.left:
            self.left -= 1
            slot, kind = self.now
            if not self.left:
                d.s_error.value = int(SlotError.OK if kind else SlotError.DAMAGED)
                if kind:
                    self.operators[slot] = kind
        wanted = int(d.m_wanted.value)
        oldest = next((s for s in self.used if wanted >> s & 1), None)
        d.s_oldest.value = 0 if oldest is None else 1 << oldest
        d.busy.value = int(self.left > 0)
        d.operators.value = sum(o << 4 * s for s, o in enumerate(self.operators))
        d.s_missed.value = sum(1 << k for k in self.miss if k not in self.operators and self.rng.random() < 0.3)

    async def library(self, hold: int, at: int = AT, log2: int = STRIDE_LOG2) -> None:
        d = self.dut
        d.s_at.value, d.s_stride.value, d.s_hold.value, d.s_set.value = at, log2, hold, 1
        await self.step()

    async def run(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()


async def begin(dut: Any, seed: int) -> Bench:
    b = Bench(dut, seed)
    await start(
        dut, s_set=0, s_at=0, s_stride=0, s_hold=0, s_missed=0, operators=KINDS[0], s_oldest=0, s_go=0, s_slot=0,
        s_addr=0, busy=0, s_error=0,
    )  # fmt: skip
    return b


@cocotb.test()
async def turns(dut: Any) -> None:
    """Four are missed, two slots are there: each comes again and again, none twice before others, nor early."""
    b = await begin(dut, 1)
    b.operators[0] = 9  # whatever that is
    await b.library(hold=2)
    b.miss = set(KINDS)
    await b.run(2000)
    assert 0 not in b.operators, "empty slots are filled at once"
    since: dict[int, int] = {}
    b.log.clear()
    for _ in range(12):
        before = len(b.log)
        while len(b.log) == before:
            await b.step()
        cycle, slot, _ = b.log[-1]
        if slot in since:
            assert cycle - since[slot] >= 2 * TICK - TICK, "it has had its time, a tick more or less"
        since[slot] = cycle
        b.used.remove(slot)
        b.used.append(slot)
        while b.left:
            await b.step()
    kinds = [next(k for k in KINDS if AT + place(k, s, 1 << STRIDE_LOG2) == a) for _, s, a in b.log]
    for at in range(len(kinds) - 3):
        assert len(set(kinds[at : at + 4])) == 4, f"in turn: {kinds}"


@cocotb.test()
async def what_is_refused(dut: Any) -> None:
    """It is not tried again, does not keep others back, and is tried when the library is set anew."""
    b = await begin(dut, 2)
    b.broken = {AT + place(KINDS[1], slot, 1 << STRIDE_LOG2) for slot in (1, 2)}
    await b.library(hold=0)
    b.miss = {KINDS[1], KINDS[2]}
    for _ in range(2000):
        await b.step()
        assert SlotError(int(dut.m_error.value)) == SlotError.OK, "the firmware asked for none"
    tried = [a for _, _, a in b.log if a in b.broken]
    assert len(tried) == 1 and KINDS[2] in b.operators
    b.broken.clear()
    await b.library(hold=0)
    await b.run(500)
    assert KINDS[1] in b.operators


@cocotb.test()
async def addresses_of_all_bits(dut: Any) -> None:
    """A place is where it is, beyond all memory, too; what was missed is told, of the firmware's exchanges nothing."""
    b = await begin(dut, 8)
    for at, log2 in ((0, 7), (0, 24), (0xFFFF_FFC0, 7), (0xFFFF_FFC0, 24), (0x8000_0040, 23)):
        for kind in KINDS:
            b.operators, b.miss = [9, 0, 9], {kind}
            await b.library(hold=0, at=at, log2=log2)
            b.log.clear()
            while not b.log:
                await b.step()
            assert b.log[0][1:] == (1, at + place(kind, 1, 1 << log2))
            assert int(dut.m_operator.value) == kind
            b.miss = set()
            await b.run(200)
    dut.s_go.value, dut.s_slot.value, dut.s_addr.value = 1, 2, 0xFFFF_FFC0
    await b.run(10)
    assert b.log[-1][1:] == (2, 0xFFFF_FFC0)
    assert int(dut.m_operator.value) == NearOperator.NONE


@cocotb.test()
async def the_firmware_first(dut: Any) -> None:
    """Its exchange waits for one that is under way and for nothing else, and its end is told, of each."""
    b = await begin(dut, 3)
    await b.library(hold=1000)
    b.miss = set(KINDS[1:])
    await b.run(300)
    for turn in range(20):
        own = 0x10000 + 64 * turn
        b.broken = {own} if turn % 3 == 0 else set()
        ended = int(dut.m_ended.value)
        dut.s_go.value, dut.s_slot.value, dut.s_addr.value = 1, 1 + turn % 2, own
        await b.step()
        await b.step()
        assert dut.m_busy.value == 1
        for _ in range(200):
            if dut.m_busy.value == 0:
                break
            await b.step()
        await b.step()
        assert any(a == own for _, _, a in b.log[-2:])
        assert int(dut.m_ended.value) == (ended + 1) % 256
        assert SlotError(int(dut.m_error.value)) == (SlotError.DAMAGED if turn % 3 == 0 else SlotError.OK)


@cocotb.test()
async def the_count_of_ends_begins_anew(dut: Any) -> None:
    """Each end of 300 of the firmware's exchanges is told by another count, which has 8 bits; those of the library are
    not counted."""
    b = await begin(dut, 5)
    await b.library(hold=0)
    b.miss = set(KINDS[1:])
    counts = [int(dut.m_ended.value)]
    for turn in range(300):
        dut.s_go.value, dut.s_slot.value, dut.s_addr.value = 1, 1 + turn % 2, 0x10000 + 64 * turn
        await b.step()
        await b.step()
        while dut.m_busy.value == 1:
            assert int(dut.m_ended.value) == counts[-1], "before its end"
            await b.step()
        await b.step()
        counts.append(int(dut.m_ended.value))
    assert counts == [n % 256 for n in range(301)]
    assert len(b.log) > 320, "the library's, too"


@cocotb.test()
async def ages_end_at_their_most(dut: Any) -> None:
    """A slot that has had the longest hold that there is, 2^28 cycles, may be exchanged, and so it stays."""
    b = await begin(dut, 6)
    b.operators = KINDS[:3]
    await b.library(hold=0xFFFF)
    await b.step()
    dut.age_q.value = sum(0xFFFE << 16 * s for s in range(SLOTS))
    dut.tick_q.value = TICK - 20
    await b.run(10)
    assert int(dut.m_wanted.value) == 0
    await b.run(20)
    for _ in range(3):
        assert int(dut.m_wanted.value) == EXCHANGEABLE
        await b.run(TICK)


@cocotb.test(skip=EXCHANGEABLE != 0b111)
async def every_slot(dut: Any) -> None:
    """None stays empty, the first one neither; then what is used least recently is exchanged."""
    b = await begin(dut, 7)
    b.operators, b.used = [0] * SLOTS, [2, 1, 0]
    await b.library(hold=0)
    b.miss = set(KINDS)
    await b.run(1000)
    while b.left:
        await b.step()
    assert 0 not in b.operators and {slot for _, slot, _ in b.log[:SLOTS]} == {0, 1, 2}
    assert {slot for _, slot, _ in b.log[SLOTS:]} == {2}, "the one that was used least recently"


@cocotb.test()
async def without_a_library(dut: Any) -> None:
    b = await begin(dut, 4)
    b.miss = set(KINDS[1:])
    await b.run(3000)
    assert b.log == []


@pytest.mark.parametrize(("exchangeable", "testcase"), [("110", None), ("111", "every_slot")])
def test_policy(exchangeable: str, testcase: str | None) -> None:
    bench.run(
        __file__, "db_csd_near_policy",
        {"SLOTS": SLOTS, "EXCHANGEABLE": f"{SLOTS}'b{exchangeable}"},
        env={"EXCHANGEABLE": exchangeable}, testcase=testcase,
    )  # fmt: skip
