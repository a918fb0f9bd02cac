# SPDX-License-Identifier: Apache-2.0
"""Runs the jobs of `doorbell.bench.jobs` on a drive and measures them.

A job keeps `iodepth` commands in flight on its own queue pair (times `numjobs`). Measuring starts when twice that many
have completed and ends with the job's last measured completion; a job that is done keeps the drive busy until all
jobs beside it are done, so neither ramp nor drain counts. The rate of a job with copies is taken over the time in which
all copies measure: the drive serves a queue's commands in bursts, and windows that cut bursts would show a part of one
as a lower or higher rate. The same seed gives the same figures on any machine.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from doorbell.bench.jobs import Job, Split
from doorbell.bench.pacing import Pace
from doorbell.bench.results import Result, Side
from doorbell.bench.stages import Recorder
from doorbell.errors import UserError
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import DSM_AD, NvmOpc
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import Buffer
from doorbell.nvme.structures import DsmRange

BUFFER_BYTES = 512 << 20


class Part(NamedTuple):
    """Bytes of a namespace that jobs have for themselves."""

    first: int
    size: int


class Zipf:
    """Draws from 0..count-1 with P(rank k) proportional to 1/k^theta; ranks are scattered over the range.

    Weights are whole numbers, so that no rounding of a processor or library changes what is drawn.
    """

    def __init__(self, count: int, theta: float, seed: int) -> None:
        if count > 1 << 24:
            raise UserError(f"zipf over {count} blocks: at most {1 << 24}; give a smaller size or larger blocks")
        weights = np.fromiter((max(1, round(2.0**40 * k**-theta)) for k in range(1, count + 1)), np.uint64, count)
        self.sums = np.cumsum(weights)
        self.total = int(self.sums[-1])
        self.count = count
        rng = random.Random(seed)
        self.step = next(s for s in iter(lambda: rng.randrange(1, count + 1), 0) if math.gcd(s, count) == 1)
        self.shift = rng.randrange(count)

    def rank(self, rng: random.Random) -> int:
        """0 is drawn most often."""
        return int(np.searchsorted(self.sums, np.uint64(rng.randrange(self.total)), side="right"))

    def draw(self, rng: random.Random) -> int:
        return (self.rank(rng) * self.step + self.shift) % self.count


class Window:
    """One of the numjobs of a job: its stream of commands, and the window in which they are measured."""

    def __init__(self, job: Job, index: int, capacity: int, zipf: Zipf | None) -> None:
        self.job, self.zipf = job, zipf
        self.rng = random.Random(job.randseed * 1_000_003 + index)
        self.region, self.slots = region(job, capacity)
        self.random = job.rw.startswith("rand")
        self.share = job.read_share
        self.splits = tuple(draw_of(job.sizes(read)) for read in (False, True))
        self.align = job.min_bs
        self.cursor = 0
        self.read, self.write = Side(), Side()
        self.seen = 0
        self.warm = 2 * job.iodepth
        self.want = job.ios()
        self.opened_ns = 0.0
        self.closed_ns = 0.0
        self.log: list[tuple[float, bool, int]] = []  # when, read, size: all completions since the window opened

    @property
    def done(self) -> bool:
        return bool(self.closed_ns)

    @property
    def measuring(self) -> bool:
        """The completion that was counted last is one of those that are measured, or would be if there were more."""
        return self.seen > self.warm and not self.done

    def draw(self) -> tuple[bool, int, int]:
        """The next command: whether it reads, bytes, and where."""
        is_read = self.share == 1 or (self.share > 0 and self.rng.random() < self.share)
        size = self.splits[is_read](self.rng)
        if self.zipf and self.random:
            at = self.zipf.draw(self.rng) * self.align
        elif self.random:
            at = self.rng.randrange(self.slots) * self.align
        else:
            at = self.cursor if self.cursor + size <= self.region else 0
            self.cursor = at + size
        return is_read, size, self.job.offset + at

    def count(self, is_read: bool, size: int, started_ns: float, done_ns: float) -> None:
        """A completion; `seen` has it already."""
        if self.seen <= self.warm:
            if self.seen == self.warm:
                self.opened_ns = done_ns
            return
        self.log.append((done_ns, is_read, size))
        if self.done:
            return
        side = self.read if is_read else self.write
        side.add(size, done_ns - started_ns)
        late = self.job.runtime_ns and done_ns - self.opened_ns >= self.job.runtime_ns
        if (self.read.ios + self.write.ios >= self.want or late) and done_ns > self.opened_ns:
            self.closed_ns = done_ns  # of commands that end together there is no rate

    def share_done(self, now_ns: float) -> float:
        if self.done:
            return 1.0
        if self.job.runtime_ns and self.opened_ns:
            return min(1.0, (now_ns - self.opened_ns) / self.job.runtime_ns)
        return min(1.0, self.seen / (self.warm + self.want))


class Start:
    """Lets windows open together: when all have seen as many completions as they want before that."""

    def __init__(self, runners: Iterable[Runner]) -> None:
        self.cold = {id(r) for r in runners}

    def may_open(self, runner: Runner) -> bool:
        """The runner is warm. Are all?"""
        self.cold.discard(id(runner))
        return not self.cold


class Runner(Window):
    """A window on a queue pair of a drive."""

    def __init__(
        self,
        job: Job,
        index: int,
        qid: int,
        drive: Driver,
        buffers: Sequence[Buffer],
        zipf: Zipf | None,
        recorder: Recorder | None,
        part: Part,
    ) -> None:
        super().__init__(job, index, part.size, zipf)
        self.first = part.first
        self.qid, self.drive, self.recorder = qid, drive, recorder
        self.block = drive.block_size
        self.free = list(buffers)
        self.depth = len(self.free)
        self.pace = Pace(job)
        self.start: Start | None = None
        self.unsynced = 0  # writes since the last flush
        self.wake_ns: float | None = None  # when it may send again, if it has to wait for time and not for the drive

    def fill(self) -> None:
        self.wake_ns = None
        while self.free:
            now = self.drive.sim.ns
            due = self.pace.due_ns(now, self.depth - len(self.free))
            if due is None or due > now:
                self.wake_ns = due
                return
            buffer = self.free.pop()
            if self.job.fsync and self.unsynced >= self.job.fsync:
                self.unsynced = 0
                self.drive.submit(self.qid, NvmOpc.FLUSH, buffer=buffer, prp1=0, user=self)
                continue
            is_read, size, at = self.draw()
            self.unsynced += not is_read
            self.send(buffer, is_read, size // self.block, (self.first + at) // self.block)
            self.pace.sent(size, now)

    def send(self, buffer: Buffer, is_read: bool, blocks: int, slba: int) -> None:
        fields: dict[str, int] = {}
        opcode, nbytes = NvmOpc.READ if is_read else NvmOpc.WRITE, blocks * self.block
        if self.job.trims:
            opcode, nbytes = NvmOpc.DSM, len(bytes(DsmRange()))
            buffer.write(bytes(DsmRange(0, blocks, slba)))
            fields = {"cdw10": 0, "cdw11": DSM_AD, "cdw12": 0}
        self.drive.submit(self.qid, opcode, slba, blocks - 1, buffer, nbytes=nbytes, user=self, **fields)

    def complete(self, command: Command) -> None:
        command.check()
        assert command.buffer is not None
        self.free.append(command.buffer)
        if command.opcode == NvmOpc.FLUSH:  # takes its place and its time, but moves nothing
            if self.recorder:
                self.recorder.done(command, False)
            return
        self.seen += 1
        if self.start is not None and self.seen >= self.warm and not self.start.may_open(self):
            self.seen = self.warm - 1
        if self.recorder:
            self.recorder.done(command, self.measuring)
        self.count(command.opcode == NvmOpc.READ, (command.nlb + 1) * self.block, command.started_ns, command.done_ns)


def draw_of(split: Split) -> Callable[[random.Random], int]:
    """Draws block sizes of a split."""
    sizes, sums = [size for size, _ in split], list(accumulate(weight for _, weight in split))
    return lambda rng: sizes[0] if len(sizes) == 1 else rng.choices(sizes, cum_weights=sums)[0]


def capacity_of(drive: Driver) -> int:
    return drive.namespace.nsze * drive.block_size if drive.namespace else 0


def region(job: Job, capacity: int) -> tuple[int, int]:
    """Bytes of the job's region on a drive of so many, and in how many places of it a command may start."""
    size = min(job.size or capacity, capacity - job.offset)
    if size < job.max_bs:
        raise UserError(f"job {job.name}: its region is smaller than one block of {job.max_bs} bytes")
    return size, (size - job.max_bs) // job.min_bs + 1


