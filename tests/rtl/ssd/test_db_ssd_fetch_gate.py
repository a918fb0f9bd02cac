# SPDX-License-Identifier: Apache-2.0
"""db_ssd_fetch_gate: entries are fetched while firmware and host allow it, and no more after one could not be read."""

from __future__ import annotations

import itertools
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from structs import layout

CONTROL = layout("db_ssd_pkg", "control_t")
CSTS = layout("db_ssd_pkg", "csts_t")


@cocotb.test()
async def allowed_by_all_and_fatal_until_reset(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    dut.control.value = dut.bus_master.value = dut.s_fetch_err.value = dut.s_csts.value = 0
    for fatal, control, may in itertools.product((0, 1), (0, 1), (0, 1)):
        dut.rst.value = 1
        await FallingEdge(dut.clk)
        await FallingEdge(dut.clk)
        dut.rst.value = 0
        dut.s_fetch_err.value, dut.control.value, dut.bus_master.value = fatal, CONTROL.pack(stop=control), may
        await FallingEdge(dut.clk)
        dut.s_fetch_err.value = 0
        error = fatal and may and not control  # what a stop or a reset of the function cuts off is none
        for run, stop, master, cfs in itertools.product((0, 1), repeat=4):
            dut.control.value = CONTROL.pack(run=run, stop=stop)
            dut.bus_master.value = master
            dut.s_csts.value = CSTS.pack(rdy=run, cfs=cfs, shst=2 * stop, nssro=master)
            await FallingEdge(dut.clk)
            assert dut.run.value == int(run and not stop and master and not error)
            csts = {"rdy": run, "cfs": int(cfs or error), "shst": 2 * stop, "nssro": master}
            assert CSTS.unpack(int(dut.m_csts.value)) == csts


def test_db_ssd_fetch_gate() -> None:
    bench.run(__file__, "db_ssd_fetch_gate")
