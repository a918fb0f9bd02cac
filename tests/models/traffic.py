# SPDX-License-Identifier: Apache-2.0
"""Traffic for tests: random (the generator is doorbell/nvme/traffic.py), and a queue whose completions nobody reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from doorbell.nvme.commands import Command
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.driver import Driver
from doorbell.nvme.traffic import Traffic, media_of

__all__ = ["NARROW", "MakeDrive", "Traffic", "media_of", "unread"]

NARROW: dict[str, Any] = {
    "data_w": 128, "link": "gen3x4", "params": {"NUM_NS": 4, "UNCORRECTABLE": 1, "SGL": 1, "CMB_LOG2": 21},
}  # fmt: skip
"""One simulator for all that a drive does not have by default."""
"""The 128-bit drive: with what the default has not, so that tests of that share its simulator."""

MakeDrive = Callable[..., Driver]
"""The fixture `make_drive` of conftest.py."""


def unread(drive: Driver, count: int = 40, cycles: int = 50_000) -> list[Command]:
    """Starts 2 queues with completion queues of 4 entries and sends `count` Reads to queue 1, whose completions nobody
    reads; after `cycles` its completion queue is full and the others are done and wait."""
    drive.start(queues=2, entries=64, cq_entries=4)
    buffer = drive.buffer(512)
    drive.cqs[1].hold = True
    commands = [drive.submit(1, NvmOpc.READ, slba=i, buffer=buffer) for i in range(count)]
    drive.ring()
    drive.advance(cycles)
    return commands
