# SPDX-License-Identifier: Apache-2.0
"""`./doorbell fuzz`: options, progress, and what was found. docs/fuzzing.md says what is promised."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import typer

from doorbell import paths
from doorbell.errors import UserError
from doorbell.fuzz.running import Outcome, run
from doorbell.fuzz.targets import TARGETS, Target, target
from doorbell.signals import signals_raise
from doorbell.ui import Progress, check_out, check_result, print_table, write_json


@signals_raise()
def main(
    name: str = typer.Argument("", metavar="[TARGET]", help=f"One of {', '.join(TARGETS)}. [all, one after the other]"),
    minutes: float = typer.Option(1, min=0.01, max=1e6, help="Of each target, in real time."),
    seed: int = typer.Option(-1, min=-1, help="Of all random numbers; -1: another one each time."),
    replay: Path | None = typer.Option(None, metavar="FILE", help="Run this input once instead."),
    out: Path = typer.Option(Path("."), help="Folder for the input that failed."),
    json: Path | None = typer.Option(None, metavar="FILE", help="Write what was found as JSON; - for standard output."),
) -> int:
    """Random inputs, guided by the coverage that they reach, against the RTL, the firmware, the vfio-user server and
    readers of files.

    What reached something new is kept in the cache, and the next run begins with it. An input that failed is a file:
    --replay shows it again.
    """
    check_result(json)
    quiet = json is not None and str(json) == "-"
    if replay is not None and not replay.is_file():
        raise UserError(f"--replay {replay}: there is no such file")
    if replay is not None and not name:
        raise UserError("--replay needs the target that the file is of: ./doorbell fuzz TARGET --replay FILE")
    check_out(out)
    chosen = [target(name)] if name else list(TARGETS.values())
    number = random.randrange(1, 1 << 31) if seed < 0 else seed
    results: list[tuple[Target, Outcome]] = []
    for t in chosen:
        if replay is not None:
            outcome = run(t, inputs=[replay], out=out)
        else:
            with Progress(f"fuzzing {t.name}, seconds") as progress:
                outcome = run(
                    t,
                    seconds=max(1, minutes * 60),
                    seed=number,
                    grow=paths.cache() / "fuzz" / t.name,
                    out=out,
                    shown=lambda _, s, show=progress: show(int(min(s, minutes * 60)), max(1, int(minutes * 60))),
                )
        results.append((t, outcome))
        if outcome.why:
            break
    if json is not None:
        write_json(json, {"seed": number, "results": [_result(t, o) for t, o in results]})
    if not quiet and replay is None:
        print_table(_table(results))
    t, last = results[-1]
    if not last.why:
        return 0
    lines = last.why.splitlines()
    if not quiet:
        print("\n".join(lines[1:]))
    again = f"; ./doorbell fuzz {t.name} --replay {replay or last.failure} shows it" if replay or last.failure else ""
    raise UserError(f"{t.name}: {lines[0].strip()}{again}", 1)


def _result(t: Target, o: Outcome) -> dict[str, Any]:
    return {
        "target": t.name,
        "executions": o.executions,
        "features": o.features,
        "corpus": o.kept,
        "seconds": round(o.seconds, 1),
        "failure": None
        if not o.why
        else {"what": o.why.splitlines()[0], "input": str(o.failure) if o.failure else None},
    }


def _table(results: list[tuple[Target, Outcome]]) -> Any:
    from rich.table import Table

    table = Table(title="fuzzing", title_justify="left")
    for column in ("target", "executions", "a second", "features reached", "corpus", "s", "failures"):
        table.add_column(column, justify="left" if column == "target" else "right")
    for t, o in results:
        rate = o.executions / o.seconds if o.seconds else 0
        table.add_row(
            t.name,
            f"{o.executions:,}",
            f"{rate:,.0f}",
            f"{o.features:,}",
            f"{o.kept:,}",
            f"{o.seconds:.0f}",
            str(int(bool(o.why))),
        )
    return table
