# SPDX-License-Identifier: Apache-2.0
"""db_ssd_sq: entries are requested once, in order, never past the tail or beyond the slots; arbitration is fair."""

from __future__ import annotations

import os
import random
from collections import Counter, deque
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from structs import layout

FETCH_MAX = 8
ADMIN_CMDS = 16
COLLECTED = 8  # entries that a queue with many commands inside waits for
URGENT, HIGH, MEDIUM, LOW = range(4)
DOORBELL = layout("db_ssd_pkg", "doorbell_t")
QUEUE_CTX = layout("db_ssd_pkg", "queue_ctx_t")
ARB_CFG = layout("db_ssd_pkg", "arb_cfg_t")
SEGMENT = layout("db_mem_pkg", "segment_t")
FETCH_USER = layout("db_ssd_pkg", "fetch_user_t")
DOORBELL_ERR = layout("db_ssd_pkg", "doorbell_err_t")


def qctx(qid: int, base: int, size: int, cqid: int, prio: int = 0, valid: int = 1) -> int:
    """A submission queue's context; size in entries."""
    return QUEUE_CTX.pack(kind="QUEUE_SQ", valid=valid, qid=qid, base=base, size=size - 1, cqid=cqid, prio=prio)


def doorbell(qid: int, value: int, num_qp: int, fn: int = 0) -> int:
    """A tail doorbell as db_ssd_bar makes it for one function; value is what the host writes."""
    return DOORBELL.pack(fn=fn, qid=qid, number=qid & 0xFF, exists=int(fn == 0 and qid <= num_qp), value=value)


