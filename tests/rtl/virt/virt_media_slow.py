# SPDX-License-Identifier: Apache-2.0
"""Tests of db_virt_media, which test_db_virt_media.py runs: SSDs that are slow, or take or answer nothing; resets."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
import rtl_bench as bench
from axi_model import ZERO
from virt_media_bench import FROM, SPAN, Bench, where_first
from virt_media_ssds import GRANULE, OP, PAGE, PAGES, ROW, SLOTS, shuffled


@cocotb.test()
async def reads_of_any_size(dut: Any) -> None:
    """Also over several SSDs, and larger than a ring; Compares between them."""
    b = Bench(dut, 8)
    await b.start()
    for p in range(FROM, FROM + SPAN):
        b.write(p * PAGE, PAGE)
    await b.settle(200_000)
    last = (FROM + SPAN) * 8
    for rate in (1.0, 0.4):
        b.rate = rate
        for size in (*(b.rng.choice((8, 17, 64, 130, 300)) for _ in range(bench.rounds(8, 2))), 600):
            while len(b.wanted) + len(b.ending) == SLOTS:
                await b.step()
            b.want(b.rng.randrange(FROM * 8, last - size) * 512, size * 512, b.rng.random() < 0.2)
        await b.settle(200_000)
    assert max(s.largest for s in b.ssds) > PAGE // 512, "a page is not an SSD's command"


@cocotb.test()
async def an_ssd_that_answers_nothing_is_waited_for_by_its_own(dut: Any) -> None:
    b = Bench(dut, 9)
    await b.start()
    if b.num == 1:
        return
    for ssd in (0, 1):
        for i in range(8):
            b.write(where_first(b, ssd) + i * PAGE, PAGE)
    await b.settle()
    b.ssds[1].stuck = True
    mine = [b.want(where_first(b, 1) + i * PAGE, PAGE, i == 3) for i in range(8)]
    b.order.clear()
    for i in range(40):
        while sum(s not in mine for s in b.wanted) > 3:
            await b.step()
        b.want(where_first(b, 0) + i % 8 * PAGE, PAGE, i % 9 == 5)
    while any(s not in mine for s in b.wanted) or b.expect:
        await b.step()
    assert len(b.order) == 40 and set(b.wanted) == set(mine)
    # a reset now: it is not waited for, and what it has reaches nobody when it wakes up
    b.reset()
    await b.step()
    b.order.clear()
    after = [b.want(where_first(b, 1) + 7 * PAGE, PAGE), b.want(where_first(b, 0), PAGE)]
    for _ in range(500):
        await b.step()
    assert b.order == after[1:]
    b.reset()
    b.want(where_first(b, 1) + 5 * PAGE, PAGE)
    for _ in range(50):
        await b.step()
    b.ssds[1].stuck = False
    await b.settle()


@cocotb.test()
async def an_ssd_that_takes_nothing_holds_up_its_own_writes(dut: Any) -> None:
    """And flushes: of the other, more is written than the rings have room for, with FUA, and it ends."""
    b = Bench(dut, 11)
    await b.start()
    if b.num == 1:
        return
    b.ssds[1].stuck = True
    for _ in range(20):
        b.write(where_first(b, 1), PAGE)
    b.flush(where_first(b, 1) // GRANULE * GRANULE, 512)
    for _ in range(2000):
        await b.step()
    stuck = len(b.wanted) + len(b.ending)
    assert (stuck, len(b.wanted)) == (21, 4), "it is given what its ring has room for"
    for i in range(40):
        while b.later or len(b.wanted) + len(b.ending) > stuck + 3:
            await b.step()
        b.write(where_first(b, 0) + i % 8 * PAGE, PAGE, fua=i % 5 == 0)
    for _ in range(60_000):
        if not b.later and len(b.wanted) + len(b.ending) == stuck and not b.responses:
            break
        await b.step()
    assert len(b.wanted) + len(b.ending) == stuck, "they wait for the other SSD"
    assert b.ssds[0].ops.count("BLOCK_FLUSH") >= 8
    b.ssds[1].stuck = False
    await b.settle()


@cocotb.test()
async def zeroes_of_hosts_wait_for_their_own_ssd(dut: Any) -> None:
    """With FUA a flush follows, of the SSDs that had part of it. An SSD that answers nothing keeps back what is on it
    alone; one that is not there is an error, one that is being brought up is waited for; what has been aborted ends."""
    b = Bench(dut, 14)
    await b.start()
    for s in b.ssds:
        s.data = {row: row + 1 for row in range(0, PAGES * PAGE // ROW, 16)}
    home = [where_first(b, i) for i in range(b.num)]
    for i in range(b.num):
        b.zero(home[i] + PAGE, 3 * PAGE, fua=i == 0)
    await b.settle()
    assert [s.ops for s in b.ssds] == [["BLOCK_ZEROES", "BLOCK_FLUSH"]] + [["BLOCK_ZEROES"]] * (b.num - 1)
    b.up &= ~1
    b.zero(home[0], PAGE)
    for _ in range(500):
        await b.step()
    assert len(b.ending) == 1 and b.ssds[0].commands == deque()
    b.aborted.update(b.ending)  # it ends, and is no error of the media
    await b.settle()
    b.aborted.clear()
    b.up = b.present
    assert b.ssds[0].ops == ["BLOCK_ZEROES", "BLOCK_FLUSH"] and b.ssds[0].data
    if b.num == 1:
        return
    b.ssds[1].stuck = True
    for _ in range(12):
        b.zero(home[1], 2 * PAGE)
    for i in range(30):
        b.zero(home[0] + i % 4 * PAGE, PAGE, fua=i % 3 == 0)
        b.write(home[0] + 8 * PAGE, PAGE)
        while b.later or len(b.wanted) + len(b.ending) > 12 + 3:
            await b.step()
    while len(b.wanted) + len(b.ending) > 12 or b.responses:
        await b.step()
    assert all(w.addr == home[1] for w in b.ending.values())
    # a reset now: what the SSD has is done before what comes after it
    b.reset()
    await b.step()
    rows = b.write(home[1], PAGE)
    for _ in range(200):
        await b.step()
    b.ssds[1].stuck = False
    await b.settle()
    ssd, at = b.where(home[1])
    assert ssd == 1 and [b.ssds[1].data[at // ROW + i] for i in range(PAGE // ROW)] == rows
    b.present = b.up = 1
    b.zero(home[1], PAGE, err=1)
    await b.settle()


@cocotb.test()
async def the_firmware_zeroes_behind_what_was_written_before_a_reset(dut: Any) -> None:
    """An SSD does what it has in any order: a Write that a reset has forgotten must not come onto zeros of a Format."""
    b = Bench(dut, 15)
    await b.start()
    last = b.num - 1
    s, at = b.ssds[last], where_first(b, last)
    s.stuck = True
    b.write(at, PAGE)
    while not b.ending or b.aw or b.w or b.responses:
        await b.step()
    b.reset()
    await b.step()
    b.command(ZERO, at, PAGE, 0)
    for _ in range(500):
        await b.step()
    assert [c["op"] for c in s.commands] == [OP["BLOCK_WRITE"]]
    s.stuck = False
    await b.settle()
    assert s.ops == ["BLOCK_WRITE", "BLOCK_ZEROES"] and not s.data


@cocotb.test()
async def flushes_reach_the_ssds_of_their_namespace(dut: Any) -> None:
    """Whatever its granules lie on, nothing of the others; if one of them is not there, it fails."""
    for seed in range(bench.rounds(4, 1)):
        b = Bench(dut, 12 + seed)
        table = shuffled(b.rng)
        await b.start(table)
        for _ in range(12):
            first = b.rng.randrange(len(table))
            end = b.rng.randint(first + 1, len(table))
            for s in b.ssds:
                s.ops.clear()
            wanted = {s for e in table[first:end] if e for s, _, _ in e.eighths()}
            away = b.rng.randrange(2 * b.num)  # often nobody
            b.present = b.up = (1 << b.num) - 1 & ~(1 << away)
            b.flush(first * GRANULE, (end - first) * GRANULE, int(away in wanted))
            await b.settle()
            assert {i for i, s in enumerate(b.ssds) if s.ops} == wanted - {away}, (first, end)
            assert all(s.ops in ([], ["BLOCK_FLUSH"]) for s in b.ssds)
        b.present = b.up = (1 << b.num) - 1
        b.flush()
        await b.settle()
        assert all(s.ops[-1:] == ["BLOCK_FLUSH"] for s in b.ssds)


@cocotb.test()
async def resets_at_any_time(dut: Any) -> None:
    b = Bench(dut, 10)
    await b.start()
    for p in range(FROM, FROM + SPAN):
        b.write(p * PAGE, PAGE)
    await b.settle(200_000)
    b.rate = 0.6
    for _ in range(bench.rounds(16, 4)):
        for _ in range(b.rng.randrange(1, 12)):
            size = b.rng.choice((8, 8, 8, 64, 300))
            b.want(b.rng.randrange(FROM * 8, (FROM + SPAN) * 8 - size) * 512, size * 512, b.rng.random() < 0.1)
        for _ in range(b.rng.randrange(6)):
            b.write((FROM + SPAN + b.rng.randrange(8)) * PAGE, PAGE)  # where nothing is read
        for _ in range(b.rng.randrange(4)):
            b.zero((FROM + SPAN) * PAGE, b.rng.randrange(1, 32) * PAGE, b.rng.random() < 0.5)
        if b.num > 1:
            b.ssds[b.rng.randrange(b.num)].stuck = b.rng.random() < 0.3
        for _ in range(b.rng.randrange(400)):
            await b.step()
        while b.ar or b.expect or b.aw or b.w or b.responses:  # the controller ends what it has begun
            await b.step()
        b.reset()
        for _ in range(b.rng.randrange(1, 3)):
            await b.step()
    for s in b.ssds:
        s.stuck = False
    await b.settle()
