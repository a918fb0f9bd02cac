# SPDX-License-Identifier: Apache-2.0
"""Pictures of a run: `--perfetto FILE`, `--wave FILE`, and `--window`, which says what of the run they show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from doorbell.bench.stages import Recorder, Trip
from doorbell.bench.timeline import Span, draw
from doorbell.errors import UserError
from doorbell.ui import warn
from doorbell.units import parse_time_ns

WAVES = {".fst": "fst", ".vcd": "vcd"}
WAVE_NS = 20_000.0  # of a waveform, if nothing is said
AROUND_NS = 200.0  # before and after a command that a window is of
HELP = (
    "What --perfetto and --wave show, from the begin of the jobs on: 50us (the first), 1ms:50us (after 1 ms), or a "
    "command: slowest, cid=5, cid=5,sq=2 (its first) [all; of --wave 20us]."
)


@dataclass(frozen=True)
class Window:
    """A part of a run: a time from the begin of the jobs on, or a command with a little before and behind it."""

    first_ns: float = 0.0
    length_ns: float | None = None
    command: str = ""  # "slowest", "cid": which
    cid: int = 0
    queue: int = 0  # 0: of any

    @classmethod
    def parse(cls, text: str) -> Window:
        if text == "slowest":
            return cls(command=text)
        if found := re.fullmatch(r"cid=(0x[0-9a-fA-F]+|\d+)(?:,sq=(\d+))?", text):
            return cls(command="cid", cid=int(found[1], 0), queue=int(found[2] or 0))
        begin, _, length = text.rpartition(":")
        try:
            window = cls(parse_time_ns(begin) if begin else 0, parse_time_ns(length))
        except ValueError as e:
            raise UserError(f"--window {text}: use 50us, 1ms:50us, slowest, cid=5 or cid=5,sq=2") from e
        if not window.length_ns:
            raise UserError(f"--window {text}: nothing would be in it")
        return window

    def span(self, begin_ns: float, recorders: Sequence[Recorder]) -> Span:
        """The same in simulated time; recorders: of the run, if it is of a command."""
        if not self.command:
            first = begin_ns + self.first_ns
            return Span(first, float("inf") if self.length_ns is None else first + self.length_ns)
        trip, ns = self._chosen(recorders), 1000 / recorders[0].clock_mhz
        return Span(max(0.0, trip.started * ns - AROUND_NS), trip.done * ns + AROUND_NS)

    def _chosen(self, recorders: Sequence[Recorder]) -> Trip:
        trips = [(r, t) for r in recorders for t in r.new]
        if self.command == "slowest":
            trips = [(r, t) for r, t in trips if t.measured] or trips
            if trips:
                return max((t for _, t in trips), key=lambda t: (t.done - t.started, -t.started))
        else:
            trips = [(r, t) for r, t in trips if t.cid == self.cid and self.queue in (0, t.qid - r.before_first)]
        if not trips:
            raise UserError("--window: there is no such command in this run")
        return min((t for _, t in trips), key=lambda t: t.started)


@dataclass(frozen=True)
class Views:
    """What is wanted of a run. span: found in an earlier run of the same, which is equal to the cycle."""

    perfetto: Path | None = None
    wave: Path | None = None
    window: Window | None = None
    span: Span | None = None

    def __post_init__(self) -> None:
        if self.window is not None and not (self.perfetto or self.wave):
            raise UserError("--window says what --perfetto or --wave shows: it needs one of them")
        if self.wave is not None and self.wave.suffix not in WAVES:
            raise UserError(f"--wave {self.wave}: the file's name must end in .fst or .vcd")

    @property
    def wanted(self) -> bool:
        return bool(self.perfetto or self.wave)

    def check_files(self) -> None:
        """Before a long run, not behind it."""
        for file in filter(None, (self.perfetto, self.wave)):
            try:
                file.open("ab").close()
            except OSError as e:
                raise UserError(f"cannot write {file}: {e.strerror}") from e

    @property
    def kind(self) -> str | None:
        """Of the waveform: what the simulator must be able to write."""
        return WAVES[self.wave.suffix] if self.wave else None

    @property
    def needs_another_run(self) -> bool:
        """What the waveform is to show is known after the run alone: it is of a second one."""
        return bool(self.wave and self.window and self.window.command and not self.span)

    def found(self, recorders: Sequence[Recorder]) -> Views:
        """For the second run."""
        assert self.window is not None
        return replace(self, span=self.window.span(0, recorders))

    def begin(self, sim: Any) -> float:
        """The jobs begin; when."""
        if not self.wave:
            return sim.ns
        window = self.window or Window(length_ns=WAVE_NS)
        span = self.span or window.span(sim.ns, [])
        per_ns = sim.clock_mhz / 1000
        end = None if span.end == float("inf") else int(span.end * per_ns) + 1
        sim.trace_window(int(span.first * per_ns), end)
        sim.trace(self.wave)
        return sim.ns

    def end(self, begin_ns: float, end_ns: float, recorders: Sequence[Recorder]) -> None:
        """They are done."""
        if not self.wanted:
            return
        span = self.span or (self.window or Window()).span(begin_ns, recorders)
        if span.first > end_ns:
            warn(f"--window: nothing is in it, the jobs took {(end_ns - begin_ns) / 1000:,.1f} us")
        if self.perfetto:
            draw(recorders, span).write(self.perfetto)


NO_VIEWS = Views()