def check_sizes(name: str, sizes: Sequence[int], drive: Driver) -> None:
    for size in sizes:
        if size % drive.block_size or not size:
            raise UserError(f"{name}: bs {size} is not a multiple of the drive's block of {drive.block_size}")
        if drive.max_transfer and size > drive.max_transfer:
            raise UserError(f"{name}: bs {size} is more than the drive takes in a command ({drive.max_transfer} bytes)")


def noise(seed: int, size: int) -> bytes:
    """Data to write: what it is does not matter, that it is not all zero does."""
    some = random.Random(seed).randbytes(1 << 16)
    return (some * -(-size // len(some)))[:size]


def warnings(job: Job) -> list[str]:
    """What makes a job's figures other than they look, a line each."""
    if job.numjobs > 1 and job.number_ios == 1:
        return [f"job {job.name}: with number_ios=1 each of {job.numjobs} copies measures one command, "
                "and the rate is none that the drive ever had: give 100 or more"]  # fmt: skip
    return []


class Crew:
    """Runners of jobs on a drive whose queues exist (`Driver.start`), and their buffers."""

    def __init__(
        self,
        drive: Driver,
        jobs: Sequence[Job],
        recorder: Recorder | None = None,
        *,
        part: Part | None = None,
        first_index: int = 0,
    ) -> None:
        """part: of the drive, else all of it. first_index: of its copies, which draw other places than other copies."""
        for job in jobs:
            check_sizes(f"job {job.name}", [size for size, _ in job.used()], drive)
        self.drive, self.jobs, self.recorder = drive, jobs, recorder
        self.runners: list[Runner] = []
        self.owned: list[Buffer] = []
        part = part or Part(0, capacity_of(drive))
        queues = [q for q in drive.sqs if q]
        # With very much in flight the commands of a job share one buffer: what it holds does not matter here.
        shared = sum(j.numjobs * j.iodepth * j.max_bs for j in jobs) > BUFFER_BYTES
        for job in jobs:
            zipf = Zipf(region(job, part.size)[1], job.zipf, job.randseed) if job.zipf else None
            for index in range(first_index, first_index + job.numjobs):
                qid = queues[len(self.runners) % len(queues)]
                buffers = [drive.buffer(job.max_bs) for _ in range(1 if shared else job.iodepth)]
                for buffer in buffers:
                    buffer.write(noise(jobs[0].randseed, job.max_bs))
                self.owned += buffers
                many = buffers * (job.iodepth if shared else 1)
                self.runners.append(Runner(job, index, qid, drive, many, zipf, recorder, part))
        for q in queues:
            room = drive.sqs[q].entries - 1
            if sum(r.job.iodepth for r in self.runners if r.qid == q) > room:
                raise UserError(f"more commands in flight than the {room} entries of a submission queue")

    def end(self, beside: int = 1) -> None:
        """Wait for what is in flight, beside so many crews that wait, too; buffers are the host's again."""
        for command in self.drive.wait(timeout_us=self.drive.io_timeout_us * beside):
            if self.recorder:
                self.recorder.done(command, False)
        for buffer in self.owned:
            buffer.free()


def keep_busy(
    crews: Sequence[Crew],
    step: Callable[[float | None], list[Command]],
    progress: Callable[[float], None] | None = None,
) -> None:
    """All runners send and measure, until each has what it wants.

    step: runs until something completes, or up to that time; what completed.
    """
    runners = [r for crew in crews for r in crew.runners]
    sim, recorder = crews[0].drive.sim, crews[0].recorder
    for runner in runners:
        runner.fill()
    for crew in crews:
        crew.drive.ring()
    idle_since = sim.ns
    while not all(r.done for r in runners):
        completed = step(min((r.wake_ns for r in runners if r.wake_ns is not None), default=None))
        if recorder:
            recorder.collect()
        if completed:
            idle_since = sim.ns
        elif sim.ns - idle_since > crews[0].drive.io_timeout_us * 1000:
            for crew in crews:
                crew.drive.wait()  # says which command is late
        touched: dict[int, Runner] = {}
        for command in completed:
            runner = command.user
            runner.complete(command)
            touched[id(runner)] = runner
        for runner in runners:
            if runner.wake_ns is not None and runner.wake_ns <= sim.ns:
                touched[id(runner)] = runner
        for runner in touched.values():
            runner.fill()
        for crew in crews:
            crew.drive.ring()
        if progress:
            progress(min(r.share_done(sim.ns) for r in runners))


def bells_of(drives: Iterable[Driver]) -> Counter[str]:
    """Doorbells, interrupts and commands of drives so far."""
    out: Counter[str] = Counter()
    for d in drives:
        out.update(sq=d.sq_doorbells, cq=d.cq_doorbells, irqs=d.interrupts, completed=d.completed)
    return out


def run_group(
    drive: Driver,
    jobs: Sequence[Job],
    *,
    progress: Callable[[float], None] | None = None,
    recorder: Recorder | None = None,
) -> list[Result]:
    """Run jobs at the same time on a drive whose queues exist (`Driver.start`); one result a job."""
    crew = Crew(drive, jobs, recorder)
    if recorder:
        recorder.start(drive)
    before = bells_of([drive])
    keep_busy([crew], lambda until_ns: drive.step(until_ns=until_ns), progress)
    doorbells, irqs = each(bells_of([drive]), before)
    crew.end()
    if recorder:
        recorder.stop()
    results = []
    for job in jobs:
        mine = [r for r in crew.runners if r.job is job]
        result = joined(job, mine, doorbells, irqs)
        rate, result.window = rate_of(mine)
        result.duration_ns = result.ios / rate
        results.append(result)
    return results


def each(now: Counter[str], before: Counter[str]) -> tuple[tuple[float, float], float]:
    """Doorbells (SQ, CQ) and interrupts a command."""
    count = max(1, now["completed"] - before["completed"])
    sq, cq, irqs = ((now[k] - before[k]) / count for k in ("sq", "cq", "irqs"))
    return (sq, cq), irqs


def joined(job: Job, runners: Iterable[Window], doorbells: tuple[float, float], irqs: float) -> Result:
    """What the copies of a job measured, without its rate."""
    result = Result(job, Side(), Side(), doorbells=doorbells, irqs=irqs)
    for r in runners:
        result.read.join(r.read)
        result.write.join(r.write)
    return result


def rate_of(runners: Sequence[Window]) -> tuple[float, Counter[tuple[bool, int]]]:
    """Commands a nanosecond of all runners of a job together, and how many of each kind there were in that window."""
    opened, closed = max(r.opened_ns for r in runners), min(r.closed_ns for r in runners)
    longest = max(r.closed_ns - r.opened_ns for r in runners)
    if 2 * (closed - opened) >= longest:
        inside = Counter((read, size) for r in runners for at, read, size in r.log if opened < at <= closed)
        return inside.total() / (closed - opened), inside
    # Hardly any time in common (very different rates): the sum of their own.
    own = Counter((read, size) for r in runners for at, read, size in r.log if at <= r.closed_ns)
    return sum((r.read.ios + r.write.ios) / (r.closed_ns - r.opened_ns) for r in runners), own
