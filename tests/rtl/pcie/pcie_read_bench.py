# SPDX-License-Identifier: Apache-2.0
"""Two clients and a root complex around the read side, and a model of the requests and rows that are to be."""

from __future__ import annotations

import os
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from pcie_rc_model import RcBeat, RcModel, Read, parse_rq_read, word
from pcie_stream import PcieStream
from structs import layout

SEGMENT = layout("db_mem_pkg", "segment_t")
INFO = layout("db_mem_pkg", "row_info_t")
CLIENTS = 2
USER_W = 16
TAG_BASE = (0, 32)
EPOCH_CYCLES_LOG2 = 8  # a tag rests for 512 to 768 cycles


@dataclass
class Request:
    fn: int
    addr: int
    length: int
    first: bool
    last: bool
    drop: bool
    user: int


@dataclass
class Chunk:
    read: Read | None  # None: dropped
    start: int  # dword in the packet
    failed: bool = False


@dataclass
class Packet:
    user: int
    words: list[int] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    complete: bool = False
    row: int = 0


@dataclass
class Client:
    requests: deque[Request] = field(default_factory=deque)
    presented: bool = False  # the first request stands on the port
    packets: deque[Packet] = field(default_factory=deque)
    to_send: deque[Chunk] = field(default_factory=deque)
    sent: dict[int, Chunk] = field(default_factory=dict)  # by tag
    rows: int = 0
    row_cycles: list[int] = field(default_factory=list)
    gap: float = 0.0
    stall: float = 0.0
    ready: bool = False


