# SPDX-License-Identifier: Apache-2.0
"""The links of SSDs beside a device on a switch, and the device's: what packets take of them, who gets how much."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from doorbell.device.drives import ExternalDrive
from endpoint_device import BASE, READ
from switch_card import BUFFER, NVM_READ, PART, WINDOW, Card, Make, Nvme, cards_made, external, fetched


@pytest.fixture
def make() -> Iterator[Make]:
    yield from cards_made()


def test_both_links_are_charged(make: Make) -> None:
    """A write of 4 KiB above 4 GiB: packets of MPS with headers of 4 dwords and 8 bytes of framing, on the SSD's link
    and on the device's; a read: requests of MRRS, answers of MPS with headers of 3 dwords."""
    card = make(ExternalDrive(), ExternalDrive())
    external(card)
    sim = card.sim
    before = sim.counters()
    sim.ssds.host_write(WINDOW + PART, bytes(4096), 1)
    sim.run(5000)
    moved = {k: v - before[k] for k, v in sim.counters().items()}
    for way in ("ssd1.up", "down"):
        assert [moved[f"{way}.MWr.{k}"] for k in ("tlps", "header", "payload")] == [16, 16 * 24, 4096]
        assert moved[f"{way}.MRd.tlps"] == 0
    assert not any(v for k, v in moved.items() if k.startswith("ssd0."))
    before = sim.counters()
    fetched(card, sim.ssds.host_read(WINDOW + PART, 4096, 1), 4096, 1)
    moved = {k: v - before[k] for k, v in sim.counters().items()}
    for way in ("ssd1.up", "down"):
        assert [moved[f"{way}.MRd.{k}"] for k in ("tlps", "header", "payload")] == [8, 8 * 24, 0]
    for way in ("ssd1.down", "up"):
        assert [moved[f"{way}.CplD.{k}"] for k in ("tlps", "header", "payload")] == [16, 16 * 20, 4096]


def rate(card: Card, ports: list[int], size: int = 1 << 18) -> float:
    """Bytes that these SSDs write to the device in a cycle, together."""
    sim = card.sim
    begin = sim.cycle
    for port in ports:
        for at in range(0, size, BUFFER // 2):
            sim.ssds.host_write(WINDOW + port * PART + at % BUFFER, bytes(BUFFER // 2), port)
    total = sum(sim.counters()[f"ssd{port}.up.MWr.payload"] for port in ports) + size * len(ports)
    assert sim.run(1_000_000, stop_idle=True) == "idle"
    assert total == sum(sim.counters()[f"ssd{port}.up.MWr.payload"] for port in ports)
    return size * len(ports) / (sim.cycle - begin)


def test_rates_of_the_links(make: Make) -> None:
    """One SSD fills its own link; two fill the device's, if theirs are together faster. By the packets' sizes."""
    card = make(ExternalDrive(link="gen3x4"), ExternalDrive(link="gen3x4"), link="gen3x8")
    external(card)
    wire = 256 + 24 + 8 / 4  # payload, header and framing; DLLPs of the other direction are not many
    one = card.sim.ssds.link_bytes_per_cycle(0) * 256 / wire
    assert rate(card, [0]) == pytest.approx(one, rel=0.03)
    assert rate(card, [0, 1]) == pytest.approx(2 * one, rel=0.03)
    slow = make(ExternalDrive(link="gen3x4"), ExternalDrive(link="gen3x4"), link="gen3x4")
    external(slow)
    assert rate(slow, [0, 1]) == pytest.approx(slow.sim.link_bytes_per_cycle * 256 / wire, rel=0.03)


def test_host_and_ssds_share_the_link(make: Make) -> None:
    """While SSDs send more than the device's link takes, its reads of the host get half of it."""
    card = make(ExternalDrive(link="gen4x8"), ExternalDrive(link="gen4x8"), link="gen3x4")
    external(card)
    for port in range(2):
        for _ in range(8):
            card.sim.ssds.host_write(WINDOW + port * PART, bytes(BUFFER), port)
    card.start(READ, BASE, BUFFER, repeats=3)
    card.sim.run(2000)
    before = card.sim.counters()
    card.sim.run(10_000)
    moved = {k: v - before[k] for k, v in card.sim.counters().items()}
    assert moved["down.CplD.tlps"] == pytest.approx(moved["down.MWr.tlps"], rel=0.05)
    assert moved["ssd0.up.MWr.tlps"] == pytest.approx(moved["ssd1.up.MWr.tlps"], rel=0.1)
    card.wait()


def test_time_is_skipped_without_a_trace(make: Make) -> None:
    """The same cycles with idle_skip and without."""
    seen = []
    for skip in (False, True):
        card = make(idle_skip=skip)
        ssd = Nvme(card, 1)
        ssd.io_queues()
        ssd.command(NVM_READ, 1, prp=0x4000, nsid=1, dw12=7)
        seen.append((card.sim.cycle, {k: v for k, v in card.sim.counters().items() if not k.startswith("sim.")}))
        assert (card.sim.counters()["sim.skipped_cycles"] > 0) is skip
    assert seen[0] == seen[1]
