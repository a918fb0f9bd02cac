# SPDX-License-Identifier: Apache-2.0
"""Near-storage commands that come too late, over their rate: who may use which slots, and what is loaded there when.

Commands arrive whether or not those before them are done: Poisson, by a seed. One is late if its host sees its end
after its deadline, FACTOR times what such a command takes alone in the drive. One whose operator is in no slot ends
with a status that says so, and comes again until its deadline is over.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from doorbell.bench.pool import BLOCKS, QUEUE, Pool
from doorbell.errors import UserError
from doorbell.nvme.commands import Command
from doorbell.nvme.vendor import NearOperator, SlotAction, VendorOpc
from doorbell.nvme.virtualization import set_share

FACTOR = 3
BUSY = 3  # times as many commands come from a function of group A as from one of group B
HOLD_CYCLES = 4 * 4096  # about as long as an exchange of a library's bitstream takes
PATIENCE_NS = 20e6
GREP, AGGREGATE, FILTER, CSV = NearOperator.GREP, NearOperator.AGGREGATE, NearOperator.FILTER, NearOperator.CSV


@dataclass(frozen=True)
class Strategy:
    """slots: what is in which at the begin. shares: slots of each function that asks, in order, a bit each.
    brought: the PF exchanges these while commands come. library: what is missed is loaded, of these. parts: of the
    whole drive, of each function that asks (names and units of nvme's FunctionShare)."""

    name: str
    slots: Mapping[int, int] = field(hash=False)
    shares: tuple[int, ...]
    brought: Mapping[int, int] = field(default_factory=dict, hash=False)
    library: tuple[int, ...] = ()
    parts: tuple[Mapping[str, int], ...] = field(default=(), hash=False)


@dataclass(frozen=True)
class Contest:
    """Functions that ask, each with a program of one operator, the first half of them group A; strategies for them.
    deadlines_us: of each function; FACTOR times what a command takes alone unless said."""

    name: str
    operators: tuple[int, ...]
    strategies: tuple[Strategy, ...]
    deadlines_us: tuple[float, ...] = ()


ONE = Contest("one operator", (GREP,) * 4, (
    Strategy("static-worst", {0: GREP, 1: GREP}, (0b01, 0b01, 0b10, 0b10)),
    Strategy("static-best", {0: GREP, 1: GREP}, (0b01, 0b10, 0b01, 0b10)),
    Strategy("dynamic", {0: GREP, 1: GREP}, (0b11,) * 4),
    Strategy("dynamic+pr", {0: GREP, 1: GREP, 2: AGGREGATE, 3: AGGREGATE}, (0b1111,) * 4, brought={2: GREP, 3: GREP}),
))  # fmt: skip
FOUR = Contest("four operators", (GREP, FILTER, AGGREGATE, CSV), (
    Strategy("static-worst", {0: AGGREGATE, 1: CSV}, (0b11,) * 4),
    Strategy("static-best", {0: GREP, 1: FILTER}, (0b11,) * 4),
    Strategy("dynamic+pr", {0: GREP, 1: FILTER, 2: GREP, 3: FILTER}, (0b1111,) * 4,
             library=(GREP, AGGREGATE, FILTER, CSV)),
))  # fmt: skip
CONTESTS = (ONE, FOUR)
RATES = (300_000, 600_000, 750_000, 900_000)
SPAN_NS = 600_000.0

PLAIN = {"weight": 1, "deadline_us": 0}
BUSIER = {"weight": BUSY}
IN_A_HURRY = {"weight": BUSY, "deadline_us": 10}
HURRY = Contest("deadlines", (GREP,) * 4, (
    Strategy("equal", {0: GREP, 1: GREP}, (0b11,) * 4),
    Strategy("weights", {0: GREP, 1: GREP}, (0b11,) * 4, parts=(BUSIER, BUSIER, PLAIN, PLAIN)),
    Strategy("deadlines", {0: GREP, 1: GREP}, (0b11,) * 4, parts=(IN_A_HURRY, IN_A_HURRY, PLAIN, PLAIN)),
), (20.0, 20.0, 200.0, 200.0))  # fmt: skip
HURRY_RATES = (750_000, 900_000, 940_000)
HURRY_SPAN_NS = 2_000_000.0
"""What functions of group A want soon, and those of B some time."""

SHORT_CONTESTS = (
    Contest("one operator", (GREP, GREP), (
        Strategy("static", {1: AGGREGATE}, (0b001, 0b001)),
        Strategy("dynamic", {1: GREP}, (0b011, 0b011)),
    )),
    Contest("two operators", (AGGREGATE, FILTER), (
        Strategy("static", {1: AGGREGATE}, (0b010, 0b010)),
        Strategy("dynamic+pr", {1: AGGREGATE, 2: AGGREGATE}, (0b110, 0b110), library=(AGGREGATE, FILTER)),
    )),
)  # fmt: skip


@dataclass
class Wanted:
    """A command that a function's software wants at a time. again: how often its operator was missing."""

    at_ns: float
    fn: int
    operator: int
    block: int
    again: int = 0
    late: bool = False
    took_ns: float = 0.0


def arrivals(
    operators: Mapping[int, int], weights: Mapping[int, int], rate: float, span_ns: float, seed: int
) -> list[Wanted]:
    """Of all functions together so many a second, shared out by weight."""
    rng = random.Random(seed)
    functions, of = list(weights), list(weights.values())
    found: list[Wanted] = []
    at = 0.0
    while (at := at + rng.expovariate(rate / 1e9)) < span_ns:
        fn = rng.choices(functions, of)[0]
        found.append(Wanted(float(round(at)), fn, operators[fn], rng.randrange(BLOCKS)))
    return found


def serve(pool: Pool, wanted: Sequence[Wanted], deadline_ns: Mapping[int, float]) -> None:
    """All of them, at their times; each is told how long it took, and whether that was too long."""
    sim, start = pool.sim, pool.sim.ns
    under_way: dict[Command, Wanted] = {}
    waiting: dict[int, list[Wanted]] = {fn: [] for fn in deadline_ns}
    count = dict.fromkeys(deadline_ns, 0)
    next_one, heard = 0, sim.ns

    def end(one: Wanted, now: float) -> None:
        one.took_ns = now - start - one.at_ns
        one.late = one.took_ns > deadline_ns[one.fn]

    while next_one < len(wanted) or under_way or any(waiting.values()):
        while next_one < len(wanted) and start + wanted[next_one].at_ns <= sim.ns:
            waiting[wanted[next_one].fn].append(wanted[next_one])
            next_one += 1
        for fn, queue in waiting.items():
            while queue and count[fn] < QUEUE:
                one = queue.pop(0)
                under_way[pool.send(fn, one.operator, one.block)] = one
                count[fn] += 1
        until = start + wanted[next_one].at_ns if next_one < len(wanted) else None
        for command in pool.step(until):
            heard = sim.ns
            if command not in under_way:
                command.check()  # the PF's own
                continue
            one = under_way.pop(command)
            count[one.fn] -= 1
            end(one, command.done_ns)
            if not pool.take(one.fn, one.operator, one.block, command):
                one.again += 1
                if not one.late:
                    waiting[one.fn].append(one)
        if sim.ns - heard > PATIENCE_NS and under_way:
            raise UserError(f"{len(under_way)} near-storage commands do not end")


def run(
    pool: Pool, contest: Contest, strategy: Strategy, rate: float, deadline_ns: Mapping[int, float], span_ns: float
) -> dict[str, Any]:
    """A row: one strategy at one rate."""
    asking = pool.setup.asking
    pool.fill(strategy.slots)
    pool.share(dict(zip(asking, strategy.shares, strict=True)))
    for fn, part in zip(asking, strategy.parts or ({},) * len(asking), strict=True):
        set_share(pool.pf, fn, **{**PLAIN, **part})
    if strategy.library:
        pool.library(strategy.library, HOLD_CYCLES)
    words = pool.sim.counters()["card.port_words"]
    at = pool.setup.stride
    for slot, operator in strategy.brought.items():
        pool.store(at, pool.bitstream(operator, slot))
        pool.pf.submit(0, VendorOpc.SLOTS, ring=True, cdw10=SlotAction.EXCHANGE | slot << 8, cdw11=at)
        at += pool.setup.stride
    group_a = asking[: len(asking) // 2]
    weights = {fn: BUSY if fn in group_a else 1 for fn in asking}
    wanted = arrivals(dict(zip(asking, contest.operators, strict=True)), weights, rate, span_ns, round(rate))
    serve(pool, wanted, deadline_ns)

    def late(some: Sequence[Wanted]) -> float:
        return round(100 * sum(one.late for one in some) / len(some), 2)

    took = sorted(one.took_ns for one in wanted)
    hurried = sorted(one.took_ns for one in wanted if one.fn in group_a)
    exchanges = (pool.sim.counters()["card.port_words"] - words) / ((pool.setup.stride - 64) / 4)
    return {
        "contest": contest.name, "strategy": strategy.name, "rate": round(rate), "commands": len(wanted),
        "late_pct": late(wanted), "late_a_pct": late([one for one in wanted if one.fn in group_a]),
        "late_b_pct": late([one for one in wanted if one.fn not in group_a]),
        "median_us": round(took[len(took) // 2] / 1000, 2),
        "p99_a_us": round(hurried[len(hurried) * 99 // 100] / 1000, 2), "again": sum(one.again for one in wanted),
        "exchanges": round(exchanges, 2),
    }  # fmt: skip


def measure(
    pool: Pool, contests: Sequence[Contest] = CONTESTS, rates: Sequence[float] = RATES, span_ns: float = SPAN_NS
) -> Iterator[dict[str, Any]]:
    """Rows: each contest's strategies at each rate."""
    setup = pool.setup
    free = next(slot for slot in range(setup.slots) if pool.exchangeable(slot))
    for contest in contests:
        alone_ns = {}
        pool.share(dict.fromkeys(setup.asking, (1 << setup.slots) - 1))
        for fn, operator in zip(setup.asking, contest.operators, strict=True):
            pool.fill({free: operator})
            alone_ns[fn] = pool.alone_ns(fn, operator)
        deadline_ns = {fn: FACTOR * ns for fn, ns in alone_ns.items()}
        if contest.deadlines_us:
            deadline_ns = {fn: us * 1000 for fn, us in zip(setup.asking, contest.deadlines_us, strict=True)}
        for strategy in contest.strategies:
            for rate in rates:
                yield run(pool, contest, strategy, rate, deadline_ns, span_ns)
