# SPDX-License-Identifier: Apache-2.0
"""db_axi_cutter: a stretch comes back as the bursts that it must be, the first a cycle later, then one every other."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from axi_model import stretches
from cocotb.triggers import FallingEdge, RisingEdge
from streams import Source, start

BURST = int(os.environ.get("BURST_BYTES", "0"))


async def cut(dut: Any, count: int, pause: float) -> list[int]:
    """Cuts `count` random stretches; returns the cycles in which bursts were used."""
    rng = random.Random(count)
    source = Source(dut, rng, "s", ("addr", "bytes", "pages"))
    await start(dut, m_next=0)
    source.stall = pause
    want: list[tuple[int, int, int]] = []
    for _ in range(count):
        addr = 512 * rng.randrange(1 << 20)
        size = 512 * rng.choice((1, 2, rng.randint(1, 8), rng.randint(1, 64)))
        pages = rng.random() < 0.3
        if pages:
            addr, size = addr & ~0xFFF, 4096 * rng.randint(1, 9)
        source.queue.append((addr, size, int(pages)))
        bursts = stretches(addr, size, 4096 if pages else BURST, 1)
        want += [(a, n, int(i == len(bursts) - 1)) for i, (a, n) in enumerate(bursts)]
    used: list[int] = []
    taken = False  # a stretch, at the edge before
    for cycle in range(1, 100_000):
        await FallingEdge(dut.clk)
        assert not taken or int(dut.m_valid.value), "latency"
        go = int(dut.m_valid.value) and cycle - 1 not in used[-1:] and rng.random() >= pause
        if go:
            got = (512 * int(dut.m_addr.value), 512 * int(dut.m_blocks.value), int(dut.m_last.value))
            assert got == want.pop(0)
            used.append(cycle)
        dut.m_next.value = int(go)
        await RisingEdge(dut.clk)
        taken = source.step() is not None
        if not want:
            return used
    raise AssertionError("hangs")


@cocotb.test()
async def random_stretches(dut: Any) -> None:
    await cut(dut, 300, 0.4)


@cocotb.test()
async def a_burst_every_other_cycle(dut: Any) -> None:
    """Also from stretch to stretch."""
    used = await cut(dut, 100, 0.0)
    assert used[-1] - used[0] == 2 * (len(used) - 1)


@pytest.mark.parametrize("burst", [bench.rare(512), 4096])
def test_db_axi_cutter(burst: int) -> None:
    bench.run(__file__, "db_axi_cutter", {"BURST_BYTES": burst}, env={"BURST_BYTES": str(burst)})
