# SPDX-License-Identifier: Apache-2.0
"""db_ssd_fn_regs against a model of the registers of each function (NVMe Base 2.0, 3.1.3, 3.7.2): a function reads and
changes its own alone, its resets are its own, and one that is not there has none. With a Controller Memory Buffer the
window of each function is what its registers say."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge
from functions import number
from structs import layout
from test_db_ssd_regs import ACQ, AQA, ASQ, CAP, CC, CC_MASK, CRTO, CSTS, INTMC, INTMS, NSSR, VS, WRITABLE, bytes_of

REG = layout("db_pcie_block_pkg", "reg_access_t")
HOST_REGS = layout("db_ssd_pkg", "host_regs_t")
LOOK = layout("db_ssd_pkg", "vf_look_t")
CSTS_BITS = layout("db_ssd_pkg", "csts_t")
WINDOW = layout("db_pcie_block_pkg", "cmb_window_t")
NUM_FN, CMB_LOG2 = (int(os.environ.get(name, default)) for name, default in (("NUM_FN", "1"), ("CMB_LOG2", "0")))
CMBLOC, CMBSZ, CMBMSC, CMBSTS = 0x38, 0x3C, 0x50, 0x58
OWN = WRITABLE | ({CMBMSC: 0xFFFF_F003, CMBMSC + 4: 0xFFFF_FFFF} if CMB_LOG2 else {})
MAGIC = 0x4E56_4D65


class Function:
    """Registers of one, as its host has them. A VF has no INTx, so no interrupt mask, and no reset of the subsystem."""

    def __init__(self, place: int) -> None:
        self.pf = place == 0
        self.cc_written = self.subsystem_resets = 0
        self.csts = {"rdy": 0, "cfs": 0, "shst": 0}
        self.base_invalid = 0
        self.reset()

    def reset(self) -> None:
        self.values = dict.fromkeys(OWN, 0)
        self.cc = self.mask = 0

    def reset_buffer(self) -> None:
        self.values.update(dict.fromkeys(OWN.keys() - WRITABLE.keys(), 0))

    def write(self, addr: int, data: int, be: int) -> None:
        enabled = bytes_of(be)
        if addr in OWN:
            self.values[addr] = (self.values[addr] & ~enabled | data & enabled) & OWN[addr]
        elif addr == CC:
            self.cc_written += 1
            new = (self.cc & ~enabled | data & enabled) & CC_MASK
            if self.cc & 1 and not new & 1:
                new = self.mask = 0
            self.cc = new
        elif self.pf and addr in (INTMS, INTMC):
            self.mask = self.mask | data & enabled if addr == INTMS else self.mask & ~(data & enabled)
        elif self.pf and addr == NSSR:
            if data == MAGIC and be == 15:
                self.subsystem_resets += 1
                self.reset()

    def read(self, addr: int) -> int:
        c = self.csts
        status = c["rdy"] | c["cfs"] << 1 | c["shst"] << 2
        shown = self.values.get(CMBMSC, 0) & 1
        buffer = {
            CMBLOC: shown * 0xE4,  # BAR 4, CDPMLS, CDPCILS, CDMMMS
            CMBSZ: shown * (1 << CMB_LOG2 & ~0xFFF | 0x1F),
            CMBMSC: 0,
            CMBMSC + 4: 0,
            CMBSTS: self.base_invalid if CMB_LOG2 else 0,
        }
        always = {INTMS: self.mask, INTMC: self.mask, CC: self.cc, CSTS: status, NSSR: 0, VS: 0x20000}
        return {**always, **buffer, **self.values}[addr]

    def window(self) -> int | None:
        """The base, if it is enabled."""
        low = self.values.get(CMBMSC, 0)
        return self.values[CMBMSC + 4] << 32 | low & ~3 if low & 3 == 3 else None


class Bench:
    def __init__(self, dut: Any) -> None:
        self.dut, self.rng = dut, random.Random(7)
        self.fns = [Function(place) for place in range(NUM_FN)]
        self.cc_written = [0] * NUM_FN
        self.subsystem_resets = 0
        self.windows: list[int | None] = [None] * NUM_FN

    async def start(self) -> None:
        d = self.dut
        d.s_reg_valid.value = d.s_reg.value = d.flr_rst.value = d.csts.value = d.look_valid.value = d.look.value = 0
        d.cmb_base_invalid.value = 0
        d.rst.value = 1
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        await ClockCycles(d.clk, 4)
        await FallingEdge(d.clk)
        d.rst.value = 0
        cocotb.start_soon(self.watch())
        await ClockCycles(d.clk, 3)

    async def watch(self) -> None:
        d = self.dut
        while True:
            await RisingEdge(d.clk)
            for place in range(NUM_FN):
                self.cc_written[place] += int(d.cc_written.value) >> place & 1
                if d.cmb_set_valid.value and int(d.cmb_set_place.value) == place:
                    window = WINDOW.unpack(int(d.cmb_set.value))
                    self.windows[place] = window["base"] << 12 if window["enable"] else None
                if int(d.cmb_clear.value) >> place & 1:
                    self.windows[place] = None
            self.subsystem_resets += HOST_REGS.unpack(int(d.host_regs.value))["subsystem_reset"]

    async def access(self, fn: int, wr: bool, addr: int, data: int = 0, be: int = 15) -> tuple[int, int]:
        """What was read, and the cycles from when it was taken until then."""
        d = self.dut
        await FallingEdge(d.clk)
        d.s_reg_valid.value, d.s_reg.value = 1, REG.pack(wr=int(wr), fn=fn, addr=addr, be=be, wdata=data)
        while not d.s_reg_ready.value:
            await FallingEdge(d.clk)
        await FallingEdge(d.clk)
        d.s_reg_valid.value = 0
        d.s_reg.value = self.rng.getrandbits(REG.width)
        for cycles in range(1, 5):
            if d.s_reg_rvalid.value:
                assert not wr
                return int(d.s_reg_rdata.value), cycles
            await FallingEdge(d.clk)
        assert wr, "no answer"
        return 0, 0

    async def look(self, place: int, word: int) -> tuple[int, int]:
        """A word of a VF's registers, as the firmware gets it, and how many cycles later."""
        d = self.dut
        await FallingEdge(d.clk)
        d.look_valid.value, d.look.value = 1, LOOK.pack(place=place, word=word)
        for cycles in range(1, 10 + 8 * NUM_FN):
            await FallingEdge(d.clk)
            if d.look_answer.value:
                d.look_valid.value = 0
                return int(d.look_data.value), cycles
        raise AssertionError("no answer")

    async def check(self) -> None:
        """What the firmware and INTx see, all functions."""
        await ClockCycles(self.dut.clk, 5)
        for place, f in enumerate(self.fns):
            await FallingEdge(self.dut.clk)
            v = f.values
            words = [f.cc, v[AQA], v[ASQ], v[ASQ + 4], v[ACQ], v[ACQ + 4]]
            if place:
                assert [(await self.look(place, i))[0] for i in range(6)] == words, f"place {place}"
            else:
                got = HOST_REGS.unpack(int(self.dut.host_regs.value))
                want = {"cc": f.cc, "aqa": v[AQA], "asq": v[ASQ] | v[ASQ + 4] << 32, "acq": v[ACQ] | v[ACQ + 4] << 32}
                assert {name: got[name] for name in want} == want
            assert int(self.dut.cc_en.value) >> place & 1 == f.cc & 1, f"place {place}"
        assert self.windows == [f.window() for f in self.fns]
        assert int(self.dut.intms.value) == self.fns[0].mask, "the mask is that of the PF"
        assert self.cc_written == [f.cc_written for f in self.fns]
        assert self.subsystem_resets == self.fns[0].subsystem_resets


