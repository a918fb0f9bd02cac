# SPDX-License-Identifier: Apache-2.0
"""db_rec_capture alone: blocks of any length go to the drives in turn, as many as each has place for, one row or many.
All else is tested in the recorder (test_db_recorder_capture.py)."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from structs import layout

N = int(os.environ.get("REC_N", "2"))
LANE, DRIVE = layout("db_rec_pkg", "lane_state_t"), layout("db_rec_pkg", "drive_state_t")
AT_END = 2  # cycles from a block's begin until its lane says that there is no place for another one


async def run(dut: Any, rng: random.Random, blocks: int, down: float, rows: tuple[int, ...], gaps: float) -> None:
    """Of a stream without an end each drive gets `blocks`, in turn, and nothing else is taken."""
    counts, ends, begun, lost = [0] * N, [0] * N, [], 0
    left, cycle, idle = 0, 0, 0
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    while idle < 40:
        places = [not ends[i] or cycle < ends[i] for i in range(N)]
        dut.run.value = sum(p << i for i, p in enumerate(places))
        dut.drives.value = sum(DRIVE.pack(up=int(rng.random() >= down)) << DRIVE.width * i for i in range(N))
        left = left or rng.choice(rows)
        dut.s_axis_tvalid.value = valid = int(rng.random() >= gaps)
        dut.s_axis_tlast.value = int(left == 1)
        dut.m_event_ready.value = int(rng.random() < 0.3)
        taken = valid and int(dut.s_axis_tready.value)
        take = int(dut.take.value)
        for i in range(N):
            if take >> i & 1:
                begun.append(i)
                lost += int(dut.take_lost.value)
                counts[i] += 1
                assert counts[i] <= blocks, f"drive {i}: one more than there is place for"
                ends[i] = cycle + AT_END if counts[i] == blocks else 0
        await FallingEdge(dut.clk)
        left -= taken
        idle = 0 if taken or any(places) else idle + 1
        cycle += 1
        assert cycle < 20_000, "hangs"
    assert begun == list(range(N)) * blocks
    assert lost == down * N * blocks or 0 < down < 1


@cocotb.test()
async def no_more_than_there_is_place_for(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    for name in ("starting", "drop", "s_axis_tvalid", "s_axis_tdata", "s_axis_tlast", "run", "drives", "m_event_ready"):
        getattr(dut, name).value = 0
    dut.lanes.value = sum(LANE.pack(room=1) << LANE.width * i for i in range(N))
    whole = 4096 * 8 // len(dut.s_axis_tdata)
    rng = random.Random(N)
    for down, rows, gaps in ((1.0, (1,), 0.0), (1.0, (1,), 0.5), (1.0, (1, 2, 3, 7), 0.2), (0.0, (1, whole), 0.1),
                             (0.5, (1, 5, whole, whole + 3), 0.3)):  # fmt: skip
        for blocks in (1, 2, 5, 9):
            await run(dut, rng, blocks, down, rows, gaps)


@pytest.mark.parametrize("n", [1, 3])
def test_db_rec_capture(n: int) -> None:
    bench.run(__file__, "db_rec_capture", {"N_DRIVES": n, "STREAM_W": 256}, env={"REC_N": str(n)})
