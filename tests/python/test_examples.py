# SPDX-License-Identifier: Apache-2.0
"""The examples for users' own scripts run as they stand."""

from __future__ import annotations

import subprocess

from doorbell import paths


def test_measure_reads() -> None:
    command = [str(paths.ROOT / "doorbell"), "python", str(paths.ROOT / "examples" / "measure_reads.py"), "functional"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert len(lines) == 100 and {line.split(",")[0] for line in lines} == {f"queue {q:2}" for q in range(1, 17)}
    assert all(" cycles, " in line for line in lines)


def test_python_is_given_all_arguments() -> None:
    code = "import doorbell, sys; print(sys.argv[1:])"
    command = [str(paths.ROOT / "doorbell"), "python", "-c", code, "--help", "-k", "x"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "['--help', '-k', 'x']\n"), done.stderr


def test_python_says_how_it_ended() -> None:
    command = [str(paths.ROOT / "doorbell"), "python", "-c", "raise SystemExit(7)"]
    assert subprocess.run(command, check=False).returncode == 7
