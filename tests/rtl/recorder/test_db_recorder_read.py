# SPDX-License-Identifier: Apache-2.0
"""db_recorder_core: read-out, trims and the packets of the host, to the byte, after the DUNE NvmeStorage manual."""

from __future__ import annotations

from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from recorder_model import BLOCK, OP_READ, OP_TRIM
from recorder_read_bench import BYTES, DATA, N, blocks_of, read_out, ready, reply, request


@cocotb.test()
async def blocks(dut: Any) -> None:
    """All drives' blocks, each drive's in order, under stalls; registers count; reads overlap."""
    b = await ready(dut, stall=0.3)
    b.recv_ready = 0.8
    for i, x in enumerate(b.drives):
        x.lba_shift = (9, 12)[i % 2]
        x.mem = {k: b.block(100 * i + k) for k in range(20, 42)}
        x.latency = lambda: b.rng.choice((20, 400))
    await b.wait(3)
    await read_out(b, 20, 10)
    await b.drained()
    for i, data in enumerate(blocks_of(b, 10)):
        assert data == b"".join(b.block(100 * i + k) for k in range(20, 30)), f"drive {i}"
        assert [c[:3] for c in b.drives[i].cmds] == [(OP_READ, 20, 4), (OP_READ, 24, 4), (OP_READ, 28, 2)]
        base = 0x100 * (i + 1)
        assert [await b.read(base + a) for a in (0x80, 0x84, 0x88, 0x8C, 0x90, 0x94, 0x98)] == [1, 2, 20, 10, 0, 10, 10]
    assert await b.read(0x98) == 10
    # again, from the drive's end: sequence numbers begin anew, nothing beyond the end is asked for
    b.packets.clear()
    for x in b.drives:
        x.blocks = 41 << (12 - x.lba_shift)
        x.cmds.clear()
    await b.write(0x80, 0)
    await read_out(b, 39, 50)
    await b.drained()
    for i, data in enumerate(blocks_of(b, 2)):
        assert data == b.block(100 * i + 39) + b.block(100 * i + 40)


@cocotb.test()
async def sequence_numbers_begin_anew(dut: Any) -> None:
    """Those of packets to software have 20 bits, so after 1 MiB of a drive."""
    b = await ready(dut)
    for i, x in enumerate(b.drives):
        x.mem = {k: b.block(100 * i + k) for k in range(4)}
        x.latency = lambda: 2000
    for before in (1 << 20) - 2 * BLOCK, (1 << 20) - BLOCK:
        b.packets.clear()
        await b.write(0x88, 0)
        await b.write(0x8C, 4)
        sent = {i: len(x.cmds) for i, x in enumerate(b.drives)}
        await b.write(0x80, 1)
        while sent:  # a read begins with 0, and its data come at once
            for i in [i for i, n in sent.items() if len(b.drives[i].cmds) > n]:
                dut.i_read.seq_q[i].value = before // BYTES
                del sent[i]
            await b.wait(1)
        for i in range(N):
            await b.until(0x184 + 0x100 * i, 3, 2, tries=1500)
        await b.drained()
        for i, data in enumerate(blocks_of(b, 4, before)):
            assert data == b"".join(b.block(100 * i + k) for k in range(4))
        await b.write(0x80, 0)


@cocotb.test()
async def pipelined(dut: Any) -> None:
    """Commands do not wait for each other: all are out long before the first is answered."""
    b = await ready(dut)
    for x in b.drives:
        x.latency = lambda: 5000
    await read_out(b, 0, 20)
    for x in b.drives:
        assert len(x.cmds) == 5
        assert x.cmds[-1][3] - x.cmds[0][3] <= 4 * 14 * N + 40, f"commands waited: {x.cmds}"


@cocotb.test()
async def an_error(dut: Any) -> None:
    """A read that fails: its error in ReadError, zeros in its place, everything else right."""
    b = await ready(dut)
    for x in b.drives:
        x.mem = {k: b.block(k) for k in range(30)}
    b.drives[N - 1].status_of = lambda op, block, count: 0x281 if block <= 9 < block + count else 0
    await read_out(b, 0, 12)
    await b.drained()
    for i, data in enumerate(blocks_of(b, 12)):
        bad = range(8, 12) if i == N - 1 else range(0)
        assert data == b"".join(bytes(BLOCK) if k in bad else b.block(k) for k in range(12))
        assert await b.read(0x190 + 0x100 * i) == (0x281 if bad else 0)
        assert await b.read(0x1068 + 0x100 * i) == len(bad)
        assert await b.read(0x198 + 0x100 * i) == 12


