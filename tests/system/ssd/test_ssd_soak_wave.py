# SPDX-License-Identifier: Apache-2.0
"""`soak --replay SCRIPT --wave FILE`: what is found in a first run, and what a second one writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import pywellen
from doorbell.errors import UserError
from doorbell.nvme.constants import Status
from doorbell.soak import wave
from doorbell.soak.run import replay
from doorbell.soak.steps import Script, Step

pytestmark = pytest.mark.rtl
RANGE = {"do": "io", "op": "read", "bad": "range"}
STEPS: list[Step] = [
    {"do": "io", "op": "write", "at": 8, "count": 8, "data": 1},
    {"do": "wait"},
    {"do": "reset", "kind": "power"},
    *({"do": "io", "op": "read", "at": i, "count": 1} for i in range(4)),
    RANGE,
    {"do": "wait"},
    {"do": "io", "op": "read", "at": 8, "count": 8},
]
SCRIPT = Script("db_ssd", 5, STEPS)


@pytest.fixture(scope="module")
def finder() -> wave.Finder:
    """What a run by itself shows."""
    found = wave.Finder()
    outcome = replay(SCRIPT, finder=found)
    assert outcome.failure is None and found.ends[-1].ended <= outcome.cycles
    return found


def test_command_is_found_behind_a_power_cut(finder: wave.Finder) -> None:
    [bad] = [e for e in finder.ends if e.status == Status.LBA_RANGE]
    assert finder.before < bad.began < bad.ended
    assert wave._span(SCRIPT, f"status={int(Status.LBA_RANGE):#x}") == (bad.began - 50, bad.ended + 50)
    assert wave._span(SCRIPT, f"cid={bad.cid},sq={bad.queue}")[0] <= bad.began - 50
    slowest = max(finder.ends, key=lambda e: e.ended - e.began)
    assert wave._span(SCRIPT, "slowest") == (slowest.began - 50, slowest.ended + 50)
    assert wave._span(SCRIPT, "1ms:4us") == (250_000, 251_000)
    for window, why in (("failure", "does not fail"), ("status=0x7ff", "no such command"), ("never", "--window never")):
        with pytest.raises(UserError, match=why):
            wave._span(SCRIPT, window)


def test_failure_is_at_the_end_of_its_window() -> None:
    """A step that cannot be: data that the model does not expect."""

    class Spoiled(wave.Finder):
        def opened(self, sim: Any, before: int) -> None:
            super().opened(sim, before)
            if before:
                sim.media_write(8 * 512, b"spoiled!")

    outcome = replay(SCRIPT, finder=Spoiled())
    assert outcome.failure is not None and outcome.failure.kind == "data"


def test_files_of_simulations_in_the_window(tmp_path: Path) -> None:
    class Sim:
        def trace_window(self, first: int, end: int) -> None:
            self.window = first, end

        def trace(self, file: Path) -> None:
            self.file = file.name

    writer, sims = wave.Writer(tmp_path / "run.fst", 100, 300), [Sim() for _ in range(5)]
    for sim, before in zip(sims, (0, 90, 150, 280, 300)):
        writer.opened(sim, before)
    assert [sim.window for sim in sims[:4]] == [(100, 300), (10, 210), (0, 150), (0, 20)]
    assert [sim.file for sim in sims[:4]] == ["run.fst", "run.fst", "run-2.fst", "run-3.fst"]
    assert not hasattr(sims[4], "file")


@pytest.mark.nightly  # builds a simulator that writes
def test_waveform_of_a_status(finder: wave.Finder, tmp_path: Path) -> None:
    [bad] = [e for e in finder.ends if e.status == Status.LBA_RANGE]
    file = tmp_path / "run.fst"
    outcome = wave.replay_with_wave(SCRIPT, file, f"status={int(Status.LBA_RANGE)}")
    assert outcome.failure is None
    [clock] = [v for v in pywellen.Waveform(str(file)).all_vars() if v.full_name == "top.clk"]
    times = [at / 2 + finder.before for at, _ in clock.tv]
    assert abs(times[0] - (bad.began - 50)) <= 1 and abs(times[-1] - (bad.ended + 50)) <= 1
