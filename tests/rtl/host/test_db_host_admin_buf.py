# SPDX-License-Identifier: Apache-2.0
"""db_host_admin_buf against a byte array: row writes and reads at random beside dword accesses, both latencies,
waiting."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from structs import constant, layout

ADMIN_BUF = constant("db_host_pkg", "ADMIN_BUF")
DWORD = layout("db_host_pkg", "admin_buf_t")


@cocotb.test()
async def random_accesses(dut: Any) -> None:
    rng = random.Random(4)
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    width = len(dut.s_wr_data)
    size = width // 8
    memory = bytearray(1088 * 4)
    await FallingEdge(dut.clk)
    # Fill everything by dword first, so that no byte is undefined.
    dut.s_wr_valid.value = dut.s_row_re.value = 0
    for s in (dut.s_wr_addr, dut.s_wr_data, dut.s_wr_be, dut.s_row_addr):
        s.value = 0
    for i in range(1088):
        word = rng.getrandbits(32)
        memory[4 * i : 4 * i + 4] = word.to_bytes(4, "little")
        dut.s_dw.value = DWORD.pack(en=1, we=1, addr=i, wdata=word)
        await RisingEdge(dut.clk)
        assert int(dut.s_dw_ready.value) == 1
        await FallingEdge(dut.clk)
    row_due: list[int | None] = [None]
    word_due: list[int | None] = [None]
    access: tuple[int, int, int] | None = None
    counts = dict.fromkeys(("row write", "outside", "row read", "write", "read", "waited"), 0)
    for _ in range(6000):
        # Row write, some of them not for this memory.
        row_we = rng.random() < 0.4
        base = rng.choice([ADMIN_BUF] * 6 + [0x0000, 0x1000, 0x3000, 0x10_2000, 0x80_2000, 0x380_2000])
        wr_addr = base + rng.randrange(4096 // size) * size
        data, be = rng.getrandbits(width), rng.choice([(1 << size) - 1, rng.getrandbits(size)])
        dut.s_wr_valid.value, dut.s_wr_addr.value = int(row_we), wr_addr
        dut.s_wr_data.value, dut.s_wr_be.value = data, be
        inside = row_we and base == ADMIN_BUF
        target = (wr_addr - base) if inside else None
        # Row read, never of the row that is written.
        row_re = rng.random() < 0.4
        row = rng.randrange(1088 * 4 // size)
        row_re = row_re and row * size != target
        dut.s_row_re.value = int(row_re)
        dut.s_row_addr.value = row * size // 4 + rng.randrange(size // 4)
        # Dword access, held until it is done.
        if access is None and rng.random() < 0.5:
            access = (rng.randrange(2), rng.randrange(1088), rng.getrandbits(32))
        conflict = access is not None and (
            (access[0] == 0 and target == access[1] * 4 // size * size)
            or (access[0] == 1 and row_re and row == access[1] * 4 // size)
        )
        we, at, wdata = access or (rng.randrange(2), rng.randrange(1088), rng.getrandbits(32))
        dut.s_dw.value = DWORD.pack(en=int(access is not None and not conflict), we=we, addr=at, wdata=wdata)
        await RisingEdge(dut.clk)
        row_due.append(int.from_bytes(memory[row * size : row * size + size], "little") if row_re else None)
        counts["row read"] += row_re
        want_word: int | None = None
        if access is not None and not conflict:
            ready = bool(int(dut.s_dw_ready.value))
            assert ready == (not inside if access[0] else not row_re)
            if ready:
                at = 4 * access[1]
                if access[0]:
                    memory[at : at + 4] = access[2].to_bytes(4, "little")
                else:
                    want_word = int.from_bytes(memory[at : at + 4], "little")
                counts["write" if access[0] else "read"] += 1
                access = None
            else:
                counts["waited"] += 1
        word_due.append(want_word)
        if target is not None:
            for k in range(size):
                if be >> k & 1:
                    memory[target + k] = data >> 8 * k & 0xFF
        counts["row write"] += inside
        counts["outside"] += row_we and not inside
        await FallingEdge(dut.clk)
        due, due_word = row_due.pop(0), word_due.pop(0)
        if due is not None:
            assert int(dut.m_row_data.value) == due
        if due_word is not None:
            assert int(dut.m_dw_rdata.value) == due_word
    assert min(counts.values()) > 300, counts


@cocotb.test()
async def split(dut: Any) -> None:
    """SHARED 0: dwords into the queue, rows out of it; rows into the buffer, dwords out of it. Nothing waits."""
    rng = random.Random(5)
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    width = len(dut.s_wr_data)
    size = width // 8
    queue, buffer = bytearray(256), bytearray(4096)
    dut.s_wr_valid.value = dut.s_row_re.value = dut.s_dw.value = 0
    await FallingEdge(dut.clk)
    due: list[tuple[int | None, int | None]] = [(None, None)]
    filled = False
    for n in range(6000):
        row, word = rng.randrange(4096 // size), rng.randrange(64)
        if not filled:
            row, word = n % (4096 // size), n % 64
            filled = n >= 4096
        base = ADMIN_BUF if not filled else rng.choice([ADMIN_BUF] * 3 + [0x0000, 0x1000, 0x3000, 0x80_2000])
        data = rng.getrandbits(width)
        be = rng.getrandbits(size) if filled else (1 << size) - 1
        row_we = not filled or rng.random() < 0.5
        dut.s_wr_valid.value, dut.s_wr_addr.value = int(row_we), base + row * size
        dut.s_wr_data.value, dut.s_wr_be.value = data, be
        write = not filled or rng.random() < 0.5
        value, at = rng.getrandbits(32), rng.randrange(1024)
        read_row = rng.randrange(1088 * 4 // size)
        clash = (write and read_row * size // 4 >= 1024 and (read_row * size - 4096) // size == 4 * word // size) or (
            not write and row_we and base == ADMIN_BUF and 4 * at // size == row
        )
        dut.s_dw.value = DWORD.pack(en=1, we=int(write), addr=1024 + word if write else at, wdata=value)
        dut.s_row_re.value, dut.s_row_addr.value = 1, read_row * size // 4
        await RisingEdge(dut.clk)
        assert int(dut.s_dw_ready.value) == 1
        at_queue = read_row * size - 4096
        want_row = 0 if at_queue < 0 else int.from_bytes(queue[at_queue : at_queue + size], "little")
        want_word = None if write else int.from_bytes(buffer[4 * at : 4 * at + 4], "little")
        due.append((None, None) if clash or not filled else (want_row, want_word))
        if write:
            queue[4 * word : 4 * word + 4] = value.to_bytes(4, "little")
        if row_we and base == ADMIN_BUF:
            for k in range(size):
                if be >> k & 1:
                    buffer[row * size + k] = data >> 8 * k & 0xFF
        await FallingEdge(dut.clk)
        row_due, word_due = due.pop(0)
        assert row_due is None or int(dut.m_row_data.value) == row_due
        assert word_due is None or int(dut.m_dw_rdata.value) == word_due


@pytest.mark.parametrize("width", bench.WIDTHS)
def test_db_host_admin_buf(width: int) -> None:
    bench.run(__file__, "db_host_admin_buf", {"DATA_W": width}, testcase="random_accesses")


@pytest.mark.parametrize("width", [128, 512])
def test_db_host_abuf_split(width: int) -> None:
    bench.run(__file__, "db_host_admin_buf", {"DATA_W": width, "SHARED": 0}, testcase="split")
