# SPDX-License-Identifier: Apache-2.0
"""db_recorder_core: read-out, trims and the packets of the host, to the byte, after the DUNE NvmeStorage manual."""

from __future__ import annotations

import os
import struct
from collections import deque
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from recorder_model import BLOCK, OP_FLUSH, OP_READ, OP_TRIM, OP_ZEROES, Bench

N = int(os.environ.get("REC_N", "2"))
DATA = int(os.environ.get("REC_DATA", "128"))
FULL = int(os.environ.get("REC_FULL", "1"))
TURNS = int(os.environ.get("REC_TURNS", "60"))  # resets under entries
BYTES = BLOCK if FULL else 128


async def ready(dut: Any, **more: Any) -> Bench:
    b = Bench(dut, N, DATA, 256, **more)
    b.packets_on = True
    await b.start()
    return b


async def read_out(b: Bench, start: int, count: int, control: int = 1) -> None:
    await b.write(0x88, start)
    await b.write(0x8C, count)
    await b.write(0x80, control)
    for i in range(N):
        await b.until(0x184 + 0x100 * i, 3, 2, tries=1500)


def blocks_of(b: Bench, count: int, before: int = 0) -> list[bytes]:
    """The data of the packets in order of their drives, headers checked (manual, 6.4 and 8). before: bytes of each
    drive that its sequence numbers count already."""
    data = [b""] * N
    for p in b.packets:
        address, zero, request, tag = p[:4]
        drive = address >> 28
        assert address >> 20 & 0xFF == 0x1F, "stream 1 (host), block data"
        assert address & 0xFFFFF == before + len(data[drive]) & 0xFFFFF, "sequence"
        assert zero == 0 and tag == 0
        assert request == 1 << 11 | BYTES // 4
        assert len(p) == 4 + BYTES // 4
        data[drive] += b"".join(v.to_bytes(4, "little") for v in p[4:])
    assert all(len(d) == count * BLOCK for d in data)
    return data


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


def request(drive: int, stream: int, address: int, kind: int, count: int, tag: int, data: list[int]) -> list[int]:
    return [drive << 28 | stream << 24 | address, 0, 1 << 16 | kind << 11 | count, tag, *data]


def reply(address: int, count: int, tag: int, data: list[int], status: int = 0, error: int = 2) -> list[int]:
    error = error if status else 0  # PG213, error code of a completion: 2, ended in UR; 9, timed out
    return [4 * count << 16 | error << 12 | address & 0xFFF, 1 << 16 | status << 11 | count, 0x80000000 | tag, *data]


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


class Host:
    """The host's memory behind the packets, as DUNE's software keeps it: it answers reads by 32 dwords at most."""

    def __init__(self, b: Bench) -> None:
        self.b, self.memory, self.blocks, self.cid = b, bytearray(1 << 24), [b""] * N, 0
        self.refuse = False

    def put(self, at: int, data: bytes) -> None:
        self.memory[at : at + len(data)] = data

    def put_ranges(self, at: int, ranges: list[tuple[int, int]]) -> None:
        """For Dataset Management: (first LBA, blocks) of each."""
        self.put(at, b"".join(struct.pack("<4xIQ", blocks, lba) for lba, blocks in ranges))

    def submit(self, drive: int, opcode: int, prp1: int, lba: int, cdw12: int, prp2: int = 0, queue: int = 1) -> int:
        self.cid += 1
        sqe = [self.cid << 16 | opcode, 1, 0, 0, 0, 0, prp1, 0, prp2, 0, lba & 0xFFFFFFFF, lba >> 32, cdw12, 0, 0, 0]
        self.b.host_packet(request(drive, 2, queue << 16, 1, 16, 0, sqe))
        return self.cid

    async def ends(self, drive: int, cid: int, queue: int = 1) -> int:
        """Serve packets up to the completion of `cid`, which must be the next; its status."""
        while True:
            p = await self.b.take_packet(6000)
            at, count = p[0] & 0xFFFFFF, p[2] & 0x7FF
            if p[2] >> 11 & 31 == 0 and not p[2] >> 31:
                assert len(p) == 4 and p[0] >> 24 == drive << 4 | 1
                head = [4 * count << 16 | at & 0xFFF, count, 1 << 31 | p[3] & 0xFF]
                if self.refuse:
                    self.b.host_packet([2 << 12 | at & 0xFFF, 1 << 11, head[2]])
                    continue
                words = [int.from_bytes(self.memory[at + 4 * k : at + 4 * k + 4], "little") for k in range(count)]
                self.b.host_packet([4, 1, 1 << 31 | (p[3] + 1) & 0xFF, 0xBAD])  # to nothing that was asked for
                self.b.host_packet(head + words)
                continue
            data = b"".join(v.to_bytes(4, "little") for v in p[4:])
            if p[0] >> 20 & 0xFF == 0x1F:
                self.blocks[p[0] >> 28] += data
            elif p[0] >> 24 & 0xF == 1:
                assert p[0] >> 28 == drive and len(p) == 36
                self.put(at, data)
            else:
                assert p[0] >> 16 == drive << 12 | 0x0210 | queue and p[6] == queue << 16
                assert p[7] & 0xFFFF == cid
                return p[7] >> 17


