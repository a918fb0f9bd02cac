# SPDX-License-Identifier: Apache-2.0
"""A model of what commands of the media do and how they end, and a media and a host's data around db_ssd_write_exec."""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from axi_model import ZERO, AxiRead, AxiWrite, Burst, Media, MediaPort, stretches
from cocotb.triggers import RisingEdge
from streams import ROW, Sink, Source, start
from structs import layout
from test_db_ssd_media_cmd import (
    COMPARE,
    DSM,
    MISMATCH,
    READ_ERROR,
    TRANSFER_ERROR,
    WFLUSH,
    WHOLE,
    WRITE,
    WRITE_FAULT,
    WZERO,
    Command,
    media_ops,
    random_range,
)

CMD = layout("db_ssd_data_pkg", "exec_cmd_t")
COMPLETION = layout("db_ssd_pkg", "slot_completion_t")
OFFSET_INVALID = 1 << 14 | 0x13
OP_NAMES = {WRITE: "write", COMPARE: "compare", DSM: "dsm", WZERO: "zero", WFLUSH: "flush"}
CMP_BURST = 1024  # of db_axi_read inside
MEDIA_BYTES = 1 << 16  # what the commands of a test write to
NEVER = 1 << 30


@dataclass
class Job(Command):
    """A command with its data, and what has become of it."""

    rows: list[tuple[int, int, int, int]] = field(default_factory=list)  # data, last, dwords, error
    zero: dict[int, int] = field(default_factory=dict)  # by row: 16 bytes that are equal to zeros on the media
    prp: int = 0  # status of the PRP walk
    seq: int = 0
    plan: int = 0  # bursts to come (Write), rows to come (Compare)
    bursts: list[Burst] = field(default_factory=list)  # those that came
    read: list[tuple[int, bool]] = field(default_factory=list)  # Compare: rows that the media gave, and errors
    zeroed: list[tuple[int, int]] = field(default_factory=list)
    media_status: int | None = None
    fed: int = 0  # rows that the DUT has taken
    done: int = 0  # cycle of the completion

    def burst(self, smallest: int) -> int:
        """The most bytes of one burst of it."""
        return 4096 if self.lba4k else smallest

    @property
    def has_media_op(self) -> bool:
        return self.op in (DSM, WZERO, WFLUSH) or (self.op == WRITE and self.fua)

    def equal(self, row: int, data: int) -> bool:
        """A row of Compare: 16 bytes by 16 bytes, with the rule for zeros."""
        mine, theirs = (v.to_bytes(64, "little") for v in (self.rows[row][0], data))
        for i in range(0, 64, 16):
            empty = self.zero.get(row, 0) >> i // 16 & 1 and not any(theirs[i : i + 16])
            if mine[i : i + 16] != theirs[i : i + 16] and not empty:
                return False
        return True

    def status(self) -> int:
        """How it must end. Everything of it must be over."""
        assert self.fed == len(self.rows), "ends before its data has come"
        if self.op == WRITE:
            assert self.plan == 0 and all(b.answered for b in self.bursts), "ends before its write responses"
        if self.op == COMPARE:
            assert len(self.read) == len(self.rows), "ends before the media has been read"
        if self.has_media_op:
            assert self.media_status is not None, "ends before the media is done"
        if self.prp:
            return self.prp
        if self.op in (WRITE, COMPARE) and self.rows[-1][3]:
            return TRANSFER_ERROR
        if self.op == WRITE:
            return WRITE_FAULT if any(b.bad for b in self.bursts) else self.media_status or 0
        if self.op == COMPARE:
            if any(bad for _, bad in self.read):
                return READ_ERROR
            return 0 if all(self.equal(i, data) for i, (data, _) in enumerate(self.read)) else MISMATCH
        assert self.media_status is not None
        return self.media_status


def media_error(status: int) -> bool:
    return status in (READ_ERROR, WRITE_FAULT)


