# SPDX-License-Identifier: Apache-2.0
"""Where the time of a command goes: from the pulses of the drive's stages, as the simulator recorded them.

A command's time is cut at these moments, so its stages add up to its latency:

    read    ring | doorbell | arbitration | fetch | issue | media | data | CQE | MSI-X | host
    write   ring | doorbell | arbitration | fetch | PRP   | data  | media | CQE | MSI-X | host

doorbell: until the drive's queues have the tail. arbitration: until its entry is requested. fetch: until the entry is
decoded. issue: until the media is asked (PRPs are walked meanwhile). media: until its first beat is there. data: until
all of it was sent. For a write, PRP: until its data is requested; data: until its first beat goes to the media; media:
until the last write response. CQE: until the entry left. MSI-X: until the interrupt is raised. host: until it arrived.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from doorbell.device.sim_interface import EVENTS
from doorbell.errors import UserError
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.driver import Driver

MOST_EVENTS = 10_000_000
KINDS = ("doorbell", "fetch", "decode", "data", "cqe", "irq", "rq_read", "ar", "r", "aw", "w")
READ = ("doorbell", "arbitration", "fetch", "issue", "media", "data", "CQE", "MSI-X", "host")
WRITE = ("doorbell", "arbitration", "fetch", "PRP", "data", "media", "CQE", "MSI-X", "host")
STALLS = ("everybody: the link (RQ)", "read pipe: media read data", "media data: the data writer",
          "segments: the data writer", "write pipe: the host's data", "write pipe: the media's W")  # fmt: skip


@dataclass
class Trip:
    """A command and the cycles at which it passed the stages."""

    qid: int
    cid: int
    position: int
    read: bool
    measured: bool
    host: int  # address of its data
    media: int
    started: int
    done: int
    at: dict[str, int] = field(default_factory=dict)
    opcode: int = NvmOpc.READ
    size: int = 0
    status: int = 0

    @property
    def whole(self) -> bool:
        """All its cuts are known."""
        return len(self.at) == len(READ) - 1

    def cuts(self) -> list[int]:
        """Where its time is cut, from its start to its end."""
        return [self.started, *(self.at[n] for n in (READ if self.read else WRITE)[:-1]), self.done]


class Recorder:
    """Records one run of a drive (`start` and `stop` while nothing is in flight)."""

    def __init__(self, before_first: int = 0, *, everything: bool = False) -> None:
        """before_first: queues of the hardware before the first of the drive's. Its vectors are the first. everything:
        all events and commands are kept, for doorbell.bench.timeline."""
        self.before_first, self.everything = before_first, everything
        self.trips: list[Trip] = []
        self.skipped = 0
        self.stalls: list[int] = []
        self.cycles = 0
        self.clock_mhz = 250.0

    def start(self, drive: Driver) -> None:
        sim = drive.sim
        if not hasattr(sim, "record"):
            raise UserError("--stages needs --backend rtl: the functional model has no stages")
        self.drive, self.sim = drive, sim
        self.clock_mhz = sim.clock_mhz
        self.queues = {
            self.before_first + q: (s.sent, s.tail, s.entries, drive.cqs[s.cqid].vector)
            for q, s in drive.sqs.items()
            if q
        }
        self.events: list[Any] = []
        self.new: list[Trip] = []
        self._stalls = sim.stalls()
        self._cycle, self.begin_ns = sim.cycle, sim.ns
        self.rings = {  # address and bytes of each queue's memory
            **{f"SQ {q}": (s.address, 64 * s.entries) for q, s in drive.sqs.items()},
            **{f"CQ {q}": (c.address, 16 * c.entries) for q, c in drive.cqs.items()},
        }
        sim.record(EVENTS if self.everything else KINDS)

    def collect(self) -> None:
        self.events += self.sim.recorded()
        if self.everything and len(self.events) > MOST_EVENTS:
            raise UserError(f"--perfetto: more than {MOST_EVENTS:,} events: use fewer commands (--number-ios)")

    def done(self, command: Command, measured: bool) -> None:
        """Every command must be told, in the order in which they completed."""
        assert command.buffer is not None
        self.new.append(Trip(
            self.before_first + command.qid, command.cid, command.position, command.opcode == NvmOpc.READ, measured,
            command.buffer.address, command.slba * self.drive.block_size, self._at(command.started_ns),
            self._at(command.done_ns), opcode=command.opcode, size=(command.nlb + 1) * self.drive.block_size,
            status=command.status))  # fmt: skip

    def _at(self, ns: float) -> int:
        return round(ns * self.clock_mhz / 1000)

    def stop(self) -> None:
        self.collect()
        self.sim.record(())
        self.stalls = [(b - a) & 0xFFFFFFFF for a, b in zip(self._stalls, self.sim.stalls())]
        self.last_cycle, self.link_ticks = self.sim.cycle, self.sim.link_ticks
        self.cycles = self.last_cycle - self._cycle
        _follow(self.new, self.events, self.queues)
        for trip in self.new:
            if not trip.measured:
                continue
            if trip.whole:
                self.trips.append(trip)
            else:
                self.skipped += 1
        if not self.everything:
            self.events.clear()

    def queue_name(self, number: int) -> str:
        """Of a queue of the hardware."""
        if number in self.queues:
            return f"SQ {number - self.before_first}"
        return f"admin of function {number}" if number <= self.before_first else f"queue {number} of another function"

    def place(self, address: int) -> str:
        """What of the host's memory this is. Of db_vcsd it may be a register or a buffer of an SSD."""
        if self.sim.msi_window[0] <= address < sum(self.sim.msi_window):
            return "MSI-X"
        if not 0 <= address - self.drive.memory.base < self.drive.memory.size:
            return "elsewhere"
        return next((name for name, (base, size) in self.rings.items() if 0 <= address - base < size), "data")

    @staticmethod
    def names(read: bool) -> tuple[str, ...]:
        """The stages between the cuts of a command."""
        return READ if read else WRITE

    def stages(self, read: bool) -> list[tuple[str, np.ndarray]]:
        """Name and nanoseconds of each stage, a value a command."""
        names = READ if read else WRITE
        rows = [t.cuts() for t in self.trips if t.read == read]
        cuts = np.array(rows, dtype=float).reshape(len(rows), len(names) + 1) * 1000 / self.clock_mhz
        return list(zip(names, np.diff(cuts, axis=1).T))


