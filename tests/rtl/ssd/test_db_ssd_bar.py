# SPDX-License-Identifier: Apache-2.0
"""db_ssd_bar: every access reaches its owner, or nobody, and every read has one answer, the owner's."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from structs import layout

REG = layout("db_pcie_pkg", "reg_access_t")
DOORBELL = layout("db_ssd_pkg", "doorbell_t")
DOORBELL_ERR = layout("db_ssd_pkg", "doorbell_err_t")


@dataclass(frozen=True)
class Access:
    wr: bool
    fn: int
    addr: int
    be: int
    wdata: int

    def owner(self) -> str:
        """BAR 0: 4 KiB of registers, 4 KiB of doorbells, 8 KiB for MSI-X; nothing behind. A doorbell is 16 bits."""
        page = self.addr >> 12
        if page == 1 and self.wr and self.be & 3 == 3:
            return "head" if self.addr & 4 else "tail"
        return {0: "regs", 2: "msix", 3: "msix"}.get(page, "nobody")


class Bench:
    def __init__(self, dut: Any, seed: int, rate: float) -> None:
        self.dut = dut
        self.rng = random.Random(seed)
        self.rate = rate  # of the owners' ready
        self.cycle = 0

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, unit="ns").start())
        for name in (
            "s_reg_valid",
            "s_reg",
            "m_reg_ready",
            "m_reg_rvalid",
            "m_reg_rdata",
            "m_doorbell_ready",
            "s_doorbell_err_valid",
            "s_doorbell_err",
        ):
            getattr(d, name).value = 0
        d.rst.value = 1
        for _ in range(3):
            await FallingEdge(d.clk)
        d.rst.value = 0

    async def access(self, a: Access, delay: int) -> tuple[int, int]:
        """Does an access, answered `delay` cycles after its owner has it. Cycles until its owner has it, until the
        answer comes: counted from its acceptance, -1: never."""
        d, rng, owner = self.dut, self.rng, a.owner()
        d.s_reg_valid.value = 1
        d.s_reg.value = REG.pack(wr=int(a.wr), fn=a.fn, addr=a.addr, be=a.be, wdata=a.wdata)
        want = {"regs": (1, 0), "msix": (2, 0), "tail": (0, 1), "head": (0, 2)}.get(owner, (0, 0))
        answer = rng.getrandbits(32)
        taken = reached = answered = -1
        for _ in range(100):
            ready = rng.choices([0, 1], [1 - self.rate, self.rate], k=4)
            d.m_reg_ready.value, d.m_doorbell_ready.value = ready[0] | ready[1] << 1, ready[2] | ready[3] << 1
            answers = want[0] and not a.wr and reached >= 0 and self.cycle == reached + delay
            side = int(owner == "msix")
            d.m_reg_rvalid.value = want[0] if answers else 0
            d.m_reg_rdata.value = answer << 32 * side | rng.getrandbits(32) << 32 * (1 - side)
            await RisingEdge(d.clk)
            valid = int(d.m_reg_valid.value), int(d.m_doorbell_valid.value)
            if taken < 0 or reached >= 0:
                assert valid == (0, 0), f"{a}: an access that nobody made"
            else:
                assert valid in ((0, 0), want), f"{a}: {valid}"
                if valid[0]:
                    got = REG.unpack(int(d.m_reg.value))
                    assert (got["wr"], got["fn"], got["be"]) == (a.wr, a.fn, a.be)
                    assert not a.wr or got["wdata"] == a.wdata
                    assert got["addr"] == a.addr - (0x2000 if side else 0)
                if valid[1]:
                    doorbell = {"fn": a.fn, "qid": a.addr - 0x1000 >> 3, "value": a.wdata & 0xFFFF}
                    assert DOORBELL.unpack(int(d.m_doorbell.value)) == doorbell
                if valid[0] & (ready[0] | ready[1] << 1) or valid[1] & (ready[2] | ready[3] << 1):
                    reached = self.cycle
            if d.s_reg_rvalid.value == 1:
                assert not a.wr and taken >= 0 and answered < 0, f"{a}: an answer that nobody asked for"
                assert int(d.s_reg_rdata.value) == (answer if want[0] else 0), f"{a}: answer"
                answered = self.cycle
            if d.s_reg_ready.value == 1 and d.s_reg_valid.value == 1:
                taken = self.cycle
            self.cycle += 1
            await FallingEdge(d.clk)
            if taken >= 0:
                d.s_reg_valid.value = 0
            over = answered >= 0 if not a.wr else reached >= 0 or want == (0, 0)
            if taken >= 0 and over and rng.random() < 0.7:
                break
        else:
            raise AssertionError(f"{a}: no end")
        return reached - taken if reached >= 0 else -1, answered - taken if answered >= 0 else -1


def random_access(rng: random.Random) -> Access:
    page = rng.choice([0, 0, 1, 1, 1, 2, 3, 4, 7, 8, 15])
    addr = page << 12 | rng.choice([0, 4, 8, 0xC, 0xFFC, 0xFF8, rng.randrange(0, 4096, 4)])
    return Access(
        rng.random() < 0.6,
        rng.choice([0, 0, 1, 255]),
        addr,
        rng.choice([15, 15, 3, 12, 1, 0, 7, 14]),
        rng.getrandbits(32),
    )


@cocotb.test()
async def all_kinds(dut: Any) -> None:
    for seed, rate in enumerate((1.0, 0.5, 0.1)):
        b = Bench(dut, seed, rate)
        await b.start()
        for _ in range(400):
            a = random_access(b.rng)
            reached, answered = await b.access(a, b.rng.choice([1, 1, 2, 7]))
            assert (reached >= 0) == (a.owner() != "nobody") and (answered >= 0) == (not a.wr)


@cocotb.test()
async def latency(dut: Any) -> None:
    """A cycle to the owner, a cycle back."""
    b = Bench(dut, 9, 1.0)
    await b.start()
    for _ in range(200):
        a = random_access(b.rng)
        delay = b.rng.choice([1, 3])
        got = await b.access(a, delay)
        if a.owner() == "nobody":
            assert got == (-1, -1 if a.wr else 2)
        else:
            assert got == (1, -1 if a.wr else 2 + delay)


@cocotb.test()
async def doorbell_errors_leave_as_one(dut: Any) -> None:
    """Those of submission queues come first; nothing is reported that was not."""
    b = Bench(dut, 4, 1.0)
    await b.start()
    for valid in (0, 1, 2, 3, 1, 0, 2):
        errors = [{"kind": b.rng.getrandbits(1), "qid": b.rng.getrandbits(8)} for _ in range(2)]
        dut.s_doorbell_err_valid.value = valid
        dut.s_doorbell_err.value = DOORBELL_ERR.pack(errors[0]) | DOORBELL_ERR.pack(errors[1]) << DOORBELL_ERR.width
        await RisingEdge(dut.clk)
        assert int(dut.m_doorbell_err_valid.value) == int(valid != 0)
        if valid:
            assert DOORBELL_ERR.unpack(int(dut.m_doorbell_err.value)) == errors[0 if valid & 1 else 1]
        await FallingEdge(dut.clk)


def test_db_ssd_bar() -> None:
    bench.run(__file__, "db_ssd_bar")
