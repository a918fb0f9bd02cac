# SPDX-License-Identifier: Apache-2.0
"""db_board_zero alone: what no bench with whole memories sees. Zeros and bursts are in test_board_memory.py."""

from __future__ import annotations

import itertools
from typing import Any

import cocotb
import rtl_bench as bench
from axi_model import axi_struct
from cocotb.triggers import FallingEdge, Timer
from streams import start

DATA_W, ADDR_W = 128, 24
WRITE_REQ, WRITE_RSP = axi_struct("WRITE_REQ", ADDR_W, DATA_W), axi_struct("WRITE_RSP")
ZERO = 1


@cocotb.test()
async def ready_follows_no_input(dut: Any) -> None:
    """Between inputs and outputs of an AXI interface is no way but through a register (AXI4, A3.1.1)."""
    await start(dut, s_cmd_valid=0, s_cmd_op=0, s_cmd_addr=0, s_cmd_bytes=0, s_axi_write_req=0, m_write_rsp=0)
    await FallingEdge(dut.clk)
    for own in (0, 1):  # the controller's BREADY comes from a register
        dut.s_axi_write_req.value = WRITE_REQ.pack(b_ready=own)
        for who, valid in itertools.product((0, 1), (0, 1)):
            dut.m_write_rsp.value = who << WRITE_RSP.width | WRITE_RSP.pack(b_valid=valid)
            await Timer(1, "ps")
            assert WRITE_REQ.unpack(int(dut.m_write_req.value) & (1 << WRITE_REQ.width) - 1)["b_ready"] == own
        dut.m_write_rsp.value = 0
        await Timer(1, "ps")


@cocotb.test()
async def a_response_of_zeros_counts_when_it_is_taken(dut: Any) -> None:
    await start(dut, s_cmd_valid=0, s_cmd_op=ZERO, s_cmd_addr=0, s_cmd_bytes=512, s_axi_write_req=0, m_write_rsp=0)
    await FallingEdge(dut.clk)
    dut.s_cmd_valid.value = 1
    dut.m_write_rsp.value = WRITE_RSP.pack(aw_ready=1, w_ready=1)
    for _ in range(80):
        await FallingEdge(dut.clk)
        dut.s_cmd_valid.value = 0
    dut.m_write_rsp.value = 1 << WRITE_RSP.width | WRITE_RSP.pack(b_valid=1)
    for _ in range(20):
        await FallingEdge(dut.clk)
        assert not dut.m_rsp_valid.value, "nobody has taken it"
    dut.s_axi_write_req.value = WRITE_REQ.pack(b_ready=1)
    await FallingEdge(dut.clk)
    dut.m_write_rsp.value = 0
    ends = 0
    for _ in range(8):
        ends += int(dut.m_rsp_valid.value)
        assert not dut.m_rsp_err.value or not dut.m_rsp_valid.value
        await FallingEdge(dut.clk)
    assert ends == 1


def test_board_zero() -> None:
    bench.run(__file__, "db_board_zero", {"DATA_W": DATA_W, "ADDR_W": ADDR_W})
