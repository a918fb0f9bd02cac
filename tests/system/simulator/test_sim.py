# SPDX-License-Identifier: Apache-2.0
"""The simulator's runtime (sim/, doorbell.device.sim) against a small device (tests/rtl/tb/sim_endpoint.sv) instead of
the drive."""

from __future__ import annotations

import mmap
import os
import random
import select
import struct
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from doorbell.device.limits import Link
from doorbell.device.messages import MmioError
from doorbell.vm.devices import SimDevice
from endpoint_device import (
    BASE,
    FLUSH,
    INTX_OFF,
    INTX_ON,
    LOW,
    MEDIA_READ,
    MEDIA_WRITE,
    MSI,
    MSI_ADDR,
    RATE,
    READ,
    SIZE,
    WRITE,
    Device,
    Make,
    delta,
    devices_made,
    pattern,
)


@pytest.fixture
def make() -> Iterator[Make]:
    yield from devices_made()


# ----------------------------------------------------------------------------------------------------------- registers


def test_link_names() -> None:
    assert Link.parse("gen3x8") == Link(3, 8) and Link.parse("GEN5x16") == Link(5, 16)
    for bad in ("gen6x8", "gen3x3", "x8", "gen3", ""):
        with pytest.raises(ValueError, match="not a link"):
            Link.parse(bad)


@pytest.mark.parametrize("data_w", [pytest.param(128, marks=pytest.mark.nightly), 256, 512])
def test_registers(make: Make, data_w: int) -> None:
    d = make(data_w)
    sim = d.sim
    assert sim.data_w == data_w
    assert sim.mmio_read(0) == 0x0DB00001
    sim.mmio_write(4, 0x11223344)
    sim.mmio_write(5, 0xAB, 1)
    sim.mmio_write(6, 0xCDEF, 2)
    assert sim.mmio_read(4) == 0xCDEFAB44
    assert [sim.mmio_read(4 + i, 1) for i in range(4)] == [0x44, 0xAB, 0xEF, 0xCD]
    assert sim.mmio_read(6, 2) == 0xCDEF
    sim.mmio_write(8, 0x0102030405060708, 8)
    assert (sim.mmio_read(8), sim.mmio_read(12)) == (0x05060708, 0x01020304)
    if data_w > 128:
        assert sim.mmio_read(8, 8) == 0x0102030405060708
        assert sim.mmio_read(9, 5) == 0x0304050607
    sim.mmio_write(8, struct.pack("<3I", 1, 2, 3))
    assert [sim.mmio_read(8 + 4 * i) for i in range(3)] == [1, 2, 3]
    with pytest.raises(MmioError, match="unsupported"):
        sim.mmio_read(0x400)
    handles = [sim.mmio_read_start(4 * i) for i in range(4)]
    assert sim.mmio_read_poll(handles[0]) is None
    sim.run(200)
    assert [struct.unpack("<I", sim.mmio_read_poll(h) or b"")[0] for h in handles] == [0x0DB00001, 0xCDEFAB44, 1, 2]
    with pytest.raises(ValueError, match="1 to 64"):
        sim.mmio_write(2, bytes(63))


def test_register_timeout(make: Make) -> None:
    sim = make(mmio_timeout_us=10).sim
    sim.run(100)
    handle = sim.mmio_read_start(0)
    sim.reset()  # the device forgets it
    with pytest.raises(MmioError, match="in time"):
        while sim.mmio_read_poll(handle) is None:
            sim.run(1000)
    assert sim.mmio_read(0) == 0x0DB00001


# ----------------------------------------------------------------------------------------------------------------- DMA


