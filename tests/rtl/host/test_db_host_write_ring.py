# SPDX-License-Identifier: Apache-2.0
"""db_host_write_ring against a list of rows: random stalls, reads, freed units; full rate over several turns of the
ring."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge


async def start(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    dut.rst.value = 1
    for s in (dut.s_axis_wdata_tvalid, dut.freed, dut.s_row_re, dut.s_axis_wdata_tdata, dut.s_row_addr):
        s.value = 0
    for _ in range(3):
        await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0


async def drive(dut: Any, cycles: int, p_valid: float, p_free: float, p_read: float, seed: int) -> list[int]:
    """Returns the rows that were taken in each cycle (0 or 1). Inputs change at the falling edge."""
    rng = random.Random(seed)
    width = len(dut.s_axis_wdata_tdata)
    ring = 1 << len(dut.s_row_addr)
    per_unit = 512 * 8 // width
    written: list[int] = []
    freed = 0
    before: int | None = None  # the row asked for a cycle before
    held: int | None = None
    taken = []
    for _ in range(cycles):
        if held is None and rng.random() < p_valid:
            held = rng.getrandbits(width)
        dut.s_axis_wdata_tvalid.value = int(held is not None)
        dut.s_axis_wdata_tdata.value = held if held is not None else rng.getrandbits(width)
        if freed < len(written) // per_unit and rng.random() < p_free:
            freed += rng.randint(1, len(written) // per_unit - freed)
        dut.freed.value = freed
        fill = int(dut.fill.value)
        assert fill == len(written) // per_unit
        read = fill > freed and rng.random() < p_read
        dut.s_row_re.value = int(read)
        row = rng.randrange(freed * per_unit, fill * per_unit) if read else rng.getrandbits(32)
        dut.s_row_addr.value = row % ring
        await RisingEdge(dut.clk)
        take = held is not None and bool(int(dut.s_axis_wdata_tready.value))
        taken.append(int(take))
        if take:
            assert held is not None
            written.append(held)
            held = None
        assert len(written) - freed * per_unit <= ring, "ring overrun"
        await FallingEdge(dut.clk)
        # Two edges after its request: a row is out.
        if before is not None:
            assert int(dut.m_row_data.value) == before
        before = written[row] if read else None
    return taken


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    await start(dut)
    taken = await drive(dut, 4000, 0.7, 0.05, 0.6, 1)
    assert sum(taken) > 1500


@cocotb.test()
async def full_rate(dut: Any) -> None:
    """A row and a read every cycle while units are given back."""
    await start(dut)
    await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    taken = await drive(dut, 1500, 1.0, 1.0, 1.0, 2)
    assert sum(taken) == 1500


@cocotb.test()
async def full(dut: Any) -> None:
    """Nothing given back: exactly the ring is taken; one unit back: ready in the next cycle, for one unit."""
    await start(dut)
    await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    ring = 1 << len(dut.s_row_addr)
    taken = await drive(dut, ring + 50, 1.0, 0.0, 0.5, 3)
    assert taken == [1] * ring + [0] * 50
    dut.s_axis_wdata_tvalid.value = 1
    dut.freed.value = 1
    assert int(dut.s_axis_wdata_tready.value) == 0
    await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    assert int(dut.s_axis_wdata_tready.value) == 1
    per_unit = 512 * 8 // len(dut.s_axis_wdata_tdata)
    more = 0
    for _ in range(per_unit + 20):
        await RisingEdge(dut.clk)
        more += int(dut.s_axis_wdata_tready.value)
        await FallingEdge(dut.clk)
    assert more == per_unit


@cocotb.test()
async def reset(dut: Any) -> None:
    """Nothing is taken in reset: a row that is offered then is the first one behind it."""
    await start(dut)
    await drive(dut, 200, 1.0, 0.0, 0.0, 4)
    dut.rst.value = dut.s_axis_wdata_tvalid.value = 1
    dut.s_axis_wdata_tdata.value, dut.freed.value = 0xD0, 0
    await RisingEdge(dut.clk)
    for _ in range(3):
        await FallingEdge(dut.clk)
        assert not dut.s_axis_wdata_tready.value and not dut.fill.value
    dut.rst.value = 0
    per_unit, rows = 512 * 8 // len(dut.s_axis_wdata_tdata), 0
    while rows < per_unit:
        await RisingEdge(dut.clk)
        rows += int(dut.s_axis_wdata_tready.value)
        await FallingEdge(dut.clk)
        dut.s_axis_wdata_tdata.value = 0xD0 + rows
    dut.s_axis_wdata_tvalid.value = 0
    assert int(dut.fill.value) == 1
    for row in range(per_unit):
        dut.s_row_re.value, dut.s_row_addr.value = 1, row
        for _ in range(2):
            await FallingEdge(dut.clk)
        assert int(dut.m_row_data.value) == 0xD0 + row


@pytest.mark.parametrize("width,ring", [(128, 4096), bench.rare(256, 8192), (512, 65536)])
def test_db_host_write_ring(width: int, ring: int) -> None:
    bench.run(__file__, "db_host_write_ring", {"DATA_W": width, "BYTES": ring})
