# SPDX-License-Identifier: Apache-2.0
"""Clocks that are gated in simulation (rtl/common/db_clock_gate.sv) change nothing: a soak of db_csd ends as it does
with clocks that run, in the same cycle."""

from __future__ import annotations

from collections import Counter

import pytest
from csd_drive import NARROW
from csd_functions import NUM_FN
from doorbell.soak.run import play, random_steps

pytestmark = [pytest.mark.rtl, pytest.mark.nightly]


@pytest.mark.parametrize(("functions", "seed"), [(1, 11), (1, 12), (NUM_FN, 13)])
def test_not_a_cycle_is_other(functions: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def ends() -> tuple[int, Counter[str]]:
        steps = random_steps("db_csd", seed, functions)
        outcome = play("db_csd", seed, steps, dict(NARROW), functions=functions, commands=1200)
        assert outcome.failure is None, outcome.failure
        return outcome.cycles, outcome.ended

    rests = ends()
    monkeypatch.setenv("DOORBELL_CLOCKS_RUN", "1")
    assert rests == ends()
