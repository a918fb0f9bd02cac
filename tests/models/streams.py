# SPDX-License-Identifier: Apache-2.0
"""What every bench of a block needs: sources and sinks of valid/ready streams, with stalls, and a memory.

A stream is `PREFIX_valid`, `PREFIX_ready` and what it carries: a struct of the RTL's packages on the port PREFIX, rows
(`PREFIX_data` with a row_info_t on `PREFIX_info`), plain ports, or a channel inside the request and response structs of
AXI. Its words are named tuples of the fields, in the order of the struct, so they compare with plain tuples too:

    SEGMENT = layout("db_mem_pkg", "segment_t")
    self.seg = Sink(dut, rng, "m_seg", SEGMENT)                      # word.addr, word.len, ...
    self.done = Source(dut, rng, "s_done", (("", SEGMENT), "user"))  # the same, and a port s_done_user beside it
    self.rows = Source(dut, rng, "s_row", ROW)                       # word.data, .last, .dw, .err
    self.out = Sink(dut, rng, "m_axis_t", ("data", "last"))          # ports m_axis_tvalid, m_axis_tdata, ...
    self.rows.queue.append((data, 1, 8, 0))
    self.cmd.queue.append({"desc": {"to_host": 1}, "bytes": 4096})  # what is not named is 0

Each has `step`, called once after each rising edge: it looks at what happened at that edge and drives the cycle that
follows. A field that is a struct itself comes as a number.
"""

from __future__ import annotations

import random
from collections import deque, namedtuple
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from structs import Layout, layout

Word = tuple[Any, ...]
Given = Word | Mapping[str, Any] | int
Part = str | tuple[str, Layout]

ROW: tuple[Part, ...] = ("data", ("info", layout("db_mem_pkg", "row_info_t")))
"""A row stream of the RTL."""


class Wire:
    """A port of the DUT that carries one number."""

    def __init__(self, port: Any) -> None:
        self.port = port

    def get(self) -> int:
        return int(self.port.value)

    def set(self, number: int) -> None:
        self.port.value = number


class Bus:
    """A port that is a struct whose fields are driven by different parts of the bench."""

    def __init__(self, port: Any, struct: Layout) -> None:
        self.port, self.struct, self.driven = port, struct, 0

    def __getitem__(self, field: str) -> BusField:
        return BusField(self, field)

    def get(self) -> int:
        return int(self.port.value)


class BusField(Wire):
    """A field of a Bus."""

    def __init__(self, bus: Bus, field: str) -> None:
        super().__init__(bus.port)
        self.bus, self.field = bus, bus.struct[field]
        self.mask = (1 << self.field.width) - 1

    def get(self) -> int:
        return self.bus.get() >> self.field.offset & self.mask

    def set(self, number: int) -> None:
        cleared = self.bus.driven & ~(self.mask << self.field.offset)
        new = cleared | number << self.field.offset
        if new != self.bus.driven or not self.bus.driven:
            self.bus.driven = new
            self.port.value = new


class Payload:
    """What a stream carries: wires, each with a number or a struct on it, and the words made of them."""

    def __init__(self, name: str, wires: Sequence[tuple[Wire, str, Layout | None]]) -> None:
        self.wires = [(wire, struct) for wire, _, struct in wires]
        self.names = [n for _, field, struct in wires for n in (struct or (field,))]
        self.type = namedtuple(name.strip("_") or "word", self.names)  # type: ignore[misc]

    def word(self, given: Given) -> Word:
        """A word from what a test gives: a tuple, fields by name, or the struct as a number."""
        if isinstance(given, tuple):
            return self.type(*given)
        numbers = []
        for _, struct in self.wires:
            if isinstance(given, Mapping):
                names = struct or (self.names[len(numbers)],)
                fields = {n: given[n] for n in names if n in given}
                number = struct.pack(fields) if struct else fields.get(self.names[len(numbers)], 0)
            else:
                assert len(self.wires) == 1
                number = given
            numbers += split(number, struct)
        if isinstance(given, Mapping) and (wrong := set(given) - set(self.names)):
            raise KeyError(f"there is no {', '.join(sorted(wrong))} in {', '.join(self.names)}")
        return self.type(*numbers)

    def get(self) -> Word:
        return self.type(*(n for wire, struct in self.wires for n in split(wire.get(), struct)))

    def set(self, word: Word) -> None:
        at = 0
        for wire, struct in self.wires:
            if struct is None:
                wire.set(int(word[at]))
                at += 1
            else:
                wire.set(struct.pack(dict(zip(struct, word[at:], strict=False))))
                at += len(struct.fields)


def split(number: int, struct: Layout | None) -> list[int]:
    """The fields of a struct, or the number itself."""
    if struct is None:
        return [number]
    return [number >> f.offset & (1 << f.width) - 1 for f in struct.fields.values()]


