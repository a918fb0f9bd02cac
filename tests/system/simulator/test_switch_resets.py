# SPDX-License-Identifier: Apache-2.0
"""SSDs beside a device on a switch that go and come, fail, or are reset; and the device's resets, which leave them."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from doorbell.device.drives import ExternalDrive, ModelDrive, ssd_drive
from doorbell.device.messages import SimError
from endpoint_device import READ, library
from switch_card import (
    AQA,
    BARS,
    CAP,
    CSTS,
    IDENTIFY,
    MODEL_SIZE,
    NVM_READ,
    PART,
    VS,
    WINDOW,
    Make,
    Nvme,
    cards_made,
    external,
    fetched,
)


@pytest.fixture
def make() -> Iterator[Make]:
    yield from cards_made()


# -------------------------------------------------------------------------------------------------------------- removal


def test_taken_away_and_brought_back(make: Make) -> None:
    """ssd_present falls; reads of its BAR end as unsupported, writes are gone, the other SSD works; back, it has its
    BAR and bus master again and its data."""
    card = make()
    sim = card.sim
    sim.ssds.media_write(0, b"kept" * 128)
    ssd = Nvme(card)
    sim.ssds.link(False)
    sim.run(10)
    assert (sim.up, sim.ssds.present) == (2, 2)
    card.do(READ, BARS[0] + VS, 4)
    assert card.status() == (1, 2, 1)
    card.poke(BARS[0] + AQA, 0)
    assert sim.counters()["ssd0.hard.dropped_link_down"] >= 1
    assert struct.unpack("<I", card.peek(BARS[1] + VS)) == (0x20000,)
    sim.ssds.link(True)
    sim.run(10)
    assert (sim.up, sim.ssds.present) == (3, 3)
    assert card.peek(BARS[0] + CSTS) == bytes(4)
    ssd = Nvme(card)
    ssd.io_queues()
    assert ssd.command(NVM_READ, 1, prp=0x4000, nsid=1, dw12=0) == 0
    assert card.buffer()[0x4000:0x4200] == b"kept" * 128


def test_link_goes_with_an_answer_on_it(make: Make) -> None:
    """The answer is lost, so the device's read ends at its time limit, and the next one works."""
    card = make(ModelDrive(size=MODEL_SIZE, link_latency_ns=4000), ModelDrive(size=MODEL_SIZE), cpl_timeout_us=20)
    card.start(READ, BARS[0] + VS, 4)
    card.sim.run(1500)  # there, and on its way back
    card.sim.ssds.link(False)
    card.wait()
    assert card.status() == (1, 9, 0)
    card.sim.ssds.link(True)
    card.sim.run(10)
    assert struct.unpack("<I", card.peek(BARS[0] + VS)) == (0x20000,)


def test_slow_to_be_configured(make: Make) -> None:
    """An SSD that puts configuration off is present when the host could set it up."""
    card = make(ModelDrive(size=MODEL_SIZE, crs_us=40), ModelDrive(size=MODEL_SIZE))
    card.sim.run(10)
    assert card.sim.up == 2
    card.sim.run(40 * 250)
    assert card.sim.up == 3
    assert struct.unpack("<I", card.peek(BARS[0] + VS)) == (0x20000,)


def test_links_of_our_own_drive_go_with_reads_on_them(make: Make) -> None:
    """Its library has 64 places for reads of registers; none stays taken."""
    ssd = ssd_drive(library(256), window=(WINDOW, 2 * PART), media_size=MODEL_SIZE, link_latency_ns=2000)
    card = make(ssd, ModelDrive(size=MODEL_SIZE), cpl_timeout_us=4)
    for _ in range(70):
        card.start(READ, BARS[0], 4)
        card.sim.run(500)
        card.sim.ssds.link(False)
        card.wait()
        card.sim.ssds.link(True)
        card.sim.run(100)
    failed = card.status()[0]
    assert failed == 70
    card.sim.run(10_000)
    assert card.peek(BARS[0]) == struct.pack("<I", 0x0DB0_0001) and card.status()[0] == failed


# ---------------------------------------------------------------------------------------------------------------- reset


