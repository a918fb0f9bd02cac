# SPDX-License-Identifier: Apache-2.0
"""Lines of traces as accesses: fio iolog v2 and v3, blkparse text, and the formats in which real traces are published
(SNIA's MSR-Cambridge, Microsoft Production Server and SYSTOR '17, FIU, SPC). docs/workloads.md describes them.

A reader takes numbered lines and gives each access with the disk that it was on ("": the format knows of none).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from doorbell.errors import UserError

SECTOR = 512  # of blkparse, FIU and SPC


@dataclass(frozen=True)
class Access:
    """One read or write of a trace; at_ns counts from its first."""

    at_ns: float
    write: bool
    offset: int
    size: int


@dataclass
class Trace:
    """left_out: lines that are neither read nor write, or of another disk."""

    name: str
    format: str
    accesses: list[Access] = field(default_factory=list)
    left_out: int = 0


class BadLine(Exception):
    """Not a line of this format. ValueError and IndexError say the same."""


Lines = Iterable[tuple[int, str]]
Found = Iterator[tuple[str, Access]]
Reader = Callable[[Lines, Trace], Found]


def _direction(word: str) -> bool:
    """True: a write."""
    kind = word.strip().lower()
    if kind not in ("r", "w", "read", "write"):
        raise BadLine
    return kind[0] == "w"


def _seconds(text: str) -> int:
    """Seconds with up to nine decimals, in whole nanoseconds: a float would lose them since 1970."""
    whole, _, part = text.strip().partition(".")
    return int(whole) * 10**9 + int(part[:9].ljust(9, "0"))


def _iolog(version: int) -> Reader:
    """`[time in us] file action [offset length]`; v2 has no times but `file wait us` since the previous wait."""

    def read(lines: Lines, trace: Trace) -> Found:
        now = 0
        for _, line in lines:
            words = line.split()
            if version == 3:
                now = int(words.pop(0)) * 1000
            if len(words) < 2:
                raise BadLine
            action = words[1]
            if action == "wait" and version == 2:
                now += int(words[2]) * 1000
            elif action in ("read", "write"):
                yield "", Access(now, action == "write", int(words[2]), int(words[3]))
            elif action in ("sync", "datasync", "trim", "sync_file_range"):
                trace.left_out += 1
            elif action not in ("add", "open", "close"):
                raise BadLine

    return read


_BLKPARSE = re.compile(
    r"\s*(\d+),(\d+)\s+\d+\s+\d+\s+(\d+)\.(\d{9})\s+\d+\s+(\w+)\s+([A-Z]+)(?:\s+(\d+)\s+\+\s+(\d+))?(?:\s.*)?$"
)


def _blkparse(lines: Lines, trace: Trace) -> Found:
    """blkparse's default output; what was queued (Q) counts, where there is none what was issued (D).

    The summary behind the events ends it.
    """
    found: dict[str, list[tuple[str, Access]]] = {"Q": [], "D": []}
    others: dict[str, int] = {"Q": 0, "D": 0}
    for _, line in lines:
        if line.startswith(("CPU", "Total", "Throughput", "Events", "Skips")):
            break
        match = _BLKPARSE.match(line)
        if not match:
            raise BadLine
        major, minor, seconds, nanoseconds, action, kind, sector, count = match.groups()
        if action not in found:
            continue
        if sector is None or not int(count) or not set(kind) & {"R", "W"} or "D" in kind:
            others[action] += 1
            continue
        at = int(seconds) * 10**9 + int(nanoseconds)
        access = Access(at, "W" in kind, int(sector) * SECTOR, int(count) * SECTOR)
        found[action].append((f"{major},{minor}", access))
    action = "Q" if found["Q"] else "D"
    trace.left_out = others[action]
    yield from found[action]


def _msr(lines: Lines, trace: Trace) -> Found:
    """Timestamp (100 ns since 1601), Hostname, DiskNumber, Type, Offset, Size, ResponseTime (100 ns)."""
    for number, line in lines:
        words = [w.strip() for w in line.split(",")]
        if number == 1 and words[0].lower() == "timestamp":
            continue
        time, host, disk, kind, offset, size, _ = words
        yield f"{host}.{disk}", Access(int(time) * 100, _direction(kind), int(offset), int(size))


def _production(lines: Lines, trace: Trace) -> Found:
    """xperf's text: DiskRead|DiskWrite, TimeStamp (us), process, thread, IrpPtr, ByteOffset and IOSize (0x...),
    ElapsedTime (us), DiskNum, ... The event is that of the end, so the access began ElapsedTime before it.

    Events of other kinds stand between them: of files, threads, the processor. Names may have commas in them.
    """
    for _, line in lines:
        kind, _, rest = line.strip().partition(",")
        if kind not in ("DiskRead", "DiskWrite"):
            trace.left_out += kind == "DiskFlush"
            continue
        if rest.split(",", 1)[0].strip() == "TimeStamp":
            continue  # of the header
        found = re.match(r"\s*(\d+),.*?,\s*\d+,\s*0x\w+,\s*(0x\w+),\s*(0x\w+),\s*(\d+),\s*(\d+),", rest)
        if not found:
            raise BadLine
        at, offset, size, elapsed, disk = found.groups()
        yield disk, Access((int(at) - int(elapsed)) * 1000, kind == "DiskWrite", int(offset, 16), int(size, 16))


def _systor(lines: Lines, trace: Trace) -> Found:
    """Timestamp (seconds since 1970), Response, IOType (R, W or nothing), LUN, Offset, Size."""
    for number, line in lines:
        words = line.split(",")
        if number == 1 and words[0].lower() == "timestamp":
            continue
        time, _, kind, lun, offset, size = words
        if not kind.strip():
            trace.left_out += 1
            continue
        yield lun.strip(), Access(_seconds(time), _direction(kind), int(offset), int(size))


def _fiu(lines: Lines, trace: Trace) -> Found:
    """Time in ns, process id, process, sector, sectors, R|W, major, minor, digests. A process may have blanks."""
    for _, line in lines:
        words = line.split()
        at = next((i for i in range(len(words) - 3, 4, -1) if words[i] in ("R", "W") and words[i - 1].isdecimal()), 0)
        if not at:
            raise BadLine
        access = Access(int(words[0]), words[at] == "W", int(words[at - 2]) * SECTOR, int(words[at - 1]) * SECTOR)
        yield ",".join(words[at + 1 : at + 3]), access


def _spc(lines: Lines, trace: Trace) -> Found:
    """ASU, sector, size in bytes, opcode, seconds, and what a writer added."""
    for _, line in lines:
        unit, sector, size, kind, time = line.split(",")[:5]
        yield unit.strip(), Access(_seconds(time), _direction(kind), int(sector) * SECTOR, int(size))


_FIU = re.compile(r"\d+\s+\d+\s+\S.*?\s\d+\s+\d+\s+[RW]\s+\d+\s+\d+(\s+\w+)*\s*$")
_SPC = re.compile(r"\d+,\s*\d+,\s*\d+,\s*[RrWw],\s*\d+(\.\d+)?\s*(,|$)")
KNOWN = "fio's iolog (v2, v3), blkparse's text, or a CSV or text of MSR-Cambridge, Microsoft Production Server, " \
        "SYSTOR '17, FIU, SPC"  # fmt: skip


def detect(first: str, name: str) -> tuple[str, Reader, bool]:
    """The format of a trace with this first line: its name, what reads it, and whether that line only names it."""
    if iolog := re.fullmatch(r"fio version (\d+) iolog", first.strip()):
        version = int(iolog[1])
        if version not in (2, 3):
            raise UserError(f"{name}: fio iolog version {version} is not known: 2 and 3 are")
        return f"fio iolog v{version}", _iolog(version), True
    words = first.strip().split(",")
    if words[0] in ("BeginHeader", "DiskRead", "DiskWrite"):
        return "Microsoft Production Server", _production, False
    if _SPC.match(first):
        return "SPC", _spc, False
    if len(words) == 7:
        return "MSR-Cambridge CSV", _msr, False
    if len(words) == 6:
        return "SYSTOR '17 CSV", _systor, False
    if _BLKPARSE.match(first):
        return "blkparse", _blkparse, False
    if _FIU.match(first):
        return "FIU", _fiu, False
    raise UserError(f"{name}: its first line is not one of {KNOWN}")
