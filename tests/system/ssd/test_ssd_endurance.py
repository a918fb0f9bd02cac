# SPDX-License-Identifier: Apache-2.0
"""`./doorbell soak --full-load`: full load for long. All data are compared, nothing drifts, nothing is lost on the way,
counters agree; and what would be wrong is noticed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from doorbell.cli import main as cli
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.driver import Driver
from doorbell.soak import endurance
from doorbell.soak.endurance import BOUND, BYTES, ENTRIES, PLACES, QUEUES, Endured, FullLoad, endure
from doorbell.soak.judge import Failure
from traffic import NARROW, MakeDrive

pytestmark = pytest.mark.rtl
SHORT = 300_000
LONG = 500_000_000  # two seconds of a drive


def drive_of(make_drive: MakeDrive, **options: int) -> Driver:
    drive = make_drive(**NARROW, **options)
    drive.start(queues=QUEUES, entries=ENTRIES)
    return drive


def test_full_load(make_drive: MakeDrive) -> None:
    load = FullLoad(drive_of(make_drive))
    out = load.run(SHORT)
    out.check(5 * BOUND)
    assert all(rate > 19 for rate in out.rates)  # of 15.75 + 15.75 that the link has, both ways
    assert out.reads > 2 * out.writes - 2000 and sum(load.versions) == out.writes


@pytest.mark.nightly
def test_full_load_of_two_seconds() -> None:
    """More bytes than 32 bits count, twice over."""
    out = endure("db_ssd", LONG, 1)
    assert out.reads * BYTES > 1 << 32


class TestWhatIsWrongIsNoticed:
    def test_data(self, make_drive: MakeDrive) -> None:
        load = FullLoad(drive_of(make_drive))
        load.versions[100:] = [1] * (PLACES - 100)  # as if they had been written
        with pytest.raises(Failure, match="written 1 times: a Read gives other data") as caught:
            load.run(SHORT)
        assert caught.value.kind == "data"

    def test_counters(self, make_drive: MakeDrive, monkeypatch: pytest.MonkeyPatch) -> None:
        load = FullLoad(drive_of(make_drive))
        plain = load._load

        def more(*args: Any) -> None:
            plain(*args)
            buffer = load.drive.buffer(BYTES)
            load.drive.wait([load.drive.submit(1, NvmOpc.READ, 0, load.blocks - 1, buffer)])

        monkeypatch.setattr(load, "_load", more)
        with pytest.raises(Failure, match="SMART, Reads: ") as caught:
            load.run(1000)
        assert caught.value.kind == "counters"

    def test_what_is_under_way_still(self, make_drive: MakeDrive, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(endurance, "QUIET_CYCLES", 10_000)
        load = FullLoad(drive_of(make_drive, media_latency_ns=100_000))
        load._quiet()
        load.drive.submit(1, NvmOpc.READ, 0, load.blocks - 1, load.drive.buffer(BYTES), ring=True)
        with pytest.raises(Failure, match="the drive is not idle") as caught:
            load._quiet()
        assert caught.value.kind == "leak"

    def test_drift(self) -> None:
        out = Endured(1000, moved=[1000] * 9 + [980], probes=[(100, 100), (100, 100)])
        out.check(0.03)
        with pytest.raises(Failure, match="bytes a cycle in tenths"):
            out.check(0.01)
        out = Endured(1000, moved=[1000] * 10, probes=[(100, 100), (100, 102)])
        out.check(0.03)
        with pytest.raises(Failure, match="took"):
            out.check(0.01)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With the simulator of other tests."""
    plain = endurance.open_sim
    monkeypatch.setattr(endurance, "open_sim", lambda **options: plain(**{**options, **NARROW}))
    file = tmp_path / "out.json"
    assert cli.run(["soak", "--full-load", "100000", "--seed", "5", "--json", str(file)]) == 0
    found = json.loads(file.read_text())
    assert found["cycles"] == 100_000 and len(found["moved"]) == 10 and found["seed"] == 5
    assert "Reads, all right" in capsys.readouterr().out
    assert cli.run(["soak", "--full-load", "1000", "--top", "db_host"]) == 2
    assert "--full-load is for db_ssd and db_csd" in capsys.readouterr().err
