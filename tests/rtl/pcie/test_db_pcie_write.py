# SPDX-License-Identifier: Apache-2.0
"""db_pcie_write: every byte lands at its host address once, in TLPs of legal size, one beat a cycle."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from pcie_stream import PcieStream
from structs import layout

MEM_WRITE = 1
SEGMENT = layout("db_mem_pkg", "segment_t")
INFO = layout("db_mem_pkg", "row_info_t")


@dataclass
class Beat:
    cycle: int
    data: int
    keep: int
    last: bool
    user: int


@dataclass
class Tlp:
    fn: int
    addr: int
    payload: list[int]
    beats: int
    first_cycle: int
    last_cycle: int


def parse_rq(beats: list[Beat], width: int) -> Tlp:
    """Checks the framing of one memory write packet as db_pcie_rq_mux gets it and takes it apart.

    128 and 256 bits: as on RQ (PG213, dword aligned). 512 bits: payload from lane 0, the descriptor in tuser of the
    first beat, as db_pcie_rq_straddle wants it.
    """
    lanes = width // 32
    dwords: list[int] = []
    if width == 512:
        dwords = [beats[0].user >> 32 * k & 0xFFFFFFFF for k in range(4)]
    for i, b in enumerate(beats):
        last = i == len(beats) - 1
        n = b.keep.bit_length()
        assert b.keep == (1 << n) - 1 and n > 0, f"tkeep {b.keep:#x} has holes"
        assert last or n == lanes, "tkeep not full before the last beat"
        dwords += [(b.data >> (32 * k)) & 0xFFFFFFFF for k in range(n)]
        if width == 512:
            assert b.user >> 128 == n | int(i == 0) << 5, "dwords in the beat, start"
        else:
            assert (b.user >> 8) & 0xFFFF == 0 and b.user >> 28 == 0, "address offset, discontinue, TPH, parity"
            assert b.user >> 24 == 1, "the sequence number of writes"
    if width != 512:
        length = dwords[2] & 0x7FF
        assert (beats[0].user & 15, beats[0].user >> 4 & 15) == (15, 15 if length > 1 else 0), "byte enables"
    return write_of(dwords, len(beats), beats[0].cycle, beats[-1].cycle)


def write_of(dwords: list[int], beats: int, first_cycle: int, last_cycle: int) -> Tlp:
    """The memory write of descriptor and payload."""
    d0, d1, d2, d3 = dwords[:4]
    length = d2 & 0x7FF
    payload = dwords[4:]
    assert length == len(payload) > 0, f"dword count {length}, payload {len(payload)}"
    assert (d2 >> 11) & 15 == MEM_WRITE and (d2 >> 15) & 1 == 0, "request type or poison"
    assert d0 & 3 == 0, "address type"
    assert d3 >> 8 == 0, "completer id, TC, attributes"
    return Tlp((d2 >> 16) & 0xFF, (d1 << 32) | d0, payload, beats, first_cycle, last_cycle)


@dataclass
class RqMonitor:
    """Takes RQ with random pauses, checks that a stalled beat does not change; call once a cycle."""

    rq: PcieStream
    stall: float = 0.0
    hold: int = 0  # cycles before RQ is ready
    cycle: int = 0
    beats: list[Beat] = field(default_factory=list)
    tlps: list[Tlp] = field(default_factory=list)
    held: Beat | None = None

    def tick(self, rng: random.Random) -> None:
        rq = self.rq
        self.cycle += 1
        if int(rq.valid.value):
            data, keep, last, user = rq.beat()
            b = Beat(self.cycle, data, keep, bool(last), user)
            if self.held is not None:
                h = self.held
                assert (h.data, h.keep, h.last, h.user) == (b.data, b.keep, b.last, b.user), "beat changed in a stall"
            self.held = None
            if int(rq.ready.value):
                self.beats.append(b)
                if b.last:
                    self.tlps.append(parse_rq(self.beats, rq.width))
                    self.beats = []
            else:
                self.held = b
        else:
            assert self.held is None, "tvalid fell without tready"
        rq.ready.value = int(rng.random() >= self.stall and self.cycle >= self.hold)


@dataclass
class Segment:
    fn: int
    addr: int
    size: int
    first: bool
    last: bool
    drop: bool
    user: int


class Bench:
    def __init__(self, dut: Any, seed: int, mps: int, stall: float) -> None:
        self.dut = dut
        self.width = int(dut.DATA_W.value)
        self.lanes = self.width // 32
        self.rng = random.Random(seed)
        self.mps = mps
        self.stall = stall
        self.done_stall = stall
        self.segs: list[Segment] = []
        self.rows: list[tuple[int, bool, bool]] = []
        self.want_tlps: list[tuple[int, int, tuple[int, ...]]] = []
        self.want_done: list[tuple[int, int]] = []
        self.done: list[tuple[int, int]] = []
        self.monitor = RqMonitor(PcieStream(dut, "m_rq", "RQ", self.width), stall)
        self.page = 1
        self.user = 0

    def command(
        self, size: int, offset: int, drop: float = 0.0, err: float = 0.0, drop_from: int | None = None
    ) -> None:
        """One command's data of `size` bytes, its first page entered at `offset`, as pages anywhere in host memory."""
        rng = self.rng
        data = [rng.getrandbits(32) for _ in range(size // 4)]
        self.user = (self.user + 1) & 0xFF
        fn = rng.randrange(256)
        where = 0
        segs: list[Segment] = []
        while where < size:
            self.page += rng.randrange(1, 3)
            page = (self.page << 12) | (rng.choice([0, 0, 1, 0xABC, 0x80000]) << 44)
            off = offset if where == 0 else 0
            n = min(4096 - off, size - where)
            if rng.random() < 0.1 and n > 4:  # a segment may end anywhere
                n = rng.randrange(1, n // 4 + 1) * 4
            dropped = rng.random() < drop or (drop_from is not None and where >= drop_from)
            user = self.user if where + n == size else rng.randrange(256)
            segs.append(Segment(fn, page + off, n, where == 0, where + n == size, dropped, user))
            if not dropped:
                a, k, left = page + off, where // 4, n
                while left:
                    m = min(left, self.mps - a % self.mps)
                    self.want_tlps.append((fn, a, tuple(data[k : k + m // 4])))
                    a, k, left = a + m, k + m // 4, left - m
            where += n
        self.segs += segs
        failed = False
        for i in range(0, len(data), self.lanes):
            row = data[i : i + self.lanes]
            row += [rng.getrandbits(32)] * (self.lanes - len(row))
            bad = rng.random() < err
            failed |= bad
            word = sum(v << (32 * k) for k, v in enumerate(row))
            self.rows.append((word, i + self.lanes >= len(data), bad))
        self.want_done.append((self.user, int(failed)))

    async def run(self, idle_cycles: int = 60, hold_rows: int = 0, hold_segs: int = 0) -> None:
        """hold_rows, hold_segs: cycles before the first row, the first segment is offered."""
        d, rng = self.dut, self.rng
        d.cfg_mps.value = {128: 0, 256: 1, 512: 2, 1024: 3}[self.mps]
        d.rst.value = 1
        for s in (d.s_seg_valid, d.s_row_valid, d.m_done_ready, d.m_rq_ready):
            s.value = 0
        for _ in range(3):
            await RisingEdge(d.clk)
        d.rst.value = 0
        await RisingEdge(d.clk)
        segs, rows = iter(self.segs), iter(self.rows)
        seg: Segment | None = next(segs)
        row: tuple[int, bool, bool] | None = next(rows)
        quiet = 0
        while quiet < idle_cycles:
            await RisingEdge(d.clk)
            quiet += 1
            if int(d.s_seg_valid.value) and int(d.s_seg_ready.value):
                seg, quiet = next(segs, None), 0
            if int(d.s_row_valid.value) and int(d.s_row_ready.value):
                row, quiet = next(rows, None), 0
            if int(d.m_done_valid.value) and int(d.m_done_ready.value):
                self.done.append((int(d.m_done_user.value), int(d.m_done_err.value)))
                # all TLPs of the command have left, nothing of the next one is needed
                quiet = 0
            if int(d.m_rq_valid.value):
                quiet = 0
            self.monitor.tick(rng)
            if not (int(d.s_seg_valid.value) and not int(d.s_seg_ready.value)):
                go = seg is not None and rng.random() >= self.stall and self.monitor.cycle > hold_segs
                d.s_seg_valid.value = int(go)
                if go and seg is not None:
                    d.s_seg.value = SEGMENT.pack(
                        fn=seg.fn,
                        addr=seg.addr,
                        len=seg.size,
                        first=int(seg.first),
                        last=int(seg.last),
                        drop=int(seg.drop),
                    )
                    d.s_seg_user.value = seg.user
            if not (int(d.s_row_valid.value) and not int(d.s_row_ready.value)):
                go = row is not None and rng.random() >= self.stall and self.monitor.cycle > hold_rows
                d.s_row_valid.value = int(go)
                if go and row is not None:
                    d.s_row_data.value = row[0]
                    d.s_row_info.value = INFO.pack(last=int(row[1]), err=int(row[2]), dw=rng.randrange(32))
            d.m_done_ready.value = int(rng.random() >= self.done_stall)
        assert seg is None and row is None, "input not taken"
        assert not self.monitor.beats, "RQ packet without end"

    def check(self) -> None:
        got = [(t.fn, t.addr, tuple(t.payload)) for t in self.monitor.tlps]
        for i, (g, w) in enumerate(zip(got, self.want_tlps)):
            assert g == w, f"TLP {i}: got {g[0]} {g[1]:#x} {len(g[2])} dwords, want {w[0]} {w[1]:#x} {len(w[2])}"
        assert len(got) == len(self.want_tlps)
        written: set[int] = set()
        for t in self.monitor.tlps:
            size = 4 * len(t.payload)
            assert size <= self.mps and t.addr // 4096 == (t.addr + size - 1) // 4096
            cells = range(t.addr, t.addr + size, 4)
            assert written.isdisjoint(cells), "written twice"
            written.update(cells)
        assert self.done == self.want_done


def start(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    start(dut)
    for seed, (mps, stall) in enumerate([(128, 0.4), (256, 0.0), (256, 0.5), (512, 0.2), (1024, 0.05)]):
        b = Bench(dut, seed, mps, stall)
        for _ in range(25):
            size = 4 * b.rng.choice([1, 2, 3, 5, 128, b.rng.randrange(1, 40), b.rng.randrange(1, 1100)])
            b.command(size, 4 * b.rng.randrange(1024), drop=b.rng.choice([0, 0, 0.3, 1.0]), err=b.rng.choice([0, 0.1]))
        await b.run()
        b.check()


@cocotb.test()
async def every_alignment(dut: Any) -> None:
    """Every pair of start and end lane, so every way in which one TLP's shift can follow another's."""
    start(dut)
    b = Bench(dut, 7, 128, 0.0)
    for k in range(3 * b.lanes * b.lanes):
        off = 4096 - 4 * (1 + k % b.lanes)
        b.command(4 * (1 + k // b.lanes + b.rng.choice([0, 32])), off)
    await b.run()
    b.check()


@cocotb.test()
async def no_bubbles(dut: Any) -> None:
    """Once there is data ahead, RQ has a beat in every cycle, for any offsets: exact cycle counts."""
    start(dut)
    for mps in (128, 256, 1024):
        for aligned in (True, False):
            b = Bench(dut, mps, mps, 0.0)
            b.rng.random = lambda: 0.5  # type: ignore[method-assign]  # no short segments, no stalls
            b.monitor.hold = 30
            b.command(4096, 0)
            for k in range(6):
                if aligned:
                    b.command(4096, 0)
                else:
                    b.command(4 * (512 + 37 * k + 1), 4 * (67 * k + 1) % 4096)
            await b.run()
            b.check()
            tlps = b.monitor.tlps
            beats = 0
            for t in tlps:
                want = -(-((0 if b.width == 512 else 4) + len(t.payload)) // b.lanes)
                assert t.beats == want
                beats += want
            taken = tlps[-1].last_cycle - tlps[0].first_cycle + 1
            assert taken == beats, f"MPS {mps}: {taken} cycles for {beats} beats"
            if aligned and mps == 256 and b.width == 256:
                assert taken == 7 * 16 * 9
            if aligned and mps == 256 and b.width == 512:
                assert taken == 7 * 16 * 4


@cocotb.test()
async def latency(dut: Any) -> None:
    """From the last row to the header on RQ: 1 cycle, 4 with fewer than 4 rows; 5 from the segment."""
    start(dut)
    row = int(dut.DATA_W.value) // 8
    for size, hold, want in ((4, 20, 4), (3 * row, 20, 4), (4 * row, 20, 1), (256, 20, 1), (4, 0, 5)):
        b = Bench(dut, 3, 256, 0.0)
        b.command(size, 0)

        async def watch() -> int:
            came = -1
            while True:
                await RisingEdge(dut.clk)
                if int(dut.rst.value):
                    came = -1
                    continue
                if int(dut.s_row_valid.value) and int(dut.s_row_ready.value):
                    came = 0
                elif came >= 0:
                    came += 1
                if int(dut.m_rq_valid.value):
                    return came

        task = cocotb.start_soon(watch())
        await b.run(hold_rows=hold)
        took = await task
        assert took == want, f"{took} cycles"


@cocotb.test()
async def rows_that_are_dropped_are_work(dut: Any) -> None:
    """It is not idle while rows are inside, though nothing comes in and nothing goes out: who stops its clock then
    waits for ever for the end of a command whose list came late."""
    start(dut)
    b = Bench(dut, 5, 256, 0.0)
    b.command(4096, 0, drop=1.0)
    seen: list[int] = []

    async def watch() -> None:
        while not int(dut.m_done_valid.value):
            await RisingEdge(dut.clk)
            seen.append(int(dut.idle.value))

    task = cocotb.start_soon(watch())
    await b.run(hold_segs=600, idle_cycles=1000)
    await task
    b.check()
    assert int(dut.idle.value) == 1
    assert seen[600:].count(0) >= 4096 // (4 * b.lanes) and 1 not in seen[600:-3], "it said that it rests"


@cocotb.test()
async def done_backs_up(dut: Any) -> None:
    """Many short commands, some dropped, while m_done is hardly ever taken: RQ waits, no report is lost."""
    start(dut)
    b = Bench(dut, 13, 256, 0.0)
    b.done_stall = 0.97
    for k in range(40):
        b.command(4 * b.rng.randrange(1, 12), 4 * k, drop=0.3)
    await b.run(400)
    b.check()


@cocotb.test()
async def waits_for_payload(dut: Any) -> None:
    """No TLP begins before its last row is in, and none pauses by itself when data come slowly."""
    start(dut)
    b = Bench(dut, 11, 256, 0.0)
    for k in range(8):
        b.command(1024, 4 * k * 31)
    b.stall = 0.8  # inputs slow, RQ never stalls
    await b.run(200)
    b.check()
    for t in b.monitor.tlps:
        assert t.last_cycle - t.first_cycle + 1 == t.beats


@pytest.mark.parametrize("width", bench.WIDTHS)
def test_db_pcie_write(width: int) -> None:
    bench.run(__file__, "db_pcie_write", {"DATA_W": width}, env={"COCOTB_LOG_LEVEL": os.environ.get("LOG", "WARNING")})
