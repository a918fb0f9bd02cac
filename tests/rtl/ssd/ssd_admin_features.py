# SPDX-License-Identifier: Apache-2.0
"""Tests of db_ssd_admin, which test_db_ssd_admin.py runs: features, Keep Alive, time."""

from __future__ import annotations

import struct

import cocotb
from cocotb.triggers import ClockCycles
from ssd_admin_bench import (
    BAD_FIELD,
    BAD_NS,
    DATA_ERROR,
    NOT_PER_NS,
    NOT_SAVEABLE,
    NSID_ALL,
    NUM_QP,
    NUM_VEC,
    OK,
    REJECTED,
    SEQUENCE,
    WRITE_FAULT,
    get_log,
    started,
    u,
)


@cocotb.test()
async def features(dut):
    b = await started(dut, 4)

    async def get(fid: int, status: int = OK, sel: int = 0, **fields: int) -> int:
        return (await b.run(0x0A, status, dw10=fid | sel << 8, **fields)).dw0

    async def put(fid: int, value: int, status: int = OK, sv: int = 0, **fields: int) -> int:
        return (await b.run(0x09, status, dw10=fid | sv << 31, dw11=value, **fields)).dw0

    supported = (1, 2, 4, 5, 6, 7, 8, 9, 0xA, 0xB, 0xE, 0xF, 0x16, 0x19, 0x80)
    saveable = (1, 6, 8, 0xA, 0xB, 0x80)
    for fid in (*range(0x1A), 0x7E, 0x7F, 0x80, 0x81, 0x82, 0xC0, 0xFF):
        if fid not in supported:
            await get(fid, BAD_FIELD)
            await put(fid, 0, BAD_FIELD)
            continue
        for sel in range(3):
            await get(fid, sel=sel, nsid=int(fid == 5))
        cap = await get(fid, sel=3)
        assert cap & 1 == (fid in saveable) and cap >> 2 & 1 and (cap >> 1 & 1) == (fid == 5)
        await get(fid, BAD_FIELD, sel=4)
        if fid not in saveable:
            await put(fid, 1, NOT_SAVEABLE, sv=1)
    assert await get(1) == await get(1, sel=1)
    await put(1, 0x11223305)
    assert await get(1) == 0x11223305 and await get(1, sel=1) != 0x11223305 and await get(1, sel=2) != 0x11223305
    assert (b.arb_cfg.burst, b.arb_cfg.weight_low) == (5, 0x33)
    assert (b.arb_cfg.weight_medium, b.arb_cfg.weight_high) == (0x22, 0x11)
    await put(2, 1, BAD_FIELD)
    await put(2, 0)
    assert await get(4) == 343 and await get(4, dw11=1 << 20) == 0
    await put(4, 350)
    await put(4, 1 << 20 | 250)
    assert await get(4) == 350 and await get(4, dw11=1 << 20) == 250 and await get(4, sel=1) == 343
    await put(4, 2 << 20 | 250, BAD_FIELD)
    await put(4, 1 << 16 | 250, BAD_FIELD)
    await get(4, BAD_FIELD, dw11=1 << 16)
    await put(5, 7, nsid=1)
    assert await get(5, nsid=1) == 7
    await put(5, 9, nsid=NSID_ALL)
    assert await get(5, nsid=1) == 9
    for nsid in (0, NSID_ALL):  # which of them?
        await get(5, BAD_NS, nsid=nsid)
    await put(5, 7, BAD_NS)
    for fid in (1, 4, 8, 0xB):  # the controller's
        await put(fid, 0, NOT_PER_NS, nsid=1)
        await put(fid, 0, BAD_NS, nsid=77)
        await get(fid, nsid=1)
    await put(5, 1 << 16, BAD_FIELD, nsid=1)
    await put(5, 7, BAD_FIELD, nsid=2)  # inactive
    await put(5, 7, BAD_NS, nsid=3)
    await get(5, BAD_NS, nsid=77)
    assert await get(6) == 1
    b.media.clear()
    await put(6, 1)
    assert not b.media and dut.cache_off.value == 0
    await put(6, 0)
    assert b.media == [(0, 0, 0)] and dut.cache_off.value == 1 and await get(6) == 0, "what was written is durable"
    b.media_error = True
    await put(6, 0, WRITE_FAULT)
    b.media_error = False
    queues = (NUM_QP - 1) << 16 | NUM_QP - 1
    assert await put(7, 0x00FF00FF) == queues and await get(7) == queues
    await put(7, 0xFFFF, BAD_FIELD)
    await put(7, 0xFFFF0000, BAD_FIELD)
    await put(8, 0x0A07)
    assert await get(8) == 0x0A07 and b.coalesce_cfg.threshold == 7 and b.coalesce_cfg.time_100us == 10
    for vector in range(NUM_VEC):
        assert await get(9, dw11=vector) == vector
    await put(9, 1 << 16 | 3)
    assert await get(9, dw11=3) == 1 << 16 | 3 and await get(9, dw11=2) == 2 and b.vectors == [(3, 1)]
    await put(9, 1 << 16 | NUM_VEC, BAD_FIELD)
    await get(9, BAD_FIELD, dw11=NUM_VEC)
    await put(0xA, 1)
    assert await get(0xA) == 1
    await put(0xB, 0xFFFFFFFF)
    assert await get(0xB) == 0x11F
    b.write(0x50FFC, struct.pack("<I", 0x89ABCDEF))
    b.write(0x61000, struct.pack("<I", 0xFFFF0123))
    await put(0xE, 0, prp1=0x50FFC, prp2=0x61000)  # across two pages
    dut.time_us.value = 5_000_500
    await ClockCycles(dut.clk, 2)
    await get(0xE, prp1=0x70000)
    assert b.read(0x70000, 8) == (0x012389ABCDEF + 5000).to_bytes(6, "little") + b"\2\0"
    assert b.read(0x70008, 4) == b"\xee" * 4
    b.bad_reads.add(0x50)
    await put(0xE, 0, DATA_ERROR, prp1=0x50FFC, prp2=0x61000)
    # Host Behavior Support: a page of which a byte says that the host knows of retry delays
    b.write(0x50F00, bytes([1]) + bytes(511))
    b.write(0x61000, bytes(4096))
    await put(0x16, 0, prp1=0x50F00, prp2=0x61000, status=DATA_ERROR)  # page 50h is bad, still
    b.bad_reads.clear()
    await put(0x16, 0, prp1=0x50F00, prp2=0, status=BAD_FIELD)
    await put(0x16, 0, prp1=0x50F00, prp2=0x61000)
    await get(0x16, prp1=0x70000)
    assert b.read(0x70000, 512) == bytes([1]) + bytes(511) and b.read(0x70200, 4) == b"\xee" * 4
    for i in (0, 1, 2):
        b.write(0x50F00, bytes(i) + bytes([2 - (i > 0)]) + bytes(3))
        await put(0x16, 0, prp1=0x50F00, prp2=0x61000, status=BAD_FIELD)
    # what the host has not given is not touched: PRP2 that is needed and 0, SGLs, lines around PRPs
    await put(0xE, 0, BAD_FIELD, prp1=0x50FFC)
    await put(0xE, 0, BAD_FIELD, flags=0x40)
    await put(0x80, 0x54, BAD_FIELD, flags=0x80)
    await b.run(6, BAD_FIELD, dw10=1, prp1=0x10800)
    await b.run(2, BAD_FIELD, nsid=NSID_ALL, dw10=5 | 0x3FF << 16, prp1=0x10004)
    assert 0 not in b.memory
    b.read_ranges.clear()
    await put(0xE, 0, prp1=0x70FC4)
    assert b.read_ranges == [(0x70FC4, 8)]
    await put(0x19, 0)
    await put(0x19, 1, REJECTED)
    await put(0x80, 0x55)
    await b.run(5, prp1=0x1000, dw10=63 << 16 | 1, dw11=1)
    await put(7, 0x00010001, SEQUENCE)
    # a controller reset brings the defaults back, except what is not volatile
    await b.disable()
    await b.enable()
    assert await get(1) == await get(1, sel=1) and await get(8) == 0 and await get(9, dw11=3) == 3
    assert b.vectors[-1] == (3, 0) and b.coalesce_cfg.threshold == 0
    assert await get(0xB) == 0 and await get(4) == 343 and await get(0x80) == 0x55