@cocotb.test()
async def each_has_its_own(dut: Any) -> None:
    """Writes, resets and status of functions at random, also by functions that are not there."""
    b = Bench(dut)
    await b.start()
    rng = b.rng
    constants = {addr: (await b.access(0, False, addr))[0] for addr in (CAP, CAP + 4, VS, CRTO)}
    assert constants[CAP] & 0xFFFF == 4095 and constants[CAP + 4] >> 4 & 1 == 1, "MQES; the PF has NSSRS"
    assert constants[CAP + 4] >> 25 & 1 == bool(CMB_LOG2), "CMBS"
    constants[CAP + 4] &= ~0x10
    for place in range(1, NUM_FN):
        for addr, want in constants.items():
            assert (await b.access(number(place), False, addr))[0] == want, f"place {place}, {addr:#x}"
    strangers = (1, 2, 3, number(NUM_FN), number(17), 255)
    for _ in range(1500):
        place = rng.randrange(NUM_FN) if rng.random() < 0.8 else 0
        f, fn = b.fns[place], number(place)
        kind = rng.randrange(20)
        if kind < 12:
            addr = rng.choice([*OWN, CC, CC, CC, INTMS, INTMS, INTMC, NSSR])
            data = MAGIC if addr == NSSR and rng.random() < 0.7 else rng.getrandbits(32)
            be = rng.choice((15, 15, 15, 1, 2, 4, 8, 3, 12, 6))
            resets = f.subsystem_resets
            f.write(addr, data, be)
            for g in b.fns if f.subsystem_resets != resets else ():
                g.reset_buffer()
            await b.access(fn, True, addr, data, be)
        elif kind < 14:
            stranger = rng.choice(strangers)
            await b.access(stranger, True, rng.choice([*OWN, CC, INTMS, NSSR]), rng.choice([MAGIC, 0xFFFF_FFFF]))
            got, _ = await b.access(stranger, False, rng.choice([CC, AQA, ASQ + 4, INTMS, CSTS, CMBMSC]))
            assert got == 0, f"function {stranger}"
        elif kind == 14:  # several may be reset at once
            places = {place, rng.randrange(NUM_FN)}
            if rng.random() < 0.5:
                await b.check()
            await ClockCycles(dut.clk, 4)  # what was written last has been
            await FallingEdge(dut.clk)
            dut.flr_rst.value = sum(1 << p for p in places)
            await FallingEdge(dut.clk)
            dut.flr_rst.value = 0
            for p in places:
                b.fns[p].reset()
            if rng.random() < 0.5:
                await b.check()
        elif kind == 15:
            f.csts = {"rdy": rng.getrandbits(1), "cfs": rng.getrandbits(1), "shst": rng.randrange(3)}
            dut.csts.value = sum(CSTS_BITS.pack(g.csts) << CSTS_BITS.width * p for p, g in enumerate(b.fns))
        elif kind == 16:
            await b.check()
        elif kind == 17:
            f.base_invalid ^= 1
            dut.cmb_base_invalid.value = sum(g.base_invalid << p for p, g in enumerate(b.fns))
        reader = rng.randrange(NUM_FN)
        addr = rng.choice([*WRITABLE, CC, INTMS, INTMC, CSTS, NSSR, VS, CMBLOC, CMBSZ, CMBMSC, CMBMSC + 4, CMBSTS])
        got, cycles = await b.access(number(reader), False, addr)
        assert got == b.fns[reader].read(addr), f"place {reader}, {addr:#x}: {got:#x}"
        assert cycles == 2
    await b.check()
    assert all(f.cc_written for f in b.fns) and b.subsystem_resets