@cocotb.test()
async def entries_of_the_host(dut: Any) -> None:
    """Write, Read, Write Zeroes, Dataset Management and Flush that the host sends as I/O queue entries, of one block up
    to several pages with a PRP list; what cannot be is answered with the status that NVMe has for it.
    """
    b = await ready(dut, stall=0.2)
    host = Host(b)
    for i, x in enumerate(b.drives):
        x.lba_shift = (9, 12)[i % 2]
        x.blocks = 1 << 20
    await b.wait(3)
    for i, x in enumerate(b.drives):
        per = BLOCK >> x.lba_shift
        page = [b.block(100 * i + k) for k in range(4)]
        for k, data in enumerate(page):
            host.put(0x800000 + BLOCK * (k if k < 2 else k + 5), data)
        assert await host.ends(i, host.submit(i, 1, 0x1800000, 5 * per, per - 1)) == 0
        assert x.mem == {5: page[0]}
        assert await host.ends(i, host.submit(i, 1, 0x1800000, 6 * per, 2 * per - 1, 0x1801000)) == 0
        assert x.mem == {5: page[0], 6: page[0], 7: page[1]}
        if per > 1:  # a few blocks, not at a page of ours
            assert await host.ends(i, host.submit(i, 1, 0x1801000, 5 * per + 3, 1)) == 0
            assert x.mem[5] == page[0][:1536] + page[1][:1024] + page[0][2560:]
            x.mem[5] = page[0]
        # The list's first page ends after one entry, and the last of its places says where it goes on.
        host.put(0x900FF0, struct.pack("<QQ", 0x1801000, 0x1904000))
        host.put(0x904000, struct.pack("<QQ", 0x1807000, 0x1808000))
        assert await host.ends(i, host.submit(i, 1, 0x1800000, 10 * per, 4 * per - 1, 0x1900FF0, 2), 2) == 0
        assert [x.mem[10 + k] for k in range(4)] == page
        host.put(0x800000, bytes(8 * BLOCK))
        host.put(0x900FF8, struct.pack("<Q", 0x1808000))  # two entries to the page's end: no pointer
        assert await host.ends(i, host.submit(i, 2, 0x1A00000, 11 * per, 3 * per - 1, 0x1900FF0)) == 0
        assert [bytes(host.memory[at : at + BLOCK]) for at in (0xA00000, 0x801000, 0x808000)] == page[1:]
        # Trim as DUNE's software does it, and by ranges; neither beside what they name.
        x.user.clear()
        assert await host.ends(i, host.submit(i, 8, 0, 10 * per, 1 << 25 | 2 * per - 1)) == 0
        assert x.user == [(OP_ZEROES, 10 * per, 2 * per)] and not any(x.mem[10]) and not any(x.mem[11])
        assert x.mem[12] == page[2]
        ranges = [(12 * per, per), (0, 0), (5 * per, 2 * per), (0x6000, 20_000)]
        host.put_ranges(0x804000, ranges)
        x.user.clear()
        assert await host.ends(i, host.submit(i, 9, 0x1804000, 4 << 32 | 3, 0)) == 0
        assert x.user == [(OP_TRIM, 12 * per, per), (OP_TRIM, 5 * per, 2 * per), (OP_TRIM, 0x6000, 8192),
                          (OP_TRIM, 0x6000 + 8192, 8192), (OP_TRIM, 0x6000 + 16384, 20_000 - 16384)]  # fmt: skip
        assert await host.ends(i, host.submit(i, 9, 0x1804000, 3, 0)) == 0  # no deallocation: a hint
        host.put_ranges(0x804000, [(12 * per, per), (1 << 40, per), (5 * per, per)])  # no drive has the second
        x.user.clear()
        assert await host.ends(i, host.submit(i, 9, 0x1804000, 4 << 32 | 2, 0)) == 0x80
        assert x.user == [(OP_TRIM, 12 * per, per)]
        x.user.clear()
        assert await host.ends(i, host.submit(i, 0, 0, 0, 0)) == 0 and [u[0] for u in x.user] == [OP_FLUSH]
        x.user.clear()
        for opcode, prp1, lba, status in ((5, 0x1800000, 0, 1), (1, 0x1800004, 0, 0x13), (2, 0x800000, 0, 0x13),
                                          (9, 0, 4 << 32, 0x13), (2, 0x1800000, 1 << 40, 0x80)):  # fmt: skip
            assert await host.ends(i, host.submit(i, opcode, prp1, lba, 0)) == status
        assert not x.user
        # A second page that is none, a list of pages that are none or that goes on nowhere, ranges that cross a page.
        host.put(0x906000, struct.pack("<QQ", 0x1801000, 0x801000))
        host.put(0x906FF8, struct.pack("<Q", 0x1904200))
        for opcode, lba, blocks, prp1, prp2 in ((1, 0, 2, 0x1800000, 0x1801200), (2, 0, 2, 0x1800000, 0x801000),
                                                (2, 0, 3, 0x1800000, 0x1906008), (1, 0, 3, 0x1800000, 0x1906FF8),
                                                (9, 4 << 32 | 2, 0, 0x1804FE0, 0)):  # fmt: skip
            cdw12 = blocks * per - 1 if blocks else 0
            assert await host.ends(i, host.submit(i, opcode, prp1, lba, cdw12, prp2)) == 0x13
        assert all(u[0] == OP_READ or u[1] == 0 for u in x.user)
        x.user.clear()
        x.status_of = lambda op, block, count: 0x281
        assert await host.ends(i, host.submit(i, 2, 0x1800000, 0, 0)) == 0x281
        host.refuse = True
        assert await host.ends(i, host.submit(i, 1, 0x1800000, 0, 0)) == 4  # Data Transfer Error
        host.refuse = False
        x.dead, x.up, x.status_of = True, False, lambda op, block, count: 0
        assert await host.ends(i, host.submit(i, 2, 0x1800000, 0, 0)) == 0x370
        x.dead, x.up = False, True
        await b.wait(3)


