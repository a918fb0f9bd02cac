# SPDX-License-Identifier: Apache-2.0
"""db_ssd_fetch_gate: entries are fetched while firmware and host allow it, and no more after one could not be read;
with several functions that is the fatal status of one of them, and no other has it or waits."""

from __future__ import annotations

import itertools
import os
import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from functions import number, place_of
from structs import layout

CONTROL = layout("db_ssd_pkg", "control_t")
CSTS = layout("db_ssd_pkg", "csts_t")


NUM_FN = int(os.environ.get("NUM_FN", "1"))


@cocotb.test(skip=NUM_FN > 1)
async def allowed_by_all_and_fatal_until_reset(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    dut.control.value = dut.bus_master.value = dut.s_fetch_err.value = dut.s_csts.value = 0
    dut.s_fetch_err_fn.value = 0
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


@cocotb.test(skip=NUM_FN == 1)
async def one_functions_fault_is_its_own(dut: Any) -> None:
    """Entries that cannot be read, at random, of functions that there are and of others: CSTS.CFS of that function
    until it is off, or all are reset; fetching goes on as the firmware says. What a stop cuts off is no error."""
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    rng = random.Random(1)
    dut.control.value = dut.s_fetch_err.value = dut.s_fetch_err_fn.value = dut.s_csts.value = 0
    fatal = [False] * NUM_FN
    seen = set()
    for step in range(3000):
        rst = int(step < 2 or rng.random() < 0.01)
        run, stop = int(rng.random() < 0.8), int(rng.random() < 0.1)
        off = sum(1 << p for p in range(NUM_FN) if rng.random() < 0.08)
        err = int(rng.random() < 0.3)
        fn = rng.choice([*(number(p) for p in range(NUM_FN)), 1, 3, number(NUM_FN), 255])
        csts = [{"rdy": rng.getrandbits(1), "cfs": int(rng.random() < 0.1), "shst": rng.randrange(3),
                 "nssro": rng.getrandbits(1)} for _ in range(NUM_FN)]  # fmt: skip
        dut.rst.value, dut.s_fetch_err.value, dut.s_fetch_err_fn.value = rst, err, fn
        dut.control.value = CONTROL.pack(run=run, stop=stop, off=off)
        dut.bus_master.value = rng.getrandbits(NUM_FN)
        dut.s_csts.value = sum(CSTS.pack(c) << CSTS.width * p for p, c in enumerate(csts))
        await FallingEdge(dut.clk)
        place = place_of(fn, NUM_FN)
        if err and not stop and place is not None:
            fatal[place] = True
        fatal = [f and not rst and not off >> p & 1 for p, f in enumerate(fatal)]
        seen.add(sum(fatal))
        assert dut.run.value == int(run and not stop), "somebody is held up"
        got = int(dut.m_csts.value)
        for p, c in enumerate(csts):
            want = {**c, "cfs": int(c["cfs"] or fatal[p])}
            assert CSTS.unpack(got >> CSTS.width * p & (1 << CSTS.width) - 1) == want, f"step {step}: place {p}"
    assert {0, 1, 2} <= seen


@pytest.mark.parametrize("num_fn", [1, 3, bench.rare(17)])
def test_db_ssd_fetch_gate(num_fn: int) -> None:
    bench.run(__file__, "db_ssd_fetch_gate", {"NUM_FN": num_fn}, env={"NUM_FN": str(num_fn)})
