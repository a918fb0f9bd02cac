# SPDX-License-Identifier: Apache-2.0
"""Operators one behind the other: each takes its own commands, the rest pass, all in order and at full rate."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from csd_bench import RESULT, Row, assert_full_rate, command_rows, pack_ctx, run_rows, start
from doorbell.compute.operators import Context, Op
from doorbell.compute.operators.add import Add
from doorbell.compute.operators.crc32c import Crc32c
from doorbell.compute.operators.sha256 import Sha256


@cocotb.test()
async def chain(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    rng = random.Random(3)
    addend = rng.getrandbits(32)
    add, crc, sha = Add(), Crc32c(), Sha256()
    for seed, (feed, drain, ops) in enumerate((
        (0.7, 0.7, list(Op)), (1.0, 0.5, list(Op)), (1.0, 1.0, [Op.PASS, Op.ADD, Op.CRC32C]),
    )):  # fmt: skip
        await start(dut)
        rows: list[Row] = []
        expected: list[Row] = []
        results: list[tuple[str, int, int]] = []
        seen: list[tuple[str, int, int]] = []

        async def watch(seen: list[tuple[str, int, int]] = seen) -> None:
            while True:
                await ReadOnly()
                for name in ("crc", "sha"):
                    if getattr(dut, f"m_{name}_valid").value == 1:
                        result = RESULT.unpack(int(getattr(dut, f"m_{name}").value))
                        seen.append((name, result["tag"], result["digest"]))
                await RisingEdge(dut.clk)

        for tag in range(60):
            c = Context(rng.choice(ops), lba=rng.getrandbits(40), write=bool(rng.getrandbits(1)), tag=tag, key_slot=5,
                        param=addend)  # fmt: skip
            data = rng.randbytes(512 * rng.randint(1, 3))
            rows += [Row(r.data, r.last, pack_ctx(c)) for r in command_rows(c, data, 128)]
            expected += command_rows(c, add.apply(data, c) if c.op == Op.ADD else data, 128)
            if c.op == Op.CRC32C:
                results.append(("crc", tag, crc.result(data)))
            if c.op == Op.SHA256:
                results.append(("sha", tag, sha.result(data)))
        task = cocotb.start_soon(watch())
        out, went, came = await run_rows(dut, rows, feed, drain, seed)
        assert out == expected
        for _ in range(6000):
            if len(seen) == len(results):
                break
            await RisingEdge(dut.clk)
        task.cancel()
        assert sorted(seen) == sorted(results)
    assert came[0] - went[0] == 5
    assert_full_rate(came)


def test_chain() -> None:
    bench.run(__file__, "csd_chain_tb", extra_sources=("tests/rtl/tb/csd_chain_tb.sv",))