@cocotb.test(skip=not bench.FULL)
async def entries_beside_a_capture(dut: Any) -> None:
    """Entries of the host, several at once, while a capture fills the drives and then while they are read out: all
    data is where it belongs. What finds no room is refused.
    """
    b = await ready(dut, stall=0.1)
    host = Host(b)
    for x in b.drives:
        x.latency = lambda: 300
    page = b.block(777)
    host.put(0x800000, page)
    each = 24
    await b.write(0x44, each)
    await b.write(0x04, 4)
    blocks_ = [b.block(k) for k in range(each * N)]
    for data in blocks_:
        b.feed(data)
    for k in range(3):
        cids = [host.submit(i, 1, 0x1800000, 8 * (100 + k), 7) for i in range(N)]
        cids += [host.submit(i, 2, 0x1A00000 + BLOCK * k, 8 * (100 + k), 7) for i in range(N)]
        for j, cid in enumerate(cids):
            assert await host.ends(j % N, cid) == 0
        assert host.memory[0xA00000 + BLOCK * k :][:BLOCK] == page
    for i, x in enumerate(b.drives):
        await b.until(0x108 + 0x100 * i, 0xC, 8, tries=1500)
        assert await b.read(0x14C + 0x100 * i) == each and await b.read(0x1060 + 0x100 * i) == 0
        assert x.mem == {k: blocks_[k * N + i] for k in range(each)} | {100 + k: page for k in range(3)}
    await b.write(0x8C, each)
    await b.write(0x80, 1)
    for _ in range(3):
        host.put(0xB00000, bytes(BLOCK))
        assert await host.ends(N - 1, host.submit(N - 1, 2, 0x1B00000, 8 * 101, 7)) == 0
        assert host.memory[0xB00000:][:BLOCK] == page
    many = [host.submit(0, 0, 0, 0, 0) for _ in range(40)]
    late: set[int] = set()
    while len(late) < len(many):
        p = await b.take_packet(30_000)
        if p[0] >> 20 & 0xFF == 0x21:
            assert p[7] >> 17 in (0, 0x371)
            late.add(p[7] & 0xFFFF)
        else:
            host.blocks[p[0] >> 28] += b"".join(v.to_bytes(4, "little") for v in p[4:])
    assert late == set(many)
    for i in range(N):
        await b.until(0x184 + 0x100 * i, 2, 2, tries=1500)
    await b.drained()
    for p in b.packets:
        host.blocks[p[0] >> 28] += b"".join(v.to_bytes(4, "little") for v in p[4:])
    assert host.blocks == [b"".join(blocks_[k * N + i] for k in range(each)) for i in range(N)]


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


