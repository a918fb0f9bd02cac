# SPDX-License-Identifier: Apache-2.0
"""Drives of db_vcsd: the card and two SSDs (the behavioural model) on one switch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from cards import PARAMS, SIZE, MakeCard, card_of
from doorbell import build
from doorbell.device.drives import ModelDrive
from doorbell.device.switch_sim import SwitchSim
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory


@pytest.fixture
def make_card() -> Iterator[MakeCard]:
    """A factory of cards, up: `make_card(params, ssds, any option of SwitchSim)`. At the end neither the card nor an
    SSD may have broken a rule that the simulator watches; `allowed` names what a test brings about itself."""
    made: list[tuple[Driver, tuple[str, ...]]] = []

    def make(
        params: dict[str, int] | None = None,
        ssds: list[ModelDrive] | None = None,
        *,
        queues: int = 2,
        entries: int = 64,
        allowed: tuple[str, ...] = (),
        **options: Any,
    ) -> Driver:
        chosen = PARAMS | (params or {})
        drives = ssds or [ModelDrive(size=SIZE, link="gen3x4") for _ in range(chosen["NUM_SSD"])]
        sim = SwitchSim(build.simulator("db_vcsd", chosen), drives, **options)
        drive = Driver(sim, HostMemory(64 << 20, 0x12_4000_0000, seed=1), seed=1)
        made.append((drive, allowed))
        drive.start(queues=queues, entries=entries)
        return drive

    yield make
    broken = [{k: v for k, v in card_of(d.sim).errors().items() if k not in allowed} for d, allowed in made]
    for d, _ in made:
        d.sim.close()
    assert not any(broken), f"the simulator counted protocol errors: {broken}"


@pytest.fixture
def card(make_card: MakeCard) -> Driver:
    return make_card()
