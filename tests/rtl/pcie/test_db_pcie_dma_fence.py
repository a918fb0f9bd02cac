# SPDX-License-Identifier: Apache-2.0
"""The fence of db_pcie_dma with several functions: when it is over, nothing that a silent function had posted is on its
way to the link any more, nor in the hard block, where a completion could pass it, nor on its way to card memory. What
others send later is not waited for, and what the hard block drops only so long."""

from __future__ import annotations

import os
import random
from collections import deque
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from functions import number
from pcie_rq_model import RqWatch
from pcie_stream import PcieStream
from structs import layout

SEGMENT = layout("db_mem_pkg", "segment_t")
INFO = layout("db_mem_pkg", "row_info_t")
POST = layout("db_pcie_block_pkg", "post_t")
WINDOW = layout("db_pcie_block_pkg", "cmb_window_t")
SEQ = layout("db_pcie_pkg", "rq_seq_t")

NUM_FN = 3
WIDTH = int(os.environ.get("WIDTH", "256"))
CMB_LOG2 = int(os.environ.get("CMB_LOG2", "0"))
CMB_BASE = 1 << 40  # where every function's window is
PATIENCE_LOG2 = 8  # a cycle is a us here
INSIDE = 80 if CMB_LOG2 else 24  # TLPs at most that stand between the sources and the hard block, and that pass them
SLOW = 12  # cycles at most from the last report to the end of the fence
HEAD_TYPE, HEAD_FN = 64 + 11, 64 + 16  # in a descriptor: request type, function
WRITE = 1
HOLDS = 60  # writes that the hard block holds


