# SPDX-License-Identifier: Apache-2.0
"""The simulator's runtime under AddressSanitizer and UndefinedBehaviorSanitizer, in processes of their own: the
library of the sanitizers must be the first that is loaded.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNS = {
    "db_ssd": ["soak", "--top", "db_ssd", "--commands", "400", "--seed", "3"],
}
SLOW = {
    "db_recorder": ["bench", "--top", "db_recorder", "--rw", "write", "--size", "4m"],
    "db_vcsd": ["soak", "--top", "db_vcsd", "--commands", "300", "--seed", "3"],
}


def sanitized() -> dict[str, str]:
    """The environment of a process that loads a simulator with sanitizers."""
    found = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so", "libstdc++.so")
    ]
    return {
        **os.environ, "DOORBELL_SANITIZE": "1", "LD_PRELOAD": " ".join(found), "PYTHONPATH": str(ROOT / "python"),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1", "UBSAN_OPTIONS": "print_stacktrace=1:abort_on_error=1",
    }  # fmt: skip


@pytest.mark.parametrize("top", [*RUNS, *(pytest.param(top, marks=pytest.mark.nightly) for top in SLOW)])
def test_nothing_is_out_of_bounds_and_nothing_undefined(top: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "doorbell", *{**RUNS, **SLOW}[top]]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=sanitized(),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=1200,
        check=False,
    )
    told = done.stdout + done.stderr
    assert "ERROR: AddressSanitizer" not in told and "runtime error:" not in told, told[-4000:]
    assert done.returncode == 0, told[-4000:]


def test_there_are_no_threads() -> None:
    """So ThreadSanitizer has nothing to look at: neither the runtime nor the server nor the firmware has a second one.
    Those of the guest's commands: tests/tools/test_threads.py.
    """
    words = re.compile(
        r"\b(std::thread|std::async|std::jthread|pthread_create|thrd_create|import threading|from threading|ThreadPool|"
        r"concurrent\.futures|asyncio)"
    )
    python = ROOT / "python" / "doorbell"
    served = [python / "vm" / name for name in ("serve.py", "devices.py", "functions.py")]
    files = [f for folder in ("sim", "fw") for f in (ROOT / folder).rglob("*") if f.suffix in (".cpp", ".c", ".h")]
    files += [*(python / "device").rglob("*.py"), *(python / "nvme").rglob("*.py"), *served]
    assert len(files) > 200 and all(f.is_file() for f in files)
    assert [str(f) for f in files if words.search(f.read_text())] == []
