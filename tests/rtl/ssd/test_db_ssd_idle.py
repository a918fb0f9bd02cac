# SPDX-License-Identifier: Apache-2.0
"""db_ssd_idle: any busy flag keeps the controller from being idle for 30 cycles; quiet wants all blocks quiet."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadWrite
from structs import layout

BUSY = layout("db_ssd_stat_pkg", "busy_t")
QUIET = layout("db_ssd_stat_pkg", "quiet_t")
CALM = 30


async def start(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    dut.busy.value = 0
    dut.blocks_quiet.value = 0
    dut.coalesce_wake_us.value = dut.fw_wake_us.value = (1 << 64) - 1
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0


@cocotb.test()
async def every_flag_counts(dut: Any) -> None:
    await start(dut)
    for bit in range(BUSY.width):
        for _ in range(CALM + 4):
            await FallingEdge(dut.clk)
        assert dut.idle.value == 1, f"bit {bit}"
        dut.busy.value = 1 << bit
        await FallingEdge(dut.clk)
        assert dut.idle.value == 0
        dut.busy.value = 0
        cycles = 0
        while dut.idle.value == 0:
            await FallingEdge(dut.clk)
            cycles += 1
        assert cycles == CALM + 1, f"bit {bit}: idle after {cycles} cycles"


@cocotb.test()
async def host_and_processor_are_seen_at_once(dut: Any) -> None:
    await start(dut)
    for _ in range(CALM + 4):
        await FallingEdge(dut.clk)
    for name in ("link_request", "cpu"):
        dut.busy.value = BUSY.pack({name: 1})
        await ReadWrite()
        assert dut.idle.value == 0, name
        dut.busy.value = 0
        await ReadWrite()
        assert dut.idle.value == 1


@cocotb.test()
async def quiet_wants_all(dut: Any) -> None:
    await start(dut)
    for value in range(1 << QUIET.width):
        dut.blocks_quiet.value = value
        await FallingEdge(dut.clk)
        assert dut.quiet.value == int(value == (1 << QUIET.width) - 1)


@cocotb.test()
async def the_earlier_wake_counts(dut: Any) -> None:
    await start(dut)
    rng = random.Random(1)
    for _ in range(50):
        times = [rng.choice((rng.getrandbits(64), (1 << 64) - 1, 0)) for _ in range(2)]
        dut.coalesce_wake_us.value, dut.fw_wake_us.value = times
        await FallingEdge(dut.clk)
        assert int(dut.wake_us.value) == min(times)


def test_db_ssd_idle() -> None:
    bench.run(__file__, "db_ssd_idle")
