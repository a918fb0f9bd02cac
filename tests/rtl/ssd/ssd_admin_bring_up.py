# SPDX-License-Identifier: Apache-2.0
"""Tests of db_ssd_admin, which test_db_ssd_admin.py runs: power-on, enable, Identify, queues."""

from __future__ import annotations

import struct

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge
from ssd_admin_bench import (
    ABORT,
    BAD_FIELD,
    BAD_NS,
    BAD_OFFSET,
    BAD_VECTOR,
    CQ_INVALID,
    DELETION,
    LONG,
    NSID_ALL,
    NUM_NS,
    NUM_QP,
    NUM_VEC,
    OK,
    PAGES,
    QUEUE_ID,
    QUEUE_SIZE,
    SECTORS,
    Bench,
    started,
    table,
    u,
)


@cocotb.test()
async def bring_up(dut):
    """Enable, Identify, queues: the thinnest path; and the processor sleeps before, between and after."""
    b = Bench(dut)
    start = cocotb.utils.get_sim_time("ns")
    await b.start()
    await b.asleep()
    dut._log.info(f"power-on: {(cocotb.utils.get_sim_time('ns') - start) / 4:.0f} cycles")
    start = cocotb.utils.get_sim_time("ns")
    assert table(b) == {1: (0, SECTORS, 0)}
    assert b.csts.rdy == 0 and b.control.run == 0 and int(dut.wake_us.value) == (1 << 64) - 1
    await b.enable()
    dut._log.info(f"first enable: {(cocotb.utils.get_sim_time('ns') - start) / 4:.0f} cycles")
    assert b.control.run == 1 and b.arb_cfg.wrr == 0
    cq, sq = b.queues
    assert (cq.kind, cq.valid, cq.qid, cq.base, cq.size, cq.vector, cq.ien) == (1, 1, 0, 0xABCD_0000_7000, 63, 0, 1)
    assert (sq.kind, sq.valid, sq.qid, sq.base, sq.size, sq.cqid) == (0, 1, 0, 0x1_2345_6000, 31, 0)
    await b.asleep()
    start = cocotb.utils.get_sim_time("ns")
    data = await b.identify(1)
    dut._log.info(f"Identify Controller: {(cocotb.utils.get_sim_time('ns') - start) / 4:.0f} cycles")
    await b.asleep()
    start = cocotb.utils.get_sim_time("ns")
    await b.send(0x0A, dw10=7)
    await RisingEdge(dut.m_completion_valid)
    dut._log.info(f"Get Features: {(cocotb.utils.get_sim_time('ns') - start) / 4:.0f} cycles")
    await b.asleep()
    dut._log.info(f"to sleep: {(cocotb.utils.get_sim_time('ns') - start) / 4:.0f} cycles")
    b.completions.clear()
    start = cocotb.utils.get_sim_time("ns")
    await b.disable()
    dut._log.info(f"disable: {(cocotb.utils.get_sim_time('ns') - start) / 4:.0f} cycles")
    start = cocotb.utils.get_sim_time("ns")
    await b.enable()
    dut._log.info(f"enable: {(cocotb.utils.get_sim_time('ns') - start) / 4:.0f} cycles")
    b.queues[:] = b.queues[2:]
    assert data[24:64] == b"Doorbell SSD".ljust(40)
    await b.asleep()
    await b.run(0x05, prp1=0x55_0000_1000, dw10=255 << 16 | 1, dw11=3 << 16 | 3)
    await b.run(0x01, prp1=0x66_0000_2000, dw10=127 << 16 | 2, dw11=1 << 16 | 2 << 1 | 1)
    cq, sq = b.queues[2:]
    assert (cq.kind, cq.valid, cq.qid, cq.base, cq.size, cq.vector, cq.ien) == (1, 1, 1, 0x55_0000_1000, 255, 3, 1)
    assert (sq.kind, sq.valid, sq.qid, sq.base, sq.size, sq.cqid, sq.prio) == (0, 1, 2, 0x66_0000_2000, 127, 1, 2)
    await b.asleep()


