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


def test_db_ssd_stats() -> None:
    bench.run(__file__, "db_ssd_stats")