def _follow(trips: Sequence[Trip], events: Sequence[Any], queues: dict[int, tuple[int, int, int, int]]) -> None:
    """Give every trip the cycles of its stages."""
    count = {q: (sent, tail) for q, (sent, tail, _, _) in queues.items()}
    asked = {q: sent for q, (sent, _, _, _) in queues.items()}
    upto: dict[tuple[str, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    by_id: dict[tuple[int, int], deque[Trip]] = defaultdict(deque)
    for trip in sorted(trips, key=lambda t: t.position):
        by_id[trip.qid, trip.cid].append(trip)
    slots: dict[int, Trip] = {}
    wants: dict[tuple[str, int], deque[Trip]] = defaultdict(deque)  # who waits for this address next
    bursts: dict[str, deque[Trip | None]] = {"r": deque(), "w": deque()}
    left: dict[int, deque[Trip]] = defaultdict(deque)  # completed, by vector, in order
    raised: dict[int, deque[int]] = defaultdict(deque)

    def match(vector: int) -> None:
        while left[vector] and raised[vector]:
            left[vector].popleft().at["MSI-X"] = raised[vector].popleft()

    for cycle, kind, a, b in events:
        if kind == "doorbell":
            if a in queues:
                sent, tail = count[a]
                count[a] = sent + (b - tail) % queues[a][2], b
                upto["doorbell", a][0].append(count[a][0])
                upto["doorbell", a][1].append(cycle)
        elif kind == "fetch":
            if a in queues:
                asked[a] += b >> 16
                upto["arbitration", a][0].append(asked[a])
                upto["arbitration", a][1].append(cycle)
        elif kind == "decode":
            waiting = by_id.get((b & 0xFFFF, b >> 16))
            if not waiting:
                slots.pop(a, None)
                continue
            trip = slots[a] = waiting.popleft()
            trip.at["fetch"] = cycle
            wants["ar" if trip.read else "aw", trip.media].append(trip)
            if not trip.read:
                wants["rq_read", trip.host].append(trip)
        elif kind in ("ar", "aw", "rq_read"):
            trip_or_none = wants[kind, b].popleft() if wants.get((kind, b)) else None
            if kind == "rq_read":
                if trip_or_none:
                    trip_or_none.at["PRP"] = cycle
            elif kind == "aw":
                bursts["w"].append(trip_or_none)
            elif a == 0:
                bursts["r"].append(trip_or_none)
                if trip_or_none:
                    trip_or_none.at["issue"] = cycle
        elif kind in ("r", "w"):
            trip_or_none = bursts[kind].popleft() if bursts[kind] and not a else None
            if trip_or_none:
                trip_or_none.at["media" if kind == "r" else "data"] = cycle
        elif kind == "data":
            if a in slots:
                slots[a].at["data" if slots[a].read else "media"] = cycle
        elif kind == "cqe":
            done = slots.pop(a, None)
            if done:
                done.at["CQE"] = cycle
                vector = queues[done.qid][3]
                left[vector].append(done)
                match(vector)
        elif kind == "irq":
            raised[a].append(cycle)
            match(a)
    for trip in trips:
        for name in ("doorbell", "arbitration"):
            ends, cycles = upto[name, trip.qid]
            index = bisect_right(ends, trip.position)
            if index < len(ends):
                trip.at[name] = cycles[index]


def stage_json(recorder: Recorder) -> dict[str, Any]:
    """Figures of the table, in nanoseconds; stalls in cycles."""
    out: dict[str, Any] = {}
    for name, read in (("read", True), ("write", False)):
        stages = recorder.stages(read)
        if len(stages[0][1]):
            out[name] = [{"stage": stage, "mean_ns": float(v.mean()), "p99_ns": _p99(v)} for stage, v in stages]
    out["stalls"] = dict(zip(STALLS, recorder.stalls))
    out["cycles"] = recorder.cycles
    return out


def _p99(values: np.ndarray) -> float:
    ordered = np.sort(values)
    return float(ordered[max(0, -(-99 * len(ordered) // 100) - 1)])


def stage_tables(recorder: Recorder, title: str) -> list[Any]:
    """Mean and p99 of each stage for reads and writes, and who waited for whom."""
    from rich.table import Table

    tables = []
    for name, read in (("read", True), ("write", False)):
        stages = recorder.stages(read)
        count = len(stages[0][1])
        if not count:
            continue
        total = np.sum([v for _, v in stages], axis=0)
        table = Table(title=f"{title}: {count:,} {name}s by stage", title_justify="left")
        table.add_column("stage")
        for column in ("mean ns", "p99 ns", "mean cycles", "% of mean"):
            table.add_column(column, justify="right")
        for stage, v in [*stages, ("all", total)]:
            table.add_row(
                stage,
                f"{v.mean():,.1f}",
                f"{_p99(v):,.0f}",
                f"{v.mean() * recorder.clock_mhz / 1000:,.1f}",
                f"{100 * v.mean() / total.mean():.1f}",
                end_section=stage == READ[-1],
            )
        tables.append(table)
    table = Table(title="Cycles in which somebody waited", title_justify="left")
    table.add_column("who waits for what")
    table.add_column("cycles", justify="right")
    table.add_column("% of time", justify="right")
    for name, cycles in zip(STALLS, recorder.stalls):
        table.add_row(name, f"{cycles:,}", f"{100 * cycles / max(1, recorder.cycles):.1f}")
    return [*tables, table]
