# SPDX-License-Identifier: Apache-2.0
"""db_rec_timebase against division, and its latency of 2 k + 2 cycles."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from rtl_bench import rare, run


@cocotb.test()
async def microseconds(dut: Any) -> None:
    mhz, rng = int(os.environ["CLK_MHZ"]), random.Random(1)
    edges = [(mhz << k) + more for k in range(33) for more in (-1, 0, 1)]
    values = [0, 1, (1 << 32) - 1, *edges, *(rng.getrandbits(rng.randint(1, 32)) for _ in range(400))]
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    dut.start.value, dut.rst.value = 0, 1
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    assert dut.done.value == 1
    for cycles in (v for v in values if 0 <= v < 1 << 32):
        if rng.random() < 0.2:  # the value before is given up
            dut.start.value, dut.cycles.value = 1, rng.getrandbits(32)
            await FallingEdge(dut.clk)
            dut.start.value = 0
            for _ in range(rng.randrange(12)):
                await FallingEdge(dut.clk)
        dut.start.value, dut.cycles.value = 1, cycles
        await FallingEdge(dut.clk)
        dut.start.value = 0
        us = cycles // mhz
        bucket = us.bit_length() % 32  # 32 is 1 MHz and more than half an hour
        for _ in range(2 * us.bit_length() + 1):
            assert dut.done.value == 0, f"{cycles} cycles"
            await FallingEdge(dut.clk)
        for _ in range(rng.randint(1, 3)):  # results stay
            assert (dut.done.value, int(dut.us.value), int(dut.bucket.value)) == (1, us, bucket), f"{cycles} cycles"
            await FallingEdge(dut.clk)


@pytest.mark.parametrize("mhz", [250, rare(1), 1023])
def test_db_rec_timebase(mhz: int) -> None:
    run(__file__, "db_rec_timebase", {"CLK_MHZ": mhz}, env={"CLK_MHZ": str(mhz)})