@cocotb.test()
async def trims(dut: Any) -> None:
    """PerformTrim."""
    b = await ready(dut)
    await read_out(b, 1000, 9000, control=3)
    for i, x in enumerate(b.drives):
        assert x.trimmed == [(1000, 4096), (5096, 4096), (9192, 808)]
        assert all(c[0] == OP_TRIM for c in x.cmds)
        assert await b.read(0x198 + 0x100 * i) == 9000
    assert not b.packets


@cocotb.test()
async def stops(dut: Any) -> None:
    """Enable low ends a read after what is on its way; a capture goes before a read."""
    b = await ready(dut)
    for x in b.drives:
        x.latency = lambda: 300
    b.ring_rows = 1024
    await b.write(0x8C, 100_000)
    await b.write(0x80, 1)
    await b.wait(3000)
    await b.write(0x80, 0)
    await b.until(0x84, 3, 2, tries=1000)
    done = await b.read(0x98)
    assert 0 < done == await b.read(0x94) < 100_000
    await b.wait(500)
    assert sum(c[2] for c in b.drives[0].cmds) == done
    await b.write(0x44, 2)
    await b.write(0x04, 4)
    await b.write(0x8C, 8)
    await b.write(0x80, 1)
    await b.wait(2000)
    assert await b.read(0x84) & 3 == 1 and await b.read(0x98) == 0, "the read waits"
    for k in range(2 * N):
        b.feed(b.block(k))
    await b.until(0x84, 3, 2)
    for i, x in enumerate(b.drives):
        assert [x.mem[k] for k in (0, 1)] == [b.block(i), b.block(N + i)]


@cocotb.test()
async def registers_under_a_read(dut: Any) -> None:
    """A read is what the registers said when Enable was set. PerformTrim, which destroys, and another chunk written
    meanwhile are for the next one; its counts are 0 from the access after Enable on.
    """
    b = await ready(dut)
    for x in b.drives:
        x.latency = lambda: 300
    for turn in range(bench.rounds(2, 1)):
        await b.write(0x88, 100)
        await b.write(0x8C, 60)
        await b.write(0x80, 1)
        for i in range(N):
            assert await b.read(0x198 + 0x100 * i) < 60 and await b.read(0x194 + 0x100 * i) < 60
            assert await b.read(0x184 + 0x100 * i) & 2 == 0
        for k in range(20):
            await b.write(0x88, 5000 + 100 * k)
            await b.write(0x8C, 70 + k)
            await b.write(0x80, 3)
        for i in range(N):
            await b.until(0x184 + 0x100 * i, 2, 2, tries=1500)
            assert await b.read(0x198 + 0x100 * i) == 60
        for x in b.drives:
            assert not x.trimmed
            assert [(c[1], c[2]) for c in x.cmds] == [(100 + 4 * k, 4) for k in range(15)] * (turn + 1)
        await b.drained()
        await b.write(0x80, 0)