@cocotb.test()
async def a_packet_that_is_open_until_after_a_reset(dut: Any) -> None:
    """A block is half in its packet when its drive is reset, and the host takes the rest only when the drive is back:
    a Read of the host still has its turn.
    """
    b = await ready(dut)
    host = Host(b)
    b.recv_ready = 0.5
    await b.write(0x8C, 1000)
    await b.write(0x80, 1)
    while not (b.packet and b.packet[0] >> 28 == 0 and len(b.packet) > 8):
        await b.wait(1)
    b.recv_ready = 0
    await b.write(0x104, 1)
    await b.until(0x108, 1, 1)
    await b.until(0x108, 1, 0, tries=1000)
    await b.write(0x80, 0)
    b.recv_ready = 1
    for i in range(N):
        await b.until(0x184 + 0x100 * i, 1, 0, tries=1500)
    await b.drained()
    b.packets.clear()
    b.drives[0].mem = {5: b.block(5)}
    assert await host.ends(0, host.submit(0, 2, 0x1800000, 40, 7)) == 0
    assert host.memory[0x800000:][:BLOCK] == b.block(5)


@cocotb.test()
async def resets_under_entries(dut: Any) -> None:
    """A drive is reset at any time of its Write or Read, while the host is slow and replies are on their way: the entry
    of another drive behind it has its own data, and none of the other's.
    """
    if N == 1:
        return
    b = await ready(dut, stall=0.2)
    rng, host, aborted = b.rng, Host(b), 0
    b.drives[1].mem = {k: b.block(k) for k in range(8)}
    b.drives[1].regs = {0: 1}
    for turn in range(TURNS):
        theirs, mine = b.block(2 * turn), b.block(2 * turn + 1)
        host.put(0x800000, theirs)
        host.put(0x880000, mine)
        host.put(0x8C0000, bytes(BLOCK))
        first, second = rng.choice((1, 1, 2)), rng.choice((1, 1, 2))
        blocked = turn % 3 == 0  # the first request for data waits behind other packets, and the host takes none
        b.stall, b.recv_ready = (0.2, 0) if blocked else rng.choice(((0.2, 0.3), (0.85, 1)))
        if blocked:
            for _ in range(3):
                b.host_packet(request(1, 0, 0, 0, 1, 3, []))
        cids = [host.submit(0, first, 0x1800000, 40, 7)]
        cids += [host.submit(1, second, 0x1880000 if second == 1 else 0x18C0000, 8 * (turn % 8), 7)]
        when = b.cycle + (150 if blocked else rng.randrange(20, 2000))
        ended: dict[int, int] = {}
        answers: deque[tuple[int, list[int]]] = deque()
        give_up = b.cycle + 60_000
        while len(ended) < 2:
            if when and b.cycle >= when:
                when = 0
                await b.write(0x104, 1)
                await b.wait(rng.choice((10, 700)))
                b.recv_ready = rng.choice((1, 0.3))
            assert b.cycle < give_up, "an entry does not end"
            await b.wait(1)
            while answers and answers[0][0] <= b.cycle:
                b.host_packet(answers.popleft()[1])
            while b.packets:
                p = b.packets.pop(0)
                at, count = p[0] & 0xFFFFFF, p[2] & 0x7FF
                if p[2] >> 31:
                    continue  # of a register
                if p[2] >> 11 & 31 == 0:
                    words = struct.unpack_from(f"<{count}I", host.memory, at)
                    answer = [4 * count << 16 | at & 0xFFF, count, 1 << 31 | p[3] & 0xFF, *words]
                    answers.append((b.cycle + rng.choice((0, 100)), answer))
                elif p[0] >> 20 & 0xFF == 0x21:
                    ended[p[7] & 0xFFFF] = p[7] >> 17
                elif p[0] >> 28 == 1:
                    host.put(at, b"".join(v.to_bytes(4, "little") for v in p[4:]))
                else:
                    assert at >> 12 == 0x800, "another's page"
        assert ended[cids[0]] in (0, 0x371) and ended[cids[1]] == 0, f"turn {turn}: {ended}"
        aborted += ended[cids[0]] == 0x371
        if second == 1:
            assert b.drives[1].mem[turn % 8] == mine, f"turn {turn}: another's data was written"
        else:
            assert host.memory[0x8C0000:][:BLOCK] == b.drives[1].mem[turn % 8], f"turn {turn}"
        b.stall, b.recv_ready = 0.2, 1
        await b.until(0x108, 1, 0, tries=1000)
    assert aborted > TURNS // 6


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
    )