def random_job(
    rng: random.Random,
    media: Media,
    width: int,
    slot: int,
    op: int | None = None,
    prp_errors: bool = True,
    sectors: int = 10,
) -> Job:
    """A random command with its data. The first half of the media is written, the other half only compared."""
    row_bytes = width // 8
    if op is None:
        op = rng.choice((WRITE, WRITE, WRITE, WRITE, COMPARE, COMPARE, DSM, WZERO, WFLUSH))
    j = Job(op, fn=rng.getrandbits(8), slot=slot, fua=op in (WRITE, WZERO) and rng.random() < 0.2)
    j.size = 512 * rng.choice((1, 1, 2, 8, rng.randint(1, sectors)))
    j.addr = 512 * rng.randint(0, (MEDIA_BYTES - j.size) // 512)
    j.lba4k = rng.random() < 0.3
    if j.lba4k and op in (WRITE, COMPARE):  # whole blocks
        j.size = 4096 * rng.choice((1, 1, 2, 3))
        j.addr = 4096 * rng.randint(0, (MEDIA_BYTES - j.size) // 4096)
    if op == WRITE:
        data = [rng.getrandbits(width) for _ in range(j.size // row_bytes)]
    elif op == COMPARE:
        j.addr += MEDIA_BYTES if rng.random() < 0.8 else 0
        places = range(j.addr, j.addr + j.size, row_bytes)
        if j.addr >= MEDIA_BYTES and rng.random() < 0.5:
            piece = (1 << 128) - 1
            for place in rng.sample(places, len(places) // 2):
                media.holes.setdefault(place, piece << 128 * rng.randrange(width // 128))
            data = [media.initial(a) for a in places]
            for i, a in enumerate(places):
                hole = media.holes.get(a, 0)
                flags = sum((hole >> 128 * n & 1) << n for n in range(width // 128))
                if flags and rng.random() < 0.8:  # ciphertext of zeros, where there are zeros
                    data[i] |= hole & rng.getrandbits(width)
                    j.zero[i] = flags
                elif rng.random() < 0.2:  # it says nothing where there are none
                    j.zero[i] = rng.getrandbits(width // 128)
        if not j.zero:
            data = [media.initial(a) for a in places]
        if rng.random() < 0.3:  # one bit of one row
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(width)
        if rng.random() < 0.3:
            media.bad.add(j.addr + row_bytes * rng.randrange(len(data)))
    elif op == DSM:
        block = 4096 if j.lba4k else 512
        j.addr, j.blocks = 0, MEDIA_BYTES // block
        ranges = [
            random_range(rng, j.blocks, 0.15 if rng.random() < 0.5 else 0.0)
            for _ in range(rng.choice((1, 2, 3, 4, 5, 9)))
        ]
        j.ranges = [
            (a, min(n, max(1, 8192 // block)) if n < 2**31 and f + n <= j.blocks else n, f) for a, n, f in ranges
        ]
        j.size = 16 * len(j.ranges)
    if op in (WRITE, COMPARE):
        j.rows = [(d, int(i == len(data) - 1), width // 32, 0) for i, d in enumerate(data)]
    elif op == DSM:
        j.rows = j.list_rows(rng, width)
    if j.rows and rng.random() < 0.15:
        spoil(j, rng.randrange(len(j.rows)))
        if prp_errors and rng.random() < 0.5:
            j.prp = rng.choice((OFFSET_INVALID, TRANSFER_ERROR))
    return j


def spoil(job: Job, row: int) -> None:
    """From this row on the host's data could not be read."""
    job.err_row = min(job.err_row, row)
    job.rows = [(*r[:3], int(i >= job.err_row)) for i, r in enumerate(job.rows)]


class MediaSide:
    """Drives and checks all ports of db_ssd_write_exec but those of the stream and the PRP status."""

    WHOLE = False  # commands come with their host's side (cmd_t)

    def __init__(self, dut: Any, seed: int, width: int, burst_bytes: int) -> None:
        self.dut, self.width, self.burst_bytes = dut, width, burst_bytes
        self.rng = rng = random.Random(seed)
        self.media = Media(width)
        self.write = AxiWrite(dut, rng, self.media, self.on_burst, self.on_row)
        self.read = AxiRead(dut, rng, self.media, self.on_read)
        self.port = MediaPort(dut, rng, self.media, self.on_media, self.on_media_done)
        self.cmd = Source(dut, rng, "s_cmd", WHOLE if self.WHOLE else CMD)
        self.completion = Sink(dut, rng, "m_completion", COMPLETION)
        self.jobs: list[Job] = []  # all, in order
        self.open: dict[int, Job] = {}  # by slot, not completed
        self.waiting: deque[Job] = deque()  # not yet taken by the DUT
        self.writes: deque[tuple[Job, int, int, int]] = deque()  # bursts to come: job, address, rows, first row
        self.reads: deque[tuple[Job, int, int]] = deque()
        self.read_owner: deque[Job] = deque()  # of each row that the media gives
        self.unanswered: deque[Job] = deque()  # writes with responses to come, in order
        self.media_jobs: deque[Job] = deque()
        self.ops: Generator[tuple[int, int, int], int, int] | None = None
        self.want: tuple[int, int, int] | None = None
        self.cycle = 0
        self.statuses: set[tuple[str, int]] = set()
        self.media_errs = [0, 0]  # seen, expected
        self.take_completions = True
        self.stopped = 0  # cycle of stop
        self.w_cycles: list[int] = []

    async def start(self) -> None:
        await start(self.dut, stop=0)

    def stalls(self, p: float) -> None:
        for channel in (self.write.w, self.read):
            channel.stall = p and self.rng.choice((0.0, p, p / 2))
        for channel in (self.write.aw, self.read.ar, self.port.cmd, self.cmd, self.completion):
            channel.stall = p and self.rng.choice((0.0, p, p / 2, 0.9))

    def add(self, job: Job) -> None:
        assert job.slot not in self.open
        job.seq = len(self.jobs)
        self.jobs.append(job)
        self.open[job.slot] = job
        self.waiting.append(job)
        self.cmd.queue.append(job.packed(self.WHOLE))

    def free_slot(self) -> int | None:
        free = [s for s in range(256) if s not in self.open]
        return self.rng.choice(free) if len(free) > 128 else None

    def plan(self, job: Job) -> None:
        """What the DUT may do from now on, as it has been given this command."""
        if job.op == WRITE:
            first = 0
            for addr, rows in stretches(job.addr, job.size, job.burst(self.burst_bytes), self.width // 8):
                self.writes.append((job, addr, rows, first))
                first += rows
                job.plan += 1
            self.unanswered.append(job)
        elif job.op == COMPARE:
            self.reads.extend((job, *b) for b in stretches(job.addr, job.size, job.burst(CMP_BURST), self.width // 8))
        if job.has_media_op:
            self.media_jobs.append(job)
            self.advance()

    def on_burst(self, burst: Burst) -> None:
        assert self.writes, f"write burst at {burst.addr:#x} that no command asks for"
        job, addr, rows, first = self.writes.popleft()
        assert (burst.addr, burst.rows) == (addr, rows)
        assert job.fed >= first + rows, "address before the burst's data is whole"
        burst.owner = (job, first)
        job.plan -= 1
        job.bursts.append(burst)

    def on_row(self, burst: Burst, data: int, strobed: int) -> None:
        job, first = burst.owner
        assert strobed == (not job.rows[first + burst.rows - 1][3]), "all of a burst is written, or nothing"
        if strobed:
            assert data == job.rows[first + len(burst.data) - 1][0], "data"
        self.w_cycles.append(self.cycle)

    def on_read(self, addr: int, rows: int) -> None:
        assert self.reads, "media is read without a Compare"
        job, *want = self.reads.popleft()
        assert [addr, rows] == want
        assert not self.stopped or self.cycle <= self.stopped + 1, "address after stop"
        self.read_owner.extend([job] * rows)

    def on_media(self, op: int, addr: int, size: int) -> None:
        assert self.want, f"media command {op, addr, size} that nothing asks for"
        assert op == self.want[0] and (op != ZERO or (addr, size) == self.want[1:]), self.want
        assert not self.stopped or self.cycle <= self.stopped + 1, "media command after stop"
        # Everything before it has its responses.
        assert self.write.outstanding == 0
        seq = self.media_jobs[0].seq
        assert all(j.seq > seq for j, *_ in self.writes), "earlier data is not yet written"

    def on_media_done(self, error: int) -> None:
        assert self.ops is not None and self.want is not None
        if self.want[0] == ZERO and not error:
            self.media_jobs[0].zeroed.append(self.want[1:])
        self.advance(error)

    def advance(self, error: int | None = None) -> None:
        """On to what the media is to be asked next."""
        while self.media_jobs:
            try:
                if self.ops is None:
                    self.ops, error = media_ops(self.media_jobs[0], self.width), None
                elif error is None:
                    return
                self.want = self.ops.send(error)  # type: ignore[arg-type]
                return
            except StopIteration as end:
                self.media_jobs.popleft().media_status = end.value
                self.ops = self.want = None

    def step_media(self) -> None:
        self.cycle += 1
        if self.cmd.step() and self.waiting:
            self.plan(self.waiting.popleft())
        self.write.step(self.cycle)
        seen = len(self.read.log)
        self.read.step(self.cycle)
        for _, data, bad in self.read.log[seen:]:
            self.read_owner.popleft().read.append((data, bad))
        self.port.step(self.cycle)
        word = self.completion.step(self.take_completions)
        if word:
            self.complete(word.slot, word.status)
        self.media_errs[0] += int(self.dut.media_err.value)
        if int(self.dut.quiet.value):
            assert not self.write.outstanding and not self.read.missing and not self.port.open, "not quiet"

    def complete(self, slot: int, status: int) -> None:
        assert slot in self.open, f"completion of slot {slot}: none is under way there"
        job = self.open.pop(slot)
        job.done = self.cycle
        if self.stopped and (
            job.fed < len(job.rows)
            or (job.has_media_op and job.media_status is None)
            or (job.op == COMPARE and len(job.read) < len(job.rows))
        ):
            assert status, "success after stop for what was not done"
            return
        assert status == job.status(), f"status {status:#x}, expected {job.status():#x} of {OP_NAMES[job.op]}"
        self.statuses.add((OP_NAMES[job.op], status))
        self.media_errs[1] += media_error(status)

    def check_media(self) -> None:
        """What the media holds is what the commands, done one after the other, leave there."""
        want: dict[int, int] = {}
        step = self.width // 8
        for job in self.jobs:
            for burst in job.bursts:
                for i, (data, strobed) in enumerate(zip(burst.data, burst.strobed, strict=True)):
                    if strobed and not burst.bad:
                        want[burst.addr + i * step] = data
            for addr, size in job.zeroed:
                want.update((a, 0) for a in range(addr, addr + size, step))
        assert want == self.media.rows


class Bench(MediaSide):
    def __init__(self, dut: Any, seed: int) -> None:
        super().__init__(dut, seed, int(os.environ["DATA_W"]), int(os.environ["BURST_BYTES"]))
        self.stream = Source(dut, self.rng, "s_row", (*ROW, "zero"))
        self.prp = Source(dut, self.rng, "s_prp", ("status",))
        self.packets: deque[tuple[Job, int, bool]] = deque()  # job, next row, its PRP status has been given
        self.owner: deque[Job] = deque()  # of the row on offer
        self.more = NEVER  # rows that still come

    def add(self, job: Job) -> None:
        super().add(job)
        if job.rows:
            self.packets.append((job, 0, False))

    def stalls(self, p: float) -> None:
        super().stalls(p)
        self.stream.stall = p

    async def step(self) -> None:
        await RisingEdge(self.dut.clk)
        self.prp.step()
        if self.packets and not self.stream.queue and self.more:
            job, row, given = self.packets[0]
            last = row == len(job.rows) - 1
            if not given and (last or self.rng.random() < 0.2):
                self.prp.queue.append((job.prp,))
                self.packets[0] = (job, row, True)
            elif given or not last:
                self.stream.queue.append((*job.rows[row], job.zero.get(row, 0)))
                self.owner.append(job)
                self.more -= 1
                if last:
                    self.packets.popleft()
                else:
                    self.packets[0] = (job, row + 1, given)
        if self.stream.step():
            self.owner.popleft().fed += 1
        self.step_media()

    async def drain(self, limit: int = 60_000) -> None:
        limit += self.cycle  # no test has that much to do
        while self.open:
            assert self.cycle < limit, f"hangs: {self.open}"
            await self.step()
        for _ in range(20):
            await self.step()
        assert not self.writes and not self.reads and not self.media_jobs and not self.packets
        assert int(self.dut.idle.value) and int(self.dut.quiet.value)
        assert self.media_errs[0] == self.media_errs[1], "media_err pulses"
        self.check_media()

    async def random(self, n: int, prp_errors: bool = True, sectors: int = 10) -> None:
        """n random commands, some of them inside at a time."""
        while n:
            slot = self.free_slot()
            if slot is not None and len(self.open) < 30:
                self.add(random_job(self.rng, self.media, self.width, slot, None, prp_errors, sectors))
                n -= 1
            await self.step()
