# SPDX-License-Identifier: Apache-2.0
"""db_csd_crc32c and db_csd_sha256 (with db_sha256_core): results against the models, data unchanged, rates."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from csd_bench import RESULT, Row, assert_full_rate, command_rows, random_context, run_rows, start, to_bytes
from doorbell.compute.operators import Context, Op, Reducer
from doorbell.compute.operators.crc32c import Crc32c
from doorbell.compute.operators.sha256 import Sha256

SHA = os.environ.get("SHA") == "1"
MODEL: Reducer = Sha256() if SHA else Crc32c()


class Results:
    """Takes results with random stalls."""

    def __init__(self, dut: Any, take: float, seed: int) -> None:
        self.dut, self.take, self.rng = dut, take, random.Random(seed)
        self.seen: list[tuple[int, int]] = []
        self.cycles: list[int] = []
        self.cycle = 0
        self.task = cocotb.start_soon(self.run())

    async def run(self) -> None:
        held = None
        while True:
            ready = self.rng.random() < self.take
            self.dut.m_res_ready.value = int(ready)
            await ReadOnly()
            if self.dut.m_res_valid.value == 1:
                result = RESULT.unpack(int(self.dut.m_res.value))
                got = (result["tag"], result["digest"])
                assert held in (None, got), "a result changed while it waited"
                held = got
                if ready:
                    self.seen.append(got)
                    self.cycles.append(self.cycle)
                    held = None
            else:
                assert held is None
            await RisingEdge(self.dut.clk)
            self.cycle += 1

    async def wait(self, count: int) -> None:
        for _ in range(20000):
            if len(self.seen) >= count:
                break
            await RisingEdge(self.dut.clk)
        for _ in range(300):
            await RisingEdge(self.dut.clk)
        self.task.cancel()
        assert len(self.seen) == count


@cocotb.test()
async def commands(dut: Any) -> None:
    """Commands of this and other operators, random stalls of data and results."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    width = len(dut.s_axis_tdata)
    rng = random.Random(width)
    for seed, (feed, drain, take) in enumerate(((0.7, 0.7, 0.1), (1.0, 0.5, 0.001), (0.5, 1.0, 1.0), (1.0, 1.0, 0.5))):
        dut.m_res_ready.value = 0
        await start(dut)
        rows: list[Row] = []
        expected: list[tuple[int, int]] = []
        for tag in range(24):
            c = random_context(rng, (MODEL.CODE, MODEL.CODE, Op.PASS, Op.AES_XTS))
            c = Context(c.op, c.lba, 9 if rng.random() < 0.9 else 12, c.write, c.key_slot, tag << 8 | seed)
            data = rng.randbytes(c.block * rng.randint(1, 3))
            rows += command_rows(c, data, width)
            if c.op == MODEL.CODE:
                expected.append((c.tag, MODEL.result(data)))
        results = Results(dut, take, seed)
        out, _, _ = await run_rows(dut, rows, feed, drain, seed)
        assert out == rows
        await results.wait(len(expected))
        assert (sorted if SHA else list)(results.seen) == (sorted if SHA else list)(expected)


@cocotb.test()
async def rate(dut: Any) -> None:
    """CRC-32C: full rate. SHA-256: full rate while the buffers have room, then what it is rated at."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    width = len(dut.s_axis_tdata)
    rng = random.Random(1)
    await start(dut)
    results = Results(dut, 1.0, 0)
    if not SHA:
        blocks = [rng.randbytes(512) for _ in range(40)]
        rows = [r for i, b in enumerate(blocks) for r in command_rows(Context(MODEL.CODE, tag=i), b, width)]
        begin = results.cycle
        out, went, came = await run_rows(dut, rows)
        await results.wait(len(blocks))
        assert results.seen == [(i, MODEL.result(b)) for i, b in enumerate(blocks)]
        assert came[0] - went[0] == 1
        assert_full_rate(came)
        per = 4096 // width
        assert [c - begin + 1 for c in results.cycles] == [went[per * i + per - 1] + 3 for i in range(len(blocks))]
        return
    cores = int(os.environ["CORES"])
    # buffers empty: a command of 4 KiB for each core goes in at full rate
    data = [rng.randbytes(4096) for _ in range(4 * cores)]
    rows = [r for i, b in enumerate(data) for r in command_rows(Context(MODEL.CODE, lbads=12, tag=i), b, width)]
    out, went, came = await run_rows(dut, rows)
    assert to_bytes(out, width) == b"".join(data)
    assert_full_rate(came[: 4096 * 8 * cores // width])
    await results.wait(len(data))
    assert sorted(results.seen) == [(i, MODEL.result(b)) for i, b in enumerate(data)]
    # each core: 65 blocks of 64 bytes a command, 65 cycles a block
    for core in range(cores):
        done = sorted(c for c, (tag, _) in zip(results.cycles, results.seen, strict=True) if tag % cores == core)
        gaps = [b - a for a, b in zip(done, done[1:], strict=False)]
        assert all(abs(g - 65 * 65) <= cores for g in gaps), gaps


@pytest.mark.parametrize("width", bench.WIDTHS)
def test_crc32c(width: int) -> None:
    bench.run(__file__, "db_csd_crc32c", {"DATA_W": width}, env={"SHA": "0"})


@pytest.mark.parametrize(("width", "cores"), [(128, 1), bench.rare(256, 2)])
def test_sha256(width: int, cores: int) -> None:
    bench.run(__file__, "db_csd_sha256", {"DATA_W": width, "CORES": cores}, env={"SHA": "1", "CORES": str(cores)})


def test_model() -> None:
    """Published vectors: RFC 3720 B.4 and FIPS 180-4's examples' first and longest that are whole blocks."""
    crc = Crc32c()
    assert crc.result(b"123456789") == 0xE3069283
    assert crc.result(bytes(32)) == 0x8A9136AA
    assert crc.result(b"\xff" * 32) == 0x62A8AB43
    assert crc.result(bytes(range(32))) == 0x46DD794E
    assert Sha256().result(b"abc").to_bytes(32, "little").hex().startswith("ba7816bf8f01cfea414140de5dae2223b00361a3")
