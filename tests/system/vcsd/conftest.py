# SPDX-License-Identifier: Apache-2.0
"""Drives of db_vcsd: the card and two SSDs (the behavioural model) on one switch."""

from __future__ import annotations

import copies
import pytest
from cards import PARAMS, SIZE, one_of_all
from doorbell.nvme.driver import Driver
from traffic import MakeDrive


def card(make_drive: MakeDrive, **params: int) -> Driver:
    """A card that is up, with one namespace over all of its SSDs."""
    drive = make_drive(top="db_vcsd", params=PARAMS | params, media_size=PARAMS["NUM_SSD"] * SIZE)
    drive.start(queues=2, entries=64)
    one_of_all(drive)
    return drive


@pytest.fixture(scope=copies.scope("module"))
def whole(make_drive_once: MakeDrive) -> Driver:
    return card(make_drive_once)


@pytest.fixture
def striped(make_drive: MakeDrive) -> Driver:
    return card(make_drive, STRIPE=1)
