# SPDX-License-Identifier: Apache-2.0
"""db_ssd_write_engine: the checks of db_ssd_write_exec on the whole pipe, with PRP lists and a reader of the host's
data."""

from __future__ import annotations

import os
from collections import deque
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
import test_db_nvme_prp as prp
import write_exec_bench as write_exec
from cocotb.triggers import RisingEdge
from streams import ROW, Sink, Source
from test_db_nvme_prp import SEGMENT, ListReader, Segment, segments
from test_db_ssd_media_cmd import READ_ERROR, TRANSFER_ERROR, WRITE

MAX_OPEN = 60


class Bench(write_exec.MediaSide):
    WHOLE = True

    def __init__(self, dut: Any, seed: int) -> None:
        super().__init__(dut, seed, int(os.environ["DATA_W"]), 1024)
        prp.WIDTH = self.width
        self.mem = prp.Memory(self.rng)
        self.lists = ListReader(dut, self.rng, self.mem)
        self.seg = Sink(dut, self.rng, "m_seg", SEGMENT)
        self.stream = Source(dut, self.rng, "s_row", (*ROW, "zero"))
        self.segs: deque[tuple[write_exec.Job, Segment, int]] = deque()  # to come: job, segment, bytes before it
        self.coming: deque[tuple[int, write_exec.Job, int]] = deque()  # rows: cycle, job, row
        self.rows_left: deque[tuple[write_exec.Job, int]] = deque()  # rows not yet in `coming`
        self.owner: deque[write_exec.Job] = deque()
        self.ring = 1 << 15  # bytes, as db_pcie_read's
        self.in_ring = 0
        self.data_latency = (1, 40)
        self.bad_reads = 0.02
        self.more = write_exec.NEVER

    def stalls(self, p: float) -> None:
        super().stalls(p)
        for channel in (self.seg, self.lists.req, self.lists.rows):
            channel.stall = p and self.rng.choice((0.0, p, p / 2))
        self.stream.stall = p

    def make(self, slot: int, op: int | None = None, errors: bool = True) -> write_exec.Job:
        job = write_exec.random_job(self.rng, self.media, self.width, slot, op, prp_errors=False, sectors=30)
        job.err_row, job.prp = 1 << 30, 0
        job.rows = [(*r[:3], 0) for r in job.rows]
        if job.rows:
            walk = prp.make_command(self.rng, self.mem, job.size, None, errors)
            job.fn, job.prp1, job.prp2, job.prp = walk.fn, walk.prp1, walk.prp2, walk.status
            at = 0
            self.lists.add(walk)
            for s in segments(walk):
                self.segs.append((job, s, at))
                # A chunk that fails spoils its row and all later ones: known before the first row goes.
                if s[5] or (errors and self.rng.random() < self.bad_reads):
                    write_exec.spoil(job, at // (self.width // 8))
                at += s[2]
            self.rows_left.extend((job, i) for i in range(len(job.rows)))
        return job

    def add_write(self, slot: int, sectors: int) -> None:
        """A Write behind that of the slot before, with pages of its own and no errors."""
        job = write_exec.Job(WRITE, 512 * sectors * slot, 512 * sectors, slot=slot)
        walk = prp.make_command(self.rng, self.mem, job.size, 512, errors=False)
        job.fn, job.prp1, job.prp2 = walk.fn, walk.prp1, walk.prp2
        n = job.size // (self.width // 8)
        job.rows = [(self.rng.getrandbits(self.width), int(k == n - 1), self.width // 32, 0) for k in range(n)]
        at = 0
        self.lists.add(walk)
        for s in segments(walk):
            self.segs.append((job, s, at))
            at += s[2]
        self.rows_left.extend((job, k) for k in range(n))
        self.add(job)

    def add(self, job: write_exec.Job) -> None:
        super().add(job)
        self.plan(self.waiting.popleft())  # parts of the pipe may have it before it is taken

    async def step(self) -> None:
        await RisingEdge(self.dut.clk)
        row_bytes = self.width // 8
        self.lists.step(self.cycle)
        seg = self.seg.step(self.in_ring + 4096 <= self.ring)
        if self.seg.new:
            job, want, at = self.segs[0]
            assert self.seg.new == want, f"segment {self.seg.new}, expected {want}"
        if seg:
            job, want, at = self.segs.popleft()
            self.in_ring += seg.len
            have = at + seg.len
            due = self.cycle + self.rng.randint(*self.data_latency)
            while self.rows_left and self.rows_left[0][0] is job:
                row = self.rows_left[0][1]
                if min((row + 1) * row_bytes, job.size) > have:
                    break
                self.coming.append((due, *self.rows_left.popleft()))
        while self.coming and self.coming[0][0] <= self.cycle and len(self.stream.queue) < 2 and self.more:
            _, job, row = self.coming.popleft()
            self.stream.queue.append((*job.rows[row], job.zero.get(row, 0)))
            self.owner.append(job)
            self.more -= 1
        if self.stream.step():
            job = self.owner.popleft()
            self.in_ring -= min(row_bytes, job.size - job.fed * row_bytes)
            job.fed += 1
        self.step_media()

    async def drain(self) -> None:
        limit = self.cycle + 60_000
        while self.open:
            assert self.cycle < limit, f"hangs: {self.open}"
            await self.step()
        for _ in range(20):
            await self.step()
            assert int(self.dut.idle.value) and int(self.dut.quiet.value)
        assert not self.segs and not self.writes and not self.reads and not self.media_jobs and not self.lists.plan
        assert self.media_errs[0] == self.media_errs[1], "media_err pulses"
        self.check_media()

    async def random(self, n: int) -> None:
        while n:
            slot = self.free_slot()
            if slot is not None and len(self.open) < MAX_OPEN:
                self.add(self.make(slot))
                n -= 1
            await self.step()


@cocotb.test()
async def random_commands(dut: Any) -> None:
    seen: set[tuple[str, int]] = set()
    for seed, stall, latency, bad in (
        (1, 0.0, (0, 5), 0.0),
        (2, 0.3, (1, 60), 0.05),
        (3, 0.0, (60, 200), 0.05),
        (4, 0.1, (0, 30), 0.1),
    ):
        b = Bench(dut, seed)
        await b.start()
        b.stalls(stall)
        b.write.latency = b.read.latency = b.port.latency = b.data_latency = b.lists.latency = latency
        b.write.bad = b.port.bad = bad
        await b.random(30 * b.width // 256 + 35)
        await b.drain()
        seen |= b.statuses
    want = {
        ("write", 0),
        ("compare", 0),
        ("dsm", 0),
        ("zero", 0),
        ("flush", 0),
        ("compare", write_exec.MISMATCH),
        ("compare", READ_ERROR),
        ("dsm", write_exec.OFFSET_INVALID),
    }
    want |= {(name, s) for name in ("write", "compare") for s in (TRANSFER_ERROR, write_exec.OFFSET_INVALID)}
    assert seen >= want, f"the random mix misses {want - seen}"


@cocotb.test()
async def many_small_packets(dut: Any) -> None:
    """As many commands with data as can be inside while nothing reaches the media: no result of a walk is lost."""
    b = Bench(dut, 5)
    await b.start()
    b.write.aw.stall = 1.0
    b.data_latency = (1, 1)
    for i in range(70):
        job = b.make(i, WRITE)
        b.add(job)
    for _ in range(600):
        await b.step()
    b.write.aw.stall = 0.0
    await b.drain()


@cocotb.test()
async def a_row_a_cycle(dut: Any) -> None:
    """Also across commands, with every read 30 cycles away."""
    for sectors in (1, 8, 64):
        b = Bench(dut, 6)
        await b.start()
        b.write.latency = b.lists.latency = b.data_latency = (30, 30)
        count = max(3, 96 // sectors)
        for i in range(count):
            b.add_write(i, sectors)
        await b.drain()
        cycles = b.w_cycles[len(b.jobs[0].rows) :]  # the first command waits for its list
        bubbles = cycles[-1] - cycles[0] + 1 - len(cycles)
        assert bubbles == 0, f"{sectors} sectors: {bubbles} bubbles"


@cocotb.test()
async def room_for_every_command(dut: Any) -> None:
    """Neither media nor link moves: as many commands as there are slots are taken all the same, one a cycle."""
    b = Bench(dut, 7)
    await b.start()
    b.stalls(1.0)
    for channel in (b.write.aw, b.read.ar, b.port.cmd, b.lists.req, b.lists.rows, b.seg, b.stream, b.completion):
        channel.stall = 1.0
    b.cmd.stall = 0.0
    slots = int(dut.NUM_CMDS.value)
    for i in range(slots):
        b.add(b.make(i))
    for _ in range(slots + 2):
        await b.step()
    assert not b.cmd.queue, f"{len(b.cmd.queue)} of {slots} commands stand outside"
    b.stalls(0.0)
    await b.drain()


@cocotb.test()
async def more_pieces_than_slots(dut: Any) -> None:
    """As many walks as the engine takes while the host's first data does not come, as pieces are more than commands: no
    result is lost."""
    b = Bench(dut, 8)
    await b.start()
    b.more = 0
    slots = int(dut.NUM_CMDS.value)
    for i in range(min(slots + 8, 50)):  # of 512 bytes, as the ring takes no more
        b.add_write(i, 1)
    for _ in range(400):
        await b.step()
    b.more = write_exec.NEVER
    await b.drain()


@cocotb.test()
async def stop_at_any_time(dut: Any) -> None:
    """The host's data ends at any row, completions may not be taken any more: quiet comes; a reset makes it new."""
    for seed in range(10, 15):
        b = Bench(dut, seed)
        await b.start()
        b.stalls(b.rng.choice((0.0, 0.3)))
        b.write.latency = b.read.latency = b.port.latency = b.rng.choice(((0, 5), (60, 200)))
        await b.random(b.rng.choice((3, 6, 12)))
        for _ in range(b.rng.randint(0, 300)):
            await b.step()
        dut.stop.value = 1
        b.stopped = b.cycle
        b.take_completions = b.rng.random() < 0.5
        b.seg.stall = 1.0  # no further request
        b.stream.stall = 0.0
        if b.rng.random() < 0.5:
            b.more = b.rng.randint(0, 50)
        for _ in range(8000):
            await b.step()
            if int(dut.quiet.value):
                break
        assert int(dut.quiet.value), f"seed {seed}: never quiet"
        for _ in range(20):
            await b.step()
            assert int(dut.quiet.value), "quiet and then not"
        b.check_media()
        b = Bench(dut, seed)
        await b.start()
        await b.random(4)
        await b.drain()


@pytest.mark.parametrize("data_w", bench.WIDTHS)
def test_db_ssd_write_engine(data_w: int) -> None:
    bench.run(__file__, "db_ssd_write_engine", {"DATA_W": data_w}, env={"DATA_W": str(data_w)})


def test_pieces() -> None:
    parameters = {"DATA_W": 512, "NUM_CMDS": 32, "PIECES": 1}
    case = "more_pieces_than_slots"
    bench.run(__file__, "db_ssd_write_engine", parameters, env={"DATA_W": "512"}, testcase=case)
