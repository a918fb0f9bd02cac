# SPDX-License-Identifier: Apache-2.0
"""`./doorbell compare`."""

from __future__ import annotations

from pathlib import Path

import typer

from doorbell.bench.behaviour import WORKLOADS, chosen
from doorbell.bench.compare import FILE, compare, record, tables
from doorbell.errors import UserError
from doorbell.ui import check_result, print_table, write_json


def main(
    file: Path | None = typer.Argument(None, metavar="[FILE]", help="The recording, else tests/data/behaviour.json."),
    record_to: Path | None = typer.Option(None, "--record", metavar="FILE", help="Record today's behaviour instead."),
    only: str | None = typer.Option(None, help="Only workloads of such a name: 'random-*'."),
    quick: bool = typer.Option(False, "--quick", help="The first eight: half a minute when simulators are built."),
    names: bool = typer.Option(False, "--list", help="Only list the workloads."),
    most: int = typer.Option(60, "--most", help="Show so many differences; --json has all."),
    json: Path | None = typer.Option(None, help="Write all figures and verdicts as JSON to this file (-: stdout)."),
) -> None:
    """Compare what the simulators do with a recording, to the cycle; exit status 1 if a figure differs or is gone.

    For changes that must not change behaviour. The full list takes 13 simulators, and three minutes with them built.
    """
    check_result(json)
    check_result(record_to)
    wanted = chosen(only, quick)
    if names:
        print("\n".join(wanted))
        return
    if record_to is not None:
        if file is not None or json is not None:
            raise UserError("--record takes no recording to compare with and no --json")
        record(record_to, wanted, wanted == list(WORKLOADS))
        return
    rows, seconds = compare(file or FILE, wanted)
    bad = [r for r in rows if not r.ok]
    if json is not None:
        write_json(json, {
            "same": not bad, "seconds": seconds,
            "rows": [{"workload": r.workload, "what": r.what, "recorded": r.recorded, "now": r.now,
                      "verdict": r.verdict} for r in rows]})  # fmt: skip
    if str(json) != "-":
        print_table(*tables(rows, seconds, most))
        same = sum(r.verdict == "same" for r in rows)
        print(f"{same} figures as recorded, {len(bad)} not, {len(rows) - same - len(bad)} new")
    raise typer.Exit(1 if bad else 0)
