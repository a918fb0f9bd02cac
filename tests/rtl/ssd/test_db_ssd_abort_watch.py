# SPDX-License-Identifier: Apache-2.0
"""db_ssd_abort_watch against a model: of the entries up to the tail that was given, the one with the identifier is
marked, once, and no later one is. What ends a watch: its entries, the firmware, the queue's end; no other queue's."""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from rtl_bench import run
from structs import layout

SQE = layout("db_ssd_pkg", "fetched_sqe_t")
SIZE = 16  # entries of each queue


class Queue:
    def __init__(self) -> None:
        self.head = self.tail = 0
        self.cids: list[int] = []


@cocotb.test()
async def marks_what_the_queue_held(dut):
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    rng = random.Random(4)
    for name in ("s_begin", "s_watch", "s_end", "s_queue_valid", "s_sqid", "s_cid", "s_tail", "s_sqe_take", "s_sqe",
                 "s_head_valid", "s_head_sqid", "s_head"):  # fmt: skip
        getattr(dut, name).value = 0
    dut.rst.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    queues = {q: Queue() for q in (1, 2, 3)}
    ends = {"caught": 0, "gone by": 0, "replaced": 0, "failed": 0, "told to": 0}
    ends |= {"queue gone": 0, "other queue": 0}
    watch = None  # (queue, identifier, entries left of those that it held), and whether one has been marked
    marked = failed = False
    for _ in range(40_000):
        await RisingEdge(dut.clk)  # an even cycle: entries are two apart
        dut.s_sqe_take.value = 0
        head = None
        for q in queues.values():  # the host
            while len(q.cids) < SIZE - 1 and rng.random() < 0.3:
                q.cids.append(rng.randrange(40))
                q.tail = (q.tail + 1) % SIZE
        if rng.random() < 0.02:
            what = rng.choice(["replaced", "told to", "queue"])
            sqid, cid = rng.choice([*queues]), rng.randrange(40)
            q = queues[sqid]
            begin = what == "replaced"
            ask = begin and bool(q.cids)
            dut.s_begin.value, dut.s_watch.value, dut.s_end.value = begin, ask, what == "told to"
            dut.s_queue_valid.value = what == "queue"
            dut.s_sqid.value, dut.s_cid.value, dut.s_tail.value = sqid, cid, q.tail
            if watch is not None:
                if what == "queue":
                    what = "queue gone" if watch[0] == sqid else "other queue"
                ends[what] += 1
            if what == "queue gone":
                q.cids.clear()
                q.head = q.tail = 0
            if what not in ("queue", "other queue"):
                watch = (sqid, cid, len(q.cids)) if ask else None
            if begin:
                marked = failed = False
            await RisingEdge(dut.clk)
            dut.s_begin.value = dut.s_end.value = dut.s_queue_valid.value = 0
            await RisingEdge(dut.clk)
            assert bool(dut.watching.value) == (watch is not None)
            if watch is None:
                assert bool(dut.caught.value) == marked, "what was marked before stays marked"
            continue
        sqid = rng.choice([*queues])
        q = queues[sqid]
        if q.cids and rng.random() < 0.5:
            cid, err = q.cids.pop(0), int(rng.random() < 0.03)
            q.head = (q.head + 1) % SIZE
            dut.s_sqe.value = SQE.pack(sqid=sqid, head=q.head, err=err, sqe=cid << 16)
            dut.s_sqe_take.value = 1
            head = (sqid, q.head)
            want = watch is not None and watch[:2] == (sqid, cid)
        await RisingEdge(dut.clk)
        if head is not None:
            assert bool(dut.m_abort.value) == want
            dut.s_head_valid.value, dut.s_head_sqid.value, dut.s_head.value = 1, *head
            if watch is not None and watch[0] == sqid:
                watch = (*watch[:2], watch[2] - 1)
                marked, failed = marked or (want and not err), want and bool(err)
                if marked or watch[2] == 0:
                    ends["caught" if marked else "failed" if failed else "gone by"] += 1
                    watch = None
        dut.s_sqe_take.value = 0
        await RisingEdge(dut.clk)
        dut.s_head_valid.value = 0
        await RisingEdge(dut.clk)
        assert bool(dut.watching.value) == (watch is not None)
        if watch is None:
            assert bool(dut.caught.value) == marked
    assert min(n for end, n in ends.items() if end != "failed") > 10, ends


def test_db_ssd_abort_watch() -> None:
    run(__file__, "db_ssd_abort_watch", {})
