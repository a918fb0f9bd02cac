# SPDX-License-Identifier: Apache-2.0
"""db_csd_pass and db_csd_add against their models."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from csd_bench import assert_full_rate, command_rows, random_context, run_rows, start
from doorbell.compute.operators import Op, Operator
from doorbell.compute.operators.add import Add
from doorbell.compute.operators.passthrough import Passthrough


@cocotb.test()
async def data(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    width = len(dut.s_axis_tdata)
    adds = os.environ["ADDS"] == "1"
    rng = random.Random(width)
    for seed, (feed, drain) in enumerate(((0.7, 0.7), (1.0, 0.5), (1.0, 1.0))):
        await start(dut)
        rows, expected = [], []
        while len(rows) < 300:
            c = random_context(rng, (Op.PASS, Op.ADD, Op.ADD, Op.AES_XTS))
            plain = rng.randbytes(c.block)
            model: Operator = Add() if adds and c.op == Op.ADD else Passthrough()
            rows += command_rows(c, plain, width)
            expected += command_rows(c, model.apply(plain, c), width)
        out, went, came = await run_rows(dut, rows, feed, drain, seed)
        assert out == expected
    assert came[0] - went[0] == 1
    assert_full_rate(came)


@pytest.mark.parametrize("width", [128, 512])
@pytest.mark.parametrize("adds", [0, 1])
def test_add(width: int, adds: int) -> None:
    bench.run(__file__, "db_csd_add" if adds else "db_csd_pass", {"DATA_W": width}, env={"ADDS": str(adds)})
