# SPDX-License-Identifier: Apache-2.0
"""`soak --replay SCRIPT --wave FILE`: a waveform of the part of a script that matters.

A script is the same to the cycle each time. So a first run, which writes nothing, finds out when the moment comes, and
a second one writes it. Times are cycles of all simulations of the script together: a power cut ends one and begins
another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from doorbell.bench.views import AROUND_NS, WAVE_NS, WAVES, Views, Window
from doorbell.errors import UserError
from doorbell.nvme.commands import Command
from doorbell.soak.run import Outcome, replay
from doorbell.soak.steps import Script

MHZ = 250
HELP = (
    "What --wave shows: failure (the 20 us before it), status=0x281 (the first command that ends so), or as for bench: "
    "1ms:50us, slowest, cid=5,sq=2 [failure]."
)


@dataclass(frozen=True)
class End:
    """A command that has ended; cycles."""

    queue: int
    cid: int
    status: int
    began: int
    ended: int


class Finder:
    """Sees all commands of a run end."""

    def __init__(self) -> None:
        self.ends: list[End] = []
        self.before = 0  # cycles of simulations that are over

    def opened(self, sim: Any, before: int) -> None:
        """Another simulation begins."""
        self.before = before

    def ended(self, c: Command) -> None:
        began, ended = (self.before + round(ns * MHZ / 1000) for ns in (c.started_ns, c.done_ns))
        self.ends.append(End(c.qid, c.cid, c.status, began, ended))


class Writer(Finder):
    """Writes the cycles from `first` on and before `end`; a file more for each power cut in them."""

    def __init__(self, file: Path, first: int, end: int) -> None:
        super().__init__()
        self.file, self.first, self.end = file, first, end
        self.files = 0

    def opened(self, sim: Any, before: int) -> None:
        super().opened(sim, before)
        if before >= self.end:
            return
        if before > self.first or not self.files:  # what was before this has been written, or nothing yet
            self.files += 1
        name = self.file if self.files == 1 else self.file.with_stem(f"{self.file.stem}-{self.files}")
        sim.trace_window(max(0, self.first - before), self.end - before)
        sim.trace(name)


def replay_with_wave(script: Script, file: Path, window: str | None) -> Outcome:
    """The script's outcome; the waveform is written."""
    if script.functions > 1:
        raise UserError("--wave is for scripts of one function")
    Views(wave=file).check_files()
    first, end = _span(script, window or "failure")
    traced = replace(script, options={**script.options, "trace": WAVES[file.suffix]})
    return replay(traced, finder=Writer(file, first, end))


def _span(script: Script, window: str) -> tuple[int, int]:
    """Cycles."""
    cycles_around, last = (round(ns * MHZ / 1000) for ns in (AROUND_NS, WAVE_NS))
    status = re.fullmatch(r"status=(0x[0-9a-fA-F]+|\d+)", window)
    parsed = None if status or window == "failure" else Window.parse(window)
    if parsed and not parsed.command:
        begin = parsed.first_ns * MHZ / 1000
        return round(begin), round(begin + (parsed.length_ns or 0) * MHZ / 1000)
    finder = Finder()
    outcome = replay(script, finder=finder)
    if window == "failure":
        if outcome.failure is None:
            raise UserError("--wave: the script does not fail; say with --window what is to be seen")
        return max(0, outcome.cycles - last), outcome.cycles + 1
    ends = finder.ends
    if status:
        ends = [e for e in ends if e.status == int(status[1], 0)]
    elif parsed and parsed.command == "cid":
        ends = [e for e in ends if e.cid == parsed.cid and parsed.queue in (0, e.queue)]
    else:
        ends = sorted(ends, key=lambda e: e.began - e.ended)
    if not ends:
        raise UserError(f"--window {window}: there is no such command in this script")
    return max(0, ends[0].began - cycles_around), ends[0].ended + cycles_around