@cocotb.test()
async def registers_of_a_drive(dut: Any) -> None:
    """Reads and writes of a drive's registers by packets; what cannot be is refused."""
    b = await ready(dut, stall=0.3)
    for i, x in enumerate(b.drives):
        x.regs = {4 * k: 0x1000 * i + k for k in range(64)}
    for i in range(N):
        for count in (1, 2, 5, 9):
            b.host_packet(request(i, 0, 0x14, 0, count, 0x40 + count, []))
            assert await b.take_packet() == reply(0x14, count, 0x40 + count, [0x1000 * i + 5 + k for k in range(count)])
        b.host_packet(request(i, 0, 0x64, 1, 1, 0, [0xABC]))
        b.host_packet(request(i, 0, 0x68, 1, 6, 0, list(range(6))))
        b.host_packet(request(i, 0, 0x60, 0, 9, 1, []))
        assert await b.take_packet() == reply(0x60, 9, 1, [0x1000 * i + 24, 0xABC, *range(6), 0x1000 * i + 32])
    b.host_packet(request(0, 0, 0x2000, 0, 1, 7, []))
    assert await b.take_packet() == reply(0x2000, 1, 7, [0], status=1)
    b.drives[0].mute = {0x2004}
    b.host_packet(request(0, 0, 0x2004, 0, 1, 7, []))
    assert await b.take_packet() == reply(0x2004, 1, 7, [0], status=1, error=9)
    # configuration space is the host core's; a drive or a stream that is not there
    for p in (
        request(0, 0, 4, 8, 1, 9, []),
        request(N, 0, 4, 10, 1, 9, [6]),
        request(N, 0, 4, 0, 1, 9, []),
        request(0, 3, 4, 0, 1, 9, []),
    ):
        b.host_packet(p)
        assert await b.take_packet() == reply(4, 0, 9, [], status=1)
    before = len(b.reg_log)
    b.host_packet(request(N, 0, 4, 1, 1, 9, [1]))
    b.host_packet(request(0, 5, 4, 1, 2, 9, [1, 2]))
    b.host_packet(request(0, 0, 0, 0, 1, 3, []))
    assert await b.take_packet() == reply(0, 1, 3, [0])
    assert len(b.reg_log) == before + 1


@cocotb.test()
async def packets_that_do_not_end_where_they_say(dut: Any) -> None:
    """What goes on behind its last dword, or ends before it: no more is done than was said and is there, an entry that
    is not whole comes to no drive, and the next packet finds everything as it should be."""
    b = await ready(dut, stall=0.3)
    b.on_admin = lambda i, sqe: pytest.fail("came to the drive")
    drive = b.drives[1]
    drive.regs = {4 * k: k for k in range(64)}

    async def all_well(**written: int) -> None:
        b.host_packet(request(1, 0, 0x40, 0, 9, 3, []))
        values = [written.get(f"at_{0x40 + 4 * k:x}", 16 + k) for k in range(9)]
        assert await b.take_packet() == reply(0x40, 9, 3, values)

    b.host_packet(request(1, 0, 0x40, 1, 1, 0, [0xA, *[0xBAD] * 8]))
    await all_well(at_40=0xA)
    b.host_packet(request(1, 0, 0x44, 1, 9, 0, [0xB, 0xC, 0xD, 0xE]))
    await all_well(at_40=0xA, at_44=0xB, at_48=0xC, at_4c=0xD, at_50=0xE)
    drive.regs = {4 * k: k for k in range(64)}
    entry = [0x00110002, *[0] * 15]
    for dwords in (entry + [0xBAD] * 8, entry[:8], entry[:4]):
        b.host_packet(request(1, 2, 0, 1, 16, 0, dwords))
        await all_well()
    b.host_packet(request(1, 0, 4, 8, 1, 9, [0xBAD] * 9))  # configuration space: refused, once
    assert await b.take_packet() == reply(4, 0, 9, [], status=1)
    for kind in (16, 24, 31):  # messages: nobody's
        b.host_packet(request(1, 0, 0x40, kind, 1, 9, [0xBAD] * 5))
    b.host_packet(reply(0x40, 1, 9, [0xBAD] * 9))  # to nothing that was asked for
    b.host_packet(request(1, 0, 0x40, 0, 1, 9, [0xBAD] * 4))  # a read with data is none
    assert await b.take_packet() == reply(0x40, 0, 9, [], status=1)
    await all_well()


