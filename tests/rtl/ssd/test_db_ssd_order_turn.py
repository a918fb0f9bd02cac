# SPDX-License-Identifier: Apache-2.0
"""db_ssd_order_turn: finishes and clocks, which have few bits and begin anew, choose as numbers without end do.

Steps are as large as there are, so that each clock begins anew many times; functions always have commands, or seldom,
and some have deadlines, which are met or not. (What the order is good for, in bytes and time: test_db_ssd_order.)
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.triggers import RisingEdge
from streams import start
from structs import constant, layout

NUM_FN, NUM_CMDS = 3, 64
ENTRY = layout("db_ssd_order_pkg", "order_entry_t")
STEP_W = constant("db_ssd_order_pkg", "STEP_W")
ROUND = 1 << (STEP_W + 3)  # after which a clock of the RTL begins anew
ADVANCE = 1 << (STEP_W - 2)  # by which a deadline lets a function be ahead of the clock
SLOW = 40  # cycles that no turn takes


class Turns:
    """Lists, finishes and clocks as the module's header has them, in numbers that only grow. One turn at a time:
    entries come to rest before an engine is open."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.lists: dict[tuple[int, int], deque[tuple[int, int, int | None]]] = {  # slot, step, due
            (e, f): deque() for e in range(2) for f in range(NUM_FN)
        }
        self.finish = dict.fromkeys(self.lists, 0)
        self.owes = dict.fromkeys(self.lists, False)
        self.clock = [0, 0]
        self.free = list(range(NUM_CMDS))
        self.went = dict.fromkeys(self.lists, 0)
        self.quiet = 0  # the most by which a clock has gone on while a function had nothing
        self.deadlines: tuple[int, ...] = (0,) * NUM_FN  # us
        self.us = 0
        self.hurried = self.missed = self.spent = 0  # turns by a deadline; heads that were late; ... too far ahead

    async def start(self) -> None:
        await start(self.dut, s_valid=0, s_entry=0, open=0, s_more=0, us_turns=0)

    async def cycles(self, n: int) -> None:
        for _ in range(n):
            await RisingEdge(self.dut.clk)

    async def wait(self, us: int) -> None:
        for _ in range(us):
            self.us += 1
            self.dut.us_turns.value = self.us & 1
            await self.cycles(1)
        await self.cycles(3)

    async def send(self, engine: int, fn: int) -> None:
        step = self.step()
        slot = self.free.pop(self.rng.randrange(len(self.free)))
        at = engine, fn
        if not self.lists[at]:
            self.quiet = max(self.quiet, self.clock[engine] - self.finish[at])
            self.finish[at] = (self.finish[at] if self.owes[at] else self.clock[engine]) + step
            self.owes[at] = False
        deadline = self.deadlines[fn]
        self.lists[at].append((slot, step, self.us + deadline if deadline else None))
        self.dut.s_entry.value = ENTRY.pack(place=fn, slot=slot, step=step, deadline=deadline)
        self.dut.s_valid.value = 1 << engine
        await self.cycles(1)
        self.dut.s_valid.value = 0
        await self.cycles(8)

    def step(self) -> int:
        return self.rng.choice(((1 << STEP_W) - 1, self.rng.getrandbits(STEP_W) | 1, 1 << self.rng.randrange(STEP_W)))

    def next(self, engine: int) -> tuple[int, int]:
        """Function and slot that go now."""
        for f in range(NUM_FN):
            if self.clock[engine] >= self.finish[engine, f]:
                self.owes[engine, f] = False
        have = [f for f in range(NUM_FN) if self.lists[engine, f]]
        due = {f: d for f in have if (d := self.hurry(engine, f)) is not None}
        fn = min(due, key=lambda f: due[f]) if due else min(have, key=lambda f: self.finish[engine, f])
        at = engine, fn
        slot, step, _ = self.lists[at].popleft()
        self.free.append(slot)
        self.went[at] += step
        self.hurried += bool(due)
        if not due or len(have) == 1:
            self.clock[engine] = max(self.clock[engine], self.finish[at] - step)
        if self.lists[at]:
            self.finish[at] += self.lists[at][0][1]
        else:
            self.owes[at] = True
        return fn, slot

    def hurry(self, engine: int, fn: int) -> int | None:
        """When the function's first command is due, if it may go before its turn for that."""
        _, _, due = self.lists[engine, fn][0]
        if due is None:
            return None
        self.missed += (late := self.us > due)
        self.spent += (far := self.finish[engine, fn] > self.clock[engine] + ADVANCE)
        return None if late or far else due

    async def turn(self, engine: int) -> None:
        want = self.next(engine)
        self.dut.open.value = 1 << engine
        for _ in range(SLOW):
            await self.cycles(1)
            if int(self.dut.m_go.value):
                break
        self.dut.open.value = 0
        assert int(self.dut.m_go.value) == 1 << engine
        assert (int(self.dut.m_place.value), int(self.dut.m_slot.value)) == want
        await self.cycles(6)


