# SPDX-License-Identifier: Apache-2.0
"""db_csd_results: each result comes with the command that it is of, however many wait in the cores of SHA-256."""

from __future__ import annotations

import os
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.triggers import FallingEdge, RisingEdge
from rtl_bench import rare
from streams import start
from structs import layout

CORES, NUM_CMDS = (int(os.environ.get(name, "16")) for name in ("SHA_CORES", "NUM_CMDS"))
HELD = 2 * 9 * CORES
"""Commands of one block that have ended and wait for their digests: 8 in a core's buffer, one in the core."""


@cocotb.test()
async def whose(dut: Any) -> None:
    """All buffers of both directions full, and as many commands inside as there can be."""
    await start(dut)
    most = results = 0
    for _ in range(bench.rounds(40_000, 6000)):
        await RisingEdge(dut.clk)
        most = max(most, (int(dut.begun.value) - int(dut.results.value)) & 0xFFFF)
        if dut.res_valid.value == 1:
            results += 1
            assert int(dut.res_cid.value) == int(dut.res_tag.value), f"result {results}, {most} under way"
    assert results > 8 * CORES
    assert NUM_CMDS + HELD - CORES <= most <= NUM_CMDS + HELD + CORES, "what is under way"
    assert dut.reducing.value == 1


DEPTH = 128  # of the table where there is no core of SHA-256, and 64 commands at most are inside
RESULT, COMMAND = layout("db_csd_pkg", "result_t"), layout("db_csd_pkg", "res_cmd_t")


@cocotb.test()
async def place_of_another(dut: Any) -> None:
    """A result that comes when as many commands as the table has places have begun since its own is dropped: it comes
    with no other command's identifiers. Those behind it come with theirs."""
    for name in ("s_begin", "s_end_valid", "s_cmd_valid", "s_res_valid"):
        getattr(dut, name).value = 0
    dut.m_res_ready.value = 1
    await start(dut)
    await FallingEdge(dut.clk)
    for tag in range(5, 5 + DEPTH + 1):
        dut.s_cmd_valid.value, dut.s_cmd_tag.value = 1, tag
        dut.s_cmd.value = COMMAND.pack(cid=0x1000 + tag)
        await FallingEdge(dut.clk)
    dut.s_cmd_valid.value = 0
    seen = []
    for tag in range(5, 5 + DEPTH + 1):
        dut.s_res_valid.value, dut.s_res.value = 1, RESULT.pack(tag=tag)
        await FallingEdge(dut.clk)
        if int(dut.m_res_valid.value):
            seen.append((RESULT.unpack(int(dut.m_res.value))["tag"],
                         COMMAND.unpack(int(dut.m_res_cmd.value))["cid"]))  # fmt: skip
    dut.s_res_valid.value = 0
    for _ in range(2):
        await FallingEdge(dut.clk)
    assert seen == [(tag, 0x1000 + tag) for tag in range(6, 5 + DEPTH + 1)]
    assert int(dut.reducing.value) == 0, "the one that was dropped is waited for no more"


def test_place_of_another() -> None:
    bench.run(__file__, "db_csd_results", {"N": 2, "NUM_CMDS": 64, "SHA_CORES": 0}, testcase="place_of_another")


@pytest.mark.parametrize(
    ("cores", "num_cmds"), [(16, 64), (4, 64), rare(4, 128), rare(16, 128), rare(16, 256), rare(1, 8)]
)
def test_results(cores: int, num_cmds: int) -> None:
    bench.run(
        __file__, "csd_results_tb", {"SHA_CORES": cores, "NUM_CMDS": num_cmds},
        extra_sources=("tests/rtl/tb/csd_results_tb.sv",), testcase="whose",
        env={"SHA_CORES": str(cores), "NUM_CMDS": str(num_cmds)},
    )  # fmt: skip
