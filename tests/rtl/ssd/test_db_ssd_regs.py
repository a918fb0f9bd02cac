# SPDX-License-Identifier: Apache-2.0
"""db_ssd_regs against a model of the registers written from NVMe Base 2.0, section 3.1.3."""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge
from structs import layout

REG = layout("db_pcie_block_pkg", "reg_access_t")
HOST_REGS = layout("db_ssd_pkg", "host_regs_t")
CSTS_BITS = layout("db_ssd_pkg", "csts_t")

CAP, VS, INTMS, INTMC, CC, CSTS, NSSR, AQA, ASQ, ACQ, CRTO = 0, 8, 0xC, 0x10, 0x14, 0x1C, 0x20, 0x24, 0x28, 0x30, 0x68
CC_MASK = 0x00FF_FFF1  # CRIME is not offered
WRITABLE = {AQA: 0x0FFF_0FFF, ASQ: 0xFFFF_F000, ASQ + 4: 0xFFFF_FFFF, ACQ: 0xFFFF_F000, ACQ + 4: 0xFFFF_FFFF}


class Bench:
    def __init__(self, dut, seed: int) -> None:
        self.dut = dut
        self.rng = random.Random(seed)
        self.events = {"cc_written": 0, "subsystem_reset": 0}
        self.csts = {"rdy": 0, "cfs": 0, "shst": 0, "nssro": 0}

    async def start(self) -> None:
        d = self.dut
        for name in ("s_reg_valid", "s_reg", "flr_rst", "csts"):
            getattr(d, name).value = 0
        d.rst.value = 1
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        await ClockCycles(d.clk, 4)
        await FallingEdge(d.clk)
        d.rst.value = 0
        for name in self.events:
            cocotb.start_soon(self.count(name))
        await ClockCycles(d.clk, 3)

    async def count(self, name: str) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            self.events[name] += self.host_regs(name)

    def host_regs(self, name: str) -> int:
        return HOST_REGS.unpack(int(self.dut.host_regs.value))[name]

    def set_csts(self, **values: int) -> None:
        self.csts.update(values)
        self.dut.csts.value = CSTS_BITS.pack(self.csts)

    async def access(self, wr: bool, addr: int, data: int = 0, be: int = 15, fn: int = 0) -> int:
        d = self.dut
        await FallingEdge(d.clk)
        for _ in range(self.rng.choice((0, 0, 0, 1, 4))):
            await FallingEdge(d.clk)
        d.s_reg_valid.value, d.s_reg.value = 1, REG.pack(wr=int(wr), fn=fn, addr=addr, be=be, wdata=data)
        while not d.s_reg_ready.value:
            await FallingEdge(d.clk)
        await FallingEdge(d.clk)
        d.s_reg_valid.value = 0
        d.s_reg.value = REG.pack(wr=int(wr), fn=fn, addr=addr, be=be, wdata=self.rng.getrandbits(32))
        if wr:
            return 0
        for _ in range(4):
            if d.s_reg_rvalid.value:
                return int(d.s_reg_rdata.value)
            await FallingEdge(d.clk)
        raise AssertionError("no answer")

    async def read(self, addr: int, fn: int = 0) -> int:
        return await self.access(False, addr, fn=fn)

    async def write(self, addr: int, data: int, be: int = 15, fn: int = 0) -> None:
        await self.access(True, addr, data, be, fn)

    async def settle(self) -> None:
        await ClockCycles(self.dut.clk, 5)
        await FallingEdge(self.dut.clk)

    async def flr(self) -> None:
        await FallingEdge(self.dut.clk)
        self.dut.flr_rst.value = 1
        await FallingEdge(self.dut.clk)
        self.dut.flr_rst.value = 0
        await self.settle()

    async def set_nssro(self) -> None:
        await FallingEdge(self.dut.clk)
        self.set_csts(nssro=1)
        await FallingEdge(self.dut.clk)
        self.set_csts(nssro=0)
        await self.settle()


def bytes_of(be: int) -> int:
    return sum(0xFF << 8 * i for i in range(4) if be >> i & 1)


