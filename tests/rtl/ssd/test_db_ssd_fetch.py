# SPDX-License-Identifier: Apache-2.0
"""db_ssd_fetch: every fetched entry comes out once, in order, with its queue, head and error."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from rtl_bench import rare, run
from structs import layout

USER = layout("db_ssd_pkg", "fetch_user_t")
INFO = layout("db_mem_pkg", "row_info_t")
SQE = layout("db_ssd_pkg", "fetched_sqe_t")


async def begin(dut):
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    dut.rst.value = 1
    dut.s_axis_tvalid.value = 0
    dut.m_sqe_ready.value = 0
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


def packet(rng: random.Random, width: int):
    """(rows, entries): rows of (data, info, user), entries of (fn, sqid, head, err, data)."""
    count = rng.choice((1, 1, 2, 3, rng.randint(1, 64)))
    fn, sqid, size = rng.getrandbits(8), rng.getrandbits(8), rng.choice((1, 2, 63, rng.randint(1, 4095), 65535))
    first = rng.choice((0, size, rng.randint(0, size)))
    fails_at = rng.randrange(count * 512 // width) if rng.random() < 0.2 else None
    rows, entries = [], []
    for i in range(count):
        data, err = rng.getrandbits(512), 0
        for r in range(512 // width):
            at = len(rows)
            err |= int(fails_at is not None and at >= fails_at)
            last = at == count * 512 // width - 1
            user = USER.pack(fn=fn, sqid=sqid, index=first, size=size)
            info = INFO.pack(last=int(last), dw=width // 32, err=err)
            rows.append((data >> r * width & (1 << width) - 1, info, user))
        entries.append((fn, sqid, (first + i + 1) % (size + 1), err, data))
    return rows, entries


async def stream(dut, rng, packets, stall):
    rows, entries = deque(), deque()
    for r, e in packets:
        rows.extend(r)
        entries.extend(e)
    valid = ready = False
    cycles = 0
    while entries:
        await RisingEdge(dut.clk)
        cycles += 1
        assert cycles < 200_000, "hangs"
        if valid and dut.s_axis_tready.value:
            rows.popleft()
            valid = False
        if ready and dut.m_sqe_valid.value:
            fn, sqid, head, err, data = entries.popleft()
            got = SQE.unpack(int(dut.m_sqe.value))
            assert (got["fn"], got["sqid"], got["head"], got["err"]) == (fn, sqid, head, err)
            assert err or int(dut.m_sqe.value) & (1 << SQE["sqe"].width) - 1 == data
        if not valid and rows and rng.random() >= stall:
            valid = True
            dut.s_axis_tdata.value, dut.s_axis_info.value, dut.s_axis_user.value = rows[0]
        ready = rng.random() >= stall
        dut.s_axis_tvalid.value, dut.m_sqe_ready.value = int(valid), int(ready)
    assert not rows
    dut.s_axis_tvalid.value = 0
    for _ in range(10):
        await RisingEdge(dut.clk)
        assert not dut.m_sqe_valid.value, "an entry that nobody fetched"
    return cycles


@cocotb.test()
async def random_packets(dut):
    rng = random.Random(1)
    await begin(dut)
    for stall in (0.0, 0.3, 0.7):
        await stream(dut, rng, [packet(rng, len(dut.s_axis_tdata)) for _ in range(80)], stall)


@cocotb.test()
async def rate(dut):
    """Rows at full speed with 128 and 256 bits, an entry each two cycles with 512."""
    rng = random.Random(2)
    await begin(dut)
    width = len(dut.s_axis_tdata)
    packets = [packet(rng, width) for _ in range(30)]
    count = sum(len(e) for _, e in packets)
    assert await stream(dut, rng, packets, 0.0) <= count * max(512 // width, 2) + 4


@pytest.mark.parametrize("data_w", [128, rare(256), 512])  # rows are gathered where they are narrow
def test_db_ssd_fetch(data_w):
    run(__file__, "db_ssd_fetch", {"DATA_W": data_w})
