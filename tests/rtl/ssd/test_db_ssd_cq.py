# SPDX-License-Identifier: Apache-2.0
"""db_ssd_cq against a host's view of completion queues (NVMe Base 2.0, 3.3.3.2 and 4.2.4): every completion becomes
one entry at the next free place with the right phase, none is lost, doubled or written where the host has not read."""

from __future__ import annotations

import os
import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from structs import layout

ADMIN_CMDS = 16
LATENCY = 2  # completion taken to entry offered
PERIOD = 3  # cycles an entry
PERIOD_IRQ = 4  # ... where interrupts are enabled


FINISHED = layout("db_ssd_pkg", "finished_t")
DOORBELL = layout("db_ssd_pkg", "doorbell_t")
DOORBELL_ERR = layout("db_ssd_pkg", "doorbell_err_t")
QUEUE_CTX = layout("db_ssd_pkg", "queue_ctx_t")
SQ_LOOKUP = layout("db_ssd_pkg", "sq_lookup_t")
CQE_POST = layout("db_ssd_pkg", "cqe_post_t")
IRQ = layout("db_ssd_pkg", "irq_t")
RETIRED = layout("db_ssd_pkg", "retired_t")


@dataclass(frozen=True)
class Command:
    sqid: int
    cid: int
    fn: int
    status: int
    dw0: int
    slot: int  # -1: admin

    def bits(self, slot: int) -> int:
        """finished_t; slot: what is there, of an admin command too."""
        completion = {"fn": self.fn, "sqid": self.sqid, "cid": self.cid, "status": self.status, "dw0": self.dw0}
        return FINISHED.pack(io=int(self.slot >= 0), slot=slot, completion=completion)


@dataclass
class Cq:
    """What the host knows of a completion queue."""

    base: int
    size: int
    vector: int
    ien: bool
    tail: int = 0  # entries come here
    phase: int = 1
    head: int = 0  # what it has rung
    got: list[int] = field(default_factory=list)  # cids in the order of their entries

    def used(self) -> int:
        return (self.tail - self.head) % self.size

    def full(self) -> bool:
        return (self.tail + 1 - self.head) % self.size == 0


