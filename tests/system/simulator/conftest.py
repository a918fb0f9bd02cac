# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the simulator's tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from doorbell.device.sim import Sim
from endpoint_device import Device, Make, library


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[Device] = []

    def one(data_w: int = 256, **options: Any) -> Device:
        options.setdefault("media_size", 16 << 20)
        device = Device(Sim(library(data_w), **options))
        made.append(device)
        return device

    yield one
    for device in made:
        if not device.sim.closed:  # one that was closed had errors on purpose
            errors = device.sim.errors()
            device.sim.close()
            assert not errors
