# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs of formal/axi.sby, and shows that the harness refutes a broken block and says nothing empty."""

from __future__ import annotations

from pathlib import Path

import pytest
from proofs import proves, reaches, refutes

# text, what replaces it
BROKEN = [
    # a page that is written is read
    ("(!entry.write && entry.count != '1)", "entry.count != '1"),
    # ... that is read is written
    ("(entry.write && entry.count != '1)", "entry.count != '1"),
    # a read asks again while its first step is under way
    ("!ar_has_q && !step_q.read", "!ar_has_q"),
    # an end that meets another one is forgotten
    ("(b_end_q && !b_pop)", "1'b0"),
]


def test_proof(tmp_path: Path) -> None:
    proves("axi", "page_lock", tmp_path)


@pytest.mark.nightly
def test_can_happen(tmp_path: Path) -> None:
    reaches("axi", "page_lock_cover", tmp_path)


@pytest.mark.parametrize(("old", "new"), BROKEN)
def test_refutes_broken_block(old: str, new: str, tmp_path: Path) -> None:
    refutes("axi", "page_lock", ("axi",), "db_axi_page_lock", old, new, tmp_path)
