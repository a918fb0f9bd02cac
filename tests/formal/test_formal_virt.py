# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs of formal/virt.sby, and shows that each harness refutes a broken block and says nothing empty."""

from __future__ import annotations

from pathlib import Path

import pytest
from proofs import proves, reaches, refutes, slow

# task, module, text, what replaces it
BROKEN = [
    # what is taken is not looked at, by put, by find
    ("place", "db_virt_place", "if (put ? free[s_extent.part] : any)", "if (put || any)"),
    slow("place", "db_virt_place", "(taken_rdata & eighths(s_extent.log2, s_extent.ssd, 3'(p))) == '0 &&", "1'b1 &&"),
    # a place that is given is not put down as taken
    slow("place", "db_virt_place", "taken_rdata | eighths(s_extent.log2, s_extent.ssd, part_q);", "taken_rdata;"),
    # what a granule gives back is more than it had
    slow("place", "db_virt_place", "taken_rdata & ~eighths(old_q.log2, old_q.ssd, old_q.part);", "'0;"),
    # a stripe may begin at any SSD
    ("place", "db_virt_place", "s_extent.log2 == s_extent.ssd &&", "s_extent.log2 <= s_extent.ssd &&"),
]


def test_proof(tmp_path: Path) -> None:
    proves("virt", "place", tmp_path)


@pytest.mark.nightly
def test_can_happen(tmp_path: Path) -> None:
    reaches("virt", "place_cover", tmp_path)


@pytest.mark.parametrize(("block", "module", "old", "new"), BROKEN)
def test_refutes_broken_block(block: str, module: str, old: str, new: str, tmp_path: Path) -> None:
    refutes("virt", block, ("nvme", "pcie", "ssd", "virt"), module, old, new, tmp_path)
