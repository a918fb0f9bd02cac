# SPDX-License-Identifier: Apache-2.0
"""Models of the media for benches of one block: AXI4 as structs (rtl/axi/db_axi_types.svh) and the command port.

Every model has `step`, called once after each rising edge: it looks at what happened at that edge and drives the
cycle that follows. Order of the data is checked here only as far as AXI asks for it; what a burst should be is
the bench's to check, in `on_burst`.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from streams import Bus, Memory, Sink, Source, Word
from structs import Layout, enum, layout, macro

FLUSH, ZERO, UNCORRECTABLE = (
    enum("db_ssd_pkg", "media_op_e")[f"MEDIA_{name}"] for name in ("FLUSH", "ZERO", "UNCORRECTABLE")
)
MEDIA_CMD = layout("db_ssd_pkg", "media_cmd_t")


def axi_struct(name: str, *widths: int) -> Layout:
    """A struct of db_axi_types.svh."""
    arguments = f"({', '.join(map(str, widths))})" if widths else ""
    return macro("axi/db_axi_types.svh", f"`DB_AXI_{name}_T{arguments}")


class Media(Memory):
    """The media, by rows of `width` bits."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.holes: dict[int, int] = {}  # by row: bits that are zeros from the beginning

    def initial(self, addr: int) -> int:
        return super().initial(addr) & ~self.holes.get(addr, 0)


