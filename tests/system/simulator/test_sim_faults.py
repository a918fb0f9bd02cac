# SPDX-License-Identifier: Apache-2.0
"""The simulator's runtime: what a device does wrong, and what goes wrong around it, with a small device."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from doorbell.device.messages import SimError
from endpoint_device import (
    BASE,
    MEDIA_READ,
    READ,
    SIZE,
    WRITE,
    Make,
    devices_made,
    pattern,
)


@pytest.fixture
def make() -> Iterator[Make]:
    yield from devices_made()


# -------------------------------------------------------------------------------------------------- faults, regions


def test_unmapped(make: Make) -> None:
    d = make()
    d.do(READ, 0x9_0000_0000, 256)
    assert d.status() == (1, 2, 1)
    d.do(WRITE, 0x9_0000_0000, 512)
    d.sim.run(100)
    counters = d.sim.counters()
    assert counters["host.write_unmapped"] == 2 and counters["host.read_unmapped"] == 1
    assert d.sim.unmap(BASE, SIZE) == 1
    d.do(READ, BASE, 64)
    assert d.status()[0] == 2
    d.sim.map(BASE, SIZE, d.memory)
    with pytest.raises(SimError, match="another region"):
        d.sim.map(BASE + SIZE - 4096, 8192, bytearray(8192))
    with pytest.raises(SimError, match="another region"):
        d.sim.map(BASE - 4096, 8192, bytearray(8192))
    with pytest.raises(SimError, match="64 bits"):
        d.sim.map((1 << 64) - 4096, 8192, None)
    d.sim.map((1 << 64) - 4096, 4096, bytearray(pattern(4096)))
    d.do(READ, (1 << 64) - 4096, 4096)
    d.do(WRITE, BASE, 4096)
    d.sim.run(200)
    assert d.memory[:4096] == pattern(4096)
    assert d.status()[0] == 2


def test_read_only_region(make: Make) -> None:
    d = make()
    rom = bytearray(pattern(4096))
    d.sim.map(0x7_0000_0000, 4096, rom, writable=False)
    d.do(WRITE, 0x7_0000_0000, 512)
    d.sim.run(100)
    assert rom == pattern(4096) and d.sim.counters()["host.write_unmapped"] == 2


def test_region_removed_while_read(make: Make) -> None:
    d = make(host_latency_ns=4000)
    d.start(READ, BASE, 256)
    d.sim.run(300)
    assert d.sim.counters()["up.MRd.tlps"] == 1
    assert d.sim.unmap(BASE) == 1
    d.wait()
    assert d.status() == (1, 2, 1)


@pytest.mark.parametrize(("kind", "status"), [("ur", (1, 2, 1)), ("ca", (1, 2, 4)), ("poison", (1, 1, 0))])
def test_fault(make: Make, kind: str, status: tuple[int, int, int]) -> None:
    d = make(mrrs=512)
    fault = d.sim.inject(kind, nth=2)
    d.do(READ, BASE, 4096)
    assert d.sim.injected(fault) == 1
    assert d.status() == status
    ranged = d.sim.inject(kind, BASE + 1000, 100, count=2)
    d.do(READ, BASE, 4096)  # hits requests 1 and 2 of 512 bytes
    assert d.sim.injected(ranged) == 2 and d.status()[0] == 3
    d.sim.inject_clear()
    d.do(READ, BASE, 4096)
    assert d.status()[0] == 3


def test_timeout(make: Make) -> None:
    d = make(cpl_timeout_us=20)
    fault = d.sim.inject("drop", nth=1)
    start = d.sim.cycle
    d.do(READ, BASE, 4096)
    assert d.sim.injected(fault) == 1 and d.status()[:2] == (1, 9)
    assert 5000 < d.sim.cycle - start < 5800
    d.do(READ, BASE, 4096)
    assert d.status()[0] == 1


def test_completion_that_comes_twice(make: Make) -> None:
    """The data are there; the second one is for a tag that is not in use (the endpoint's own code 15)."""
    d = make(mrrs=512)
    data = pattern(512)
    d.memory[:512] = data
    d.sim.inject("double")
    d.do(READ, BASE, 512)
    d.sim.run(200)
    assert d.status()[:2] == (1, 15) and d.sim.counters()["down.CplD.tlps"] == 3, "256 bytes, 256, and these again"
    d.do(WRITE, BASE + 4096, 512)
    d.sim.run(500)
    assert d.memory[4096 : 4096 + 512] == data


def test_completion_that_comes_too_late(make: Make) -> None:
    """It times out, and after as long again the completion comes."""
    d = make(cpl_timeout_us=20)
    start = d.sim.cycle
    d.sim.inject("late", nth=1)
    d.do(READ, BASE, 1024)
    assert d.status()[:2] == (1, 9) and d.sim.cycle - start < 5800
    d.sim.run(10_500 - (d.sim.cycle - start))
    assert d.status()[:2] == (2, 15)
    d.do(READ, BASE, 1024)
    assert d.status()[0] == 2


def test_iommu(make: Make) -> None:
    """What is not granted, or in the other direction, is refused, and said with address, cycle and last owner."""
    d = make()
    sim, errors = d.sim, lambda: d.sim.errors().get("error.not_granted", 0)
    d.do(WRITE, BASE, 64)
    assert not sim.errors(), "off: all may be touched"
    sim.iommu(True)
    sim.grant(BASE + 100, 4096, 7, read=True)  # two pages
    sim.grant(BASE + 8192, 1, 8, write=True)
    sim.grant(BASE + 8192, 1, 9, read=True)
    d.do(READ, BASE + 64, 8192 - 64)
    d.do(READ, BASE + 8192, 4096)
    d.do(WRITE, BASE + 8192, 256)
    assert not sim.errors() and d.status()[0] == 0
    before = bytes(d.memory[:64])
    d.do(WRITE, BASE, 64)
    sim.run(200)
    assert errors() == 1 and d.memory[:64] == before
    (stray,) = sim.strays()
    assert stray[1:] == (BASE, 64, True, 0, 7, 0) and 0 < stray.cycle <= sim.cycle
    assert sim.revoke(9) == 1 and sim.revoke(9) == 0
    d.do(READ, BASE + 8192, 64)
    assert errors() == 2 and d.status() == (1, 2, 1)
    assert sim.strays()[0].owner == 8, "it is somebody's, for writing"
    given_back = sim.cycle
    assert sim.revoke(7) == 2
    d.do(READ, BASE + 4096, 64)
    assert [(s.addr, s.write, s.owner, s.returned) for s in sim.strays()] == [(BASE + 4096, False, 7, given_back)]
    d.do(READ, BASE + 65536, 64)
    assert sim.strays()[0].owner == 0 and errors() == 4
    sim.iommu(False)
    d.do(READ, BASE + 65536, 64)
    assert errors() == 4
    sim.close()


def test_bus_master(make: Make) -> None:
    d = make()
    d.sim.set_cfg(bus_master=False)
    d.sim.run(500)
    d.do(WRITE, BASE, 256)
    d.do(READ, BASE, 64)
    assert d.status() == (1, 2, 1)
    assert d.sim.errors() == {"error.rq_bus_master": 2}
    d.sim.reset()
    assert d.sim.cfg()["bus_master"] == 0
    d.sim.close()


def test_bad_requests_are_seen(make: Make) -> None:
    d = make(mps=256, mrrs=512)
    d.sim.set_cfg(mps=1024)  # the device believes this
    d.do(WRITE, BASE, 1024)
    d.sim.run(100)
    assert not d.sim.errors()
    d.do(WRITE, BASE, 64, be=0xFF)
    d.do(MEDIA_READ, size=32, media=16 << 20)
    assert d.sim.errors() == {"error.media_range": 1}
    d.do(MEDIA_READ, size=32, media=8)
    assert d.sim.errors() == {"error.media_range": 1, "error.media_burst": 1}
    assert d.sim.mmio_read(0x3C) == 2
    d.sim.close()


def test_flr(make: Make) -> None:
    d = make()
    d.start(READ, BASE, 32768, repeats=3)
    d.sim.run(200)
    d.sim.flr()
    assert d.sim.cfg()["bus_master"] == 0
    d.sim.run(5000)
    d.sim.set_cfg(bus_master=True)
    d.memory[:256] = pattern(256)
    d.do(READ, BASE, 256)
    d.do(WRITE, BASE + 4096, 256)
    d.sim.run(100)
    assert d.memory[4096:4352] == pattern(256)


def test_two_function_level_resets_in_a_row(make: Make) -> None:
    """The function sees the end of the first one, else it would wait for that during the second."""
    d = make()
    for _ in range(3):
        d.sim.flr(5000)


def test_card_memory_that_is_not_there(make: Make) -> None:
    d = make()
    for access in (d.sim.mmio_read, lambda off: d.sim.mmio_write(off, 1)):
        with pytest.raises(ValueError, match="card memory has 0 bytes"):
            access(d.sim.BAR_4)


def test_registers_without_a_time_limit(make: Make) -> None:
    """0 is none, as of every limit."""
    d = make(mmio_timeout_us=0, link_latency_ns=4000)
    assert d.sim.mmio_read(0) == 0x0DB00001


def test_reads_of_registers_that_nobody_waits_for(make: Make) -> None:
    """They give their place back, answered or not."""
    d = make()
    for i in range(200):
        handle = d.sim.mmio_read_start(0)
        d.sim.run(200 * (i % 2))
        d.sim.mmio_read_forget(handle)
    assert d.sim.mmio_read(0) == 0x0DB00001
