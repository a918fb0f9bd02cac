# SPDX-License-Identifier: Apache-2.0
"""Clocks that are gated in simulation (rtl/common/db_clock_gate.sv) change nothing: a soak ends as it does with clocks
that run, in the same cycle."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from csd_drive import NARROW
from csd_functions import NUM_FN
from doorbell.soak.run import play, random_steps

pytestmark = [pytest.mark.rtl, pytest.mark.nightly]

DRIVES: dict[str, dict[str, Any]] = {"db_ssd": {}, "db_csd": NARROW, "db_vcsd": {}}


@pytest.mark.parametrize(
    ("top", "functions", "seed", "commands"),
    [("db_ssd", 1, 10, 3000), ("db_ssd", NUM_FN, 14, 2000), ("db_csd", 1, 11, 1200), ("db_csd", 1, 12, 1200),
     ("db_csd", NUM_FN, 13, 1200), ("db_vcsd", 1, 15, 600), ("db_vcsd", NUM_FN, 16, 600)],
)  # fmt: skip
def test_not_a_cycle_is_other(
    top: str, functions: int, seed: int, commands: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends() -> tuple[int, Counter[str]]:
        steps = random_steps(top, seed, functions)
        outcome = play(top, seed, steps, dict(DRIVES[top]), functions=functions, commands=commands)
        assert outcome.failure is None, outcome.failure
        return outcome.cycles, outcome.ended

    rests = ends()
    monkeypatch.setenv("DOORBELL_CLOCKS_RUN", "1")
    assert rests == ends()
