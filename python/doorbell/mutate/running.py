# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of mutants, one mutant after the other, in a copy of the repository."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from doorbell import paths
from doorbell.errors import UserError
from doorbell.mutate.changes import Mutant
from doorbell.mutate.covering import Check

NOT_COPIED = (".git", "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache")
NO_RTL = ("Verilator on ", "compiling db_", "SyntaxError", "ERROR: Parser", "read_slang")
"""In the output of a test that could not build the mutant."""
OUTCOMES = ("caught", "survived", "invalid", "unbuilt")


@dataclass(frozen=True)
class Verdict:
    """outcome: caught (by the test `by`, or by a time limit), survived all its checks, or invalid: no tool takes it.

    far, nightly: which checks these were, of those that there are. caught_by: what has to pass without the mutant, or
    it says nothing.
    """

    mutant: Mutant
    outcome: str
    by: str
    seconds: float
    caught_by: Check | None = None
    far: int = 0
    nightly: bool = False

    def row(self) -> dict[str, object]:
        return {
            **asdict(self.mutant),
            "name": self.mutant.name,
            "outcome": self.outcome,
            "by": self.by,
            "seconds": round(self.seconds, 1),
            "far": self.far,
            "nightly": self.nightly,
        }


class Results:
    """What is known of mutants, in a file of one JSON object a line: a run that was stopped goes on from there."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.rows: dict[str, dict[str, object]] = {}
        if file.exists():
            for number, line in enumerate(file.read_text().splitlines(), 1):
                try:
                    row = json.loads(line)
                    self.rows[row["name"]] = row
                except (ValueError, KeyError, TypeError) as e:
                    if number == len(file.read_text().splitlines()):
                        continue  # cut off when it was written
                    raise UserError(f"{file}:{number}: this is no result of a mutant: name another file") from e

    def says(self, mutant: Mutant, far: int, nightly: bool) -> bool:
        """True if it is judged: what survived fewer tests than these is not."""
        row = self.rows.get(mutant.name)
        if row is None or row["outcome"] != "survived":
            return row is not None
        return int(str(row.get("far", 0))) >= far and bool(row.get("nightly")) >= nightly

    def add(self, verdict: Verdict) -> None:
        self.rows[verdict.mutant.name] = verdict.row()
        text = self._file.read_text() if self._file.exists() else ""
        whole = text if not text or text.endswith("\n") else text[: text.rfind("\n") + 1]
        self._file.write_text(whole + json.dumps(verdict.row()) + "\n")


@contextlib.contextmanager
def copy_of_repository() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="doorbell-mutate-") as folder:
        copy = Path(folder) / "doorbell"
        usual = shutil.ignore_patterns(*NOT_COPIED)

        def ignored(of: str, names: list[str]) -> set[str]:
            return usual(of, names) | ({paths.OUT.name} if Path(of) == paths.ROOT else set())

        shutil.copytree(paths.ROOT, copy, ignore=ignored, symlinks=True)
        yield copy


def _pytest(
    copy: Path, check: Check, limit: float, nightly: bool = False, cache: Path | None = None
) -> tuple[str, str]:
    """passed, failed, timeout; and the first test that failed, or the end of the output.

    cache: where what is built is kept; one that is for mutants alone, if not said.
    """
    env = {
        **os.environ,
        "PYTHONPATH": str(copy / "python"),
        "DOORBELL_CACHE": str(cache or paths.cache() / "mutate"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        *([] if nightly else ["-m", "not nightly"]),
        "--no-header",
        "-rf",
        *check.arguments,
    ]
    with subprocess.Popen(
        command,
        cwd=copy,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=check.limit(limit))
        except BaseException as e:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(e, subprocess.TimeoutExpired):
                return "timeout", check.arguments[0]
            raise
    if process.returncode in (0, 5):  # 5: all of them are nightly
        return "passed", ""
    if process.returncode == 1:
        failed = [line.split(" ")[1] for line in output.splitlines() if line.startswith("FAILED ")]
        if any(sign in output for sign in NO_RTL) and "failed (" in output:
            return "unbuilt", output[-2000:]
        return "failed", failed[0] if failed else check.arguments[0]
    raise UserError(f"pytest could not run {check.arguments[0]}: {output.strip().splitlines()[-1] if output else ''}")


def judge(copy: Path, mutant: Mutant, checks: list[Check], limit: float, nightly: bool = False) -> Verdict:
    """Run the checks until one fails. limit: seconds that a bench may take."""
    file = copy / mutant.file
    original = file.read_text()
    begun = time.monotonic()
    try:
        file.write_text(mutant.apply(original))
        for check in checks:
            how, what = _pytest(copy, check, limit, nightly)
            if how == "unbuilt":
                return Verdict(mutant, "invalid", check.arguments[0], time.monotonic() - begun)
            if how != "passed":
                seconds = time.monotonic() - begun
                if how == "failed":
                    return Verdict(mutant, "caught", what, seconds, Check((what,), check.far))
                return Verdict(mutant, "caught", f"{what} (no end after {check.limit(limit):.0f} s)", seconds, check)
    finally:
        file.write_text(original)
    return Verdict(mutant, "survived", "", time.monotonic() - begun)


def passes(copy: Path, check: Check, limit: float, nightly: bool = False) -> str:
    """Without a mutant: "" if it passes, else why not. What `./doorbell test` has run is not run again."""
    how, what = _pytest(copy, check, limit, nightly, paths.cache())
    return "" if how == "passed" else f"{how}: {what}"
