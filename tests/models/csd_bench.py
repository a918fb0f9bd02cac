# SPDX-License-Identifier: Apache-2.0
"""What the benches of rtl/compute share: commands to rows, and rows through an operator with random stalls."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rtl_bench as bench
from cocotb.triggers import RisingEdge
from doorbell import build
from doorbell.build import operator_folders as folders
from doorbell.compute.operators import Context
from streams import Sink, Source
from structs import layout

CTX, ROW = layout("db_csd_pkg", "op_ctx_t"), layout("db_csd_pkg", "row_ctx_t")
RESULT = layout("db_csd_pkg", "result_t")


def pack_ctx(c: Context) -> int:
    """op_ctx_t"""
    return CTX.pack(fields(c))


def fields(c: Context) -> dict[str, int]:
    """Those of op_ctx_t."""
    return {"param": c.param, "fn": c.fn, "nsid": c.nsid, "lba": c.lba, "lbads": c.lbads, "dir": int(c.write),
            "op": c.op, "key_slot": c.key_slot, "tag": c.tag}  # fmt: skip


@dataclass
class Row:
    """A row, with its context: a number of row_ctx_t, or of op_ctx_t before db_csd_front."""

    data: int
    last: bool
    user: int


def command_rows(context: Context, data: bytes, data_w: int, key_err: bool = False) -> list[Row]:
    """What follows db_csd_front: a command as rows with row_ctx_t."""
    step, per = data_w // 8, context.block * 8 // data_w
    assert len(data) % context.block == 0 and data
    rows = []
    for i in range(len(data) // step):
        place = i % per
        cmd = {**fields(context), "lba": (context.lba + i // per) % (1 << 64)}
        user = ROW.pack(cmd=cmd, cmd_first=int(i == 0), lba_first=int(place == 0), lba_last=int(place == per - 1),
                        row=place, key_err=int(key_err))  # fmt: skip
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
    """Sends rows and takes as many, or `expect`: what came out, the cycles in which they went in, and came out."""
    rng = random.Random(seed)
    source = Source(dut, rng, "s_axis_t", ("data", "last", "user"))
    sink = Sink(dut, rng, "m_axis_t", ("data", "last", "user"))
    source.queue.extend((r.data, int(r.last), r.user) for r in rows)
    source.stall, sink.stall = 1 - feed, 1 - drain
    out: list[Row] = []
    went, came = [], []
    cycle = idle = 0
    while len(out) < (len(rows) if expect is None else expect):
        await RisingEdge(dut.clk)
        cycle += 1
        idle += 1
        if source.step() is not None:
            went.append(cycle)
        if (word := sink.step()) is not None:
            out.append(Row(word.data, bool(word.last), word.user))
            came.append(cycle)
            idle = 0
        assert idle < 5000, "stuck"
    dut.s_axis_tvalid.value = 0
    dut.m_axis_tready.value = 0
    return out, went, came


def assert_full_rate(cycles: Sequence[int]) -> None:
    """One row a cycle."""
    assert cycles[-1] - cycles[0] == len(cycles) - 1, f"{len(cycles)} rows took {cycles[-1] - cycles[0] + 1} cycles"


def random_context(
    rng: random.Random, ops: Sequence[int], slots: int = 16, write: bool | None = None, param: int | None = None
) -> Context:
    lba = rng.choice((0, rng.getrandbits(8), rng.getrandbits(40), (1 << 64) - 4 - rng.getrandbits(4)))
    return Context(
        op=rng.choice(ops), lba=lba, lbads=rng.choice((9, 9, 12)),
        write=bool(rng.getrandbits(1)) if write is None else write,
        key_slot=rng.randrange(slots), tag=rng.getrandbits(16), nsid=rng.getrandbits(32), fn=rng.getrandbits(8),
        param=rng.getrandbits(128) if param is None else param,
    )  # fmt: skip
