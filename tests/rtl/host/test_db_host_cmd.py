# SPDX-License-Identifier: Apache-2.0
"""db_host_cmd: parts of block commands against a model in a few lines of Python."""

from __future__ import annotations

import random

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from structs import enum, layout

CMD, PART = layout("db_host_pkg", "block_cmd_t"), layout("db_host_pkg", "part_t")
STATUS = layout("db_nvme_pkg", "status_t")
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


@cocotb.test()
async def commands(dut):
    rng = random.Random(1)
    Clock(dut.clk, 4, unit="ns").start()
    shift, limit = rng.choice([(9, 256), (12, 32), (9, 7)])
    dut.max_blocks.value, dut.lba_shift.value = limit, shift
    dut.s_axis_cmd_tvalid.value = dut.m_part_ready.value = dut.io_up.value = dut.io_dead.value = 0
    dut.rst.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    todo, want = [], []
    for tag in range(300):
        op = rng.choice([READ, WRITE, FLUSH, TRIM, ZEROES, VERIFY, READ, WRITE, 9, 15])
        blocks = rng.choice([0, 1, limit - 1, limit, limit + 1, rng.randrange(1, 5 * limit), 2999, 1000, 1001])
        lba = rng.randrange(1 << 60)
        todo.append(CMD.pack(op=op, lba=lba, blocks=blocks, tag=tag))
        want += parts(op, lba, blocks, tag, limit, shift)
    dut.s_axis_cmd_tvalid.value, dut.s_axis_cmd_tdata.value = 1, todo[0]
    for _ in range(5):
        await RisingEdge(dut.clk)
        assert not dut.s_axis_cmd_tready.value and not dut.m_part_valid.value, "the drive's facts are not known yet"
    (dut.io_up if rng.randrange(2) else dut.io_dead).value = 1
    got, cycles, slow = [], 0, False
    while len(got) < len(want):
        if not dut.s_axis_cmd_tvalid.value and todo and (not slow or rng.random() < 0.4):
            dut.s_axis_cmd_tdata.value = todo[0]
            dut.s_axis_cmd_tvalid.value = 1
        slow = len(got) > len(want) // 2  # full speed first
        dut.m_part_ready.value = int(not slow or rng.random() < 0.5)
        await ReadOnly()
        taken = dut.s_axis_cmd_tvalid.value and dut.s_axis_cmd_tready.value
        if dut.m_part_valid.value and dut.m_part_ready.value:
            part = PART.unpack(int(dut.m_part.value))
            slot, bad = part["slot"], part["bad"]
            what = (None,) * 3 if bad else (slot["op"], slot["lba"], slot["blocks"])
            status = STATUS.pack(part["status"]) if bad else None
            got.append((*what, slot["len512"], part["tag"], part["last"], status))
            assert got[-1] == want[len(got) - 1]
        await RisingEdge(dut.clk)
        if taken:
            todo.pop(0)
            dut.s_axis_cmd_tvalid.value = 0
        cycles += 1
        assert cycles < 20000
    assert not todo


def test_commands():
    bench.run(__file__, "db_host_cmd", {"TRIM_BLOCKS": TRIM_BLOCKS})
