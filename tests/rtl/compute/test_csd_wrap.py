# SPDX-License-Identifier: Apache-2.0
"""db_csd_wrap around cores of several latencies and intervals, format-preserving or not."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from csd_bench import Row, assert_full_rate, run_rows, start

MASK = (1 << 128) - 1


def random_rows(rng: random.Random, count: int) -> list[Row]:
    return [Row(rng.getrandbits(128), rng.random() < 0.2, rng.getrandbits(24)) for _ in range(count)]


@cocotb.test()
async def beats(dut: Any) -> None:
    if os.environ["PRESERVING"] == "0":
        return
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    latency, interval = int(os.environ["LATENCY"]), int(os.environ["INTERVAL"])
    await start(dut)
    rng = random.Random(1)
    for seed, (feed, drain) in enumerate(((0.5, 0.5), (1.0, 0.3), (0.3, 1.0), (0.9, 0.9))):
        rows = random_rows(rng, 300)
        out, _, _ = await run_rows(dut, rows, feed, drain, seed)
        assert out == [Row(r.data ^ MASK, r.last, r.user) for r in rows]
    rows = random_rows(rng, 200)
    out, went, came = await run_rows(dut, rows)
    assert out == [Row(r.data ^ MASK, r.last, r.user) for r in rows]
    assert came[0] - went[0] == latency + 1
    if interval == 1:
        assert_full_rate(came)
    else:
        assert came[-1] - came[0] == interval * 199


@cocotb.test()
async def commands(dut: Any) -> None:
    """A core that drops every second beat: tuser is that of the command's first beat."""
    if os.environ["PRESERVING"] == "1":
        return
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    rng = random.Random(2)
    for seed, (feed, drain) in enumerate(((0.5, 0.5), (1.0, 0.3), (0.3, 1.0), (1.0, 1.0))):
        await start(dut)
        rows: list[Row] = []
        expected: list[Row] = []
        for _ in range(40):
            size = rng.randrange(1, 12)
            first = len(rows)
            for i in range(size):
                final = i % 2 == 0 and i + 2 >= size
                rows.append(Row(rng.getrandbits(128), i == size - 1, rng.getrandbits(23) << 1 | final))
                if i % 2 == 0:
                    expected.append(Row(rows[-1].data ^ MASK, final, rows[first].user))
        out, _, _ = await run_rows(dut, rows, feed, drain, seed, expect=len(expected))
        assert out == expected


@pytest.mark.parametrize(
    ("latency", "interval", "depth", "preserving"),
    [(7, 1, 16, 1), (14, 1, 16, 1), (1, 1, 4, 1), (20, 5, 8, 1), (1, 1, 4, 0)],
)
def test_wrap(latency: int, interval: int, depth: int, preserving: int) -> None:
    bench.run(
        __file__, "csd_wrap_tb",
        {"LATENCY": latency, "INTERVAL": interval, "DEPTH": depth, "FORMAT_PRESERVING": preserving},
        extra_sources=("tests/rtl/tb/csd_wrap_tb.sv",),
        env={"LATENCY": str(latency), "INTERVAL": str(interval), "PRESERVING": str(preserving)},
    )  # fmt: skip