@cocotb.test()
async def a_drive_set_up_by_software(dut: Any) -> None:
    """What software writes to set a drive up itself is answered and never comes to the drive, which db_host has set up:
    configuration space, CC, AQA, ASQ, ACQ, doorbells, Create and Delete Queue. It sees what it has done.
    """
    b = await ready(dut, stall=0.2)
    b.on_admin = lambda i, sqe: pytest.fail("came to the drive")
    for i, x in enumerate(b.drives):
        x.regs = {0x14: 0x460001, 0x1C: 1, 0x24: 0x30003, 0x28: 1, 0x2C: 2, 0x30: 3, 0x34: 4}
        ready_ = dict(x.regs)
        b.host_packet(request(i, 0, 4, 10, 1, 9, [6]))
        assert await b.take_packet() == reply(4, 0, 9, [])
        for enable in (0, 1):
            b.host_packet(request(i, 0, 0x14, 1, 1, 0, [0x460000 | enable]))
            for address, count in ((0x24, 1), (0x28, 2), (0x30, 2), (0x24, 5), (0x1000, 1), (0x1004, 1), (0x100C, 1)):
                b.host_packet(request(i, 0, address, 1, count, 0, [0xBAD] * count))
            for address in (0x14, 0x1C):
                b.host_packet(request(i, 0, address, 0, 1, 5, []))
                assert await b.take_packet() == reply(address, 1, 5, [ready_[address] & ~1 | enable])
        for queue in (1, 2):
            for opcode, at in ((5, 0x02100000), (1, 0x02000000), (0, 0), (4, 0)):
                sqe = [queue << 24 | opcode, 0, 0, 0, 0, 0, at | queue << 16, 0, 0, 0, 15 << 16 | queue, 1, *[0] * 4]
                b.host_packet(request(i, 2, 0, 1, 16, 0, sqe))
                p = await b.take_packet()
                assert p[0] & 0xFFFF0000 == i << 28 | 0x02100000 and p[4:] == [0, 0, 0, queue << 8]
        assert x.regs == ready_
    assert not [a for a in b.reg_log if a[1]]


@cocotb.test()
async def admin_that_stays(dut: Any) -> None:
    """Asynchronous Event Request is refused at once; a command that a drive does not answer holds up nobody else's."""
    b = await ready(dut)
    seen: list[int] = []

    def admin(i: int, sqe: list[int]) -> tuple[int, int]:
        seen.append(i)
        return sqe[0] >> 16 << 96, 0

    b.on_admin = admin
    b.host_packet(request(0, 2, 0, 1, 16, 0, [0x0055000C, *[0] * 15]))
    p = await b.take_packet()
    assert p[4:] == [0, 0, 0, 0x105 << 17 | 0x55] and not seen
    b.silent = {0}
    b.host_packet(request(0, 2, 0, 1, 16, 0, [0x00110002, *[0] * 15]))
    for cid in (0x21, 0x22):
        b.host_packet(request(1, 2, 0, 1, 16, 0, [cid << 16 | 2, *[0] * 15]))
        p = await b.take_packet()
        assert p[0] & 0xFFFF0000 == 0x12100000 and p[7] & 0xFFFF == cid
    b.drives[1].regs = {0: 5}
    b.host_packet(request(1, 0, 0, 0, 1, 3, []))
    assert await b.take_packet() == reply(0, 1, 3, [5])
    b.silent = set()
    p = await b.take_packet()
    assert p[0] & 0xFFFF0000 == 0x02100000 and p[7] & 0xFFFF == 0x11 and seen == [0, 1, 1]


@cocotb.test()
async def a_drive_that_is_reset_as_it_gets_an_admin_command(dut: Any) -> None:
    """After any dword of it the command ends as one that the host has aborted, and the next one is as ever."""
    b = await ready(dut)
    b.on_admin = lambda i, sqe: (sqe[0] >> 16 << 96, 0)
    for dwords in (0, 1, 9, 15):
        b.takes = {0: dwords}
        b.host_packet(request(0, 2, 0, 1, 16, 0, [0x00330002, *[0] * 15]))
        while len(b.adm[0]) < dwords:
            await b.wait(1)
        await b.wait(20)
        await b.write(0x104, 1)
        p = await b.take_packet()
        assert p[0] & 0xFFFF0000 == 0x02100000 and p[7] == 0x371 << 17 | 0x33, f"after {dwords} dwords"
        b.takes = {}
        await b.until(0x108, 1, 0)
        b.host_packet(request(0, 2, 0, 1, 16, 0, [0x00440002, *[0] * 15]))
        p = await b.take_packet()
        assert p[0] & 0xFFFF0000 == 0x02100000 and p[7] == 0x44, f"after {dwords} dwords"


