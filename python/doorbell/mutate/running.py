# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of mutants, one mutant after the other, in copies of the repository."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from doorbell import paths
from doorbell.errors import UserError
from doorbell.mutate import carrying
from doorbell.mutate.changes import Mutant
from doorbell.mutate.covering import Check

NOT_COPIED = (".git", "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache")
NO_RTL = ("Verilator on ", "compiling db_", "SyntaxError", "ERROR: Parser", "read_slang")
"""In the output of a test that could not build the mutant."""
MANY, LEAST = 5, 20
"""A check is ended after so many times what it takes without a mutant, and not before so many seconds."""
BUILDS = 900
"""Seconds that a build of the RTL may take."""


@dataclass(frozen=True)
class Verdict:
    """outcome: caught (by the test `by`, or by a time limit), survived all its checks, or invalid: no tool takes it.

    far, nightly: which checks these were, of those that there are. caught_by: what has to pass without the mutant, or
    it says nothing; None if it is known to. ended_after: seconds in which it has to do so; 0: it was not ended.
    """

    mutant: Mutant
    outcome: str
    by: str
    seconds: float
    caught_by: Check | None = None
    ended_after: float = 0
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
    """What is known of mutants, in a file of one JSON object a line: a run that was stopped goes on from there.

    sources: for each module's file a digest (covering.digest). What was said of another one is not known.
    """

    def __init__(self, file: Path, sources: Mapping[str, str] | None = None) -> None:
        self._file, self._sources = file, sources or {}
        self.rows: dict[str, dict[str, object]] = {}
        if file.exists():
            for number, line in enumerate(file.read_text().splitlines(), 1):
                try:
                    row = json.loads(line)
                    if row.get("sources", "") == self._sources.get(row["file"], row.get("sources", "")):
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
        row = {**verdict.row(), "sources": self._sources.get(verdict.mutant.file, "")}
        self.rows[verdict.mutant.name] = row
        with self._file.open("ab+") as file:  # what is there stays, whatever comes between
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            text = file.read()
            file.truncate(text.rfind(b"\n") + 1)  # without a line that was cut off
            file.write(json.dumps(row).encode() + b"\n")


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
    copy: Path,
    check: Check,
    seconds: float,
    nightly: bool = False,
    cache: Path | None = None,
    more: Mapping[str, str] | None = None,
) -> tuple[str, str]:
    """passed, failed, timeout; and the first test that failed, or the end of the output.

    cache: where what is built is kept; one that is for mutants alone, if not said. more: of its environment.
    """
    env = {
        **os.environ,
        **(more or {}),
        "PYTHONPATH": str(copy / "python"),
        "DOORBELL_CACHE": str(cache or paths.cache() / "mutate"),
        "PYTHONDONTWRITEBYTECODE": "1",
        **({} if cache else {"COCOTB_MAX_FAILURES": "1"}),
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
            output, _ = process.communicate(timeout=seconds)
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
        failed = [line[7:].split(" - ")[0] for line in output.splitlines() if line.startswith("FAILED ")]
        if any(sign in output for sign in NO_RTL) and "failed (" in output:
            return "unbuilt", output[-2000:]
        return "failed", failed[0] if failed else check.arguments[0]
    raise UserError(f"pytest could not run {check.arguments[0]}: {output.strip().splitlines()[-1] if output else ''}")


@dataclass
class Carrier:
    """A copy of the repository whose RTL has many mutants, of which one runs (`carrying`). numbers: by their names.

    seconds: that checks took there and passed. sound: what passes when no mutant runs; unfit: what does not, or is not
    built, so that nothing can be said there.
    """

    copy: Path
    numbers: dict[str, int]
    seconds: dict[Check, float] = field(default_factory=dict)
    sound: set[Check] = field(default_factory=set)
    unfit: set[Check] = field(default_factory=set)

    def run(self, mutant: Mutant, check: Check, limit: float, nightly: bool) -> tuple[str, str, float]:
        """As _pytest, and after how many seconds it is ended: many times what it takes, where that is known. "unbuilt"
        if the mutant has to be judged elsewhere."""
        number = self.numbers.get(mutant.name)
        if number is None or check.proof or check in self.unfit:
            return "unbuilt", "", 0
        known = self.seconds.get(check)
        allowed = check.limit(limit)
        if known is not None:
            allowed = min(allowed, max(LEAST, MANY * known))
        how, what, took = self._pytest(check, number, allowed, nightly)
        if how == "passed":
            self.seconds[check] = took if known is None else min(took, known)
        elif how == "timeout" and known is None:
            # It may be the builds that have taken so long: now they are there.
            if self._is_sound(check, BUILDS + allowed, nightly):
                how, _, took = self._pytest(check, 0, allowed, nightly)
                if how != "passed":
                    name = check.arguments[0]
                    raise UserError(f"{name} takes {allowed:.0f} s without a mutant: --limit must be more")
                self.seconds[check] = took
                return self.run(mutant, check, limit, nightly)
            how = "unbuilt"
        elif how == "failed" and not self._is_sound(Check((what,), check.far), BUILDS + allowed, nightly):
            how = "unbuilt"
        if how == "unbuilt":
            self.unfit.add(check)
        return how, what, allowed

    def _pytest(self, check: Check, number: int, seconds: float, nightly: bool) -> tuple[str, str, float]:
        begun = time.monotonic()
        more = {carrying.VARIABLE: str(number), "DOORBELL_FRESH": "1"}
        return *_pytest(self.copy, check, seconds, nightly, more=more), time.monotonic() - begun

    def _is_sound(self, check: Check, limit: float, nightly: bool) -> bool:
        """It passes when no mutant runs."""
        if check not in self.sound and self._pytest(check, 0, limit, nightly)[0] == "passed":
            self.sound.add(check)
        return check in self.sound


def judge(
    copy: Path,
    mutant: Mutant,
    checks: list[Check],
    limit: float,
    nightly: bool = False,
    carrier: Carrier | None = None,
) -> Verdict:
    """Run the checks until one fails: where the mutant is carried, or in the copy. limit: seconds that a bench may
    take."""
    file = copy / mutant.file
    original = file.read_text()
    begun = time.monotonic()
    for check in checks:
        carried = carrier.run(mutant, check, limit, nightly) if carrier else None
        if carried and carried[0] != "unbuilt":
            how, what, allowed = carried
        else:
            carried, allowed = None, check.limit(limit)
            try:
                file.write_text(mutant.apply(original))
                how, what = _pytest(copy, check, allowed, nightly)
            finally:
                file.write_text(original)
        if how == "passed":
            continue
        seconds = time.monotonic() - begun
        if how == "unbuilt":
            return Verdict(mutant, "invalid", check.arguments[0], seconds)
        by = what if how == "failed" else f"{what} (no end after {allowed:.0f} s)"
        sound = Check((what,), check.far) if how == "failed" else check
        ended_after = 0 if carried or how == "failed" else allowed
        return Verdict(mutant, "caught", by, seconds, None if carried else sound, ended_after)
    return Verdict(mutant, "survived", "", time.monotonic() - begun)


def passes(copy: Path, check: Check, limit: float, nightly: bool = False, within: float = 0) -> str:
    """Without a mutant: "" if it passes, else why not. What `./doorbell test` has run is not run again.

    within: seconds in which it has to be run then all the same; a UserError if it does not end in them.
    """
    how, what = _pytest(copy, check, check.limit(limit), nightly, paths.cache())
    if how != "passed":
        return f"{how}: {what}"
    if within and _pytest(copy, check, within, nightly, more={"DOORBELL_FRESH": "1"})[0] != "passed":
        raise UserError(f"{check.arguments[0]} takes {within:.0f} s without a mutant: --limit must be more")
    return ""
