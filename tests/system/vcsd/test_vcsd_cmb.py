# SPDX-License-Identifier: Apache-2.0
"""Controller Memory Buffers of the other drives: beside the windows of SSDs (db_vcsd), and with operators (db_csd)."""

from __future__ import annotations

import random

import pytest
from cards import PARAMS, SIZE, one_of_all
from csd_drive import NARROW
from csd_drive import PARAMS as CSD_PARAMS
from doorbell.compute import near
from doorbell.nvme.cmb import Cmb
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import Buffer
from doorbell.nvme.vendor import NearComparison, VendorIoOpc
from in_cmb import BASE, map_cmb, queues_in, traffic
from traffic import MakeDrive

pytestmark = [pytest.mark.rtl, pytest.mark.nightly]


def works(drive: Driver) -> Cmb:
    cmb = map_cmb(drive, BASE)
    queues_in(drive, cmb)
    traffic(drive, cmb, (1, 2), random.Random(4), 12)
    return cmb


def test_on_a_card_with_ssds(make_drive: MakeDrive) -> None:
    """Beside the windows of its SSDs in BAR 2, whose doorbells share RQ."""
    drive = make_drive(top="db_vcsd", params=PARAMS | {"CMB_LOG2": 21}, media_size=PARAMS["NUM_SSD"] * SIZE)
    drive.start(queues=1, entries=64)
    one_of_all(drive)
    works(drive)


def test_with_operators(make_drive: MakeDrive) -> None:
    """Results of near-storage commands, too, can lie in card memory: of the command only its CQE crosses the link."""
    drive = make_drive(top="db_csd", params=CSD_PARAMS, **NARROW)
    drive.start(queues=1, entries=64)
    cmb = works(drive)
    data = random.Random(5).randbytes(64 * 512)
    drive.write(0, data)
    program = near.Filter(8, (near.Predicate(near.ColumnType.U8, 0, NearComparison.LESS, 100),))
    near.load(drive, 0, program.program())
    result = Buffer(cmb, len(data), scattered=True)
    before = drive.sim.counters()["up.MWr.payload"]
    command = drive.submit(1, VendorIoOpc.NEAR, 0, 63, result, nbytes=len(data), cdw13=len(data), cdw14=len(data))
    drive.run(command)
    cmb.settle()
    assert result.read() == program.result(data).ljust(len(data), b"\0")
    assert drive.sim.counters()["up.MWr.payload"] - before <= 32, "an entry, an interrupt"
    sent = drive.sim.counters()
    room = 48 * 512
    drive.run(near.submit(drive, 0, 0, 64, room=room, to=1000, buffer=result))
    got = drive.sim.counters()
    assert got["up.MWr.payload"] - sent["up.MWr.payload"] <= 32, "an entry, an interrupt"
    assert got["down.CplD.payload"] - sent["down.CplD.payload"] == 64, "the command"
    assert drive.read(1000, 48) == program.result(data).ljust(room, b"\0")
    held = Buffer(cmb, len(data))
    held.write(data)
    sent = drive.sim.counters()
    drive.run(near.submit(drive, 0, 0, 64, room=room, to=2000, buffer=result, source=held.address))
    got = drive.sim.counters()
    assert got["down.CplD.payload"] - sent["down.CplD.payload"] == 64, "the command"
    assert drive.read(2000, 48) == program.result(data).ljust(room, b"\0")