class Bench:
    def __init__(self, dut: Any, seed: int = 0) -> None:
        self.dut = dut
        self.num_qp = int(os.environ["NUM_QP"])
        self.num_cmds = int(os.environ["NUM_CMDS"])
        self.num_fn = int(os.environ.get("NUM_FN", "1"))
        self.numbers = range(self.num_fn + self.num_qp)  # of queues: admin queues first
        self.rng = random.Random(seed * 1000 + self.num_qp)
        self.cycle = 0
        self.cqs: dict[int, Cq] = {}
        self.cq_of: dict[int, int] = {}  # submission queue -> completion queue
        self.sq_gone: set[int] = set()  # submission queues that are deleted
        self.heads: dict[int, list[tuple[int, int]]] = {}  # ... -> (from cycle, SQHD)
        self.to_send: deque[Command] = deque()
        self.inside: dict[tuple[int, int], Command] = {}  # taken, no entry yet
        self.free = list(range(self.num_cmds))
        self.next_cid = 0
        self.doorbells: deque[tuple[dict[str, int], int]] = deque()  # which queue's, value
        self.db_held = False
        self.cpl_held = False
        self.qc: deque[tuple[int, Cq | None]] = deque()
        self.done_expected: Command | None = None
        self.irqs: deque[tuple[int, int]] = deque()
        self.errors: list[tuple[int, int, int]] = []  # kind, function, queue
        self.errors_expected: list[tuple[int, int, int]] = []
        self.dropped: list[Command] = []
        self.posts: list[tuple[int, int, int]] = []  # cycle offered, cycle taken, cid
        self.taken: dict[int, int] = {}  # cid -> cycle
        self.offered = -1
        self.held: tuple[int, ...] | None = None
        self.quiet = 0
        self.cpl_rate = self.post_rate = self.irq_rate = self.db_rate = 1.0
        self.policy: Callable[[], None] | None = None  # the host, once a cycle

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, unit="ns").start())
        for name in (
            "s_finished_valid",
            "s_finished",
            "s_doorbell_valid",
            "s_doorbell",
            "s_queue_ctx_valid",
            "s_queue_ctx",
            "sq_lookup",
            "sq_deleted",
            "m_post_ready",
            "m_irq_ready",
        ):
            getattr(d, name).value = 0
        d.run.value = 1
        d.rst.value = 1
        for _ in range(3):
            await FallingEdge(d.clk)
        d.rst.value = 0
        for sqid in self.numbers:
            self.heads[sqid] = [(0, self.rng.getrandbits(16))]

    # ---- functions: here there is one, whose queues are called what they are
    def fn_of(self, sqid: int) -> int:
        """Whose commands come from a submission queue: here nobody's business."""
        return self.rng.getrandbits(8)

    def host_qid(self, sqid: int) -> int:
        """How its host calls a submission queue, as its lookup says: one function has no use for it."""
        return self.rng.getrandbits(8)

    def called(self, fn: int, qid: int) -> int:
        """The number of the submission queue that a function's host calls so."""
        return qid

    def doorbell(self, qid: int, fn: int) -> dict[str, int]:
        """A head doorbell as db_ssd_bar hands it on."""
        return {"fn": fn, "qid": qid, "number": qid & 0xFF, "exists": int(fn == 0 and qid <= self.num_qp)}

    def counts(self, qid: int) -> bool:
        """Entries of the queue assert INTx, if its interrupts are enabled."""
        return True

    # ---- what a test asks for
    def create(self, qid: int, size: int, ien: bool = True) -> None:
        vector = 0 if qid == 0 else self.rng.getrandbits(16)
        cq = Cq(self.rng.getrandbits(40) << 24 | qid << 16, size, vector, ien)
        self.qc.append((qid, cq))

    def delete(self, qid: int) -> None:
        self.qc.append((qid, None))

    def command(self, sqid: int) -> Command:
        r = self.rng
        self.next_cid = (self.next_cid + 1) & 0xFFFF
        slot = self.free.pop(r.randrange(len(self.free))) if sqid >= self.num_fn else -1
        status, dw0 = r.choice([0, 0, r.getrandbits(15)]), r.getrandbits(32)
        c = Command(sqid, self.next_cid, self.fn_of(sqid), status, dw0, slot)
        self.to_send.append(c)
        return c

    def ring(self, qid: int, value: int, fn: int = 0) -> None:
        doorbell = self.doorbell(qid, fn)
        cq = self.cqs.get(doorbell["number"]) if doorbell["exists"] else None
        if cq is None or value >= cq.size:
            self.errors_expected.append((int(cq is not None), doorbell["fn"], doorbell["qid"] & 0xFF))
        else:
            assert (value - cq.head) % cq.size <= cq.used(), "the test takes more than there is"
            cq.head = value
        self.doorbells.append((doorbell, value))

    def read(self, qid: int, entries: int) -> None:
        """The host has read entries of a queue and says so."""
        cq = self.cqs[qid]
        self.ring(qid, (cq.head + min(entries, cq.used())) % cq.size)

    # ---- one cycle
    def drive(self) -> None:
        d, rng = self.dut, self.rng
        if self.policy:
            self.policy()
        if rng.random() < 0.2:
            sqid = rng.choice(self.numbers)
            self.heads[sqid] = [*self.heads[sqid][-99:], (self.cycle, rng.getrandbits(16))]
        self.cpl_held = self.cpl_held or (bool(self.to_send) and rng.random() < self.cpl_rate)
        d.s_finished_valid.value = int(self.cpl_held)
        if self.cpl_held:
            c = self.to_send[0]
            d.s_finished.value = c.bits(c.slot if c.slot >= 0 else rng.getrandbits(8))
        self.db_held = self.db_held or (bool(self.doorbells) and rng.random() < self.db_rate)
        d.s_doorbell_valid.value = int(self.db_held)
        if self.db_held:
            which, value = self.doorbells[0]
            d.s_doorbell.value = DOORBELL.pack(which, value=value)
        d.s_queue_ctx_valid.value = int(bool(self.qc))
        if self.qc:
            qid, cq = self.qc[0]
            q = cq or Cq(0, 1, 0, False)
            d.s_queue_ctx.value = QUEUE_CTX.pack(
                kind="QUEUE_CQ",
                valid=int(cq is not None),
                qid=qid,
                base=q.base,
                size=q.size - 1,
                cqid=rng.getrandbits(8),
                prio=rng.getrandbits(2),
                vector=q.vector,
                ien=int(q.ien),
            )
        d.m_post_ready.value = int(rng.random() < self.post_rate)
        d.m_irq_ready.value = int(rng.random() < self.irq_rate)

    async def step(self) -> None:
        d = self.dut
        self.drive()
        await RisingEdge(d.clk)
        self.cycle += 1
        self.look()
        sqid = int(d.sq_lookup_sqid.value)
        await FallingEdge(d.clk)
        head = self.heads[sqid][-1][1] if sqid in self.heads else 0
        valid, cqid = int(sqid not in self.sq_gone), self.cq_of.get(sqid, 0)
        d.sq_lookup.value = SQ_LOOKUP.pack(valid=valid, cqid=cqid, head=head, host_qid=self.host_qid(sqid))

    async def run(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()

    async def settle(self, limit: int = 20000) -> None:
        calm = 0
        for _ in range(limit):
            await self.step()
            calm = calm + 1 if self.dut.idle.value == 1 and not (self.to_send or self.doorbells or self.qc) else 0
            if calm > 8:
                return
        raise AssertionError("does not come to rest")

    async def fill(self, qid: int, parked: int) -> None:
        """Makes a queue full, and has that many completions parked for it."""
        for _ in range(self.cqs[qid].size):
            if self.cqs[qid].full():
                break
            self.command(qid)
            await self.settle()
        for _ in range(parked):
            self.command(qid)
        await self.settle()

    async def posted(self, count: int) -> None:
        """Runs until that many entries have been written in all."""
        since = 0
        while len(self.posts) < count:
            before = len(self.posts)
            await self.step()
            since = since + 1 if len(self.posts) == before else 0
            assert since < 3000, "stands still"

    async def read_all(self) -> None:
        """The host reads, now here, now there, until no completion is inside."""
        for _ in range(3000):
            if not self.inside:
                return
            self.read(self.rng.randrange(2), self.rng.choice([1, 1, 2, 3]))
            await self.run(self.rng.randrange(30))
        raise AssertionError(f"{len(self.inside)} completions do not come out")

    def look(self) -> None:
        d = self.dut
        self.quiet += 1
        # any_entries is exact once nothing has happened for a while
        want = any(q.ien and q.used() and self.counts(qid) for qid, q in self.cqs.items())
        if self.quiet > 6 and not self.doorbells:
            assert int(d.any_entries.value) == int(want), f"any_entries is not {want}"
        # slot free: in the cycle after the entry was taken, or when the queue is gone
        if d.m_retired_valid.value == 1:
            c = self.done_expected
            retired = RETIRED.unpack(int(d.m_retired.value))
            sqid, slot = retired["sqid"], retired["slot"]
            if c is None:  # a completion without a queue
                gone = [
                    k
                    for k in self.inside.values()
                    if (self.cq_of[k.sqid] not in self.cqs or k.sqid in self.sq_gone)
                    and k.sqid == sqid
                    and (k.slot < 0 or k.slot == slot)
                ]
                assert gone, f"command of queue {sqid}, slot {slot} ended without an entry"
                c = self.inside.pop((sqid, gone[0].cid))
                self.dropped.append(c)
            assert (sqid, retired["io"]) == (c.sqid, int(c.slot >= 0))
            if c.slot >= 0:
                assert slot == c.slot and slot not in self.free
                self.free.append(slot)
        else:
            assert self.done_expected is None, "an entry was taken, but the command is not over"
        self.done_expected = None
        # interrupts
        if d.m_irq_valid.value == 1:
            assert self.irqs, "interrupt without an entry"
            irq = IRQ.unpack(int(d.m_irq.value))
            got = irq["vector"], irq["admin"]
            assert got == self.irqs[0], f"interrupt {got}, expected {self.irqs[0]}"
            if d.m_irq_ready.value == 1:
                self.irqs.popleft()
        # entries
        now = None
        if d.m_post_valid.value == 1:
            post = int(d.m_post.value)
            cqe = post >> CQE_POST["cqe"].offset & (1 << CQE_POST["cqe"].width) - 1
            now = CQE_POST.unpack(post)["addr"], cqe, CQE_POST.unpack(post)["fn"]
            if self.held is None:
                self.offered = self.cycle
            assert self.held in (None, now), "an entry changed while it waited"
            if d.m_post_ready.value == 1:
                self.entry(*now)
                now = None
        else:
            assert self.held is None, "an entry was withdrawn"
        self.held = now
        # errors, and what is taken in
        if d.m_doorbell_err_valid.value == 1:
            error = DOORBELL_ERR.unpack(int(d.m_doorbell_err.value))
            self.errors.append((error["kind"], error["fn"], error["qid"]))
        if d.s_queue_ctx_valid.value == 1 and d.s_queue_ctx_ready.value == 1:
            qid, cq = self.qc.popleft()
            self.cqs.pop(qid, None)
            if cq is not None:
                self.cqs[qid] = cq
            self.quiet = 0
        if d.s_doorbell_valid.value == 1 and d.s_doorbell_ready.value == 1:
            self.doorbells.popleft()
            self.db_held = False
            self.quiet = 0
        if d.s_finished_valid.value == 1 and d.s_finished_ready.value == 1:
            c = self.to_send.popleft()
            self.cpl_held = False
            assert (c.sqid, c.cid) not in self.inside
            self.inside[c.sqid, c.cid] = c
            self.taken[c.cid] = self.cycle

    def entry(self, addr: int, raw: int, fn: int) -> None:
        """The host gets 16 bytes: dword 0 result, 2 SQHD and SQID, 3 CID, phase, status."""
        dw = [raw >> 32 * i & 0xFFFFFFFF for i in range(4)]
        sqid, cid, phase, status = self.called(fn, dw[2] >> 16), dw[3] & 0xFFFF, dw[3] >> 16 & 1, dw[3] >> 17
        c = self.inside.pop((sqid, cid), None)
        assert c is not None, f"entry for command {cid} of queue {sqid}, which is not open"
        assert (fn, status, dw[0], dw[1]) == (c.fn, c.status, c.dw0, 0)
        qid = self.cq_of[sqid]
        assert qid in self.cqs, "entry in a queue that is deleted"
        cq = self.cqs[qid]
        assert addr == cq.base + 16 * cq.tail, f"entry at {addr:#x}, tail is {cq.tail} of {cq.base:#x}"
        assert phase == cq.phase, "phase"
        assert not cq.full(), "written where the host has not read"
        # looked up two cycles before the entry was offered
        values = [
            v
            for i, (t, v) in enumerate(self.heads[sqid])
            if t <= self.offered - 1
            and (i + 1 == len(self.heads[sqid]) or self.heads[sqid][i + 1][0] >= self.offered - 2)
        ]
        assert dw[2] & 0xFFFF in values, "SQHD"
        cq.tail = (cq.tail + 1) % cq.size
        cq.phase ^= int(cq.tail == 0)
        cq.got.append(cid)
        self.done_expected = c
        if cq.ien:
            self.irqs.append((cq.vector, int(qid < self.num_fn)))
        self.posts.append((self.offered, self.cycle, cid))
        self.quiet = 0

    def check(self) -> None:
        assert not self.inside and not self.to_send and not self.irqs
        assert self.errors == self.errors_expected
        assert len(self.free) == self.num_cmds


def others(b: Bench, want: int, queues: list[int]) -> Callable[[], None]:
    """A host that keeps commands coming to some submission queues and reads what comes back, now and then."""
    sent = [0]

    def policy() -> None:
        admin = sum(c.slot < 0 for c in [*b.inside.values(), *b.to_send])
        if sent[0] < want and len(b.to_send) < 4:
            sqid = b.rng.choice(queues)
            if (b.free if sqid else admin < ADMIN_CMDS) and b.cq_of[sqid] in b.cqs:
                b.command(sqid)
                sent[0] += 1
        if not b.doorbells and b.rng.random() < b.db_rate:
            ready = [q for q in {b.cq_of[s] for s in queues} if b.cqs[q].used()]
            if ready:
                b.read(b.rng.choice(ready), b.rng.choice([1, 1, 2, 100]))
            elif sent[0] < want and b.rng.random() < 0.02:
                b.rng.choice(ERRORS)(b)

    return policy


ERRORS: list[Callable[[Bench], None]] = [
    lambda b: b.ring(b.num_qp + 1, 0),
    lambda b: b.ring(511, 0),
    lambda b: b.ring(1, b.cqs[1].size),
    lambda b: b.ring(1, 0xFFFF),
    lambda b: b.ring(1, 0, fn=3),
]


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
