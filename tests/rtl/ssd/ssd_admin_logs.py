# SPDX-License-Identifier: Apache-2.0
"""Tests of db_ssd_admin, which test_db_ssd_admin.py runs: log pages, events, Abort."""

from __future__ import annotations

import struct

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge
from ssd_admin_bench import (
    ABORTED,
    AER_LIMIT,
    BAD_FIELD,
    BAD_LOG,
    BAD_NS,
    BAD_OFFSET,
    BAD_OPCODE,
    DATA_ERROR,
    DNR,
    LONG,
    NSID_ALL,
    OK,
    get_log,
    started,
    u,
)


@cocotb.test(skip=not LONG)
async def log_pages(dut):
    b = await started(dut, 5)
    effects = await get_log(b, 5, 4096)
    admin = {op for op in range(256) if effects[4 * op] & 1}
    io = {op for op in range(256) if effects[1024 + 4 * op] & 1}
    assert admin == {0, 1, 2, 4, 5, 6, 8, 9, 0xA, 0xC, 0xD, 0x15, 0x18, 0x80} and io == {0, 1, 2, 5, 8, 9, 0xC}
    assert u(effects, 4 * 0x80, 4) & 0x70007 == 0x20007, "Format: changes data and capabilities, alone"
    assert u(effects, 4 * 0xD, 4) & 8 and u(effects, 4 * 0x15, 4) & 8, "they change which namespaces there are"
    assert all(effects[1024 + 4 * op] & 2 for op in (1, 8, 9)) and not any(effects[2048:])
    pages = await get_log(b, 0, 1024)
    assert {i for i in range(256) if pages[4 * i] & 1} == {0, 1, 2, 3, 4, 5, 0x12, 0x13}
    features = await get_log(b, 0x12, 1024)
    there = {*range(1, 3), *range(4, 12), 14, 15, 0x16, 0x19, 0x80, 0x84}
    assert {i for i in range(256) if features[4 * i] & 1} == there
    firmware = await get_log(b, 3, 512)
    assert firmware[0] == 1 and firmware[8:16] == b"0.1.0   " and not any(firmware[16:])

    b.counters.set(read_sectors=1_000_001, write_sectors=(5 << 32) * 1000, read_cmds=0x1_2345_6789, write_cmds=77,
                   media_errors=3)  # fmt: skip
    dut.time_us.value = 7 * 3600 * 10**6 + 1
    await ClockCycles(dut.clk, 2)
    smart = await get_log(b, 2, 512)
    assert smart[0] == 0 and u(smart, 1, 2) == 313 and smart[3] == 100 and smart[4] < 100 and smart[5] == 0
    assert u(smart, 32, 16) == 1001 and u(smart, 48, 16) == 5 << 32
    assert u(smart, 64, 16) == 0x1_2345_6789 and u(smart, 80, 16) == 77 and u(smart, 160, 16) == 3
    assert u(smart, 128, 16) == 7 and u(smart, 112, 16) >= 1
    assert u(smart, 176, 16) == 0, "no errors yet"

    # errors: an admin command's, then an I/O command's from the hardware
    await b.run(0xFF, BAD_OPCODE, nsid=5)
    failed = b.cid
    await FallingEdge(dut.clk)
    b.err.set(sqid=4, cid=0xBEEF, status=0x4281, nsid=1, lba=0x1122334455667788)
    dut.s_err_valid.value = 1
    await RisingEdge(dut.s_err_ready)
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.s_err_valid.value = 0
    log = await get_log(b, 1, 32 * 64)
    assert u(log, 0, 8) == 2 and u(log, 8, 2) == 4 and u(log, 10, 2) == 0xBEEF and u(log, 12, 2) == 0x4281 << 1
    assert u(log, 16, 8) == 0x1122334455667788 and u(log, 24, 4) == 1
    assert u(log, 64, 8) == 1 and u(log, 72, 2) == 0 and u(log, 74, 2) == failed and u(log, 76, 2) == 0x4001 << 1
    assert not any(log[128:])
    assert u(await get_log(b, 2, 512), 176, 16) == 2

    # any length and place: a second page, lists, a list that goes on elsewhere, the end of the log page
    assert await get_log(b, 5, 4) == effects[:4]
    assert await get_log(b, 5, 100, offset=512) == effects[512:612]
    assert await get_log(b, 5, 4096, pages=[0x10FFC, 0x20000]) == effects
    assert await get_log(b, 5, 4096, offset=1024) == effects[1024:] + bytes(1024)
    assert await get_log(b, 5, 8192, pages=[0x10010, 0x20000, 0x9_0003_0000], list_at=0x40018) == effects + bytes(4096)
    chain = struct.pack("<QQ", 0x20000, 0x50000)
    b.write(0x40FF0, chain)
    b.write(0x50000, struct.pack("<QQ", 0x30000, 0x60000))
    prp = dict(nsid=NSID_ALL, prp1=0x10800, prp2=0x40FF0, dw10=5 | 0x0BFF << 16)  # 12 KiB: 0.5, 1, 1, 0.5 pages
    b.write(0x50008, struct.pack("<Q", 0x60000))
    await b.run(2, **prp)
    assert b.read(0x10800, 2048) + b.read(0x20000, 2048) == effects
    assert not any(b.read(0x20800, 2048) + b.read(0x30000, 4096) + b.read(0x60000, 2048))
    b.write(0x50000, struct.pack("<Q", 0x30010))
    await b.run(2, BAD_OFFSET, **prp)
    b.write(0x50000, struct.pack("<Q", 0x30000))
    b.bad_reads.add(0x50)
    await b.run(2, DATA_ERROR, **prp)
    await b.run(2, BAD_OFFSET, **{**prp, "prp2": 0x40FF4})

    for lid in (6, 7, 8, 9, 0xA, 0xD, 0x70, 0x80, 0xC0, 0xFF):
        await get_log(b, lid, 64, BAD_LOG)
    await get_log(b, 2, 512, BAD_FIELD, offset=516)
    await get_log(b, 2, 512, BAD_FIELD, offset=1 << 40)
    await get_log(b, 2, 512, BAD_FIELD, offset=2)
    await get_log(b, 2, 512, BAD_FIELD, nsid=1)
    await get_log(b, 2, 512, BAD_NS, nsid=9)
    await get_log(b, 2, 512, BAD_FIELD, dw14=1 << 23)
    await get_log(b, 5, 2048, BAD_FIELD, dw14=1 << 24)
    await get_log(b, 1, (1 << 20) + 4, BAD_FIELD)
    assert await get_log(b, 2, 512, nsid=0) != b""
    # a storm of errors of I/O commands: admin commands are served all the same
    d_err = dut.s_err_valid
    await FallingEdge(dut.clk)
    b.err.set(sqid=2, cid=1, status=0x4281, nsid=1, lba=5)
    d_err.value = 1  # and never again 0: the next one is there at once
    await ClockCycles(dut.clk, 5_000)
    assert u(await get_log(b, 2, 512), 1, 2) == 313
    await FallingEdge(dut.clk)
    d_err.value = 0
    # more errors than the log holds: the newest 32
    for _ in range(30):
        await b.run(0x7F, BAD_OPCODE)
    log = await get_log(b, 1, 32 * 64)
    newest = u(log, 0, 8)
    assert [u(log, 64 * i, 8) for i in range(32)] == [newest - i for i in range(32)]


