# SPDX-License-Identifier: Apache-2.0
"""`./doorbell report`: measures what matters and makes one web page of it, with plots, that needs nothing else.

Measurements go through the sweep engine into a file in the cache, so a second report measures nothing, and one that was
killed goes on. report_page.py turns figures into the page.
"""

from __future__ import annotations

import json as json_module
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from doorbell import paths
from doorbell.errors import UserError
from doorbell.report import page as report_page
from doorbell.sweep import command as sweep
from doorbell.sweep import point
from doorbell.sweep.point import Point, Row
from doorbell.ui import Progress

RW = ("read", "randread", "write", "randwrite")
LINKS = (("gen3x4", 128), ("gen3x8", 256), ("gen4x8", 512))
MIXES = (("read", "randread", 100), ("write", "randwrite", 0), ("70/30 mix", "randrw", 70))
CLOCKS = (50, 100, 150, 200, 250)
KEEP = 4  # files of earlier sources


@dataclass
class Plan:
    """What is measured, by section of the page."""

    blocks: list[Point]
    queues: list[Point]
    links: list[Point]
    clocks: list[Point]
    stages: list[Point] = field(default_factory=list)

    def points(self) -> list[Point]:
        return [*self.blocks, *self.queues, *self.links, *self.clocks]


def make_plan(quick: bool, backend: str) -> Plan:
    """quick: a few points with few commands, to see that it works. On the functional model there is only one link."""
    sizes = (512, 4096, 16384) if quick else tuple(512 << i for i in range(9))
    depths = (1, 4) if quick else (1, 2, 4, 8, 16, 32)
    links = LINKS if backend == "rtl" and not quick else LINKS[1:2]
    clocks = CLOCKS if backend == "rtl" and not quick else CLOCKS[-1:]

    def count(bs: int) -> int:
        """Commands to measure a job: steady figures where commands are short, no more than needed where long."""
        return 20 if quick else max(16, min(200, (512 << 10) // bs))

    base: Point = {"backend": backend}
    blocks = [
        {**base, "rw": rw, "bs": bs, "numjobs": 10, "iodepth": 8, "number_ios": count(bs)} for rw in RW for bs in sizes
    ]
    queues = [
        {**base, "rw": rw, "bs": 4096, "numjobs": n, "iodepth": 8, "number_ios": max(20, (20 if quick else 1280) // n)}
        for rw in ("randread", "randwrite") for n in depths
    ]  # fmt: skip
    wire = [
        {**base, "link": link, "data_w": width, "rw": rw, "rwmixread": mix, "bs": bs, "numjobs": 4, "iodepth": 32,
         "number_ios": 20 if quick else 300 if bs <= 4096 else 40}
        for link, width in links for bs in ((4096,) if quick else (512, 4096, 32768)) for _, rw, mix in MIXES
    ]  # fmt: skip
    beats = [
        {**base, "rw": rw, "bs": 4096, "numjobs": 4, "iodepth": 32, "clock_mhz": mhz,
         "number_ios": 20 if quick else 250}
        for rw in ("randread", "randwrite") for mhz in clocks
    ]  # fmt: skip
    alone = [{**base, "rw": rw, "bs": 4096, "iodepth": 1, "number_ios": 20 if quick else 100}
             for rw in ("randread", "randwrite")]  # fmt: skip
    if backend != "rtl":
        for p in beats:
            p.pop("clock_mhz")
    plan = Plan(*(
        [point.clean(p, "report") for p in group] for group in (blocks, queues, wire, beats)
    ))  # fmt: skip
    plan.stages = [point.clean(p, "report") for p in alone] if backend == "rtl" else []
    return plan


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
        old.unlink(missing_ok=True)
    return summary.rows


def describe(p: Point) -> str:
    return ", ".join(f"{k} {v}" for k, v in p.items())


def measure_stages(points: Sequence[Point], folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Stages of a read and of a write, alone in the drive; nothing where this version cannot say."""
    out: dict[str, list[dict[str, Any]]] = {}
    for p in points:
        file = folder / f"stages-{point.key_of(p)}.json"
        try:
            found = json_module.loads(file.read_text())
        except (OSError, ValueError):
            try:
                found = point.stages(p)
            except (ImportError, AttributeError, UserError):
                continue
            temporary = file.with_suffix(".tmp")
            temporary.write_text(json_module.dumps(found))
            temporary.rename(file)
        out.update(found)
    return out


def measure_host(quick: bool, folder: Path) -> list[Row]:
    """Bandwidth of db_host over block size, on the link of its published peer."""
    from doorbell.bench import host as host_bench

    sizes = (512, 4096) if quick else tuple(512 << i for i in range(9))
    return kept(folder / f"host-{point.sources()}-{len(sizes)}.json",
                lambda: host_bench.intelliprop(host_bench.AS_INTELLIPROP, sizes))


def measure_recorder(quick: bool, folder: Path) -> list[Row]:
    """Captures and read-outs of db_recorder over its drives."""
    from doorbell.bench import recorder as recorder_bench

    counts = (1, 2) if quick else (1, 2, 4)
    return kept(folder / f"recorder-{point.sources()}-{len(counts)}.json",
                lambda: recorder_bench.over_drives(counts))


def kept(file: Path, measure: Callable[[], Iterable[Row]]) -> list[Row]:
    """From the file, or measured into it."""
    try:
        return json_module.loads(file.read_text())
    except (OSError, ValueError):
        rows = list(measure())
        temporary = file.with_suffix(".tmp")
        temporary.write_text(json_module.dumps(rows))
        temporary.rename(file)
        return rows


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
    index = {point.key_of({k: v for k, v in r.items() if k not in point.FIGURES}): r for r in rows}
    return [index[point.key_of(p)] for p in points]


def main(
    out: Path | None = typer.Option(None, help="The page. [build/report.html of this clone]"),
    svg: Path | None = typer.Option(None, help="Also draw the main plot into this SVG file."),
    quick: bool = typer.Option(False, "--quick", help="Few points and commands: to see that it works."),
    backend: str = typer.Option("rtl", help="rtl, or functional: a Python model with rough timing."),
    jobs: int = typer.Option(0, min=0, max=1024, help="Processes; 0: as many as there are cores."),
    restart: bool = typer.Option(False, "--restart", help="Measure all of it again."),
) -> None:
    """Measure what matters; make one self-contained web page with plots of it.

    The first report takes some minutes, the next ones use what was measured until the sources change.
    """
    if backend not in ("rtl", "functional"):
        raise UserError(f"there is no back end '{backend}': use rtl or functional")
    if out is None:
        paths.OUT.mkdir(exist_ok=True)
        out = paths.OUT / "report.html"
    for file in (out, svg):
        if file is not None and not file.absolute().parent.is_dir():
            raise UserError(f"cannot write {file}: there is no folder {file.absolute().parent}")
    folder = paths.cache() / "report"
    if restart:
        for file in [f for p in ("*.csv", "stages-*.json", "host-*.json", "recorder-*.json") for f in folder.glob(p)]:
            file.unlink(missing_ok=True)
    plan = make_plan(quick, backend)
    rows = measure_all(plan, folder, jobs)
    figures = report_page.Figures(
        blocks=select(rows, plan.blocks), queues=select(rows, plan.queues), links=select(rows, plan.links),
        clocks=select(rows, plan.clocks), stages=measure_stages(plan.stages, folder),
        host=measure_host(quick, folder) if backend == "rtl" else [],
        recorder=measure_recorder(quick, folder) if backend == "rtl" else [],
        area=load_area(paths.ROOT / "syn" / "area.json"), sources=point.sources(), backend=backend, quick=quick,
    )  # fmt: skip
    try:
        out.write_text(report_page.page(figures))
        if svg is not None:
            svg.write_text(report_page.bandwidth_svg(figures))
    except OSError as e:
        raise UserError(f"cannot write the report: {e}") from e
    print(f"{out}: {len(rows)} measurements, {out.stat().st_size / 1e6:.1f} MB; open it in a browser")