def test_device_reset_leaves_ssds_running(make: Make) -> None:
    """What an SSD has asked the device ends as unsupported; it keeps its registers, and is not set up again."""
    card = make(ExternalDrive(link_latency_ns=2000), ModelDrive(size=MODEL_SIZE))
    external(card)
    card.sim.ssds.messages(0)
    Nvme(card, 1)
    sim = card.sim
    reads = [sim.ssds.host_read(WINDOW + 256 * k, 64) for k in range(8)]
    sim.ssds.host_write(WINDOW + 0x7000, b"lost")
    sim.run(300)
    sim.reset()
    for handle in reads:
        with pytest.raises(SimError, match="refused"):
            fetched(card, handle, 64, 0)
    assert sim.ssds.messages(0) == []
    assert card.peek(BARS[1] + CSTS)[0] & 1
    card.place(0, b"new " * 16)
    assert card.buffer()[0x7000:0x7004] != b"lost"
    assert fetched(card, sim.ssds.host_read(WINDOW, 64), 64, 0) == b"new " * 16


def test_device_reset_with_its_reads_on_their_way(make: Make) -> None:
    """Answers to what it has asked before are for nobody, and its tags are free."""
    card = make(ModelDrive(size=MODEL_SIZE, link_latency_ns=2000), ModelDrive(size=MODEL_SIZE))
    for wait in (100, 700, 1100):
        card.start(READ, BARS[0] + VS, 4)
        card.sim.run(wait)
        card.sim.reset()
        assert struct.unpack("<I", card.peek(BARS[0] + CAP))[0] & 0xFFFF == 1023
    assert card.status() == (0, 0, 0)


def test_device_reset_with_a_read_that_an_ssd_works_on(make: Make) -> None:
    """What the SSD says to it is not the answer to the next one, though that has the same tag."""
    card = make(ExternalDrive(link_latency_ns=2000), ModelDrive(size=MODEL_SIZE))
    sim = card.sim
    sim.ssds.messages(0)
    card.start(READ, BARS[0], 4)
    sim.run(1000)
    (old,) = sim.ssds.messages(0)
    sim.reset()
    card.start(READ, BARS[0] + 4, 4)
    sim.run(300)  # on its way
    sim.ssds.answer(old.id, b"old.")
    sim.run(1000)
    (new,) = sim.ssds.messages(0)
    sim.ssds.answer(new.id, b"new.")
    card.wait()
    assert card.buffer()[:4] == b"new." and card.status() == (0, 0, 0)


def test_power_cycle(make: Make) -> None:
    """SSDs are reset too; what is on media stays."""
    card = make()
    Nvme(card, 1)
    card.sim.ssds.media_write(4096, b"data", port=1)
    card.sim.power_cycle()
    card.sim.run(10)
    assert card.sim.up == 3
    assert card.peek(BARS[1] + CSTS) == bytes(4)
    assert card.peek(BARS[1] + AQA) == bytes(4)
    assert card.sim.ssds.media_read(4096, 4, port=1) == b"data"


# --------------------------------------------------------------------------------------------------------------- faults


def test_faults(make: Make) -> None:
    """Those of a model drive, of one SSD alone."""
    card = make()
    ssd = Nvme(card, 1)
    fault = card.sim.ssds.fault("status", opcode=IDENTIFY, admin=True, status=0x002, port=1)
    assert ssd.command(IDENTIFY, prp=0x4000, dw10=1) & 0x7FF == 0x002
    assert card.sim.ssds.fault_hits(fault, port=1) == 1
    assert ssd.command(IDENTIFY, prp=0x4000, dw10=1) == 0
    card.sim.ssds.hang(port=1)
    assert card.peek(BARS[1] + CSTS)[0] & 2  # CFS
    assert card.peek(BARS[0] + CSTS) == bytes(4)


def test_a_damaged_write_is_marked(make: Make) -> None:
    card = make()
    ssd = Nvme(card, 0)
    card.sim.ssds.fault("damage", opcode=IDENTIFY, admin=True)
    assert card.sim.dead == 0
    ssd.command(IDENTIFY, prp=0x4000, dw10=1)
    assert card.sim.dead == 2


def test_gone_and_the_link_does_not_show_it(make: Make) -> None:
    card = make()
    ssd = Nvme(card, 0)
    card.sim.ssds.fault("vanish", opcode=IDENTIFY, admin=True)
    ssd.start(struct.pack("<I", IDENTIFY).ljust(64, b"\0"))
    card.sim.run(2000)
    assert card.peek(BARS[0] + CSTS) == b"\xff" * 4
    assert card.sim.up == 3


def test_drops_its_link(make: Make) -> None:
    card = make()
    ssd = Nvme(card, 0)
    card.sim.ssds.fault("drop_link", opcode=IDENTIFY, admin=True)
    ssd.start(struct.pack("<I", IDENTIFY).ljust(64, b"\0"))
    card.sim.run(2000)
    assert (card.sim.up, card.sim.ssds.present) == (2, 2)
    card.sim.reset()  # of the device alone
    card.sim.run(10)
    assert card.sim.up == 2
