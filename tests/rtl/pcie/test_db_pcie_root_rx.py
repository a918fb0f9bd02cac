# SPDX-License-Identifier: Apache-2.0
"""db_pcie_root_rx: random requests in PG213's framing; rows, requests and their timing against a model of the
window."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import host_cq
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from host_cq import FETCH_ADD, IO_RD, IO_WR, MEM_RD, MEM_RD_LK, MEM_WR, MSG, WINDOW, Tlp
from pcie_stream import PcieStream

BASE = 0x5A_1400_0000 & ~(WINDOW - 1)


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.width = int(dut.DATA_W.value)
        self.head = 0 if int(dut.SIDE.value) else 4  # dwords before the payload
        self.cq = PcieStream(dut, "s_cq", "CQ", self.width)
        self.rows: list[tuple[int, int, int]] = []  # seen
        self.row_cycles: list[int] = []
        self.requests: list[int] = []
        self.bad = self.damaged = self.dropped = 0
        self.taken: list[int] = []  # cycles in which a beat was taken

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        d.rst.value = 1
        d.window_base.value = BASE
        d.s_cq_valid.value = d.s_cq.value = d.stall.value = 0
        d.req_room.value = d.s_own.value = 1
        for _ in range(3):
            await FallingEdge(d.clk)
        d.rst.value = 0
        await FallingEdge(d.clk)

    async def run(self, tlps: list[Tlp], gap: float = 0.0, stall: float = 0.0) -> None:
        d, rng = self.dut, self.rng
        beats = [b for t in tlps for b in (t.beats(self.width, rng) if self.head else t.rows_beside(rng))]
        at = cycle = quiet = 0
        valid = False
        stalled_rows = late_requests = 0
        while quiet < 6:
            if not valid and at < len(beats) and rng.random() >= gap:
                valid = True
            self.cq.valid.value = int(valid)
            if valid:
                self.cq.put(*beats[at])
            else:  # nothing of it may count
                self.cq.port.value = rng.getrandbits(self.cq.struct.width)
            if rng.random() < 0.3:
                d.stall.value = int(rng.random() < stall)
                d.req_room.value = int(rng.random() >= stall)
            await RisingEdge(d.clk)
            if int(d.m_wr_valid.value):
                be, data = int(d.m_wr_be.value), int(d.m_wr_data.value)
                mask = sum(0xFF << 8 * k for k in range(self.width // 8) if be >> k & 1)
                self.rows.append((BASE + int(d.m_wr_addr.value), be, data & mask))
                self.row_cycles.append(cycle)
            if int(d.m_req_valid.value):
                self.requests.append(int(d.m_req.value))
            stalled_rows = stalled_rows + int(d.m_wr_valid.value) if int(d.stall.value) else 0
            late_requests = late_requests + int(d.m_req_valid.value) if not int(d.req_room.value) else 0
            assert stalled_rows <= 3 and late_requests <= 1
            self.bad += int(d.m_bad.value)
            self.damaged += int(d.m_damaged.value)
            self.dropped += int(d.m_req_drop.value)
            if valid and int(self.cq.ready.value):
                self.taken.append(cycle)
                at, valid = at + 1, False
            cycle += 1
            quiet = quiet + 1 if at == len(beats) else 0
            await FallingEdge(d.clk)

    def check(self, tlps: list[Tlp]) -> None:
        seen = list(self.rows)
        requests, bad, damaged, dropped = [], 0, 0, 0
        for t in tlps:
            inside = BASE <= t.addr < BASE + WINDOW
            if t.kind == MEM_WR:
                if not inside:
                    bad += 1
                    continue
                want = t.rows(self.width)
                if t.damaged:
                    damaged += 1
                    n = 0
                    while seen and n < len(want) and seen[0] == want[n]:
                        seen.pop(0)
                        n += 1
                    # Nothing of its last beat was written: all rows before that beat's first dword, no other.
                    lanes = self.width // 32
                    kept = max(0, (t.dwords + self.head - 1) // lanes * lanes - self.head)
                    whole = (t.addr + 4 * kept) // (self.width // 8) - t.addr // (self.width // 8)
                    assert n == min(whole, len(want) - 1), (n, whole, t)
                    continue
                for row in want:
                    got = seen.pop(0)
                    assert got == row, f"{[hex(x) for x in got]} want {[hex(x) for x in row]}"
            elif not t.posted() and t.damaged and len(t.data) + self.head <= self.width // 32:
                dropped += 1  # a longer one has been passed on when the mark comes
            elif not t.posted():
                ok = t.kind == MEM_RD and inside and (t.addr - BASE) >> 23 < 6
                bad += not ok
                requests.append(host_cq.window_request(t, not ok))
        assert not seen, f"{len(seen)} rows that nobody wrote"
        assert self.requests == requests
        assert (self.bad, self.damaged, self.dropped) == (bad, damaged, dropped)

    def tlp(self) -> Tlp:
        rng = self.rng
        kind = rng.choices([MEM_WR, MEM_RD, IO_RD, IO_WR, FETCH_ADD, MEM_RD_LK, MSG], [20, 8, 1, 1, 1, 1, 1])[0]
        n = rng.choice([1, 1, 2, 3, 4, rng.randrange(1, 65), 64, rng.randrange(1, 129)])
        if kind == MEM_RD:
            n = rng.choice([n, rng.randrange(1, 1025), 1024])
        elif kind in (IO_RD, IO_WR, MEM_RD_LK):
            n = 1
        elif kind == FETCH_ADD:
            n = rng.choice([1, 2])
        elif kind == MSG:
            n = rng.choice([0, 1, 3])
        first, last = host_cq.enables(rng, n)
        base = rng.choice([BASE] * 8 + [BASE - WINDOW, BASE + WINDOW, 0, BASE & 0xFFFFFFFF, BASE | 1 << 63])
        data = kind in (MEM_WR, IO_WR, FETCH_ADD, MSG)
        return Tlp(
            kind, host_cq.place(rng, n, base), n, first, last, [rng.getrandbits(32) for _ in range(n)] if data else [],
            rng.randrange(256), rng.randrange(1 << 16), rng.randrange(8), rng.randrange(8),
            damaged=kind != MSG and rng.random() < 0.1,
        )  # fmt: skip


@cocotb.test()
async def random_requests(dut: Any) -> None:
    b = Bench(dut, 1)
    await b.start()
    tlps = [b.tlp() for _ in range(300)]
    await b.run(tlps)
    b.check(tlps)
    assert b.dropped > 3


@cocotb.test()
async def random_requests_stalled(dut: Any) -> None:
    b = Bench(dut, 2)
    await b.start()
    tlps = [b.tlp() for _ in range(300)]
    await b.run(tlps, gap=0.3, stall=0.4)
    b.check(tlps)


@cocotb.test()
async def rate(dut: Any) -> None:
    """Every beat at once but for one bubble after a packet that spills; each row a cycle after its last beat."""
    b = Bench(dut, 3)
    await b.start()
    lanes = b.width // 32
    tlps, want, cycle, row_cycles = [], [], 0, []
    for _ in range(60):
        n = b.rng.choice([64, 64, 32, b.rng.randrange(1, 65)])
        addr = host_cq.place(b.rng, n, BASE)
        if b.rng.random() < 0.5:
            addr &= ~0xFF
        t = Tlp(MEM_WR, addr, n, 15, 15 if n > 1 else 0, [b.rng.getrandbits(32) for _ in range(n)])
        tlps.append(t)
        beats = (n + b.head + lanes - 1) // lanes
        # A row leaves in the cycle after the beat with its last dword, one that the packet's last beat leaves over a
        # cycle later.
        turn = (addr // 4 - b.head) % lanes
        ends = [b.head + i for i in range(n) if (addr // 4 + i) % lanes == lanes - 1 or i == n - 1]
        last_row = ends[-1] // lanes
        spill = ends[-1] % lanes + turn >= lanes
        row_cycles += [cycle + e // lanes + 1 for e in ends[:-1]] + [cycle + last_row + 1 + spill]
        want += [cycle + i for i in range(beats)]
        cycle += beats + int(spill and lanes > 4)
    await b.run(tlps)
    b.check(tlps)
    assert b.taken == want
    assert b.row_cycles == row_cycles


@cocotb.test()
async def reads_beside_writes(dut: Any) -> None:
    """Read requests cost their one beat, no more."""
    b = Bench(dut, 4)
    await b.start()
    tlps = [Tlp(MEM_RD, BASE + 4096 * i, 128, 15, 15, tag=i) for i in range(40)]
    await b.run(tlps)
    b.check(tlps)
    assert b.taken == list(range(40))


@pytest.mark.parametrize(("width", "side"), [bench.rare(128, 0), bench.rare(256, 0), (512, 0), (512, 1)])
def test_db_pcie_root_rx(width: int, side: int) -> None:
    """side: the descriptor beside the payload, as where CQ is straddled."""
    bench.run(__file__, "db_pcie_root_rx", {"DATA_W": width, "SIDE": side})
