# SPDX-License-Identifier: Apache-2.0
"""Tests of db_ssd_admin, which test_db_ssd_admin.py runs: Format NVM, namespaces, what is kept without power."""

from __future__ import annotations

import struct

import cocotb
from cocotb.triggers import ClockCycles
from ssd_admin_bench import (
    ABORT,
    AREA,
    ATTACHED,
    BAD_FIELD,
    BAD_FORMAT,
    BAD_LIST,
    BAD_NS,
    BAD_OFFSET,
    BAD_SET,
    DATA_ERROR,
    FOUND,
    LONG,
    NO_NSID,
    NO_ROOM,
    NOT_ATTACHED,
    NSID_ALL,
    NUM_NS,
    OK,
    PAGES,
    SECTORS,
    THIN,
    WRITE_FAULT,
    attach,
    create,
    gates,
    get_log,
    started,
    table,
    u,
    zeroes,
)


@cocotb.test()
async def format_nvm(dut):
    b = await started(dut, 8)
    for status, fields in (
        (BAD_NS, {"nsid": 0, "dw10": 0}), (BAD_FIELD, {"nsid": 2, "dw10": 0}), (BAD_NS, {"nsid": 3, "dw10": 0}),
        (BAD_FORMAT, {"nsid": 1, "dw10": 2}), (BAD_FORMAT, {"nsid": 1, "dw10": 1 << 12}),
        (BAD_FORMAT, {"nsid": 1, "dw10": 1 << 5}), (BAD_FIELD, {"nsid": 1, "dw10": 2 << 9}),
    ):  # fmt: skip
        await b.run(0x80, status, **fields)
    assert b.media == []
    dut.abort_found.value = FOUND.pack(found=1)  # the namespace has commands under way
    cid = await b.send(0x80, nsid=1, dw10=1 | 1 << 9)
    await ClockCycles(dut.clk, 15_000)
    asked = ABORT.unpack(int(dut.m_abort.value))
    assert (asked["find"], asked["key"]) == (1, 1) and gates(b) == [2] + [0] * (NUM_NS - 1)
    await b.identify(1)  # other commands go on
    dut.time_us.value = int(dut.time_us.value) + 200
    await ClockCycles(dut.clk, 15_000)
    assert b.media == [] and b.control.run == 1
    dut.abort_found.value = 0
    dut.time_us.value = int(dut.time_us.value) + 200
    assert (await b.result(cid)).status == OK
    assert b.media == zeroes(0, PAGES * 4096) and not any(gates(b))
    assert table(b) == {1: (0, PAGES, 1)}
    n = await b.identify(0, nsid=1)
    assert u(n, 0, 8) == PAGES and n[26] == 1
    await b.disable()
    await b.enable()
    assert table(b)[1][2] == 1, "a reset does not change the format"
    b.media_error = True
    await b.run(0x80, WRITE_FAULT, nsid=NSID_ALL, dw10=0)
    assert table(b)[1][2] == 1 and b.control.run == 1
    b.media_error = False
    await b.run(0x80, nsid=NSID_ALL, dw10=0)
    assert table(b)[1][2] == 0
    # a reset while the media is at it
    b.media_cycles = 20_000
    before = len(b.media)
    await b.send(0x80, nsid=1, dw10=1)
    await b.until(lambda: len(b.media) > before, 5000, "media command")
    await b.disable()
    await b.enable()
    assert b.completions == []
    assert u(await b.identify(0, nsid=1), 0, 8) in (SECTORS, PAGES)


@cocotb.test()
async def what_was_formatted_before_a_reset_outlasts_power(dut):
    """Format of two namespaces, and a reset when the first one is done: a host that goes on with what it finds, and is
    told that it is written, finds the same after power."""
    b = await started(dut, 23)
    await b.run(0x0D, nsid=1, dw10=1)
    for nsid in (1, 2):
        assert await create(b, 64) == nsid
        await attach(b, nsid)
    b.media.clear()
    b.media_cycles = 20_000
    await b.send(0x80, nsid=NSID_ALL, dw10=1)
    await b.until(lambda: len(b.media) == 3, what="the second one's zeroes")
    await b.disable()
    b.media_cycles = 10
    await b.enable()
    found = table(b)
    assert [found[nsid][2] for nsid in (1, 2)] == [1, 0]
    await b.power_cycle()
    assert table(b) == found


