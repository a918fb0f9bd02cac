# SPDX-License-Identifier: Apache-2.0
"""db_pcie_root_tx: completions against a model written from the PCIe specification (byte counts, lower addresses,
cuts) and
PG213 (framing, unsuccessful completions); rows from a memory that answers after exactly four cycles."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
import host_cq
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from host_cq import CAS, FETCH_ADD, IO_RD, IO_WR, MEM_RD, MEM_RD_LK, WINDOW, Tlp
from pcie_stream import PcieStream, StreamBeat
from structs import layout

BASE = 0x5A_1400_0000 & ~(WINDOW - 1)
UR = 1
SIDE = layout("db_pcie_pkg", "cc_side_t")


def word_at(addr: int) -> int:
    """What stands in the window: differs for every dword of it."""
    return (addr // 4 * 0x9E3779B1 + 0x1234567) & 0xFFFFFFFF


def completions(t: Tlp, bad: bool, mps: int) -> list[list[int]]:
    """The dwords of each completion, descriptor first."""
    enabled = [4 * i + k for i in range(t.dwords) for k in range(4) if t.be(i) >> k & 1] or [0]
    identity = t.tag | t.tc << 25 | t.attr << 28
    if bad:
        count, lower = 4, 0
        if t.kind in (MEM_RD, MEM_RD_LK):
            count, lower = enabled[-1] - enabled[0] + 1, t.addr + enabled[0] & 0x7F
        header = [lower | count << 16 | int(t.kind == MEM_RD_LK) << 29, UR << 11 | t.requester << 16, identity]
        want = t.descriptor()
        want[3] &= ~(0x3F << 19)  # the BAR's size is not kept: nothing asks for it at a root port
        return [[*header, t.first_be | t.last_be << 4, *want]]
    result, at, end = [], t.addr, t.addr + 4 * t.dwords
    while at < end:
        stop = min(end, (at // mps + 1) * mps)
        first = max(at, t.addr + enabled[0])
        count = t.addr + enabled[-1] + 1 - first
        words = [word_at(a) for a in range(at - BASE, stop - BASE, 4)]
        result.append([first & 0x7F | count << 16, len(words) | t.requester << 16, identity, *words])
        at = stop
    return result


class Bench:
    def __init__(self, dut: Any, seed: int, mps: int) -> None:
        self.dut, self.rng, self.mps = dut, random.Random(seed), mps
        self.width = int(dut.DATA_W.value)
        self.side = bool(int(dut.SIDE.value))
        self.head = 0 if self.side else 3  # dwords before the payload
        self.cc = PcieStream(dut, "m_cc", "CC", self.width, SIDE.width if self.side else None)
        self.sent: list[int] = []  # cycle of each request
        self.beats: list[int] = []  # cycle of each beat
        self.got: list[list[int]] = []
        self.most = 0  # requests inside

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        d.rst.value = 1
        d.cfg_mps.value = (self.mps // 128).bit_length() - 1
        d.s_req_valid.value = d.s_req.value = d.s_row_data.value = 0
        d.m_cc_ready.value = 0
        for _ in range(3):
            await FallingEdge(d.clk)
        d.rst.value = 0
        await FallingEdge(d.clk)

    async def run(self, todo: list[tuple[Tlp, bool]], gap: float = 0.0, stall: float = 0.0) -> None:
        d, rng = self.dut, self.rng
        n = self.width // 32
        rows: deque[int | None] = deque([None] * 4)
        frame: list[int] = []
        held: StreamBeat | None = None
        want = [c for t, bad in todo for c in completions(t, bad, self.mps)]
        at = cycle = quiet = 0
        no_room = owed = 0  # owed: completions of the requests of earlier cycles
        ends: list[int] = []  # of each request: completions up to its last one
        done = most = 0
        while quiet < 8:
            unanswered = owed > len(self.got)
            no_room = 0 if int(d.req_room.value) else no_room + 1
            send = at < len(todo) and no_room <= 2 and rng.random() >= gap  # the sender stops two cycles late
            d.s_req_valid.value = int(send)
            d.s_req.value = rng.getrandbits(host_cq.REQUEST.width)
            if send:
                t, bad = todo[at]
                d.s_req.value = host_cq.window_request(t, bad)
                self.sent.append(cycle)
                owed += len(completions(t, bad, self.mps))
                ends.append(owed)
                at += 1
            row = rows.popleft()
            d.s_row_data.value = rng.getrandbits(self.width) if row is None else sum(
                word_at(row + 4 * i) << 32 * i for i in range(n)
            )  # fmt: skip
            d.m_cc_ready.value = int(rng.random() >= stall)
            await RisingEdge(d.clk)
            assert int(d.idle.value) == int(not unanswered)
            done += int(d.m_req_done.value)
            most = max(most, len(ends) - int(send) - done)
            row = None
            if int(d.m_row_valid.value):
                row = int(d.m_row_addr.value)
                assert row % (self.width // 8) == 0
            rows.append(row)
            if int(d.m_cc_valid.value):
                beat = self.cc.beat()
                assert held is None or held == beat, "changed while it waited"
                held = beat
                if int(d.m_cc_ready.value):
                    held = None
                    self.beats.append(cycle)
                    frame += self.dwords_of(beat, first=not frame)
                    if beat.last:
                        self.got.append(frame)
                        frame = []
            else:
                assert held is None, "took back a beat"
                assert not frame, "gap inside a packet"
            # a request is done in the cycle before its last beat is on CC
            left = sum(end <= len(self.got) for end in ends)
            assert left <= done <= left + 1
            busy = at < len(todo) or len(self.got) < len(want)
            cycle += 1
            quiet = 0 if busy else quiet + 1
            assert cycle < 400000
            await FallingEdge(d.clk)
        assert int(d.idle.value) == 1 and done == len(todo)
        self.most = max(self.most, most)
        for g, w in zip(self.got, want, strict=True):
            assert g == w, f"{[hex(x) for x in g]} want {[hex(x) for x in w]}"

    def dwords_of(self, beat: StreamBeat, first: bool) -> list[int]:
        """Of a beat of CC, whose tkeep and tuser are looked at. With `side` the descriptor comes before the first."""
        data, keep, last, user = beat
        lanes = keep.bit_length()
        header = []
        if self.side:
            side = SIDE.unpack(user)
            lanes = side["dwords"]
            assert side["sop"] == int(first)
            header = [user >> 32 * i & 0xFFFFFFFF for i in range(3 if first else 0)]  # it is the lowest member
        else:
            assert keep == (1 << lanes) - 1
            ends = last << 6 | (lanes - 1 if last else 0) << 8
            assert user == (int(first) | ends if self.width == 512 else 0)
        assert last or lanes == self.width // 32
        return header + [data >> 32 * i & 0xFFFFFFFF for i in range(lanes)]

    def request(self) -> tuple[Tlp, bool]:
        rng = self.rng
        kind, bad = MEM_RD, rng.random() < 0.1
        if rng.random() < 0.1:
            kind, bad = rng.choice([IO_RD, IO_WR, FETCH_ADD, CAS, MEM_RD_LK]), True
        n = rng.choice([1, 1, 2, 4, 16, 128, rng.randrange(1, 33), rng.randrange(1, 1025), 1024])
        if kind != MEM_RD:
            n = rng.choice([1, 2, 4])
        first, last = host_cq.enables(rng, n)
        base = rng.choice([BASE, 0, 1 << 63]) if bad else BASE
        return Tlp(kind, host_cq.place(rng, n, base), n, first, last, [], rng.randrange(256), rng.randrange(1 << 16),
                   rng.randrange(8), rng.randrange(8)), bad  # fmt: skip


@cocotb.test()
async def random_requests(dut: Any) -> None:
    for mps, seed in ((128, 1), (256, 2), (1024, 3), (4096, 4)):
        b = Bench(dut, seed, mps)
        await b.start()
        await b.run([b.request() for _ in range(25)], gap=0.2 if seed % 2 else 0.0)


@cocotb.test()
async def random_requests_stalled(dut: Any) -> None:
    for mps, seed in ((128, 5), (256, 6), (512, 7)):
        b = Bench(dut, seed, mps)
        await b.start()
        await b.run([b.request() for _ in range(25)], gap=0.3, stall=0.4)


@cocotb.test()
async def short_ones(dut: Any) -> None:
    """Many small completions, so that as many as can be are under way behind a stalled CC; every pair of enables."""
    b = Bench(dut, 8, 128)
    await b.start()
    todo = []
    for first in range(16):
        for last in range(16):
            n = 1 if last == 0 else 2
            if first or not last:
                todo.append((Tlp(MEM_RD, host_cq.place(b.rng, n, BASE), n, first, last, tag=last), False))
    # At the start of a row: one step each, so that the most completions are under way.
    todo += [(Tlp(MEM_RD, BASE + 64 * b.rng.randrange(1 << 20), 1, 15, 0, tag=i), False) for i in range(60)]
    await b.run(todo, stall=0.9)
    assert 30 <= b.most <= 32


@cocotb.test()
async def rate(dut: Any) -> None:
    """Requests of 512 bytes as completions of 256: a beat every cycle from the ninth cycle on."""
    b = Bench(dut, 9, 256)
    await b.start()
    todo = [(Tlp(MEM_RD, BASE + 4096 * i + 512 * (i % 8), 128, 15, 15, tag=i), False) for i in range(24)]
    await b.run(todo)
    per = -(-(64 + b.head) // (b.width // 32))
    assert {128: 17, 256: 9, 512: 4 if b.side else 5}[b.width] == per
    assert b.beats == list(range(b.sent[0] + 9, b.sent[0] + 9 + 48 * per))


@cocotb.test()
async def rate_unaligned(dut: Any) -> None:
    """A completion that begins in the upper part of a row costs one cycle more at 256 and 512 bits, none at 128."""
    b = Bench(dut, 10, 256)
    await b.start()
    n = b.width // 32
    todo = [(Tlp(MEM_RD, BASE + 4096 * i + 4 * (n - 1), 40, 15, 15), False) for i in range(20)]
    await b.run(todo)
    per, extra = -(-(40 + b.head) // n), int(n > 4)
    start = b.sent[0] + 9 + extra
    assert b.beats == [start + (per + extra) * i + k for i in range(20) for k in range(per)]


@pytest.mark.parametrize(("width", "side"), [bench.rare(128, 0), bench.rare(256, 0), (512, 0), (512, 1)])
def test_db_pcie_root_tx(width: int, side: int) -> None:
    """side: the descriptor beside the payload, as where CC is straddled."""
    bench.run(__file__, "db_pcie_root_tx", {"DATA_W": width, "SIDE": side})
