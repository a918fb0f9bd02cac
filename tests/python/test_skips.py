# SPDX-License-Identifier: Apache-2.0
"""A test that is skipped is named; one whose reason nobody has listed fails a strict run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import skips
from doorbell import paths

TESTS = """
import pytest

def test_one():
    pytest.skip("CAP.NSSRS is 0")

@pytest.mark.skip(reason="{reason}")
def test_two():
    pass

@pytest.mark.skipif(True, reason="{reason}")
def test_three():
    pass

def test_four():
    pass
"""


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    ("reason", "listed"), [("nobody felt like it", False), ("the functional drive has none", True)]
)
def test_strict_runs_fail_on_what_is_not_listed(tmp_path: Path, reason: str, listed: bool, workers: int) -> None:
    (tmp_path / "test_it.py").write_text(TESTS.format(reason=reason))
    (tmp_path / "conftest.py").write_text((paths.ROOT / "conftest.py").read_text())
    models = paths.ROOT / "tests" / "models"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (paths.ROOT / "python", models)))}
    for strict in ("", "1"):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", tmp_path, "-n", str(workers), tmp_path],
            env=env | {"DOORBELL_STRICT": strict}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == int(bool(strict) and not listed), done.stdout + done.stderr
        assert "skipped: 1, CAP.NSSRS is 0: test_it.py::test_one" in done.stdout
        assert f"skipped: 2, {reason}" in done.stdout
        assert ("NOT LISTED" in done.stdout) != listed


def test_each_reason_of_the_list_is_still_given() -> None:
    """One that no test gives any more has no place on it."""
    text = "".join(
        p.read_text() for p in (paths.ROOT / "tests").rglob("*.py") if p.name not in ("skips.py", "test_skips.py")
    )
    for pattern in skips.LISTED:
        for part in pattern.replace("\\.", ".").split("|"):
            assert part in text, part
