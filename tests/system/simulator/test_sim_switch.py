# SPDX-License-Identifier: Apache-2.0
"""SSDs beside a device on a switch (sim/switch, doorbell.device.switch_sim), against a small device
(tests/rtl/tb/sim_card.sv) whose buffer they see in its BAR 2, and whose registers move data between it, the host and
them: what they reach and what they do not. Their links, and what goes or fails, have files of their own."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from doorbell import build
from doorbell.device.drives import ExternalDrive, ModelDrive, ssd_drive
from doorbell.device.messages import SimError
from doorbell.device.switch_sim import SwitchSim
from endpoint_device import BASE, MEDIA_READ, MEDIA_WRITE, READ, SIZE, WRITE, ZERO, library
from switch_card import (
    AQA,
    BARS,
    BUFFER,
    CAP,
    CSTS,
    IDENTIFY,
    MODEL_SIZE,
    NVM_READ,
    NVM_WRITE,
    PART,
    POKE,
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


def test_registers_of_ssds(make: Make) -> None:
    """The device reads and writes registers of either SSD: what the specification has there comes back."""
    card = make()
    card.sim.run(4)
    assert card.sim.up == 3
    assert card.sim.ssds.present == 3
    for bar in BARS:
        assert struct.unpack("<I", card.peek(bar + VS)) == (0x20000,)
        assert struct.unpack("<I", card.peek(bar + CAP))[0] & 0xFFFF == 1023  # MQES
        assert struct.unpack("<I", card.peek(bar + CSTS)) == (0,)
    card.poke(BARS[1] + AQA, 0x0007_0005)
    assert struct.unpack("<I", card.peek(BARS[1] + AQA)) == (0x0007_0005,)
    assert struct.unpack("<I", card.peek(BARS[0] + AQA)) == (0,)


@pytest.mark.parametrize("port", [0, 1])
@pytest.mark.parametrize("data_w", [256, pytest.param(512, marks=pytest.mark.nightly)])
def test_commands(make: Make, port: int, data_w: int) -> None:
    """An SSD is brought up, writes and reads: entries, PRPs, data and completions all go through BAR 2."""
    card = make(data_w=data_w)
    ssd = Nvme(card, port)
    assert ssd.command(IDENTIFY, prp=0x4000, dw10=1) == 0
    assert struct.unpack_from("<HH", card.buffer(), 0x4000) == (0x1234, 0x1234)
    ssd.io_queues()
    data = random.Random(port).randbytes(8192)
    card.place(0x4000, data)
    assert ssd.command(NVM_WRITE, 1, prp=0x4000, prp2=0x5000, nsid=1, dw10=80, dw12=15) == 0
    assert card.sim.ssds.media_read(80 * 512, 8192, port=port) == data
    assert not any(card.sim.ssds.media_read(0, MODEL_SIZE, port=1 - port))
    other = random.Random(port + 2).randbytes(8192)
    card.sim.ssds.media_write(160 * 512, other, port=port)
    assert ssd.command(NVM_READ, 1, prp=0x6000, prp2=0x7000, nsid=1, dw10=160, dw12=15) == 0
    assert card.buffer()[0x6000:] == other
    counters = card.sim.counters()
    assert counters[f"ssd{port}.drive.sqes"] == 5
    assert counters[f"ssd{1 - port}.drive.sqes"] == 0
    assert not card.sim.dead


# ------------------------------------------------------------------------------------------------- the caller as SSDs


def test_sizes_that_no_link_has(make: Make) -> None:
    card = make(ExternalDrive(), ExternalDrive())
    for mps, mrrs in ((2048, 512), (192, 512), (256, 8192), (256, 0)):
        with pytest.raises(ValueError, match="a power of two from 128"):
            card.sim.ssds.sizes(mps, mrrs)


@pytest.mark.parametrize("options", [{}, {"data_w": 512, "mps": 1024}, {"stall_pct": 30, "mps": 128}, {"cq_tlps": 1}])
def test_answers_go_where_they_belong(make: Make, options: dict[str, Any]) -> None:
    """Both SSDs and the host read and write at once, with the same tags, while the device moves data of its own: each
    one's data is what it asked for."""
    cap = {"drive_mps_cap": 1024}
    card = make(ExternalDrive(**cap), ExternalDrive(link="gen4x2", **cap), **options)
    external(card, options.get("mps", 256))
    rng = random.Random(7)
    whole = rng.randbytes(BUFFER)
    card.place(0, whole)
    card.memory[:0x4000] = whole[:0x4000]
    card.start(READ, BASE, 0x4000, repeats=20)  # the same again: the buffer stays as it is
    sim, now = card.sim, bytearray(whole)
    for turn in range(12):
        handles = []
        for port in range(2):
            for _ in range(4):
                size = rng.randrange(1, 3000)
                at = rng.randrange(0x4000 - size)
                handles.append((port, at, size, sim.ssds.host_read(WINDOW + port * PART + at, size, port)))
            at = 0x4000 + port * 0x2000 + rng.randrange(0x1000)
            data = rng.randbytes(rng.randrange(1, 0x1000))
            sim.ssds.host_write(WINDOW + port * PART + at, data, port)
            now[at : at + len(data)] = data
        sim.mmio_write(4, turn)
        asked = [sim.mmio_read_start(4 * k) for k in range(2)]
        for port, at, size, handle in handles:
            assert fetched(card, handle, size, port) == whole[at : at + size], (turn, port, at, size)
        for handle, value in zip(asked, (0x0DB0_0001, turn)):
            while (got := sim.mmio_read_poll(handle)) is None:
                sim.run(50)
            assert struct.unpack("<I", got) == (value,)
    card.wait()
    assert card.status() == (0, 0, 0)
    assert card.buffer() == now


