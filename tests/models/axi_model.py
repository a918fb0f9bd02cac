# SPDX-License-Identifier: Apache-2.0
"""Models of the media for benches of one block: AXI4 with flat ports (`m_aw_*`, `s_r_*`, ...) and the command port.

Every model has `step`, called once after each rising edge: it looks at what happened at that edge and drives the
cycle that follows. Order of the data is checked here only as far as AXI asks for it; what a burst should be is
the bench's to check, in `on_burst`.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from cocotb.triggers import RisingEdge

Word = tuple[int, ...]
FLUSH, ZERO = 0, 1  # media_op_e


class Sink:
    """Takes words from a valid/ready output; a word on offer must stay as it is until it is taken."""

    def __init__(self, dut: Any, rng: random.Random, prefix: str, fields: tuple[str, ...], flat: str = "") -> None:
        """flat: the port of a payload without a name of its own (`m_cpl`)."""
        self.name, self.rng, self.stall = prefix, rng, 0.0
        self.valid, self.ready = getattr(dut, f"{prefix}valid"), getattr(dut, f"{prefix}ready")
        self.fields = [getattr(dut, flat)] if flat else [getattr(dut, prefix + f) for f in fields]
        self.held: Word | None = None
        self.new: Word | None = None  # on offer for the first time
        self.on = False
        self.ready.value = 0

    def step(self, ready: bool = True) -> Word | None:
        """The word that was taken."""
        taken = self.new = None
        if int(self.valid.value):
            word = tuple(int(f.value) for f in self.fields)
            if self.held is None:
                self.new = word
            assert self.held in (None, word), f"{self.name} changed while it waited"
            taken, self.held = (word, None) if self.on else (None, word)
        else:
            assert self.held is None, f"{self.name} was taken back"
        self.on = ready and self.rng.random() >= self.stall
        self.ready.value = int(self.on)
        return taken


class Source:
    """Offers the words of `queue` to a valid/ready input."""

    def __init__(self, dut: Any, rng: random.Random, prefix: str, fields: tuple[str, ...], flat: str = "") -> None:
        self.rng, self.stall = rng, 0.0
        self.valid, self.ready = getattr(dut, f"{prefix}valid"), getattr(dut, f"{prefix}ready")
        self.fields = [getattr(dut, flat)] if flat else [getattr(dut, prefix + f) for f in fields]
        self.queue: deque[Word] = deque()
        self.word: Word | None = None  # on offer
        self.valid.value = 0

    def step(self, allow: bool = True) -> Word | None:
        """The word that was taken. allow: a new one may be offered."""
        taken = None
        if self.word is not None and int(self.ready.value):
            taken, self.word = self.word, None
        if self.word is None:
            if self.queue and allow and self.rng.random() >= self.stall:
                self.word = self.queue.popleft()
                for port, value in zip(self.fields, self.word, strict=True):
                    port.value = value
            self.valid.value = int(self.word is not None)
        return taken


class Media:
    """Rows by address; a row that nobody wrote holds what its address says."""

    def __init__(self, width: int) -> None:
        self.row_bytes = width // 8
        self.rows: dict[int, int] = {}
        self.bad: set[int] = set()  # rows that cannot be read
        self.holes: dict[int, int] = {}  # by row: bits that are zeros from the beginning

    def initial(self, addr: int) -> int:
        row = int.from_bytes(blake2b(addr.to_bytes(8, "big"), digest_size=self.row_bytes).digest(), "big")
        return row & ~self.holes.get(addr, 0)

    def read(self, addr: int) -> int:
        assert addr % self.row_bytes == 0
        row = self.rows.get(addr)
        return self.initial(addr) if row is None else row

    def zero(self, addr: int, size: int) -> None:
        for a in range(addr, addr + size, self.row_bytes):
            self.rows[a] = 0


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

    def __init__(self, dut: Any, rng: random.Random, media: Media, on_burst: Callable[[int, int], None]) -> None:
        self.dut, self.rng, self.media, self.on_burst = dut, rng, media, on_burst
        self.ar = Sink(dut, rng, "m_ar_", ("addr", "len"))
        self.stall = 0.0
        self.latency = (1, 30)
        self.missing = 0                            # rows asked for (address on offer or taken) that have not come
        self.todo: deque[list[int]] = deque()       # [cycle when it may start, address, rows left]
        self.log: list[tuple[int, int, bool]] = []  # rows that have come: address, data, error
        self.row: tuple[int, int, bool] | None = None
        dut.s_r_valid.value = 0

    def step(self, cycle: int) -> None:
        d, rng = self.dut, self.rng
        taken = self.ar.step()
        if self.ar.new:
            addr, rows = self.ar.new[0], self.ar.new[1] + 1
            check_burst(addr, rows, self.media.row_bytes)
            self.missing += rows
            self.on_burst(addr, rows)
        if taken:
            self.todo.append([cycle + rng.randint(*self.latency), taken[0], taken[1] + 1])
        if self.row is not None:
            assert int(d.s_r_ready.value), "no room for data that was asked for"
            self.log.append(self.row)
            self.missing -= 1
            self.row = None
        if self.todo and self.todo[0][0] <= cycle and rng.random() >= self.stall:
            head = self.todo[0]
            addr, left = head[1], head[2]
            self.row = (addr, self.media.read(addr), addr in self.media.bad)
            d.s_r_data.value = self.row[1]
            d.s_r_resp.value = rng.choice((2, 3) if self.row[2] else (0, 1))
            d.s_r_last.value = int(left == 1)
            head[1], head[2] = addr + self.media.row_bytes, left - 1
            if left == 1:
                self.todo.popleft()
        d.s_r_valid.value = int(self.row is not None)


@dataclass
class Burst:
    addr: int
    rows: int
    data: list[int] = field(default_factory=list)
    strobed: list[bool] = field(default_factory=list)
    bad: bool = False      # gets an error response, and nothing of it is written
    applied: bool = False
    answered: int = 0      # cycle of its response
    owner: Any = None      # the bench's


class AxiWrite:
    """Takes writes. Data may come before its address is taken, not before it is on offer; responses in order."""

    def __init__(self, dut: Any, rng: random.Random, media: Media, on_burst: Callable[[Burst], None],
                 on_row: Callable[[Burst, int, int], None]) -> None:
        """on_row(burst, data, strobed): a row of data that was taken."""
        self.dut, self.rng, self.media, self.on_burst, self.on_row = dut, rng, media, on_burst, on_row
        self.aw = Sink(dut, rng, "m_aw_", ("addr", "len"))
        self.w = Sink(dut, rng, "m_w_", ("data", "strb", "last"))
        self.b = Source(dut, rng, "s_b_", ("resp",))
        self.latency = (1, 40)
        self.bad = 0.0                          # part of the bursts that gets an error response
        self.open: deque[Burst] = deque()       # on offer or taken, not all data here
        self.accepted = 0                       # how many addresses of `open` have been taken
        self.whole: deque[tuple[int, Burst]] = deque()  # (cycle when it may be answered, burst)
        self.outstanding = 0                    # bursts on offer or taken, without response

    def apply(self, burst: Burst) -> None:
        if not burst.bad and not burst.applied:
            for i, (data, strobed) in enumerate(zip(burst.data, burst.strobed, strict=True)):
                if strobed:
                    self.media.rows[burst.addr + i * self.media.row_bytes] = data
        burst.applied = True

    def step(self, cycle: int) -> None:
        rng, row_bytes = self.rng, self.media.row_bytes
        self.accepted += self.aw.step() is not None
        if self.aw.new:
            burst = Burst(self.aw.new[0], self.aw.new[1] + 1, bad=rng.random() < self.bad)
            check_burst(burst.addr, burst.rows, row_bytes)
            self.open.append(burst)
            self.outstanding += 1
            self.on_burst(burst)
        row = self.w.step()
        if self.w.new:
            assert self.open and len(self.open[0].data) < self.open[0].rows, "data without an address"
        if row:
            burst = self.open[0]
            data, strobe, last = row
            assert strobe in (0, (1 << row_bytes) - 1)
            burst.data.append(data)
            burst.strobed.append(strobe != 0)
            self.on_row(burst, data, strobe != 0)
            assert last == (len(burst.data) == burst.rows), "wlast"
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
    """Flush and zero, one at a time."""

    def __init__(self, dut: Any, rng: random.Random, media: Media | None,
                 on_command: Callable[[int, int, int], None], on_done: Callable[[int], None]) -> None:
        """on_command(op, address, bytes) when one is on offer; on_done(error) when it is over."""
        self.dut, self.rng, self.media, self.on_command, self.on_done = dut, rng, media, on_command, on_done
        self.cmd = Sink(dut, rng, "m_media_", ("op", "addr", "bytes"))
        self.latency = (1, 40)
        self.bad = 0.0
        self.at = 0                              # cycle when the one under way ends
        self.word: Word | None = None            # the one under way
        self.answer: int | None = None           # on s_media_done: error or not
        self.open = False                        # one is on offer or under way
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


async def reset(dut: Any) -> None:
    dut.rst.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