@cocotb.test()
async def delays_are_for_hosts_that_know_of_them(dut):
    """While write protection waits for commands under way, others come again: after a delay (CRD) with ACRE alone."""
    b = await started(dut, 24)
    for acre, gate in ((0, 1), (1, 3), (0, 1)):
        b.write(0x50000, bytes([acre]) + bytes(511))
        await b.run(0x09, dw10=0x16, prp1=0x50000)
        dut.abort_found.value = FOUND.pack(found=1)
        cid = await b.send(0x09, nsid=1, dw10=0x84, dw11=1)
        await b.until(lambda: any(gates(b)), what="the namespace closes")
        assert gates(b) == [gate] + [0] * (NUM_NS - 1)
        dut.abort_found.value = 0
        await b.asleep()
        dut.time_us.value = int(dut.time_us.value) + 200
        assert (await b.result(cid)).status == OK and not any(gates(b))
        await b.run(0x09, nsid=1, dw10=0x84, dw11=0)


@cocotb.test(skip=not LONG)
async def namespaces(dut):
    """Create, attach, detach, delete: what the data path is told, what the media zeroes, every status."""
    b = await started(dut, 12)
    whole = {1: (0, SECTORS, 0)}
    await create(b, 8, NO_ROOM)
    await b.run(0x0D, BAD_FIELD, nsid=1, dw10=2)
    for nsid, status in ((0, BAD_NS), (3, BAD_NS), (2, BAD_FIELD)):
        await b.run(0x0D, status, nsid=nsid, dw10=1)
    assert table(b) == whole and b.media == []

    # deletion lets the commands inside end, then zeroes, then the namespace is gone
    dut.abort_busy.value = 1
    cid = await b.send(0x0D, nsid=1, dw10=1)
    await ClockCycles(dut.clk, 15_000)
    assert b.media == [] and b.control.run == 1 and table(b) == whole and gates(b)[0] == 1
    dut.abort_busy.value = 0
    assert (await b.result(cid)).status == OK and b.control.run == 1
    assert b.media == zeroes(0, PAGES * 4096) and table(b) == {}
    assert u(await b.identify(1), 296, 16) == PAGES * 4096, "UNVMCAP"
    assert not any(await b.identify(0x10)) and not any(await b.identify(0, nsid=1))
    await b.run(0x0D, BAD_FIELD, nsid=1, dw10=1)
    await b.run(0x0D, nsid=NSID_ALL, dw10=1)  # none left
    b.media.clear()

    for status, wrong in (
        (BAD_FIELD, {"nsze": 0}), (BAD_FIELD, {"ncap": 9}), (THIN, {"ncap": 7}), (THIN, {"ncap": 0}),
        (BAD_FORMAT, {"flbas": 2}), (BAD_FORMAT, {"flbas": 0x20}), (BAD_FORMAT, {"flbas": 0x40}),
        (BAD_FIELD, {"b29": 1}), (BAD_FIELD, {"b30": 1}), (BAD_FIELD, {"b92": 1}), (BAD_FIELD, {"b95": 1}),
        (BAD_FIELD, {"b100": 1}), (BAD_FIELD, {"b102": 1}), (BAD_FIELD, {"nsid": 1}), (BAD_FIELD, {"nsid": NSID_ALL}),
        (BAD_SET, {"dw11": 2 << 24}), (NO_ROOM, {"nsze": SECTORS + 1}), (NO_ROOM, {"nsze": (1 << 64) - 1}),
        (NO_ROOM, {"nsze": PAGES + 1, "flbas": 1}), (NO_ROOM, {"nsze": (1 << 64) - 1, "flbas": 1}),
    ):  # fmt: skip
        await create(b, **{"nsze": 8, "status": status, **wrong})
    b.bad_reads.add(0x20)
    await create(b, 8, DATA_ERROR)
    b.bad_reads.clear()
    await b.run(0x0D, BAD_OFFSET, prp1=0x20002)
    await create(b, PAGES + 1, NO_ROOM, flbas=1)
    log = await get_log(b, 1, 128)
    assert u(log, 32, 8) == (PAGES + 1) * 4096, "bytes that it would take"
    assert u(log, 96, 8) == 0, "of the entry before"
    assert table(b) == {} and b.media == []

    # 9 blocks take two pages; the rest as one namespace of 4096-byte blocks
    assert await create(b, 9) == 1
    assert await create(b, PAGES - 2, flbas=1) == 2
    assert b.media == [], "what is free is zero already"
    await create(b, 1, NO_NSID)
    assert table(b) == {} and b.completions == []
    assert u(await b.identify(1), 296, 16) == 0
    assert (await b.identify(0x10))[:12] == struct.pack("<III", 1, 2, 0) and not any(await b.identify(2))
    n = await b.identify(0x11, nsid=1)
    assert u(n, 0, 8) == u(n, 8, 8) == u(n, 16, 8) == 9 and u(n, 48, 16) == 8192 and n[26] == 0
    n = await b.identify(0x11, nsid=2)
    assert u(n, 0, 8) == PAGES - 2 and u(n, 48, 16) == (PAGES - 2) * 4096 and n[26] == 1
    assert not any(await b.identify(0, nsid=2)) and not any(await b.identify(0x12, nsid=2))
    await b.identify(3, BAD_FIELD, nsid=2)

    for nsid, status in ((0, BAD_NS), (3, BAD_NS), (NSID_ALL, BAD_FIELD)):
        await attach(b, nsid, status)
    for ids in ((), (1,), (0, 0), (0, 1), (1, 0), (0xFFFF,)):
        for detach in (0, 1):
            await attach(b, 1, BAD_LIST, ids=ids, detach=detach)
    await b.run(0x15, BAD_FIELD, nsid=1, dw10=2, prp1=0x20000)
    await attach(b, 2, NOT_ATTACHED, detach=1)
    await attach(b, 2)
    await attach(b, 2, ATTACHED)
    await attach(b, 1)
    both = {1: (0, 9, 0), 2: (8192, PAGES - 2, 1)}
    assert table(b) == both and (await b.identify(2))[:12] == struct.pack("<III", 1, 2, 0)
    assert u(await b.identify(0x12, nsid=2), 0, 4) == 1
    d = await b.identify(3, nsid=2)
    assert d[:2] == b"\2\x10" and d[20:22] == b"\3\x10" and d[40:45] == b"\4\1\0\0\0" and not any(d[44:])
    assert d[4:20] == (await b.identify(0, nsid=2))[104:120]

    # a controller reset changes none of it; a reset of the core makes it as it was
    await b.disable()
    await b.enable()
    assert table(b) == both

    # detaching waits for commands inside
    dut.abort_busy.value = 1
    b.write(0x20000, struct.pack("<HH", 1, 0))
    cid = await b.send(0x15, nsid=1, dw10=1, prp1=0x20000)
    await ClockCycles(dut.clk, 15_000)
    assert b.control.run == 1 and table(b) == both and gates(b)[0] == 1
    dut.abort_busy.value = 0
    assert (await b.result(cid)).status == OK
    assert table(b) == {2: both[2]} and b.control.run == 1 and b.media == []
    await b.run(0x80, BAD_FIELD, nsid=1, dw10=0)
    await b.run(0x80, nsid=NSID_ALL, dw10=0)  # those that are attached
    assert b.media == zeroes(8192, (PAGES - 2) * 4096) and table(b) == {2: (8192, SECTORS - 16, 0)}
    await attach(b, 1)
    size = table(b)[1]
    assert size[1] % 8
    await b.run(0x80, nsid=1, dw10=0)  # the size stays, also where it is no whole number of pages
    assert table(b)[1] == size

    # media that cannot zero it: it stays, and goes later
    b.media_error = True
    await b.run(0x0D, WRITE_FAULT, nsid=2, dw10=1)
    assert table(b) == {1: size, 2: (8192, SECTORS - 16, 0)} and b.control.run == 1
    b.media_error = False
    # a reset while the media is at it: as before, and the command has no completion
    b.media_cycles = 20_000
    before = len(b.media)
    await b.send(0x0D, nsid=2, dw10=1)
    await b.until(lambda: len(b.media) > before, 5000, "media command")
    await b.disable()
    await b.enable()
    b.media_cycles = 100
    assert b.completions == [] and (await b.identify(0x10))[:8] == struct.pack("<II", 1, 2)
    ids = (await b.identify(0x11, nsid=1))[104:128], await b.identify(3, nsid=1)
    b.media.clear()
    await b.run(0x0D, nsid=NSID_ALL, dw10=1)
    assert b.media == zeroes(0, 8192) + zeroes(8192, (PAGES - 2) * 4096) and table(b) == {}

    # first fit, and identifiers that no namespace of this number has had
    assert [await create(b, 8), await create(b, 16)] == [1, 2]
    await b.run(0x0D, nsid=1, dw10=1)
    await create(b, SECTORS - 16, NO_ROOM)  # in one piece
    assert await create(b, 9) == 1
    await attach(b, 1)
    await attach(b, 2)
    assert table(b) == {1: (3 * 4096, 9, 0), 2: (4096, 16, 0)}
    assert (await b.identify(0, nsid=1))[104:128] != ids[0] and await b.identify(3, nsid=1) != ids[1]
    assert not any((await b.identify(0, nsid=1))[120:128]), "no EUI-64"
    ids = (await b.identify(0, nsid=1))[104:128]
    await b.power_cycle()
    assert table(b) == {1: (3 * 4096, 9, 0), 2: (4096, 16, 0)} and (await b.identify(0, nsid=1))[104:128] == ids
    b.store.clear()  # another media
    await b.power_cycle()
    assert table(b) == whole


