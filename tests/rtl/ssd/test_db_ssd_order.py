# SPDX-License-Identifier: Apache-2.0
"""db_ssd_order: each command goes to its engine once, as it came, those of a function in their order. Functions that
always have commands move bytes by their weights, an engine has little more than its window, and one that has room never
waits while there are commands. A list of more ranges than a piece has goes in pieces, which together are the list.
"""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.triggers import FallingEdge
from ssd_order_bench import KINDS, READ, SGL_LAST, SGL_SEGMENT, SOURCE, WRITE, Order, cost, with_lists


@cocotb.test()
async def random_commands(dut: Any) -> None:
    o = Order(dut, 1)
    await o.start()
    rounds = bench.rounds(12, 4)
    for _ in range(rounds):
        await o.drain()
        o.rate, o.latency, o.room = o.rng.choice([1, 4]), o.rng.choice([5, 300]), o.rng.choice([2, 32])
        o.drops = o.rng.choice([0, 0.1])
        fns = o.rng.sample(range(o.num_fn), o.rng.randint(1, o.num_fn))
        kinds = o.rng.sample(list(KINDS), o.rng.randint(1, len(KINDS)))
        often = o.rng.choice([2, 2, 30])
        for _ in range(250):
            if o.free:
                kind = o.rng.choice(kinds)
                ranges = o.rng.choice([1, 4, 5, 20, 256])
                size = {"dsm": 16 * ranges, "flush": 0}.get(kind, 512 << o.rng.choice([0, 3, 3, 6]))
                sgl = o.any_sgl(kind == "dsm" and ranges > 4) if o.rng.random() < 0.5 else None
                o.send(kind, o.rng.choice(fns), size, sgl)
            for _ in range(often):
                await o.step()
    await o.drain()
    assert len(o.went) > 55 * rounds