@cocotb.test()
async def events_and_abort(dut):
    b = await started(dut, 6)
    aer = [await b.send(0x0C) for _ in range(4)]
    await b.run(0x0C, AER_LIMIT)
    assert not b.completions

    async def doorbell(kind: int, qid: int) -> None:
        await FallingEdge(dut.clk)
        b.doorbell_err.set(kind=kind, qid=qid)
        dut.s_doorbell_err_valid.value = 1
        await FallingEdge(dut.clk)
        dut.s_doorbell_err_valid.value = 0

    await doorbell(1, 9)
    await b.until(lambda: len(b.completions) == 1)
    event = b.completions.pop()
    assert event.status == OK and event.cid in aer and event.dw0 == 0x010100, "error, invalid doorbell value, log 1"
    aer.remove(event.cid)
    assert u(await get_log(b, 1, 64, rae=1), 8, 4) == 0xFFFFFFFF, "SQID, CID: it is no command's"
    await doorbell(0, 200)  # masked until the log has been read
    await b.asleep()
    await get_log(b, 1, 64, rae=1)
    await doorbell(0, 200)
    await b.asleep()
    assert not b.completions
    await get_log(b, 1, 64)
    await doorbell(0, 200)
    await b.until(lambda: len(b.completions) == 1)
    event = b.completions.pop()
    assert event.dw0 == 0x010000
    aer.remove(event.cid)

    # temperature: a threshold below it warns, if the host wants to know
    await b.run(0x09, dw10=4, dw11=300)
    assert (await get_log(b, 2, 512))[0] == 2
    await b.asleep()
    assert not b.completions
    await b.run(0x09, dw10=0xB, dw11=2)
    await b.until(lambda: len(b.completions) == 1)
    event = b.completions.pop()
    assert event.dw0 == 0x020101
    aer.remove(event.cid)
    assert len(aer) == 1

    # Abort: an event request that waits can be; anything else is said not to have been
    assert (await b.run(0x08, dw10=0x7777 << 16)).dw0 == 1
    assert (await b.run(0x08, dw10=aer[0] << 16 | 1)).dw0 == 1
    assert (await b.run(0x08, dw10=aer[0] << 16)).dw0 == 0
    assert (await b.result(aer[0])).status & ~DNR == ABORTED

    # the log is the controller's: a namespace has none, whether it is active, can be, or cannot
    for status, nsid in ((BAD_FIELD, 1), (BAD_FIELD, 2), (BAD_NS, 3)):
        await get_log(b, 1, 64, status, nsid=nsid)
    # an event with no request waits for one
    await get_log(b, 1, 64)
    await doorbell(1, 1)
    await b.asleep()
    event = await b.result(await b.send(0x0C))
    assert event.dw0 == 0x010100
    # a reset forgets requests
    await b.send(0x0C)
    await b.asleep()
    await b.disable()
    await b.enable()
    for _ in range(4):
        await b.send(0x0C)
    await b.run(0x0C, AER_LIMIT)
    assert not b.completions