@cocotb.test()
async def looks_beside_accesses(dut: Any) -> None:
    """The firmware looks while a host writes and reads, one access behind the other: a look is answered in 2 cycles at
    most, with what is there before or after a write; accesses take as long as ever."""
    b = Bench(dut)
    await b.start()
    if NUM_FN == 1:
        return
    await ClockCycles(dut.clk, 8 * NUM_FN)
    done = [False]
    seen: dict[int, set[int]] = {place: {0} for place in range(1, NUM_FN)}

    async def host() -> None:
        for _ in range(400):
            place = b.rng.randrange(1, NUM_FN)
            data = b.rng.getrandbits(32)
            seen[place] |= {data}
            b.fns[place].write(ASQ + 4, data, 15)
            await b.access(number(place), True, ASQ + 4, data)
            got, cycles = await b.access(number(place), False, ASQ + 4)
            assert (got, cycles) == (data, 2)
        done[0] = True

    task = cocotb.start_soon(host())
    looks = 0
    while not done[0]:
        place = b.rng.randrange(1, NUM_FN)
        before = b.fns[place].values[ASQ + 4]
        got, cycles = await b.look(place, 3)
        assert cycles <= 2
        assert got in (before, b.fns[place].values[ASQ + 4]) or got in seen[place]
        looks += 1
        await ClockCycles(dut.clk, b.rng.randrange(4))
    await task
    assert looks > 100
    await b.check()


@cocotb.test()
async def resets_beside_a_window(dut: Any) -> None:
    """A function-level reset in any cycle around a write of CMBMSC: the window is what can be read then."""
    b = Bench(dut)
    await b.start()
    if not CMB_LOG2:
        return

    async def reset(place: int, cycle: int) -> None:
        await ClockCycles(dut.clk, cycle)
        await FallingEdge(dut.clk)
        dut.flr_rst.value = 1 << place
        await FallingEdge(dut.clk)
        dut.flr_rst.value = 0

    kept = 0
    for cycle in range(8):
        for place, f in enumerate(b.fns):
            fn = number(place)
            task = cocotb.start_soon(reset(place, cycle))
            await b.access(fn, True, CMBMSC, cycle << 12 | 3)
            await task
            await ClockCycles(dut.clk, 4)
            for addr in (CMBMSC, CMBMSC + 4):
                f.values[addr] = (await b.access(fn, False, addr))[0]
            assert f.values[CMBMSC] in (0, cycle << 12 | 3)
            assert b.windows[place] == f.window(), f"place {place}, cycle {cycle}"
            kept += f.window() is not None
    assert 0 < kept < 8 * NUM_FN


@pytest.mark.parametrize("num_fn, cmb_log2", [(1, 0), (1, 12), (3, 16), bench.rare(3, 0), bench.rare(17, 30)])
def test_db_ssd_fn_regs(num_fn: int, cmb_log2: int) -> None:
    from doorbell import build

    gen = build.regs() / "rtl"
    sources = (gen / "db_nvme_regs_pkg.sv", gen / "db_nvme_regs.sv")
    parameters = {"NUM_FN": num_fn, "CMB_LOG2": cmb_log2}
    env = {name: str(value) for name, value in parameters.items()}
    bench.run(__file__, "db_ssd_fn_regs", parameters, extra_sources=sources, env=env)