class Bench:
    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.num_qp = int(os.environ["NUM_QP"])
        self.num_cmds = int(os.environ["NUM_CMDS"])
        self.queue_max = min(self.num_cmds, 64)
        self.reserved = max(1, min(self.num_qp, self.num_cmds // 4))  # slots for queues that have none
        self.size: dict[int, int] = {}
        self.base: dict[int, int] = {}
        self.tail: dict[int, int] = {}
        self.head: dict[int, int] = {}  # next entry we expect a request for
        self.requests: list[tuple[int, int]] = []  # (queue, entries)
        self.open: deque[int] = deque()  # queues of entries requested and not completed
        self.unread: set[int] = set()  # queues whose completions nobody reads: their commands are never over
        self.errors: list[tuple[int, int, int]] = []  # kind, function, queue
        self.ready = 1.0
        self.complete = 0.5
        self.rng = random.Random(int(os.environ.get("SEED", "1")))

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, unit="ns").start())
        for name in (
            "s_doorbell_valid",
            "s_doorbell",
            "s_queue_ctx_valid",
            "s_queue_ctx",
            "s_head_valid",
            "s_head_sqid",
            "s_head",
            "sq_lookup_sqid",
            "s_retired_valid",
            "s_retired_sqid",
            "s_admin_taken",
            "s_admin_lost",
            "s_fn_set",
            "us_turns",
            "s_fn_moved_valid",
            "s_fn_moved",
            "sq_select",
            "m_fetch_ready",
        ):
            getattr(d, name).value = 0
        self.arbitrate(burst=7)
        d.run.value = 1
        d.rst.value = 1
        for _ in range(3):
            await FallingEdge(d.clk)
        d.rst.value = 0
        cocotb.start_soon(self.monitor())

    def arbitrate(self, **values: int) -> None:
        self.dut.arb_cfg.value = ARB_CFG.pack(values)

    async def monitor(self) -> None:
        """Checks every request, completes entries at random, two at least 3 cycles apart as db_ssd_cq does."""
        d = self.dut
        wait = 0
        while True:
            await FallingEdge(d.clk)
            d.m_fetch_ready.value = self.rng.random() < self.ready
            wait = max(wait - 1, 0)
            self.firmware()
            at = next((i for i, q in enumerate(self.open) if self.may_end(q)), None)
            done = not wait and at is not None and self.rng.random() < self.complete
            d.s_retired_valid.value = int(done)
            if done:
                wait = 3
                d.s_retired_sqid.value = self.open[at]
                self.end(at)
            await RisingEdge(d.clk)
            if d.m_doorbell_err_valid.value == 1:
                error = DOORBELL_ERR.unpack(int(d.m_doorbell_err.value))
                self.errors.append((error["kind"], error["fn"], error["qid"]))
            if d.m_fetch_valid.value == 1 and d.m_fetch_ready.value == 1:
                self.request(SEGMENT.unpack(int(d.m_fetch.value)), FETCH_USER.unpack(int(d.m_fetch_user.value)))

    def firmware(self) -> None:
        """What it does in a cycle, where the bench has one."""

    def may_end(self, qid: int) -> bool:
        """Commands of the queue may be over now."""
        return qid not in self.unread

    def end(self, at: int) -> None:
        """The entry that was requested so many entries after the oldest open one is over."""
        del self.open[at]

    def request(self, segment: dict[str, int], user: dict[str, int]) -> None:
        addr, length = segment["addr"], segment["len"]
        qid, index, size = user["sqid"], user["index"], user["size"] + 1
        assert (segment["fn"], segment["first"], segment["last"], segment["drop"], user["fn"]) == (0, 1, 1, 0, 0)
        count, rest = divmod(length, 64)
        assert rest == 0 and 1 <= count <= FETCH_MAX
        assert size == self.size[qid]
        assert index == self.head[qid], f"queue {qid}: entry {index}, expected {self.head[qid]}"
        assert count <= (self.tail[qid] - index) % size, f"queue {qid}: requested past the tail"
        assert index + count <= size, "request wraps"
        assert addr == self.base[qid] + 64 * index
        assert addr >> 12 == (addr + length - 1) >> 12, "request leaves its page"
        self.head[qid] = (index + count) % size
        self.requests.append((qid, count))
        self.open.extend([qid] * count)
        admin = self.open.count(0)
        assert len(self.open) - admin <= self.num_cmds, "more entries than slots"
        assert admin <= ADMIN_CMDS, "more admin entries than the firmware takes"
        assert qid == 0 or self.open.count(qid) <= self.queue_max, "more than the queue's largest share"

    async def send(self, prefix: str, **values: int) -> None:
        d = self.dut
        await FallingEdge(d.clk)
        for name, value in values.items():
            getattr(d, name).value = value
        getattr(d, f"{prefix}_valid").value = 1
        while True:
            await RisingEdge(d.clk)
            if getattr(d, f"{prefix}_ready").value == 1:
                break
        await FallingEdge(d.clk)
        getattr(d, f"{prefix}_valid").value = 0

    async def create(self, qid: int, size: int, prio: int = 0) -> None:
        self.size[qid], self.base[qid] = size, self.rng.getrandbits(52) << 12
        self.tail[qid] = self.head[qid] = 0
        await self.send("s_queue_ctx", s_queue_ctx=qctx(qid, self.base[qid], size, qid, prio))

    async def ring(self, qid: int, tail: int) -> None:
        self.tail[qid] = tail
        await self.send("s_doorbell", s_doorbell=doorbell(qid, tail, self.num_qp))

    async def add(self, qid: int, entries: int) -> int:
        """Adds up to `entries` to a queue, as many as fit."""
        room = (self.head[qid] - self.tail[qid] - 1) % self.size[qid]
        entries = min(entries, room)
        if not entries:
            await FallingEdge(self.dut.clk)
        else:
            await self.ring(qid, (self.tail[qid] + entries) % self.size[qid])
        return entries

    async def settle(self, cycles: int = 4000) -> None:
        for _ in range(cycles):
            await FallingEdge(self.dut.clk)
            if not self.open and all(self.head[q] == self.tail[q] for q in self.tail) and self.dut.idle.value == 1:
                return
        raise AssertionError(f"entries left: {[(q, self.head[q], self.tail[q]) for q in self.tail]}")


@cocotb.test()
async def all_entries_once_in_order(dut: Any) -> None:
    b = Bench(dut)
    await b.start()
    b.ready = 0.7
    for qid in range(b.num_qp + 1):
        await b.create(qid, b.rng.choice([2, 3, 16, 65, 200, 4096]))
    added = 0
    for _ in range(400):
        added += await b.add(b.rng.randrange(b.num_qp + 1), b.rng.choice([1, 1, 2, 7, 64, 300]))
    await b.settle(100000)
    assert sum(n for _, n in b.requests) == added
    assert int(dut.cmds_inflight.value) == 0 and not b.errors


