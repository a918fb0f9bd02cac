# SPDX-License-Identifier: Apache-2.0
"""db_pcie_msix with several functions against a model: a table and pending bits for each, of which each sees its own.

A function's table is at 0 of its window and its pending bits at 0x1000, from vector 0 on (PCIe Base 5.0, 7.7.2).
Interrupts are asked for by a number of all vectors: those of the PF come first, those of the VFs from the next multiple
of VF_VEC on.
"""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time
from functions import number
from structs import layout

ACCESS = layout("db_pcie_block_pkg", "reg_access_t")
POST = layout("db_pcie_block_pkg", "post_t")
NO_FUNCTION = (1, 2, 3, 21, 128, 255)  # numbers that no function has

Message = tuple[int, int, int]  # number of the function that sends it, address, data


class Function:
    """Vectors of one, as the host and the specification have them."""

    def __init__(self, place: int, vectors: int, first: int) -> None:
        self.fn, self.place, self.vectors, self.first = number(place), place, vectors, first
        self.enable = self.mask = 0
        self.forget()

    def forget(self) -> None:
        self.table = [[0, 0, 0, 1] for _ in range(self.vectors)]
        self.pending: set[int] = set()

    def message(self, v: int) -> Message:
        low, high, data, _ = self.table[v]
        return self.fn, (high << 32 | low) & ~3, data

    def ask(self, v: int) -> list[Message]:
        """What is sent at once when vector v is asked for."""
        if not self.enable:
            return []
        if self.mask or self.table[v][3]:
            self.pending.add(v)
            return []
        return [self.message(v)]

    def due(self) -> list[Message]:
        """What has become free to go, in the order of the vectors."""
        if not self.enable:
            self.pending.clear()
            return []
        out = [] if self.mask else sorted(v for v in self.pending if not self.table[v][3])
        self.pending -= set(out)
        return [self.message(v) for v in out]