@cocotb.test(skip=not LONG)
async def without_power(dut):
    """What was set comes back: namespaces, formats, attachment, features, counters. What was not saved does not."""
    b = await started(dut, 14)

    async def feature(fid: int, value: int, sv: int = 0) -> None:
        await b.run(0x09, dw10=fid | sv << 31, dw11=value)

    async def features() -> list[int]:
        return [(await b.run(0x0A, dw10=fid | sel << 8)).dw0 for sel in (0, 2) for fid in (1, 8, 0xB, 4, 0x80)]

    default = await features()
    b.counters.set(read_sectors=3_000_000, write_sectors=1000, read_cmds=70, write_cmds=5, media_errors=2)
    dut.time_us.value = 5 * 3600 * 10**6
    await feature(1, 0x11223305, 1)
    await feature(8, 0x0A07, 1)
    await feature(8, 0x0B08)
    await feature(0xB, 0x11F)
    await feature(4, 350)
    await feature(0x80, 0x77)  # is kept whether that is asked for or not
    assert await features() == [0x11223305, 0x0B08, 0x11F, 350, 0x77, 0x11223305, 0x0A07, default[7], 343, 0x77]
    await b.run(0x80, nsid=1, dw10=1)
    await b.run(0x0D, nsid=1, dw10=1)
    assert [await create(b, 9), await create(b, 5, flbas=1)] == [1, 2]
    await attach(b, 2)
    seen = table(b)
    assert seen == {2: (8192, 5, 1)}
    await b.disable()
    await b.enable()
    want = [0x11223305, 0x0A07, default[2], 343, 0x77]
    assert await features() == want * 2
    smart = await get_log(b, 2, 512)
    for _ in range(2):
        await b.power_cycle()
        assert table(b) == seen and await features() == want * 2
        assert (b.arb_cfg.burst, b.coalesce_cfg.threshold, b.coalesce_cfg.time_100us) == (5, 7, 10)
        assert (await b.identify(0x10))[:8] == struct.pack("<II", 1, 2) and u(await b.identify(0x11, nsid=1), 0, 8) == 9
    b.counters.set(read_sectors=0, write_sectors=0, read_cmds=0, write_cmds=0, media_errors=0)
    dut.time_us.value = 0
    await b.power_cycle()
    later = await get_log(b, 2, 512)
    for at in (32, 48, 64, 80, 160):  # those of three power-ons
        assert 0 <= 3 * u(smart, at, 16) - u(later, at, 16) <= 2, at
    assert u(later, 128, 16) == u(smart, 128, 16) == 5, "hours"
    assert u(later, 112, 16) == u(smart, 112, 16) + 3 and u(later, 144, 16) == u(smart, 144, 16) + 3
    # nor is a link reset, and it is no power cycle: the hardware counts on
    b.counters.set(read_sectors=500_000, write_sectors=9, read_cmds=3, write_cmds=1, media_errors=1)
    before = await get_log(b, 2, 512)
    await b.power_cycle(power=False)
    assert table(b) == seen and await features() == want * 2
    after = await get_log(b, 2, 512)
    assert [u(after, at, 16) for at in (112, 144)] == [u(before, at, 16) for at in (112, 144)]
    b.counters.set(read_sectors=0, write_sectors=0, read_cmds=0, write_cmds=0, media_errors=0)
    await b.power_cycle()
    later = await get_log(b, 2, 512)
    assert u(later, 112, 16) == u(before, 112, 16) + 1
    # a shutdown is none that is unsafe
    await b.write_cc(0x464001)
    await b.until(lambda: b.csts.shst == 2)
    await b.power_cycle()
    assert u(await get_log(b, 2, 512), 144, 16) == u(later, 144, 16)
    # the newest copy is broken: what was saved before it. Both: that is said
    await attach(b, 1)
    newest = max((PAGES << 12, PAGES + AREA // 2 << 12), key=lambda at: b.store[at + 64])
    b.store[newest + 64 * 6] ^= 1
    await b.power_cycle()
    assert table(b) == seen and (await get_log(b, 2, 512))[0] == 0
    for at in (PAGES << 12, PAGES + AREA // 2 << 12):
        b.store[at + 64 * 6] ^= 4
    await b.power_cycle()
    assert table(b) == {1: (0, SECTORS, 0)} and (await get_log(b, 2, 512))[0] == 4


@cocotb.test(skip=not LONG)
async def namespace_notices(dut):
    """Changed Namespace List and its event, if the host wants it."""
    b = await started(dut, 13)
    assert not any(await get_log(b, 4, 4096))
    aer = [await b.send(0x0C) for _ in range(3)]
    await attach(b, 1, detach=1)
    await b.asleep()
    assert not b.completions, "not asked for"
    assert await get_log(b, 4, 8) == struct.pack("<II", 1, 0) and not any(await get_log(b, 4, 4096))
    await b.run(0x09, dw10=0xB, dw11=1 << 8)
    await b.run(0x0D, nsid=1, dw10=1)  # not attached: nobody sees a difference
    assert [await create(b, 8), await create(b, 8)] == [1, 2]
    await b.asleep()
    assert not b.completions and not any(await get_log(b, 4, 4096))
    await attach(b, 2)
    await b.until(lambda: len(b.completions) == 1)
    event = b.completions.pop()
    assert event.status == OK and event.cid in aer and event.dw0 == 0x040002, "notice, attributes, log 4"
    await attach(b, 1)  # masked until the log has been read, but in it
    await b.asleep()
    assert not b.completions and await get_log(b, 4, 12, rae=1) == struct.pack("<III", 1, 2, 0)
    await attach(b, 1, detach=1)
    await b.asleep()
    assert not b.completions and await get_log(b, 4, 4096) == struct.pack("<III", 1, 2, 0).ljust(4096, b"\0")
    for what in ("format", "delete"):
        if what == "format":
            await b.run(0x80, nsid=2, dw10=0)  # as it was: no change
            await b.asleep()
            assert not b.completions and not any(await get_log(b, 4, 64))
            cid = await b.send(0x80, nsid=2, dw10=1)
        else:
            cid = await b.send(0x0D, nsid=2, dw10=1)
        assert (await b.result(cid)).status == OK
        await b.until(lambda: len(b.completions) == 1, what=what)
        assert b.completions.pop().dw0 == 0x040002
        assert (await get_log(b, 4, 64)) == struct.pack("<I", 2).ljust(64, b"\0")
    # with no request it waits; a reset forgets it and the list
    await attach(b, 1)
    await b.asleep()
    assert not b.completions
    assert (await b.result(await b.send(0x0C))).dw0 == 0x040002
    await b.disable()
    await b.enable()
    assert not any(await get_log(b, 4, 4096))
    await get_log(b, 4, 64, BAD_FIELD, nsid=1)
    # one that waits is taken back when the log is read first
    await b.run(0x09, dw10=0xB, dw11=1 << 8)
    await attach(b, 1, detach=1)
    assert u(await get_log(b, 4, 4), 0, 4) == 1
    await b.send(0x0C)
    await b.asleep()
    assert not b.completions
