# SPDX-License-Identifier: Apache-2.0
"""db_ssd_admin_mem: however many banks it is made of, it is one memory; the copy engine goes first; what is behind its
end is nobody's word."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from structs import layout

ACCESS = layout("db_ssd_admin_pkg", "ram_access_t")


async def start(dut: Any) -> int:
    """The words that it has."""
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    for s in (dut.s_copy_req, dut.s_copy, dut.s_cpu_req, dut.s_cpu):
        s.value = 0
    await FallingEdge(dut.clk)
    return int(dut.BYTES.value) // 4


async def access(dut: Any, addr: int, we: int = 0, data: int = 0, port: str = "cpu") -> int:
    """An access of one cycle; what is read."""
    getattr(dut, f"s_{port}").value = ACCESS.pack(we=we, addr=addr, wdata=data)
    getattr(dut, f"s_{port}_req").value = 1
    await FallingEdge(dut.clk)
    getattr(dut, f"s_{port}_req").value = 0
    return int(dut.rdata.value)


@cocotb.test()
async def words_are_kept(dut: Any) -> None:
    """Every word of it is another one, and bytes are written alone."""
    words = await start(dut)
    rng = random.Random(1)
    model = {}
    for addr in rng.sample(range(words), words):
        model[addr] = rng.getrandbits(32)
        await access(dut, addr, 15, model[addr], rng.choice(("cpu", "copy")))
    for addr in rng.sample(range(words), 2000):
        we, data = rng.randrange(1, 16), rng.getrandbits(32)
        mask = sum(0xFF << 8 * i for i in range(4) if we >> i & 1)
        model[addr] = model[addr] & ~mask | data & mask
        await access(dut, addr, we, data, rng.choice(("cpu", "copy")))
    for addr in rng.sample(range(words), words):
        assert await access(dut, addr, port=rng.choice(("cpu", "copy"))) == model[addr], hex(4 * addr)


@cocotb.test()
async def nothing_is_behind_the_end(dut: Any) -> None:
    """Up to where the addresses of the banks repeat: what is written there is in no word of it, and 0 is read."""
    words = await start(dut)
    rng = random.Random(2)
    reach = 1 << (words - 1).bit_length()
    for addr in range(words):
        await access(dut, addr, 15, addr)
    for addr in rng.sample(range(words, reach), min(3000, reach - words)):
        await access(dut, addr, 15, 0xFFFFFFFF)
        assert await access(dut, addr) == 0
    for addr in range(words):
        assert await access(dut, addr) == addr


@cocotb.test()
async def the_copy_engine_goes_first(dut: Any) -> None:
    await start(dut)
    await access(dut, 5, 15, 55)
    dut.s_copy.value, dut.s_copy_req.value = ACCESS.pack(we=15, addr=6, wdata=66), 1
    dut.s_cpu.value, dut.s_cpu_req.value = ACCESS.pack(we=15, addr=5, wdata=77), 1
    await FallingEdge(dut.clk)
    assert dut.s_cpu_ready.value == 0
    dut.s_copy_req.value = dut.s_cpu_req.value = 0
    assert (await access(dut, 5), await access(dut, 6)) == (55, 66)
    assert dut.s_cpu_ready.value == 1


@pytest.mark.parametrize("kib", [64, bench.rare(88), 92])
def test_db_ssd_admin_mem(kib: int) -> None:
    bench.run(__file__, "db_ssd_admin_mem", {"BYTES": 1024 * kib})
