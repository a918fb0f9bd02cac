# SPDX-License-Identifier: Apache-2.0
"""A host's view of completion queues (NVMe Base 2.0, 3.3.3.2 and 4.2.4) around db_ssd_cq."""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cocotb
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
