# SPDX-License-Identifier: Apache-2.0
"""db_host_read_ring against a byte array: parts at random places, error parts, stalls, the ring's end; exact
throughput."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from structs import constant, enum, layout

RD_DATA = enum("db_host_pkg", "region_e")["REGION_RD_DATA"] << constant("db_host_pkg", "REGION_W")
OUT = layout("db_host_pkg", "out_cmd_t")


@dataclass
class Part:
    buf: int
    length: int
    last: int
    error: int


class Bench:
    def __init__(self, dut: Any, ring: int, seed: int) -> None:
        self.dut, self.ring, self.rng = dut, ring, random.Random(seed)
        self.width = len(dut.s_wr_data)
        self.size = self.width // 8
        self.memory = bytearray(ring)
        self.want: list[tuple[int, int, int]] = []
        self.got: list[tuple[int, tuple[int, int, int]]] = []
        self.cycle = 0
        self.taken: list[int] = []
        self.first_offer = 0

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        d.rst.value = 1
        d.s_wr_valid.value = d.s_out_valid.value = 0
        d.s_out.value = 0
        d.m_axis_rdata_tready.value = 0
        for _ in range(3):
            await RisingEdge(d.clk)
        await FallingEdge(d.clk)
        d.rst.value = 0
        for row in range(self.ring // self.size):
            await self.write(row * self.size, self.rng.getrandbits(self.width), (1 << self.size) - 1)

    async def write(self, addr: int, data: int, be: int, window: int = RD_DATA) -> None:
        d = self.dut
        d.s_wr_valid.value, d.s_wr_addr.value, d.s_wr_data.value, d.s_wr_be.value = 1, window + addr, data, be
        await FallingEdge(d.clk)
        d.s_wr_valid.value = 0
        if window == RD_DATA and addr < 2 * self.ring:  # a data block may go on past the ring's end
            addr %= self.ring
            for k in range(self.size):
                if be >> k & 1:
                    self.memory[addr + k] = data >> 8 * k & 0xFF

    def predict(self, p: Part) -> None:
        rows = p.length * 512 // self.size
        for i in range(rows):
            at = (p.buf * 512 + i * self.size) % self.ring
            data = 0 if p.error else int.from_bytes(self.memory[at : at + self.size], "little")
            self.want.append((data, int(p.last and i == rows - 1), p.error))

    async def run(self, parts: list[Part], stall: float, gap: float) -> None:
        """Offer the parts, take the rows. Inputs change at falling edges."""
        d, rng = self.dut, self.rng
        todo = list(parts)
        for p in parts:
            self.predict(p)
        units, idle, offered = int(d.freed.value), 0, False
        start_units = units
        while idle < 20:
            self.cycle += 1
            if not offered and todo and rng.random() >= gap:
                offered = True
                p = todo[0]
                d.s_out.value = OUT.pack(buf512=p.buf, len512=p.length, last=p.last, error=p.error)
                self.first_offer = self.first_offer or self.cycle
            d.s_out_valid.value = int(offered)
            if not offered:
                d.s_out.value = rng.getrandbits(OUT.width)
            d.m_axis_rdata_tready.value = int(rng.random() >= stall)
            await RisingEdge(d.clk)
            if offered and int(d.s_out_ready.value):
                offered = False
                todo.pop(0)
            if int(d.m_axis_rdata_tvalid.value) and int(d.m_axis_rdata_tready.value):
                row = (int(d.m_axis_rdata_tdata.value), int(d.m_axis_rdata_tlast.value),
                       int(d.m_axis_rdata_tuser.value))  # fmt: skip
                self.got.append((self.cycle, row))
                idle = 0
            else:
                idle += not todo and not offered and stall < 1
            await FallingEdge(d.clk)
            # Units are given back whole, once their rows left the memory; at most two rows are still on their way.
            read = (int(d.freed.value) - start_units) * 512 // self.size
            assert len(self.got) - 512 // self.size < read <= len(self.got) + 2 or read == len(self.got)
        assert [r for _, r in self.got] == self.want
        assert (int(d.freed.value) - start_units) == sum(p.length for p in parts)

    def part(self, longest: int) -> Part:
        rng = self.rng
        units = self.ring // 512
        return Part(rng.randrange(units), rng.randint(1, longest), rng.randrange(2), int(rng.random() < 0.2))


async def make(dut: Any, seed: int) -> Bench:
    ring = int(cocotb.plusargs["ring"]) if "ring" in cocotb.plusargs else int(dut.BYTES.value)
    b = Bench(dut, ring, seed)
    await b.start()
    return b


@cocotb.test()
async def random_parts(dut: Any) -> None:
    b = await make(dut, 1)
    rng = b.rng
    for _ in range(200):  # partial rows, other regions, beyond the ring and what stands behind it
        window = rng.choice([RD_DATA] * 4 + [1 << 23, 4 << 23, 7 << 23])
        await b.write(rng.randrange(3 * b.ring // b.size) * b.size, rng.getrandbits(b.width),
                      rng.getrandbits(b.size), window)  # fmt: skip
    await b.run([b.part(9) for _ in range(25)] + [Part(3, 0, 0, 0)] + [b.part(2) for _ in range(10)], 0.4, 0.3)


@cocotb.test()
async def no_bubble(dut: Any) -> None:
    """Parts offered at once: a row every cycle from the fourth cycle after the first offer."""
    b = await make(dut, 2)
    await b.run([b.part(3) for _ in range(30)], 0.0, 0.0)
    cycles = [c for c, _ in b.got]
    assert cycles == list(range(b.first_offer + 3, b.first_offer + 3 + len(b.want)))


@cocotb.test()
async def write_beside_read(dut: Any) -> None:
    """A row written in every cycle changes nothing on the way out."""
    b = await make(dut, 3)
    units = b.ring // 512

    async def writer() -> None:
        for i in range(units // 2 * 512 // b.size):
            await b.write(b.ring // 2 + i * b.size, b.rng.getrandbits(b.width), (1 << b.size) - 1)

    task = cocotb.start_soon(writer())
    await b.run([Part(0, units // 2, 1, 0)], 0.0, 0.0)
    await task
    b.want.clear()
    b.got.clear()
    await b.run([Part(units // 2, units // 2, 1, 0)], 0.2, 0.0)


@pytest.mark.parametrize("width,ring", [(128, 8192), bench.rare(256, 4096), (512, 65536)])
def test_db_host_read_ring(width: int, ring: int) -> None:
    bench.run(__file__, "db_host_read_ring", {"DATA_W": width, "BYTES": ring})
