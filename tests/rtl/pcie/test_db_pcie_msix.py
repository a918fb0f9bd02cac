# SPDX-License-Identifier: Apache-2.0
"""db_pcie_msix against a model of table and pending bits: random requests, masks, accesses and back-pressure."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from structs import layout

ACCESS = layout("db_pcie_block_pkg", "reg_access_t")
POST = layout("db_pcie_block_pkg", "post_t")
FN = 0  # one function: its number


class Bench:
    def __init__(self, dut: Any, vectors: int, seed: int, stall: float) -> None:
        self.dut, self.vectors, self.rng, self.stall = dut, vectors, random.Random(seed), stall
        self.table = [[0, 0, 0, 1] for _ in range(vectors)]
        self.sent: list[tuple[int, int, int]] = []  # cycle, address, data
        self.cycle = 0
        self.held: tuple[int, int, int] | None = None

    async def clock(self) -> None:
        d = self.dut
        await RisingEdge(d.clk)
        self.cycle += 1
        if int(d.m_post_valid.value):
            post = POST.unpack(int(d.m_post.value))
            assert post["dwords"] == 1
            p = (post["addr"], post["data"], post["fn"])
            assert self.held is None or self.held == p, "post changed in a stall"
            self.held = p
            if int(d.m_post_ready.value):
                assert p[2] == FN
                self.sent.append((self.cycle, p[0], p[1]))
                self.held = None
        else:
            assert self.held is None, "post withdrawn"
        d.m_post_ready.value = int(self.rng.random() >= self.stall)

    async def reset(self) -> None:
        d = self.dut
        d.rst.value = 1
        for s in (d.s_reg_valid, d.s_irq_valid, d.cfg_msix_enable, d.cfg_msix_mask, d.m_post_ready):
            s.value = 0
        d.fn_rst.value = 0
        for _ in range(3):
            await self.clock()
        d.rst.value = 0
        self.table = [[0, 0, 0, 1] for _ in range(self.vectors)]

    async def access(self, wr: int, addr: int, be: int = 15, data: int = 0, fn: int = 0) -> int:
        d = self.dut
        d.s_reg_valid.value = 1
        d.s_reg.value = ACCESS.pack(wr=wr, fn=FN ^ fn, addr=addr, be=be, wdata=data)
        await self.clock()
        while not int(d.s_reg_ready.value):
            await self.clock()
        d.s_reg_valid.value = 0
        if wr and fn:
            return 0
        if wr:
            v, k = addr >> 4, addr >> 2 & 3
            if addr < 0x1000 and v < self.vectors:
                mask = sum(0xFF << 8 * i for i in range(4) if be >> i & 1)
                new = (self.table[v][k] & ~mask) | (data & mask)
                self.table[v][k] = new & 1 if k == 3 else new
            return 0
        while True:
            await self.clock()
            if int(d.s_reg_rvalid.value):
                return int(d.s_reg_rdata.value)

    async def irq(self, vector: int) -> None:
        d = self.dut
        d.s_irq_valid.value, d.s_irq_vector.value = 1, vector
        await self.clock()
        while not int(d.s_irq_ready.value):
            await self.clock()
        d.s_irq_valid.value = 0

    async def settle(self) -> None:
        """Until nothing was sent for as long as a walk over the vectors takes."""
        start = self.cycle
        while self.held or self.cycle - max([start, *(c for c, _, _ in self.sent[-1:])]) < self.vectors + 40:
            await self.clock()

    def message(self, v: int) -> tuple[int, int]:
        a, hi, data, _ = self.table[v]
        return (hi << 32 | a) & ~3, data

    def take(self) -> list[tuple[int, int]]:
        out = [(a, x) for _, a, x in self.sent]
        self.sent.clear()
        return out

    async def pba(self) -> set[int]:
        out = set()
        for i in range(8):
            w = await self.access(0, 0x1000 + 4 * i)
            out |= {32 * i + k for k in range(32) if w >> k & 1}
        return out


def begin(dut: Any, seed: int, stall: float) -> Bench:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    return Bench(dut, int(os.environ["VECTORS"]), seed, stall)


@cocotb.test()
async def table_access(dut: Any) -> None:
    """Masked after reset, also by a second reset; byte enables; reserved bits; addresses outside."""
    b = begin(dut, 1, 0.0)
    for _ in range(2):
        await b.reset()
        for v in range(b.vectors):
            for k in range(4):
                want = 1 if k == 3 else 0
                got = await b.access(0, 16 * v + 4 * k)
                assert got == want, f"vector {v} dword {k} is {got:#x} after reset"
        for _ in range(300):
            await b.access(1, 4 * b.rng.randrange(1024), b.rng.randrange(16), b.rng.getrandbits(32))
        await b.access(1, 0x1000, 15, 0xFFFFFFFF)
        for a in range(0, 0x2000, 4):
            v = a >> 4
            want = b.table[v][a >> 2 & 3] if v < b.vectors else 0
            got = await b.access(0, a)
            assert got == want, f"{a:#x}: {got:#x}, want {want:#x}"
    await b.settle()
    assert not b.sent


@cocotb.test()
async def latency_and_rate(dut: Any) -> None:
    b = begin(dut, 2, 0.0)
    await b.reset()
    dut.cfg_msix_enable.value = 1
    for k, x in enumerate((0xFEE01004, 0x12, 0xABCD, 0)):
        await b.access(1, 4 * k, 15, x)
    await b.settle()
    dut.s_irq_valid.value, dut.s_irq_vector.value = 1, 0
    taken = []
    for _ in range(31):
        await b.clock()
        if int(dut.s_irq_valid.value) and int(dut.s_irq_ready.value):
            taken.append(b.cycle)
    dut.s_irq_valid.value = 0
    await b.settle()
    assert [c - t for (c, _, _), t in zip(b.sent, taken)] == [2] * len(taken)
    assert [y - x for x, y in zip(taken, taken[1:])] == [2] * (len(taken) - 1)
    assert b.take() == [b.message(0)] * len(taken)


@cocotb.test()
async def masks_and_pending(dut: Any) -> None:
    """One thing at a time, then let it settle: the model is exact."""
    for stall in (0.0, 0.6):
        b = begin(dut, 3, stall)
        rng = b.rng
        await b.reset()
        enable = fmask = 0
        pending: set[int] = set()
        for v in range(b.vectors):
            for k in range(3):
                await b.access(1, 16 * v + 4 * k, 15, rng.getrandbits(32))
        for step in range(120 if b.vectors < 100 else 80):
            want: list[tuple[int, int]] = []
            what = rng.choice(["irq", "irq", "irq", "mask", "mask", "fmask", "enable"])
            v = rng.randrange(b.vectors)
            if what == "irq":
                v = rng.choice([v, v, v, b.vectors, 0xFFFF, 256])
                await b.irq(v)
                if enable and v < b.vectors:
                    if fmask or b.table[v][3]:
                        pending.add(v)
                    else:
                        want.append(b.message(v))
            elif what == "mask":
                await b.access(1, 16 * v + 12, rng.choice([1, 15, 14]), rng.getrandbits(32))
            elif what == "fmask":
                fmask = rng.randrange(2)
                dut.cfg_msix_mask.value = fmask
            elif rng.random() < 0.5 or not enable:
                enable ^= 1
                dut.cfg_msix_enable.value = enable
                if not enable:
                    pending.clear()
            await b.settle()
            if enable and not fmask:
                out = sorted(p for p in pending if not b.table[p][3])
                want += [b.message(p) for p in out]
                pending -= set(out)
            got = b.take()
            assert got == want, f"step {step} {what} {v}: sent {got}, want {want}"
            if step % 10 == 0:
                assert await b.pba() == pending


@cocotb.test()
async def function_mask_toggles(dut: Any) -> None:
    """The function's mask falls, comes back during the walk over the pending vectors, falls again: all go out once."""
    b = begin(dut, 5, 0.0)
    rng = b.rng
    await b.reset()
    dut.cfg_msix_enable.value = 1
    for v in range(b.vectors):
        await b.access(1, 16 * v, 15, 0x1000 + 16 * v)
        await b.access(1, 16 * v + 12, 15, 0)
    for _ in range(8):
        dut.cfg_msix_mask.value = 1
        await b.settle()
        asked = sorted(rng.sample(range(b.vectors), min(b.vectors, 6)))
        for v in asked:
            await b.irq(v)
        assert await b.pba() == set(asked) and not b.sent
        for _ in range(2):
            dut.cfg_msix_mask.value = 0
            for _ in range(rng.randrange(b.vectors + 12)):
                await b.clock()
            dut.cfg_msix_mask.value = 1
            for _ in range(rng.randrange(1, 8)):
                await b.clock()
        dut.cfg_msix_mask.value = 0
        await b.settle()
        assert sorted(a for a, _ in b.take()) == [0x1000 + 16 * v for v in asked]
        assert await b.pba() == set()


