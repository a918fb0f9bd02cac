# SPDX-License-Identifier: Apache-2.0
"""Measures for the report, through the sweep engine; what was measured before is kept."""

from __future__ import annotations

import contextlib
import json as json_module
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from doorbell import paths
from doorbell.bench import card_suite
from doorbell.bench import host as host_bench
from doorbell.bench import owners as owners_bench
from doorbell.bench import recorder as recorder_bench
from doorbell.errors import UserError
from doorbell.report.plan import Plan
from doorbell.sweep import command as sweep
from doorbell.sweep import point
from doorbell.sweep.point import Point, Row
from doorbell.sweep.store import forget
from doorbell.ui import Progress

KEEP = 4  # files of earlier sources


def measure_all(plan: Plan, folder: Path, jobs: int) -> list[Row]:
    """A row a point, in the plan's order, from the cache where it is there."""
    points = list({point.key_of(p): p for p in plan.points()}.values())
    folder.mkdir(parents=True, exist_ok=True)
    store = sweep.Store(folder / f"{point.sources()}.csv", sweep.columns_of(points))
    try:
        with Progress("measuring for the report") as progress:
            summary = sweep.run(points, store, jobs=jobs, progress=progress)
    finally:
        store.close()
    if summary.failed:
        p, why = summary.failed[0]
        raise UserError(f"{len(summary.failed)} measurements failed, the first ({describe(p)}): {why}", 1)
    for old in sorted(folder.glob("*.csv"), key=lambda f: -f.stat().st_mtime)[KEEP:]:
        with contextlib.suppress(UserError):  # of a report that is at work
            forget(old)
    return summary.rows


def describe(p: Point) -> str:
    return ", ".join(f"{k} {v}" for k, v in p.items())


def measure_stages(points: Sequence[Point], folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Stages of a read and of a write, alone in the drive."""
    out: dict[str, list[dict[str, Any]]] = {}
    for p in points:
        file = folder / f"stages-{point.key_of(p)}.json"
        try:
            found = json_module.loads(file.read_text())
        except (OSError, ValueError):
            found = point.stages(p)
            keep(file, found)
        out.update(found)
    return out


def measure_host(quick: bool, folder: Path) -> list[Row]:
    """Bandwidth of db_host over block size, on the link of its published peer."""
    sizes = (512, 4096) if quick else tuple(512 << i for i in range(9))
    return kept(
        folder / f"host-{point.sources()}-{len(sizes)}.json",
        lambda: host_bench.intelliprop(host_bench.AS_INTELLIPROP, sizes),
    )


def measure_recorder(quick: bool, folder: Path) -> list[Row]:
    """Captures and read-outs of db_recorder over its drives."""
    counts = (1, 2) if quick else (1, 2, 4)
    return kept(folder / f"recorder-{point.sources()}-{len(counts)}.json", lambda: recorder_bench.over_drives(counts))


def measure_owners(quick: bool, folder: Path) -> tuple[list[Row], list[Row]]:
    """17 functions of a drive: throughput over how many work, and a quiet one's latency beside 16 busy ones."""
    some = {"counts": (1, 17), "noises": owners_bench.QUICK, "ios": 20} if quick else {}
    rows = kept(
        folder / f"owners-{point.sources()}-{'quick' if quick else 'all'}.json",
        lambda: owners_bench.measure_owners(**some),
    )
    return [r for r in rows if "functions" in r], [r for r in rows if "beside" in r]


def measure_card(quick: bool, folder: Path) -> list[Row]:
    """db_vcsd beside the bare SSD, and functions times SSDs."""
    suite = "vcsd-short" if quick else "vcsd"
    return kept(folder / f"card-{point.sources()}-{suite}.json", lambda: card_suite.measure(suite))


def kept(file: Path, measure: Callable[[], Iterable[Row]]) -> list[Row]:
    """From the file, or measured into it."""
    try:
        return json_module.loads(file.read_text())
    except (OSError, ValueError):
        rows = list(measure())
        keep(file, rows)
        return rows


def keep(file: Path, found: Any) -> None:
    """What was measured, for the next report: of the sources that the name of the file says."""
    if point.digest() != point.sources():
        raise UserError(point.CHANGED, 1)
    paths.write_whole(file, json_module.dumps(found))


def load_area(file: Path) -> dict[str, Any]:
    """What `./doorbell synth --record` wrote: by top, target and parameters; empty if there is none."""
    try:
        data = json_module.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    if not isinstance(data, dict):
        return {}
    return {k: v for k, v in data.items() if isinstance(v, dict) and {"modules", "total"} <= v.keys()}


def select(rows: Sequence[Row], points: Sequence[Point]) -> list[Row]:
    """The rows of these points."""
    figures = {*point.FIGURES, *point.FN_FIGURES}
    index = {point.key_of({k: v for k, v in r.items() if k not in figures}): r for r in rows}
    return [index[point.key_of(p)] for p in points]