class Bench:
    def __init__(self, dut: Any, seed: int, stall: float = 0.0) -> None:
        self.dut, self.rng, self.stall = dut, random.Random(seed), stall
        num_fn, pf, vf = (int(os.environ[name]) for name in ("NUM_FN", "NUM_VEC", "VF_VEC"))
        start = -(-pf // vf) * vf
        self.fns = [Function(p, vf if p else pf, start + vf * (p - 1) if p else 0) for p in range(num_fn)]
        self.vectors = start + vf * (num_fn - 1)
        self.sent: list[Message] = []
        self.times: list[int] = []
        self.held: Message | None = None
        self.watched = True
        cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
        cocotb.start_soon(self.watch())

    async def watch(self) -> None:
        d = self.dut
        while True:
            await RisingEdge(d.clk)
            if d.rst.value == 1:
                self.held = None
            elif d.m_post_valid.value == 1:
                post = POST.unpack(int(d.m_post.value))
                now = post["fn"], post["addr"], post["data"]
                assert post["dwords"] == 1 and self.held in (None, now), "a message changed while it waited"
                self.held = now
                if d.m_post_ready.value == 1:
                    self.sent.append(now)
                    self.times.append(self.cycle)
                    self.held = None
            else:
                assert self.held is None, "a message was withdrawn"
            d.m_post_ready.value = int(self.rng.random() >= self.stall)

    @property
    def cycle(self) -> int:
        return int(get_sim_time("ns")) // 4

    async def clocks(self, n: int = 1) -> None:
        for _ in range(n):
            await RisingEdge(self.dut.clk)

    async def reset(self) -> None:
        d = self.dut
        d.rst.value = 1
        for s in (d.s_reg_valid, d.s_irq_valid, d.fn_rst, d.cfg_msix_enable, d.cfg_msix_mask, d.m_post_ready):
            s.value = 0
        await self.clocks(3)
        d.rst.value = 0
        for f in self.fns:
            f.enable = f.mask = 0
            f.forget()
        await self.clocks(self.vectors + 4)

    def configure(self) -> None:
        self.dut.cfg_msix_enable.value = sum(f.enable << f.place for f in self.fns)
        self.dut.cfg_msix_mask.value = sum(f.mask << f.place for f in self.fns)

    async def access(self, fn: int, wr: int, addr: int, be: int = 15, data: int = 0) -> int:
        d = self.dut
        d.s_reg_valid.value = 1
        d.s_reg.value = ACCESS.pack(wr=wr, fn=fn, addr=addr, be=be, wdata=data)
        await self.clocks()
        while d.s_reg_ready.value != 1:
            await self.clocks()
        d.s_reg_valid.value = 0
        while not wr:
            await self.clocks()
            if d.s_reg_rvalid.value == 1:
                return int(d.s_reg_rdata.value)
        return 0

    async def write(self, f: Function, addr: int, data: int, be: int = 15) -> None:
        v, k = addr >> 4, addr >> 2 & 3
        if addr < 0x1000 and v < f.vectors:
            mask = sum(0xFF << 8 * i for i in range(4) if be >> i & 1)
            new = f.table[v][k] & ~mask | data & mask
            f.table[v][k] = new & 1 if k == 3 else new
        await self.access(f.fn, 1, addr, be, data)

    async def irq(self, vector: int) -> None:
        d = self.dut
        d.s_irq_valid.value, d.s_irq_vector.value = 1, vector
        await self.clocks()
        while d.s_irq_ready.value != 1:
            await self.clocks()
        d.s_irq_valid.value = 0

    async def forget(self, *places: int) -> None:
        self.dut.fn_rst.value = sum(1 << p for p in set(places))
        await self.clocks()
        self.dut.fn_rst.value = 0

    async def settle(self) -> None:
        """Until nothing was sent for as long as a walk over all vectors takes."""
        start = self.cycle
        while self.held or self.cycle - max([start, *self.times[-1:]]) < self.vectors + 60:
            await self.clocks()

    def take(self) -> list[Message]:
        out, self.sent = self.sent, []
        return out

    async def check_pending(self, f: Function) -> None:
        got = 0
        for i in range(-(-f.vectors // 32)):
            got |= await self.access(f.fn, 0, 0x1000 + 4 * i) << 32 * i
        assert got == sum(1 << v for v in f.pending), f"pending bits of function {f.fn}"

    async def check_table(self, f: Function) -> None:
        for v in range(f.vectors):
            for k in range(4):
                got = await self.access(f.fn, 0, 16 * v + 4 * k)
                assert got == f.table[v][k], f"function {f.fn}, vector {v}, dword {k} is {got:#x}"

    async def write_all(self) -> None:
        """Every vector has a message that no other has, and is not masked."""
        for f in self.fns:
            for v in range(f.vectors):
                await self.write(f, 16 * v, 0xFEE0_0000 + 4 * self.rng.randrange(1 << 16))
                await self.write(f, 16 * v + 4, self.rng.getrandbits(32))
                await self.write(f, 16 * v + 8, f.fn << 16 | v)
                await self.write(f, 16 * v + 12, 0)

    async def enable_all(self) -> None:
        for f in self.fns:
            f.enable = 1
        self.configure()
        await self.settle()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def each_sees_its_own_vectors_alone(dut: Any) -> None:
    """Accesses at random, by functions that there are and others, then everything is read: a function has so many
    vectors, all masked after reset, and nothing behind them."""
    b = Bench(dut, 1)
    await b.reset()
    for f in b.fns:
        await b.check_table(f)
    for _ in range(600):
        f = b.rng.choice(b.fns)
        vector = b.rng.randrange(f.vectors + 2) if b.rng.random() < 0.8 else b.rng.randrange(512)
        be, data = b.rng.randrange(16), b.rng.getrandbits(32)
        await b.write(f, 16 * vector + 4 * b.rng.randrange(4), data, be)
        stranger = b.rng.choice((*NO_FUNCTION, number(len(b.fns))))
        at = 4 * b.rng.randrange(2048)
        await b.access(stranger, 1, at, 15, data)
        assert await b.access(stranger, 0, at) == 0
    for f in b.fns:
        await b.check_table(f)
        for addr in (16 * f.vectors, 16 * f.vectors + 12, 16 * 255, 0x1020, 0x1FFC):
            known = addr < 16 * f.vectors
            assert known or await b.access(f.fn, 0, addr) == 0, f"function {f.fn}: {addr:#x}"
        await b.check_pending(f)
    assert not b.sent


@cocotb.test(timeout_time=20, timeout_unit="ms")
@cocotb.parametrize(stall=[0.0, 0.6])
async def one_thing_at_a_time(dut: Any, stall: float) -> None:
    """Requests, masks of vectors and of functions, enables, resets of functions: the model is exact, and a message is
    that of the function whose vector it is."""
    b = Bench(dut, 2, stall)
    await b.reset()
    await b.write_all()
    senders: set[int] = set()
    for step in range(200):
        what = b.rng.choice(["irq", "irq", "irq", "irq", "mask", "mask", "fmask", "enable", "reset"])
        f = b.rng.choice(b.fns)
        v = b.rng.randrange(f.vectors)
        want: list[Message] = []
        if what == "irq" and b.rng.random() < 0.15:  # a number that no vector has: after the PF's, and behind all
            gap = [n for n in range(b.fns[0].vectors, b.fns[1].first)]
            await b.irq(b.rng.choice([*gap, b.vectors, b.vectors + 1, 0xFFFF]))
        elif what == "irq":
            await b.irq(f.first + v)
            want = f.ask(v)
        elif what == "mask":
            await b.write(f, 16 * v + 12, b.rng.getrandbits(32), b.rng.choice([1, 15, 14]))
        elif what == "fmask":
            f.mask = b.rng.randrange(2)
        elif what == "enable":
            f.enable = int(not f.enable or b.rng.random() < 0.5)
        elif b.rng.random() < 0.4:
            places = [f.place, *(b.rng.sample(range(len(b.fns)), 2) if b.rng.random() < 0.5 else [])]
            await b.forget(*places)
            for p in places:
                b.fns[p].forget()
            for w in range(f.vectors):  # its host sets them up again, at once
                await b.write(f, 16 * w + 8, f.fn << 16 | w)
                await b.write(f, 16 * w + 12, int(b.rng.random() < 0.3))
        b.configure()
        await b.settle()
        for g in b.fns:
            want += g.due()
        got = b.take()
        assert got == want, f"step {step} {what} {f.fn} {v}: sent {got}, want {want}"
        senders |= {fn for fn, _, _ in got}
        await b.check_pending(b.rng.choice(b.fns))
        if step % 40 == 0:
            for g in b.fns:
                await b.check_table(g)
    if len(b.fns) == 3:
        assert senders == {f.fn for f in b.fns}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def resets_of_one_cost_the_others_nothing(dut: Any) -> None:
    """Interrupts of others in every cycle that takes them: a function is reset, again and again. Its vectors are masked
    before anything else is done, and what was pending is gone; each of the others' requests is one message."""
    b = Bench(dut, 3)
    await b.reset()
    await b.write_all()
    await b.enable_all()
    victim = b.fns[1]
    others = [f for f in b.fns if f is not victim]
    asked: list[Message] = []
    stop = [False]

    async def ask() -> None:
        while not stop[0]:
            f = b.rng.choice(others)
            v = b.rng.randrange(f.vectors)
            await b.irq(f.first + v)
            asked.append(f.message(v))

    task = cocotb.start_soon(ask())
    for _ in range(30):
        await b.clocks(b.rng.randrange(20))
        await b.forget(victim.place)
        victim.forget()
        begin = b.cycle
        v = b.rng.randrange(victim.vectors)
        assert await b.access(victim.fn, 0, 16 * v + 12) == 1, "not masked"
        assert b.cycle - begin <= 2 * victim.vectors + 20
        assert await b.access(victim.fn, 0, 16 * v + 8) == 0
        await b.check_pending(victim)
        await b.write(victim, 16 * v + 8, b.rng.getrandbits(32))
        await b.write(victim, 16 * v + 12, b.rng.randrange(2))
    stop[0] = True
    while not task.done():
        await b.clocks()
    await b.settle()
    assert b.take() == asked and len(asked) > 200
    for f in b.fns:
        await b.check_table(f)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_was_pending_of_a_function_goes_with_it(dut: Any) -> None:
    """Masked requests of all; one is reset; all masks fall: its requests are gone, everybody else's leave once."""
    b = Bench(dut, 4)
    await b.reset()
    for _ in range(6):
        await b.write_all()
        for f in b.fns:
            f.mask = 1
        await b.enable_all()
        for f in b.fns:
            for v in b.rng.sample(range(f.vectors), min(3, f.vectors)):
                await b.irq(f.first + v)
                f.ask(v)
        gone = b.rng.sample(b.fns, b.rng.randrange(1, len(b.fns)))
        await b.forget(*(f.place for f in gone))
        for f in gone:
            f.forget()
        for f in b.fns:
            await b.check_pending(f)
            f.mask = 0
        b.configure()
        for f in gone:  # unmasked again: there is nothing to send
            for v in range(f.vectors):
                await b.write(f, 16 * v + 12, 0)
        await b.settle()
        want = [m for f in b.fns for m in f.due()]
        assert sorted(b.take()) == sorted(want) and want


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def latency_and_rate(dut: Any) -> None:
    """2 cycles to a message, one every 2 cycles, whichever functions they are."""
    b = Bench(dut, 5)
    await b.reset()
    await b.write_all()
    await b.enable_all()
    taken: list[int] = []
    want = []
    b.times.clear()
    dut.s_irq_valid.value = 1
    for _ in range(40):
        f = b.rng.choice(b.fns)
        v = b.rng.randrange(f.vectors)
        dut.s_irq_vector.value = f.first + v
        while True:
            await b.clocks()
            if dut.s_irq_ready.value == 1:
                break
        taken.append(b.cycle)
        want.append(f.message(v))
    dut.s_irq_valid.value = 0
    await b.settle()
    assert b.take() == want
    assert [sent - t for sent, t in zip(b.times, taken)] == [b.times[0] - taken[0]] * 40
    assert b.times[0] - taken[0] == 2 and [y - x for x, y in zip(taken, taken[1:])] == [2] * 39


@pytest.mark.parametrize(
    ("num_fn", "vectors", "vf_vectors"),
    [
        bench.rare(3, 13, 8),
        (17, 33, 8),
        bench.rare(3, 32, 1),
        bench.rare(4, 5, 32),
    ],
)
def test_db_pcie_msix_functions(num_fn: int, vectors: int, vf_vectors: int) -> None:
    values = {"NUM_FN": num_fn, "NUM_VEC": vectors, "VF_VEC": vf_vectors}
    bench.run(__file__, "db_pcie_msix", values, env={name: str(value) for name, value in values.items()})