class Bench:
    """Everybody around: a writer and a poster, both always with work, and a hard block that reports when it likes."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.rq = PcieStream(dut, "m_rq", "RQ", WIDTH)
        self.cmb = PcieStream(dut, "m_cmb", "CQ", WIDTH)
        self.cycle = 0
        self.speakers = list(range(NUM_FN))  # functions that find work
        self.silent: set[int] = set()
        self.gone: set[int] = set()  # nothing of them may be on its way
        self.stall, self.cmb_stall, self.reports, self.drops = 0.2, 0.2, 0.3, 0.0
        self.still_until = 0  # RQ stands still up to this cycle
        self.data = self.posts = True  # there is work for the writer, for the poster
        self.segs: deque[int] = deque()
        self.rows: deque[tuple[int, int]] = deque()
        self.post = 0
        self.head: int | None = None  # function of the packet that RQ is inside
        self.watch = RqWatch()  # 512 bits
        self.inside: deque[int] = deque()  # functions of writes in the hard block
        self.taken = self.left = 0  # writes that came there, and that have left it
        self.cmb_mid = False
        self.since = 0  # cycles since the last report
        self.sent = [0] * NUM_FN

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, unit="ns").start())
        for name in (
            "s_read_valid", "s_read", "s_seg_valid", "s_row_valid", "s_post_valid", "m_row_ready", "s_rc_valid", "s_rc",
            "stop", "hold", "silent", "fence", "s_rq_seq", "m_rq_ready", "m_cmb_ready", "s_cmb_valid", "cmb_set_valid",
            "cmb_clear", "time_us", "peer_stop", "s_peer_valid", "s_read_void", "s_write_void",
        ):  # fmt: skip
            getattr(d, name).value = 0
        d.m_done_ready.value, d.cfg_mps.value, d.cfg_mrrs.value = 1, 1, 2
        d.rst.value = d.link_rst.value = 1
        for _ in range(3):
            await FallingEdge(d.clk)
        d.rst.value = d.link_rst.value = 0
        for place in range(NUM_FN if CMB_LOG2 else 0):
            d.cmb_set_valid.value, d.cmb_set_place.value = 1, place
            d.cmb_set.value = WINDOW.pack(enable=1, base=CMB_BASE >> 12)
            await FallingEdge(d.clk)
        d.cmb_set_valid.value = 0

    def address(self) -> int:
        r = self.rng
        page = r.randrange(1, 99) << 12
        if CMB_LOG2 and r.random() < 0.5:
            page = CMB_BASE + (r.randrange(1 << CMB_LOG2 - 12) << 12)
        return page + 4 * r.randrange(512)

    def add(self) -> None:
        r = self.rng
        if self.data and self.speakers and len(self.segs) < 2:
            fn, dwords = number(r.choice(self.speakers)), r.choice([1, 4, 100, 300])
            seg = SEGMENT.pack(fn=fn, addr=self.address(), len=4 * dwords, first=1, last=1)
            self.segs.append(seg)
            for at in range(0, dwords, WIDTH // 32):
                self.rows.append((r.getrandbits(WIDTH), int(at + WIDTH // 32 >= dwords)))
        if self.posts and self.speakers and not self.post and r.random() < 0.7:
            fn = number(r.choice(self.speakers))
            self.post = POST.pack(fn=fn, addr=self.address(), dwords=r.randint(1, 4), data=r.getrandbits(128))

    async def step(self) -> None:
        d, r = self.dut, self.rng
        self.add()
        d.s_seg_valid.value, d.s_seg.value = int(bool(self.segs)), self.segs[0] if self.segs else 0
        d.s_row_valid.value = int(bool(self.rows))
        if self.rows:
            d.s_row_data.value, d.s_row_info.value = self.rows[0][0], INFO.pack(last=self.rows[0][1])
        d.s_post_valid.value, d.s_post.value = int(bool(self.post)), self.post
        d.m_rq_ready.value = int(self.can_take() and r.random() >= self.stall)
        d.m_cmb_ready.value = int(r.random() >= self.cmb_stall)
        d.time_us.value = self.cycle
        d.silent.value = sum(1 << f for f in self.silent)
        d.s_rq_seq.value = self.report()
        await RisingEdge(d.clk)
        self.look()
        self.cycle += 1
        if self.segs and d.s_seg_ready.value == 1:
            self.segs.popleft()
        if self.rows and d.s_row_ready.value == 1:
            self.rows.popleft()
        if self.post and d.s_post_ready.value == 1:
            self.post = 0
        await FallingEdge(d.clk)

    def can_take(self) -> bool:
        return len(self.inside) < HOLDS and self.cycle >= self.still_until

    def report(self) -> int:
        valid, self.since = 0, self.since + 1
        for k in self.rng.sample((0, 1), 2):
            if self.inside and self.rng.random() < self.reports:
                self.inside.popleft()
                self.left += 1
                self.since = 0
                valid |= (self.rng.random() >= self.drops) << k
        return SEQ.pack(valid=valid, num=WRITE | WRITE << 6)

    def write(self, desc: int) -> None:
        fn = desc >> HEAD_FN & 0xFF
        assert desc >> HEAD_TYPE & 0xF == 1, "no write"
        place = next(p for p in range(NUM_FN) if number(p) == fn)
        assert place not in self.gone, "sent after the fence"
        self.sent[place] += 1
        self.inside.append(place)
        self.taken += 1

    def look(self) -> None:
        d = self.dut
        if CMB_LOG2 and d.m_cmb_valid.value == 1:
            beat = self.cmb.beat()
            if not self.cmb_mid:
                fn = beat.data >> 104 & 0xFF
                assert fn not in [number(p) for p in self.gone], "to card memory after the fence"
            if d.m_cmb_ready.value == 1:
                self.cmb_mid = not beat.last
        if WIDTH == 512:
            for p in self.watch.look(self.rq, self.cycle):
                self.write(sum(w << 32 * i for i, w in enumerate(p.dwords[:4])))
            return
        if d.m_rq_valid.value == 0 or d.m_rq_ready.value == 0:
            return
        beat = self.rq.beat()
        if self.head is None:
            self.head = beat.data
        if beat.last:
            self.write(self.head)
            self.head = None

    async def fence(self, place: int, most: int = 20000) -> int:
        """A reset of a function, up to where its host is told; cycles that the fence took."""
        d = self.dut
        self.silent.add(place)
        if place in self.speakers:
            self.speakers.remove(place)
        for _ in range(self.rng.randrange(4, 40)):
            await self.step()
        d.fence.value = 1
        await self.step()
        d.fence.value = 0
        must = self.taken + INSIDE
        begun = self.cycle
        while True:
            await self.step()
            if d.fenced.value == 1:
                break
            assert self.drops or self.left < must or self.since < SLOW, "it waits for what was sent later"
            assert self.cycle - begun < most, "it waits for ever"
        assert place not in self.inside, f"fenced, and {self.inside.count(place)} of its writes have not left"
        self.gone.add(place)
        return self.cycle - begun

    def back(self, place: int) -> None:
        self.silent.discard(place)
        self.gone.discard(place)
        self.speakers.append(place)

    async def steps(self, n: int) -> None:
        for _ in range(n):
            await self.step()


@cocotb.test()
async def nothing_of_it_is_on_its_way(dut: Any) -> None:
    """Any stalls, any pace of reports; the others go on."""
    b = Bench(dut, 1)
    await b.start()
    for _ in range(40):
        b.stall, b.cmb_stall = b.rng.choice([0.0, 0.3, 0.8]), b.rng.choice([0.0, 0.3, 0.8])
        b.reports = b.rng.choice([0.05, 0.3, 1.0])
        await b.steps(b.rng.randrange(100))
        place = b.rng.randrange(NUM_FN)
        await b.fence(place)
        await b.steps(50)
        b.back(place)
        await b.steps(3)
    assert min(b.sent) > 100, b.sent


@cocotb.test()
async def what_stands_in_front(dut: Any) -> None:
    """RQ stands still as the fence begins: what waits at every place in front of it is waited for."""
    b = Bench(dut, 5)
    await b.start()
    for _ in range(60):
        b.speakers, b.reports, b.stall = list(range(NUM_FN)), 1.0, 0.0
        b.data, b.posts = b.rng.choice([(True, True), (True, False), (False, True)])
        await b.steps(b.rng.randrange(20, 60))
        place = b.rng.randrange(NUM_FN)
        if b.rng.random() < 0.5:
            b.speakers = [place]
        b.still_until = b.cycle + b.rng.randrange(30, 90)
        await b.steps(25)
        b.reports = b.rng.choice([0.1, 0.3])
        await b.fence(place)
        await b.steps(5)
        b.back(place)


@cocotb.test()
async def writes_stand_still(dut: Any) -> None:
    """In the hard block, and in front of it."""
    b = Bench(dut, 2)
    await b.start()
    await b.steps(100)
    b.reports, b.stall, b.speakers = 0.0, 0.0, [1]
    await b.steps(60)
    assert 1 in b.inside
    task = cocotb.start_soon(b.fence(1))
    for _ in range(120):
        await FallingEdge(dut.clk)
        assert not task.done(), "nothing of it has been reported"
    b.stall = 1.0  # RQ stands still for longer than anybody is patient
    b.speakers = [0, 2]
    for _ in range(4 << PATIENCE_LOG2):
        await FallingEdge(dut.clk)
        assert not task.done()
    b.reports, b.stall = 0.3, 0.2
    await task


@cocotb.test()
async def nothing_to_wait_for(dut: Any) -> None:
    b = Bench(dut, 3)
    await b.start()
    b.speakers = []
    await b.steps(10)
    assert await b.fence(1) <= (5 if CMB_LOG2 else 4)


@cocotb.test()
async def what_the_hard_block_drops(dut: Any) -> None:
    """Beside others' writes it costs nothing but their reports; without any it is waited for so long."""
    b = Bench(dut, 4)
    await b.start()
    b.drops, b.reports = 0.5, 0.07
    for _ in range(20):  # more are dropped than are counted
        await b.steps(200)
        await b.fence(1)
        b.back(1)
    b.drops, b.reports = 1.0, 0.3
    await b.steps(20)
    b.speakers = []
    await b.steps(30)
    took = await b.fence(2, 3 << PATIENCE_LOG2)
    assert took > (1 << PATIENCE_LOG2) - 100
    assert await b.fence(0) <= SLOW, "once is enough"
    b.drops = 0.0
    for place in range(NUM_FN):
        if place in b.silent:
            b.back(place)
    for _ in range(5):
        await b.steps(100)
        await b.fence(1)
        b.back(1)


@pytest.mark.parametrize(("width", "cmb"), [(128, 0), (256, 0), (256, 14), (512, 0)])
def test_db_pcie_dma_fence(width: int, cmb: int) -> None:
    bench.run(
        __file__,
        "db_pcie_dma",
        {"DATA_W": width, "NUM_FN": NUM_FN, "NUM_CLIENTS": 1, "CMB_LOG2": cmb, "PATIENCE_LOG2": PATIENCE_LOG2},
        env={"WIDTH": str(width), "CMB_LOG2": str(cmb)},
    )
