# SPDX-License-Identifier: Apache-2.0
"""db_ssd_bar: every access reaches its owner, or nobody, and every read has one answer, the owner's; a doorbell says
which of all queues its function means, or that there is none."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from functions import number, place_of
from structs import layout

REG = layout("db_pcie_block_pkg", "reg_access_t")
DOORBELL = layout("db_ssd_pkg", "doorbell_t")
DOORBELL_ERR = layout("db_ssd_pkg", "doorbell_err_t")
FN_QUEUES = layout("db_ssd_pkg", "fn_queues_t")
NUM_FN = int(os.environ.get("NUM_FN", "1"))
LAST = int(os.environ.get("NUM_QP", "1"))  # I/O queues of all functions


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
        self.shares = [(0, LAST)]  # by place: I/O queues before its first, of all functions; how many it has

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, unit="ns").start())
        for name in (
            "s_fn_queues_valid",
            "s_fn_queues",
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

    async def share_out(self) -> None:
        """The firmware says which I/O queues the functions have, in any order of places and queues."""
        d, rng = self.dut, self.rng
        ends = sorted(rng.choices(range(LAST + 1), k=NUM_FN - 1))
        counts = [y - x for x, y in zip([0, *ends], [*ends, LAST])]
        before, self.shares = 0, [(0, LAST)] * NUM_FN
        for place in rng.sample(range(NUM_FN), NUM_FN):
            self.shares[place] = before, counts[place]
            before += counts[place]
        for place in rng.sample(range(NUM_FN), NUM_FN):
            first, count = self.shares[place]
            d.s_fn_queues_valid.value = 1
            # its queues are numbered through with all admin queues before them
            d.s_fn_queues.value = FN_QUEUES.pack(place=place, before_first=NUM_FN - 1 + first, count=count)
            await FallingEdge(d.clk)
            d.s_fn_queues_valid.value = 0
            d.s_fn_queues.value = self.rng.getrandbits(FN_QUEUES.width)

    def check_doorbell(self, a: Access, got: dict[str, int]) -> None:
        """Admin queues of all functions come first, then the I/O queues; a function has what it was given, and one that
        is not there nothing."""
        qid, place = a.addr - 0x1000 >> 3, place_of(a.fn, NUM_FN)
        exists = int(place is not None and qid <= self.shares[place][1])
        assert (got["fn"], got["qid"], got["exists"], got["value"]) == (a.fn, qid, exists, a.wdata & 0xFFFF), f"{a}"
        if exists:
            assert got["number"] == (NUM_FN + self.shares[place][0] + qid - 1 if qid else place), f"{a}: {got}"

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
                    self.check_doorbell(a, DOORBELL.unpack(int(d.m_doorbell.value)))
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


def random_access(b: Bench) -> Access:
    rng = b.rng
    fn = rng.choice([number(rng.randrange(NUM_FN))] * 3 + [rng.choice((1, 3, 255, number(NUM_FN)))])
    last = rng.choice(b.shares)[1]
    page = rng.choice([0, 0, 1, 1, 1, 2, 3, 4, 7, 8, 15])
    addr = page << 12 | rng.choice([0, 4, 8, 0xC, 0xFFC, 0xFF8, 8 * last, 8 * last + 12, rng.randrange(0, 4096, 4)])
    return Access(
        rng.random() < 0.6,
        fn,
        addr,
        rng.choice([15, 15, 3, 12, 1, 0, 7, 14]),
        rng.getrandbits(32),
    )


@cocotb.test()
async def all_kinds(dut: Any) -> None:
    for seed, rate in enumerate((1.0, 0.5, 0.1)):
        b = Bench(dut, seed, rate)
        await b.start()
        for step in range(400):
            if step % 50 == 0 and NUM_FN > 1:
                await b.share_out()
            a = random_access(b)
            reached, answered = await b.access(a, b.rng.choice([1, 1, 2, 7]))
            assert (reached >= 0) == (a.owner() != "nobody") and (answered >= 0) == (not a.wr)


@cocotb.test()
async def latency(dut: Any) -> None:
    """A cycle to the owner, a cycle back."""
    b = Bench(dut, 9, 1.0)
    await b.start()
    if NUM_FN > 1:
        await b.share_out()
    for _ in range(200):
        a = random_access(b)
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
        errors = [{name: b.rng.getrandbits(DOORBELL_ERR[name].width) for name in DOORBELL_ERR} for _ in range(2)]
        dut.s_doorbell_err_valid.value = valid
        dut.s_doorbell_err.value = DOORBELL_ERR.pack(errors[0]) | DOORBELL_ERR.pack(errors[1]) << DOORBELL_ERR.width
        await RisingEdge(dut.clk)
        assert int(dut.m_doorbell_err_valid.value) == int(valid != 0)
        if valid:
            assert DOORBELL_ERR.unpack(int(dut.m_doorbell_err.value)) == errors[0 if valid & 1 else 1]
        await FallingEdge(dut.clk)


@pytest.mark.parametrize(("num_fn", "num_qp"), [(1, 32), bench.rare(1, 254), (3, 9), (17, 238)])
def test_db_ssd_bar(num_fn: int, num_qp: int) -> None:
    values = {"NUM_FN": num_fn, "NUM_QP": num_qp}
    bench.run(__file__, "db_ssd_bar", values, env={name: str(value) for name, value in values.items()})