@cocotb.test()
async def constants(dut):
    b = Bench(dut, 1)
    await b.start()
    cap = await b.read(CAP) | await b.read(CAP + 4) << 32
    assert cap & 0xFFFF == 4095, "MQES"
    assert cap >> 16 & 1 == 1, "CQR"
    assert cap >> 17 & 3 == 1, "AMS: weighted round robin"
    assert cap >> 24 & 0xFF == 120, "TO"
    assert cap >> 32 & 15 == 0, "DSTRD"
    assert cap >> 36 & 1 == 1, "NSSRS"
    assert cap >> 37 & 0xFF == 0x41, "CSS: NVM, I/O command sets"
    assert cap >> 45 & 1 == 0, "BPS"
    assert cap >> 46 & 3 == 1, "CPS"
    assert cap >> 48 & 15 == 0 and cap >> 52 & 15 == 0, "MPSMIN, MPSMAX"
    assert cap >> 56 == 0b01000, "PMRS 0, CMBS 0, NSSS 0, CRMS: with media"
    assert await b.read(VS) == 0x20000
    assert await b.read(CRTO) == 120
    for addr in (0x18, *range(0x38, 0x68, 4), *range(0x6C, 0x80, 4), 0x80, 0x100, 0xE00, 0xFFC):
        await b.write(addr, 0xFFFF_FFFF)
        assert await b.read(addr) == 0, f"reserved {addr:#x}"
    for addr in (CAP, CAP + 4, VS, CRTO):
        before = await b.read(addr)
        await b.write(addr, ~before & 0xFFFF_FFFF)
        assert await b.read(addr) == before, f"read only {addr:#x}"
    await b.write(AQA, 0x0123_0456)
    assert await b.read(AQA, fn=1) == 0, "another function"
    await b.write(AQA, 0, fn=1)
    assert await b.read(AQA) == 0x0123_0456
    assert b.events == {"cc_written": 0, "subsystem_reset": 0}


@cocotb.test()
async def random_accesses(dut):
    """Any writes with any byte enables, resets between them, against the model."""
    b = Bench(dut, 2)
    await b.start()
    rng = random.Random(3)
    state = dict.fromkeys(WRITABLE, 0)
    cc = mask = nssro = 0
    cc_writes = magics = 0
    for step in range(1500):
        kind = rng.randrange(20)
        be = rng.choice((15, 15, 15, 1, 2, 4, 8, 3, 12, 6))
        data = rng.getrandbits(32)
        if kind < 8:
            addr = rng.choice(list(WRITABLE))
            await b.write(addr, data, be)
            m = bytes_of(be)
            state[addr] = ((state[addr] & ~m) | (data & m)) & WRITABLE[addr]
        elif kind < 11:
            await b.write(CC, data, be)
            m = bytes_of(be)
            new = ((cc & ~m) | (data & m)) & CC_MASK
            cc_writes += 1
            if cc & 1 and not new & 1:
                new = mask = 0  # controller reset; AQA, ASQ, ACQ stay
            cc = new
        elif kind < 13:
            await b.write(INTMS, data, be)
            mask |= data & bytes_of(be)
        elif kind < 15:
            await b.write(INTMC, data, be)
            mask &= ~(data & bytes_of(be))
        elif kind == 15:
            data = rng.choice((0x4E56_4D65, 0x4E56_4D65, data))
            await b.write(NSSR, data, be)
            if data == 0x4E56_4D65 and be == 15:
                magics += 1
                state = dict.fromkeys(WRITABLE, 0)
                cc = mask = nssro = 0
        elif kind == 16:
            await b.set_nssro()
            nssro = 1
        elif kind == 17:
            await b.write(CSTS, data, be)
            if be & 1 and data >> 4 & 1:
                nssro = 0
        elif kind == 18 and rng.random() < 0.2:
            await b.settle()
            await b.flr()
            state = dict.fromkeys(WRITABLE, 0)
            cc = mask = nssro = 0
        rdy, cfs, shst = rng.getrandbits(1), rng.getrandbits(1), rng.randrange(3)
        b.set_csts(rdy=rdy, cfs=cfs, shst=shst)
        if rng.random() < 0.3:
            await b.settle()
            assert b.host_regs("cc") == cc, f"step {step}"
            assert b.host_regs("aqa") == state[AQA] and int(dut.intms.value) == mask
            assert b.host_regs("asq") == state[ASQ] | state[ASQ + 4] << 32
            assert b.host_regs("acq") == state[ACQ] | state[ACQ + 4] << 32
            assert b.events == {"cc_written": cc_writes, "subsystem_reset": magics}
        expected = {INTMS: mask, INTMC: mask, CC: cc, CSTS: rdy | cfs << 1 | shst << 2 | nssro << 4, NSSR: 0, **state}
        addr = rng.choice(list(expected))
        got = await b.read(addr)
        assert got == expected[addr], f"step {step}: register {addr:#x} is {got:#x}, not {expected[addr]:#x}"


def test_db_ssd_regs() -> None:
    import rtl_bench as bench
    from doorbell import build

    gen = build.regs() / "rtl"
    bench.run(__file__, "db_ssd_regs", extra_sources=(gen / "db_nvme_regs_pkg.sv", gen / "db_nvme_regs.sv"))
