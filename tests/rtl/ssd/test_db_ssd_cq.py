# SPDX-License-Identifier: Apache-2.0
"""db_ssd_cq against a host's view of completion queues (NVMe Base 2.0, 3.3.3.2 and 4.2.4): every completion becomes
one entry at the next free place with the right phase, none is lost, doubled or written where the host has not read."""

from __future__ import annotations

from collections import Counter
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from ssd_cq_bench import ADMIN_CMDS, ERRORS, LATENCY, PERIOD, PERIOD_IRQ, Bench, others


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    """Queues of all sizes, several submission queues on one completion queue, stalls and slow hosts."""
    b = Bench(dut)
    await b.start()
    for _ in range(4):
        for qid in range(b.num_qp + 1):
            if qid in b.cqs:
                b.delete(qid)
            b.create(qid, b.rng.choice([2, 2, 3, 4, 5, 17]), b.rng.random() < 0.7)
            b.cq_of[qid] = b.rng.randint(1, min(b.num_qp, 5)) if qid else 0
        await b.settle()
        assert all(cq.tail == 0 and cq.phase == 1 for cq in b.cqs.values())
        b.cpl_rate, b.post_rate, b.irq_rate, b.db_rate = (b.rng.choice([0.1, 0.5, 1.0, 1.0]) for _ in range(4))
        n = 250
        before = len(b.posts)
        b.policy = others(b, n, list(range(b.num_qp + 1)))
        await b.posted(before + n)
        await b.settle()
        b.policy = None
        b.check()
    wraps = Counter(len(cq.got) // cq.size for cq in b.cqs.values())
    assert max(wraps) > 2


async def shared_small(b: Bench, size: int = 2) -> None:
    await b.start()
    b.cq_of = {q: q for q in range(b.num_qp + 1)}
    b.create(0, 64)
    b.create(1, size)
    await b.settle()


@cocotb.test()
async def doorbell_meets_parking(dut: Any) -> None:
    """A full queue, one more completion, and the head doorbell in every cycle before, while and after it is parked."""
    b = Bench(dut, 1)
    await shared_small(b)
    for ien in (True, False):
        b.delete(1)
        b.create(1, 2, ien)
        await b.settle()
        b.command(1)
        await b.settle()
        for when in range(-6, 16):
            cq = b.cqs[1]
            assert cq.full()
            before = len(b.posts)
            for t in range(-6, 16):
                if t == 0:
                    b.command(1)
                if t == when:
                    b.read(1, 1)
                await b.step()
            await b.run(12)
            assert len(b.posts) == before + 1, f"lost: doorbell {when} cycles after the completion"
    b.read(1, 1)
    await b.settle()
    b.check()


@cocotb.test()
async def doorbell_meets_retry(dut: Any) -> None:
    """Several parked of two queues, and a second doorbell of one in every cycle after the first, of it or the other."""
    b = Bench(dut, 2)
    await shared_small(b, 3)
    b.delete(0)
    b.create(0, 4)
    await b.settle()
    for first in (0, 1):
        for when in range(1, 36):
            await b.fill(0, 3)
            await b.fill(1, min(3, b.num_cmds))
            open_ = len(b.inside)
            b.read(first, 1)
            for _ in range(when):
                await b.step()
            b.read(1, 1)
            await b.settle()
            assert len(b.inside) == open_ - 2, f"lost: second doorbell {when} cycles after the first"
            await b.read_all()
            b.read(0, 9)
            b.read(1, 9)
            await b.settle()
    b.check()


@cocotb.test()
async def full_queue_does_not_hold_others(dut: Any) -> None:
    """With every slot parked, another queue runs at full speed, its doorbells included."""
    b = Bench(dut, 3)
    await shared_small(b)
    await b.fill(1, b.num_cmds)
    start = len(b.posts)
    b.policy = others(b, 50, [0])
    b.db_rate = 0.3
    await b.posted(start + 50)
    taken = [t for _, t, _ in b.posts[start:]]
    assert taken[-1] - taken[0] == 49 * PERIOD_IRQ, taken[-1] - taken[0]
    b.policy = others(b, 0, [0, 1])
    await b.settle()
    b.policy = None
    b.check()


@cocotb.test()
async def deleted_submission_queue_leaves_nothing(dut: Any) -> None:
    """A full queue that nobody reads: the commands of a submission queue end without entries when it is deleted, those
    of another that shares the completion queue stay; the deletion comes in every cycle around the last parking."""
    b = Bench(dut, 5)
    if b.num_qp < 2:
        return
    await shared_small(b)
    b.cq_of[2] = 1
    for when in range(-6, 16):
        await b.fill(1, min(2, b.num_cmds - 2))
        kept = set(b.inside)
        for t in range(-6, 18):
            if t == 0:
                b.command(2)
            if t == when:
                b.sq_gone.add(2)
            dut.sq_deleted.value = int(t == when + 1)  # when the lookup knows
            await b.step()
        dut.sq_deleted.value = 0
        await b.settle()
        gone = [k for k in b.inside if k[0] == 2]
        assert not gone, f"deleted {when} cycles after its command, and {gone} still hold slots"
        assert kept == set(b.inside), "another queue's command is gone"
        b.sq_gone.clear()
        await b.read_all()
        b.read(1, 1)
        await b.settle()
    assert len(b.dropped) > 10
    b.check()


@cocotb.test()
async def everything_parked(dut: Any) -> None:
    """Every slot and every admin command that there can be waits for a queue, none is lost."""
    b = Bench(dut, 4)
    await shared_small(b)
    b.delete(0)
    b.create(0, 2)
    await b.settle()
    for _ in range(ADMIN_CMDS):
        b.command(0)
    for _ in range(b.num_cmds):
        b.command(1)
    await b.settle()
    b.command(1)
    b.command(0)
    await b.settle()
    assert len(b.inside) == ADMIN_CMDS + b.num_cmds
    await b.read_all()
    b.read(0, 1)
    b.read(1, 1)
    await b.settle()
    b.check()


@cocotb.test()
async def deleted_and_created_again(dut: Any) -> None:
    """What is parked for a queue that is deleted ends without an entry; the new queue begins at 0 with phase 1."""
    b = Bench(dut, 5)
    await shared_small(b)
    for wraps in range(1, 8):
        for _ in range(wraps):  # leave the old queue at any tail and phase
            b.command(1)
            await b.settle()
            b.read(1, 1)
            await b.settle()
        parked = min(3, b.num_cmds)
        await b.fill(1, parked)
        b.dropped.clear()
        b.delete(1)
        if wraps % 2:
            b.create(1, 2 + wraps % 3)
        await b.settle()
        assert len(b.dropped) == parked and not b.inside, "parked completions of a deleted queue keep their slots"
        if not wraps % 2:
            b.ring(1, 0)  # no queue: an error
            await b.settle()
            b.create(1, 2 + wraps % 3)
        await b.settle()
    b.check()


@cocotb.test()
async def bad_doorbells(dut: Any) -> None:
    b = Bench(dut, 6)
    await shared_small(b, 5)
    for error in ERRORS:
        error(b)
    b.ring(1, 0)  # says nothing new, but is legal
    await b.settle()
    assert len(b.errors) == len(ERRORS)
    b.check()
    dut.run.value = 0  # not reported while the controller does not run
    for error in ERRORS:
        error(b)
    await b.settle()
    assert len(b.errors) == len(ERRORS)


@cocotb.test()
async def latency_and_throughput(dut: Any) -> None:
    b = Bench(dut, 7)
    await shared_small(b, 64)
    for ien, period in ((True, PERIOD_IRQ), (False, PERIOD)):
        b.delete(1)
        b.create(1, 64, ien)
        await b.settle()
        start = len(b.posts)
        c = b.command(1)
        await b.settle()
        offered, taken, cid = b.posts[-1]
        assert cid == c.cid and offered - b.taken[cid] == LATENCY and taken == offered
        b.policy = others(b, 40, [1])
        await b.posted(start + 41)
        b.policy = None
        offers = [o for o, _, _ in b.posts[start + 1 :]]
        assert all(y - x == period for x, y in zip(offers, offers[1:])), offers
        b.read(1, 63)
        await b.settle()
    b.check()


@cocotb.test()
async def intx_level_and_racing_doorbells(dut: Any) -> None:
    """The doorbell for all that there was, in every cycle around the next entry: any_entries must end up high."""
    b = Bench(dut, 8)
    await shared_small(b, 8)
    b.post_rate = 0.5
    for when in range(-3, 14):
        b.command(1)
        await b.settle()
        assert dut.any_entries.value == 1
        tail = b.cqs[1].tail  # the host rings this, whatever comes meanwhile
        for t in range(-3, 14):
            if t == 0:
                b.command(1)
            if t == when:
                b.ring(1, tail)
            await b.step()
        await b.settle()
        assert b.cqs[1].used() == 1 and dut.any_entries.value == 1
        b.read(1, 1)
        await b.settle()
        assert dut.any_entries.value == 0
    b.check()


@pytest.mark.parametrize(("num_qp", "num_cmds"), [bench.rare(1, 2), (32, 128)])
def test_db_ssd_cq(num_qp: int, num_cmds: int) -> None:
    bench.run(
        __file__,
        "db_ssd_cq",
        {"NUM_QP": num_qp, "NUM_CMDS": num_cmds},
        env={"NUM_QP": str(num_qp), "NUM_CMDS": str(num_cmds)},
    )
