# SPDX-License-Identifier: Apache-2.0
"""`doorbell test`: lint, then pytest over tests/."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import typer

from doorbell import paths
from doorbell.cli.lint import lint
from doorbell.errors import UserError


def main(
    ctx: typer.Context,
    select: str = typer.Option("", "-k", metavar="EXPR", help="Only tests whose names match, as in pytest."),
    coverage: bool = typer.Option(
        False, "--coverage", help="Also print how much of the RTL ran, and list what did not."
    ),
    toggles: bool = typer.Option(False, "--toggles", help="Also count toggles, which takes many times as long."),
    statuses: bool = typer.Option(
        False, "--statuses", help="Also print which statuses of NVMe a host has seen; implies --fresh."
    ),
    nightly: bool = typer.Option(False, "--nightly", help="Also the tests that take minutes; implies --fresh."),
    wave: bool = typer.Option(
        False, "--wave", help="Write a waveform (VCD) of each test that -k or a path chooses: build/waves."
    ),
    fresh: bool = typer.Option(False, "--fresh", help="Also what passed before, unchanged."),
    no_lint: bool = typer.Option(False, "--no-lint", help="Leave the lint out."),
    workers: int = typer.Option(2, "-n", help="Tests that run at once."),
) -> None:
    """Lint, then run all tests. Whatever else is given goes to pytest."""
    if wave and not select and all(a.startswith("-") for a in ctx.args):
        raise UserError("--wave writes up to gigabytes a test: choose some, with -k or by their file")
    paths.put_tools_on_path()
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(paths.ROOT / "python"), env.get("PYTHONPATH")]))
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # or hundreds of processes compile the same Python, each for itself
    env["HYPOTHESIS_STORAGE_DIRECTORY"] = str(paths.OUT / "hypothesis")
    coverage = coverage or toggles
    if coverage:
        shutil.rmtree(paths.OUT / "coverage", ignore_errors=True)
        env["DOORBELL_COVERAGE"] = "toggles" if toggles else "lines"
    if statuses:
        shutil.rmtree(paths.OUT / "statuses", ignore_errors=True)
        env["DOORBELL_STATUSES"] = str(paths.OUT / "statuses")
    if wave:
        env["DOORBELL_WAVE"] = "1"
    if fresh or nightly or coverage or statuses:  # what passed before has left neither counts nor statuses
        env["DOORBELL_FRESH"] = "1"
    if nightly:
        env["DOORBELL_NIGHTLY"] = "1"
    built = paths.OUT / "builds.tsv"
    built.parent.mkdir(exist_ok=True)
    built.unlink(missing_ok=True)
    env["DOORBELL_BUILD_LOG"] = str(built)
    failed = [] if no_lint else lint()
    command = [sys.executable, "-P", "-m", "pytest", *pytest_args(select, nightly, workers, ctx.args)]
    sys.stdout.flush()
    child = subprocess.Popen(command, cwd=paths.ROOT, env=env)
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    status = wait(child)
    print_builds(built)
    if coverage:
        from doorbell.cli.coverage import report

        report(paths.OUT / "coverage")
    if statuses:
        from doorbell.cli import statuses as seen

        if not seen.report(paths.OUT / "statuses"):
            raise UserError("docs/coverage.md says of a status that no host sees it, and one has", status=1)
    if failed:
        raise UserError(f"lint failed: {', '.join(failed)}", status=1)
    if status == 5:
        raise UserError("no test was selected", status=5)
    if status:
        raise typer.Exit(status if status > 0 else 128 - status)


def wait(child: subprocess.Popen[bytes]) -> int:
    """Its exit status. Ctrl-C reaches the child too: let it say what it has, then stop."""
    try:
        return child.wait()
    except KeyboardInterrupt:
        child.wait()
        raise


def print_builds(log: Path, most: int = 10) -> None:
    """What was built for the tests: how much, how long, and the `most` that took the longest."""
    if not log.exists():
        return
    lines = [line.split("\t", 1) for line in log.read_text().splitlines()]
    builds = sorted(((float(seconds), what) for seconds, what in lines), reverse=True)
    print(f"built for these tests: {len(builds)}, {sum(s for s, _ in builds):.0f} s of the time above; the longest:")
    for seconds, what in builds[:most]:
        print(f"{seconds:.0f}s {what}")


def pytest_args(select: str, nightly: bool, workers: int, extra: list[str]) -> list[str]:
    """pytest's arguments. Without a path among `extra`, pytest takes tests/."""
    result = ["-n", str(workers), "--dist", "worksteal", "-rfE", "--durations=15", "--durations-min=2"]
    if not nightly:
        result += ["-m", "not nightly"]
    if select:
        result += ["-k", select]
    return [*result, *extra]
