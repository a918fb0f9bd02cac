# SPDX-License-Identifier: Apache-2.0
"""`--perfetto FILE`: what a recorded run did, as a trace for Perfetto's UI.

Each command is a slice on its queue, cut into the stages of doorbell.bench.stages, and a flow through the engines from
its doorbell to its interrupt. Beside them: the media's bursts, the TLPs on the link, and who waited for what. All times
are those that the simulator recorded.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from doorbell.bench.perfetto import Timeline, Track
from doorbell.bench.stages import STALLS, Recorder, Trip
from doorbell.device.sim_interface import TLPS
from doorbell.nvme.commands import opcode_name
from doorbell.units import size_name

KINDS = dict(zip(TLPS, ("MRd", "MWr", "CplD", "Cpl")))
BUSY_NS = 1000  # of each value of the counters of the link


@dataclass(frozen=True)
class Span:
    """Simulated time that is shown, in nanoseconds: what begins or ends in it."""

    first: float
    end: float

    def has(self, begin: float, end: float) -> bool:
        return end >= self.first and begin < self.end


def draw(recorders: Sequence[Recorder], span: Span) -> Timeline:
    """Groups of jobs that ran one after the other on one drive."""
    picture = _Picture(span, recorders[0].clock_mhz)
    for recorder in recorders:
        picture.add(recorder)
    picture.depths()
    return picture.out


class _Picture:
    def __init__(self, span: Span, clock_mhz: float) -> None:
        self.span, self.out = span, Timeline()
        self.ns_of_cycle = 1000 / clock_mhz
        queues, engines, media, link, stalls = (
            self.out.track(name) for name in ("Queues", "Engines", "Media", "Link", "Stalls: who waits for what")
        )
        self.groups = {"queues": queues, "engines": engines, "media": media, "link": link, "stalls": stalls}
        self.tracks: dict[tuple[str, str], Track] = {}
        for name in ("doorbells", "fetch", "read engine", "write engine", "completion", "interrupts"):
            self.track("engines", name)
        for name in ("read bursts", "write bursts"):
            self.track("media", name)
        for way in ("to the host", "from the host"):
            self.track("link", way)
            self.track("link", f"{way}, % of time", unit="%")
        self.flows = 0
        self.steps: dict[tuple[str, str], list[tuple[float, int]]] = defaultdict(list)  # of a track: when, more or less

    def track(self, group: str, name: str, unit: str | None = None) -> Track:
        if (group, name) not in self.tracks:
            self.tracks[group, name] = self.out.track(name, self.groups[group], unit)
        return self.tracks[group, name]

    def ns(self, cycle: float) -> int:
        return round(cycle * self.ns_of_cycle)

    def slice(self, group: str, name: str, text: str, begin: float, end: float, **more: Any) -> None:
        """begin, end: cycles."""
        if self.span.has(begin * self.ns_of_cycle, end * self.ns_of_cycle):
            self.out.slice(self.track(group, name), text, self.ns(begin), self.ns(end), **more)

    def add(self, recorder: Recorder) -> None:
        flows: dict[tuple[int, int], list[int]] = defaultdict(list)  # of the doorbells, by queue and cycle
        for trip in sorted(recorder.new, key=lambda t: t.started):
            self.command(recorder, trip, flows)
        self.events(recorder, flows)
        self.bursts(recorder)
        self.link(recorder)

    # ---- commands

    def command(self, recorder: Recorder, trip: Trip, flows: dict[tuple[int, int], list[int]]) -> None:
        """Its slice on its queue, and its flow through the engines."""
        queue = trip.qid - recorder.before_first
        self.steps["queues", f"SQ {queue}"] += [(trip.started, 1), (trip.done, -1)]
        if not self.span.has(trip.started * self.ns_of_cycle, trip.done * self.ns_of_cycle):
            return
        what = opcode_name(trip.opcode).replace("_", " ").capitalize()
        text = f"{what} {size_name(trip.size)}" if trip.whole else what
        notes: dict[str, int | float | str] = {
            "cid": trip.cid, "LBA": trip.media // recorder.drive.block_size, "position": trip.position,
            "latency, ns": (trip.done - trip.started) * self.ns_of_cycle, "measured": int(trip.measured),
            **({"status": trip.status} if trip.status else {}),
        }  # fmt: skip
        if not trip.whole:
            self.slice("queues", f"SQ {queue}", text, trip.started, trip.done, arguments=notes)
            return
        self.flows += 1
        flow = (self.flows,)
        at, cuts = trip.at, [self.ns(c) for c in trip.cuts()]
        names = recorder.names(trip.read)
        self.slice("queues", f"SQ {queue}", text, trip.started, trip.done, arguments=notes,
                   inner=[(name, a, b) for name, a, b in zip(names, cuts, cuts[1:])])  # fmt: skip
        flows[trip.qid, at["doorbell"]].append(self.flows)
        moved = at["data" if trip.read else "media"]
        who = f"SQ {queue} cid {trip.cid}"
        self.slice("engines", "fetch", who, at["arbitration"], at["fetch"], flows=flow)
        self.slice("engines", "read engine" if trip.read else "write engine", who, at["fetch"], moved, flows=flow)
        self.slice("engines", "completion", who, moved, at["CQE"], flows=flow)
        self.slice("engines", "interrupts", who, at["CQE"], trip.done, flows=flow, last=True)

    def depths(self) -> None:
        """Commands of each queue that are under way, and bursts of the media."""
        for (group, name), steps in sorted(self.steps.items()):
            track, depth = self.track(group, f"{name}, under way", ""), 0
            for cycle, more in sorted(steps):
                depth += more
                if self.span.has(cycle * self.ns_of_cycle, cycle * self.ns_of_cycle):
                    self.out.count(track, self.ns(cycle), depth)

    # ---- what was recorded of the drive as a whole

    def events(self, recorder: Recorder, flows: dict[tuple[int, int], list[int]]) -> None:
        stalled, since = 0, [0] * len(STALLS)
        for cycle, kind, a, b in recorder.events:
            if kind == "doorbell":
                if self.span.has(cycle * self.ns_of_cycle, cycle * self.ns_of_cycle):
                    self.out.instant(self.track("engines", "doorbells"), recorder.queue_name(a), self.ns(cycle),
                                     flows=flows.pop((a, cycle), ()), arguments={"tail": b})  # fmt: skip
            elif kind == "stall":
                self.stall(stalled & ~a, since, cycle)
                for i in range(len(STALLS)):
                    if a & ~stalled & 1 << i:
                        since[i] = cycle
                stalled = a
        self.stall(stalled, since, recorder.last_cycle)

    def stall(self, ended: int, since: Sequence[int], cycle: int) -> None:
        for i, cause in enumerate(STALLS):
            if ended >> i & 1:
                self.slice("stalls", cause, cause, since[i], cycle)

    def bursts(self, recorder: Recorder) -> None:
        """Of a read from its address to its last beat, of a write to its response; AXI answers in order of each id."""
        reads: dict[int, deque[tuple[int, int]]] = defaultdict(deque)
        writes: deque[tuple[int, int]] = deque()
        for cycle, kind, a, b in recorder.events:
            if kind == "ar":
                reads[a].append((cycle, b))
            elif kind == "aw":
                writes.append((cycle, b))
            elif kind == "r_last" and reads[a]:
                self.burst("read", *reads[a].popleft(), cycle + 1)
            elif kind == "b" and writes:
                self.burst("write", *writes.popleft(), cycle + 1)

    def burst(self, way: str, begin: int, address: int, end: int) -> None:
        self.slice("media", f"{way} bursts", way, begin, end, arguments={"address": address})
        self.steps["media", f"{way} bursts"] += [(begin, 1), (end, -1)]

    def link(self, recorder: Recorder) -> None:
        """TLPs; requests leave in the order in which RQ had those of their kind, so their addresses are known."""
        cycle_ticks, byte_ticks = recorder.link_ticks
        addresses = {k: deque(e.b for e in recorder.events if e.kind == k) for k in ("rq_write", "rq_read")}
        for kind, way in (("up", "to the host"), ("down", "from the host")):
            spans: list[tuple[float, float]] = []
            for event in recorder.events:
                if event.kind != kind:
                    continue
                size, tlp = event.a >> 8, TLPS[event.a & 0xFF]
                end = event.b / cycle_ticks
                begin = end - size * byte_ticks / cycle_ticks
                known = addresses.get({"mwr": "rq_write", "mrd": "rq_read"}.get(tlp, ""), deque())
                address = known.popleft() if kind == "up" and known else None
                text = KINDS[tlp] if address is None else f"{KINDS[tlp]} {recorder.place(address)}"
                notes = {"bytes": size} | ({} if address is None else {"address": address})
                self.slice("link", way, text, begin, end, arguments=notes)
                spans.append((begin * self.ns_of_cycle, end * self.ns_of_cycle))
            for at, busy in _shares(spans):
                if self.span.has(at, at):
                    self.out.count(self.track("link", f"{way}, % of time"), round(at), busy)


def _shares(spans: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Of each BUSY_NS the share that is covered, per cent, and a 0 at the end. The spans follow each other."""
    if not spans:
        return
    first, last = int(spans[0][0] // BUSY_NS), int(spans[-1][1] // BUSY_NS)
    covered = [0.0] * (last - first + 1)
    for begin, end in spans:
        for i in range(int(begin // BUSY_NS), int(end // BUSY_NS) + 1):
            covered[i - first] += max(0.0, min(end, (i + 1) * BUSY_NS) - max(begin, i * BUSY_NS))
    for i, busy in enumerate(covered):
        yield (first + i) * BUSY_NS, 100 * busy / BUSY_NS
    yield (last + 1) * BUSY_NS, 0.0
