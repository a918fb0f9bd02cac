# SPDX-License-Identifier: Apache-2.0
"""db_csd_op_count: against its model, between beats of other operators; nothing lost while results wait."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from csd_bench import RESULT, assert_full_rate, command_rows, random_context, run_operator, run_rows, start
from doorbell.build import operator_folders as folders
from doorbell.compute.operators import Context

COUNT = folders.by_name("count")


@cocotb.test()
async def commands(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    data_w = len(dut.s_axis_tdata)
    for seed, feed, drain, look in ((1, 1.0, 1.0, 1.0), (2, 0.5, 0.8, 0.5), (3, 0.9, 0.3, 0.005)):
        rng = random.Random(seed)
        await start(dut)
        rows, want, got = [], [], []
        for i in range(30):
            param = COUNT.pack(value=rng.choice((0, 0x0A, 0xFF))) if i % 3 else COUNT.pack()
            context = random_context(rng, (COUNT.code, COUNT.code, 0, 1, 5), param=int.from_bytes(param, "little"))
            data = bytes(rng.choice(b"\0\n\xff ") for _ in range(context.block * rng.choice((1, 2))))
            rows += command_rows(context, data, data_w)
            if context.op == COUNT.code:
                digest = COUNT.model.result(data, context.lba, context.block, context.write, COUNT.unpack(param))
                want.append((context.tag, int.from_bytes(digest, "little")))

        async def results(want=want, got=got, look=look, rng=rng) -> None:
            while len(got) < len(want):
                dut.m_res_ready.value = int(rng.random() < look)
                await ReadOnly()
                if dut.m_res_valid.value == 1 and dut.m_res_ready.value == 1:
                    got.append(tuple(RESULT.unpack(int(dut.m_res.value)).values()))
                await RisingEdge(dut.clk)

        task = cocotb.start_soon(results())
        out, went, came = await run_rows(dut, rows, feed, drain, seed)
        await task
        assert got == want
        assert out == rows
        if look == 1.0:
            assert came[0] - went[0] == COUNT.latency
            assert_full_rate(came)


@cocotb.test()
async def results_wait(dut: Any) -> None:
    """While nobody takes results the stream waits, and no result is lost."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    data_w = len(dut.s_axis_tdata)
    rng = random.Random(4)
    await start(dut)
    rows, want = [], []
    for tag in range(64):
        data = bytes(rng.choice(b"\0\n") for _ in range(512))
        rows += command_rows(Context(COUNT.code, lbads=9, tag=tag, param=0x0A), data, data_w)
        want.append((tag, data.count(b"\n")))
    dut.m_res_ready.value = 0
    task = cocotb.start_soon(run_rows(dut, rows))
    for _ in range(2 * len(rows)):
        await RisingEdge(dut.clk)
    assert not task.done(), "the stream does not wait"
    dut.m_res_ready.value = 1
    got = []
    while len(got) < len(want):
        await ReadOnly()
        if dut.m_res_valid.value:
            got.append(tuple(RESULT.unpack(int(dut.m_res.value)).values()))
        await RisingEdge(dut.clk)
    assert got == want
    assert (await task)[0] == rows


@pytest.mark.parametrize("data_w", [128, 512])
def test_count(data_w: int) -> None:
    run_operator(__file__, DATA_W=data_w)
