# SPDX-License-Identifier: Apache-2.0
"""db_rec_counters and the live counters of db_rec_regs, inside the recorder: what goes on at 0 after 2^32, and what
stays at its end."""

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
FIRST, LONG = 10, 20  # of a longer capture: where it begins, blocks of a drive
NUM_RUNS, RUN = 0x6C // 4, 0x80 // 4  # a run: its first block, its length with its reason
LONGEST, DOWN = (1 << 28) - 1, 1


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


async def capture_beside_one_that_is_down(dut: Any) -> tuple[Bench, Any]:
    """A capture whose drive 1 is down from its fourth block on, and has marked blocks; the words of all drives."""
    b = Bench(dut, N, DATA, STREAM)
    await b.start()
    await b.write(0x40, FIRST)
    await b.write(0x44, LONG)
    await b.write(0x04, 4)
    await b.until(0x50, 0xFF, 1, pause=10)
    for k in range(LONG * N):
        b.feed(b.block(k))
    await up_to(b, 3)
    b.drives[1].up = False
    await up_to(b, 6)
    await b.wait(200)
    return b, dut.i_control.i_counters.i_ram.mem_q


async def finished(b: Bench) -> None:
    """Both drives are up again for their last blocks."""
    await up_to(b, LONG - 2)
    b.drives[1].up = True
    for i in range(N):
        await b.until(0x108 + 0x100 * i, 0xC, 0x8, tries=1500)
    assert await words(b, 1, LOST_BLOCKS, 1) == [LONG - len(b.drives[1].mem)]


async def up_to(b: Bench, blocks: int) -> None:
    """Each drive's first blocks are in."""
    while len(b.accepted) < 4096 * 8 // STREAM * blocks * N + 5:
        await b.wait(1)


@cocotb.test()
async def a_run_of_marked_blocks_is_cut_at_its_longest(dut: Any) -> None:
    """A run has 28 bits, its reason those above: what does not fit begins another run, of the same reason."""
    b, ram = await capture_beside_one_that_is_down(dut)
    first, length = await words(b, 1, RUN, 2)
    assert (first, length >> 28) == (FIRST + 3, DOWN), "blocks that it has no more are marked"
    there = length & LONGEST
    assert 1 <= there < LONG - 8
    ram[1 << 9 | 1 << 6 | RUN + 1].value = DOWN << 28 | LONGEST - 2
    await finished(b)
    number, *_ = await words(b, 1, NUM_RUNS, 1)
    assert number == 2
    assert await words(b, 1, RUN, 4) == [
        FIRST + 3, DOWN << 28 | LONGEST, FIRST + 3 + there + 2, DOWN << 28 | LONG - len(b.drives[1].mem) - there - 2
    ]  # fmt: skip


@cocotb.test()
async def a_full_list_takes_no_part_of_a_run(dut: Any) -> None:
    """The list's last run at its longest: what does not fit is counted as one more, and changes none of the list."""
    b, ram = await capture_beside_one_that_is_down(dut)
    ram[1 << 9 | 1 << 6 | NUM_RUNS].value = 16
    ram[1 << 9 | 1 << 6 | RUN + 31].value = DOWN << 28 | LONGEST
    before = await words(b, 1, RUN, 32)
    await finished(b)
    assert await words(b, 1, NUM_RUNS, 1) == [17]
    assert await words(b, 1, RUN, 32) == before


@cocotb.test()
async def the_number_of_runs_stays_at_its_end(dut: Any) -> None:
    """Beginning at 0 again, it would say that nothing is marked, and the list would be written over."""
    b, ram = await capture_beside_one_that_is_down(dut)
    b.drives[1].up = True
    ram[1 << 9 | 1 << 6 | NUM_RUNS].value = END - 2
    before = await words(b, 1, RUN, 32)
    for k in range(8, 15, 2):
        await up_to(b, k)
        b.drives[1].up = k % 4 == 2
    await finished(b)
    assert await words(b, 1, NUM_RUNS, 1) == [END - 1]
    assert await words(b, 1, RUN, 32) == before


def test_db_rec_counters() -> None:
    bench.run(
        __file__,
        "db_recorder_core",
        {"N_DRIVES": N, "STREAM_W": STREAM, "DATA_W": DATA, "RESET_US": 2},
        inside=("db_rec_regs", "db_ram_sdp"),
    )
