# SPDX-License-Identifier: Apache-2.0
"""`./doorbell compare`: the drives behave as tests/data/behaviour.json has it, and what does not is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from doorbell.bench import behaviour, compare
from doorbell.cli import main as cli

pytestmark = pytest.mark.rtl
OFTEN = [name for name in behaviour.QUICK if "csd" not in name]
"""Those whose simulators other tests have, too."""
RARE = [name for name in behaviour.WORKLOADS if name not in OFTEN]


def agrees(name: str) -> None:
    rows, _ = compare.compare(compare.FILE, [name])
    assert len(rows) > 20
    bad = [(r.what, *r.shown(), r.verdict) for r in rows if not r.ok]
    assert not bad, f"{len(bad)} figures are not as recorded, the first of them {bad[:5]}"


@pytest.mark.parametrize("name", OFTEN)
def test_quick(name: str) -> None:
    agrees(name)


@pytest.mark.nightly
@pytest.mark.parametrize("name", RARE)
def test_all(name: str) -> None:
    agrees(name)


def test_recording_is_complete() -> None:
    assert set(compare.read(compare.FILE)) == set(behaviour.WORKLOADS)


def test_a_changed_figure_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another figure, one that is gone, a failure: exit status 1 and the place. A new one is none."""
    name = "faults-host-128"
    whole, file, out = compare.read(compare.FILE)[name], tmp_path / "recording.json", tmp_path / "out.json"

    def run(figures: compare.Figures) -> tuple[int, dict[str, str]]:
        file.write_text(json.dumps({"workloads": {name: figures}}))
        status = cli.run(["compare", str(file), "--only", name, "--json", str(out)])
        said = json.loads(out.read_text())
        assert said["same"] == (status == 0)
        return status, {r["what"]: r["verdict"] for r in said["rows"] if r["verdict"] != "same"}

    new = {k: v for k, v in whole.items() if k != "data read"}
    assert run(new) == (0, {"data read": "new"})
    changed = {**whole, "gone": 1, "command 0050": str(whole["command 0050"]).replace("=0", "=1", 1)}
    assert run(changed) == (1, {"command 0050": "different", "gone": "missing"})
    assert "command 0050" in capsys.readouterr().out


def test_a_workload_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> compare.Figures:
        raise AssertionError("no completion")

    monkeypatch.setitem(behaviour.WORKLOADS, "faults-host-128", broken)
    rows, _ = compare.compare(compare.FILE, ["faults-host-128"])
    assert {r.verdict for r in rows} == {"failed", "missing"}
    assert [r.now for r in rows if r.verdict == "failed"] == ["AssertionError: no completion"]