@cocotb.test()
async def clocks_begin_anew(dut: Any) -> None:
    """Functions that always have commands: the order is right, and their parts are the same, however often."""
    t = Turns(dut, 1)
    await t.start()
    for _ in range(500):
        for f in range(NUM_FN):
            while len(t.lists[0, f]) < 2:
                await t.send(0, f)
        await t.turn(0)
    assert t.clock[0] > 8 * ROUND
    assert max(t.went.values()) - min(t.went[0, f] for f in range(NUM_FN)) < 3 << STEP_W


@cocotb.test()
async def a_function_comes_back_after_any_time(dut: Any) -> None:
    """One function of an engine has commands now and then, while the clock goes on by less than a round, or by more."""
    t = Turns(dut, 2)
    await t.start()
    for _ in range(60):
        for engine in range(2):
            busy = t.rng.sample(range(NUM_FN), t.rng.randint(1, NUM_FN))
            for _ in range(t.rng.choice((1, 3, 12, 30))):
                for f in busy:
                    while len(t.lists[engine, f]) < 2:
                        await t.send(engine, f)
                await t.turn(engine)
            while any(t.lists[engine, f] for f in range(NUM_FN)) and t.rng.random() < 0.8:
                await t.turn(engine)
    assert min(t.clock) > 4 * ROUND and t.quiet > ROUND


@cocotb.test()
async def what_is_due_first_goes_first(dut: Any) -> None:
    """Functions with and without deadlines, some too short, while time goes on for longer than it has bits: the first
    that is due goes, but what is late or too far ahead of its share has its turn as all have."""
    t = Turns(dut, 3)
    await t.start()
    for _ in range(250):
        t.deadlines = tuple(t.rng.choice((0, 1, 5, 40, 65535)) for _ in range(NUM_FN))
        engine = t.rng.randrange(2)
        busy = t.rng.sample(range(NUM_FN), t.rng.randint(1, NUM_FN))
        for _ in range(t.rng.choice((1, 4, 10))):
            for f in busy:
                while len(t.lists[engine, f]) < t.rng.randint(1, 3):
                    await t.send(engine, f)
            await t.wait(t.rng.choice((0, 1, 3, 30)))
            await t.turn(engine)
        while any(t.lists[engine, f] for f in range(NUM_FN)) and t.rng.random() < 0.8:
            await t.turn(engine)
        if t.rng.random() < 0.1:
            while any(t.lists[e, f] for e in range(2) for f in range(NUM_FN)):
                for e in range(2):
                    if any(t.lists[e, f] for f in range(NUM_FN)):
                        await t.turn(e)
            await t.wait(50_000)
    assert t.us > 1 << 20, "time begins anew"
    assert min(t.hurried, t.missed, t.spent) > 50, (t.hurried, t.missed, t.spent)


@cocotb.test()
async def a_deadline_is_no_share(dut: Any) -> None:
    """All always have commands, those of one function always hurry: it is ahead by ADVANCE and a command, once."""
    t = Turns(dut, 4)
    await t.start()
    t.deadlines = (0, 65535, 0)
    t.step = lambda: (1 << STEP_W - 6) - t.rng.randrange(1 << STEP_W - 8)  # type: ignore[method-assign]
    for _ in range(600):
        for f in range(NUM_FN):
            while len(t.lists[1, f]) < 2:
                await t.send(1, f)
        await t.turn(1)
    went = [t.went[1, f] for f in range(NUM_FN)]
    assert ADVANCE // 2 < went[1] - max(went[0], went[2]) <= ADVANCE + (2 << STEP_W - 6)
    assert abs(went[0] - went[2]) <= 2 << STEP_W - 6


def test_db_ssd_order_turn() -> None:
    bench.run(__file__, "db_ssd_order_turn", {"NUM_FN": NUM_FN, "NUM_CMDS": NUM_CMDS, "DEADLINES": 1})
