# SPDX-License-Identifier: Apache-2.0
"""Traces of real systems, read and replayed: fio iolog v2 and v3, blkparse text, SNIA MSR-Cambridge CSV.

Reads and writes are replayed, at their own times or as fast as the drive takes them; what else a trace holds (flushes,
discards, opening of files) is counted and left out. Addresses beyond the drive wrap around. Accesses longer than the
drive's largest transfer become several commands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from doorbell.bench.jobs import Job
from doorbell.bench.results import Result, Side
from doorbell.bench.runner import noise
from doorbell.bench.stages import Recorder
from doorbell.errors import UserError
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import Buffer

SECTOR = 512  # of blkparse
CHUNK_CYCLES = 25_000


@dataclass(frozen=True)
class Access:
    """One read or write of a trace; at_ns counts from its first."""

    at_ns: float
    write: bool
    offset: int
    size: int


@dataclass
class Trace:
    name: str
    format: str
    accesses: list[Access]
    left_out: int = 0  # lines that are neither read nor write


# ------------------------------------------------------------------------------------------------------------- readers


class _Bad(Exception):
    pass


def _iolog(lines: Iterable[tuple[int, str]], version: int, trace: Trace) -> Iterator[Access]:
    """`[time in us] file action [offset length]`; v2 has no times but `file wait us` since the previous wait."""
    now = 0
    for _, line in lines:
        words = line.split()
        if version == 3:
            now = int(words.pop(0)) * 1000
        if len(words) < 2:
            raise _Bad
        action = words[1]
        if action == "wait" and version == 2:
            now += int(words[2]) * 1000
        elif action in ("read", "write"):
            yield Access(now, action == "write", int(words[2]), int(words[3]))
        elif action in ("sync", "datasync", "trim", "sync_file_range"):
            trace.left_out += 1
        elif action not in ("add", "open", "close"):
            raise _Bad


_BLKPARSE = re.compile(
    r"\s*(\d+),(\d+)\s+\d+\s+\d+\s+(\d+)\.(\d{9})\s+\d+\s+(\w+)\s+([A-Z]+)(?:\s+(\d+)\s+\+\s+(\d+))?(?:\s.*)?$"
)


def _blkparse(lines: Iterable[tuple[int, str]], trace: Trace) -> Iterator[Access]:
    """blkparse's default output; what was queued (Q) counts, where there is none what was issued (D).

    The summary behind the events ends it.
    """
    found: dict[str, list[Access]] = {"Q": [], "D": []}
    others: dict[str, int] = {"Q": 0, "D": 0}
    devices = set()
    for _, line in lines:
        if line.startswith(("CPU", "Total", "Throughput", "Events", "Skips")):
            break
        match = _BLKPARSE.match(line)
        if not match:
            raise _Bad
        major, minor, seconds, nanoseconds, action, kind, sector, count = match.groups()
        if action not in found:
            continue
        if sector is None or not int(count) or not set(kind) & {"R", "W"} or "D" in kind:
            others[action] += 1
            continue
        devices.add((major, minor))
        at = int(seconds) * 10**9 + int(nanoseconds)
        found[action].append(Access(at, "W" in kind, int(sector) * SECTOR, int(count) * SECTOR))
    if len(devices) > 1:
        names = ", ".join(f"{a},{b}" for a, b in sorted(devices))
        raise UserError(f"{trace.name} has several devices ({names}): make one trace each (blkparse -i)")
    action = "Q" if found["Q"] else "D"
    trace.left_out = others[action]
    yield from found[action]


def _msr(lines: Iterable[tuple[int, str]], trace: Trace) -> Iterator[Access]:
    """Timestamp (100 ns since 1601), Hostname, DiskNumber, Type, Offset, Size, ResponseTime (100 ns)."""
    disks = set()
    for number, line in lines:
        words = [w.strip() for w in line.split(",")]
        if number == 1 and words[0].lower() == "timestamp":
            continue
        time, host, disk, kind, offset, size, _ = words
        if kind.lower() not in ("read", "write"):
            raise _Bad
        disks.add((host, disk))
        yield Access(int(time) * 100, kind.lower() == "write", int(offset), int(size))
    if len(disks) > 1:
        names = ", ".join(f"{a}.{b}" for a, b in sorted(disks))
        raise UserError(f"{trace.name} has several disks ({names}): make one trace each")


def read_trace(path: Path) -> Trace:
    """The accesses of a trace in the order of their times. The format is found in its first line."""
    try:
        text = path.read_text()
    except OSError as e:
        raise UserError(f"cannot read the trace {path}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise UserError(f"{path} is not a trace in text (a binary blktrace: give it to blkparse first)") from e
    return parse_trace(text, str(path))


def parse_trace(text: str, name: str) -> Trace:
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#")]
    if not lines:
        raise UserError(f"{name}: the trace is empty")
    first = lines[0][1].strip()
    iolog = re.fullmatch(r"fio version (\d+) iolog", first)
    reader: Callable[[Iterable[tuple[int, str]], Trace], Iterator[Access]]
    if iolog:
        version = int(iolog[1])
        if version not in (2, 3):
            raise UserError(f"{name}: fio iolog version {version} is not known: 2 and 3 are")
        kind, lines = f"fio iolog v{version}", lines[1:]

        def reader(some: Iterable[tuple[int, str]], trace: Trace) -> Iterator[Access]:
            return _iolog(some, version, trace)
    elif first.count(",") == 6:
        kind, reader = "MSR-Cambridge CSV", _msr
    elif _BLKPARSE.match(first):
        kind, reader = "blkparse", _blkparse
    else:
        raise UserError(
            f"{name}: its first line is neither of a fio iolog (v2, v3), nor of blkparse's text, "
            "nor of an MSR-Cambridge CSV"
        )
    trace = Trace(name, kind, [])
    at = 0

    def counted() -> Iterator[tuple[int, str]]:
        nonlocal at
        for number, line in lines:
            at = number
            yield number, line

    try:
        found = list(reader(counted(), trace))
    except (_Bad, ValueError, IndexError) as e:
        raise UserError(f"{name}:{at}: this is no line of a {kind} trace") from e
    if not found:
        raise UserError(f"{name}: there is no read and no write in it")
    found.sort(key=lambda a: a.at_ns)  # blkparse merges processors, and MSR stamps completions: nearly in order
    start = found[0].at_ns
    trace.accesses = [replace(a, at_ns=a.at_ns - start) for a in found]
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
            drive.submit(qid, opcode, a.offset // block, a.size // block - 1, buffers[qid], nbytes=a.size, user=due(a))
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