def stretches(addr: int, size: int, burst_bytes: int, row_bytes: int) -> list[tuple[int, int]]:
    """The bursts (address, rows) of size bytes at addr, each inside an aligned stretch of burst_bytes."""
    out = []
    while size:
        n = min(size, burst_bytes - addr % burst_bytes)
        out.append((addr, n // row_bytes))
        addr, size = addr + n, size - n
    return out


def check_burst(addr: int, rows: int, row_bytes: int) -> None:
    assert addr % row_bytes == 0, f"burst at {addr:#x} is not row aligned"
    assert addr >> 12 == (addr + rows * row_bytes - 1) >> 12, f"burst at {addr:#x} of {rows} rows crosses 4 KiB"


class AxiRead:
    """Answers reads in order. Its master must always be able to take the data that it asked for."""

    def __init__(
        self, dut: Any, rng: random.Random, media: Media, on_burst: Callable[[int, int], None], addr_w: int = 40
    ) -> None:
        self.rng, self.media, self.on_burst = rng, media, on_burst
        self.req = Bus(dut.m_axi_read_req, axi_struct("READ_REQ", addr_w))
        self.rsp = Bus(dut.m_axi_read_rsp, axi_struct("READ_RSP", media.row_bytes * 8))
        self.ar = Sink.channel(rng, self.req, self.rsp, "ar")
        self.r = axi_struct("R", media.row_bytes * 8)
        self.stall = 0.0
        self.latency = (1, 30)
        self.missing = 0  # rows asked for (address on offer or taken) that have not come
        self.todo: deque[list[int]] = deque()  # [cycle when it may start, address, rows left]
        self.log: list[tuple[int, int, bool]] = []  # rows that have come: address, data, error
        self.row: tuple[int, int, bool] | None = None
        self.rsp["r_valid"].set(0)

    def step(self, cycle: int) -> None:
        rng = self.rng
        taken = self.ar.step()
        if self.ar.new:
            addr, rows = self.ar.new.addr, self.ar.new.len + 1
            check_burst(addr, rows, self.media.row_bytes)
            self.missing += rows
            self.on_burst(addr, rows)
        if taken:
            self.todo.append([cycle + rng.randint(*self.latency), taken.addr, taken.len + 1])
        if self.row is not None:
            assert self.req["r_ready"].get(), "no room for data that was asked for"
            self.log.append(self.row)
            self.missing -= 1
            self.row = None
        if self.todo and self.todo[0][0] <= cycle and rng.random() >= self.stall:
            head = self.todo[0]
            addr, left = head[1], head[2]
            self.row = (addr, self.media.read(addr), addr in self.media.bad)
            resp = rng.choice((2, 3) if self.row[2] else (0, 1))
            self.rsp["r"].set(self.r.pack(data=self.row[1], resp=resp, last=int(left == 1)))
            head[1], head[2] = addr + self.media.row_bytes, left - 1
            if left == 1:
                self.todo.popleft()
        self.rsp["r_valid"].set(int(self.row is not None))


@dataclass
class Burst:
    addr: int
    rows: int
    data: list[int] = field(default_factory=list)
    strobed: list[bool] = field(default_factory=list)
    bad: bool = False  # gets an error response, and nothing of it is written
    taken: bool = False  # its address
    applied: bool = False
    answered: int = 0  # cycle of its response
    owner: Any = None  # the bench's


class AxiWrite:
    """Takes writes. Data may come before its address is taken, not before it is on offer; responses in order."""

    def __init__(
        self,
        dut: Any,
        rng: random.Random,
        media: Media,
        on_burst: Callable[[Burst], None],
        on_row: Callable[[Burst, int, int], None],
        addr_w: int = 40,
    ) -> None:
        """on_row(burst, data, strobed): a row of data that was taken."""
        self.rng, self.media, self.on_burst, self.on_row = rng, media, on_burst, on_row
        self.req = Bus(dut.m_axi_write_req, axi_struct("WRITE_REQ", addr_w, media.row_bytes * 8))
        self.rsp = Bus(dut.m_axi_write_rsp, axi_struct("WRITE_RSP"))
        self.aw = Sink.channel(rng, self.req, self.rsp, "aw")
        self.w = Sink.channel(rng, self.req, self.rsp, "w")
        self.b = Source.channel(rng, self.req, self.rsp, "b")
        self.latency = (1, 40)
        self.bad = 0.0  # part of the bursts that gets an error response
        self.open: deque[Burst] = deque()  # on offer or taken, not all data here
        self.accepted = 0  # how many addresses of `open` have been taken
        self.whole: deque[tuple[int, Burst]] = deque()  # (cycle when it may be answered, burst)
        self.outstanding = 0  # bursts on offer or taken, without response
        self.rows_first = False  # an address is taken when a row of its burst has come, as a slave may do it

    def apply(self, burst: Burst) -> None:
        if not burst.bad and not burst.applied:
            for i, (data, strobed) in enumerate(zip(burst.data, burst.strobed, strict=True)):
                if strobed:
                    self.media.rows[burst.addr + i * self.media.row_bytes] = data
        burst.applied = True

    def step(self, cycle: int) -> None:
        rng, row_bytes = self.rng, self.media.row_bytes
        on_offer = self.open[self.accepted] if len(self.open) > self.accepted else None
        taken = self.aw.step(not self.rows_first or (on_offer is not None and bool(on_offer.data))) is not None
        if self.aw.new:
            burst = Burst(self.aw.new.addr, self.aw.new.len + 1, bad=rng.random() < self.bad)
            check_burst(burst.addr, burst.rows, row_bytes)
            self.open.append(burst)
            self.outstanding += 1
            self.on_burst(burst)
        if taken:
            self.open[self.accepted].taken = True
            self.accepted += 1
        row = self.w.step()
        if self.w.new:
            assert self.open and len(self.open[0].data) < self.open[0].rows, "data without an address"
        if row:
            burst = self.open[0]
            assert row.strb in (0, (1 << row_bytes) - 1)
            burst.data.append(row.data)
            burst.strobed.append(row.strb != 0)
            self.on_row(burst, row.data, row.strb != 0)
            assert row.last == (len(burst.data) == burst.rows), "wlast"
        if self.open and self.accepted and len(self.open[0].data) == self.open[0].rows:
            self.whole.append((cycle + rng.randint(*self.latency), self.open.popleft()))
            self.accepted -= 1
            if rng.random() < 0.5:  # a slave may write at any time before its response, in order
                for _, b in self.whole:
                    self.apply(b)
        if self.b.word is None and self.whole and self.whole[0][0] <= cycle:
            self.apply(self.whole[0][1])
            self.b.queue.append((rng.choice((2, 3) if self.whole[0][1].bad else (0, 1)),))
            self.whole[0] = (1 << 60, self.whole[0][1])
        if self.b.step():
            self.whole.popleft()[1].answered = cycle
            self.outstanding -= 1


class MediaPort:
    """Commands to the media, one at a time."""

    def __init__(
        self,
        dut: Any,
        rng: random.Random,
        media: Media | None,
        on_command: Callable[[int, int, int], None],
        on_done: Callable[[int], None],
    ) -> None:
        """on_command(op, address, bytes) when one is on offer; on_done(error) when it is over."""
        self.dut, self.rng, self.media, self.on_command, self.on_done = dut, rng, media, on_command, on_done
        self.cmd = Sink(dut, rng, "m_media", MEDIA_CMD)
        self.latency = (1, 40)
        self.bad = 0.0
        self.at = 0  # cycle when the one under way ends
        self.word: Word | None = None  # the one under way
        self.answer: int | None = None  # on s_media_done: error or not
        self.open = False  # one is on offer or under way
        dut.s_media_done.value = 0

    def step(self, cycle: int) -> None:
        d, rng = self.dut, self.rng
        if self.answer is not None:
            self.open = False
            self.on_done(self.answer)
            self.answer = None
        taken = self.cmd.step()
        if self.cmd.new:
            assert not self.open, "two media commands at a time"
            self.open = True
            self.on_command(*self.cmd.new)
        if taken:
            self.word, self.at = taken, cycle + rng.randint(*self.latency)
        elif self.word and cycle >= self.at:
            self.answer = int(rng.random() < self.bad)
            op, addr, size = self.word
            if op == ZERO and self.media and not self.answer:
                self.media.zero(addr, size)
            self.word = None
            d.s_media_err.value = self.answer
        d.s_media_done.value = int(self.answer is not None)
