# SPDX-License-Identifier: Apache-2.0
"""What the benches of rtl/compute share: commands to beats, a stream driver and monitor with random stalls."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rtl_bench as bench
from cocotb.triggers import ReadOnly, RisingEdge
from doorbell import build
from doorbell.build import operator_folders as folders
from doorbell.compute.operators import Context

CTX_W = 128 + 8 + 32 + 64 + 5 + 1 + 4 + 6 + 16
BEAT_W = CTX_W + 3 + 8 + 1


def pack(*fields: tuple[int, int]) -> int:
    """(width, value) from the most significant, as in a packed struct."""
    out = 0
    for width, value in fields:
        assert 0 <= value < 1 << width
        out = out << width | value
    return out


def pack_ctx(c: Context, lba: int | None = None) -> int:
    """op_ctx_t"""
    return pack(
        (128, c.param), (8, c.fn), (32, c.nsid), (64, c.lba if lba is None else lba), (5, c.lbads), (1, int(c.write)),
        (4, c.op), (6, c.key_slot), (16, c.tag),
    )  # fmt: skip


@dataclass
class Row:
    """A beat."""

    data: int
    last: bool
    user: int


def command_rows(context: Context, data: bytes, data_w: int, key_err: bool = False) -> list[Row]:
    """What follows db_csd_front: a command as beats with beat_t."""
    step, per = data_w // 8, context.block * 8 // data_w
    assert len(data) % context.block == 0 and data
    rows = []
    for i in range(len(data) // step):
        place = i % per
        user = pack((CTX_W, pack_ctx(context, (context.lba + i // per) % (1 << 64))), (1, int(i == 0)),
                    (1, int(place == 0)), (1, int(place == per - 1)), (8, place), (1, int(key_err)))  # fmt: skip
        rows.append(Row(int.from_bytes(data[i * step : (i + 1) * step], "little"), (i + 1) * step == len(data), user))
    return rows


def to_bytes(rows: Sequence[Row], data_w: int) -> bytes:
    return b"".join(r.data.to_bytes(data_w // 8, "little") for r in rows)


def run_operator(test_file: str, **parameters: int) -> None:
    """Run the cocotb tests of an operator in a folder of its own, the one that `test_file` is in, against its RTL."""
    folder = folders.by_name(Path(test_file).parent.name)
    package = build.regs() / "rtl" / f"{folder.file.stem}_pkg.sv"
    sources = (*([package] if folder.fields else []), folder.file)
    bench.run(test_file, folder.file.stem, dict(parameters), extra_sources=sources)


async def start(dut: Any) -> None:
    """Reset, streams idle."""
    dut.rst.value = 1
    dut.s_axis_tvalid.value = 0
    dut.m_axis_tready.value = 0
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)


async def run_rows(
    dut: Any,
    rows: Sequence[Row],
    feed: float = 1.0,
    drain: float = 1.0,
    seed: int = 1,
    expect: int | None = None,
) -> tuple[list[Row], list[int], list[int]]:
    """Sends rows and takes as many, or `expect`: what came out, the cycles in which beats went in, and came out."""
    rng = random.Random(seed)
    out: list[Row] = []
    went, came = [], []
    cycle = sent = 0
    held: Row | None = None
    offered = False
    idle = 0
    while len(out) < (len(rows) if expect is None else expect):
        if not offered and sent < len(rows) and rng.random() < feed:
            offered = True
            r = rows[sent]
            dut.s_axis_tdata.value, dut.s_axis_tlast.value, dut.s_axis_tuser.value = r.data, int(r.last), r.user
        dut.s_axis_tvalid.value = int(offered)
        take = rng.random() < drain
        dut.m_axis_tready.value = int(take)
        await ReadOnly()
        cycle += 1
        idle += 1
        if dut.m_axis_tvalid.value == 1:
            seen = Row(int(dut.m_axis_tdata.value), bool(int(dut.m_axis_tlast.value)), int(dut.m_axis_tuser.value))
            assert held is None or held == seen, "a beat changed while it waited"
            held = seen
            if take:
                out.append(seen)
                came.append(cycle)
                held = None
                idle = 0
        else:
            assert held is None, "a beat was withdrawn"
        moved = offered and dut.s_axis_tready.value == 1
        await RisingEdge(dut.clk)
        if moved:
            went.append(cycle)
            offered = False
            sent += 1
        assert idle < 5000, "stuck"
    dut.s_axis_tvalid.value = 0
    dut.m_axis_tready.value = 0
    return out, went, came


def assert_full_rate(cycles: Sequence[int]) -> None:
    """One beat a cycle."""
    assert cycles[-1] - cycles[0] == len(cycles) - 1, f"{len(cycles)} beats took {cycles[-1] - cycles[0] + 1} cycles"


def random_context(rng: random.Random, ops: Sequence[int], slots: int = 16, write: bool | None = None,
                   param: int | None = None) -> Context:
    lba = rng.choice((0, rng.getrandbits(8), rng.getrandbits(40), (1 << 64) - 4 - rng.getrandbits(4)))
    return Context(
        op=rng.choice(ops), lba=lba, lbads=rng.choice((9, 9, 12)),
        write=bool(rng.getrandbits(1)) if write is None else write,
        key_slot=rng.randrange(slots), tag=rng.getrandbits(16), nsid=rng.getrandbits(32), fn=rng.getrandbits(8),
        param=rng.getrandbits(128) if param is None else param,
    )  # fmt: skip
