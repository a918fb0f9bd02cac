# SPDX-License-Identifier: Apache-2.0
"""Traces of real systems, read (trace_formats.py has the formats) and replayed; synthetic ones are replayed alike.

Reads and writes are replayed, at their own times or as fast as the drive takes them; what else a trace holds (flushes,
discards, opening of files) is counted and left out. Addresses beyond the drive wrap around. Accesses longer than the
drive's largest transfer become several commands.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from doorbell.bench.jobs import Job
from doorbell.bench.results import Result, Side
from doorbell.bench.runner import noise
from doorbell.bench.stages import Recorder
from doorbell.bench.trace_formats import Access, BadLine, Trace, detect
from doorbell.errors import UserError
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import Buffer

CHUNK_CYCLES = 25_000
LONGEST = 1 << 30
"""Bytes of an access: no system asks a disk for more at once."""
UNSORTED = 4096
"""How far an access may stand from its place by time, in accesses, in a trace of which only the beginning is read."""


# ------------------------------------------------------------------------------------------------------------- reading


def read_trace(path: Path, disk: str | None = None, most: int = 0) -> Trace:
    """The accesses of a trace in the order of their times. The format is found in its first line.

    disk: of those that are in it. most: no more than its first so many; 0 is all. A name that ends in .gz is unpacked.
    """
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as lines:
            return parse_trace(lines, str(path), disk, most)
    except (OSError, EOFError, zlib.error) as e:
        raise UserError(f"cannot read the trace {path}: {getattr(e, 'strerror', None) or e}") from e
    except UnicodeDecodeError as e:
        raise UserError(f"{path} is not a trace in text (a binary blktrace: give it to blkparse first)") from e


def parse_trace(text: str | Iterable[str], name: str, disk: str | None = None, most: int = 0) -> Trace:
    source = text.splitlines() if isinstance(text, str) else text
    lines = ((n, line) for n, line in enumerate(source, 1) if line.strip() and not line.startswith("#"))
    first = next(lines, None)
    if first is None:
        raise UserError(f"{name}: the trace is empty")
    kind, reader, title = detect(first[1], name)
    trace = Trace(name, kind)
    at = 0

    def counted() -> Iterator[tuple[int, str]]:
        nonlocal at
        for number, line in lines if title else chain([first], lines):
            at = number
            yield number, line

    disks: Counter[str] = Counter()
    found: list[Access] = []
    try:
        for where, access in reader(counted(), trace):
            if access.offset < 0 or not 0 <= access.size <= LONGEST:
                raise BadLine
            disks[where] += 1
            if disk is None or where == disk:
                found.append(access)
            if most and len(found) >= most + UNSORTED:
                break
    except (BadLine, ValueError, IndexError) as e:
        if isinstance(e, UnicodeDecodeError):
            raise
        raise UserError(f"{name}:{at}: this is no line of a {kind} trace") from e
    named = ", ".join(f"{d} ({n:,})" for d, n in disks.most_common(8)) + (", ..." if len(disks) > 8 else "")
    if disk is not None and disk not in disks:
        raise UserError(f"{name} has no disk '{disk}': it has {named if any(disks) else 'none with a name'}")
    if disk is None and len(disks) > 1:
        raise UserError(f"{name} has several disks, with so many accesses: {named}: choose one with --trace-disk")
    if not found:
        raise UserError(f"{name}: there is no read and no write in it")
    trace.left_out += disks.total() - len(found)
    found.sort(key=lambda a: a.at_ns)  # blkparse merges processors, others have ends for beginnings: nearly in order
    start = found[0].at_ns
    trace.accesses = [replace(a, at_ns=a.at_ns - start) for a in found[: most or None]]
    return trace


# ------------------------------------------------------------------------------------------------------------- replay


def commands(trace: Trace, block: int, capacity: int, most: int) -> list[Access]:
    """The trace as commands that a drive takes: whole blocks, inside it, none above `most` bytes."""
    out = []
    for a in trace.accesses:
        first = a.offset // block * block
        left = max(block, -(-(a.offset + a.size - first) // block) * block)
        at = first % capacity
        while left:
            here = min(left, most, capacity - at)
            out.append(Access(a.at_ns, a.write, at, here))
            left -= here
            at = (at + here) % capacity
    return out


def replay(
    drive: Driver,
    trace: Trace,
    job: Job,
    *,
    afap: bool,
    speed: float = 1.0,
    progress: Callable[[float], None] | None = None,
    recorder: Recorder | None = None,
) -> Result:
    """Replay on the drive's queues, in turn, with job.iodepth commands in flight on each at most.

    afap: each command as soon as there is room; else at its own time (divided by `speed`), or when there is room.
    """
    assert drive.namespace is not None
    block = drive.block_size
    todo = commands(trace, block, drive.namespace.nsze * block, drive.max_transfer or 1 << 20)
    if job.number_ios:
        todo = todo[: job.number_ios]
    queues = [q for q in drive.sqs if q]
    size = max(a.size for a in todo)
    # One buffer a queue: what commands hold does not matter here, and a trace may have large ones.
    buffers: dict[int, Buffer] = {q: drive.buffer(size) for q in queues}
    for buffer in buffers.values():
        buffer.write(noise(job.randseed, size))
    room = dict.fromkeys(queues, job.iodepth)
    read, write = Side(), Side()
    clock = getattr(drive.sim, "clock_mhz", 250.0)
    if recorder:
        recorder.start(drive)
    bells = drive.sq_doorbells, drive.cq_doorbells, drive.interrupts
    start, sent, done, turn, idle_since = drive.sim.ns, 0, 0, 0, drive.sim.ns

    def due(access: Access) -> float:
        return start if afap else start + access.at_ns / speed

    while done < len(todo):
        now = drive.sim.ns
        while sent < len(todo) and due(todo[sent]) <= now:
            qid = next((q for i in range(len(queues)) if room[q := queues[(turn + i) % len(queues)]]), None)
            if qid is None:
                break
            a = todo[sent]
            opcode = NvmOpc.WRITE if a.write else NvmOpc.READ
            wanted = now if afap else due(a)  # as fast as possible it is wanted when there is room
            drive.submit(qid, opcode, a.offset // block, a.size // block - 1, buffers[qid], nbytes=a.size, user=wanted)
            room[qid] -= 1
            sent += 1
            turn = queues.index(qid) + 1
        drive.ring()
        completed = drive.poll()
        if not completed:
            wait = CHUNK_CYCLES
            if sent == done:  # nothing in flight: on to the next arrival
                wait = int((due(todo[sent]) - drive.sim.ns) * clock / 1000) + 1
            elif sent < len(todo) and any(room.values()):
                wait = min(wait, int((due(todo[sent]) - drive.sim.ns) * clock / 1000) + 1)
            drive.advance(max(1, wait), until_irq=True)
            if recorder:
                recorder.collect()
            completed = drive.poll()
        if completed or sent == done:
            idle_since = drive.sim.ns
        elif drive.sim.ns - idle_since > drive.io_timeout_us * 1000:
            drive.wait()  # says which command is late
        for command in completed:
            command.check()
            room[command.qid] += 1
            done += 1
            side = read if command.opcode == NvmOpc.READ else write
            side.add((command.nlb + 1) * block, command.done_ns - command.started_ns)
            side.slat_ns.append(command.started_ns - command.user)
            if recorder:
                recorder.done(command, True)
        if progress:
            progress(done / len(todo))
    if recorder:
        recorder.stop()
    end = drive.sim.ns
    for buffer in buffers.values():
        buffer.free()
    count = len(todo)
    mix = round(100 * read.ios / count)
    job = replace(
        job,
        name=Path(trace.name).stem,
        rw="read" if mix == 100 else "write" if mix == 0 else "rw",
        rwmixread=mix,
        split=_split(read, write),
        numjobs=len(queues),
    )
    return Result(
        job,
        read,
        write,
        end - start,
        ((drive.sq_doorbells - bells[0]) / count, (drive.cq_doorbells - bells[1]) / count),
        (drive.interrupts - bells[2]) / count,
    )


def _split(read: Side, write: Side) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    def one(side: Side, other: Side) -> tuple[tuple[int, int], ...]:
        return tuple(sorted((side.sizes or other.sizes).items()))

    return one(read, write), one(write, read)
