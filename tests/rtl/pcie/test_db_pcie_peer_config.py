# SPDX-License-Identifier: Apache-2.0
"""db_pcie_peer_config: what a host finds that goes through the configuration space as PCI and PCI Express say."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from rtl_bench import run
from structs import enum, layout

ACCESS, ANSWER = layout("db_pcie_block_pkg", "acc_t"), layout("db_pcie_block_pkg", "acc_answer_t")
BAR = 0x12_3456_C000


class Host:
    """Accesses, one at a time."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        d.bar_base.value = BAR
        d.s_acc_valid.value = d.s_acc.value = d.m_acc_ready.value = d.s_answer_valid.value = d.s_answer.value = 0
        d.rst.value = 1
        await FallingEdge(d.clk)
        await FallingEdge(d.clk)
        d.rst.value = 0

    async def access(self, op: str, addr: int, wdata: int = 0) -> int:
        d = self.dut
        d.s_acc_valid.value, d.s_acc.value = 1, ACCESS.pack(op=op, addr=addr, wdata=wdata)
        await FallingEdge(d.clk)
        d.s_acc_valid.value = 0
        assert d.m_answer_valid.value == 1 and not d.m_acc_valid.value, "answered here, a cycle later"
        found = ANSWER.unpack(int(d.m_answer.value))
        assert found["status"] == enum("db_pcie_block_pkg", "acc_status_e")["ACC_GOOD"]
        await FallingEdge(d.clk)
        assert d.m_answer_valid.value == 0, "once"
        return int(found["rdata"])


@cocotb.test()
async def configuration_space(dut: Any) -> None:
    h = Host(dut)
    await h.start()

    async def read(addr: int) -> int:
        return await h.access("ACC_CFG_RD", addr)

    assert await read(0x0) not in (0, 0xFFFF_FFFF)
    command = await read(0x4)
    assert command & 6 == 6 and command >> 20 & 1, "memory space, bus master, a list of capabilities"
    assert await read(0x8) >> 8 == 0x010802, "an NVMe controller"
    assert await read(0xC) >> 16 & 0xFF == 0, "an endpoint, one function"
    low = await read(0x10)
    assert low & 0xF == 4 and (await read(0x14) << 32 | low & ~0xF) == BAR
    await h.access("ACC_CFG_WR", 0x10, 0xFFFF_FFFF)
    size = -(await read(0x10) & ~0xF) & 0xFFFF_FFFF
    assert size == 0x4000
    await h.access("ACC_CFG_WR", 0x10, low)
    assert await read(0x10) == low
    at, seen = await read(0x34) & 0xFC, {}
    while at:
        assert at >= 0x40 and at not in seen
        word = await read(at)
        seen[at], at = word & 0xFF, word >> 8 & 0xFC
    assert list(seen.values()) == [0x10], "PCI Express is the only capability"
    where = next(iter(seen))
    assert await read(where) >> 16 & 0xFF == 0x02, "version 2, an endpoint"
    assert await read(where + 4) & 0x27 == 0x25, "extended tags, 4096 bytes"
    for addr in set(range(0, 0x100, 4)) - {0, 4, 8, 0x10, 0x34, where, where + 4, 0x14}:
        assert await read(addr) == 0, f"{addr:#x}"


@cocotb.test()
async def the_rest_passes_through(dut: Any) -> None:
    h, rng = Host(dut), random.Random(1)
    await h.start()
    for _ in range(50):
        what = ACCESS.pack(op=rng.choice(["ACC_MEM_RD", "ACC_MEM_WR"]), addr=rng.choice([0x34, 0x10, 0x1000]), wdata=7)
        dut.s_acc_valid.value, dut.s_acc.value, dut.m_acc_ready.value = 1, what, 0
        await FallingEdge(dut.clk)
        assert (dut.m_acc_valid.value, int(dut.m_acc.value), dut.s_acc_ready.value) == (1, what, 0)
        dut.m_acc_ready.value = 1
        await FallingEdge(dut.clk)
        assert dut.s_acc_ready.value == 1 and dut.m_answer_valid.value == 0
        dut.s_acc_valid.value = 0
        answer = rng.getrandbits(ANSWER.width)
        dut.s_answer_valid.value, dut.s_answer.value = 1, answer
        await FallingEdge(dut.clk)
        dut.s_answer_valid.value = 0
        assert (dut.m_answer_valid.value, int(dut.m_answer.value)) == (1, answer)


def test_db_pcie_peer_config() -> None:
    run(__file__, "db_pcie_peer_config", {})
