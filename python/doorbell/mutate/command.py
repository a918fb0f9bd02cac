# SPDX-License-Identifier: Apache-2.0
"""`./doorbell mutate`: options, progress, and which mutants no test has noticed. docs/mutation.md says how to read
it."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from doorbell import paths
from doorbell.errors import UserError
from doorbell.mutate.carrying import carry
from doorbell.mutate.changes import Mutant, mutants_of
from doorbell.mutate.covering import WHOLE, Check, checks_of, digest, module_files
from doorbell.mutate.running import Carrier, Results, copy_of_repository, judge, passes
from doorbell.signals import signals_raise
from doorbell.ui import Progress, check_result, print_table, write_json

CARRIED = 40
"""Fewer mutants are judged in a copy each: to see what can be carried takes a minute or two."""


def main(
    names: list[str] = typer.Argument(..., metavar="MODULE...", help="Modules, or folders of rtl/."),
    count: int = typer.Option(20, min=1, help="Mutants, drawn at random from all that there are."),
    seed: int = typer.Option(1, help="Of the draw: the same one goes on where it was stopped."),
    minutes: float = typer.Option(0, min=0, help="End after so long, in real time; 0: when all are judged."),
    limit: float = typer.Option(120, min=1, help="Seconds that a bench may take; then the mutant is caught."),
    far: int = typer.Option(1, min=0, max=3, help="Levels above the module whose benches are run too; 3: whole tops."),
    nightly: bool = typer.Option(False, "--nightly", help="Tests that are run nightly count, too."),
    results: Path | None = typer.Option(None, metavar="FILE", help="What is known of mutants. [build/mutants.jsonl]"),
    listing: bool = typer.Option(False, "--list", help="Show the mutants and their tests, run nothing."),
    json: Path | None = typer.Option(None, metavar="FILE", help="Write the verdicts as JSON; - for standard output."),
) -> int:
    """Make small changes of the RTL, one at a time, and see whether a test notices.

    A mutant that no test notices is either equivalent (it changes nothing that can be seen) or shows what is not
    tested.
    """
    check_result(json)
    quiet = json is not None and str(json) == "-"
    files = module_files(names)
    covered = {str(f.relative_to(paths.ROOT)): checks_of(f.stem) for f in files}
    checks = {name: [c for c in of_module if c.far <= far] for name, of_module in covered.items()}
    if bare := [f for f, c in checks.items() if not c]:
        if len(bare) == len(checks):
            raise UserError(
                f"{bare[0]} has no bench and no proof within --far {far}: only tests of whole tops cover it"
            )
    of_all = [m for f in files for m in mutants_of(f)]
    drawn = random.Random(seed).sample(of_all, len(of_all))  # the same for any --far
    every = [m for m in drawn if checks[m.file]]
    chosen = every[:count]  # in this order: a fair sample at any time
    if listing:
        for m in sorted(chosen, key=lambda m: (m.file, m.offset, m.new)):
            print(m.name, *(" ".join(c.arguments) for c in checks[m.file]), sep="\n    ")
        return 0
    file = results or paths.OUT / "mutants.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    known = Results(file, {name: digest(name, of_module) for name, of_module in covered.items()})
    _judge_all(chosen, checks, known, minutes, limit, far, nightly)
    rows = sorted((known.rows[m.name] for m in chosen if m.name in known.rows), key=lambda r: str(r["name"]))
    counts = Counter(str(r["outcome"]) for r in rows)
    summary = {
        "mutants": len(every),
        "left_out": len(of_all) - len(every),
        "drawn": len(chosen),
        "judged": len(rows),
        **counts,
    }
    if json is not None:
        write_json(json, {"seed": seed, "modules": names, **summary, "verdicts": rows})
    if not quiet:
        print_table(_table(rows))
        for r in rows:
            if r["outcome"] == "survived":
                print(f"survived: {r['name']}")
        valid = counts["caught"] + counts["survived"]
        left = f"; {len(chosen) - len(rows)} are left, the same command goes on" if len(rows) < len(chosen) else ""
        print(f"drawn from {len(every)} mutants; no bench within --far {far} covers {len(of_all) - len(every)} more")
        print(f"{counts['caught']} of {valid} were caught{left}")
    return 0


def _judge_all(
    chosen: list[Mutant],
    checks: dict[str, list[Check]],
    known: Results,
    minutes: float,
    limit: float,
    far: int,
    nightly: bool,
) -> None:
    end = time.monotonic() + minutes * 60 if minutes else float("inf")
    todo = [m for m in chosen if not known.says(m, far, nightly)]
    if not todo:
        return
    sound: set[tuple[Check | None, float]] = set()
    with signals_raise(), copy_of_repository() as copy, copy_of_repository() as other, Progress("mutants") as progress:
        progress(len(chosen) - len(todo), len(chosen))
        carrier = _carrier(other, chosen) if len(chosen) >= CARRIED or far == WHOLE else None
        for number, mutant in enumerate(todo):
            progress(len(chosen) - len(todo) + number, len(chosen))
            if time.monotonic() > end:
                break
            verdict = judge(copy, mutant, checks[mutant.file], limit, nightly, carrier)
            check, known_as = verdict.caught_by, (verdict.caught_by, verdict.ended_after)
            if check and known_as not in sound:
                if why := passes(copy, check, 5 * limit, nightly, verdict.ended_after):
                    raise UserError(f"{check.arguments[0]} does not pass without a mutant ({why}): mend that first")
                sound.add(known_as)
            known.add(replace(verdict, far=far, nightly=nightly))


def _carrier(copy: Path, chosen: list[Mutant]) -> Carrier:
    """With all of the draw, whatever is known of it: so the text is the same each time, and what is built from it."""
    numbers = carry(copy, dict(enumerate(chosen, 1)))
    return Carrier(copy, {m.name: n for n, m in enumerate(chosen, 1) if n in numbers})


def _table(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    table = Table(title="mutants", title_justify="left")
    for column in ("module", "judged", "caught", "survived", "invalid", "s"):
        table.add_column(column, justify="left" if column == "module" else "right")
    for file in dict.fromkeys(r["file"] for r in rows):
        own = [r for r in rows if r["file"] == file]
        counts = Counter(r["outcome"] for r in own)
        table.add_row(
            Path(file).stem, str(len(own)), str(counts["caught"]), str(counts["survived"]), str(counts["invalid"]),
            f"{sum(r['seconds'] for r in own):.0f}",
        )  # fmt: skip
    return table
