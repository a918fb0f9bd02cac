# SPDX-License-Identifier: Apache-2.0
"""The case of docs/guide/why-is-it-slow.md: its figures, and that its pictures show what the page says they show."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from doorbell.paths import ROOT
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

PAGE = ROOT / "docs" / "guide" / "why-is-it-slow.md"


def counter(file: Path, name: str) -> list[float]:
    """The values of a counter of a trace."""
    packets = Trace.FromString(file.read_bytes()).packet
    [track] = [p.track_descriptor.uuid for p in packets if p.track_descriptor.name == name]
    return [p.track_event.double_counter_value for p in packets if p.track_event.track_uuid == track]


@pytest.mark.parametrize("row", [r for r in PAGE.read_text().splitlines() if re.match(r"\| \d+ us \|(.*\|){5}", r)])
def test_figures_of_the_page(tmp_path: Path, row: str) -> None:
    us, *figures = (cell.strip() for cell in row.strip("|").split("|"))
    command = next(line.split()[1:] for line in PAGE.read_text().splitlines() if "--media-latency-ns 20000" in line)
    command[command.index("20000")] = str(1000 * int(us.split()[0]))
    report, trace = tmp_path / "out.json", tmp_path / "run.pftrace"
    done = subprocess.run(
        [sys.executable, "-m", "doorbell", *command, "--json", str(report), "--perfetto", str(trace), "--stages"],
        capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "COLUMNS": "200"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [line] = [re.split(r" *│ *", text) for text in done.stdout.splitlines() if "randwrite 4 KiB" in text]
    mb_s, kiops, mean, *_, share = [cell for cell in line if cell][2:]
    assert [mb_s, kiops, mean, share, f"{max(counter(trace, 'write bursts, under way')):.0f}"] == figures
    if us == "20 us":
        [stages] = json.loads(report.read_text())["doorbell"]["stages"]
        means = {s["stage"]: s["mean_ns"] for s in stages["write"]}
        of_all = {stage: round(100 * mean / sum(means.values())) for stage, mean in means.items()}
        assert of_all["PRP"] == 55 and of_all["media"] == 25
        assert round(100 * max(stages["stalls"].values()) / stages["cycles"], 1) == 1.4
