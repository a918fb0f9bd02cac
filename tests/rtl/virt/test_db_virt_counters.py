# SPDX-License-Identifier: Apache-2.0
"""db_virt_counters: what SSDs did, all at once, and behind 2^32 - 1."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

NUM_SSD = 8
END = 1 << 32


@cocotb.test()
async def counters_begin_anew(dut: Any) -> None:
    rng = random.Random(1)
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    dut.rst.value, dut.foreign.value, dut.retried.value = 1, 1, (1 << NUM_SSD) - 1
    for _ in range(2):
        await FallingEdge(dut.clk)
    assert int(dut.num_foreign.value) == int(dut.num_retried.value) == 0
    dut.rst.value = 0
    counts = [END - 20, END - 100]
    dut.num_foreign_q.value, dut.num_retried_q.value = counts
    for _ in range(200):
        foreign, retried = rng.randrange(2), rng.randrange(1 << NUM_SSD)
        dut.foreign.value, dut.retried.value = foreign, retried
        await FallingEdge(dut.clk)
        counts = [counts[0] + foreign, counts[1] + retried.bit_count()]
        assert [int(dut.num_foreign.value), int(dut.num_retried.value)] == [c % END for c in counts]
    assert min(counts) > END, "both began anew"


def test_db_virt_counters() -> None:
    bench.run(__file__, "db_virt_counters", {"NUM_SSD": NUM_SSD})
