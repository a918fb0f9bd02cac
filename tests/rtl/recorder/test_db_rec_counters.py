# SPDX-License-Identifier: Apache-2.0
"""db_rec_counters and the live counters of db_rec_regs, inside the recorder: what goes on at 0 after 2^32."""

from __future__ import annotations

from typing import Any

import cocotb
import rtl_bench as bench
from recorder_model import Bench

N, STREAM, DATA = 2, 256, 128
END = 1 << 32
BUCKETS, LOST_BLOCKS = 24, 0x60 // 4
PER = 8  # blocks of a drive
EARLY = 1  # which block of the stream ends too early


async def words(b: Bench, drive: int, first: int, count: int) -> list[int]:
    return [await b.read(0x1000 + 0x100 * drive + 4 * k) for k in range(first, first + count)]


@cocotb.test()
async def counters_begin_anew(dut: Any) -> None:
    """BlocksLost, malformed blocks and the buckets of latencies: each has the sum modulo 2^32, and no word beside it
    notices. Those of the stream are 0 when the next capture begins."""
    b = Bench(dut, N, DATA, STREAM, stall=0.1)
    await b.start()
    ram = dut.i_control.i_counters.i_ram.mem_q
    await b.write(0x40, 0)
    await b.write(0x44, PER)
    await b.write(0x04, 4)
    await b.until(0x50, 0xFF, 1, pause=10)
    for i in range(N):
        for k in (*range(BUCKETS), LOST_BLOCKS):
            ram[1 << 9 | i << 6 | k].value = END - 1
    dut.i_regs.lost_q.value = END - 1
    dut.i_regs.format_q.value = END - 1
    await b.wait(2)
    source = [b.block(k) for k in range(PER * N + 4)]
    beats = 4096 * 8 // STREAM
    for k, data in enumerate(source):
        b.feed(data[: STREAM // 8 * 5] if k == EARLY else data)
    before = len(b.accepted)
    while len(b.accepted) < before + 8 * beats:
        await b.wait(1)
    dut.data_drop_blocks.value = 1
    while len(b.accepted) < before + 9 * beats:
        await b.wait(1)
    dut.data_drop_blocks.value = 0
    for i in range(N):
        await b.until(0x108 + 0x100 * i, 0xC, 0x8, tries=1500)
    assert await b.read(0x10) == 1, "two blocks were dropped"
    assert await b.read(0x1808) == 0, "one was malformed"
    for i in range(N):
        *buckets, lost = await words(b, i, 0, BUCKETS + 1)
        counted = [(value + 1) % END for value in buckets]
        assert sum(counted) == PER and max(counted) > 0, counted
        assert lost == END - 1, "a malformed block is there"
    dut.i_regs.format_q.value = 7
    await b.write(0x04, 0)
    await b.write(0x04, 4)
    await b.until(0x50, 0xFF, 1, pause=10)
    assert await b.read(0x10) == await b.read(0x1808) == 0


def test_db_rec_counters() -> None:
    bench.run(
        __file__,
        "db_recorder_core",
        {"N_DRIVES": N, "STREAM_W": STREAM, "DATA_W": DATA, "RESET_US": 2},
        inside=("db_rec_regs", "db_ram_sdp"),
    )