@cocotb.test()
async def registers_as_a_reset_ends(dut: Any) -> None:
    """A read of registers that is under way when its drive's reset ends, after any cycle of it, is answered: refused,
    if it had begun in the reset. The next one has all its data.
    """
    b = await ready(dut)
    b.drives[0].regs = {4 * k: k for k in range(64)}
    lasts = 0
    for turn in range(12):
        while b.cycle % 250:  # a reset ends with a microsecond
            await b.wait(1)
        begin = b.cycle
        await b.write(0x104, 1)
        while lasts and b.cycle < begin + lasts - 60 - turn:
            await b.wait(1)
        if lasts:
            b.host_packet(request(0, 0, 0x40, 0, 32, 3, []))
            await b.wait(20)
            assert int(dut.drive_rst.value)
        await b.until(0x108, 1, 0, pause=1)
        lasts = lasts or b.cycle - begin
        if turn:
            p = await b.take_packet()
            assert p[:3] == reply(0x40, 32, 3, [], status=1) and len(p) == 35, f"turn {turn}"
        b.host_packet(request(0, 0, 0x40, 0, 32, 3, []))
        assert await b.take_packet() == reply(0x40, 32, 3, list(range(16, 48))), f"turn {turn}"


@cocotb.test()
async def admin_commands_as_a_reset_ends(dut: Any) -> None:
    """An admin command that is under way when its drive's reset ends comes to the drive whole or not at all: then it
    ends as one that the host has aborted. The next one is as ever.
    """
    b = await ready(dut)
    seen: list[list[int]] = []
    b.on_admin = lambda i, sqe: (seen.append(sqe), (sqe[0] >> 16 << 96, 0))[1]
    cid = 0
    for turn in range(12):
        await b.write(0x104, 1)
        await b.wait(20 + turn)
        in_reset = True
        while in_reset:
            in_reset = bool(int(dut.drive_rst.value))
            cid += 1
            sqe = [cid << 16 | 2, *range(16 * cid, 16 * cid + 15)]
            b.host_packet(request(0, 2, 0, 1, 16, 0, sqe))
            p = await b.take_packet()
            assert p[0] & 0xFFFF0000 == 0x02100000 and p[7] & 0xFFFF == cid, f"turn {turn}"
            assert p[7] >> 17 == (0 if seen else 0x371) and (seen == [sqe] if seen else in_reset), f"turn {turn}"
            seen.clear()
    assert not b.adm[0]


@cocotb.test()
async def replies_that_nobody_asked_for(dut: Any) -> None:
    """A packet with the reply bit is never taken for a request."""
    b = await ready(dut)
    b.drives[0].regs = {0: 5, 0x60: 7}
    for count in (0, 1, 6):
        b.host_packet([0x60, 1 << 11 | count, 1 << 31 | 1 << 11 | 1, *[0xBAD] * count])
    b.host_packet([0, 1, 1 << 31 | 1, 0])
    b.host_packet(request(0, 0, 0x60, 0, 1, 3, []))
    assert await b.take_packet() == reply(0x60, 1, 3, [7])


