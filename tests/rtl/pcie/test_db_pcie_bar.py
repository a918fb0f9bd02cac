# SPDX-License-Identifier: Apache-2.0
"""db_pcie_bar: requests framed by cocotbext-pcie's model of the hard block, register accesses and completions checked
against a byte-by-byte model."""

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
from structs import layout

ACCESS = layout("db_pcie_block_pkg", "reg_access_t")
BASE = 0x7_FE00_0000
BAR_BYTES = 1 << 14
MEM_RD, MEM_WR, IO_RD, IO_WR, FETCH_ADD, MEM_RD_LK, MSG, MSG_VD = 0, 1, 2, 3, 4, 7, 12, 13
UR = 1


class InItsLastBeat:
    """`discontinue` of a packet whose last beat alone says so, as PG213 has it: it is asked once for each beat."""

    def __init__(self, beats: int) -> None:
        self.left = beats

    def __bool__(self) -> bool:
        self.left -= 1
        return self.left == 0


@dataclass
class Request:
    kind: int
    offset: int
    dwords: int
    first_be: int
    last_be: int
    data: list[int] = field(default_factory=list)
    bar: int = 0
    tag: int = 0
    requester: int = 0
    fn: int = 0
    tc: int = 0
    attr: int = 0
    discontinue: bool = False
    last_beat_alone: bool = False  # ... only in its last beat

    def descriptor(self) -> list[int]:
        a = BASE + self.offset
        return [
            a & 0xFFFFFFFC,
            a >> 32,
            self.dwords | self.kind << 11 | self.requester << 16,
            self.tag | self.fn << 8 | self.bar << 16 | 14 << 19 | self.tc << 25 | self.attr << 28,
        ]

    def be(self, i: int) -> int:
        return self.first_be if i == 0 else self.last_be if i == self.dwords - 1 else 15

    def supported(self) -> bool:
        return self.kind in (MEM_RD, MEM_WR) and self.bar == 0 and self.dwords <= 16

    def posted(self) -> bool:
        return self.kind in (MEM_WR, MSG, MSG_VD)

    def beats(self, width: int) -> int:
        return -(-(4 + len(self.data)) * 32 // width)


class Bench:
    def __init__(self, dut: Any, seed: int, stall: float) -> None:
        from cocotbext.axi import AxiStreamBus
        from cocotbext.pcie.xilinx.us.interface import CcSink, CqSource

        self.dut = dut
        self.rng = random.Random(seed)
        self.stall = stall
        self.width = len(dut.s_axis_cq_tdata)
        self.cq = CqSource(AxiStreamBus.from_prefix(dut, "s_axis_cq"), dut.clk, dut.rst)
        self.cc = CcSink(
            AxiStreamBus.from_prefix(dut, "m_axis_cc"), dut.clk, dut.rst, segments=2 if self.width == 512 else 1
        )
        for s in (self.cq, self.cc):
            s.log.setLevel("WARNING")
            if stall:
                s.set_pause_generator(iter(lambda: self.rng.random() < stall, None))
        self.regs: dict[tuple[int, int], int] = {}
        self.model: dict[tuple[int, int], int] = {}
        self.accesses: list[tuple[int, ...]] = []
        self.want_accesses: list[tuple[int, ...]] = []
        self.want_cc: list[list[int]] = []
        self.times: list[int] = []
        self.credits = self.non_posted = 0
        self.cycle = 0

    async def registers(self) -> None:
        """The register side: random ready, random latency of answers."""
        d, rng = self.dut, self.rng
        pending: tuple[int, int] | None = None
        held: tuple[int, ...] | None = None
        while True:
            await RisingEdge(d.clk)
            self.cycle += 1
            self.credits += int(d.cq_np_req.value)
            d.m_reg_rvalid.value = 0
            d.m_reg_rdata.value = rng.getrandbits(32)
            if pending is not None:
                if pending[0] == 0:
                    d.m_reg_rvalid.value, d.m_reg_rdata.value = 1, pending[1]
                    pending = None
                else:
                    pending = (pending[0] - 1, pending[1])
            if int(d.m_reg_valid.value) and not int(d.rst.value):
                a = tuple(ACCESS.unpack(int(d.m_reg.value)).values())  # wr, fn, addr, be, wdata
                a = a if a[0] else (*a[:4], 0)
                assert held is None or held == a, "request changed before m_reg_ready"
                held = a
                if int(d.m_reg_ready.value):
                    held = None
                    self.accesses.append(a)
                    self.times.append(self.cycle)
                    wr, fn, addr, be, data = a
                    old = self.regs.get((fn, addr), addr * 0x01010101 & 0xFFFFFFFF)
                    if wr:
                        mask = sum(0xFF << 8 * k for k in range(4) if be >> k & 1)
                        self.regs[fn, addr] = (old & ~mask) | (data & mask)
                    else:
                        assert pending is None, "two reads outstanding"
                        pending = (rng.randrange(0, 5) if self.stall else 0, old)
            else:
                assert held is None, "m_reg_valid fell"
            d.m_reg_ready.value = int(rng.random() >= self.stall)

    async def keep_monitor(self) -> None:
        """tkeep and tlast agree with the 512-bit tuser that the sink goes by, and have no holes."""
        d = self.dut
        while True:
            await RisingEdge(d.clk)
            if not int(d.m_axis_cc_tvalid.value) or int(d.rst.value):
                continue
            keep, last, user = (int(s.value) for s in (d.m_axis_cc_tkeep, d.m_axis_cc_tlast, d.m_axis_cc_tuser))
            n = keep.bit_length()
            assert keep == (1 << n) - 1 and n and (last or n == self.width // 32)
            if self.width == 512:
                assert (user >> 6 & 3) == last and (not last or (user >> 8 & 15) == n - 1)

    def send(self, r: Request) -> None:
        from cocotbext.pcie.xilinx.us.interface import UsPcieFrame

        f = UsPcieFrame()
        f.data = [*r.descriptor(), *r.data]
        f.first_be, f.last_be, f.discontinue = r.first_be, r.last_be, r.discontinue
        if r.discontinue and r.last_beat_alone:
            f.discontinue = InItsLastBeat(r.beats(self.width))
        f.byte_en = [0] * 4 + [r.be(i) for i in range(len(r.data))]
        f.update_parity()
        self.cq.send_nowait(f)
        self.non_posted += not r.posted()
        self.predict(r)

    def predict(self, r: Request) -> None:
        dwords = r.dwords
        if r.discontinue:  # of a write that is damaged in its last beat, what came before is done
            if not (r.last_beat_alone and r.kind == MEM_WR):
                return
            dwords = max(0, (r.beats(self.width) - 1) * self.width // 32 - 4)
        if not r.supported():
            if not r.posted():
                byte_count, lower = self.span(r) if r.kind in (MEM_RD, MEM_RD_LK) else (4, 0)
                d0 = lower | byte_count << 16 | int(r.kind == MEM_RD_LK) << 29
                header = [d0, UR << 11 | r.requester << 16, r.tag | r.fn << 8 | r.tc << 25 | r.attr << 28]
                self.want_cc.append([*header, r.first_be | r.last_be << 4, *r.descriptor()])
            return
        words = []
        for i in range(dwords):
            addr, be = r.offset + 4 * i, r.be(i)
            key = (r.fn, addr)
            old = self.model.get(key, addr * 0x01010101 & 0xFFFFFFFF)
            if r.kind == MEM_WR:
                if be:
                    self.want_accesses.append((1, r.fn, addr, be, r.data[i]))
                mask = sum(0xFF << 8 * k for k in range(4) if be >> k & 1)
                self.model[key] = (old & ~mask) | (r.data[i] & mask)
            else:
                if be:
                    self.want_accesses.append((0, r.fn, addr, be, 0))
                words.append(old if be else 0)
        if r.kind == MEM_RD:
            byte_count, lower = self.span(r)
            header = [
                lower | byte_count << 16,
                r.dwords | r.requester << 16,
                r.tag | r.fn << 8 | r.tc << 25 | r.attr << 28,
            ]
            self.want_cc.append([*header, *words])

    @staticmethod
    def span(r: Request) -> tuple[int, int]:
        """Byte count and lower address, counted out byte by byte."""
        enabled = [4 * i + k for i in range(r.dwords) for k in range(4) if r.be(i) >> k & 1] or [0]
        return enabled[-1] - enabled[0] + 1, (BASE + r.offset + enabled[0]) & 0x7F

    def random_request(self) -> Request:
        rng = self.rng
        kind = rng.choices(
            [MEM_RD, MEM_WR, IO_RD, IO_WR, FETCH_ADD, MEM_RD_LK, MSG, MSG_VD], [10, 10, 1, 1, 1, 1, 1, 1]
        )[0]
        n = rng.choice([1, 1, 2, 2, 3, rng.randrange(1, 17), 16])
        if rng.random() < 0.1:
            n = rng.choice([17, 18, 32, 64])
        if kind in (IO_RD, IO_WR, MEM_RD_LK):
            n = 1
        if kind == FETCH_ADD:
            n = rng.choice([1, 2])
        if kind in (MSG, MSG_VD):
            n = rng.choice([0, 1, 9])
        if n <= 1:
            first, last = rng.randrange(16), 0
        elif n == 2:
            first, last = rng.randrange(1, 16), rng.randrange(1, 16)
        else:
            first, last = rng.choice([8, 12, 14, 15]), rng.choice([1, 3, 7, 15])
        has_data = kind in (MEM_WR, IO_WR, FETCH_ADD, MSG, MSG_VD)
        return Request(
            kind,
            4 * rng.randrange(BAR_BYTES // 4 - n),
            n,
            first,
            last,
            [rng.getrandbits(32) for _ in range(n)] if has_data else [],
            bar=rng.choice([0] * 9 + [2, 6]),
            tag=rng.randrange(256),
            requester=rng.randrange(1 << 16),
            fn=rng.randrange(3),
            tc=rng.randrange(8),
            attr=rng.randrange(8),
            discontinue=(kind == MEM_WR or (n <= 1 and kind in (MEM_RD, MSG))) and rng.random() < 0.1,
            last_beat_alone=rng.random() < 0.5,
        )

    async def start(self) -> None:
        d = self.dut
        d.rst.value = 1
        d.m_reg_ready.value = d.m_reg_rvalid.value = 0
        cocotb.start_soon(self.registers())
        cocotb.start_soon(self.keep_monitor())
        for _ in range(4):
            await RisingEdge(d.clk)
        d.rst.value = 0

    async def finish(self, credited: bool = False) -> None:
        """credited: no request that wants an answer came without a credit."""
        got: list[list[int]] = []
        quiet = 0
        while quiet < 200:
            await RisingEdge(self.dut.clk)
            quiet = 0 if not self.cq.idle() else quiet + 1
            while not self.cc.empty():
                f = self.cc.recv_nowait()
                assert not f.discontinue
                got.append(f.data)
                quiet = 0
        for i, (g, w) in enumerate(zip(got, self.want_cc)):
            assert g == w, f"completion {i}: {[hex(x) for x in g]} want {[hex(x) for x in w]}"
        assert len(got) == len(self.want_cc)
        assert self.accesses == self.want_accesses
        if credited:
            assert self.credits == 1 + self.non_posted, "a credit at the start, and one for each that has ended"
        assert {k: v for k, v in self.model.items() if k in self.regs} == self.regs


async def with_stall(dut: Any, stall: float, count: int) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    b = Bench(dut, 1 + int(stall * 10), stall)
    await b.start()
    for _ in range(count):
        b.send(b.random_request())
    await b.finish()


@cocotb.test()
async def random_requests(dut: Any) -> None:
    await with_stall(dut, 0.0, 300)


@cocotb.test()
async def random_requests_stalled(dut: Any) -> None:
    await with_stall(dut, 0.4, 300)


@cocotb.test()
async def every_byte_enable(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    b = Bench(dut, 5, 0.0)
    await b.start()
    for kind in (MEM_WR, MEM_RD):
        for first in range(16):
            for last in range(16):
                if first == 0 and last != 0:
                    continue  # not allowed over PCIe
                n = 1 if last == 0 else 2
                data = [b.rng.getrandbits(32) for _ in range(n)] if kind == MEM_WR else []
                b.send(Request(kind, 4 * (first * 32 + last), n, first, last, data))
    await b.finish()


async def damaged(b: Bench) -> None:
    """A request that is thrown away gives its credit back."""
    for k in range(3):
        b.send(Request(MEM_RD, 0x40, 1, 15, 0, tag=k, discontinue=True))
        b.send(Request(FETCH_ADD, 0x40, 1, 15, 0, [1], tag=k, discontinue=True, last_beat_alone=k == 1))
        for _ in range(30):
            await RisingEdge(b.dut.clk)
        assert b.credits == 1 + b.non_posted


@cocotb.test()
async def answers_stand_still(dut: Any) -> None:
    """CC is never ready: posted requests are taken all the same; the next one that wants an answer gets no credit."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    b = Bench(dut, 7, 0.0)
    await b.start()
    for _ in range(10):
        await RisingEdge(dut.clk)
    for kind, bar in ((MEM_RD, 0), (MEM_RD, 2), (FETCH_ADD, 0)):
        b.cc.pause = True
        b.accesses, b.want_accesses, b.want_cc = [], [], []
        # one answer stands in the output, and if that has room for all of it, another one behind it
        for k in range(8):
            if b.credits == b.non_posted:
                break
            data = [0] if kind == FETCH_ADD else []
            b.send(Request(kind, 0x20 + 64 * k, 1 if data else 16, 15, 0 if data else 15, data, bar=bar, tag=k + 1))
            for _ in range(100):
                await RisingEdge(dut.clk)
        for i in range(20):
            b.send(Request(MEM_WR, 0x1000 + 4 * i, 1, 15, 0, [i]))
            b.send(Request(MSG, 0, 0, 0, 0, tag=9))
        for _ in range(400):
            await RisingEdge(dut.clk)
        doorbells = [a for a in b.accesses if a[0]]
        assert len(doorbells) == 20, f"{len(doorbells)} of 20 doorbells while answers stand still"
        assert b.credits == b.non_posted
        b.cc.pause = False
        await b.finish(credited=True)
        await damaged(b)


@cocotb.test()
async def doorbell_rate(dut: Any) -> None:
    """A write of one dword every 2 cycles (3 with 128 bits, where it takes 2 beats)."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    b = Bench(dut, 6, 0.0)
    await b.start()
    for i in range(20):
        b.send(Request(MEM_WR, 0x1000 + 4 * i, 1, 15, 0, [i]))
    await b.finish()
    step = 3 if b.width == 128 else 2
    assert [y - x for x, y in zip(b.times, b.times[1:])] == [step] * 19


@pytest.mark.parametrize("width", [128, bench.rare(256), 512])
def test_db_pcie_bar(width: int) -> None:
    bench.run(
        __file__,
        "pcie_bar_tb",
        {"DATA_W": width},
        extra_sources=("tests/rtl/tb/pcie_bar_tb.sv",),
        env={"COCOTB_LOG_LEVEL": os.environ.get("LOG", "WARNING")},
    )
