# SPDX-License-Identifier: Apache-2.0
"""db_ssd_stats: each counter counts the cycles of its own cause, from reset on."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from structs import layout


@cocotb.test()
async def counts_cycles(dut: Any) -> None:
    num = layout("db_ssd_stat_pkg", "stall_t").width
    rng = random.Random(num)
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    for _ in range(2):
        want = [0] * num
        seen = want  # the counters are a cycle behind
        dut.rst.value, dut.stall.value = 1, (1 << num) - 1
        await FallingEdge(dut.clk)
        await FallingEdge(dut.clk)
        dut.rst.value = 0
        for _ in range(300):
            now = rng.getrandbits(num) & rng.getrandbits(num)
            dut.stall.value = now
            await FallingEdge(dut.clk)
            seen, want = want, [w + (now >> i & 1) for i, w in enumerate(want)]
            count = int(dut.count.value)
            assert [count >> 32 * i & 0xFFFFFFFF for i in range(num)] == seen


@cocotb.test()
async def counters_begin_anew(dut: Any) -> None:
    """After 2^32 cycles of its cause, 17 s, each counter goes on at 0, and no other one notices."""
    num = layout("db_ssd_stat_pkg", "stall_t").width
    rng = random.Random(num)
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    dut.rst.value, dut.stall.value = 1, 0
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    want = [(1 << 32) - rng.randint(1, 100) for _ in range(num)]
    dut.i_stats.count.value = sum(w << 32 * i for i, w in enumerate(want))
    for _ in range(400):
        now = rng.getrandbits(num)
        dut.stall.value = now
        await FallingEdge(dut.clk)
        want = [(w + (now >> i & 1)) % (1 << 32) for i, w in enumerate(want)]
    dut.stall.value = 0
    await FallingEdge(dut.clk)
    count = int(dut.count.value)
    assert [count >> 32 * i & 0xFFFFFFFF for i in range(num)] == want
    assert max(want) < 400, "all have begun anew"


def test_db_ssd_stats() -> None:
    bench.run(__file__, "ssd_stats_tb", extra_sources=("tests/rtl/tb/ssd_stats_tb.sv",), inside=("db_ssd_stats",))
