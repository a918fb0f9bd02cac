# SPDX-License-Identifier: Apache-2.0
"""db_host_cmd: parts of block commands against a model in a few lines of Python."""

from __future__ import annotations

import random

import cocotb
import rtl_bench as bench
from cocotb.triggers import RisingEdge
from streams import Sink, Source, start
from structs import enum, layout

CMD, PART, SLOT = (layout("db_host_pkg", name) for name in ("block_cmd_t", "part_t", "slot_t"))
OPS = enum("db_host_pkg", "block_op_e")
READ, WRITE, FLUSH, TRIM, ZEROES, VERIFY = (
    OPS[f"BLOCK_{name}"] for name in ("READ", "WRITE", "FLUSH", "TRIM", "ZEROES", "VERIFY")
)
TRIM_BLOCKS = 1000


def parts(op: int, lba: int, blocks: int, tag: int, limit: int, shift: int) -> list[tuple]:
    """(op, lba, blocks, len512, tag, last, bad status) of each part."""
    if op not in OPS.values():
        return [(None, None, None, 0, tag, 1, 0x4001)]  # DNR, Invalid Command Opcode
    if op == FLUSH:
        return [(op, lba, 1, 0, tag, 1, None)]
    if blocks == 0:
        return [(None, None, None, 0, tag, 1, 0x4002)]  # DNR, Invalid Field
    limit = TRIM_BLOCKS if op == TRIM else limit
    out = []
    while blocks:
        n = min(blocks, limit)
        out.append((op, lba, n, (n << shift) // 512 if op in (READ, WRITE) else 0, tag, int(n == blocks), None))
        lba, blocks = lba + n, blocks - n
    return out


def streams(dut, rng: random.Random) -> tuple[Source, Sink]:
    """Commands in, parts out."""
    return Source(dut, rng, "s_axis_cmd_t", (("data", CMD),)), Sink(dut, rng, "m_part", PART)


@cocotb.test()
async def commands(dut):
    rng = random.Random(1)
    cmds, got = streams(dut, rng)
    shift, limit = rng.choice([(9, 256), (12, 32), (9, 7)])
    await start(dut, io_open=0, io_dead=0, max_blocks=limit, lba_shift=shift)
    want = []
    for tag in range(300):
        op = rng.choice([READ, WRITE, FLUSH, TRIM, ZEROES, VERIFY, READ, WRITE, 9, 15])
        blocks = rng.choice([0, 1, limit - 1, limit, limit + 1, rng.randrange(1, 5 * limit), 2999, 1000, 1001])
        lba = rng.randrange(1 << 60)
        cmds.queue.append({"op": op, "lba": lba, "blocks": blocks, "tag": tag})
        want += parts(op, lba, blocks, tag, limit, shift)
    for _ in range(5):
        await RisingEdge(dut.clk)
        assert cmds.step() is got.step() is None, "the drive's facts are not known yet"
    (dut.io_open if rng.randrange(2) else dut.io_dead).value = 1
    seen = cycles = 0
    while seen < len(want):
        await RisingEdge(dut.clk)
        cmds.stall = got.stall = 0.5 if seen > len(want) // 2 else 0.0  # full speed first
        cmds.step()
        if part := got.step():
            slot = SLOT.unpack(part.slot)
            what = (None,) * 3 if part.bad else (slot["op"], slot["lba"], slot["blocks"])
            status = part.status if part.bad else None
            assert (*what, slot["len512"], part.tag, part.last, status) == want[seen]
            seen += 1
        cycles += 1
        assert cycles < 20000
    assert not cmds.queue


@cocotb.test()
async def speed(dut):
    """A command of n parts takes n + 1 cycles; its first part comes 1 cycle after it."""
    rng = random.Random(2)
    cmds, got = streams(dut, rng)
    await start(dut, io_open=1, io_dead=0, max_blocks=8, lba_shift=9)
    cmds.queue += [{"op": READ, "blocks": n * 8} for n in (1, 4, 2, 1)]
    taken, offered = [], []
    for cycle in range(20):
        await RisingEdge(dut.clk)
        if cmds.step():
            offered.append(cycle)
        if got.step():
            taken.append(cycle)
    first = offered[0]
    assert offered == [first + n for n in (0, 2, 7, 10)]
    assert taken == [first + n for n in (2, 4, 5, 6, 7, 9, 10, 12)]


def test_commands():
    bench.run(__file__, "db_host_cmd", {"TRIM_BLOCKS": TRIM_BLOCKS})
