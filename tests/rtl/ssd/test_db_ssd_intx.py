# SPDX-License-Identifier: Apache-2.0
"""db_ssd_intx: INTA is asserted while there are entries, and nothing forbids it."""

from __future__ import annotations

import itertools
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from structs import layout

LINK_CFG = layout("db_ssd_pkg", "link_cfg_t")


@cocotb.test()
async def every_condition(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    dut.rst.value = dut.any_entries.value = 1
    dut.link_cfg.value = dut.masked.value = 0
    for _ in range(2):
        await FallingEdge(dut.clk)
        assert dut.intx.value == 0
    dut.rst.value = 0
    for entries, msix, disabled, masked in itertools.product((0, 1), repeat=4):
        dut.any_entries.value, dut.masked.value = entries, masked
        dut.link_cfg.value = LINK_CFG.pack(msix_enable=msix, intx_disable=disabled, bus_master=1)
        await FallingEdge(dut.clk)
        assert dut.intx.value == int(entries and not (msix or disabled or masked))


def test_db_ssd_intx() -> None:
    bench.run(__file__, "db_ssd_intx")