def test_a_write_is_seen_by_a_later_read(make: Make) -> None:
    """A read of an SSD never passes a write that it has sent before."""
    card = make(ExternalDrive(), ExternalDrive(), stall_pct=50)
    external(card)
    for k in range(40):
        data = bytes([k]) * 1024
        card.sim.ssds.host_write(WINDOW + 0x800, data)
        assert fetched(card, card.sim.ssds.host_read(WINDOW + 0x800, 1024), 1024, 0) == data


def test_writes_pass_reads_without_a_credit(make: Make) -> None:
    """A device that answers no reads, of SSDs or host, when its credits are used up still gets what SSDs write, and
    that does not wait for reads of the same SSD."""
    card = make(ExternalDrive(), ExternalDrive())
    external(card)
    sim = card.sim
    card.place(0, b"reads" * 1000)
    sim.mmio_write(4, 1 << 31)
    sim.run(200)
    reads = [(port, sim.ssds.host_read(WINDOW + 5 * k, 400, port)) for k in range(30) for port in range(2)]
    sim.run(2000)
    for port in range(2):
        sim.ssds.host_write(WINDOW + 0x6000 + 8 * port, b"written.", port)
    asked = sim.mmio_read_start(0)
    sim.run(2000)
    card.start(WRITE, BASE, BUFFER)
    sim.run(20_000)
    assert card.memory[0x6000:0x6010] == b"written." * 2
    assert sim.mmio_read_poll(asked) is None
    assert all(sim.ssds.host_read_poll(handle, 400, port) is None for port, handle in reads)
    sim.mmio_write(4, 0)
    for k, (port, handle) in enumerate(reads):
        assert fetched(card, handle, 400, port) == (b"reads" * 80), k
    assert sim.mmio_read_poll(asked) == b"\x01\0\xb0\x0d"


@pytest.mark.parametrize("addr", [BASE, WINDOW - 64, WINDOW + 2 * PART, BARS[1], 0xFEE0_0000])
def test_an_ssd_never_touches_the_host(make: Make, addr: int) -> None:
    """Memory of the host, the other SSD, interrupts: a write is dropped, a read refused, and counted."""
    card = make(ExternalDrive(), ExternalDrive())
    card.expected = ("ssd0.error.stray",)
    external(card)
    card.memory[:] = b"h" * SIZE
    sim = card.sim
    sim.ssds.host_write(addr, b"evil" * 16)
    with pytest.raises(SimError, match="refused"):
        fetched(card, sim.ssds.host_read(addr, 64), 64, 0)
    assert sim.errors() == {"ssd0.error.stray": 2}
    assert card.memory == b"h" * SIZE
    assert not [m for m in sim.ssds.messages(1) if m.kind in ("read", "write")]
    assert not sim.irqs()
    sim.ssds.host_write(WINDOW, b"good")
    assert fetched(card, sim.ssds.host_read(WINDOW, 4), 4, 0) == b"good"


