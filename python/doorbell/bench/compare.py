# SPDX-License-Identifier: Apache-2.0
"""`./doorbell compare`: does everything still behave as recorded, to the cycle?

A fixed list of workloads runs in the simulators. Their figures (cycles, bytes, latencies, counters, digests of all that
happens at the ports of a drive, the end of every random command) are set beside a recording, tests/data/behaviour.json:
one that differs or is gone is a failure, one that the recording does not have is only listed.

    ./doorbell compare                      # after a change that must not show
    ./doorbell compare --record tests/data/behaviour.json --only 'bench-csd-*'    # after one that may, with the reason

Workloads on a drive begin at a fixed cycle after bring-up: how long the firmware takes shows in "bring-up" and in the
workloads admin-*, and hardly elsewhere.
"""

from __future__ import annotations

import json as json_module
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doorbell import paths
from doorbell.bench.behaviour import measure
from doorbell.bench.behaviour_drives import Figure, Figures
from doorbell.errors import UserError

FILE = paths.ROOT / "tests" / "data" / "behaviour.json"
VERDICTS = ("failed", "different", "missing", "new", "same")


@dataclass(frozen=True)
class Difference:
    workload: str
    what: str
    recorded: Figure | None
    now: Figure | None

    @property
    def verdict(self) -> str:
        if self.recorded is None:
            return "failed" if self.what == "failed" else "new"
        return "same" if self.recorded == self.now else "missing" if self.now is None else "different"

    @property
    def ok(self) -> bool:
        return self.verdict in ("same", "new")

    def shown(self) -> tuple[str, str]:
        """Of two lists only the first items that differ."""
        a, b = ("-" if v is None else str(v) for v in (self.recorded, self.now))
        one, other = a.split(), b.split()
        if self.verdict == "different" and min(len(one), len(other)) > 2:
            at = next((i for i, (x, y) in enumerate(zip(one, other)) if x != y), min(len(one), len(other)))
            a, b = (f"[{at}] {' '.join(v[at : at + 1])}" for v in (one, other))
        return a, b


def rows_of(workload: str, recorded: Figures, now: Figures) -> list[Difference]:
    return [Difference(workload, what, recorded.get(what), now.get(what)) for what in sorted({*recorded, *now})]


def read(file: Path) -> dict[str, Figures]:
    try:
        found = json_module.loads(file.read_text())["workloads"]
    except OSError as e:
        raise UserError(f"cannot read {file}: {e.strerror}: record it with ./doorbell compare --record {file}") from e
    except (ValueError, KeyError, TypeError) as e:
        raise UserError(f"{file} is no recording of ./doorbell compare") from e
    return found


def record(file: Path, names: Iterable[str], all_of_it: bool) -> None:
    """Write what is measured now; the other workloads of the file stay unless all are recorded."""
    workloads = {} if all_of_it or not file.exists() else read(file)
    for name, figures, _ in measure(names):
        if "failed" in figures:
            raise UserError(f"{name}: {figures['failed']}: nothing was recorded")
        workloads[name] = figures
    try:
        file.write_text(json_module.dumps({"workloads": workloads}, indent=1, sort_keys=True) + "\n")
    except OSError as e:
        raise UserError(f"cannot write {file}: {e.strerror}") from e
    print(f"{sum(map(len, workloads.values()))} figures of {len(workloads)} workloads are in {file}")


def compare(file: Path, names: list[str]) -> tuple[list[Difference], dict[str, float]]:
    """All figures, beside the recorded ones; seconds of each workload."""
    recorded = read(file)
    rows: list[Difference] = []
    seconds = {}
    for name, figures, seconds[name] in measure(names):
        rows += rows_of(name, recorded.get(name, {}), figures)
    return rows, seconds


def tables(rows: list[Difference], seconds: dict[str, float], most: int) -> list[Any]:
    from rich.table import Table

    short = Table(title="Behaviour", title_justify="left")
    long = Table(title="Not as recorded", title_justify="left")
    for name in ("workload", "figures", "same", "different", "missing", "new", "seconds"):
        short.add_column(name, justify="left" if name == "workload" else "right")
    for name in ("workload", "what", "recorded", "now", ""):
        long.add_column(name, overflow="fold")
    left = most
    for name, took in seconds.items():
        mine = sorted((r for r in rows if r.workload == name), key=lambda r: VERDICTS.index(r.verdict))
        count = {v: sum(r.verdict == v for r in mine) for v in VERDICTS}
        bad = count["different"] + count["failed"]
        short.add_row(
            name, str(len(mine)), str(count["same"]), str(bad), str(count["missing"]), str(count["new"]), f"{took:.1f}"
        )
        for row in mine[:1] if count["failed"] else mine:
            if row.verdict != "same" and left:
                left -= 1
                long.add_row(name, row.what, *row.shown(), row.verdict)
    return [long, short] if long.row_count else [short]
