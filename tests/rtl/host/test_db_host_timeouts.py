# SPDX-License-Identifier: Apache-2.0
"""db_host_timeouts: late is late until it is done."""

from __future__ import annotations

from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from structs import enum

RUN = enum("db_host_pkg", "slot_state_e")["SLOTS_RUN"]


@cocotb.test()
async def late_stays(dut: Any) -> None:
    """Neither a time that begins anew after 2^32 cycles nor new commands make a late one be on time again."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    names = ("take", "again", "second", "retire", "is_done", "empty", "retire_slot", "retire_gen", "retire_qp",
             "s_cqe_valid", "age")  # fmt: skip
    for name in names:
        getattr(dut, name).value = 0
    dut.cmd_timeout.value = 1000
    dut.state.value = RUN
    dut.rst.value = 1

    async def late(cycles: int = 1, **inputs: int) -> int:
        """With these inputs for a cycle, and then as before."""
        for name, value in inputs.items():
            getattr(dut, name).value = value
        await RisingEdge(dut.clk)
        for name in inputs:
            getattr(dut, name).value = dut.age.value if name == "age" else 0
        for _ in range(cycles):
            await RisingEdge(dut.clk)
        return int(dut.m_late_valid.value)

    await late(3)
    dut.rst.value = 0
    for end in ({"is_done": 1}, {"retire": 1}, {"empty": 1}):
        dut.age.value = 1000
        assert await late(40) == 0
        assert await late(age=1001) == 1
        for age in (0xFFFFFFFF, 3, 999):
            dut.age.value = age
            assert await late(20) == 1, "its time has begun anew"
        assert await late(take=1) == 1 and await late(20, s_cqe_valid=1) == 1, "others come and go"
        assert await late(1, **end) == 0
    dut.age.value = 5000
    assert await late(5, retire=1) == 0, "the next one: not looked at yet"
    assert await late(20) == 1
    dut.is_done.value = 1
    assert await late(20) == 0
    assert await late(5, is_done=1, again=1) == 0, "tried again: its time begins anew"
    dut.second.value, dut.retire_slot.value, dut.retire_gen.value = 1, 3, 5
    assert await late(20) == 1 and int(dut.m_late.value) >> 4 == 1 << 12 | 5 << 8 | 3, "late, too: its own identifier"
    dut.cmd_timeout.value = 0
    assert await late(2) == 0, "never"
    dut.cmd_timeout.value = dut.age.value = 0xFFFFFFFF
    assert await late(40) == 0, "never, either"


def test_db_host_timeouts() -> None:
    bench.run(__file__, "db_host_timeouts", {"NUM_CMDS": 8})