class _Stream:
    def __init__(self, dut: Any, rng: random.Random, prefix: str, carries: Layout | Sequence[Part]) -> None:
        """carries: a struct on the port `prefix`, or the names of ports behind `prefix`, with the struct on them; the
        name "" is the port `prefix` itself."""
        joint = "_" if hasattr(dut, f"{prefix}_valid") else ""

        def port(name: str) -> Wire:
            return Wire(getattr(dut, prefix + joint + name if name else prefix))

        parts = [("", carries)] if isinstance(carries, Layout) else carries
        named = [(p, None) if isinstance(p, str) else p for p in parts]
        wires: list[tuple[Wire, str, Layout | None]] = [(port(name), name or prefix, struct) for name, struct in named]
        self._connect(rng, prefix, port("valid"), port("ready"), Payload(prefix, wires))

    def _connect(self, rng: random.Random, name: str, valid: Wire, ready: Wire, payload: Payload) -> None:
        self.rng, self.name, self.valid, self.ready, self.payload = rng, name, valid, ready, payload
        self.stall = 0.0
        """Part of the cycles in which nothing is offered, or taken."""

    @classmethod
    def channel(cls, rng: random.Random, master: Bus, slave: Bus, name: str) -> Any:
        """The channel `name` of AXI structs: fields NAME_valid and NAME on one side, NAME_ready on the other."""
        sender, taker = (master, slave) if f"{name}_valid" in master.struct.fields else (slave, master)
        stream = cls.__new__(cls)
        wires = [(sender[name], name, sender.struct[name].members)]
        stream._connect(rng, name, sender[f"{name}_valid"], taker[f"{name}_ready"], Payload(name, wires))
        return stream


class Sink(_Stream):
    """Takes words from the DUT; a word on offer must stay as it is until it is taken."""

    def _connect(self, *wires: Any) -> None:
        super()._connect(*wires)
        self.held: Word | None = None
        self.new: Word | None = None
        """The word that is on offer for the first time."""
        self.on = False
        self.ready.set(0)

    def step(self, ready: bool = True) -> Word | None:
        """The word that was taken."""
        taken = self.new = None
        if self.valid.get():
            word = self.payload.get()
            if self.held is None:
                self.new = word
            assert self.held in (None, word), f"{self.name} changed while it waited"
            taken, self.held = (word, None) if self.on else (None, word)
        else:
            assert self.held is None, f"{self.name} was taken back"
        self.on = ready and self.rng.random() >= self.stall
        self.ready.set(int(self.on))
        return taken


class Source(_Stream):
    """Offers the words of `queue` to the DUT."""

    def _connect(self, *wires: Any) -> None:
        super()._connect(*wires)
        self.queue: deque[Given] = deque()
        self.word: Word | None = None
        """The word on offer."""
        self.valid.set(0)

    def step(self, allow: bool = True) -> Word | None:
        """The word that was taken. allow: a new one may be offered."""
        taken = None
        if self.word is not None and self.ready.get():
            taken, self.word = self.word, None
        if self.word is None:
            if self.queue and allow and self.rng.random() >= self.stall:
                self.word = self.payload.word(self.queue.popleft())
                self.payload.set(self.word)
            self.valid.set(int(self.word is not None))
        return taken


class Memory:
    """Words of `width` bits by their address in bytes; one that nobody wrote holds what its address says."""

    def __init__(self, width: int) -> None:
        self.row_bytes = width // 8
        self.rows: dict[int, int] = {}
        self.bad: set[int] = set()
        """Addresses of words that cannot be read."""

    def initial(self, addr: int) -> int:
        return int.from_bytes(blake2b(addr.to_bytes(8, "big"), digest_size=self.row_bytes).digest(), "big")

    def read(self, addr: int) -> int:
        assert addr % self.row_bytes == 0
        row = self.rows.get(addr)
        return self.initial(addr) if row is None else row

    def zero(self, addr: int, size: int) -> None:
        for a in range(addr, addr + size, self.row_bytes):
            self.rows[a] = 0


def packet_rows(data: bytes, width: int, rng: random.Random, err_row: int = 1 << 30) -> list[Word]:
    """A packet as rows (data, last, dwords, error); from `err_row` on they are in error, what lies behind its end is
    noise."""
    step = width // 8
    rows = []
    for at in range(0, len(data), step):
        piece = data[at : at + step]
        value = int.from_bytes(piece + rng.randbytes(step - len(piece)), "little")
        rows.append((value, int(at + step >= len(data)), len(piece) // 4, int(at // step >= err_row)))
    return rows


async def reset(dut: Any) -> None:
    """Three cycles of rst."""
    dut.rst.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


async def start(dut: Any, **inputs: int) -> None:
    """Give the DUT a clock and a reset; inputs: ports that have a value from the beginning."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    for name, value in inputs.items():
        getattr(dut, name).value = value
    await reset(dut)