def test_the_device_refuses_a_read(make: Make) -> None:
    card = make(ExternalDrive(), ExternalDrive())
    with pytest.raises(SimError, match="refused"):
        fetched(card, card.sim.ssds.host_read(WINDOW + PART + (1 << 20), 128, 1), 128, 1)
    assert card.sim.counters()["ssd1.hard.cc_refused"] == 1


def test_no_answer(make: Make) -> None:
    """An SSD that does not answer: the device's read ends at the time limit, and its tag is free for the next one."""
    card = make(ExternalDrive(), ExternalDrive(), cpl_timeout_us=20)
    begin = card.sim.cycle
    card.start(READ, BARS[1] + VS, 4)
    card.wait()
    assert card.status() == (1, 9, 0)
    assert card.sim.cycle - begin >= 20 * 250
    late = next(m for m in card.sim.ssds.messages(1) if m.kind == "read")
    assert (late.addr, late.size) == (BARS[1] + VS, 4)
    card.sim.ssds.answer(late.id, b"late", port=1)
    card.sim.run(2000)
    assert card.sim.counters()["ssd1.hard.rc_late"] == 1
    for value in (b"one.", b"two."):
        card.start(READ, BARS[1] + VS, 4)
        card.sim.run(200)
        asked = next(m for m in card.sim.ssds.messages(1) if m.kind == "read")
        card.sim.ssds.answer(asked.id, value, port=1)
        card.wait()
        assert card.buffer()[:4] == value
    assert card.status() == (1, 9, 0)


# ----------------------------------------------------------------------------------------------------------------- life


def test_what_the_card_is_told(make: Make) -> None:
    """media_pages: what the SSDs give and 32 of its own; the smallest SSD counts."""
    drives = [ModelDrive(size=(64 * 4096) + 4096), ModelDrive(size=1 << 20)]
    with SwitchSim(library(256, num_ssd=2), drives) as sim:
        assert sim.ssd_pages == 64
        assert sim.media_size == 2 * 64 * 4096
        assert sim.media_view(sim.media_size).nbytes == 32 * 4096
    with SwitchSim(library(256, num_ssd=2), media_size=2 << 20) as sim:
        assert sim.ssd_pages == 256
        assert sim.ssds.media_view(port=1).nbytes == 1 << 20


def test_only_the_end_of_its_memory_is_used(make: Make) -> None:
    """What is before the last 32 pages stands for the SSDs: a burst or zeroing there is an error."""
    card = make()
    card.expected = ("error.media_range",)
    inside = card.sim.media_size
    card.do(MEDIA_WRITE, size=4096, media=inside)
    card.do(MEDIA_READ, size=4096, media=inside + 31 * 4096)
    assert not card.sim.errors()
    card.do(MEDIA_READ, size=4096, media=inside - 4096)
    card.do(ZERO, size=4096, media=inside - 4096)
    assert card.sim.errors() == {"error.media_range": 2}


def test_a_vf_has_no_way_to_an_ssd(make: Make) -> None:
    """Its guest may name any address: those of the SSDs' BARs go to the host, where nothing is."""
    card = make(num_fn=2)
    sim = card.sim
    sim.enable_vfs(1)
    sim.function(1).set_cfg(bus_master=True)
    card.poke(BARS[0] + AQA, 0x0003_0003)
    as_vf = 4 << 8
    card.do(POKE, BARS[0] + AQA, be=as_vf)
    card.do(READ, BARS[0] + VS, 4, be=as_vf)
    assert card.status() == (1, 2, 1)
    counters = sim.counters()
    assert (counters["host.write_unmapped"], counters["host.read_unmapped"]) == (1, 1)
    assert struct.unpack("<I", card.peek(BARS[0] + AQA)) == (0x0003_0003,)