@cocotb.test()
async def admin_commands(dut: Any) -> None:
    """Stream 2: the entry goes to the drive, PRPs to the host lead to REGION_FORWARD, data and completion come back."""
    b = await ready(dut, stall=0.2)
    seen: list[tuple[int, list[int]]] = []
    every = (1 << DATA // 8) - 1
    step = DATA // 8

    def admin(i: int, sqe: list[int]) -> tuple[int, int]:
        seen.append((i, sqe))
        for k in range(3):
            row = sum((k << 16 | j) << 32 * j for j in range(step // 4))
            b.fwd[i].append((sqe[6] + step * k & 0x7FFFFF, row, every))
        b.fwd[i].append((0x100, 0x77 << 32, 0xF0))
        return 0x4002 << 112 | 0x33 << 96 | 5 << 32 | 0xDEAD, 0

    b.on_admin = admin
    for i in range(N):
        sqe = [0xBEEF0006, 1, 0, 0, 0, 0, 0x01800000, 0, 0x01801000, 0, *range(10, 16)]
        b.host_packet(request(i, 2, 0, 1, 16, 0, sqe))
        base = (0x12_3400_0000 + (i << 40)) + (6 << 23)
        got = [await b.take_packet() for _ in range(5)]
        assert seen.pop() == (
            i,
            [*sqe[:6], base & 0xFFFFFFFF, base >> 32, (base & 0xFFFFFFFF) + 0x1000, base >> 32, *range(10, 16)],
        )
        for k in range(3):
            assert got[k] == [
                i << 28 | 0x01800000 + step * k,
                0,
                1 << 11 | step // 4,
                0,
                *(k << 16 | j for j in range(step // 4)),
            ]
        assert got[3] == [i << 28 | 0x01800104, 0, 1 << 11 | 1, 0, 0x77]
        assert got[4][0] & 0xFFFF0000 == i << 28 | 0x02100000 and got[4][1:4] == [0, 1 << 11 | 4, 0]
        assert got[4][4:] == [0xDEAD, 5, 0, 0x4002 << 16 | 0xBEEF]
    # no data: PRPs stay; queues other than admin, time-outs and entries cut short
    b.on_admin = lambda i, sqe: (seen.append((i, sqe)), (0, 1))[1]
    b.host_packet(request(0, 2, 0, 1, 16, 0, [0x00120002, *range(1, 16)]))
    assert (await b.take_packet())[4:] == [0, 0, 0, 0x371 << 17 | 0x12]
    assert seen.pop() == (0, [0x00120002, *range(1, 16)])
    b.host_packet(request(0, 2, 0x010000, 1, 16, 0, [0x00340002, *range(1, 16)]))
    p = await b.take_packet()
    assert p[0] & 0xFFFF0000 == 0x02110000 and p[4:] == [0, 0, 1 << 16, 0x13 << 17 | 0x34]  # PRP Offset Invalid
    b.host_packet(request(0, 2, 0, 1, 16, 0, list(range(7))))
    b.host_packet(request(0, 2, 0, 1, 15, 0, list(range(15))))
    b.drives[0].regs = {0: 1}
    b.host_packet(request(0, 0, 0, 0, 1, 3, []))
    assert await b.take_packet() == reply(0, 1, 3, [1])
    assert not seen


@cocotb.test()
async def reset_while_open(dut: Any) -> None:
    """A drive is reset under a read-out, an admin command and a register access: all of them end."""
    b = await ready(dut)
    b.on_admin = lambda i, sqe: (0, 0)
    b.drives[0].latency = lambda: 200
    b.recv_ready = 0.3
    await b.write(0x8C, 1000)
    await b.write(0x80, 1)
    await b.wait(1500)
    dut.s_admin_valid.value = 0
    b.drives[0].regs = {}
    b.host_packet(request(0, 2, 0, 1, 16, 0, [0x00770002, *range(1, 16)]))
    await b.wait(60)
    await b.write(0x104, 1)
    await b.until(0x108, 1, 1)
    b.host_packet(request(0, 0, 0, 0, 1, 3, []))
    await b.until(0x108, 1, 0, tries=1000)
    b.recv_ready = 1
    await b.wait(6000)
    assert all(len(p) == 4 + BYTES // 4 for p in b.packets if p[0] >> 20 & 0xFF == 0x1F and len(p) > 5)
    assert reply(0, 1, 3, [0], status=1)[1:3] in [p[1:3] for p in b.packets]
    assert any(p[0] & 0x0FFF0000 == 0x02100000 for p in b.packets)
    assert await b.read(0x180) == 0 and await b.read(0x184) & 1 == 0
    if N > 1:
        assert await b.read(0x284) == 1
        await b.write(0x80, 0)


@pytest.mark.parametrize(("n", "data", "full", "turns"), [
    (2, 128, 1, 8), *(pytest.param(n, w, f, 60, marks=pytest.mark.nightly) for n, w, f in ((2, 128, 1), (3, 512, 0))),
])  # fmt: skip
def test_db_recorder_read(n: int, data: int, full: int, turns: int) -> None:
    """turns: resets under entries."""
    bench.run(
        __file__,
        "db_recorder_core",
        {
            "N_DRIVES": n,
            "DATA_W": data,
            "FULL_BLOCK": f"1'b{full}",
            "STREAM_W": 256,
            "RESET_US": 2,
            "READ_BLOCKS": 4,
        },
        env={"REC_N": str(n), "REC_DATA": str(data), "REC_FULL": str(full), "REC_TURNS": str(turns)},
        inside=("db_rec_read",),
        parts=("recorder_read_entries",),
    )
