# SPDX-License-Identifier: Apache-2.0
"""Counters among the registers of db_host: completions, Aborts, resets, completions that are none. They wrap."""

from __future__ import annotations

import sys
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

COUNTERS = {"cqe": (0x60, 32), "aborts": (0x64, 16), "resets": (0x68, 16), "bad": (0x6C, 32)}  # address, bits


@cocotb.test()
async def counters_begin_anew(dut: Any) -> None:
    """Behind its greatest value each goes on at 0, and no other one notices."""
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())

    async def ticks(count: int = 1) -> None:
        for _ in range(count):
            await FallingEdge(dut.clk)

    async def values() -> dict[str, int]:
        found = {}
        for name, (address, _) in COUNTERS.items():
            dut.s_axil_arvalid.value, dut.s_axil_araddr.value = 1, address
            while not int(dut.s_axil_arready.value):
                await ticks()
            await ticks()
            dut.s_axil_arvalid.value = 0
            while not int(dut.s_axil_rvalid.value):
                await ticks()
            found[name] = int(dut.s_axil_rdata.value)
            await ticks()
        return found

    for name in (*COUNTERS, "preset", "s_axil_arvalid", "s_axil_araddr"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    await ticks(3)
    dut.rst.value = 0
    assert await values() == dict.fromkeys(COUNTERS, 0)
    dut.preset.value = 1
    await ticks()
    dut.preset.value = 0
    want = {name: (1 << bits) - 2 for name, (_, bits) in COUNTERS.items()}
    assert await values() == want
    for pulses in (1, 1, 5):
        for name, (_, bits) in COUNTERS.items():
            getattr(dut, name).value = 1
            await ticks(pulses)
            getattr(dut, name).value = 0
            want[name] = (want[name] + pulses) % (1 << bits)
            assert await values() == want
    assert set(want.values()) == {5}


def test_db_host_counters() -> None:
    sys.path.insert(0, str(bench.ROOT / "python"))
    from doorbell import build

    generated = build.regs() / "rtl"
    files = ("tests/rtl/tb/host_counters_tb.sv", generated / "db_host_regs_pkg.sv", generated / "db_host_regs.sv")
    bench.run(__file__, "host_counters_tb", extra_sources=files)