@pytest.mark.parametrize(("options", "why"), [
    ({"ssd_pages": 33}, "multiple of 32"), ({"window": 0x7E00_0100_0000}, "window"), ({"ssd_step": 8192}, "ssd_step"),
    ({"cq_tlps": 33}, "cq_tlps"), ({"mps": 64}, "mps"), ({"mps": 1024}, "drive_mps_cap"),
])  # fmt: skip
def test_bad_options(options: dict[str, Any], why: str) -> None:
    with pytest.raises(SimError, match=why):
        SwitchSim(library(256, num_ssd=2), [ModelDrive(size=MODEL_SIZE), ModelDrive(size=MODEL_SIZE)], **options)
    with pytest.raises(SimError, match="2 SSDs"):
        SwitchSim(library(256, num_ssd=2), [ModelDrive()])


@pytest.mark.parametrize("seed", range(4))
def test_anything_at_any_time(make: Make, seed: int) -> None:
    """Traffic of all kinds while links go and come and the device is reset: no rule is broken, nothing is left that
    does not end, and data is right afterwards."""
    rng = random.Random(seed)
    card = make(ExternalDrive(link_latency_ns=rng.randrange(2000)), ModelDrive(size=MODEL_SIZE, link_latency_ns=300),
                stall_pct=rng.choice([0, 20]), cpl_timeout_us=20, seed=seed + 1)  # fmt: skip
    external(card)
    sim = card.sim
    for _ in range(60):
        what = rng.randrange(8)
        if what < 2:
            sim.ssds.host_write(WINDOW + rng.randrange(0x4000), rng.randbytes(rng.randrange(1, 2000)))
        elif what < 4:
            sim.ssds.host_read(WINDOW + rng.randrange(0x4000), rng.randrange(1, 3000))
        elif what == 4:
            port = rng.randrange(2)
            sim.ssds.link(False, port)
            sim.run(rng.randrange(2000))
            sim.ssds.link(True, port)
        elif what == 5:
            sim.reset()
        else:
            card.start(READ, BARS[rng.randrange(2)] + VS, 4)
        for m in sim.ssds.messages(0):
            if m.kind == "read" and rng.random() < 0.7:
                sim.ssds.answer(m.id, bytes(4))
        sim.run(rng.randrange(3000))
    card.wait()
    sim.run(20_000)
    sim.reset()
    data = rng.randbytes(BUFFER)
    card.place(0, data)
    for port in range(2):
        sim.ssds.link(False, port)
        sim.ssds.link(True, port)
    sim.run(10)
    assert fetched(card, sim.ssds.host_read(WINDOW, 0x4000), 0x4000, 0) == data[:0x4000]
    assert struct.unpack("<I", card.peek(BARS[1] + VS)) == (0x20000,)


def test_db_ssd_as_an_ssd(make: Make) -> None:
    """Our own drive beside the device: its library, cycle by cycle."""
    drive = ssd_drive(build.simulator("db_ssd", {"DATA_W": 256}), window=(WINDOW, 2 * PART), media_size=MODEL_SIZE)
    card = make(ModelDrive(size=MODEL_SIZE), drive)
    ssd = Nvme(card, 1, entries=8)
    ssd.io_queues()
    data = random.Random(3).randbytes(8192)
    card.place(0x4000, data)
    assert ssd.command(NVM_WRITE, 1, prp=0x4000, prp2=0x5000, nsid=1, dw10=16, dw12=15) == 0
    assert card.sim.ssds.media_read(8192, 8192, port=1) == data
    assert ssd.command(NVM_READ, 1, prp=0x7000, prp2=0x6000, nsid=1, dw10=16, dw12=15) == 0
    assert card.buffer()[0x6000:] == data[4096:] + data[:4096]
    card.sim.ssds.link(False, port=1)
    card.sim.run(100)
    assert card.sim.up == 1
    assert drive.sim is not None
    assert not drive.sim.errors()
