# SPDX-License-Identifier: Apache-2.0
"""The host as the owner of an SSD beside a device (doorbell.device.switch_host): an unmodified driver drives it, in
memory of the host. Device and other SSD see nothing of it, and beyond that memory there is nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from doorbell.device.switch_host import SsdHost
from doorbell.nvme.constants import Reg
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory
from switch_card import Make, cards_made

MEMORY = 0x33_0000_0000


@pytest.fixture
def make() -> Iterator[Make]:
    yield from cards_made()


def test_a_driver_of_the_host(make: Make) -> None:
    card = make()
    drive = Driver(SsdHost(card.sim, 1), HostMemory(1 << 20, MEMORY))
    assert drive.read32(Reg.VS) == 0x20000
    drive.enable()
    drive.identify_all()
    assert drive.namespace and drive.namespace.nsze * 512 == card.sim.ssds.drives[1].size  # type: ignore[attr-defined]
    drive.create_cq(1, 16, 0, ien=False)
    drive.create_sq(1, 16, 1)
    data = random.Random(1).randbytes(24 << 10)
    drive.write(80, data, offset=512)
    assert card.sim.ssds.media_read(80 * 512, len(data), port=1) == data
    assert drive.read(80, 48, offset=1024) == data
    counters = card.sim.counters()
    assert counters["ssd0.drive.sqes"] == 0 and counters["ssd1.drive.sqes"] > 4
    assert counters["down.MWr.tlps"] == counters["up.MRd.tlps"] == 0, "the device's link"


def test_beside_its_memory_there_is_nothing(make: Make) -> None:
    card = make()
    card.expected = ("ssd0.error.stray",)  # type: ignore[attr-defined]
    drive = Driver(SsdHost(card.sim), HostMemory(1 << 20, MEMORY))
    drive.enable()
    beyond = drive.submit(0, 6, nsid=1, cdw10=1, prp1=MEMORY + (1 << 20), ring=True)
    drive.wait([beyond])
    assert card.sim.counters()["ssd0.error.stray"] > 0


def test_one_that_is_gone(make: Make) -> None:
    """All ones, as for any host; back again it answers."""
    card = make()
    host = SsdHost(card.sim)
    card.sim.ssds.link(False, port=0)
    assert host.mmio_read(Reg.VS) == 0xFFFFFFFF
    host.mmio_write(Reg.CC, 1)
    card.sim.ssds.link(True, port=0)
    card.sim.run(100_000)
    assert host.mmio_read(Reg.VS) == 0x20000 and host.mmio_read(Reg.CC) == 0
