# SPDX-License-Identifier: Apache-2.0
"""Synthetic workloads on the drive: what docs/workloads.md says of them, which tests/data/workloads.json has.

To record them anew: `./doorbell bench --workload all --json tests/data/workloads.json`, then `./doorbell python
tests/python/test_figures.py` for the page.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from doorbell.bench import workload_table, workloads
from doorbell.bench.drive import DriveSetup

RECORDED: dict[str, Any] = json.loads((Path(__file__).resolve().parents[2] / "data" / "workloads.json").read_text())
ROWS = {row["workload"]: row for row in RECORDED["rows"]}
SHORT = ("24hr", "ycsb-f")


def test_all_are_recorded_as_the_command_has_them() -> None:
    assert list(ROWS) == list(workloads.own())
    assert (RECORDED["iodepth"], RECORDED["numjobs"]) == (workload_table.JOB.iodepth, workload_table.JOB.numjobs)
    assert DriveSetup().plain() == RECORDED["setting"]


@pytest.mark.rtl
@pytest.mark.parametrize("name", [n if n in SHORT else pytest.param(n, marks=pytest.mark.nightly) for n in ROWS])
def test_it_is_as_fast_as_recorded(name: str) -> None:
    """To the cycle; and no slower than OpenExpress published for the real trace, within what the link allows."""
    row = workload_table.measure_one(DriveSetup(), workload_table.JOB, workloads.find(name))
    assert row.keys() == ROWS[name].keys() and row["published"] == ROWS[name]["published"]
    for key, was in ROWS[name].items():
        assert key == "published" or row[key] == was or row[key] == pytest.approx(was, rel=1e-9), key
    assert 97 < row["of_link"] <= 100
    assert row["mb_s"] > row["published"].get("mb_s", [0, 0])[1]
