# SPDX-License-Identifier: Apache-2.0
"""db_csd_front: the context of each beat."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from csd_bench import Row, assert_full_rate, command_rows, pack_ctx, random_context, run_rows, start


@cocotb.test()
async def contexts(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    width = len(dut.s_axis_tdata)
    await start(dut)
    rng = random.Random(width)
    for seed, (feed, drain) in enumerate(((0.7, 0.7), (1.0, 0.5), (0.5, 1.0), (1.0, 1.0))):
        rows, expected = [], []
        while len(rows) < 600:
            c = random_context(rng, range(16), 64)
            data = rng.randbytes(c.block * rng.randint(1, 3))
            after = command_rows(c, data, width)
            expected += after
            rows += [Row(r.data, r.last, pack_ctx(c)) for r in after]
        out, went, came = await run_rows(dut, rows, feed, drain, seed)
        assert out == expected
    assert came[0] - went[0] == 1
    assert_full_rate(came)


@pytest.mark.parametrize("width", bench.WIDTHS)
def test_front(width: int) -> None:
    bench.run(__file__, "db_csd_front", {"DATA_W": width})
