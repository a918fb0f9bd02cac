# SPDX-License-Identifier: Apache-2.0
"""The small device of tests/rtl/tb/sim_card.sv beside SSDs on a switch, and an SSD that it drives by hand."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

from doorbell.device.drives import ModelDrive, PortOptions
from doorbell.device.switch_sim import SwitchSim
from endpoint_device import BASE, READ, WRITE, Device, library

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


def cards_made() -> Iterator[Make]:
    """What makes cards, of which each is closed behind the test and has had no errors but those that it expects."""
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
