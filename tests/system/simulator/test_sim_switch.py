# SPDX-License-Identifier: Apache-2.0
"""SSDs beside a device on a switch (sim/switch, doorbell.device.switch_sim), against a small device
(tests/rtl/tb/sim_card.sv) whose buffer they see in its BAR 2, and whose registers move data between it, the host and
them."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from doorbell import build
from doorbell.device.drives import ExternalDrive, ModelDrive, PortOptions, ssd_drive
from doorbell.device.messages import SimError
from doorbell.device.switch_sim import SwitchSim
from endpoint_device import BASE, MEDIA_READ, MEDIA_WRITE, READ, SIZE, WRITE, ZERO, Device, library

BUFFER = 32 << 10
WINDOW, PART = 0x7E00_0000_0000, 64 << 20
BARS = (0x7F00_0000_0000, 0x7F00_0001_0000)
POKE = 3  # the device's operation: one dword
CAP, VS, CC, CSTS, AQA, ASQ, ACQ, DOORBELLS = 0x00, 0x08, 0x14, 0x1C, 0x24, 0x28, 0x30, 0x1000
IDENTIFY, CREATE_SQ, CREATE_CQ, NVM_WRITE, NVM_READ = 0x06, 0x01, 0x05, 0x01, 0x02
MODEL_SIZE = 16 << 20


class Card(Device):
    """The small device and its SSDs."""

    sim: SwitchSim

    def peek(self, addr: int, size: int = 4) -> bytes:
        """The device reads there, and its buffer is handed over."""
        self.do(READ, addr, size)
        return self.buffer()[:size]

    def poke(self, addr: int, value: int) -> None:
        self.do(POKE, addr, data=value)

    def buffer(self) -> bytes:
        """What is in the device's buffer."""
        self.do(WRITE, BASE, BUFFER)
        return bytes(self.memory[:BUFFER])

    def place(self, off: int, data: bytes) -> None:
        """Into the device's buffer."""
        now = bytearray(self.buffer())
        now[off : off + len(data)] = data
        self.memory[:BUFFER] = now
        self.do(READ, BASE, BUFFER)


class Nvme:
    """An SSD driven by hand: admin queues in the buffer's first two pages, a pair of I/O queues in the next two, data
    behind. All of the device's buffer is the SSD's."""

    def __init__(self, card: Card, port: int = 0, entries: int = 4) -> None:
        self.card, self.port, self.entries = card, port, entries
        self.bar, self.window = BARS[port], WINDOW + port * PART
        self.at = [0, 0]
        card.place(0, bytes(0x4000))
        card.poke(self.bar + AQA, entries - 1 | entries - 1 << 16)
        for reg, place in ((ASQ, 0), (ACQ, 0x1000)):
            card.poke(self.bar + reg, (self.window + place) & 0xFFFF_FFFF)
            card.poke(self.bar + reg + 4, (self.window + place) >> 32)
        card.poke(self.bar + CC, 6 << 16 | 4 << 20 | 1)
        self.until(lambda: card.peek(self.bar + CSTS)[0] & 1)

    def until(self, condition: Callable[[], object], cycles: int = 1_000_000) -> None:
        end = self.card.sim.cycle + cycles
        while not condition():
            assert self.card.sim.cycle < end, "not in time"
            self.card.sim.run(500)

    def start(self, entry: bytes, queue: int = 0) -> int:
        """An entry is placed and the doorbell rung; where its completion will be."""
        slot = self.at[queue] % self.entries
        base = queue * 0x2000
        self.card.place(base + slot * 64, entry)
        self.at[queue] += 1
        self.card.poke(self.bar + DOORBELLS + queue * 8, self.at[queue] % self.entries)
        return base + 0x1000 + slot * 16

    def command(self, opcode: int, queue: int = 0, cid: int = 1, prp: int = 0, prp2: int = 0, nsid: int = 0,
                **dw: int) -> int:  # fmt: skip
        """Done: its status."""
        entry = bytearray(64)
        struct.pack_into("<HHIQQQQ", entry, 0, opcode, cid, nsid, 0, 0, prp and self.window + prp,
                         prp2 and self.window + prp2)  # fmt: skip
        for name, value in dw.items():
            struct.pack_into("<I", entry, 4 * int(name[2:]), value)
        want = 1 - (self.at[queue] // self.entries) % 2
        place = self.start(bytes(entry), queue)
        self.until(lambda: self.card.buffer()[place + 14] & 1 == want)
        got = struct.unpack_from("<HHHH", self.card.buffer(), place + 8)
        assert got[2] == cid
        self.card.poke(self.bar + DOORBELLS + queue * 8 + 4, self.at[queue] % self.entries)
        return got[3] >> 1

    def io_queues(self) -> None:
        size = (self.entries - 1) << 16 | 1
        assert self.command(CREATE_CQ, prp=0x3000, dw10=size, dw11=1) == 0
        assert self.command(CREATE_SQ, prp=0x2000, dw10=size, dw11=1 << 16 | 1) == 0


Make = Callable[..., Card]


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[Card] = []

    def one(*ssds: PortOptions, data_w: int = 256, num_fn: int = 1, **options: Any) -> Card:
        drives = list(ssds) or [ModelDrive(size=MODEL_SIZE), ModelDrive(size=MODEL_SIZE)]
        options.setdefault("ssd_pages", MODEL_SIZE // 4096)
        card = Card(SwitchSim(library(data_w, num_fn=num_fn, num_ssd=len(drives)), drives, **options))
        made.append(card)
        return card

    yield one
    for card in made:
        if not card.sim.closed:
            broken = {k: v for k, v in card.sim.errors().items() if k not in getattr(card, "expected", ())}
            bad = card.sim.dead & 1
            card.sim.close()
            assert not broken
            assert not bad, "a packet on CQ was wrong"


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


def external(card: Card, mps: int = 256) -> None:
    """What the host has set in Device Control."""
    for port in range(2):
        card.sim.ssds.sizes(mps, 512, port=port)


def fetched(card: Card, handle: int, size: int, port: int) -> bytes:
    end = card.sim.cycle + 1_000_000
    while (data := card.sim.ssds.host_read_poll(handle, size, port)) is None:
        assert card.sim.cycle < end, "no answer"
        card.sim.run(100)
    return data


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
        assert struct.unpack("<I", card.peek(BARS[0] + VS)) == (0x20000,)
    assert card.status() == (0, 0, 0)


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


# ---------------------------------------------------------------------------------------------------------------- links


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
