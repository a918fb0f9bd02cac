# SPDX-License-Identifier: Apache-2.0
"""rtl/common: each block against a model in Python, with random stalls; rates and latencies without."""

from __future__ import annotations

import os
import random
from collections import deque
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge, Timer

ENV = {"COCOTB_LOG_LEVEL": os.environ.get("LOG", "WARNING")}


async def reset(dut: Any, *low: Any) -> None:
    dut.rst.value = 1
    for s in low:
        s.value = 0
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


async def stream(dut: Any, depth: int, feed: float, drain: float, words: int, seed: int) -> list[int]:
    """Runs `words` words through a FIFO or register slice; returns the cycles in which they came out."""
    rng = random.Random(seed)
    has_level = hasattr(dut, "level")
    inside: deque[int] = deque()
    sent = 0
    cycles: list[int] = []
    cycle = 0
    held: int | None = None
    await reset(dut, dut.s_valid, dut.m_ready)
    offered: int | None = None
    while len(cycles) < words:
        await RisingEdge(dut.clk)
        cycle += 1
        assert cycle < 60 * words + 100, "stuck"
        if has_level:
            assert int(dut.level.value) == len(inside) <= depth
            assert int(dut.s_ready.value) == (len(inside) < depth)
        if int(dut.m_valid.value):
            x = int(dut.m_data.value)
            assert inside and x == inside[0], "wrong word"
            assert held is None or held == x
            held = x
            if int(dut.m_ready.value):
                inside.popleft()
                cycles.append(cycle)
                held = None
        else:
            assert held is None, "word withdrawn"
        if offered is not None and int(dut.s_ready.value):
            inside.append(offered)
            offered = None
        if offered is None and sent < words and rng.random() < feed:
            offered = rng.getrandbits(len(dut.s_data))
            sent += 1
        dut.s_valid.value = int(offered is not None)
        if offered is not None:
            dut.s_data.value = offered
        dut.m_ready.value = int(rng.random() < drain)
    assert not inside
    return cycles