@cocotb.test(skip=not LONG)
async def identify_structures(dut):
    b = await started(dut, 2)
    c = await b.identify(1)
    assert u(c, 0, 2) == 0x1234 and c[4:24] == b"DB00000001".ljust(20) and c[64:72] == b"0.1.0".ljust(8)
    assert c[77] == 8, "MDTS: 1 MiB"
    assert u(c, 80, 4) == 0x20000 and c[111] == 1, "VER, CNTRLTYPE"
    assert u(c, 78, 2) == 0 and u(c, 92, 4) == 1 << 8, "CNTLID, OAES: namespace attributes"
    assert u(c, 256, 2) == 0b1010, "OACS: Format, namespace management"
    assert c[258] == 3 and c[259] == 3 and c[262] == 31 and c[263] == 0, "ACL, AERL, ELPE, NPSS"
    assert c[260] == 3, "FRMW: one slot, read only"
    assert c[261] == 0b100110, "LPA"
    assert u(c, 266, 2) == 343 and u(c, 268, 2) == 358
    assert u(c, 280, 16) == PAGES * 4096 and u(c, 296, 16) == 0, "TNVMCAP, UNVMCAP"
    assert u(c, 320, 2) == 10, "KAS"
    assert c[512] == 0x66 and c[513] == 0x44 and u(c, 516, 4) == u(c, 540, 4) == NUM_NS, "NN, MNAN"
    oncs = u(c, 520, 2)
    assert oncs == 0b01011101, "Compare, DSM, Write Zeroes, Select, Timestamp; Verify has a limit, VSL"
    assert c[524] == 0 and c[525] == 7, "FNA, VWC"
    assert u(c, 526, 2) == 0 and u(c, 528, 2) == 0, "AWUN, AWUPF"
    assert u(c, 536, 4) == 1 << 18 | 1 << 16 | 2, "SGLS: dwords, bit buckets, longer than the data"
    nqn = c[768:1024].rstrip(b"\0").decode()
    assert nqn == "nqn.2014-08.org.nvmexpress:uuid:d00bbe11-0000-4000-8000-000000000001"
    assert u(c, 2048, 2) == 25, "PSD0.MP"
    assert not any(c[1024:2048]) and not any(c[2080:])

    n = await b.identify(0, nsid=1)
    assert u(n, 0, 8) == u(n, 8, 8) == u(n, 16, 8) == SECTORS
    assert n[25] == 1 and n[26] == 0 and n[24] == 0 and n[27] == 0 and n[28] == 0 and n[29] == 0
    assert u(n, 48, 16) == PAGES * 4096, "NVMCAP"
    assert n[33] == 9, "DLFEAT: zeros, Write Zeroes may deallocate"
    assert u(n, 128, 4) & 0xFFFFFF == 9 << 16 and u(n, 132, 4) & 0xFFFFFF == 12 << 16
    assert not any(n[136:])
    eui, nguid = n[120:128], n[104:120]
    assert any(eui) and any(nguid) and nguid[8:11] == eui[:3]
    assert not any(await b.identify(0, nsid=2)), "not active"
    common = await b.identify(0, nsid=NSID_ALL)
    assert u(common, 0, 8) == 0 and common[128:136] == n[128:136]
    await b.identify(0, BAD_NS, nsid=0)
    await b.identify(0, BAD_NS, nsid=3)

    assert await b.identify(0x11, nsid=1) == n and not any(await b.identify(0x11, nsid=2))
    await b.identify(0x11, BAD_NS, nsid=3)
    for cns in (0x11, 0x1B):
        await b.identify(cns, BAD_NS, nsid=NSID_ALL)
    for cns in (2, 7, 0x10, 0x1A):
        assert (await b.identify(cns, nsid=0)) == b"\1".ljust(4096, b"\0")
        assert not any(await b.identify(cns, nsid=1))
        await b.identify(cns, BAD_NS, nsid=0xFFFFFFFE)
    d = await b.identify(3, nsid=1)
    at, found = 0, {}
    while d[at]:
        found[d[at]] = d[at + 4 : at + 4 + d[at + 1]]
        at += 4 + d[at + 1]
    assert found[1] == eui and found[2] == nguid and len(found[3]) == 16 and found[4] == b"\0"
    assert not any(d[at:])
    for status, nsid in ((BAD_FIELD, 2), (BAD_NS, 0), (BAD_NS, 3), (BAD_NS, NSID_ALL)):  # not active, or no NSID at all
        await b.identify(3, status, nsid=nsid)
    assert not any(await b.identify(5, nsid=1))
    limits = await b.identify(6)
    assert limits[0] == 8 and limits[1] == 16 and limits[2:4] == bytes(2), "VSL, WZSL, WUSL, DMRL"
    assert u(limits, 4, 4) == 1 << 18 and u(limits, 8, 8) == 1 << 26 and not any(limits[16:]), "DMRSL, DMSL"
    assert (await b.identify(8, nsid=1))[14] == 1
    for cns in (5, 0x1B):
        await b.identify(cns, BAD_NS, nsid=9)
    ours = struct.pack("<HH", 1, 0).ljust(4096, b"\0")
    assert await b.identify(0x12, nsid=1) == await b.identify(0x13) == ours, "controller 0"
    assert not any(await b.identify(0x12 | 1 << 16, nsid=1)) and not any(await b.identify(0x13 | 1 << 16))
    for status, nsid in ((BAD_NS, 0), (BAD_NS, 3), (BAD_FIELD, 2), (BAD_FIELD, NSID_ALL)):
        await b.identify(0x12, status, nsid=nsid)
    assert u(await b.identify(0x1C), 0, 8) == 1
    for cns in (5, 6, 7, 0x1A, 0x1B):
        await b.identify(cns, BAD_FIELD, nsid=1, csi=2)
    for cns in (4, 9, 0x14, 0x15, 0x16, 0x17, 0x18, 0x1D, 0xFF):
        await b.identify(cns, BAD_FIELD, nsid=1)

    # every dword offset is legal in PRP1; PRP2 then takes the rest
    for prp1 in (0x20FFC, 0x20800, 0x20004):
        assert await b.identify(1, prp1=prp1, prp2=0x7_0000_3000) == c
    await b.identify(1, BAD_OFFSET, prp1=0x20002)
    await b.identify(1, BAD_OFFSET, prp1=0x20004, prp2=0x30004)
    for psdt in (0x40, 0x80, 0xC0):  # SGLs are not for admin commands (Base 2.0, 3.3.3.1), whatever SGLS says
        await b.run(0x06, BAD_FIELD, dw10=1, flags=psdt)
    await b.run(0x06, BAD_FIELD, dw10=1, flags=1)  # fused