@cocotb.test()
async def other_functions(dut: Any) -> None:
    """Another function's accesses find nothing and change nothing."""
    b = begin(dut, 6, 0.0)
    await b.reset()
    dut.cfg_msix_enable.value = 1
    v = b.vectors - 1
    for k, x in enumerate((0xFEE01004, 0x12, 0xABCD, 0)):
        await b.access(1, 16 * v + 4 * k, 15, x)
    dut.cfg_msix_mask.value = 1
    await b.irq(v)
    await b.settle()
    for fn in (1, 4, 5, 128):
        for addr in (16 * v, 16 * v + 8, 16 * v + 12, 0x1000 + v // 32 * 4):
            await b.access(1, addr, 15, 0xFFFFFFFF, fn=fn)
            assert await b.access(0, addr, fn=fn) == 0
    for k in range(4):
        assert await b.access(0, 16 * v + 4 * k) == b.table[v][k]
    assert await b.pba() == {v}
    dut.cfg_msix_mask.value = 0
    await b.settle()
    assert b.take() == [b.message(v)]


@cocotb.test(timeout_time=20, timeout_unit="us")
async def posts_stand_still(dut: Any) -> None:
    """RQ takes nothing: accesses go on, at any moment and any number of them; then every message leaves once."""
    b = begin(dut, 8, 0.0)
    await b.reset()
    dut.cfg_msix_enable.value = 1
    for v in range(b.vectors):
        await b.access(1, 16 * v, 15, 0x1000 + 16 * v)
        await b.access(1, 16 * v + 12, 15, 0)
    b.stall = 1.0
    await b.clock()
    asked = list(range(min(b.vectors, 5)))

    class Quiet(Bench):  # shares the signals, leaves the posts to b
        async def clock(self) -> None:
            await RisingEdge(self.dut.clk)

    async def ask() -> None:
        for v in asked:
            await Quiet(dut, b.vectors, 9, 0.0).irq(v)

    task = cocotb.start_soon(ask())
    for _ in range(12):
        await b.clock()
    for _ in range(6):
        started = b.cycle
        w = b.rng.randrange(b.vectors)
        await b.access(1, 16 * w + 4, 15, 0x77)
        assert await b.access(0, 16 * w + 4) == 0x77
        assert b.cycle - started <= 12, f"two accesses took {b.cycle - started} cycles"
        for _ in range(b.rng.randrange(4)):
            await b.clock()
    b.stall = 0.0
    while not task.done():
        await b.clock()
    await b.settle()
    assert sorted(a & 0xFFFFFFFF for a, _ in b.take()) == [0x1000 + 16 * v for v in asked]
    assert await b.pba() == set()


@cocotb.test()
async def races(dut: Any) -> None:
    """Requests and mask changes at any moment: never lost, never a message too many."""
    b = begin(dut, 4, 0.3)
    rng = b.rng
    await b.reset()
    dut.cfg_msix_enable.value = 1
    for v in range(b.vectors):
        await b.access(1, 16 * v, 15, 0x1000 + 16 * v)
    requests = [0] * b.vectors

    async def ask() -> None:
        for _ in range(400):
            v = rng.randrange(b.vectors)
            await b_irq.irq(v)
            requests[v] += 1

    class Quiet(Bench):  # shares the signals, leaves the posts to b
        async def clock(self) -> None:
            await RisingEdge(self.dut.clk)

    b_irq = Quiet(dut, b.vectors, 9, 0.0)
    task = cocotb.start_soon(ask())
    while not task.done():
        if rng.random() < 0.1:
            dut.cfg_msix_mask.value = rng.randrange(2)
        await b.access(1, 16 * rng.randrange(b.vectors) + 12, 15, rng.randrange(2))
        for _ in range(rng.randrange(6)):
            await b.clock()
    dut.cfg_msix_mask.value = 0
    for v in range(b.vectors):
        await b.access(1, 16 * v + 12, 15, 0)
    await b.settle()
    assert await b.pba() == set()
    got = [0] * b.vectors
    for _, a, _ in b.sent:
        got[(a - 0x1000) // 16] += 1
    for v in range(b.vectors):
        assert got[v] <= requests[v] and (got[v] > 0) == (requests[v] > 0), f"vector {v}: {got[v]} of {requests[v]}"
    assert sum(got) < sum(requests), "no request was ever merged: the masks did nothing"


@pytest.mark.parametrize("vectors", [1, 33, 129])
def test_db_pcie_msix(vectors: int) -> None:
    env = {"COCOTB_LOG_LEVEL": os.environ.get("LOG", "WARNING"), "VECTORS": str(vectors)}
    bench.run(__file__, "db_pcie_msix", {"NUM_VEC": vectors}, env=env)
