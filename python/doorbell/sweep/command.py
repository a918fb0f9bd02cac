# SPDX-License-Identifier: Apache-2.0
"""`./doorbell sweep`: a grid of parameters and workloads, measured on all cores or a Dask cluster, into one CSV file.

Every row is appended as soon as it is measured, in one write, under a key of its parameters and of the sources it was
measured with. A sweep that was killed goes on where it was: what has its row is not measured again. docs/sweep.md
describes the file of a sweep.
"""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from doorbell.errors import UserError
from doorbell.sweep import point as points_module
from doorbell.sweep.point import FIGURES, FN_FIGURES, Point, Row
from doorbell.sweep.running import run, worker
from doorbell.sweep.spec import load_spec
from doorbell.sweep.store import Store, columns_of
from doorbell.ui import Progress, print_table, warn


def _by_function(row: Row) -> tuple[str, ...]:
    if "fn_mb_s" not in row:
        return "", ""
    return " ".join(f"{float(v):,.0f}" for v in str(row["fn_mb_s"]).split()), f"{float(row['least_fair_pct']):.1f}"


def table(points: Sequence[Point], rows: Sequence[Row], title: str) -> Any:
    """The parameters that vary, and the main figures."""
    from rich.table import Table

    names = list(dict.fromkeys(k for p in points for k in p))
    varied = [n for n in names if len({str(p.get(n)) for p in points}) > 1] or names
    out = Table(title=title, title_justify="left")
    for name in varied:
        out.add_column(name)
    for name in ("MB/s", "kIOPS", "mean us", "p50", "p99", "p99.9", "% of link"):
        out.add_column(name, justify="right")
    several = any(n in row for row in rows for n in FN_FIGURES)
    for name in ("MB/s by function", "% of fair") if several else ():
        out.add_column(name, justify="right")
    for row in rows:
        f = {name: float(row[name]) for name in FIGURES}
        latencies = [f"{f[n]:,.2f}" for n in ("mean_us", "p50_us", "p99_us", "p999_us")]
        out.add_row(*(str(row.get(n, "")) for n in varied), f"{f['mb_s']:,.0f}", f"{f['kiops']:,.1f}", *latencies,
                    f"{f['limit_pct']:.1f}", *(_by_function(row) if several else ()))  # fmt: skip
    return out


def main(
    spec: Path | None = typer.Argument(None, metavar="SPEC.yaml", help="The sweep, see docs/sweep.md."),
    out: Path | None = typer.Option(None, help="The CSV file of results; goes on with what is there. [SPEC.csv]"),
    jobs: int = typer.Option(0, min=0, max=1024, help="Processes; 0: as many as there are cores."),
    scheduler: str = typer.Option("", metavar="ADDRESS", help="Hand the work to the Dask cluster of this scheduler."),
    worker_of: str = typer.Option("", "--worker", metavar="ADDRESS", help="Only be workers of this Dask scheduler."),
    restart: bool = typer.Option(False, "--restart", help="Measure all points again; the old file becomes FILE.old."),
    json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
) -> int:
    """Measure a grid of parameters and workloads on all cores, in simulated time; goes on where it was killed."""
    if worker_of:
        worker(worker_of)
    if spec is None:
        raise UserError("name the sweep's file: ./doorbell sweep SPEC.yaml, for example sweeps/blocks.yaml")
    sweep = load_spec(spec)
    for point in {points_module.setup_of(p): p for p in sweep.points}.values():
        points_module.check(point)
    for text in dict.fromkeys(text for p in sweep.points for text in points_module.warnings_of(p)):
        warn(text)
    file = out or Path(f"{spec.stem}.csv")
    if file.suffix != ".csv":
        raise UserError(f"--out {file}: results are CSV, the name must end in .csv")
    store = Store(file, columns_of(sweep.points), anew=restart)
    try:
        with Progress(sweep.name) as progress:
            summary = run(sweep.points, store, jobs=jobs, scheduler=scheduler, progress=progress)
    finally:
        store.close()
    if json:
        print(json_module.dumps({
            "name": sweep.name, "file": str(file), "sources": points_module.sources(), "measured": summary.measured,
            "reused": summary.reused, "rows": summary.rows,
            "failed": [{**point, "error": why} for point, why in summary.failed],
        }, indent=2))  # fmt: skip
    else:
        title = f"{sweep.name}: {len(summary.rows)} of {len(sweep.points)} points, simulated time"
        print_table(table(sweep.points, summary.rows, title))
        print(f"{summary.measured} measured, {summary.reused} were there; all in {file}")
    if summary.failed:
        point, why = summary.failed[0]
        what = ", ".join(f"{k} {v}" for k, v in point.items())
        raise UserError(f"{len(summary.failed)} of {len(sweep.points)} points failed, the first ({what}): {why}", 1)
    return 0