@cocotb.test()
async def queue_commands(dut):
    b = await started(dut, 3)
    create_sq, delete_sq, create_cq, delete_cq = 1, 0, 5, 4
    good_cq = dict(prp1=0x1000, dw10=63 << 16 | 1, dw11=1)
    for status, change in (
        (QUEUE_ID, {"dw10": 63 << 16}), (QUEUE_ID, {"dw10": 63 << 16 | NUM_QP + 1}),
        (QUEUE_ID, {"dw10": 63 << 16 | 0x101}), (QUEUE_SIZE, {"dw10": 1}), (QUEUE_SIZE, {"dw10": 4096 << 16 | 1}),
        (BAD_FIELD, {"dw11": 0}), (BAD_OFFSET, {"prp1": 0x1800}), (BAD_VECTOR, {"dw11": NUM_VEC << 16 | 1}),
    ):  # fmt: skip
        await b.run(create_cq, status, **{**good_cq, **change})
    await b.run(create_cq, **{**good_cq, "dw10": 4095 << 16 | 1, "dw11": (NUM_VEC - 1) << 16 | 3})
    await b.run(create_cq, QUEUE_ID, **good_cq)
    good_sq = dict(prp1=0x2000, dw10=1 << 16 | NUM_QP, dw11=1 << 16 | 1)
    for status, change in (
        (QUEUE_ID, {"dw10": 63 << 16}), (QUEUE_ID, {"dw10": 63 << 16 | NUM_QP + 1}), (QUEUE_SIZE, {"dw10": 1}),
        (QUEUE_SIZE, {"dw10": 4096 << 16 | 1}), (BAD_FIELD, {"dw11": 1 << 16}), (BAD_OFFSET, {"prp1": 4}),
        (QUEUE_ID, {"dw11": 1}), (QUEUE_ID, {"dw11": NUM_QP + 1 << 16 | 1}), (CQ_INVALID, {"dw11": 2 << 16 | 1}),
    ):  # fmt: skip
        await b.run(create_sq, status, **{**good_sq, **change})
    await b.run(create_sq, **good_sq)
    await b.run(create_sq, QUEUE_ID, **good_sq)
    await b.run(create_sq, **{**good_sq, "dw10": 1 << 16 | 2})
    assert len(b.queues) == 2 + 3
    await b.run(delete_cq, DELETION, dw10=1)
    for opcode in (delete_cq, delete_sq):
        for qid in (0, 3, NUM_QP + 1, 0xFFFF):
            await b.run(opcode, QUEUE_ID, dw10=qid)
    # a queue's commands are aborted first; it is answered when that is over
    dut.abort_busy.value = 1
    cid = await b.send(delete_sq, dw10=NUM_QP)
    await ClockCycles(dut.clk, 3000)
    last = b.queues[-1]
    assert not b.completions and (last.kind, last.valid, last.qid) == (0, 0, NUM_QP)
    asked = ABORT.unpack(int(dut.m_abort.value))
    assert (asked["find"], asked["by_cid"], asked["sqid"]) == (0, 0, NUM_QP)
    await b.run(delete_sq, QUEUE_ID, dw10=NUM_QP)  # a queue is deleted once, and other commands go on
    dut.abort_busy.value = 0
    assert (await b.result(cid)).status == OK
    # its number is free when engines have nothing of it any more
    dut.sq_inflight.value = 1
    cid = await b.send(create_sq, **{**good_sq, "dw10": 1 << 16 | NUM_QP})
    await ClockCycles(dut.clk, 3000)
    assert not b.completions and dut.sq_select.value == NUM_QP
    dut.sq_inflight.value = 0
    dut.time_us.value = int(dut.time_us.value) + 200
    assert (await b.result(cid)).status == OK
    await b.run(delete_sq, dw10=NUM_QP)
    await b.run(delete_cq, DELETION, dw10=1)
    await b.run(delete_sq, dw10=2)
    await b.run(delete_cq, dw10=1)
    last = b.queues[-1]
    assert (last.kind, last.valid, last.qid) == (1, 0, 1)
    await b.run(create_cq, **good_cq)
    # without entry sizes in CC there are no I/O queues
    await b.disable()
    await b.enable(cc=1)
    await b.run(create_cq, QUEUE_SIZE, **good_cq)
    # a host may set them when Identify has told it which there are, with EN as it is
    await b.write_cc(0x400001)
    await b.run(create_cq, **good_cq)
    await b.run(create_sq, QUEUE_SIZE, **good_sq)
    await b.write_cc(0x460001)
    await b.run(create_sq, **good_sq)