@cocotb.test()
async def fifo(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    depth = int(os.environ["DEPTH"])
    for seed, (feed, drain) in enumerate(((0.5, 0.5), (1.0, 0.4), (0.4, 1.0), (0.9, 0.9))):
        await stream(dut, depth, feed, drain, 400, seed)
    cycles = await stream(dut, depth, 1.0, 1.0, 300, 9)
    assert cycles[-1] - cycles[0] == 299, "not one word a cycle"
    # full, then drained: still one word a cycle
    await reset(dut, dut.s_valid, dut.m_ready)
    dut.s_valid.value = 1
    for _ in range(depth + 8):
        await RisingEdge(dut.clk)
    assert int(dut.level.value) == depth
    dut.m_ready.value, dut.s_valid.value = 1, 0
    for k in range(depth):
        await RisingEdge(dut.clk)
        assert int(dut.m_valid.value), f"bubble at word {k}"
    await RisingEdge(dut.clk)
    assert not int(dut.m_valid.value) and int(dut.level.value) == 0


@cocotb.test()
async def fifo_latency(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    await reset(dut, dut.s_valid, dut.m_ready)
    dut.s_valid.value, dut.s_data.value = 1, 5
    await RisingEdge(dut.clk)  # reset ends here
    assert not int(dut.m_valid.value)
    await RisingEdge(dut.clk)  # word taken
    dut.s_valid.value = 0
    await ReadOnly()
    assert int(dut.m_valid.value) and int(dut.m_data.value) == 5


@cocotb.test()
async def skid(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    for seed, (feed, drain) in enumerate(((0.5, 0.5), (1.0, 0.3), (0.3, 1.0))):
        await stream(dut, 2, feed, drain, 400, seed)
    cycles = await stream(dut, 2, 1.0, 1.0, 300, 9)
    assert cycles[-1] - cycles[0] == 299


@cocotb.test()
async def arb(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    n = len(dut.req)
    rng = random.Random(n)
    await reset(dut, dut.req, dut.ack)
    await RisingEdge(dut.clk)
    pointer = 0
    for k in range(600):
        req = rng.getrandbits(n) if k % 3 else rng.getrandbits(n) | rng.getrandbits(n)
        ack = rng.randrange(2) if req else 0
        dut.req.value, dut.ack.value = req, ack
        await ReadOnly()
        order = [(pointer + i) % n for i in range(n)]
        winner = next((i for i in order if req >> i & 1), None)
        assert int(dut.gnt_valid.value) == (winner is not None)
        assert int(dut.gnt.value) == (0 if winner is None else 1 << winner)
        if winner is not None:
            assert int(dut.gnt_idx.value) == winner
            if ack:
                pointer = (winner + 1) % n
        await RisingEdge(dut.clk)


@cocotb.test()
async def ram(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    depth = int(os.environ["DEPTH"])
    rng = random.Random(1)
    mem: dict[int, int] = {}
    parts = len(dut.we)  # 1 but in db_ram_parts
    width = len(dut.wdata) // parts
    every = (1 << parts) - 1

    def written(old: int, we: int, data: int) -> int:
        mask = sum((1 << width) - 1 << width * i for i in range(parts) if we >> i & 1)
        return (old & ~mask) | (data & mask)

    dut.we.value, dut.re.value = every, 0
    for a in range(depth):
        mem[a] = rng.getrandbits(len(dut.wdata))
        dut.waddr.value, dut.wdata.value = a, mem[a]
        await RisingEdge(dut.clk)
    want: int | None = None
    collisions = 0
    for _ in range(800):
        we, re, wa = rng.randrange(1 << parts), rng.randrange(2), rng.randrange(depth)
        ra = wa if rng.random() < 0.3 else rng.randrange(depth)
        wd = rng.getrandbits(len(dut.wdata))
        dut.we.value, dut.re.value, dut.waddr.value, dut.raddr.value, dut.wdata.value = we, re, wa, ra, wd
        await RisingEdge(dut.clk)
        await ReadOnly()
        collisions += bool(we) & re & (wa == ra)
        if re:
            want = mem[ra]  # old data on a collision
        mem[wa] = written(mem[wa], we, wd)
        if want is not None:
            assert int(dut.rdata.value) == want
        await RisingEdge(dut.clk)
        dut.we.value = dut.re.value = 0
        mem[wa] = written(mem[wa], we, wd)
        if re:
            want = mem[ra]
    assert collisions > 20


@cocotb.test()
async def tag_pool(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    n = int(os.environ["TAGS"])
    rng = random.Random(n)
    for _ in range(2):
        await reset(dut, dut.alloc_ready, dut.free_valid)
        out: list[int] = []
        ever: set[int] = set()
        returned: deque[int] = deque()
        for k in range(800):
            await RisingEdge(dut.clk)
            assert int(dut.used.value) == len(out)
            assert int(dut.alloc_valid.value) == (len(out) < n), "a tag is missing or one too many"
            if int(dut.free_valid.value):
                returned.append(int(dut.free_tag.value))
                out.remove(returned[-1])
            if int(dut.alloc_valid.value) and int(dut.alloc_ready.value):
                t = int(dut.alloc_tag.value)
                assert t < n and t not in out, "tag handed out twice"
                if len(ever) == n:
                    assert t == returned.popleft(), "not the tag that was freed longest ago"
                ever.add(t)
                out.append(t)
            lean = 0.8 if k // 100 % 2 else 0.3
            dut.alloc_ready.value = int(rng.random() < lean)
            give = bool(out) and rng.random() < 1 - lean
            dut.free_valid.value = int(give)
            if give:
                dut.free_tag.value = rng.choice(out)
        assert len(ever) == n


@cocotb.test()
async def clock_gate(dut: Any) -> None:
    """An edge for each cycle that is awake and the AFTER behind it; none beside clk's; high as long as clk is."""
    after = int(os.environ["AFTER"])
    rng = random.Random(after)
    dut.awake.value = 0
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    since = None  # cycles since the last one that was awake
    edges = 0
    for k in range(3000):
        awake = rng.random() < (0.5, 0.02)[k // 50 % 2]
        dut.awake.value = int(awake)
        await FallingEdge(dut.clk)
        await ReadOnly()
        assert not int(dut.m_clk.value)
        await RisingEdge(dut.clk)
        before = int(dut.m_clk.value)
        await ReadOnly()
        since = 0 if awake else None if since is None else since + 1
        runs = since is not None and since <= after
        assert int(dut.m_clk.value) == runs, f"cycle {k}"
        assert before in (0, int(runs))
        edges += runs
        await Timer(1, "ns")
        assert int(dut.m_clk.value) == runs
    assert 500 < edges < 2900


@cocotb.test()
async def values(dut: Any) -> None:
    """Narrow and wide ones come as numbers; what does not fit, or comes when nothing may be written, raises."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    await reset(dut, dut.s_valid, dut.m_ready)
    width = len(dut.s_data)
    for number in (0, 1, (1 << width) - 1, 0x5A5A & (1 << width) - 1):
        dut.s_data.value, dut.s_valid.value = number, number & 1
        await RisingEdge(dut.clk)
        assert type(dut.s_data.value) is int and type(dut.s_valid.value) is int
        assert (dut.s_data.value, dut.s_valid.value) == (number, number & 1)
    dut.s_data.value = "1".zfill(width)
    await RisingEdge(dut.clk)
    assert dut.s_data.value == 1
    with pytest.raises(ValueError, match="out of range"):
        dut.s_data.value = 1 << width
    await ReadOnly()
    with pytest.raises(RuntimeError, match="ReadOnly"):
        dut.s_data.value = 0


@pytest.mark.parametrize("depth", [2, 16, 128])
def test_db_fifo(depth: int) -> None:
    for case in ("fifo", "fifo_latency"):
        bench.run(__file__, "db_fifo", {"WIDTH": 16, "DEPTH": depth}, env={**ENV, "DEPTH": str(depth)}, testcase=case)


@pytest.mark.parametrize("width", [16, 40])
def test_values_are_numbers(width: int) -> None:
    bench.run(__file__, "db_skid", {"WIDTH": width}, env=ENV, testcase="values")


def test_db_skid() -> None:
    bench.run(__file__, "db_skid", {"WIDTH": 16}, env=ENV, testcase="skid")


@pytest.mark.parametrize("n", [1, 3, 4])
def test_db_arb_rr(n: int) -> None:
    bench.run(__file__, "db_arb_rr", {"N": n}, env=ENV, testcase="arb")


def test_db_ram_sdp() -> None:
    bench.run(__file__, "db_ram_sdp", {"WIDTH": 20, "DEPTH": 24}, env={**ENV, "DEPTH": "24"}, testcase="ram")


def test_db_ram_parts() -> None:
    bench.run(__file__, "db_ram_parts", {"PARTS": 3, "DEPTH": 24}, env={**ENV, "DEPTH": "24"}, testcase="ram")


@pytest.mark.parametrize("n", [2, 5, 16])
def test_db_tag_pool(n: int) -> None:
    bench.run(__file__, "db_tag_pool", {"N": n}, env={**ENV, "TAGS": str(n)}, testcase="tag_pool")


@pytest.mark.parametrize("after", [1, 6])
def test_db_clock_gate(after: int) -> None:
    bench.run(
        __file__, "db_clock_gate", {"AFTER": after}, defines={"DB_CLOCKS_REST": "1"}, env={**ENV, "AFTER": str(after)},
        testcase="clock_gate",
    )  # fmt: skip
