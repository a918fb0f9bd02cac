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
LANE, DRIVE, EVENT = (layout("db_rec_pkg", name) for name in ("lane_state_t", "drive_state_t", "event_t"))
AT_END = 2  # cycles from a block's begin until its lane says that there is no place for another one


async def run(
    dut: Any, rng: random.Random, blocks: int, down: float, rows: tuple[int, ...], gaps: float, burst: int = 0
) -> None:
    """Of a stream without an end each drive gets `blocks`, in turn, and nothing else is taken; those that are lost, and
    no others, are said to be. burst: rows that come one after the other, between pauses."""
    counts, ends, begun = [0] * N, [0] * N, []
    lost: list[tuple[int, int]] = []  # drive, block
    said: list[tuple[int, int]] = []
    left, cycle, idle, pause, in_burst = 0, 0, 0, 0, 0
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    while idle < 40:
        places = [not ends[i] or cycle < ends[i] for i in range(N)]
        dut.run.value = sum(p << i for i, p in enumerate(places))
        dut.drives.value = sum(DRIVE.pack(up=int(rng.random() >= down)) << DRIVE.width * i for i in range(N))
        left = left or rng.choice(rows)
        pause -= bool(pause)
        dut.s_axis_tvalid.value = valid = int(not pause and rng.random() >= gaps)
        dut.s_axis_tlast.value = int(left == 1)
        dut.m_event_ready.value = event_ready = int(rng.random() < 0.3)
        dut.lanes.value = sum(LANE.pack(room=1, next=counts[i]) << LANE.width * i for i in range(N))
        taken = valid and int(dut.s_axis_tready.value)
        if event_ready and int(dut.m_event_valid.value):
            event = EVENT.unpack(int(dut.m_event.value))
            if not event["malformed"]:
                said.append((event["drive"], event["block"]))
        take = int(dut.take.value)
        for i in range(N):
            if take >> i & 1:
                begun.append(i)
                if int(dut.take_lost.value):
                    lost.append((i, counts[i]))
                counts[i] += 1
                assert counts[i] <= blocks, f"drive {i}: one more than there is place for"
                ends[i] = cycle + AT_END if counts[i] == blocks else 0
        await FallingEdge(dut.clk)
        left -= taken
        in_burst += taken
        if burst and in_burst == burst:
            in_burst, pause = 0, 15
        idle = 0 if taken or any(places) else idle + 1
        cycle += 1
        assert cycle < 20_000, "hangs"
    assert begun == list(range(N)) * blocks
    assert len(lost) == down * N * blocks or 0 < down < 1
    assert said == lost


def start(dut: Any) -> tuple[random.Random, int]:
    """Also the rows of a whole block."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    for name in ("starting", "drop", "s_axis_tvalid", "s_axis_tdata", "s_axis_tlast", "run", "drives", "m_event_ready"):
        getattr(dut, name).value = 0
    return random.Random(N), 4096 * 8 // len(dut.s_axis_tdata)


@cocotb.test()
async def no_more_than_there_is_place_for(dut: Any) -> None:
    rng, whole = start(dut)
    for down, rows, gaps in ((1.0, (1,), 0.0), (1.0, (1,), 0.5), (1.0, (1, 2, 3, 7), 0.2), (0.0, (1, whole), 0.1),
                             (0.5, (1, 5, whole, whole + 3), 0.3)):  # fmt: skip
        for blocks in (1, 2, 5, 9):
            await run(dut, rng, blocks, down, rows, gaps)


@cocotb.test()
async def short_blocks_after_a_pause(dut: Any) -> None:
    """A block waits long for its first row, which is its last, and the next one comes right behind it: nothing was
    decided about that one before the lane had counted the first."""
    rng, whole = start(dut)
    for down, rows in ((1.0, (1,)), (1.0, (1, 2, 3)), (0.5, (1,)), (0.5, (1, 2, whole))):
        for burst in (2, 3, 5):
            for blocks in (1, 2, 7):
                await run(dut, rng, blocks, down, rows, 0.0, burst)


@pytest.mark.parametrize("n", [1, 3])
def test_db_rec_capture(n: int) -> None:
    bench.run(__file__, "db_rec_capture", {"N_DRIVES": n, "STREAM_W": 256}, env={"REC_N": str(n)})
