# SPDX-License-Identifier: Apache-2.0
"""Tests of db_recorder_core, which test_db_recorder_read.py runs: I/O queue entries that the host sends, beside
captures, read-outs and resets."""

from __future__ import annotations

import struct
from collections import deque
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.triggers import ReadOnly
from recorder_model import BLOCK, OP_FLUSH, OP_READ, OP_TRIM, OP_WRITE, OP_ZEROES, Bench
from recorder_read_bench import BYTES, FULL, TURNS, N, ready, reply, request


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


@cocotb.test()
async def entries_across_the_last_lba(dut: Any) -> None:
    """LBAs have 35 bits. Of an entry that goes on behind the last one no command comes to the drive's first blocks: it
    ends with LBA Out of Range after those before it, as one that begins there; one that ends with it is carried out.
    """
    b = await ready(dut)
    host, end, most = Host(b), 1 << 35, 8192
    for i, x in enumerate(b.drives):
        x.lba_shift = (9, 12)[i % 2]
    await b.wait(3)
    for i, x in enumerate(b.drives):
        per = BLOCK >> x.lba_shift
        for lba, pieces, status in ((end - 2 * most, 2, 0), (end - most, 1, 0x80)):
            x.user.clear()
            assert await host.ends(i, host.submit(i, 8, 0, lba, 2 * most - 1)) == status
            assert x.user == [(OP_ZEROES, lba + most * k, most) for k in range(pieces)]
            host.put_ranges(0x804000, [(lba, 2 * most), (5, 1)])
            x.user.clear()
            assert await host.ends(i, host.submit(i, 9, 0x1804000, 4 << 32 | 1, 0)) == status
            trims = [(OP_TRIM, lba + most * k, most) for k in range(pieces)]
            assert x.user == trims + ([] if status else [(OP_TRIM, 5, 1)])
        for opcode, op in ((1, OP_WRITE), (2, OP_READ)):
            for lba, pieces, status in ((end - 2 * per, 2, 0), (end - per, 1, 0x80), (end, 0, 0x80)):
                x.user.clear()
                assert await host.ends(i, host.submit(i, opcode, 0x1800000, lba, 2 * per - 1, 0x1801000)) == status
                assert x.user == [(op, lba + per * k, per) for k in range(pieces)]
        x.mem.clear()


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
async def a_packet_that_is_open_at_the_reset_of_all(dut: Any) -> None:
    """Control.Reset of the main set in the middle of a packet to the host, a block's or a reply: what is offered stays
    until it is taken, the packet ends early with tlast, and the next one is whole, also one that has waited behind it.
    """
    b = await ready(dut)
    drive = b.drives[0]

    async def nothing_is_taken_back() -> None:
        offered = None
        while True:
            await ReadOnly()
            now = (int(dut.m_packet_valid.value), int(dut.m_packet.value))
            assert offered is None or now == offered
            offered = now if now[0] and not int(dut.m_packet_ready.value) else None
            await b.wait(1)

    cocotb.start_soon(nothing_is_taken_back())
    for turn in range(12):
        block = turn % 2 and FULL  # short ones end too soon
        stalls = turn // 2 % 3  # the host takes all; none for a while; none until the next one waits
        drive.regs = {4 * k: k for k in range(64)}
        if block:
            await b.write(0x8C, 1000)
            await b.write(0x80, 1)
        else:
            b.host_packet(request(0, 0, 0x40, 0, 32, 3, []))
        while len(b.packet) < 8 + turn // 6:
            await b.wait(1)
        b.recv_ready = int(not stalls)
        await b.write(4, 1)
        await b.until(0x108, 1, 0, tries=1000)
        b.recv_ready = int(stalls < 2)
        b.host_packet(request(0, 0, 0x40, 0, 32, 3, []))
        await b.wait(250)
        b.recv_ready = 1
        await b.wait(100)
        *whole, cut, after = b.packets
        b.packets.clear()
        assert after == reply(0x40, 32, 3, list(range(16, 48))), f"turn {turn}"
        assert 8 < len(cut) < (4 + BYTES // 4 if block else 35) and len(cut) % 4 == 1, f"turn {turn}"
        assert all(len(p) == 4 + BYTES // 4 for p in whole)


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
