# SPDX-License-Identifier: Apache-2.0
"""db_ssd_sq with several functions: what each gets of what all share. Turns by weight, slots from a guaranteed to a
largest share, limits of commands and bytes a second; who is limited costs nobody a cycle, and nothing is lost.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.triggers import FallingEdge, RisingEdge
from functions import number
from structs import layout
from test_db_ssd_sq import ADMIN_CMDS, FETCH_MAX
from test_db_ssd_sq_functions import ADMIN_MAX, Functions

FN_SET = layout("db_ssd_pkg", "fn_set_t")
FN_MOVED = layout("db_ssd_pkg", "fn_moved_t")
MICROSECOND = 250  # cycles
TURN = 5  # cycles


class Shares(Functions):
    """Commands are over 3 cycles apart at most, so turns of one entry each are what limits traffic, not slots."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.most = dict.fromkeys(range(self.num_fn), self.num_cmds // 2)
        self.cycle = 0
        self.times: list[tuple[int, int, int]] = []  # cycle, function, entries
        self.bytes_each = dict.fromkeys(range(self.num_fn), 0)  # of a command's data
        self.to_move: list[int] = []  # functions of commands that decode has not seen
        self.moved: Counter[int] = Counter()
        self.held = False  # decode sees none of them yet

    async def start(self) -> None:
        await super().start()
        self.complete = 1.0
        cocotb.start_soon(self.clock())

    async def clock(self) -> None:
        d = self.dut
        while True:
            await FallingEdge(d.clk)
            self.cycle += 1
            if self.cycle % MICROSECOND == 0:
                d.us_turns.value = 1 - int(d.us_turns.value)
            moves = bool(self.to_move) and not self.held and self.cycle % 2 == 0
            d.s_fn_moved_valid.value = int(moves)
            if moves:
                place = self.to_move.pop(0)
                self.moved[place] += self.bytes_each[place]
                d.s_fn_moved.value = FN_MOVED.pack(fn=number(place), bytes=self.bytes_each[place])

    async def set(self, **values: Any) -> None:
        await FallingEdge(self.dut.clk)
        self.dut.s_fn_set.value = FN_SET.pack(values)
        await FallingEdge(self.dut.clk)
        self.dut.s_fn_set.value = 0
        await self.clocks(16)

    async def share(self, place: int, weight: int = 1, least: int | None = None, most: int | None = None) -> None:
        least = max(1, self.num_cmds // 4 // self.num_fn) if least is None else least
        most = self.num_cmds // 2 if most is None else most
        self.most[place] = max(most, self.inside(place))  # what it has it keeps
        await self.set(share_valid=1, share={"place": place, "weight": weight, "least": least, "most": most})
        if self.inside(place) <= most:
            self.most[place] = most

    async def limit(self, place: int, rate: float, burst: int, data: bool = False) -> None:
        """rate in a microsecond."""
        fixed = round(rate * 2 ** (12 if data else 20))
        await self.set(limit_valid=1, limit={"place": place, "bytes": int(data), "rate": fixed, "burst": burst})

    def inside(self, place: int) -> int:
        return sum(q >= self.num_fn and self.owner[q] == place for q in self.open)

    def queues(self, place: int) -> list[int]:
        return [q for q in self.numbers if q >= self.num_fn and self.owner[q] == place]

    def request(self, segment: dict[str, int], user: dict[str, int]) -> None:
        super().request(segment, user)
        q, count = user["sqid"], segment["len"] // 64
        if q < self.num_fn:
            return
        place = self.owner[q]
        self.times.append((self.cycle, place, count))
        assert self.inside(place) <= self.most[place], f"function {place} has more than its largest share"
        if self.bytes_each[place]:
            self.to_move.extend([place] * count)

    def served(self, since: int = 0) -> Counter[int]:
        got: Counter[int] = Counter()
        for cycle, place, count in self.times:
            if cycle >= since:
                got[place] += count
        return got

    async def turns_in(self, cycles: int) -> int:
        before = len(self.times)
        await self.clocks(cycles)
        return len(self.times) - before

    async def backlog(self, queues: dict[int, list[int]], size: int = 4096) -> None:
        """Queues of functions, all full before anything begins."""
        self.dut.run.value = 0
        for qs in queues.values():
            for q in qs:
                await self.create(q, size)
                await self.ring(q, size - 1)
        self.dut.run.value = 1


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(heavy=[1, 3])
async def entries_follow_weights_exactly(dut: Any, heavy: int) -> None:
    """The PF has all of its queues busy, each other function one. Turns of one entry: every round of as many entries as
    weights say has exactly those of each function, and functions that have some left take turns one by one."""
    b = Shares(dut)
    await b.start()
    b.arbitrate(burst=0)
    weights = {p: 1 + p % heavy for p in range(b.num_fn)}
    await b.clocks(len(b.numbers) + 20)
    for p, weight in weights.items():
        await b.share(p, weight)
    await b.backlog({p: b.queues(p) if p == 0 else b.queues(p)[:1] for p in range(b.num_fn)})
    length = FETCH_MAX * sum(weights.values())
    while len(b.times) < 4 * length:
        await RisingEdge(dut.clk)
    turns = [p for _, p, _ in b.times]
    for start in range(0, 4 * length, length):
        assert Counter(turns[start : start + length]) == {p: FETCH_MAX * w for p, w in weights.items()}
    for i in range(0, FETCH_MAX * b.num_fn, b.num_fn):
        assert sorted(turns[i : i + b.num_fn]) == list(range(b.num_fn)), "they do not take turns"
    assert {b.requested(q) > 0 for q in b.queues(0)} == {True}, "a queue of the PF is forgotten"


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def entries_follow_weights_with_large_turns(dut: Any) -> None:
    """Turns of up to 8 entries, of queues of any length: what a turn takes too much is missing later."""
    b = Shares(dut)
    await b.start()
    b.complete = 1.0
    await b.clocks(len(b.numbers) + 20)
    chosen = {p: b.queues(p)[:2] for p in range(3)}
    weights = {0: 1, 1: 2, 2: 5}
    for p, weight in weights.items():
        await b.share(p, weight, most=b.num_cmds - 1)
    dut.run.value = 0
    for qs in chosen.values():
        for q in qs:
            await b.create(q, 4000 + b.rng.randrange(90))
            await b.ring(q, 3900)
    dut.run.value = 1
    while sum(b.served().values()) < 3000:
        await RisingEdge(dut.clk)
    served = b.served()
    for p, weight in weights.items():
        assert abs(served[p] - sum(served.values()) * weight / 8) <= FETCH_MAX * (weight + 2), served


@cocotb.test(timeout_time=20, timeout_unit="ms")
@cocotb.parametrize(burst=[0, 7])
async def entries_follow_weights_when_slots_are_what_is_missing(dut: Any, burst: int) -> None:
    """Commands take long, so a turn is one of the few slots that come back: they go to functions by weight. Few queues,
    as each may have a slot of its own whatever its function's weight is.
    """
    b = Shares(dut)
    await b.start()
    b.arbitrate(burst=burst)
    await b.clocks(len(b.numbers) + 20)
    weights = {0: 1, 1: 2, 2: 5}
    for p, weight in weights.items():
        await b.share(p, weight, 0, b.num_cmds)
    b.complete = 0.1
    await b.backlog({p: b.queues(p)[:2] for p in weights})
    while sum(b.served().values()) < 2 * b.num_cmds:
        await b.clocks(100)
    assert len(b.open) > b.num_cmds // 2, "slots are not what is missing"
    since = b.cycle
    while sum(b.served(since).values()) < 1200:
        await b.clocks(100)
    served = b.served(since)
    for p, weight in weights.items():
        assert abs(served[p] - sum(served.values()) * weight / 8) <= FETCH_MAX * (weight + 2), served


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(functions=[1, 3])
async def a_turn_takes_five_cycles(dut: Any, functions: int) -> None:
    """Of one function with one queue, and of several."""
    b = Shares(dut)
    await b.start()
    b.arbitrate(burst=0)
    b.complete = 0.0
    await b.clocks(len(b.numbers) + 20)
    await b.backlog({p: b.queues(p)[:1] for p in range(functions)})
    while len(b.times) < b.num_cmds // 4:
        await RisingEdge(dut.clk)
    cycles = [cycle for cycle, _, _ in b.times]
    assert {b - a for a, b in zip(cycles, cycles[1:], strict=False)} == {TURN}, cycles


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def who_has_its_largest_share_costs_nobody_a_cycle(dut: Any) -> None:
    """One function's commands are never over: it has its largest share, the others' turns come as fast as ever; when
    one is over it has one more."""
    b = Shares(dut)
    await b.start()
    b.arbitrate(burst=0)
    await b.clocks(len(b.numbers) + 20)
    dead, most = 1, 5
    await b.share(dead, 255, most=most)
    b.unread = set(b.queues(dead))
    await b.backlog({p: b.queues(p) for p in (0, 2)})
    alone = await b.turns_in(1000)
    await b.backlog({dead: b.queues(dead)})
    await b.clocks(400)
    since = b.cycle
    beside = await b.turns_in(1000)
    served = b.served(since)
    assert b.inside(dead) == most and served[dead] == 0
    assert beside >= alone - 1 and abs(served[0] - served[2]) <= FETCH_MAX, (alone, served)
    b.unread.clear()
    await b.clocks(200)
    assert b.served(since)[dead] > 0


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_guaranteed_share_is_always_there(dut: Any) -> None:
    """Other functions hold all that they get, for ever: each has no less than its guarantee, all common slots are
    taken, and a function that comes late gets its guarantee at once, in full. What is guaranteed anew comes from
    others.
    """
    b = Shares(dut)
    await b.start()
    await b.clocks(len(b.numbers) + 20)
    late, least = 2, 7 if b.num_cmds < 256 else 150  # more than a turn can have: 127
    await b.share(late, least=least, most=least + 13)
    for p in (0, 1):
        await b.share(p, most=b.num_cmds)
    b.unread = set(b.numbers[b.num_fn :])
    others = [p for p in range(b.num_fn) if p != late]
    await b.backlog({p: b.queues(p) for p in others}, 48)
    await b.clocks(40 * b.num_cmds)
    total = sum(b.inside(p) for p in others)
    guaranteed = max(1, b.num_cmds // 4 // b.num_fn)
    assert all(b.inside(p) >= guaranteed for p in others)
    assert b.num_cmds - least - b.reserved <= total <= b.num_cmds - least
    for q in b.queues(late)[: 1 + least // 50]:
        await b.create(q, 64)
        await b.ring(q, 60)
    await b.clocks(TURN * (least + 4))
    assert b.inside(late) >= least, "its guarantee is not there"
    # more is guaranteed: commands of others that are over make room for it
    now = b.inside(late)
    await b.share(late, least=now + 6, most=least + 13)
    b.unread = {x for x in b.unread if b.owner[x] not in (0, 1)}
    await b.clocks(200)
    assert b.inside(late) >= now + 6
    b.unread.clear()
    await b.settle()


@cocotb.test(timeout_time=20, timeout_unit="ms")
@cocotb.parametrize(data=[0, 1] if bench.FULL else [1])
async def limits_are_kept_within_a_percent(dut: Any, data: int) -> None:
    """Commands or bytes a second of one function, after its burst; others have the rest, and lose no cycle."""
    b = Shares(dut)
    await b.start()
    b.arbitrate(burst=0 if data else 7)
    await b.clocks(len(b.numbers) + 20)
    slow, each, burst = 1, 4096, 20
    rate = 0.7  # commands a microsecond
    if data:
        b.bytes_each[slow] = each
        await b.limit(slow, rate * each, burst * each, True)
    else:
        await b.limit(slow, rate, burst)
    await b.backlog({slow: b.queues(slow)[:1]})
    start = b.cycle
    await b.clocks(4 * MICROSECOND)
    first = b.served()[slow]
    slack = b.most[slow] if data else 0  # what is requested before the bytes of others are known
    assert burst <= first <= burst + 4 * rate + 1 + slack, f"{first} commands: not its burst"
    await b.clocks(400 * MICROSECOND)
    got = b.moved[slow] / each if data else b.served()[slow]
    want = burst + rate * (b.cycle - start) / MICROSECOND
    assert abs(got - want) <= 0.01 * want, f"{got} commands, the limit is {want}"
    # beside it
    others = [p for p in range(3) if p != slow]
    b.arbitrate(burst=0)
    await b.backlog({p: b.queues(p)[:1] for p in others})
    await b.clocks(100)
    since = b.cycle
    beside = await b.turns_in(16_000)
    served = b.served(since)
    assert served[slow] > 30
    assert abs(served[others[0]] - served[others[1]]) <= 2 * FETCH_MAX, served
    # without
    await b.limit(slow, 0, 0, bool(data))
    since = b.cycle
    unlimited = await b.turns_in(16_000)
    assert beside >= 0.99 * unlimited, "turns are missing"
    assert abs(b.served(since)[slow] - unlimited / 3) <= 2 * FETCH_MAX, b.served(since)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def no_charge_is_lost(dut: Any) -> None:
    """Entries that the host's memory has kept come to decode all at once, and turns of one entry go on beside them:
    commands and bytes of all functions count, as each has limits of both."""
    b = Shares(dut)
    await b.start()
    b.arbitrate(burst=0)
    await b.clocks(len(b.numbers) + 20)
    for p in range(b.num_fn):
        b.bytes_each[p] = 512
        await b.limit(p, 10, 100_000)
        await b.limit(p, 10 * 512, 100_000 * 512, True)
    b.held = True
    await b.backlog({p: b.queues(p) for p in range(b.num_fn)})
    while len(b.to_move) < b.num_cmds // 2:
        await RisingEdge(dut.clk)
    b.held = False
    turns = await b.turns_in(100)
    assert turns > 3, "there are no turns beside"
    dut.run.value = 0
    while b.to_move:
        await RisingEdge(dut.clk)
    await b.clocks(200)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def nothing_is_lost_whatever_changes(dut: Any) -> None:
    """Shares and limits change in traffic of all, queues of a function go and come: every entry once, in order, and no
    queue is forgotten."""
    b = Shares(dut)
    await b.start()
    b.ready, b.complete = 0.8, 0.5
    await b.clocks(len(b.numbers) + 20)
    b.arbitrate(burst=7, wrr=1, weight_high=3, weight_medium=1)
    for q in b.numbers:
        await b.create(q, b.rng.choice([2, 16, 65]), b.rng.randrange(4))
    for p in range(b.num_fn):
        b.bytes_each[p] = b.rng.choice([0, 512, 8192])
    added = 0
    for round_ in range(60):
        p = b.rng.randrange(b.num_fn)
        spare = max(1, b.num_cmds // 4 // b.num_fn)
        await b.share(p, b.rng.choice([1, 2, 255]), b.rng.randrange(spare + 1), b.rng.choice([1, 3, 9, b.num_cmds]))
        await b.limit(b.rng.randrange(b.num_fn), b.rng.choice([0, 0.5, 2]), b.rng.choice([1, 30]))
        await b.limit(b.rng.randrange(b.num_fn), b.rng.choice([0, 4096, 20000]), 9000, True)
        for _ in range(30):
            added += await b.add(b.rng.choice(b.numbers), b.rng.choice([1, 2, 7, 40]))
        if round_ % 6 == 5:
            mine = [q for q in b.numbers if b.owner[q] == p]
            for q in mine:
                await b.delete(q)
            await b.clocks(20)
            added -= sum((b.tail[q] - b.head[q]) % b.size[q] for q in mine)
            while any(b.open.count(q) for q in mine):
                await RisingEdge(dut.clk)
            for q in mine:
                await b.create(q, b.rng.choice([2, 16, 65]), b.rng.randrange(4))
    await b.settle(400_000)
    assert sum(n for _, n in b.requests) == added and not b.errors
    assert int(dut.cmds_inflight.value) == 0


@pytest.mark.parametrize(("num_fn", "num_qp", "num_cmds"), [
    (3, 12, 64), bench.rare(17, 68, 128),
])  # fmt: skip
def test_db_ssd_sq_shares(num_fn: int, num_qp: int, num_cmds: int, testcase: str | None = None) -> None:
    values = {"NUM_FN": num_fn, "NUM_QP": num_qp, "NUM_CMDS": num_cmds}
    env = {name: str(value) for name, value in {**values, "SEED": num_fn}.items()}
    whole = {**values, "ADMIN_CMDS": ADMIN_CMDS, "ADMIN_MAX": ADMIN_MAX}
    bench.run(__file__, "db_ssd_sq", whole, env=env, testcase=testcase)


def test_a_guarantee_of_more_slots_than_a_turn_can_have() -> None:
    test_db_ssd_sq_shares(3, 21, 256, "a_guaranteed_share_is_always_there")


def test_charges_of_many_functions() -> None:
    test_db_ssd_sq_shares(17, 68, 128, "no_charge_is_lost")
