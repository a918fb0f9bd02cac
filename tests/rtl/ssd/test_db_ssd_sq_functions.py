# SPDX-License-Identifier: Apache-2.0
"""db_ssd_sq with several functions: admin queues take turns, each has its limit, and what is another's stays as it is.

Queues are numbered through: the admin queue of the function at place p is queue p, I/O queues come after those, and
here they belong to the functions in turn. The firmware takes admin entries out of its ring in the order in which they
were requested; a command may be over only after that.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.triggers import FallingEdge, RisingEdge
from functions import number
from structs import layout
from test_db_ssd_sq import ADMIN_CMDS, DOORBELL, FETCH_MAX, QUEUE_CTX, Bench

ADMIN_MAX = 8
SQ_LOOKUP = layout("db_ssd_pkg", "sq_lookup_t")
FETCH_USER = layout("db_ssd_pkg", "fetch_user_t")


class Functions(Bench):
    def __init__(self, dut: Any, taken: float = 0.5) -> None:
        super().__init__(dut)
        self.num_fn = int(os.environ["NUM_FN"])
        self.numbers = range(self.num_fn + self.num_qp)
        self.owner = {q: q if q < self.num_fn else (q - self.num_fn) % self.num_fn for q in self.numbers}
        self.host_qid = {q: 0 if q < self.num_fn else 1 + (q - self.num_fn) // self.num_fn for q in self.numbers}
        self.taken = taken  # how often the firmware takes an entry out of its ring
        self.lost = 0.0  # ... and decode drops one that could not be read
        self.ring_of_firmware: deque[int] = deque()  # admin queues of entries that were requested and not taken
        self.with_firmware: Counter[int] = Counter()  # ... taken, and not over
        self.most_in_ring = 0
        self.gone: set[int] = set()  # deleted
        self.on_its_way: int | None = None  # the queue of a request that was on offer when that was deleted
        self.lookup = False  # look queues up at random, and compare
        self.deletions = 0
        self.heads: dict[int, int | None] = {}  # told by decode, which it is before anybody asks

    async def start(self) -> None:
        await super().start()
        cocotb.start_soon(self.count_deletions())
        cocotb.start_soon(self.looks())

    async def count_deletions(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            self.deletions += int(self.dut.deleted.value)

    async def looks(self) -> None:
        """What the completion engine hears of a queue: where it reports to, its head, and how its host calls it."""
        d, rng = self.dut, self.rng
        while True:
            await FallingEdge(d.clk)
            d.s_head_valid.value = 0
            if not self.lookup:
                continue
            q = rng.choice(self.numbers)
            alive = q in self.size and q not in self.gone
            if alive and rng.random() < 0.5:
                self.heads[q] = rng.getrandbits(16)
                d.s_head_valid.value, d.s_head_sqid.value, d.s_head.value = 1, q, self.heads[q]
                await FallingEdge(d.clk)
                d.s_head_valid.value = 0
            d.sq_lookup_sqid.value = q
            await FallingEdge(d.clk)
            if alive != (q in self.size and q not in self.gone):
                continue  # it came or went meanwhile
            got = SQ_LOOKUP.unpack(int(d.sq_lookup.value))
            assert got["valid"] == int(alive), f"queue {q}"
            if alive:
                assert (got["cqid"], got["host_qid"]) == (q, self.host_qid[q]), f"queue {q}: {got}"
                assert self.heads[q] in (None, got["head"]), f"queue {q}: {got}"

    # ---- the firmware
    def firmware(self) -> None:
        loses = bool(self.ring_of_firmware) and self.rng.random() < self.lost
        if loses:  # never in the ring; its function has it inside until its queue is made anew
            self.ring_of_firmware.popleft()
        takes = bool(self.ring_of_firmware) and self.rng.random() < self.taken
        if takes:
            self.with_firmware[self.ring_of_firmware.popleft()] += 1
        self.dut.s_admin_taken.value, self.dut.s_admin_lost.value = int(takes), int(loses)

    def forget(self, place: int) -> None:
        """The firmware does not answer what it keeps of a function that it turned off, nor does who lost it."""
        assert place not in self.ring_of_firmware
        self.open = deque(q for q in self.open if q != place)
        self.with_firmware[place] = 0

    def may_end(self, qid: int) -> bool:
        return qid not in self.unread and (qid >= self.num_fn or self.with_firmware[qid] > 0)

    def end(self, at: int) -> None:
        self.with_firmware[self.open[at]] -= 1
        super().end(at)

    # ---- requests
    def request(self, segment: dict[str, int], user: dict[str, int]) -> None:
        q, index, size = user["sqid"], user["index"], user["size"] + 1
        count, rest = divmod(segment["len"], 64)
        fn = number(self.owner[q])
        assert (segment["fn"], user["fn"]) == (fn, fn), f"queue {q} is function {fn}'s: {segment['fn']}, {user['fn']}"
        assert (segment["first"], segment["last"], segment["drop"]) == (1, 1, 0)
        if q in self.gone:
            assert self.on_its_way == q, f"request of queue {q}, which is deleted"
            self.on_its_way = None
        assert rest == 0 and 1 <= count <= FETCH_MAX and size == self.size[q]
        assert index == self.head[q], f"queue {q}: entry {index}, expected {self.head[q]}"
        assert count <= (self.tail[q] - index) % size and index + count <= size
        assert segment["addr"] == self.base[q] + 64 * index
        self.head[q] = (index + count) % size
        self.requests.append((q, count))
        self.open.extend([q] * count)
        if q < self.num_fn:
            self.ring_of_firmware.extend([q] * count)
        self.most_in_ring = max(self.most_in_ring, len(self.ring_of_firmware))
        assert len(self.ring_of_firmware) <= ADMIN_CMDS, "more entries than the firmware's ring has places"
        inside = Counter(self.open)
        assert all(inside[p] <= ADMIN_MAX for p in range(self.num_fn)), f"admin commands of one function: {inside}"
        assert sum(n for p, n in inside.items() if p >= self.num_fn) <= self.num_cmds, "more entries than slots"
        assert q < self.num_fn or inside[q] <= self.queue_max

    # ---- what the host and the firmware do
    async def create(self, qid: int, size: int, prio: int = 0) -> None:
        self.base[qid] = self.rng.getrandbits(52) << 12
        context = QUEUE_CTX.pack(
            kind="QUEUE_SQ", valid=1, qid=qid, base=self.base[qid], size=size - 1, cqid=qid, prio=prio,
            fn=number(self.owner[qid]), host_qid=self.host_qid[qid])  # fmt: skip
        await self.send("s_queue_ctx", s_queue_ctx=context)
        await RisingEdge(self.dut.clk)  # ST_CTX: it exists from here on
        self.size[qid], self.tail[qid], self.head[qid], self.heads[qid] = size, 0, 0, None
        self.gone.discard(qid)

    async def create_all(self, *sizes: int) -> None:
        for q in self.numbers:
            await self.create(q, self.rng.choice(sizes))

    async def delete(self, qid: int) -> None:
        context = QUEUE_CTX.pack(kind="QUEUE_SQ", qid=qid, fn=number(self.owner[qid]), host_qid=self.host_qid[qid])
        await self.send("s_queue_ctx", s_queue_ctx=context)
        self.gone.add(qid)
        offered = FETCH_USER.unpack(int(self.dut.m_fetch_user.value))["sqid"]
        self.on_its_way = qid if self.dut.m_fetch_valid.value == 1 and offered == qid else None

    async def ring(self, qid: int, tail: int) -> None:
        self.tail[qid] = tail
        await self.doorbell(self.owner[qid], self.host_qid[qid], tail, qid)

    async def doorbell(self, place: int, qid: int, value: int, queue: int, exists: int = 1) -> None:
        """A doorbell as db_ssd_bar hands it on: function and queue as the host named them, and which queue it is."""
        word = DOORBELL.pack(fn=number(place), qid=qid, number=queue, exists=exists, value=value)
        await self.send("s_doorbell", s_doorbell=word)

    async def settle(self, cycles: int = 100_000) -> None:
        left: list[tuple[int, int, int]] = []
        for _ in range(cycles):
            await FallingEdge(self.dut.clk)
            if not self.open and self.dut.idle.value == 1:
                left = [(q, self.head[q], self.tail[q]) for q in self.tail if q not in self.gone]
                if all(head == tail for _, head, tail in left):
                    return
        raise AssertionError(f"entries left: {left}, {Counter(self.open)} not over")

    async def clocks(self, cycles: int) -> None:
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)

    async def inflight(self, queue: int) -> bool:
        """What the firmware hears in the end when it asks whether a queue still holds anything: it may, while
        another is at work."""
        self.dut.sq_select.value = queue
        await self.clocks(4)
        for _ in range(200):
            await RisingEdge(self.dut.clk)
            if self.dut.sq_inflight.value == 0:
                return False
        return True

    def requested(self, queue: int) -> int:
        return sum(n for q, n in self.requests if q == queue)

    async def cycles_until_requested(self, queue: int) -> int:
        """Adds an entry to a queue and waits until it is requested, with others maybe: cycles from its doorbell."""
        before = self.head[queue], self.requested(queue)
        waiting = (self.tail[queue] - before[0]) % self.size[queue]
        await self.ring(queue, (self.tail[queue] + 1) % self.size[queue])
        cycles = 0
        while self.requested(queue) <= before[1] + waiting:
            await RisingEdge(self.dut.clk)
            cycles += 1
            assert cycles < 2000, f"queue {queue} waits for ever"
        return cycles


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def every_functions_entries_once_in_order(dut: Any) -> None:
    """Any queues, any function, stalls; requests carry their queue's function; who looks a queue up hears its own."""
    b = Functions(dut)
    await b.start()
    b.ready, b.lookup = 0.7, True
    await b.create_all(2, 3, 16, 65, 200)
    added = 0
    for step in range(700):
        b.taken = (0.5, 0.02)[step // 50 % 2]
        q = b.rng.randrange(b.num_fn) if b.rng.random() < 0.4 else b.rng.choice(b.numbers)
        added += await b.add(q, b.rng.choice([1, 1, 2, 7, 64]))
    b.taken = 0.5
    await b.settle()
    assert sum(n for _, n in b.requests) == added and int(dut.cmds_inflight.value) == 0 and not b.errors
    assert all(b.requested(q) for q in b.numbers)


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize((("burst", "taken"), [(0, 1.0), (7, 1.0), (7, 0.05)]))
async def admin_queues_take_turns(dut: Any, burst: int, taken: float) -> None:
    """All have a deep backlog: each has one turn in as many as there are functions. With all of their commands inside
    it is the firmware that gives turns: none is more than its limit ahead."""
    b = Functions(dut, taken)
    await b.start()
    b.arbitrate(burst=burst)
    b.complete = 1.0
    dut.run.value = 0
    for p in range(b.num_fn):
        await b.create(p, 1024)
        await b.ring(p, 1000)
    dut.run.value = 1
    count = 20 * b.num_fn
    while len(b.requests) < count:
        await RisingEdge(dut.clk)
        served = Counter(q for q, n in b.requests for _ in range(n))
        assert max(served.values(), default=0) - min(served[p] for p in range(b.num_fn)) <= 2 * ADMIN_MAX, served
    if burst == 0:
        turns, n = [q for q, _ in b.requests[:count]], b.num_fn
        assert all(sorted(turns[i : i + n]) == list(range(n)) for i in range(0, count - n, n)), turns


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def functions_that_have_all_of_their_own_hold_nobody_up(dut: Any) -> None:
    """Commands that the firmware keeps (event requests) are each function's limit at most, whatever waits behind: with
    all VFs at theirs the PF's admin commands go on as if they were not there, and so does I/O of all."""
    b = Functions(dut, 1.0)
    await b.start()
    b.complete = 1.0
    await b.create_all(64)
    dead = range(1, b.num_fn)
    b.unread = set(dead)
    for p in dead:
        await b.ring(p, 60)
    await b.clocks(100 * b.num_fn)
    assert [b.requested(p) for p in dead] == [ADMIN_MAX] * len(dead), "each has its limit, and no more"
    for _ in range(40):
        q = b.rng.choice([q for q in b.numbers if q not in dead])
        if b.rng.random() < 0.3:
            await b.add(b.rng.choice(dead), 1)
        for asked in (0, q):
            assert await b.cycles_until_requested(asked) <= 20, f"queue {asked} waits"
        await b.clocks(b.rng.randrange(12))
    assert [b.requested(p) for p in dead] == [ADMIN_MAX] * len(dead)
    # ... and one that is over lets one in
    b.unread.clear()
    await b.settle()
    assert all(b.requested(p) >= 60 for p in dead)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def the_firmwares_ring_never_overflows(dut: Any) -> None:
    """The firmware takes nothing: the functions together get what its ring holds, I/O goes on; then one for each that
    it takes, until each function has its limit inside."""
    b = Functions(dut, 0.0)
    await b.start()
    await b.create_all(64)
    for p in range(b.num_fn):
        await b.ring(p, 60)
        await b.clocks(30)
    await b.clocks(300)
    assert sum(b.requested(p) for p in range(b.num_fn)) == b.most_in_ring == ADMIN_CMDS
    for q in b.numbers[b.num_fn :]:
        assert await b.cycles_until_requested(q) <= 20, f"I/O queue {q} waits for the firmware"
    b.complete = 0.0
    for taken in range(1, 30):
        before = [b.requested(p) for p in range(b.num_fn)]
        b.taken = 1.0
        await FallingEdge(dut.clk)
        b.taken = 0.0
        await b.clocks(30)
        if all(b.open.count(p) == ADMIN_MAX for p in range(b.num_fn)):
            break
        if len(b.ring_of_firmware) < ADMIN_CMDS:  # every function that is below its limit has been asked
            full = [p for p in range(b.num_fn) if b.open.count(p) == ADMIN_MAX]
            assert len(full) == b.num_fn, f"{taken}: a place in the ring stays empty: {before}"
    b.taken, b.complete = 0.5, 0.5
    await b.settle()
    assert b.most_in_ring == ADMIN_CMDS and all(b.requested(p) == 60 for p in range(b.num_fn))


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def admin_commands_give_no_slots(dut: Any) -> None:
    """After many admin commands of all functions I/O has the slots that it had: two queues with deep backlogs get all
    that are shared and their own, not those that are kept for queues that have none and for other functions."""
    b = Functions(dut)
    await b.start()
    b.complete = 0.2
    await b.create_all(200)
    for _ in range(4):
        for p in range(b.num_fn):
            await b.ring(p, (b.tail[p] + 30) % 200)
        await b.settle()
    b.complete = 0.0
    first, second, third = b.numbers[b.num_fn :][:3]
    for q in (first, second):
        await b.ring(q, 150)
    await b.clocks(30 * b.num_cmds)
    guaranteed = max(1, b.num_cmds // 4 // b.num_fn)
    kept = b.reserved - 2 + (b.num_fn - 2) * guaranteed
    assert b.requested(first) + b.requested(second) == b.num_cmds - kept
    assert await b.cycles_until_requested(third) <= 20, "a queue that has none finds no slot"
    b.complete = 0.5
    await b.settle()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def one_functions_queues_go_and_come(dut: Any) -> None:
    """In traffic of all, with its entries half fetched or not at all: the queues of a function are deleted, later they
    come again and begin at 0. The others' entries stay once and in order, their lookups true."""
    b = Functions(dut)
    await b.start()
    b.ready, b.complete = 0.8, 0.3
    await b.create_all(16, 65)
    b.lookup = True
    added = 0
    expected = 0

    async def traffic(steps: int, without: int | None) -> int:
        n = 0
        for _ in range(steps):
            b.taken = b.rng.choice((0.02, 0.5))
            q = b.rng.choice([q for q in b.numbers if b.owner[q] != without])
            n += await b.add(q, b.rng.choice([1, 2, 7, 40]))
        return n

    for round_ in range(12):
        added += await traffic(b.rng.randrange(10, 60), None)
        place = b.rng.randrange(b.num_fn)
        if round_ % 3 == 0:  # its admin commands wait for a place in the ring
            b.taken = 0.0
            await b.clocks(100)
            added += await b.add(place, 60)
        mine = [q for q in b.numbers if b.owner[q] == place]
        for q in b.rng.sample(mine, len(mine)):
            await b.delete(q)
            expected += 1
        if b.on_its_way is not None:
            await b.clocks(20)
        await b.clocks(2)
        added -= sum((b.tail[q] - b.head[q]) % b.size[q] for q in mine)  # nobody wants them any more
        added += await traffic(40, place)
        b.taken = 0.5
        while place in b.ring_of_firmware:
            await RisingEdge(dut.clk)
        b.lost = 0.0
        if round_ % 2:
            await b.clocks(3)
            b.forget(place)
        while any(b.open.count(q) for q in mine):
            await RisingEdge(dut.clk)
        assert b.deletions == expected
        if not round_ % 2:
            await b.clocks(10)
            assert not any([await b.inflight(q) for q in mine]), "the firmware waits for queues that are empty"
        for q in mine:
            await b.create(q, b.rng.choice([2, 16, 65]))
    await b.settle()
    assert sum(n for _, n in b.requests) == added and not b.errors


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def what_cannot_be_read_costs_its_function_alone(dut: Any) -> None:
    """Admin entries of one function cannot be read, again and again: until its queue is made anew it has fewer
    commands, the ring has as many places as ever, and the others have theirs."""
    b = Functions(dut, 0.0)
    await b.start()
    await b.create_all(64)
    bad = b.num_fn - 1
    for _ in range(6):
        await b.ring(bad, 5)
        while b.requested(bad) % 5 or bad not in b.open:
            await RisingEdge(dut.clk)
        await b.clocks(5)
        b.lost = 1.0
        while b.ring_of_firmware:
            await RisingEdge(dut.clk)
        await b.clocks(2)
        b.lost = 0.0
        await b.ring(bad, 25)
        await b.clocks(60)
        assert b.open.count(bad) == ADMIN_MAX, "lost ones are still its own"
        b.taken = 1.0
        while b.ring_of_firmware:
            await RisingEdge(dut.clk)
        assert all([await b.cycles_until_requested(p) <= 20 for p in range(bad)])
        await b.delete(bad)
        await b.clocks(5)
        b.forget(bad)
        b.taken = 0.0
        while b.ring_of_firmware or any(p in b.open for p in range(b.num_fn)):
            b.taken = 1.0
            await RisingEdge(dut.clk)
        b.taken = 0.0
        await b.create(bad, 64)
        for p in (bad, *range(min(bad, 1))):  # two functions have all that the ring holds
            await b.ring(p, (b.tail[p] + 20) % 64)
        await b.clocks(100)
        assert b.open.count(bad) == ADMIN_MAX and len(b.ring_of_firmware) == ADMIN_CMDS
        b.taken = 0.5
        await b.delete(bad)
        while b.open:
            await RisingEdge(dut.clk)
        b.taken = 0.0
        await b.create(bad, 64)
        b.requests.clear()
    b.taken = 0.5
    await b.settle()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def doorbells_that_mean_no_queue_name_function_and_queue(dut: Any) -> None:
    """What a function has not, has not yet or has no more is its own error, and nobody's entry."""
    b = Functions(dut)
    await b.start()
    await b.create_all(16)
    io = {p: next(q for q in b.numbers if q >= b.num_fn and b.owner[q] == p) for p in range(min(b.num_fn, b.num_qp))}
    want = []
    for place in range(b.num_fn):
        live = b.rng.choice(b.numbers)  # its number may be that of another's queue: it does not count
        await b.doorbell(place, 200, 3, live, exists=0)
        want.append((0, number(place), 200))
        await b.doorbell(place, 0, 16, place)  # outside of its admin queue
        want.append((1, number(place), 0))
    for place, q in io.items():
        await b.doorbell(place, b.host_qid[q], 0xFFFF, q)
        want.append((1, number(place), b.host_qid[q]))
        await b.delete(q)
        await b.doorbell(place, b.host_qid[q], 1, q)
        want.append((0, number(place), b.host_qid[q]))
    await b.delete(1)
    await b.doorbell(1, 0, 1, 1)
    want.append((0, number(1), 0))
    await b.clocks(30)
    assert b.errors == want and not b.requests
    assert all([await b.cycles_until_requested(q) <= 5 for q in (0, 2)]), "the others are not as they were"
    dut.run.value = 0  # nobody hears of it while nothing runs
    await b.doorbell(1, 0, 1, 1)
    await b.doorbell(2, 200, 1, 0, exists=0)
    await b.clocks(10)
    assert b.errors == want


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def latency_is_that_of_one_function(dut: Any) -> None:
    """Doorbell to request in 4 cycles, of any function's admin and I/O queues."""
    b = Functions(dut)
    await b.start()
    await b.create_all(64)
    for q in b.numbers:
        await b.settle()
        await b.clocks(b.rng.randrange(4))
        await FallingEdge(dut.clk)
        b.tail[q] = 1
        dut.s_doorbell.value = DOORBELL.pack(
            fn=number(b.owner[q]), qid=b.host_qid[q], number=q, exists=1, value=1)  # fmt: skip
        dut.s_doorbell_valid.value = 1
        await RisingEdge(dut.clk)
        assert dut.s_doorbell_ready.value == 1
        await FallingEdge(dut.clk)
        dut.s_doorbell_valid.value = 0
        cycles = 1
        while dut.m_fetch_valid.value != 1:
            await FallingEdge(dut.clk)
            cycles += 1
        assert cycles == 4, f"queue {q}: {cycles}"


@pytest.mark.parametrize(("num_fn", "num_qp", "num_cmds"), [(3, 7, 64), bench.rare(17, 34, 128)])
def test_db_ssd_sq_functions(num_fn: int, num_qp: int, num_cmds: int) -> None:
    values = {"NUM_FN": num_fn, "NUM_QP": num_qp, "NUM_CMDS": num_cmds}
    env = {name: str(value) for name, value in {**values, "SEED": num_fn}.items()}
    bench.run(__file__, "db_ssd_sq", {**values, "ADMIN_CMDS": ADMIN_CMDS, "ADMIN_MAX": ADMIN_MAX}, env=env)
