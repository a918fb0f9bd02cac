# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs in formal/, and shows that each harness refutes a broken block."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from proofs import ROOT, proves, refutes

TASKS = re.findall(r"^(\w+)$", (ROOT / "formal/common.sby").read_text().split("[options]")[0], re.M)

# task, module, text, what replaces it
BROKEN = [
    ("fifo_8", "db_fifo", "s_ready  = !level_q[AW]", "s_ready  = 1'b1"),
    ("fifo_128", "db_fifo", "(push && around)", "push"),
    ("skid", "db_skid", "if (s_ready_q) spare_q", "if (s_valid) spare_q"),
    ("arb_3", "db_arb_rr", "after_q <= ~upto", "after_q <= upto"),
    ("tag_pool_4", "db_tag_pool", "fresh_q != (TW + 1)'(N)", "fresh_q <= (TW + 1)'(N)"),
    ("tag_pool_4", "db_tag_pool", "alloc_ready && !fresh", "alloc_ready"),
]


@pytest.mark.parametrize("task", TASKS)
def test_proof(task: str, tmp_path: Path) -> None:
    proves("common", task, tmp_path)


@pytest.mark.parametrize("task, module, old, new", BROKEN)
def test_refutes_broken_block(task: str, module: str, old: str, new: str, tmp_path: Path) -> None:
    refutes("common", task, ("common",), module, old, new, tmp_path)
