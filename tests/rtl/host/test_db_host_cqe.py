# SPDX-License-Identifier: Apache-2.0
"""db_host_cqe: completion entries written in rows, in halves, several to a row; wrong places and phases."""

from __future__ import annotations

import os
import random
import struct

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from structs import constant, layout

IO_CQ, ADMIN_CQ = constant("db_host_pkg", "IO_CQ"), constant("db_host_pkg", "ADMIN_CQ")
CQE, ENTRY = layout("db_nvme_pkg", "cqe_t"), layout("db_host_pkg", "admin_entry_t")


def cqe(dw0: int, sqhd: int, sqid: int, cid: int, phase: int, status: int) -> bytes:
    """Base specification 2.0, Common Completion Queue Entry Layout."""
    return struct.pack("<IIHHHH", dw0, 0, sqhd, sqid, cid, status << 1 | phase)


@cocotb.test()
async def entries(dut):
    rng = random.Random(2)
    row_bytes = int(os.environ["DATA_W"]) // 8
    qps, size = int(os.environ["NUM_QP"]), 16
    Clock(dut.clk, 4, unit="ns").start()
    dut.s_wr_valid.value = dut.start.value = 0
    dut.io_up.value, dut.sq_size.value = 1, size
    dut.rst.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    heads, phases = [0] * qps, [1] * qps
    admin_n = 0
    want_io, want_admin, bad = [], [], 0
    got_io, got_admin, got_bad = [], [], 0

    def rows():
        """Row writes (address, data, byte enables), with what they must lead to noted in want_*."""
        nonlocal bad, admin_n
        for _ in range(400):
            kind = rng.randrange(12)
            if kind == 0:
                yield rng.choice([0x2000, 0x100000, 1 << 23, 3 << 23]), rng.randbytes(row_bytes), (1 << row_bytes) - 1
                continue
            admin = kind == 1
            q = rng.randrange(qps)
            at = admin_n % 4 if admin else heads[q]
            base = (ADMIN_CQ if admin else IO_CQ + q * 0x10000) + at * 16
            limit = 4 if admin else size
            n = rng.randint(1, max(1, min(row_bytes // 16 - base % row_bytes // 16, limit - at)))
            data = b""
            for _i in range(n):
                c = (rng.randrange(1 << 32), rng.randrange(size), q + 1, rng.randrange(256), rng.randrange(1 << 15))
                wrong = not admin and rng.random() < 0.05
                phase = rng.randrange(2) if admin else phases[q] ^ wrong
                e = cqe(*c[:4], phase, c[4])
                data += e
                if admin:
                    want_admin.append((admin_n % 4, int.from_bytes(e, "little")))
                    admin_n += 1
                elif wrong:
                    bad += 1
                    break  # those behind would be at wrong places
                else:
                    want_io.append((q, int.from_bytes(e, "little")))
                    heads[q] += 1
                    if heads[q] == size:
                        heads[q], phases[q] = 0, 1 - phases[q]
            lead = base % row_bytes
            if len(data) == 16 and rng.random() < 0.3:  # a bridge that splits
                for part in (0, 8):
                    be = 0xFF << (lead + part)
                    row = bytearray(rng.randbytes(row_bytes))
                    row[lead + part : lead + part + 8] = data[part : part + 8]
                    yield base - lead, bytes(row), be
                continue
            row = bytearray(rng.randbytes(row_bytes))
            row[lead : lead + len(data)] = data
            yield base - lead, bytes(row), ((1 << len(data)) - 1) << lead

    async def watch():
        nonlocal got_bad
        while True:
            await ReadOnly()
            if dut.m_io_valid.value:
                got_io.append(int(dut.m_io_cqe.value))
            if dut.m_admin_valid.value:
                entry = ENTRY.unpack(int(dut.m_admin.value))
                got_admin.append((entry["index"], CQE.pack(entry["cqe"])))
            got_bad += int(dut.stat_bad.value)
            await RisingEdge(dut.clk)

    await RisingEdge(dut.clk)
    cocotb.start_soon(watch())
    for addr, data, be in rows():
        dut.s_wr_valid.value = 0
        for _ in range(rng.choice([1, 1, 2, 5]) if row_bytes == 16 else rng.choice([1, 3, 9])):  # TLPs have a header
            await RisingEdge(dut.clk)
        dut.s_wr_valid.value, dut.s_wr_addr.value, dut.s_wr_be.value = 1, addr, be
        dut.s_wr_data.value = int.from_bytes(data, "little")
        await RisingEdge(dut.clk)
    dut.s_wr_valid.value = 0
    for _ in range(20):
        await RisingEdge(dut.clk)
    # what a split entry's first half said counts for admin entries alone, its second half (dwords 2, 3) for all
    second = CQE["sqhd"].offset
    assert [e >> second for e in got_io] == [e >> second for _, e in want_io]
    assert [CQE.unpack(e)["sqid"] for e in got_io] == [q + 1 for q, _ in want_io]
    assert [(i, e & 0xFFFFFFFF, e >> 96) for i, e in got_admin] == [(i, e & 0xFFFFFFFF, e >> 96) for i, e in want_admin]
    assert got_bad == bad > 0
    assert [int(dut.cq_head.value) >> 16 * q & 0xFFFF for q in range(qps)] == heads


@pytest.mark.parametrize("data_w, qps", [(128, 1), bench.rare(256, 2), (512, 4)])
def test_entries(data_w: int, qps: int):
    bench.run(
        __file__,
        "db_host_cqe",
        {"DATA_W": data_w, "NUM_QP": qps, "NUM_CMDS": 32},
        env={"DATA_W": str(data_w), "NUM_QP": str(qps)},
    )
