# SPDX-License-Identifier: Apache-2.0
"""db_ssd_cq with several functions: entries say the queue as the function's host calls it, INTx is the PF's alone, and
what happens to one function's queues changes nothing of the others'.

Queues are numbered through: the admin queue of the function at place p is queue p; I/O queues belong to functions in
turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.triggers import FallingEdge
from functions import number, place_of
from ssd_cq_bench import LATENCY, Bench

ADMIN_MAX = 8  # admin commands of a function


class Functions(Bench):
    def __init__(self, dut: Any, seed: int = 0) -> None:
        super().__init__(dut, seed)
        self.owner = {q: q if q < self.num_fn else (q - self.num_fn) % self.num_fn for q in self.numbers}
        self.local = {q: 0 if q < self.num_fn else 1 + (q - self.num_fn) // self.num_fn for q in self.numbers}
        self.by_host = {(number(self.owner[q]), self.local[q]): q for q in self.numbers}

    def fn_of(self, sqid: int) -> int:
        return number(self.owner[sqid])

    def host_qid(self, sqid: int) -> int:
        return self.local.get(sqid, 0)

    def called(self, fn: int, qid: int) -> int:
        assert (fn, qid) in self.by_host, f"function {fn} has no queue {qid}"
        return self.by_host[fn, qid]

    def doorbell(self, qid: int, fn: int) -> dict[str, int]:
        """fn: a bad doorbell, of that function for its queue `qid`, which it has not."""
        if fn:
            return {"fn": fn, "qid": qid, "number": self.rng.choice(self.numbers), "exists": 0}
        return {"fn": self.fn_of(qid), "qid": self.local[qid], "number": qid, "exists": 1}

    def counts(self, qid: int) -> bool:
        return self.owner[qid] == 0

    def of(self, place: int) -> list[int]:
        return [q for q in self.numbers if self.owner[q] == place]

    async def begin(self, *sizes: int, ien: float = 0.7) -> None:
        """All queues, each I/O queue with a completion queue of its function."""
        await self.start()
        for q in self.numbers:
            self.cq_of[q] = q if q < self.num_fn else self.rng.choice(self.of(self.owner[q])[1:])
            self.create(q, self.rng.choice(sizes), self.rng.random() < ien)
        await self.settle()

    def hosts(self, want: int, places: list[int], reads: float = 0.3) -> Callable[[], None]:
        """Hosts of functions keep commands coming, read what comes back, and ring for queues that they have not."""
        left = [want]
        queues = [q for p in places for q in self.of(p)]

        def policy() -> None:
            if left[0] and len(self.to_send) < 4:
                sqid = self.rng.choice(queues)
                inside = Counter(c.sqid for c in [*self.inside.values(), *self.to_send])
                if self.free if sqid >= self.num_fn else inside[sqid] < ADMIN_MAX:
                    self.command(sqid)
                    left[0] -= 1
            if not self.doorbells and self.rng.random() < reads:
                ready = [q for q in queues if q in self.cqs and self.cqs[q].used()]
                if self.rng.random() < 0.02:
                    fn = number(self.rng.randrange(self.num_fn)) or number(self.num_fn)
                    self.ring(self.rng.choice((100, 511)), self.rng.randrange(2), fn=fn)
                elif ready:
                    self.read(self.rng.choice(ready), self.rng.choice([1, 1, 2, 100]))

        return policy

    async def empty(self) -> None:
        """The hosts read all, until nothing is inside."""
        self.policy = self.hosts(0, list(range(self.num_fn)))
        for _ in range(20_000):
            if not self.inside and not self.to_send and not any(q.used() for q in self.cqs.values()):
                break
            await self.step()
        self.policy = None
        await self.settle()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def entries_name_the_hosts_queue(dut: Any) -> None:
    """Traffic of all functions, with stalls: every command has one entry, in its function's memory, with the identifier
    that its host gave the queue; interrupts are its function's; INTx is asserted for entries of the PF alone."""
    b = Functions(dut)
    await b.begin(2, 3, 5, 17)
    for _ in range(4):
        b.cpl_rate, b.post_rate, b.irq_rate, b.db_rate = (b.rng.choice([0.1, 0.5, 1.0, 1.0]) for _ in range(4))
        before = len(b.posts)
        b.policy = b.hosts(300, list(range(b.num_fn)))
        await b.posted(before + 300)
        await b.empty()
        b.check()
    assert len(b.errors) > 5 and all(q.got for qid, q in b.cqs.items() if qid in b.cq_of.values())


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def intx_counts_the_pfs_queues_alone(dut: Any) -> None:
    """Entries of VFs, with interrupts enabled and unread, do not assert it, and do not keep it asserted."""
    b = Functions(dut, 1)
    await b.begin(8, ien=1.0)
    for q in [*range(1, b.num_fn), *(b.of(b.num_fn - 1))]:
        b.command(q)
    await b.settle()
    assert len(b.posts) >= b.num_fn - 1 and dut.any_entries.value == 0
    for q in b.of(0):
        b.command(q)
        await b.settle()
        assert dut.any_entries.value == 1
        b.read(b.cq_of[q], 1)
        await b.settle()
        assert dut.any_entries.value == 0
    await b.empty()
    b.check()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_function_that_reads_nothing_holds_nobody_up(dut: Any) -> None:
    """One function's queues are full and its commands wait, as many as it may have: the others lose no cycle."""
    b = Functions(dut, 2)
    await b.begin(2, ien=0.0)
    dead = b.num_fn - 1
    for q in range(b.num_fn):
        if q != dead:
            b.delete(q)
            b.create(q, 64, False)
    await b.settle()
    await b.fill(dead, 0)
    for _ in range(ADMIN_MAX):
        b.command(dead)
    sqid = b.of(dead)[1]
    while len(b.free) > 1:
        b.command(sqid)
    await b.settle()
    assert len(b.inside) == ADMIN_MAX + b.num_cmds - 2  # one has an entry
    start = len(b.posts)
    for i in range(40):
        b.command(i % dead)
        if len(b.to_send) == 4:
            await b.posted(start + i - 2)
        if i % 8 == 7:
            for p in range(dead):
                b.read(p, 9)
    await b.posted(start + 40)
    offered = [o for o, _, _ in b.posts[start:]]
    # A head doorbell has all that are parked with its queue try again, one between two of others.
    assert offered[-1] - offered[0] <= 40 * 8 + 40, "the others wait"
    await b.empty()
    b.check()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def doorbells_of_a_full_queue_cost_its_owner_alone(dut: Any) -> None:
    """A host writes the head of its full queue again and again, so that all that waits for it tries again: every other
    entry is still another function's, and the firmware can delete the queue."""
    b = Functions(dut, 6)
    await b.begin(2, ien=0.0)
    bad, good = b.of(1)[1], 0
    b.cq_of[bad] = bad
    b.delete(good)
    b.create(good, 1024, False)
    await b.settle()
    await b.fill(bad, b.num_cmds - 2)
    attacks = [True]

    def attack() -> None:
        if attacks[0] and b.cycle % 6 == 0 and not b.doorbells:
            b.ring(bad, b.cqs[bad].head)  # legal: it says nothing new

    b.policy = attack
    start, since, sent = len(b.posts), b.cycle, 0
    while len(b.posts) < start + 40:
        if sent < 40 and len(b.to_send) < 2 and sum(c.sqid == good for c in b.inside.values()) < ADMIN_MAX:
            b.command(good)
            sent += 1
        await b.step()
        assert b.cycle - since <= 40 * 12, f"{len(b.posts) - start} entries in {b.cycle - since} cycles"
    since = b.cycle
    b.delete(bad)
    while b.qc:
        await b.step()
        assert b.cycle - since <= 60, "the queue cannot be deleted"
    attacks[0] = False
    b.create(bad, 2)
    await b.empty()
    b.check()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def one_functions_queues_go(dut: Any) -> None:
    """All queues of a function are deleted in traffic: what was parked for it ends without an entry, the others'
    entries stay complete; its queues come again and begin at 0."""
    b = Functions(dut, 3)
    await b.begin(2, 3)
    all_places = list(range(b.num_fn))
    for _ in range(9):
        place = b.rng.randrange(b.num_fn)
        b.post_rate = b.rng.choice([0.5, 1.0])
        b.policy = b.hosts(60 + 6 * b.num_fn, all_places, reads=0.03)
        await b.run(250 + 20 * b.num_fn)
        b.policy = b.hosts(60, [p for p in all_places if p != place], reads=0.1)
        while any(b.owner[c.sqid] == place for c in b.to_send) or any(
            place_of(d["fn"], b.num_fn) == place for d, _ in b.doorbells
        ):
            await b.step()
        for q in b.of(place):  # submission queues first, as the firmware does
            b.sq_gone.add(q)
            dut.sq_deleted.value = 0
            await b.step()
            dut.sq_deleted.value = 1
            await b.step()
            dut.sq_deleted.value = 0
            await b.run(b.rng.randrange(3))
        for q in b.of(place):
            b.delete(q)
        while b.qc or b.held is not None:
            await b.step()
        for _ in range(8 * (b.num_cmds + ADMIN_MAX * b.num_fn)):  # all that are parked try again, others between them
            if not any(b.owner[c.sqid] == place for c in b.inside.values()):
                break
            await b.step()
        assert not any(b.owner[c.sqid] == place for c in b.inside.values()), "commands of the function keep their slots"
        for q in b.of(place):
            b.sq_gone.discard(q)
            b.create(q, b.rng.choice([2, 3]), b.rng.random() < 0.7)
        while b.qc:
            await b.step()
    b.post_rate = 1.0
    await b.empty()
    b.check()
    assert len(b.dropped) > 10, "nothing was ever parked when its queue went"


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def bad_doorbells_name_function_and_queue(dut: Any) -> None:
    b = Functions(dut, 4)
    await b.begin(5)
    for place in range(b.num_fn):
        q = b.rng.choice(b.of(place))
        b.ring(q, 5)
        b.ring(q, 0xFFFF)
        if place:
            b.ring(77, 1, fn=number(place))
        await b.settle()
        b.delete(q)
        await b.settle()
        b.ring(q, 0)
        await b.settle()
    b.check()
    assert [f for _, f, _ in b.errors] == [number(p) for p in range(b.num_fn) for _ in range(4 if p else 3)]


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def latency_is_that_of_one_function(dut: Any) -> None:
    b = Functions(dut, 5)
    await b.begin(8)
    for q in b.numbers:
        c = b.command(q)
        await b.settle()
        offered, _, cid = b.posts[-1]
        assert cid == c.cid and offered - b.taken[cid] == LATENCY
    await FallingEdge(dut.clk)


@pytest.mark.parametrize(("num_fn", "num_qp", "num_cmds"), [(3, 7, 16), bench.rare(17, 34, 128)])
def test_db_ssd_cq_functions(num_fn: int, num_qp: int, num_cmds: int) -> None:
    values = {"NUM_FN": num_fn, "NUM_QP": num_qp, "NUM_CMDS": num_cmds}
    env = {name: str(value) for name, value in values.items()}
    bench.run(__file__, "db_ssd_cq", {**values, "ADMIN_CMDS": num_fn * ADMIN_MAX}, env=env)
