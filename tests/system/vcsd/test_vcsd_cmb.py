# SPDX-License-Identifier: Apache-2.0
"""Controller Memory Buffers of the other drives: beside the windows of SSDs (db_vcsd), and with operators (db_csd)."""

from __future__ import annotations

import random

import pytest
from cards import PARAMS, SIZE, one_of_all
from doorbell.nvme.driver import Driver
from in_cmb import BASE, map_cmb, queues_in, traffic
from traffic import MakeDrive

pytestmark = [pytest.mark.rtl, pytest.mark.nightly]


def works(drive: Driver) -> None:
    cmb = map_cmb(drive, BASE)
    queues_in(drive, cmb)
    traffic(drive, cmb, (1, 2), random.Random(4), 12)


def test_on_a_card_with_ssds(make_drive: MakeDrive) -> None:
    """Beside the windows of its SSDs in BAR 2, whose doorbells share RQ."""
    drive = make_drive(top="db_vcsd", params=PARAMS | {"CMB_LOG2": 21}, media_size=PARAMS["NUM_SSD"] * SIZE)
    drive.start(queues=1, entries=64)
    one_of_all(drive)
    works(drive)


def test_with_operators(make_drive: MakeDrive) -> None:
    drive = make_drive(top="db_csd", params={"CMB_LOG2": 21})
    drive.start(queues=1, entries=64)
    works(drive)
