# SPDX-License-Identifier: Apache-2.0
"""db_csd_results: each result comes with the command that it is of, however many wait in the cores of SHA-256."""

from __future__ import annotations

import os
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.triggers import RisingEdge
from rtl_bench import rare
from streams import start

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


@pytest.mark.parametrize(
    ("cores", "num_cmds"), [(16, 64), (4, 64), rare(4, 128), rare(16, 128), rare(16, 256), rare(1, 8)]
)
def test_results(cores: int, num_cmds: int) -> None:
    bench.run(
        __file__, "csd_results_tb", {"SHA_CORES": cores, "NUM_CMDS": num_cmds},
        extra_sources=("tests/rtl/tb/csd_results_tb.sv",),
        env={"SHA_CORES": str(cores), "NUM_CMDS": str(num_cmds)},
    )  # fmt: skip
