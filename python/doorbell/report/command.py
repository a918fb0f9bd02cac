# SPDX-License-Identifier: Apache-2.0
"""`./doorbell report`: measures what matters and makes one web page of it, with plots, that needs nothing else.

Measurements go through the sweep engine into a file in the cache, so a second report measures nothing, and one that was
killed goes on. page.py turns figures into the page.
"""

from __future__ import annotations

from pathlib import Path

import typer

from doorbell import paths
from doorbell.errors import UserError
from doorbell.report import page as report_page
from doorbell.report.drawing import bandwidth_svg
from doorbell.report.figures import Figures
from doorbell.report.measuring import (
    load_area,
    measure_all,
    measure_card,
    measure_host,
    measure_owners,
    measure_recorder,
    measure_stages,
    select,
)
from doorbell.report.plan import make_plan
from doorbell.sweep import point
from doorbell.sweep.store import forget


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
        for file in folder.glob("*.csv"):
            forget(file)
        for kind in ("stages", "host", "recorder", "owners", "card"):
            for file in folder.glob(f"{kind}-*.json"):
                file.unlink(missing_ok=True)
    plan = make_plan(quick, backend)
    rows = measure_all(plan, folder, jobs)
    owners, neighbours = measure_owners(quick, folder) if backend == "rtl" else ([], [])
    figures = Figures(
        blocks=select(rows, plan.blocks), queues=select(rows, plan.queues), links=select(rows, plan.links),
        clocks=select(rows, plan.clocks), stages=measure_stages(plan.stages, folder),
        host=measure_host(quick, folder) if backend == "rtl" else [],
        recorder=measure_recorder(quick, folder) if backend == "rtl" else [],
        card=measure_card(quick, folder) if backend == "rtl" else [],
        owners=owners, neighbours=neighbours, shares=select(rows, plan.shares),
        area=load_area(paths.ROOT / "syn" / "area.json"), sources=point.sources(), backend=backend, quick=quick,
    )  # fmt: skip
    try:
        out.write_text(report_page.page(figures))
        if svg is not None:
            svg.write_text(bandwidth_svg(figures))
    except OSError as e:
        raise UserError(f"cannot write the report: {e}") from e
    print(f"{out}: {len(rows)} measurements, {out.stat().st_size / 1e6:.1f} MB; open it in a browser")
