# SPDX-License-Identifier: Apache-2.0
"""`./doorbell soak`: options, progress, and what a run found. docs/soak.md says what is promised."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from doorbell.device.opening import MAX_FN
from doorbell.errors import UserError
from doorbell.signals import signals_raise
from doorbell.soak.backends import left_out
from doorbell.soak.endurance import endure
from doorbell.soak.judge import Failure
from doorbell.soak.machine import SHAPES, shape_of
from doorbell.soak.run import Outcome, play, random_steps, replay
from doorbell.soak.shrink import Shrinker
from doorbell.soak.steps import Script, functions_of, load
from doorbell.soak.wave import HELP as WINDOW_HELP
from doorbell.soak.wave import replay_with_wave
from doorbell.ui import Progress, check_out, check_result, print_table, write_json

DEFAULT_COMMANDS = 10_000
LAST = 50_000  # steps before a failure that are worth shrinking


@signals_raise()
def main(
    top: str = typer.Option("", help=f"One of {', '.join(SHAPES)}. [all, one after the other]"),
    functions: int = typer.Option(
        1, min=1, help=f"So many functions at work at once, the PF and its VFs, at most {MAX_FN}."
    ),
    ssds: int | None = typer.Option(None, help="Of db_vcsd: how many SSDs are behind it, 1, 2, 4 or 8. [2]"),
    ssd: str = typer.Option("model", help="What they are: model, or db_ssd (ours, cycle by cycle)."),
    memory: bool = typer.Option(
        False, "--memory", help="Functions have memory and programs; db_csd with one function has them anyhow."
    ),
    minutes: float = typer.Option(0, min=0, help="Go on for so long, in real time; 0: as long as --commands says."),
    commands: int = typer.Option(0, min=0, help=f"I/O commands a top. [{DEFAULT_COMMANDS:,}; with --minutes no limit]"),
    full_load: int = typer.Option(
        0, min=0, metavar="CYCLES", help="Reads and Writes at full load for so long instead, on db_ssd or db_csd."
    ),
    seed: int = typer.Option(-1, min=-1, help="Of all random numbers; -1: another one each time."),
    replay_file: Path | None = typer.Option(None, "--replay", metavar="FILE", help="Carry out a script instead."),
    wave: Path | None = typer.Option(None, help="With --replay: write a waveform to this file: .fst or .vcd."),
    window: str | None = typer.Option(None, help=WINDOW_HELP),
    out: Path = typer.Option(Path("."), help="Folder for the script of a failure."),
    runs: int = typer.Option(200, min=0, help="Runs that shrinking a failure may take."),
    json: Path | None = typer.Option(None, metavar="FILE", help="Write what was found as JSON; - for standard output."),
) -> int:
    """Random commands and disturbances against a model of the specification; a failure becomes a short script.

    A failure prints its seed. --replay runs a script: the shrunk one of a failure, or one's own.
    """
    check_result(json)
    if (wave is not None and replay_file is None) or (window is not None and wave is None):
        raise UserError("--wave needs --replay, and --window needs --wave")
    quiet = json is not None and str(json) == "-"
    if replay_file is not None:
        script = load(replay_file)
        shape_of(script.top, script.options)
        _say_left_out(script.options, quiet)
        outcome = replay(script) if wave is None else replay_with_wave(script, wave, window)
        return _report([_result(script.top, script.seed, outcome, script.functions, script.options)], json, quiet)
    if full_load:
        if commands or minutes or functions > 1 or ssds is not None or ssd != "model":
            raise UserError("--full-load takes --top, --seed and --json alone: leave the others out")
        return _full_load(top or "db_ssd", full_load, random.randrange(1 << 31) if seed < 0 else seed, json)
    check_out(out)
    if functions > 1:
        top = top or "db_ssd"
    options: dict[str, Any] = {"ssds": ssds} if ssds is not None else {}
    options |= {"ssd": ssd} if ssd != "model" else {}
    options |= {"memory": True} if memory else {}
    if options and not top:
        raise UserError("--ssds and --ssd need --top db_vcsd, --memory needs --top db_csd or db_vcsd")
    if top:
        shape_of(top, options)
    functions_of(functions, "--functions")
    _say_left_out(options, quiet)
    number = random.randrange(1 << 31) if seed < 0 else seed
    most = commands or (0 if minutes else DEFAULT_COMMANDS)
    results = []
    for name in [top] if top else list(SHAPES):
        with Progress(f"soak of {name}, seed {number}") as progress:
            outcome = play(
                name, number, random_steps(name, number, functions, options), options, functions=functions,
                commands=most, seconds=minutes * 60, keep=LAST, shown=lambda n, show=progress: show(n, most or n),
            )  # fmt: skip
        result = _result(name, number, outcome, functions, options)
        results.append(result)
        if outcome.failure is not None:
            script = Script(name, number, outcome.steps, options, functions=functions)
            result["script"] = str(_shrink(script, outcome, out, runs))
            break
    return _report(results, json, quiet)


def _full_load(top: str, cycles: int, seed: int, json: Path | None) -> int:
    with Progress(f"full load of {top}, seed {seed}") as progress:
        try:
            out = endure(top, cycles, seed, lambda n: progress(n, cycles))
        except Failure as e:
            raise UserError(f"{top} failed with seed {seed} under full load: {e.kind}: {e}", 1) from e
    if json is not None:
        write_json(json, {"top": top, "seed": seed, **asdict(out)})
    if str(json) != "-":
        print(f"{top}, {out.cycles:,} cycles, seed {seed}: {out.reads:,} Reads, all right, and {out.writes:,} Writes")
        print(f"from the first tenth to the last: {out.drift:+.2%} bytes a cycle; a burst behind it: {out.slower:+.2%}")
    return 0


def _shrink(script: Script, outcome: Outcome, folder: Path, runs: int) -> Path:
    """The script of a failure, as short as can be had."""
    failure = outcome.failure
    assert failure is not None

    def again(steps: list[dict[str, Any]]) -> Failure | None:
        found = replay(script, steps).failure
        return found if found is not None and found.kind == failure.kind else None

    with Progress("shrinking the failure") as progress:
        shrinker = Shrinker(script.steps, lambda s: again(s) is not None, runs=runs, shown=progress)
        script.steps = shrinker.shrink()
    last = again(script.steps) or failure
    script.failure = {"kind": last.kind, "what": str(last), "steps before shrinking": len(outcome.steps)}
    several = f"-functions{script.functions}" if script.functions > 1 else ""
    behind = "".join(
        f"-{'' if value is True else value}{name if value is True or name == 'ssds' else ''}"
        for name, value in script.options.items()
    )
    file = folder / f"soak-{script.top}{behind}{several}-{script.seed}.json"
    script.save(file)
    return file


def _result(top: str, seed: int, o: Outcome, functions: int, options: dict[str, Any]) -> dict[str, Any]:
    failure = None if o.failure is None else {"kind": o.failure.kind, "what": str(o.failure), "step": o.count}
    return {
        "top": top, "functions": functions, "seed": seed, "commands": o.commands, "steps": o.count, "cycles": o.cycles,
        "seconds": round(o.seconds, 1), "did": dict(sorted(o.did.items())), "ended": dict(sorted(o.ended.items())),
        "failure": failure, **_behind(top, options),
    }  # fmt: skip


def _behind(top: str, options: dict[str, Any]) -> dict[str, Any]:
    """Of a result: the SSDs behind a card."""
    shape = shape_of(top, options)
    return {"ssds": shape.ssds, "ssd": shape.ssd, "left_out": [*left_out(shape.ssd)]} if shape.ssds else {}


def _say_left_out(options: dict[str, Any], quiet: bool) -> None:
    if (kinds := left_out(options.get("ssd", "model"))) and not quiet:
        print(f"SSDs are {options['ssd']}: faults that only the model has are left out: {', '.join(kinds)}", flush=True)


def _report(results: list[dict[str, Any]], json: Path | None, quiet: bool) -> int:
    if json is not None:
        write_json(json, {"results": results})
    if not quiet:
        print_table(_table(results))
    failed = [r for r in results if r["failure"]]
    if not failed:
        return 0
    r = failed[0]
    script = f"; ./doorbell soak --replay {r['script']} shows it" if "script" in r else ""
    what = f"{r['failure']['kind']}: {r['failure']['what']}"
    raise UserError(f"{r['top']} failed with seed {r['seed']} after {r['commands']} commands: {what}{script}", 1)


def _table(results: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    table = Table(title="soak, simulated time", title_justify="left")
    for name in (
        "top",
        "seed",
        "commands",
        "resets",
        "other disturbances",
        "ends that are no success",
        "simulated",
        "s",
    ):
        table.add_column(name, justify="left" if name == "top" else "right")
    for r in results:
        did, ended = Counter(r["did"]), Counter(r["ended"])
        resets = sum(n for name, n in did.items() if name.startswith(("reset", "cut")))
        plain = sum(did[name] for name in ("io", "run", "wait", "check"))
        failed = sum(n for name, n in ended.items() if name != "SUCCESS" and not name.startswith("near:"))
        table.add_row(
            r["top"], str(r["seed"]), f"{r['commands']:,}", f"{resets:,}", f"{sum(did.values()) - resets - plain:,}",
            f"{failed:,}", f"{r['cycles'] / 250_000:,.1f} ms", f"{r['seconds']:.0f}",
        )  # fmt: skip
    return table
