# SPDX-License-Identifier: Apache-2.0
"""db_recorder_core: the capture stream to the drives, against a model of the hosts' streams."""

from __future__ import annotations

import os
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from recorder_model import OP_FLUSH, OP_TRIM, OP_WRITE, Bench
from structs import layout

N = int(os.environ.get("REC_N", "2"))
STREAM = int(os.environ.get("REC_STREAM", "256"))
DATA = int(os.environ.get("REC_DATA", "128"))
JOIN = int(os.environ.get("REC_JOIN", "1"))
MHZ = 250
ALL = (1 << N) - 1


async def ready(dut: Any, **more: Any) -> Bench:
    b = Bench(dut, N, DATA, STREAM, **more)
    await b.start()
    return b


async def capture(b: Bench, start: int, size: int) -> None:
    await b.write(0x40, start)
    await b.write(0x44, size)
    await b.write(0x04, 4)


async def finished(b: Bench, drives: int = N) -> None:
    for i in range(drives):
        await b.until(0x108 + 0x100 * i, 0xC, 0x8, tries=1500)


def check(b: Bench, start: int, blocks: list[bytes], lost: frozenset[tuple[int, int]] = frozenset()) -> None:
    """Block k is drive k mod N's, at its block start + k div N; nothing else is written."""
    want: list[dict[int, bytes]] = [{} for _ in range(N)]
    for k, data in enumerate(blocks):
        if (k % N, start + k // N) not in lost:
            want[k % N][start + k // N] = data
    for i in range(N):
        assert b.drives[i].mem.keys() == want[i].keys(), f"drive {i}: {sorted(b.drives[i].mem)} {sorted(want[i])}"
        assert b.drives[i].mem == want[i], f"drive {i}"


async def runs(b: Bench, i: int) -> list[tuple[int, int, int]]:
    """The marked blocks of a drive: (first, number, why)."""
    base = 0x1000 + 0x100 * i
    found = []
    for k in range(min(16, await b.read(base + 4 * 0x1B))):
        first, why = await b.read(base + 0x80 + 8 * k), await b.read(base + 0x84 + 8 * k)
        found.append((first, why & 0xFFFFFFF, why >> 28))
    return found


@cocotb.test()
async def full_rate(dut: Any) -> None:
    """Hosts that are always ready: not one bubble, and each block reaches its host at once."""
    if STREAM > N * DATA:
        return
    b = await ready(dut)
    per = 6
    await b.write(0x1810, 0)
    await capture(b, 1000, per)
    blocks = [b.block(k) for k in range(per * N)]
    for data in blocks:
        b.feed(data)
    await finished(b)
    check(b, 1000, blocks)
    beats = 4096 * 8 // STREAM
    assert len(b.accepted) == beats * per * N
    assert b.accepted[-1] - b.accepted[0] == len(b.accepted) - 1, "bubbles"
    for i, x in enumerate(b.drives):
        rows = 4096 * 8 // DATA
        for k, (op, block, count, cycle) in enumerate(x.cmds):
            assert (op, count) == (OP_WRITE, 1) and block == 1000 + k
            first, last = b.accepted[beats * (k * N + i)], b.accepted[beats * (k * N + i + 1) - 1]
            # a block before it may still be on its way when the drives are just as fast as the stream
            assert cycle <= last + 6 and x.first_wdata[rows * k] <= last + 6
            if k == 0:
                up = max(DATA // STREAM, 1)
                assert x.first_wdata[0] - first == 4 + (up if up > 1 else 0), x.first_wdata[0] - first
                assert cycle - first == 5 + (up if up > 1 else 0), cycle - first
        if STREAM <= DATA and N == 1:
            assert x.first_wdata[-1] - b.accepted[-1] <= 6
    for i in range(N):
        assert await b.read(0x14C + 0x100 * i) == per
        assert await b.read(0x148 + 0x100 * i) == 0


@cocotb.test()
async def random_stalls(dut: Any) -> None:
    """Stalls everywhere, statuses late and some of them errors: the others' data is right, the bad ones are marked."""
    b = await ready(dut, stall=0.35, seed=3)
    b.gaps = 0.3
    bad = {(i, 67 + i + k) for i in range(N) for k in (0, 1, 4)}
    latencies: list[list[int]] = [[] for _ in range(N)]
    for i, x in enumerate(b.drives):
        x.lba_shift = (9, 12, 10, 11)[i % 4]
        x.blocks = 1000 << (12 - x.lba_shift)

        def latency(i: int = i) -> int:
            latencies[i].append(b.rng.choice((10, 249, 250, 1100, 4000, 9000)))
            return latencies[i][-1]

        def status(op: int, block: int, count: int, i: int = i) -> int:
            return 0x281 if any((i, k) in bad for k in range(block, block + count)) else 0

        x.latency, x.status_of = latency, status
    await b.wait(3)
    per = 10
    await capture(b, 66, per)
    blocks = [b.block(k) for k in range(per * N)]
    for data in blocks:
        b.feed(data)
    await finished(b)
    lost = set(bad)
    for i, x in enumerate(b.drives):
        for op, block, count, _ in x.cmds:
            assert op == OP_WRITE and count <= JOIN
            if any((i, k) in bad for k in range(block, block + count)):
                lost |= {(i, k) for k in range(block, block + count)}
    check(b, 66, blocks, frozenset(lost))
    for i in range(N):
        base = 0x100 * (i + 1)
        assert await b.read(base + 0x4C) == per
        assert await b.read(base + 0x48) == 0x281
        assert await b.read(base + 0x54) == max(latencies[i]) // MHZ
        mine = sorted(k for d, k in lost if d == i)
        assert await b.read(0x1000 + 0x100 * i + 0x60) == len(mine)
        listed = [k for first, number, why in await runs(b, i) for k in range(first, first + number)]
        assert listed == mine and all(why == 3 for _, _, why in await runs(b, i))
        hist = [await b.read(0x1000 + 0x100 * i + 4 * k) for k in range(24)]
        want = [0] * 24
        for (_, _, count, _), value in zip(b.drives[i].cmds, latencies[i], strict=True):
            want[(value // MHZ).bit_length()] += count
        assert hist == want
    us = await b.read(0x50)
    assert us == await b.read(0x150) and 0 < us <= b.cycle // MHZ


@cocotb.test()
async def drops(dut: Any) -> None:
    """dataDropBlocks: whole blocks, an even number, counted, and the stripe goes on as if they had never been."""
    b = await ready(dut, stall=0.1)
    per, extra = 8, 0
    await capture(b, 0, per)
    source = [b.block(k) for k in range(per * N + 12)]
    for data in source:
        b.feed(data)
    beats = 4096 * 8 // STREAM
    for at in (3, 8):
        while len(b.accepted) < at * beats + beats // 2:
            await b.wait(1)
        dut.data_drop_blocks.value = 1
        while len(b.accepted) < (at + 1) * beats + beats // 2:
            await b.wait(1)
        dut.data_drop_blocks.value = 0
        extra += 2
    await finished(b)
    lost = await b.read(0x10)
    assert lost == extra == await b.read(0x110)
    kept = [data for k, data in enumerate(source) if k not in (4, 5, 9, 10)][: per * N]
    check(b, 0, kept)


@cocotb.test()
async def malformed(dut: Any) -> None:
    """tlast early: zeros follow; late: the rest is passed over. Both counted and marked, the next block is whole."""
    b = await ready(dut, stall=0.2)
    await capture(b, 5, 4)
    good = [b.block(k) for k in range(4 * N)]
    step = STREAM // 8
    want = list(good)
    marks: list[list[tuple[int, int, int]]] = [[] for _ in range(N)]
    for k, data in enumerate(good):
        if k == 1:
            b.feed(data[: 5 * step])
            want[k] = data[: 5 * step] + bytes(4096 - 5 * step)
        elif k == 2:
            b.feed(data + b.block(99)[: 3 * step])
        else:
            b.feed(data)
        if k in (1, 2):
            marks[k % N].append((5 + k // N, 1, 2))
    await finished(b)
    check(b, 5, want)
    assert await b.read(0x1808) == 2
    if N > 1:
        for i in range(N):
            assert await runs(b, i) == marks[i]
    else:
        assert await runs(b, 0) == [(6, 2, 2)]
    for i in range(N):
        assert await b.read(0x1060 + 0x100 * i) == 0


@cocotb.test()
async def one_row_block(dut: Any) -> None:
    """tlast with a block's first row: the lane has not counted the block yet, and yet it is the one that is marked."""
    b = await ready(dut)
    await capture(b, 5, 3)
    blocks = [b.block(k) for k in range(3 * N)]
    step = STREAM // 8
    for k, data in enumerate(blocks):
        b.feed(data[:step] if k == N else data)
    blocks[N] = blocks[N][:step] + bytes(4096 - step)
    await finished(b)
    check(b, 5, blocks)
    assert await b.read(0x1808) == 1
    for i in range(N):
        assert await runs(b, i) == ([(6, 1, 2)] if i == 0 else [])


@cocotb.test()
async def stop_and_limit(dut: Any) -> None:
    """DataEnable low ends a capture between blocks; a chunk ends at the drive's end; what is off stays off."""
    b = await ready(dut)
    for x in b.drives:
        x.blocks = 8 * 20
    await b.wait(3)
    await capture(b, 18, 100)
    blocks = [b.block(k) for k in range(2 * N)]
    for data in blocks:
        b.feed(data)
    await finished(b)
    check(b, 18, blocks)
    assert await b.read(0x44) == 100 and await b.read(0x4C) == 2 and await b.read(0x0C) == 20
    for x in b.drives:
        x.mem.clear()
    await b.write(0x04, 0)
    await capture(b, 2, 10)
    await b.wait(600)
    assert int(dut.data_enabled_out.value) == 1
    few = [b.block(50 + k) for k in range(N + 1)]
    for data in few:
        b.feed(data)
    while b.source:
        await b.wait(1)
    await b.write(0x04, 0)
    await finished(b)
    assert int(dut.data_enabled_out.value) == 0
    check(b, 2, few)
    assert await b.read(0x14C) == 2
    b.feed(b.block(1))
    await b.wait(500)
    assert len(b.source) == 4096 * 8 // STREAM
    b.source.clear()


@cocotb.test()
async def what_is_in_the_buffer_is_recorded(dut: Any) -> None:
    """While the buffer in memory is not empty a capture goes on; DataEnable again meanwhile is of the next one."""
    b = await ready(dut)
    blocks = [b.block(k) for k in range(4 * N)]
    b.put("buffer", layout("db_rec_pkg", "buffer_state_t").pack(busy=1))
    for k, start in enumerate((30, 60)):
        await capture(b, start, 100)
        for data in blocks[N * k : N * (k + 1)]:
            b.feed(data)
        while b.source:
            await b.wait(1)
        assert int(dut.any_enable.value) == (k == 0)
        await b.write(0x04, 4 * k)
    b.put("buffer", 0)
    while not dut.any_enable.value:
        await b.wait(1)
    check(b, 30, blocks[: 2 * N])
    for x in b.drives:
        x.mem.clear()
    for data in blocks[2 * N :]:
        b.feed(data)
    while b.source:
        await b.wait(1)
    await b.write(0x04, 0)
    await finished(b)
    check(b, 60, blocks[2 * N :])


@cocotb.test()
async def one_drive_down(dut: Any) -> None:
    """A drive that is not up loses its blocks, marked; the others do not wait; up again, it takes part again."""
    if N == 1:
        return
    b = await ready(dut)
    await capture(b, 10, 12)
    blocks = [b.block(k) for k in range(12 * N)]
    beats = 4096 * 8 // STREAM
    for data in blocks:
        b.feed(data)
    while len(b.accepted) < beats * 3 * N + 5:
        await b.wait(1)
    b.drives[1].up = False
    while len(b.accepted) < beats * 7 * N + 5:
        await b.wait(1)
    b.drives[1].up = True
    await finished(b)
    lost = frozenset((1, 10 + k) for k in range(3, 7))
    check(b, 10, blocks, lost)
    assert await runs(b, 1) == [(13, 4, 1)] and await runs(b, 0) == []
    assert await b.read(0x1160) == 4 and await b.read(0x24C) == 12 and await b.read(0x14C) == 12


@cocotb.test()
async def one_drive_reset(dut: Any) -> None:
    """Reset of one drive in the middle of a capture: what was on its way is lost and marked, then it goes on."""
    if N == 1:
        return
    b = await ready(dut)
    for x in b.drives:
        x.latency = lambda: 400
    await capture(b, 0, 20)
    blocks = [b.block(k) for k in range(20 * N)]
    beats = 4096 * 8 // STREAM
    for data in blocks:
        b.feed(data)
    while len(b.accepted) < beats * 4 * N + beats // 2:
        await b.wait(1)
    await b.write(0x204, 5)
    b.drives[1].up = False
    await b.until(0x208, 1, 1)
    await b.until(0x208, 1, 0)
    b.drives[1].up = True
    await finished(b)
    listed = [k for first, number, _ in await runs(b, 1) for k in range(first, first + number)]
    assert len(listed) == len(set(listed)) == await b.read(0x1160) > 2
    kinds = {why for _, _, why in await runs(b, 1)}
    assert kinds <= {1, 4} and 4 in kinds
    # Blocks whose status had not come may be on the drive; none that is missing is unlisted.
    mem = b.drives[1].mem
    assert {k for k in range(20) if k not in mem} <= set(listed)
    assert all(mem[k] == blocks[k * N + 1] for k in mem)
    assert max(listed) < 19 and 19 in mem and await b.read(0x24C) == 20
    mem.update({k: blocks[k * N + 1] for k in range(20)})
    check(b, 0, blocks)


@cocotb.test()
async def trim_first(dut: Any) -> None:
    """TrimFirst: the whole chunk is trimmed, in pieces, before the first write."""
    b = await ready(dut)
    await b.write(0x1810, 1)
    await capture(b, 100, 10000)
    blocks = [b.block(k) for k in range(3 * N)]
    for data in blocks:
        b.feed(data)
    while b.source:
        await b.wait(1)
    await b.write(0x04, 0)
    await finished(b)
    check(b, 100, blocks)
    for x in b.drives:
        assert x.trimmed == [(100, 4096), (4196, 4096), (8292, 1808)]
        assert [c[0] for c in x.cmds] == [OP_TRIM] * 3 + [OP_WRITE] * 3


@cocotb.test()
async def enable_is_true_at_once(dut: Any) -> None:
    """Captures of one size in a loop, their end found by NumBlocks alone, which is asked for at once: from the access
    after DataEnable on nothing is the last capture's any more, and the peak latency is each capture's own.
    """
    b = await ready(dut)
    per = 4
    for turn, latency in enumerate((4000, 50, 900)):
        for x in b.drives:
            x.mem.clear()
            x.latency = lambda latency=latency: latency
        await capture(b, 8 * turn, per)
        for i in reversed(range(N)):
            base = 0x100 * (i + 1)
            assert await b.read(base + 0x4C) == 0, f"capture {turn}, drive {i}"
            assert await b.read(base + 8) & 0xC == 4, "DataEnabled, not Completed"
            assert await b.read(base + 0x50) < 5
            for address in (base + 0x54, base + 0x48, 0x1060 + 0x100 * i, 0x1010 + 0x100 * i):
                assert await b.read(address) == 0, f"capture {turn}, drive {i}, {address:#x}"
        blocks = [b.block(100 * turn + k) for k in range(per * N)]
        for data in blocks:
            b.feed(data)
        for i in range(N):
            await b.until(0x14C + 0x100 * i, 0xFFFFFFFF, per, tries=5000, pause=1)
            assert await b.read(0x154 + 0x100 * i) == latency // MHZ
        check(b, 8 * turn, blocks)
        await b.write(4, 0)
    # Stopped before it could begin: it has not recorded what the last one has.
    await finished(b)
    b.drives[0].up = False
    await capture(b, 0, per)
    await b.write(4, 0)
    assert await b.read(0x14C) == 0 and await b.read(0x108) & 0xC == 0
    b.drives[0].up = True


@cocotb.test()
async def complete_is_durable(dut: Any) -> None:
    """Completed comes after a Flush that comes after the status of the last block; one that fails is an error of the
    capture, and TimeUs does not count it.
    """
    b = await ready(dut)
    done: list[list[int]] = [[] for _ in range(N)]
    for turn, status in enumerate((0, 0x281)):
        for i, x in enumerate(b.drives):
            x.mem.clear()
            x.flushes.clear()

            def status_of(op: int, block: int, count: int, i: int = i, status: int = status) -> int:
                done[i].append(op)
                return status if op == OP_FLUSH else 0

            x.status_of = status_of
            x.flush_latency = 5000
        await capture(b, 0, 3)
        for k in range(3 * N):
            b.feed(b.block(k))
        for i in range(N):
            await b.until(0x14C + 0x100 * i, 0xFFFFFFFF, 3, tries=3000)
            if not b.drives[i].flushes or b.cycle < b.drives[i].flushes[0] + 4000:
                assert await b.read(0x108 + 0x100 * i) & 0xC == 4, "not complete before it is durable"
        await finished(b)
        for i, x in enumerate(b.drives):
            assert done[i][-1] == OP_FLUSH and done[i].count(OP_FLUSH) == turn + 1 and len(x.flushes) == 1
            assert x.flushes[0] > x.cmds[-1][3] and b.cycle > x.flushes[0] + 5000
            assert await b.read(0x148 + 0x100 * i) == status and await b.read(0x1060 + 0x100 * i) == 0
            assert await b.read(0x150 + 0x100 * i) < 5000 // MHZ
        await b.write(0x04, 0)


@cocotb.test()
async def chunk_is_as_at_enable(dut: Any) -> None:
    """What is written to DataChunkStart, DataChunkSize and TrimFirst after DataEnable is the next capture's: also while
    the drives are not up yet, while the chunk is trimmed, and while it is written.
    """
    b = await ready(dut)
    for x in b.drives:
        x.up = False
        x.latency = lambda: 300
    await b.write(0x1810, 1)
    await capture(b, 100, 9000)
    await b.write(0x40, 50_000)
    await b.write(0x44, 7)
    await b.wait(100)
    for x in b.drives:
        x.up = True
    await b.until(0x108, 4, 4)
    for k in range(40):
        await b.write(0x40, 20_000 + 5000 * k)
        await b.write(0x44, 9 + k)
        await b.write(0x1810, k % 2)
    blocks = [b.block(k) for k in range(12 * N)]
    for data in blocks:
        b.feed(data)
    while b.source:
        await b.write(0x40, 20_000)
    await b.write(0x04, 0)
    await finished(b)
    check(b, 100, blocks)
    for x in b.drives:
        assert x.trimmed == [(100, 4096), (4196, 4096), (8292, 808)]
    assert await b.read(0x40) == 20_000 and await b.read(0x44) == 48


@cocotb.test()
async def single_drives(dut: Any) -> None:
    """Through a drive's own registers: only that drive records, all blocks."""
    b = await ready(dut)
    i = N - 1
    base = 0x100 * (i + 1)
    await b.write(base + 0x40, 7)
    await b.write(base + 0x44, 3)
    await b.write(base + 4, 4)
    blocks = [b.block(k) for k in range(3)]
    for data in blocks:
        b.feed(data)
    await b.until(base + 8, 0xC, 8)
    assert b.drives[i].mem == {7 + k: data for k, data in enumerate(blocks)}
    assert all(not x.mem for k, x in enumerate(b.drives) if k != i)


@pytest.mark.parametrize(
    ("n", "stream", "data", "join"), [(2, 256, 128, 1), bench.rare(1, 128, 256, 4), bench.rare(4, 1024, 256, 2)]
)
def test_db_recorder_capture(n: int, stream: int, data: int, join: int) -> None:
    env = {"REC_N": str(n), "REC_STREAM": str(stream), "REC_DATA": str(data), "REC_JOIN": str(join)}
    bench.run(
        __file__,
        "db_recorder_core",
        {
            "N_DRIVES": n,
            "STREAM_W": stream,
            "DATA_W": data,
            "WRITE_BLOCKS": join,
            "RESET_US": 2,
        },
        env=env,
    )
