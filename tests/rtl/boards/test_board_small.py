# SPDX-License-Identifier: Apache-2.0
"""db_board_intx against the rules of PG213 for legacy interrupts; db_board_time against the simulator's own time."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from cocotb.utils import get_sim_time


@cocotb.test()
async def messages_follow_the_level_one_at_a_time(dut: Any) -> None:
    rng = random.Random(5)
    dut.level.value, dut.cfg_interrupt_sent.value, dut.rst.value = 0, 0, 1
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    asserted, waits, messages = 0, 0, 0
    for cycle in range(4000):
        await FallingEdge(dut.clk)
        now = int(dut.cfg_interrupt_int.value)
        assert now in (0, 1) and int(dut.cfg_interrupt_pending.value) == int(dut.level.value)
        if now != asserted:
            assert not waits, "an edge while the message of the last one is under way"
            asserted, waits, messages = now, rng.randint(1, 12), messages + 1
        dut.cfg_interrupt_sent.value = int(waits == 1)
        waits -= waits > 0
        if rng.random() < 0.1 and cycle < 3900:
            dut.level.value = 1 - int(dut.level.value)
    assert asserted == int(dut.level.value) and messages > 100


@cocotb.test()
async def microseconds(dut: Any) -> None:
    dut.rst.value = 1  # of the link: time goes on
    first, begun = int(dut.time_us.value), get_sim_time("ns")
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    for _ in range(20_000):
        await RisingEdge(dut.clk)
    passed = (get_sim_time("ns") - begun) / 1000
    assert abs(int(dut.time_us.value) - first - passed) <= 1


def test_board_small() -> None:
    bench.run(__file__, "tb_board_small", extra_sources=("tests/rtl/tb/tb_board_small.sv",))
