# SPDX-License-Identifier: Apache-2.0
"""db_csd_near_slot: an operator that is exchanged while the clock of what rests is gated is reset all the same."""

from __future__ import annotations

from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.triggers import RisingEdge
from doorbell.compute.near import Grep
from streams import start
from structs import constant
from test_db_csd_near_grep import Bench

GREP, NOTHING = constant("db_csd_near_pkg", "NEAR_GREP"), 0
CELLS = 8
RESTS = 200  # cycles behind which no clock of a slot has an edge


@cocotb.test()
async def what_is_taken_out_leaves_nothing(dut: Any) -> None:
    """A result that nobody has taken is inside when the slot is no more in use: behind an exchange it is gone."""
    await start(dut, s_param_valid=0, s_param=0, s_row_valid=0, m_word_ready=0, operator=GREP, in_use=1)
    b = Bench(dut, 1)
    program = Grep((b"ab" * 20,), where=True)
    await b.load(program)
    text = b"x" * b.row + b"ab" * b.row + b"\n"
    for rests in (0, RESTS):
        b.words.stall = 1.0
        b.put(text)
        for _ in range(60):
            await b.step()
        assert int(dut.m_word_valid.value)
        dut.in_use.value = 0
        for _ in range(20 + rests):
            await b.step()
        for operator in (NOTHING, GREP):
            dut.operator.value = operator
            await RisingEdge(dut.clk)
            b.words.held = None  # it is taken back
            for _ in range(4):
                await b.step()
        dut.in_use.value = 1
        b.words.stall = 0.0
        b.got.clear()
        await b.load(program)
        b.put(text)
        await b.drain(1)
        assert b.got == [program.result(text)], f"after {rests} cycles without a clock"


def test_db_csd_near_slot() -> None:
    bench.run(__file__, "db_csd_near_slot", {"DATA_W": 128, "CELLS": CELLS, "OPERATOR": 15})
