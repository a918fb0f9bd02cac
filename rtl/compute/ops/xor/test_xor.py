# SPDX-License-Identifier: Apache-2.0
"""db_csd_op_xor: against its model, between beats of other operators; one beat a cycle."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from csd_bench import assert_full_rate, command_rows, random_context, run_operator, run_rows, start, to_bytes
from doorbell.build import operator_folders as folders

XOR = folders.by_name("xor")


@cocotb.test()
async def commands(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    data_w, write = len(dut.s_axis_tdata), bool(int(dut.DIR.value))
    for seed, feed, drain in ((1, 1.0, 1.0), (2, 0.5, 0.8), (3, 0.9, 0.3)):
        rng = random.Random(seed)
        await start(dut)
        rows, want = [], b""
        for _ in range(12):
            param = XOR.pack(mask=rng.getrandbits(128))
            context = random_context(rng, (XOR.code, XOR.code, 0, 1, 3), write=write,
                                     param=int.from_bytes(param, "little"))  # fmt: skip
            data = rng.randbytes(context.block * rng.choice((1, 2)))
            rows += command_rows(context, data, data_w)
            fields = XOR.unpack(param)
            want += XOR.model.apply(data, context.lba, context.block, write, fields) \
                if context.op == XOR.code else data  # fmt: skip
        out, went, came = await run_rows(dut, rows, feed, drain, seed)
        assert to_bytes(out, data_w) == want
        assert [(r.last, r.user) for r in out] == [(r.last, r.user) for r in rows]
        if feed == drain == 1.0:
            assert came[0] - went[0] == XOR.latency
            assert_full_rate(came)


@pytest.mark.parametrize(("data_w", "write"), [(128, 0), (128, 1), (512, 1)])
def test_xor(data_w: int, write: int) -> None:
    run_operator(__file__, DATA_W=data_w, DIR=write)