async def all_busy(
    o: Order, kind: str, sizes: dict[int, int], total: int, weights: dict[int, int],
    sgls: dict[int, tuple[int, int]] | None = None,
) -> None:  # fmt: skip
    """Functions that always have commands: what they moved since all had some, by weight, never differs by more than
    a command of each. sgls: those of functions that have some."""
    sgls = sgls if sgls and o.sgl else {}
    costs = {f: cost(kind, sizes[f]) for f in sizes}
    lists = {f: [*[SOURCE] * (kind == "pieces" and o.sgl), *([sgls[f]] if f in sgls else [])] for f in sizes}
    costs = {f: with_lists(costs[f], sizes[f] // 512, lists[f], o.data_w) for f in sizes}
    for fn, weight in weights.items():
        await o.share(fn, weight)
    engine, each = KINDS[kind][0], o.num_cmds // len(sizes)
    begun = len(o.went)
    room, o.room = o.room, 0  # nothing goes before all have their commands
    for fn in sizes:
        for _ in range(each):
            o.send(kind, fn, sizes[fn], sgls.get(fn))
            await o.step()
            await o.step()
    o.room = room
    start: dict[int, int] = {}
    while len(o.went) - begun < total:
        if len(o.went) - begun < total // 4:
            start = dict(o.moved[engine])
        behind = [f for f in sizes if len(o.waiting[engine, f]) + sum(c.fn == f for c in o.inside[engine]) < each]
        if behind and o.free:
            o.send(kind, behind[0], sizes[behind[0]], sgls.get(behind[0]))
        await o.step()
        await o.step()
        assert all(o.waiting[engine, f] for f in sizes), "this test must keep all of them busy"
        part = {f: (o.moved[engine][f] - start.get(f, 0)) / o.weight[f] for f in sizes}
        for a, b in combinations(sizes, 2):
            most = costs[a] / o.weight[a] + costs[b] / o.weight[b]
            assert abs(part[a] - part[b]) <= most * 1.01 + 1, (a, b, part)
    await o.drain()


@cocotb.test()
async def equal_parts_whatever_the_size(dut: Any) -> None:
    o = Order(dut, 2)
    await o.start()
    o.rate = 2
    sizes = {f: (4096, 512, 32768)[f % 3] for f in range(min(o.num_fn, 6))}
    await all_busy(o, "read", sizes, 600, {})


@cocotb.test()
async def parts_by_weight(dut: Any) -> None:
    o = Order(dut, 3)
    await o.start()
    o.rate = 4
    weights = dict(zip(range(o.num_fn), (1, 4, 11)))
    await all_busy(o, "write", dict.fromkeys(weights, 4096), 600, weights)


@cocotb.test()
async def lists_pay_for_their_descriptors(dut: Any) -> None:
    """Blocks of 512 bytes: PRPs, lists of 128 descriptors, chains."""
    o = Order(dut, 9)
    if not o.sgl:
        return
    await o.start()
    o.rate = 2
    lists = {1: (0x1000, 128 * 16 | SGL_LAST << 60), 2: (0x1000, 16 | SGL_SEGMENT << 60)}
    await all_busy(o, "read", {0: 16384, 1: 512, 2: 512}, 250, {}, lists)
    await all_busy(o, "pieces", {0: 16384, 1: 4096, 2: 512}, 250, {}, lists)


@cocotb.test()
async def parts_of_any_sizes_and_weights(dut: Any) -> None:
    """Some functions, each with its size and weight, whatever the engine's pace. Sizes by weight differ at most
    eightfold, or there are not slots enough to keep all of them busy."""
    for seed in range(20, 20 + bench.rounds(24, 4)):
        o = Order(dut, seed)
        await o.start()
        rng = random.Random(seed)
        o.rate, o.latency = rng.choice([1, 2, 4]), rng.choice([5, 40])
        fns = rng.sample(range(o.num_fn), rng.randint(2, min(o.num_fn, 6)))
        weights, sizes, steps = {}, {}, [0.0, 9.0]
        while max(steps) > 8 * min(steps):
            weights = {f: rng.choice([1, 2, 3, 7, 16, rng.randint(1, 64)]) for f in fns}
            sizes = {f: 512 * rng.choice([1, 2, 8, 8, rng.randint(1, 256)]) for f in fns}
            steps = [sizes[f] / weights[f] for f in fns]
        await all_busy(o, rng.choice(["read", "write"]), sizes, 150, weights)


@cocotb.test()
async def a_burst_with_a_deadline_goes_at_once(dut: Any) -> None:
    """The others always have commands, 4 KiB as those of function 0, who sends ten. Without a deadline it has its turns
    with them, also with one that is over; with one it goes before them."""
    o = Order(dut, 12)
    await o.start()
    o.rate = 4
    others = list(range(1, o.num_fn))
    each = (o.num_cmds - 10) // len(others)

    async def between(deadline_us: int | None) -> int:
        """So many commands of others go between the first and the last of function 0's. None: with what it has."""
        if deadline_us is not None:
            await o.share(0, 1, deadline_us)
        begun = len(o.went)
        sent = 0
        while sum(c.fn == 0 for c in o.went[begun:]) < 10:
            behind = [f for f in others if len(o.waiting[READ, f]) < each - 1]
            if len(o.went) - begun > 30 and sent < 10:
                o.send("read", 0, 4096)
                sent += 1
            elif behind and len(o.free) > 10 - sent:
                o.send("read", o.rng.choice(behind), 4096)
            await o.step()
            await o.step()
        places = [i for i, c in enumerate(o.went[begun:]) if c.fn == 0]
        await o.drain()
        return places[-1] - places[0] - 9

    fair = await between(0)
    assert fair >= 8 * len(others)
    assert await between(50) <= 2 * len(others), "while they come"
    await o.share(0, 1, 50)
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    for _ in range(40):
        await o.step()
    assert await between(None) >= 8 * len(others), "a reset takes it back"
    o.rate = 40
    assert await between(1) > 4 * len(others), "each takes longer than that"


@cocotb.test()
async def a_quiet_function_waits_for_one_of_each(dut: Any) -> None:
    """The others move at most a command of theirs, one that is chosen, and as much as the quiet one asks for, until it
    goes. If theirs are larger, it is next but for what is chosen."""
    o = Order(dut, 4)
    await o.start()
    o.rate = 2
    others = range(1, o.num_fn)
    each = (o.num_cmds - 1) // len(others)
    waits = []
    for size, own in ((4096, 4096), (65536, 4096), (4096, 65536)):
        for _ in range(12):
            sent = len(o.went)
            for i in range(400):
                behind = [f for f in others if len(o.waiting[READ, f]) < each - 1]
                if i == 200:
                    o.send("read", 0, own)
                elif behind and len(o.free) > 1:
                    o.send("read", o.rng.choice(behind), size)
                await o.step()
                await o.step()
            mine = [c for c in o.went[sent:] if c.fn == 0]
            while not mine:
                await o.step()
                mine = [c for c in o.went[sent:] if c.fn == 0]
            at = o.went.index(mine[0])
            for f in others:
                before = sum(c.cost for c in o.went[:at] if c.fn == f) - mine[0].others.get(f, 0)
                assert before <= 2 * cost("read", size) + mine[0].cost, (f, before)
            if size > own:
                assert at - mine[0].before <= 2
            waits.append(at - mine[0].before)
    await o.drain()
    assert max(waits) > 0


@cocotb.test()
async def a_reset_forgets_all(dut: Any) -> None:
    o = Order(dut, 5)
    await o.start()
    for _ in range(3):
        for i in range(40):
            o.send("read" if i % 2 else "write", i % o.num_fn, 4096)
            await o.step()
            await o.step()
        dut.rst.value = 1
        dut.s_cmd_valid.value, dut.s_end.value, dut.s_ctx_valid.value, dut.s_seg.value = 0, 0, 0, 0
        for _ in range(3):
            await FallingEdge(dut.clk)
        dut.rst.value = 0
        o = Order(dut, 6)
        o.dut.m_cmd_ready.value = 0
        for _ in range(40):
            await o.step()
        assert not o.went and int(dut.busy.value) == 0


@cocotb.test()
async def latency_and_throughput(dut: Any) -> None:
    """An entry every other cycle; a command every n + 5 cycles while n functions have commands."""
    o = Order(dut, 7)
    await o.start()
    o.rate, o.latency = 1, 4
    cycles: dict[int, float] = {}
    for n in {1, 2, o.num_fn}:
        for i in range(min(o.num_cmds, 60)):
            o.send("flush", i % n, 0)
            await o.step()
            await o.step()
        begin, went = o.cycle, len(o.went)
        while sum(len(q) for q in o.waiting.values()) > n:
            await o.step()
        cycles[n] = (o.cycle - begin) / max(1, len(o.went) - went)
        await o.drain()
    assert all(n + 4 < c <= n + 6.5 for n, c in cycles.items() if n > 1), cycles


@cocotb.test()
async def both_engines_in_turn(dut: Any) -> None:
    """While both engines have room, commands of n functions for each go to the one and the other, one every n + 5
    cycles together."""
    o = Order(dut, 8)
    await o.start()
    o.rate, o.latency = 1, 4
    n = min(o.num_fn, o.num_cmds // 4)
    room, o.room = o.room, 0
    for i in range(min(o.num_cmds, 60)):
        o.send("flush" if i // n % 2 else "verify", i % n, 0)
        await o.step()
        await o.step()
    o.room = room
    begin, went = o.cycle, len(o.went)
    while sum(len(q) for (e, _), q in o.waiting.items() if e == WRITE) > n:
        await o.step()
    engines = [c.engine for c in o.went[went:]]
    assert all(a != b for a, b in zip(engines, engines[1:])), "one engine twice"
    assert (o.cycle - begin) / len(engines) <= n + 6
    await o.drain()


@pytest.mark.parametrize(("num_fn", "sgl"), [(3, 1), bench.rare(17, 1), bench.rare(3, 0)])
def test_db_ssd_order(num_fn: int, sgl: int) -> None:
    bench.run(__file__, "db_ssd_order", {"NUM_FN": num_fn, "NUM_CMDS": 64, "DATA_W": 256, "SGL": sgl, "NEAR": 1})


@pytest.mark.parametrize("data_w", [bench.rare(128), 512])
def test_cost_of_lists_by_width(data_w: int) -> None:
    """The window, which the other claims are made for, is another one."""
    parameters = {"NUM_FN": 3, "NUM_CMDS": 64, "DATA_W": data_w, "SGL": 1}
    bench.run(__file__, "db_ssd_order", parameters, testcase="lists_pay_for_their_descriptors")
