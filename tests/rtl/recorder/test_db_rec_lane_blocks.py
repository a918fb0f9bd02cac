# SPDX-License-Identifier: Apache-2.0
"""db_rec_lane_blocks alone: blocks that begin as a reset of their drive begins, is counted and ends; sizes of drives.
All else is tested in the recorder (test_db_recorder_capture.py)."""

from __future__ import annotations

import os
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from structs import layout

HOST, CHUNK = layout("db_rec_pkg", "host_state_t"), layout("db_rec_pkg", "chunk_t")
TOTAL = int(os.environ.get("REC_TOTAL", "0"))


async def start(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    for name in ("flush", "host", "load", "chunk", "take", "take_lost", "done_valid", "done_blocks", "lost_ack"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0


@cocotb.test()
async def every_block_of_a_reset_is_counted(dut: Any) -> None:
    """Two blocks are on their way when a reset begins, and one that has begun gets its first row in any cycle before,
    in or after it, also in that in which the number of the others is taken. Those up to the reset's end are lost, each
    is counted once and with its number; a later one is not.
    """
    await start(dut)
    lasts = 16
    for delay in (1, 2, 4):  # cycles from lost to its acknowledgement
        for at in range(-3, lasts + 4):
            dut.load.value, dut.chunk.value = 1, CHUNK.pack(first=100, stop=200)
            await FallingEdge(dut.clk)
            dut.load.value = 0
            lost: list[int] = []
            seen = 0
            for cycle in range(-6, lasts + 20):
                dut.flush.value = int(0 <= cycle < lasts)
                dut.take.value = int(cycle in (-6, -5, at))
                seen = seen + 1 if int(dut.lost.value) else 0
                dut.lost_ack.value = ack = int(seen == delay + 1)
                if ack:
                    next_ = int(dut.next.value)
                    lost += range(next_ - int(dut.lost_blocks.value), next_)
                await FallingEdge(dut.clk)
            assert lost == [100, 101, 102][: 3 if at < lasts else 2], f"take in cycle {at}, {delay}"
            assert int(dut.out_blocks.value) == int(at >= lasts) and not int(dut.hold.value)
            dut.done_valid.value, dut.done_blocks.value = int(at >= lasts), 1
            await FallingEdge(dut.clk)
            dut.done_valid.value = 0


@cocotb.test()
async def the_size_of_a_large_drive(dut: Any) -> None:
    """In blocks of 4 KiB, of all block sizes; what takes more than 32 bits is FFFFFFFFh; or what the parameter says."""
    await start(dut)
    for shift in (9, 10, 11, 12):
        for ours in (1, 1 << 31, (1 << 32) - 2, (1 << 32) - 1, 1 << 32, 3 << 31, 1 << 33, 5 << 32, 1 << 36, 1 << 60):
            for more in (0, 1, (1 << 12 - shift) - 1):  # blocks of the drive that are not one of ours
                blocks = (ours << 12 - shift) + (more if shift < 12 else 0)
                dut.host.value = HOST.pack(blocks=blocks, lba_shift=shift)
                for _ in range(4):
                    await FallingEdge(dut.clk)
                want = TOTAL or min(ours, 0xFFFFFFFF)
                assert int(dut.total.value) == want, f"{blocks:#x} blocks of {1 << shift}"


@pytest.mark.parametrize("total", [0, 5000])
def test_db_rec_lane_blocks(total: int) -> None:
    bench.run(__file__, "db_rec_lane_blocks", {"TOTAL_BLOCKS": total}, env={"REC_TOTAL": str(total)})
