# SPDX-License-Identifier: Apache-2.0
"""A run that is watched: its snapshots say what the run's own records say, and its figures are the same."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doorbell.bench.jobs import Job
from doorbell.bench.results import Result
from doorbell.bench.runner import run_group
from doorbell.bench.stages import Recorder
from doorbell.device import live
from doorbell.device.live_events import SETTLE_CYCLES, begin_of, bin_of
from doorbell.nvme.driver import Driver
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
JOB = Job(rw="randrw", bs=4096, iodepth=12, numjobs=2, number_ios=700)


class Watcher:
    """Asks for snapshots in a thread, as another process would."""

    def __enter__(self) -> Watcher:
        self.seen: list[dict[str, Any]] = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self) -> None:
        while not self.over.wait(0.01):
            for _, shown in live.runs():
                if shown and (not self.seen or shown["ns"] > self.seen[-1]["ns"]):
                    self.seen.append(shown)

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Snapshots as often as can be, in a folder where no other run is."""
    monkeypatch.setattr(live, "EVERY_S", 0.0)
    monkeypatch.setattr(live, "folder", lambda: tmp_path / "watch")


def drive_of(make_drive: MakeDrive) -> Driver:
    drive = make_drive(memory=64 << 20)
    drive.start(queues=2, entries=64)
    return drive


def run(drive: Driver, recorder: Recorder | None = None) -> Result:
    drive.sim.run(100)  # who watches comes in before the first command
    return run_group(drive, [JOB], recorder=recorder)[0]


def test_snapshots_say_what_the_recorder_says(make_drive: MakeDrive) -> None:
    recorder, drive = Recorder(), drive_of(make_drive)
    plain = run(drive, recorder)
    first_cqe = min(t.at["CQE"] for t in recorder.new)

    drive = drive_of(make_drive)
    before = drive.sim.traffic()
    with Watcher() as watcher, live.watchable(drive.sim, "bench", "a test"):
        while not drive.sim.watched.board.watched:
            time.sleep(0.001)
        watched = run(drive)
    assert watched.read.clat_ns == plain.read.clat_ns and watched.write.clat_ns == plain.write.clat_ns
    assert not drive.sim.recording and drive.sim.watched is None and not list(live.runs())

    seen = watcher.seen
    assert len(seen) > 20 and seen[0]["command"] == "bench" and seen[0]["title"] == "a test"
    counted = [s for s in seen if "commands" in s]
    since = round(counted[0]["since_ns"] * 250 / 1000)
    assert since < first_cqe  # nothing was under way when it began, so everything must be there
    last = counted[-1]
    now = round(last["ns"] * 250 / 1000)
    done = [t for t in recorder.new if t.at["CQE"] <= now]
    assert abs(last["commands"] - len(done)) <= 1 < len(done)
    settled = [t for t in done if t.at["CQE"] > since + SETTLE_CYCLES]
    wanted = np.bincount([bin_of(t.at["CQE"] - t.at["doorbell"]) for t in settled])
    found = {round(begin / 4): n for begin, _, n in last["latency"]}
    assert {b: n for b, n in found.items()} == {begin_of(b): n for b, n in enumerate(wanted) if n}

    for s in counted:  # what is inside and what waits, at each moment
        at = round(s["ns"] * 250 / 1000)
        for q in s["queues"]:
            mine = [t for t in recorder.new if t.qid == q["queue"]]
            inside = sum(t.at["fetch"] < at <= t.at["CQE"] for t in mine)
            waiting = sum(t.at["doorbell"] < at <= t.at["arbitration"] for t in mine)
            assert abs(q["inside"] - inside) <= 1 and abs(q["waiting"] - waiting) <= 1 or not mine

    moved = [s["functions"][0] for s in seen]
    assert all(a["written"] <= b["written"] and a["read"] <= b["read"] for a, b in zip(moved, moved[1:]))
    after, size = drive.sim.traffic(), 4096
    reads = sum(t.read for t in recorder.new)
    assert after.written - before.written == reads * size + len(recorder.new) * 16
    assert after.read - before.read == (len(recorder.new) - reads) * size + len(recorder.new) * 64
    assert after.interrupts > before.interrupts
    assert moved[-1]["written"] <= after.written


def test_watcher_who_comes_late_finds_the_same_latencies(make_drive: MakeDrive) -> None:
    """Commands that are under way when it comes do not shift those behind them."""
    recorder, drive = Recorder(), drive_of(make_drive)
    run(drive, recorder)
    middle = recorder.new[len(recorder.new) // 3]

    drive = drive_of(make_drive)
    with live.watchable(drive.sim, "bench", "a test"):
        watched = drive.sim.watched
        look = watched.look

        def late() -> None:
            if drive.sim.cycle >= middle.done:
                next(live.runs())
                look()

        watched.look = late  # type: ignore[method-assign]
        run(drive)
        activity = watched.activity
    assert activity is not None and activity.since >= middle.done
    wanted = Counter(
        bin_of(t.at["CQE"] - t.at["doorbell"]) for t in recorder.new if t.at["CQE"] > activity.since + SETTLE_CYCLES
    )
    assert wanted.total() > 300
    assert not wanted - activity.latencies and not activity.latencies - wanted


def test_recorder_has_the_events_while_it_records(make_drive: MakeDrive) -> None:
    """Who watches a run with --stages sees rates and stalls, and the run loses nothing."""
    drive = drive_of(make_drive)
    recorder = Recorder()
    with Watcher() as watcher, live.watchable(drive.sim, "bench", "a test"):
        drive.sim.run(200_000)
        run(drive, recorder)
    assert recorder.skipped == 0 and recorder.trips
    assert "commands" not in watcher.seen[-2] and watcher.seen[-2]["stalls"]


def test_nothing_is_recorded_while_nobody_watches(make_drive: MakeDrive) -> None:
    drive = drive_of(make_drive)
    with live.watchable(drive.sim, "bench", "a test"):
        run(drive)
        assert not drive.sim.recording and drive.sim.watched.activity is None