class ReadSide:
    def __init__(self, dut: Any, seed: int, mrrs: int = 2, **model: Any) -> None:
        self.dut = dut
        self.width = int(os.environ["WIDTH"])
        self.lanes = self.width // 32
        self.rq = PcieStream(dut, "m_rq", "RQ", self.width)
        self.rc = PcieStream(dut, "s_rc", "RC", self.width)
        self.num_tags = int(os.environ["NUM_TAGS"])
        self.chunk = min(128 << mrrs, int(os.environ["CHUNK_BYTES"]))
        self.mrrs = mrrs
        self.rng = random.Random(seed)
        self.model = RcModel(self.width, self.rng, self._fail, **model)
        self.clients = [Client() for _ in range(CLIENTS)]
        self.cycle = 0
        self.rq_stall = 0.0
        self.rq_ready = False
        self.rq_cycles: list[int] = []
        self.rc_cycles: list[int] = []
        self.held: dict[int, tuple[int, ...]] = {}
        self.stop = False
        self.late = 0  # completions that the RTL counted as late

    def _fail(self, read: Read) -> None:
        for c in self.clients:
            chunk = c.sent.get(read.tag)
            if chunk is not None and chunk.read == read:
                chunk.failed = True
                return
        raise AssertionError("failure of an unknown read")

    # ------------------------------------------------------------------ stimulus
    def add_packet(self, client: int, parts: list[tuple[int, int]], drops: tuple[int, ...] = ()) -> None:
        """parts: (address, bytes). drops: indices of parts that are given as dropped."""
        user, fn = self.rng.getrandbits(USER_W), self.rng.randrange(256)
        for i, (addr, length) in enumerate(parts):
            first, last = i == 0, i == len(parts) - 1
            given = user if first else self.rng.getrandbits(USER_W)  # counts with first only
            self.clients[client].requests.append(Request(fn, addr, length, first, last, i in drops, given))

    def random_packet(self, client: int, drop_rate: float) -> None:
        parts = []
        for _ in range(self.rng.choice([1, 1, 1, 2, 2, 5, 12])):
            n = self.rng.choice([4, 8, 64, 4096, 4 * self.rng.randint(1, 1024), 4 * self.rng.randint(1, 20)])
            parts.append((self.rng.getrandbits(52) << 12 | self.rng.randrange(0, 4096 - n + 1, 4), n))
        drops = tuple(i for i in range(len(parts)) if self.rng.random() < drop_rate)
        self.add_packet(client, parts, drops)

    def _accepted(self, c: Client, r: Request) -> None:
        """The model's side of a request: what must go out and come back."""
        if r.first:
            c.packets.append(Packet(r.user))
        p = c.packets[-1]
        addr, end = r.addr, r.addr + r.length
        while addr < end:
            cut = min(end, addr - addr % self.chunk + self.chunk)
            chunk = Chunk(None if r.drop else Read(r.fn, addr, (cut - addr) // 4, -1), len(p.words), r.drop)
            p.chunks.append(chunk)
            p.words += [word(r.fn, a) for a in range(addr, cut, 4)]
            if not r.drop:
                c.to_send.append(chunk)
            addr = cut
        p.complete = r.last

    # ------------------------------------------------------------------ one cycle
    async def start(self) -> None:
        d = self.dut
        d.rst.value = d.link_rst.value = 1
        d.cfg_mrrs.value = self.mrrs
        d.stop.value = 0
        for s in (d.s_read_valid, d.m_row_ready, d.m_rq_ready, d.s_rc_valid, d.s_read, d.s_read_user, d.s_rc):
            s.value = 0
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        for _ in range(4):
            await RisingEdge(d.clk)
        d.rst.value = d.link_rst.value = 0
        await RisingEdge(d.clk)

    def _drive(self) -> RcBeat | None:
        d, rng = self.dut, self.rng
        valid = reads = user = 0
        for i, c in enumerate(self.clients):
            if not c.presented and c.requests and rng.random() >= c.gap:
                c.presented = True
            if c.presented:
                r = c.requests[0]
                valid |= 1 << i
                read = SEGMENT.pack(
                    fn=r.fn, addr=r.addr, len=r.length, first=int(r.first), last=int(r.last), drop=int(r.drop)
                )
                reads |= read << SEGMENT.width * i
                user |= r.user << USER_W * i
            c.ready = rng.random() >= c.stall
        d.s_read_valid.value = valid
        if valid:
            d.s_read.value, d.s_read_user.value = reads, user
        d.m_row_ready.value = sum(int(c.ready) << i for i, c in enumerate(self.clients))
        self.rq_ready = rng.random() >= self.rq_stall
        self.rq.ready.value = int(self.rq_ready)
        d.stop.value = int(self.stop)
        d.time_us.value = self.cycle >> EPOCH_CYCLES_LOG2
        beat = self.model.next_beat(self.cycle)
        self.rc.valid.value = int(beat is not None)
        if beat is not None:
            self.rc_cycles.append(self.cycle)
            self.rc.put(beat.data, beat.keep, beat.last, beat.user)
        return beat

    async def step(self) -> None:
        """Drives the inputs of a cycle, passes the edge, looks at what the edge saw."""
        d = self.dut
        beat = self._drive()
        await RisingEdge(d.clk)
        if beat is not None and self.rc.ready.value == 0:
            self.model.refused(beat)
        self.late += int(d.late.value)
        req_ready = int(d.s_read_ready.value)
        for i, c in enumerate(self.clients):
            if c.presented and req_ready >> i & 1:
                c.presented = False
                self._accepted(c, c.requests.popleft())
        if self.rq.valid.value == 1:
            raw = self.rq.beat()
            assert self.held.get(-1, raw) == raw, "RQ changed while it waited"
            self.held.pop(-1, None)
            if self.rq_ready:
                self._request(parse_rq_read(self.width, *raw))
            else:
                self.held[-1] = raw
        else:
            assert -1 not in self.held, "RQ valid withdrawn"
        valid = int(d.m_row_valid.value)
        if valid or self.held:
            data, infos, user = int(d.m_row_data.value), int(d.m_row_info.value), int(d.m_row_user.value)
            for i, c in enumerate(self.clients):
                if not valid >> i & 1:
                    assert i not in self.held, "output valid withdrawn"
                    continue
                info = INFO.unpack(infos >> INFO.width * i)
                row = (
                    data >> (self.width * i) & ((1 << self.width) - 1),
                    info["last"],
                    info["dw"],
                    user >> (USER_W * i) & ((1 << USER_W) - 1),
                    info["err"],
                )
                assert self.held.get(i, row) == row, "output changed while it waited"
                self.held.pop(i, None)
                if c.ready:
                    self._row(i, c, *row)
                else:
                    self.held[i] = row
        self.cycle += 1

    def _request(self, read: Read) -> None:
        self.rq_cycles.append(self.cycle)
        i = int(read.tag >= TAG_BASE[1])
        c = self.clients[i]
        assert TAG_BASE[i] <= read.tag < TAG_BASE[i] + self.num_tags * (i + 1), f"tag {read.tag}"
        chunk = c.to_send.popleft()
        assert chunk.read is not None
        chunk.read.tag = read.tag
        assert read == chunk.read, f"request {read}, expected {chunk.read}"
        c.sent[read.tag] = chunk
        self.model.request(self.cycle, read)

    def _row(self, i: int, c: Client, data: int, last: int, tdw: int, user: int, err: int) -> None:
        assert c.packets, f"client {i}: a row without a packet"
        p = c.packets[0]
        start, end = p.row * self.lanes, min(len(p.words), (p.row + 1) * self.lanes)
        expect_last = p.complete and end == len(p.words)
        assert p.complete or end - start == self.lanes, "part of a row left early"
        failed = any(k.failed for k in p.chunks if k.start < end)
        assert (last, tdw, user, err) == (int(expect_last), end - start, p.user, int(failed)), (
            f"client {i} row {p.row}: last {last} dw {tdw} user {user:#x} err {err}, expected {expect_last} "
            f"{end - start} {p.user:#x} {failed}"
        )
        for k in range(end - start):
            good = not failed or not [x for x in p.chunks if x.start <= start + k][-1].failed
            assert not good or data >> 32 * k & 0xFFFFFFFF == p.words[start + k], f"client {i} row {p.row} dword {k}"
        p.row += 1
        c.rows += 1
        c.row_cycles.append(self.cycle)
        if expect_last:
            c.packets.popleft()

    def busy(self) -> bool:
        return any(c.requests or c.packets for c in self.clients) or bool(self.model.pending)

    async def drain(self, limit: int) -> None:
        end = self.cycle + limit
        while self.busy():
            assert self.cycle < end, f"hang: {[(len(c.requests), len(c.packets)) for c in self.clients]}"
            await self.step()
        for _ in range(20):
            await self.step()
        assert int(self.dut.idle.value) == 3, "idle when all is done"


async def random_run(dut: Any, seed: int, packets: int, error_rate: float, drop_rate: float, mrrs: int) -> None:
    rng = random.Random(seed)
    tb = ReadSide(
        dut,
        seed,
        mrrs,
        rcb=rng.choice([64, 128]),
        mps=rng.choice([128, 256, 512]),
        latency=(1, 80),
        error_rate=error_rate,
        stall=0.1,
    )
    await tb.start()
    for _ in range(packets):
        for i in range(CLIENTS):
            tb.random_packet(i, drop_rate)
    quiet = 0
    while tb.busy():  # stalls come and go
        rows = sum(c.rows for c in tb.clients)
        tb.rq_stall = rng.choice([0.0, 0.3, 0.8])
        tb.model.stall = rng.choice([0.0, 0.0, 0.5])
        for c in tb.clients:
            c.gap, c.stall = rng.choice([0.0, 0.5, 0.95]), rng.choice([0.0, 0.0, 0.3, 0.9])
        for _ in range(200):
            await tb.step()
        moved = sum(c.rows for c in tb.clients) != rows
        quiet = 0 if moved else quiet + 1
        assert quiet < 10, "hang"
    await tb.drain(100)
