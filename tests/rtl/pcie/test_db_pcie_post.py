# SPDX-License-Identifier: Apache-2.0
"""db_pcie_post: each post becomes one memory write TLP, in order, with no cycle between TLPs; those of a function that
is silent become none."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from functions import number
from pcie_stream import PcieStream
from structs import constant, layout
from test_db_pcie_write import RqMonitor

POST = layout("db_pcie_block_pkg", "post_t")
MOST = constant("db_pcie_block_pkg", "POST_DWORDS")
NUM_FN = int(os.environ.get("NUM_FN", "1"))


async def run_posts(dut: Any, posts: list[tuple[int, int, list[int]]], stall: float, seed: int) -> RqMonitor:
    rng = random.Random(seed)
    monitor = RqMonitor(PcieStream(dut, "m_rq", "RQ", int(dut.DATA_W.value)), stall)
    dut.rst.value, dut.s_post_valid.value, dut.m_rq_ready.value, dut.silent.value = 1, 0, 0, 0
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    queue = list(posts)
    quiet = 0
    while quiet < 20:
        await RisingEdge(dut.clk)
        quiet += 1
        if int(dut.s_post_valid.value) and int(dut.s_post_ready.value):
            queue.pop(0)
            dut.s_post_valid.value = 0
        if int(dut.m_rq_valid.value):
            quiet = 0
        monitor.tick(rng)
        if not int(dut.s_post_valid.value) or int(dut.s_post_ready.value):
            if queue and rng.random() >= stall:
                quiet = 0
                fn, addr, data = queue[0]
                dut.s_post_valid.value = 1
                noise = rng.getrandbits(32 * MOST) >> (32 * len(data)) << (32 * len(data))
                words = noise | sum(v << 32 * i for i, v in enumerate(data))
                dut.s_post.value = POST.pack(fn=fn, addr=addr, dwords=len(data), data=words)
    assert not queue and not monitor.beats
    assert [(t.fn, t.addr, t.payload) for t in monitor.tlps] == posts
    return monitor


def random_posts(rng: random.Random, count: int, sizes: list[int]) -> list[tuple[int, int, list[int]]]:
    posts = []
    for _ in range(count):
        n = rng.choice(sizes)
        posts.append((rng.randrange(256), rng.getrandbits(62) << 2, [rng.getrandbits(32) for _ in range(n)]))
    return posts


@cocotb.test()
async def random_posts_in_order(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    for seed, stall in enumerate((0.0, 0.5)):
        rng = random.Random(seed)
        await run_posts(dut, random_posts(rng, 200, list(range(1, MOST + 1))), stall, seed)


@cocotb.test()
async def full_rate(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    rng = random.Random(3)
    for size in range(1, MOST + 1):
        m = await run_posts(dut, random_posts(rng, 20, [size]), 0.0, 5)
        beats = -(-((0 if m.rq.width == 512 else 4) + size) // (m.rq.width // 32))
        assert [t.beats for t in m.tlps] == [beats] * 20
        looks = 19 if int(dut.NUM_FN.value) > 1 else 0  # whether the next one's function may send
        assert m.tlps[-1].last_cycle - m.tlps[0].first_cycle + 1 == 20 * beats + looks


@cocotb.test()
async def ready_is_a_register(dut: Any) -> None:
    """s_post_ready of a write of one beat does not follow the link's ready within the cycle."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    dut.rst.value, dut.s_post_valid.value, dut.m_rq_ready.value, dut.silent.value = 1, 0, 0, 0
    dut.s_post.value = POST.pack(dwords=1)
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value, dut.s_post_valid.value = 0, 1
    for _ in range(6):
        await FallingEdge(dut.clk)
    assert int(dut.s_post_ready.value) == 0
    dut.m_rq_ready.value = 1
    await Timer(1, "ns")
    assert int(dut.s_post_ready.value) == 0
    for _ in range(2 if int(dut.DATA_W.value) == 128 else 1):  # two beats
        await FallingEdge(dut.clk)
    assert int(dut.s_post_ready.value) == 1


@cocotb.test(skip=NUM_FN == 1)
@cocotb.parametrize(stall=[0.0, 0.7, 1.0])
async def silent_functions_send_nothing(dut: Any, stall: float) -> None:
    """Functions fall silent and speak again at any moment. A post of one that was silent all the time is taken, even if
    the link takes nothing, and gone; one of a function that never was is one TLP; others are one, whole, or none."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    rng = random.Random(7)
    monitor = RqMonitor(PcieStream(dut, "m_rq", "RQ", int(dut.DATA_W.value)), min(stall, 0.9))
    dut.rst.value, dut.s_post_valid.value, dut.m_rq_ready.value, dut.silent.value = 1, 0, 0, 0
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    silent, before = 0, [0, 0]  # now; in the two cycles before
    fate: list[tuple[tuple[int, int, list[int]], set[int]]] = []  # posts, and whether their functions were silent
    offered: tuple[tuple[int, int, list[int]], int] | None = None
    waited = 0
    for step in range(6000):
        await RisingEdge(dut.clk)
        if offered:
            fate[-1][1].update(s >> offered[1] & 1 for s in (silent, *before))
            waited += 1
            if int(dut.s_post_ready.value):
                offered = None
                dut.s_post_valid.value = 0
        assert stall < 1 or waited < 20 or not fate[-1][1] == {1}, "a post of a silent function waits for the link"
        before = [silent, before[0]]
        if stall < 1 or step > 5000:
            monitor.tick(rng)
        if step > 5900:
            continue
        if rng.random() < 0.1:
            silent ^= 1 << rng.randrange(NUM_FN)
        dut.silent.value = silent
        if offered is None and rng.random() < 0.5:
            place, size = rng.randrange(NUM_FN), rng.randint(1, MOST)
            post = number(place), step << 2, [rng.getrandbits(32) for _ in range(size)]
            offered, waited = (post, place), 0
            fate.append((post, {s >> place & 1 for s in (silent, *before)}))
            dut.s_post_valid.value = 1
            words = sum(v << 32 * i for i, v in enumerate(post[2]))
            dut.s_post.value = POST.pack(fn=post[0], addr=post[1], dwords=size, data=words)
    sent = [(t.fn, t.addr, t.payload) for t in monitor.tlps]
    for post, was in fate:
        if sent and sent[0] == post:
            assert was != {1}, f"sent though silent: {post}"
            sent.pop(0)
        else:
            assert was != {0} or (stall == 1 and not sent), f"lost: {post}"
    assert not sent, "sent twice, out of order or in pieces"
    assert stall == 1 or sum(was == {1} for _, was in fate) > 100 < sum(was == {0} for _, was in fate)


@pytest.mark.parametrize("width", bench.WIDTHS)
def test_db_pcie_post(width: int) -> None:
    bench.run(__file__, "db_pcie_post", {"DATA_W": width}, env={"COCOTB_LOG_LEVEL": os.environ.get("LOG", "WARNING")})


@pytest.mark.parametrize("width", bench.WIDTHS)
def test_db_pcie_post_functions(width: int) -> None:
    values = {"DATA_W": width, "NUM_FN": 3}
    bench.run(__file__, "db_pcie_post", values, env={"NUM_FN": "3"})