@pytest.mark.parametrize("options", [
    {}, {"data_w": 128, "mps": 128, "mrrs": 128}, {"data_w": 512, "mps": 1024, "mrrs": 4096, "rcb": 128},
    {"completion_bytes": 64, "mrrs": 4096}, {"completion_bytes": "random", "completion_jitter_ns": 600, "mrrs": 1024},
    {"data_w": 128, "stall_pct": 40, "completion_jitter_ns": 300}, {"data_w": 512, "stall_pct": 30, "mps": 512},
    {"posted_headers": 2, "posted_credits": 32, "read_headers": 1, "max_reads": 3, "completion_buffer": 600},
    {"link": "gen1x1"}, {"link": "gen5x16", "clock_mhz": 500.0, "data_w": 512},
], ids=lambda o: "-".join(f"{k}{v}" for k, v in o.items()) or "default")  # fmt: skip
def test_dma(make: Make, options: dict[str, Any]) -> None:
    """Data at any dword, any length, both ways; nothing beside it is touched."""
    d = make(**options)
    rng = random.Random(7)
    for trial in range(12):
        size = 4 * rng.choice([1, 2, 3, 5, 16, 63, 64, 65, 130, 1024, 1025, rng.randrange(1, 4000)])
        a, b = (4 * rng.randrange(0, SIZE // 16) for _ in range(2))
        b += SIZE // 2
        data = pattern(size, trial)
        d.memory[a : a + size] = data
        guard = bytes(d.memory[b - 64 : b]), bytes(d.memory[b + size : b + size + 64])
        d.do(READ, rng.choice([BASE, LOW]) + a, size)
        d.do(WRITE, rng.choice([BASE, LOW]) + b, size)
        d.sim.run(1000)
        assert bytes(d.memory[b : b + size]) == data
        assert (bytes(d.memory[b - 64 : b]), bytes(d.memory[b + size : b + size + 64])) == guard
    assert d.status()[0] == 0


def test_read_after_write(make: Make) -> None:
    """A read that leaves while earlier writes wait for credit sees what they wrote."""
    d = make(posted_headers=1, credit_ns=4000, host_latency_ns=0)
    d.clear(1024, 0x77)
    d.start(WRITE, BASE, 1024)
    d.wait()
    assert d.sim.counters()["up.MWr.tlps"] < 4
    d.do(READ, BASE, 1024)
    d.do(WRITE, BASE + 4096, 1024)
    d.sim.run(10_000)
    assert d.memory[4096:5120] == b"\x77" * 1024


def test_byte_enables(make: Make) -> None:
    d = make()
    d.clear(64, 0xAA)
    for size, be, lead, trail in ((4, 0x06, 1, 1), (4, 0x0C, 2, 0), (16, 0x7E, 1, 1), (40, 0x18, 3, 3)):
        d.memory[:64] = bytes(64)
        d.do(WRITE, BASE + 8, size, be=be)
        d.sim.run(100)
        assert bytes(d.memory[:64]) == bytes(8 + lead) + b"\xaa" * (size - lead - trail) + bytes(56 - size + trail)


@pytest.mark.parametrize("rcb", [64, 128])
def test_completion_split(make: Make, rcb: int) -> None:
    """How many completions a read is answered with."""
    d = make(rcb=rcb, mps=256, mrrs=1024)
    for at, size in ((0, 1024), (4, 1020), (60, 512), (128, 64), (200, 824)):
        before = d.sim.counters()
        d.start(READ, BASE + at, size)
        d.sim.run(2000)
        pieces, left, a = 0, size, at
        while left:
            n = min(left, (a + 256) // rcb * rcb - a)
            pieces, left, a = pieces + 1, left - n, a + n
        got = delta(before, d.sim.counters())
        assert got["down.CplD.tlps"] == pieces
        assert got["down.CplD.payload"] == size


# -------------------------------------------------------------------------------------------------------------- timing


def wire(link: str, lanes: int, clock_mhz: float) -> Fraction:
    """Bytes a cycle."""
    return RATE[link] * lanes / 8 / Fraction(clock_mhz)


@pytest.mark.parametrize(("link", "lanes"), [("gen1", 4), ("gen2", 2), ("gen3", 4), ("gen3", 8), ("gen4", 4)])
def test_write_rate(make: Make, link: str, lanes: int) -> None:
    """Sustained writes take what their bytes take on the wire, to the cycle."""
    d = make(512, link=f"{link}x{lanes}", ack_every=3, fc_every=4)  # at 256 bits, beats would be the limit
    assert d.sim.link_bytes_per_cycle == pytest.approx(float(wire(link, lanes, 250)))
    d.start(WRITE, BASE, 16384, repeats=9)
    d.sim.run(2000)
    a, start = d.sim.counters(), d.sim.cycle
    d.sim.run(3000)
    b, cycles = d.sim.counters(), d.sim.cycle - start
    got = delta(a, b)
    assert got["up.MWr.payload"] == 256 * got["up.MWr.tlps"]
    assert got["up.MWr.header"] == 24 * got["up.MWr.tlps"]
    need = 280 * got["up.MWr.tlps"] / wire(link, lanes, 250)
    assert abs(cycles - need) <= 280 / wire(link, lanes, 250) + 1
    assert got["down.ack.bytes"] == pytest.approx(8 * got["up.MWr.tlps"] / 3, abs=8)
    assert got["down.fc.bytes"] == pytest.approx(8 * got["up.MWr.tlps"] / 4, abs=8)
    d.wait()


def test_read_rate(make: Make) -> None:
    """Reads are bound by completions and the DLLPs that share their direction."""
    d = make(link="gen3x4", data_w=256, mps=256, mrrs=512, ack_every=4, fc_every=4)
    d.start(READ, BASE, 32768)
    d.sim.run(400)
    a, start = d.sim.counters(), d.sim.cycle
    d.sim.run(1500)
    got, cycles = delta(a, d.sim.counters()), d.sim.cycle - start
    bytes_down = sum(v for k, v in got.items() if k.startswith("down.") and not k.endswith("tlps"))
    assert got["down.CplD.header"] == 20 * got["down.CplD.tlps"]
    assert cycles == pytest.approx(bytes_down / float(wire("gen3", 4, 250)), abs=25)
    d.wait()


@pytest.mark.parametrize("latency", [0, 400, 2000])
def test_read_latency(make: Make, latency: int) -> None:
    """From the request's last byte on the wire to the completion's last byte."""
    d = make(host_latency_ns=latency, link="gen3x8", ack_every=0, fc_every=0)
    d.start(READ, BASE, 64)
    sim = d.sim
    while not sim.counters()["up.MRd.tlps"]:
        sim.run(1)
    sent = sim.cycle
    while not sim.counters()["down.CplD.tlps"]:
        sim.run(1)
    assert sim.cycle - sent == -(-24 * 250 * 130 // (8000 * 128)) + latency // 4


def test_out_of_order(make: Make) -> None:
    d = make(completion_jitter_ns=2000, mrrs=128)
    data = pattern(16384)
    d.memory[:16384] = data
    d.do(READ, BASE, 16384)
    d.do(WRITE, BASE + 65536, 16384)
    d.sim.run(2000)
    assert d.memory[65536 : 65536 + 16384] == data
    spread = make(completion_jitter_ns=0, mrrs=128)
    spread.do(READ, BASE, 16384)
    assert spread.sim.cycle < d.sim.cycle


def run_mix(d: Device) -> tuple[int, dict[str, int]]:
    d.memory[:65536] = pattern(65536)
    for i in range(4):
        for op, addr in ((READ, BASE + 4 * i), (MEDIA_WRITE, 0), (MEDIA_READ, 0), (FLUSH, 0), (WRITE, BASE + 131072)):
            d.start(op, addr, 8192, media=8192 * i)
            d.sim.run(7000)
    assert d.memory[131072 : 131072 + 8192] == d.memory[12 : 12 + 8192]
    return d.sim.cycle, d.sim.counters()


MIX = {"completion_jitter_ns": 500, "completion_bytes": "random", "stall_pct": 20, "media_gbps": 5.0}


def test_deterministic(make: Make) -> None:
    assert run_mix(make(seed=5, **MIX)) == run_mix(make(seed=5, **MIX))
    assert run_mix(make(seed=5, **MIX)) != run_mix(make(seed=6, **MIX))


def test_idle_skip(make: Make) -> None:
    """Skipping time changes no figure but the cycles skipped."""
    options = {"host_latency_ns": 5000, "media_latency_ns": 3000}
    a, b = run_mix(make(idle_skip=True, **options)), run_mix(make(idle_skip=False, **options))
    assert a[1].pop("sim.skipped_cycles") > 100_000 and b[1].pop("sim.skipped_cycles") == 0
    assert a == b


def test_idle_skip_waits_for_the_core(make: Make) -> None:
    """The last answer that an idle device waits for starts its next operation."""
    d = make(media_latency_ns=2000)
    d.start(MEDIA_READ, size=1024, repeats=3)
    d.sim.run(10_000)
    assert d.sim.counters()["media.read_bursts"] == 4
    assert d.sim.mmio_read(0x20) >> 31 == 0


def test_stop_idle_and_wake(make: Make) -> None:
    d = make()
    sim = d.sim
    sim.run(100)
    start = sim.cycle
    assert sim.run(1_000_000, stop_idle=True) == "idle"
    assert sim.cycle - start < 50 and sim.idle
    sim.mmio_write(0x34, sim.time_us + 500)
    assert not sim.idle
    sim.run(100)
    assert sim.wake_us is not None
    assert sim.run(10_000_000, stop_idle=True) == "idle"
    assert sim.mmio_read(0x38) == 0, "not yet"
    sim.run(1_000_000)
    assert sim.mmio_read(0x38) == 1 and sim.wake_us is None
    assert sim.counters()["sim.skipped_cycles"] > 900_000
    assert sim.time_us == sim.cycle // 250
    sim.time_us = 1 << 40
    sim.run(2500)
    assert sim.time_us == (1 << 40) + 10


# --------------------------------------------------------------------------------------------- interrupts, doorbells


def test_msi(make: Make) -> None:
    d = make()
    for vector in (3, 5000):
        d.start(MSI, MSI_ADDR, data=vector)
        assert d.sim.run(1_000_000, until_irq=True) == "irq"
        assert d.sim.run(1000, until_irq=True) == "irq", "still to be drained"
        (irq,) = d.sim.irqs()
        assert (irq.addr, irq.data) == (MSI_ADDR, vector) and irq.cycle <= d.sim.cycle
    assert d.sim.run(1000, until_irq=True) == "budget"
    fd = os.eventfd(0, os.EFD_NONBLOCK)
    try:
        d.sim.irq_eventfd(3, fd)
        d.start(MSI, MSI_ADDR, data=3)
        assert d.sim.run(1000, until_irq=True) == "irq"
        assert select.select([fd], [], [], 0)[0] and os.eventfd_read(fd) == 1
        assert not d.sim.irqs()
        d.sim.irq_eventfd(3, -1)
        d.do(MSI, MSI_ADDR, data=3)
        assert not d.sim.irqs() and not select.select([fd], [], [], 0)[0]
        d.sim.irq_eventfd(3, None)
        d.do(MSI, MSI_ADDR, data=3)
        assert [i.data for i in d.sim.irqs()] == [3]
    finally:
        os.close(fd)


def test_intx(make: Make) -> None:
    d = make()
    d.start(INTX_ON)
    assert d.sim.run(10_000, until_irq=True) == "intx" and d.sim.intx
    d.start(INTX_OFF)
    d.sim.run(1000)
    assert not d.sim.intx
    d.sim.set_cfg(intx_disable=True)
    d.do(INTX_ON)
    assert not d.sim.intx


def test_watch(make: Make) -> None:
    d = make()
    d.start(MSI, BASE + 0x80, data=0x12345)
    assert d.sim.run(100_000, until=(BASE + 0x80, 0xFFFF, 0x2345)) == "watch"
    assert d.sim.cycle < 1000
    assert struct.unpack_from("<I", d.memory, 0x80)[0] == 0x12345
    d.start(MSI, BASE + 0x80, data=0x1)
    assert d.sim.run(1000, until=[(BASE + 0x84, 1, 1), (BASE + 0x80, 0xFF, 7)]) == "budget"


def test_doorbell_page(make: Make) -> None:
    d = make()
    page = mmap.mmap(-1, 4096)
    d.sim.doorbell_page(page)
    page[0x18:0x1C] = struct.pack("<I", 77)
    d.sim.run(100)
    assert d.sim.mmio_read(0x24) == 1 and d.sim.mmio_read(0x28) == 0x1018_0000 + 77
    page[0x18:0x1C] = struct.pack("<I", 78)
    page[0x20:0x24] = struct.pack("<I", 9)
    d.sim.run(500)
    assert d.sim.mmio_read(0x24) == 3
    page[0x20:0x24] = struct.pack("<I", 9)  # the same again is a write again
    d.sim.run(500)
    assert d.sim.mmio_read(0x24) == 4
    d.sim.doorbell_reset()
    assert page[:] == b"\xff" * 4096
    d.sim.run(1000)
    assert d.sim.mmio_read(0x24) == 4
    page[0x18:0x1C] = struct.pack("<I", 78)
    d.sim.run(500)
    assert d.sim.mmio_read(0x24) == 5
    d.sim.doorbell_page(None)


# ------------------------------------------------------------------------------------------------------------ messages

FAR = 0x5_0000_0000


def test_message_reads(make: Make) -> None:
    d = make(mrrs=512, cpl_timeout_us=10)
    data = pattern(4096)
    d.sim.map(FAR, 1 << 20, None)
    d.start(READ, FAR + 4096, 1024)
    assert d.sim.run(100_000) == "dma"
    assert d.sim.run(100_000) == "dma"
    pending = d.sim.dma_pending()
    while len(pending) < 2:
        assert d.sim.run(100_000) == "dma"
        pending += d.sim.dma_pending()
    assert [(m.address, m.size, m.data) for m in pending] == [(FAR + 4096, 512, None), (FAR + 4608, 512, None)]
    assert d.sim.run(20_000) == "budget", "no timeout while the caller owes an answer"
    for m in reversed(pending):
        d.sim.dma_complete(m.id, data[m.address - FAR - 4096 :][: m.size])
    d.wait()
    d.do(WRITE, BASE, 1024)
    d.sim.run(100)
    assert d.memory[:1024] == data[:1024] and d.status()[0] == 0
    # refused, and removed while waiting
    d.start(READ, FAR, 64)
    assert d.sim.run(100_000) == "dma"
    d.sim.dma_complete(d.sim.dma_pending()[0].id, None)
    d.wait()
    assert d.status() == (1, 2, 1)
    d.start(READ, FAR, 64)
    assert d.sim.run(100_000) == "dma"
    (m,) = d.sim.dma_pending()
    assert d.sim.unmap(FAR) == 1
    d.sim.dma_complete(m.id, bytes(64))  # too late
    d.wait()
    assert d.status()[0] == 2


def test_memory_that_is_taken_away_from_a_served_device(make: Make) -> None:
    """What its client has not been told of by then it is not told any more: something else may be there."""
    d = make()
    device = SimDevice(d.sim)
    device.map(FAR, 4096, None, True)
    d.do(WRITE, FAR, 1024)
    d.sim.run(5000, stop_dma=False)
    assert device.dma_next()
    device.unmap(FAR, 4096)
    device.map(FAR, 4096, None, True)
    assert not device.dma_next()


def test_interrupts_of_a_served_device_that_are_no_vectors(make: Make) -> None:
    """A guest may have the device write to where interrupts go: that is kept for nobody."""
    d = make()
    device = SimDevice(d.sim)
    for data in (0, 100, 5000):
        d.do(MSI, MSI_ADDR, data=data)
    device.run(1000)
    assert d.sim.counters()["host.irqs"] == 3 and not d.sim.irqs()


def test_message_writes_keep_order(make: Make) -> None:
    """An interrupt or a write to memory does not overtake writes that the caller has not fetched; registers answer."""
    d = make()
    d.clear(1024, 0x5A)
    d.sim.map(FAR, 4096, None)
    d.do(WRITE, FAR + 64, 512)
    d.do(MSI, MSI_ADDR, data=9)
    d.do(MSI, BASE, data=0xFEED)
    d.sim.run(5000, stop_dma=False)
    assert not d.sim.irqs() and d.memory[:4] == bytes(4)
    assert d.sim.mmio_read(0) == 0x0DB00001
    writes = d.sim.dma_pending()
    assert [(m.address, m.data) for m in writes] == [(FAR + 64, b"\x5a" * 192), (FAR + 256, b"\x5a" * 256),
                                                       (FAR + 512, b"\x5a" * 64)]  # fmt: skip
    assert d.sim.run(100, until_irq=True) == "irq"
    d.sim.run(100)
    assert [i.data for i in d.sim.irqs()] == [9] and d.memory[:2] == b"\xed\xfe"
    d.do(WRITE, FAR, 64)
    answered = d.sim.counters()["host.reads_answered"]
    d.start(READ, BASE, 64)
    d.sim.run(5000, stop_dma=False)
    assert d.sim.counters()["host.reads_answered"] == answered, "a read passed a write"
    assert len(d.sim.dma_pending()) == 1
    d.wait()
    assert d.sim.counters()["host.reads_answered"] == answered + 1