@cocotb.test()
async def keep_alive(dut):
    b = await started(dut, 7)
    await b.run(0x18)
    dut.time_us.value = 1_000_000
    await b.run(0x09, dw10=0x0F, dw11=1500)
    assert (await b.run(0x0A, dw10=0x0F)).dw0 == 2000, "rounded up to a second"
    await b.asleep()
    assert int(dut.wake_us.value) == 3_000_000
    dut.time_us.value = 2_900_000
    await b.run(0x18)
    await b.asleep()
    assert int(dut.wake_us.value) == 4_900_000 and b.csts.cfs == 0
    dut.time_us.value = 4_899_999
    await ClockCycles(dut.clk, 3000)
    assert b.csts.cfs == 0 and dut.cpu_idle.value == 1
    dut.time_us.value = 4_900_000
    await b.until(lambda: b.csts.cfs == 1, 5000, "CFS after Keep Alive ran out")
    assert b.control.run == 0
    await b.asleep()
    assert int(dut.wake_us.value) == (1 << 64) - 1
    await b.disable()
    assert b.csts.cfs == 0
    await b.enable()
    assert (await b.run(0x0A, dw10=0x0F)).dw0 == 0
    expired = await get_log(b, 1, 64)
    assert u(expired, 12, 2) >> 1 & 0xFF == 0x19, "Keep Alive Timeout Expired"
    assert u(expired, 8, 4) == 0xFFFFFFFF, "SQID, CID"


@cocotb.test()
async def time_goes_on_behind_32_bits(dut):
    """After 71 minutes the lower word of the time begins anew: what is due before and after comes when it is due."""
    b = await started(dut, 23)
    low_ends = 1 << 32
    dut.time_us.value = low_ends - 2_500_000
    await b.run(0x09, dw10=0x0F, dw11=2000)
    await b.asleep()
    assert int(dut.wake_us.value) == low_ends - 500_000
    dut.time_us.value = low_ends - 500_001
    await b.run(0x18)
    await b.asleep()
    assert int(dut.wake_us.value) == low_ends + 1_499_999 and b.csts.cfs == 0
    for time in (low_ends - 1, low_ends, low_ends + 1_499_998):
        dut.time_us.value = time
        await ClockCycles(dut.clk, 3000)
        assert b.csts.cfs == 0 and dut.cpu_idle.value == 1
    dut.time_us.value = low_ends + 1_499_999
    await b.until(lambda: b.csts.cfs == 1, 5000, "CFS after Keep Alive ran out")
    await b.disable()
    await b.enable()
