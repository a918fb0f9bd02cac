# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs of formal/host.sby, and shows that each harness refutes a broken block and says nothing empty."""

from __future__ import annotations

from pathlib import Path

import pytest
from proofs import proves, reaches, refutes, slow

# task, module, text, what replaces it
BROKEN = [
    # slots are given while the second try is under way
    ("retry", "db_host_slot_retry", "assign hold  = wanted_q || second;", "assign hold  = wanted_q;"),
    # later places do not move on
    ("retry", "db_host_slot_state", "if (retire && second) base_q <= base_q - seq_t'(1);", ""),
    # there is a third one
    slow("retry", "db_host_slot_retry", "if (again || late) spent_q <= 1'b1;", "if (late) spent_q <= 1'b1;"),
    # it goes while a part gets a slot
    slow("retry", "db_host_slot_retry", "wanted_q && !room && state", "wanted_q && state"),
    # it ends between its tries
    slow("retry", "db_host_slot_retry", "assign keep  = wanted_q ||", "assign keep  ="),
    # a reset of the drive leaves its place
    slow("retry", "db_host_slot_retry", "if (retire || state == SLOTS_SWEEP) second", "if (retire) second"),
]


def test_proof(tmp_path: Path) -> None:
    proves("host", "retry", tmp_path)


@pytest.mark.nightly
def test_can_happen(tmp_path: Path) -> None:
    reaches("host", "retry_cover", tmp_path)


@pytest.mark.parametrize(("block", "module", "old", "new"), BROKEN)
def test_refutes_broken_block(block: str, module: str, old: str, new: str, tmp_path: Path) -> None:
    refutes("host", block, ("nvme", "host"), module, old, new, tmp_path)