@cocotb.test()
async def no_slot_no_request_but_admin(dut: Any) -> None:
    b = Bench(dut)
    await b.start()
    b.complete = 0.0
    await b.create(0, 32)
    for qid in range(1, b.num_qp + 1):
        await b.create(qid, 4096)
        await b.add(qid, b.num_cmds + 20)
    for _ in range(40 * b.num_cmds):
        await RisingEdge(dut.clk)
    # one queue alone does not get the slots that are kept for others
    most = b.num_cmds if b.num_qp > 1 else b.num_cmds - b.reserved + 1
    assert int(dut.cmds_inflight.value) == sum(n for q, n in b.requests) == most
    await b.add(0, 3)
    for _ in range(60):
        await RisingEdge(dut.clk)
    assert sum(n for q, n in b.requests if q == 0) == 3, "admin entries wait behind I/O"
    await b.add(0, 28)
    for _ in range(100):
        await RisingEdge(dut.clk)
    assert sum(n for q, n in b.requests if q == 0) == ADMIN_CMDS and dut.idle.value == 1
    b.complete = 0.5
    await b.settle(40 * b.num_cmds * b.num_qp + 2000)


@cocotb.test()
async def a_queue_that_is_never_over_holds_its_share_alone(dut: Any) -> None:
    """Nobody reads one queue's completions, and others have deep backlogs: a queue with a command now and then gets a
    slot at once, every time."""
    b = Bench(dut)
    if b.num_qp < 4:
        return
    await b.start()
    b.complete = 0.05
    b.unread = {1}
    for qid in (1, 2, 3, 4):
        await b.create(qid, 4096)
    for qid in (1, 2, 3):
        await b.add(qid, 2000)
    for _ in range(20 * b.num_cmds):
        await RisingEdge(dut.clk)
    assert b.open.count(1) == b.queue_max, "it holds its largest share, and no more"
    # The others have what is left, but for entries that are still being collected.
    left = min(b.queue_max, (b.num_cmds - b.reserved - b.queue_max) // 2)
    assert all(b.open.count(q) >= left - COLLECTED for q in (2, 3)), "slots that all share stay empty"
    b.unread.add(4)
    for _ in range(50):
        await b.add(4, 1)
        cycles = 0
        while 4 not in b.open:
            await RisingEdge(dut.clk)
            cycles += 1
            assert cycles < 40, "the queue that had nothing waits for a slot"
        for q in (2, 3):
            await b.add(q, 40)
        b.unread.remove(4)
        b.complete = 1.0
        while 4 in b.open:
            await RisingEdge(dut.clk)
        b.complete = 0.05
        b.unread.add(4)
    b.unread.clear()
    b.complete = 1.0
    await b.settle(100000)


@cocotb.test()
async def queues_beside_a_dead_one_share_the_rest(dut: Any) -> None:
    """With a queue that holds its largest share for ever, two others still get all that is left, and equally."""
    b = Bench(dut)
    if b.num_qp < 4:
        return
    await b.start()
    b.arbitrate(burst=0)
    b.complete = 1.0
    b.unread = {1}
    for qid in (1, 2, 3):
        await b.create(qid, 4096)
        await b.add(qid, 1500)
    for _ in range(8000):
        await RisingEdge(dut.clk)
    served = Counter(q for q, _ in b.requests)
    assert served[1] == b.queue_max and abs(served[2] - served[3]) <= 2 and served[2] > 550, served


@cocotb.test()
async def round_robin_is_fair(dut: Any) -> None:
    b = Bench(dut)
    await b.start()
    b.complete = 0.0
    b.arbitrate(burst=0)  # one entry a turn
    queues = range(1, min(b.num_qp, 5) + 1)
    dut.run.value = 0
    for qid in queues:
        await b.create(qid, 256)
    for qid in queues:
        await b.add(qid, 200)
    dut.run.value = 1
    b.complete = 1.0
    while len(b.requests) < 100:
        await RisingEdge(dut.clk)
    assert all(n == 1 for _, n in b.requests[:100])
    turns = [q for q, _ in b.requests[:100]]
    n = len(queues)
    assert all(sorted(turns[i : i + n]) == list(queues) for i in range(0, 100 - n, n)), turns


@cocotb.test()
async def weights_are_kept(dut: Any) -> None:
    b = Bench(dut)
    if b.num_qp < 4:
        return
    await b.start()
    b.arbitrate(wrr=1, burst=0, weight_high=7, weight_medium=3, weight_low=0)  # 8 : 4 : 1
    dut.run.value = 0
    for qid, prio in ((1, HIGH), (2, MEDIUM), (3, LOW), (4, URGENT)):
        await b.create(qid, 1024, prio)
        await b.add(qid, 40 if prio == URGENT else 1000)
    dut.run.value = 1
    b.complete = 1.0
    while len(b.requests) < 40 + 13 * 20:
        await RisingEdge(dut.clk)
    assert all(q == 4 for q, _ in b.requests[:40]), "urgent does not come first"
    served = Counter(q for q, _ in b.requests[40 : 40 + 13 * 20])
    assert served == {1: 160, 2: 80, 3: 20}, served


@cocotb.test()
async def bad_doorbells_are_reported(dut: Any) -> None:
    b = Bench(dut)
    await b.start()
    await b.create(1, 16)
    absent = [2] if b.num_qp > 1 else []
    await b.send("s_doorbell", s_doorbell=doorbell(1, 16, b.num_qp))  # one past the end
    for qid in absent:
        await b.send("s_doorbell", s_doorbell=doorbell(qid, 0, b.num_qp))
    await b.send("s_doorbell", s_doorbell=doorbell(b.num_qp + 1, 1, b.num_qp))  # no such register
    await b.send("s_doorbell", s_doorbell=doorbell(1, 1, b.num_qp, fn=3))  # no such function
    await b.send("s_queue_ctx", s_queue_ctx=qctx(1, 0, 16, 0, valid=0))
    await b.send("s_doorbell", s_doorbell=doorbell(1, 1, b.num_qp))  # deleted
    for _ in range(20):
        await RisingEdge(dut.clk)
    assert b.errors == [(1, 0, 1), *((0, 0, q) for q in absent), (0, 0, b.num_qp + 1 & 0xFF), (0, 3, 1), (0, 0, 1)]
    assert not b.requests


@cocotb.test()
async def doorbell_to_request_latency(dut: Any) -> None:
    b = Bench(dut)
    await b.start()
    await b.create(1, 64)
    for _ in range(20):
        await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.s_doorbell.value, dut.s_doorbell_valid.value = doorbell(1, 1, b.num_qp), 1
    b.tail[1] = 1
    await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.s_doorbell_valid.value = 0
    cycles = 0
    while dut.m_fetch_valid.value != 1:
        await FallingEdge(dut.clk)
        cycles += 1
    assert cycles == 3, cycles  # and the cycle of the doorbell: 4, as the header of db_ssd_sq says


@cocotb.test()
async def inflight_tells_of_the_queue(dut: Any) -> None:
    b = Bench(dut)
    await b.start()
    b.complete = 0.0
    await b.create(1, 64)
    await b.add(1, 3)
    dut.sq_select.value = 1
    for _ in range(30):
        await RisingEdge(dut.clk)
    assert dut.sq_inflight.value == 1
    b.complete = 1.0
    await b.settle()
    for _ in range(4):
        await RisingEdge(dut.clk)
    assert dut.sq_inflight.value == 0


@pytest.mark.parametrize(("num_qp", "num_cmds"), [(1, 4), (32, 128), bench.rare(128, 256)])
def test_db_ssd_sq(num_qp: int, num_cmds: int) -> None:
    bench.run(
        __file__,
        "db_ssd_sq",
        {"NUM_QP": num_qp, "NUM_CMDS": num_cmds},
        env={"NUM_QP": str(num_qp), "NUM_CMDS": str(num_cmds), "SEED": str(num_qp)},
    )
