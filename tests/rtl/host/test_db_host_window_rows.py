# SPDX-License-Identifier: Apache-2.0
"""db_host_window_rows: submission entries, PRP lists (walked as the NVMe specification has them, over the ring's end),
SGLs, range lists, data and admin rows; memories with their exact latencies around it."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from doorbell.nvme.structures import DsmRange, Sqe
from structs import constant, enum, layout

PAGE = 4096
BASE = 0xFFFF_0123_5400_0000
REGIONS = enum("db_host_pkg", "region_e")
QUEUES, WR_DATA, WR_PRP, RD_DATA, RD_PRP, RANGES, FORWARD = (
    REGIONS[f"REGION_{name}"] << constant("db_host_pkg", "REGION_W")
    for name in ("QUEUES", "WR_DATA", "WR_PRP", "RD_DATA", "RD_PRP", "RANGES", "FORWARD")
)
REGION = 1 << constant("db_host_pkg", "REGION_W")
IO_SQ = constant("db_host_pkg", "IO_SQ")
CTX, MAP = layout("db_host_pkg", "entry_ctx_t"), layout("db_host_pkg", "slot_map_t")
OPS = enum("db_host_pkg", "block_op_e")
READ, WRITE, FLUSH, TRIM, ZEROES, VERIFY = (
    OPS[f"BLOCK_{name}"] for name in ("READ", "WRITE", "FLUSH", "TRIM", "ZEROES", "VERIFY")
)
OPCODE = {READ: 0x02, WRITE: 0x01, FLUSH: 0x00, TRIM: 0x09, ZEROES: 0x08, VERIFY: 0x0C}


@dataclass
class Slot:
    op: int
    lba: int
    blocks: int
    buf512: int
    len512: int


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.width = len(dut.m_row_data)
        self.size = self.width // 8
        self.wr_ring, self.rd_ring = int(dut.WR_RING_BYTES.value), int(dut.RD_RING_BYTES.value)
        self.qps = int(dut.NUM_QP.value)
        self.slots: list[Slot] = []
        self.base = self.mask = 0
        self.nsid = self.rng.getrandbits(32)
        self.sgl = 0
        self.write_ring = [self.rng.getrandbits(self.width) for _ in range(self.wr_ring // self.size)]
        self.admin_buf = [self.rng.getrandbits(self.width) for _ in range(1088 * 4 // self.size)]
        self.wanted: deque[int] = deque()
        self.got: list[int] = []
        self.reads = {"ctx": 0, "write_ring": 0, "admin_buf": 0}

    async def start(self) -> None:
        d, rng = self.dut, self.rng
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        self.configure()
        d.window_base.value = BASE
        d.nsid.value = self.nsid
        d.s_row_valid.value = d.s_row_addr.value = 0
        d.s_ctx.value = d.s_write_ring_data.value = d.s_admin_buf_data.value = rng.getrandbits(64)
        for _ in range(4):
            await FallingEdge(d.clk)
        cocotb.start_soon(self.cycle())

    def configure(self) -> None:
        rng = self.rng
        self.mask = (8 << rng.randrange(6)) - 1
        self.base = rng.randrange(self.mask + 1)
        self.slots = []
        self.gens = [rng.randrange(16) for _ in range(self.mask + 1)]
        for _ in range(self.mask + 1):
            op = rng.randrange(6)
            ring = self.wr_ring if op == WRITE else self.rd_ring
            units = ring // 512
            most = min(units, 4096)  # 2 MiB: what one page of list can describe
            length = rng.choice([1, 7, 8, 9, 15, 16, 17, rng.randint(1, most), most]) if op in (READ, WRITE) else 0
            blocks = rng.randrange(1, 1 << 32) if op == TRIM else rng.choice([1, rng.randint(1, 65536), 65536])
            self.slots.append(Slot(op, rng.getrandbits(64), blocks, rng.randrange(units), min(length, most)))
        some = self.qps == 1 and rng.random() < 0.7
        self.second = (rng.randrange(512), rng.randrange(self.mask + 1)) if some else None
        second = {"second": 1, "place": self.second[0], "oldest": self.second[1]} if self.second else {}
        self.dut.map.value = MAP.pack(base=self.base, mask=self.mask, **second)
        self.sgl = rng.randrange(2)
        self.dut.sgl.value = self.sgl

    async def cycle(self) -> None:
        """The memories, and a row request a cycle while there are some."""
        d, rng = self.dut, self.rng
        write_ring: deque[int | None] = deque([None])
        admin_buf: deque[int | None] = deque([None])
        asked: deque[bool] = deque([False] * 4)
        while True:
            row = self.wanted.popleft() if self.wanted and rng.random() < 0.8 else None
            d.s_row_valid.value = int(row is not None)
            d.s_row_addr.value = rng.getrandbits(26) if row is None else row
            await RisingEdge(d.clk)
            slot = None
            if int(d.m_ctx_re.value):
                self.reads["ctx"] += 1
                slot = int(d.m_ctx_slot.value)
                assert slot < len(self.slots)
            write_ring.append(self.write_ring[int(d.m_write_ring_addr.value)] if int(d.m_write_ring_re.value) else None)
            address = int(d.m_admin_buf_addr.value) * 4 // self.size
            admin_buf.append(self.admin_buf[address] if int(d.m_admin_buf_re.value) else None)
            self.reads["write_ring"] += int(d.m_write_ring_re.value)
            self.reads["admin_buf"] += int(d.m_admin_buf_re.value)
            asked.append(row is not None)
            if asked.popleft():
                self.got.append(int(d.m_row_data.value))
            await FallingEdge(d.clk)
            # The context in the next cycle, the others in the one after it; noise otherwise.
            ctx = None if slot is None else CTX.pack(gen=self.gens[slot], slot=asdict(self.slots[slot]))
            d.s_ctx.value = rng.getrandbits(CTX.width) if ctx is None else ctx
            for queue, port in ((write_ring, d.s_write_ring_data), (admin_buf, d.s_admin_buf_data)):
                value = queue.popleft()
                port.value = rng.getrandbits(self.width) if value is None else value

    async def read(self, addr: int, nbytes: int) -> bytes:
        """Bytes of the window; rows are asked for back to back."""
        start, end = addr // self.size * self.size, -(-(addr + nbytes) // self.size) * self.size
        self.got.clear()
        self.wanted.extend(range(start, end, self.size))
        while len(self.got) < (end - start) // self.size:
            await RisingEdge(self.dut.clk)
        data = b"".join(r.to_bytes(self.size, "little") for r in self.got)
        return data[addr - start : addr - start + nbytes]

    async def walk(self, prp1: int, prp2: int, size: int) -> list[int]:
        """Addresses of the data's 512-byte units, from PRPs as the Base Specification 2.0 has them (4.1.1)."""
        result = list(range(prp1, min(prp1 + size, (prp1 // PAGE + 1) * PAGE), 512))
        left = size - 512 * len(result)
        pages: list[int] = []
        if 0 < left <= PAGE:
            pages = [prp2]
        elif left:
            need, pointer = -(-left // PAGE), prp2
            while len(pages) < need:
                room = (PAGE - pointer % PAGE) // 8
                here = min(room, need - len(pages))
                chain = need - len(pages) > room
                raw = await self.read(pointer - BASE, 8 * here)
                entries = [int.from_bytes(raw[i : i + 8], "little") for i in range(0, len(raw), 8)]
                pages += entries[:-1] if chain else entries
                pointer = entries[-1]
        else:
            assert prp2 == 0
        for page in pages:
            assert page % PAGE == 0
            result += range(page, page + min(left, PAGE), 512)
            left -= min(left, PAGE)
        return result


@cocotb.test()
async def entries_and_lists(dut: Any) -> None:
    b = Bench(dut, 1)
    await b.start()
    rng = b.rng
    seen = dict.fromkeys(range(6), 0)
    seconds = 0
    shapes = dict.fromkeys(("one page", "two", "list", "wraps", "block", "block wraps"), 0)
    for _ in range(400):
        if rng.random() < 0.2:
            b.configure()
        q, entry = rng.randrange(b.qps), rng.randrange(512)
        if b.second and rng.random() < 0.5:
            entry = b.second[0]
        place = (b.base + entry * b.qps + q) % len(b.slots)
        second = b.second is not None and entry == b.second[0]
        if b.second is not None and second:  # of another slot, by an identifier that its first entry had not
            place = b.second[1]
        seconds += second
        slot, cid = b.slots[place], second << 12 | b.gens[place] << 8 | place
        seen[slot.op] += 1
        raw = await b.read(IO_SQ + (q << 16) + 64 * entry, 64)
        sqe = Sqe.from_buffer_copy(raw)
        want = Sqe(opcode=OPCODE[slot.op], cid=cid, nsid=b.nsid, flags=sqe.flags, prp1=sqe.prp1, prp2=sqe.prp2)
        if slot.op in (READ, WRITE, ZEROES, VERIFY):
            want.cdw10, want.cdw11, want.cdw12 = slot.lba & 0xFFFFFFFF, slot.lba >> 32, slot.blocks - 1 & 0xFFFF
        if slot.op == TRIM:
            want.cdw10, want.cdw11 = 0, 1 << 2  # one range; AD
        assert bytes(want) == raw, raw.hex()
        if slot.op in (READ, WRITE):
            region, ring = (WR_DATA, b.wr_ring) if slot.op == WRITE else (RD_DATA, b.rd_ring)
            wraps = slot.buf512 + slot.len512 > ring // 512
            if b.sgl and 2 * ring <= REGION:
                # One data block (Base 2.0, figures "SGL Descriptor Format" and "SGL Data Block descriptor").
                assert sqe.flags == 1 << 6
                assert sqe.prp1 == BASE + region + slot.buf512 * 512 and sqe.prp2 == slot.len512 * 512
                assert sqe.prp1 + sqe.prp2 <= BASE + region + 2 * ring
                shapes["block"] += 1
                shapes["block wraps"] += wraps
                continue
            assert sqe.flags == 0
            units = await b.walk(sqe.prp1, sqe.prp2, 512 * slot.len512)
            # In place from the first unit on, around the ring's end.
            assert units == [BASE + region + (slot.buf512 + i) * 512 % ring for i in range(slot.len512)]
            pages = (slot.buf512 % 8 + slot.len512 + 7) // 8
            shapes["one page" if pages == 1 else "two" if pages == 2 else "list"] += 1
            shapes["wraps"] += wraps
        elif slot.op == TRIM:
            assert sqe.flags == 0 and sqe.prp2 == 0 and sqe.prp1 % PAGE <= PAGE - 16
            ranges = DsmRange.from_buffer_copy(await b.read(sqe.prp1 - BASE, 16))
            assert (ranges.cattr, ranges.nlb, ranges.slba) == (0, slot.blocks, slot.lba)
        else:
            assert sqe.prp1 == sqe.prp2 == 0
    assert seconds > 20 or b.qps > 1
    assert min(seen.values()) > 5 and min(shapes.values()) > 3, (seen, shapes)


@cocotb.test()
async def every_list(dut: Any) -> None:
    """A command that starts in any page of either ring and fills it."""
    b = Bench(dut, 2)
    await b.start()
    for region, lists, ring in ((WR_DATA, WR_PRP, b.wr_ring), (RD_DATA, RD_PRP, b.rd_ring)):
        pages = ring // PAGE
        for page in sorted({0, 1 % pages, pages // 2, pages - 1}):
            count = min(pages, 512)  # two commands' worth of list: one never leaves its page
            raw = await b.read(lists + PAGE * page, 8 * count)
            got = [int.from_bytes(raw[i : i + 8], "little") for i in range(0, len(raw), 8)]
            assert got == [BASE + region + (page + 1 + i) % pages * PAGE for i in range(count)]


@cocotb.test()
async def data_and_admin(dut: Any) -> None:
    """Ring rows, admin queue and buffer by place; everything else is zeros and touches no memory."""
    b = Bench(dut, 3)
    await b.start()
    rows = b.wr_ring // b.size
    twice = b.wr_ring < REGION  # a data block may go on past the ring's end
    parts = [(0, 40), (rows - 8, 8), (rows // 2, 20)] + [(rows - 3, 9), (2 * rows - 5, 5)] * twice
    for at, n in parts:
        want = b"".join(b.write_ring[i % rows].to_bytes(b.size, "little") for i in range(at, at + n))
        assert await b.read(WR_DATA + at * b.size, n * b.size) == want
    assert b.reads == {"ctx": 0, "write_ring": sum(n for _, n in parts), "admin_buf": 0}
    admin = b"".join(r.to_bytes(b.size, "little") for r in b.admin_buf)
    assert await b.read(QUEUES, 256) == admin[4096 : 4096 + 256]
    assert await b.read(QUEUES + 0x2000, 4096) == admin[:4096]
    before = dict(b.reads)
    elsewhere = [QUEUES + 0x1000, QUEUES + 0x3000, QUEUES + 0x20_0000, QUEUES + 0x70_0000, RD_DATA, FORWARD]
    elsewhere += [WR_DATA + 2 * b.wr_ring] if 2 * b.wr_ring < REGION else []
    for addr in elsewhere:
        assert await b.read(addr, 256) == bytes(256), hex(addr)
    assert b.reads == before


@pytest.mark.parametrize(
    "width,wr,rd,qps",
    [(128, 65536, 524288, 1), bench.rare(256, 4096, 16384, 2), (512, 8388608, 8192, 4)],
)
def test_db_host_window_rows(width: int, wr: int, rd: int, qps: int) -> None:
    parameters = {"DATA_W": width, "WR_RING_BYTES": wr, "RD_RING_BYTES": rd, "NUM_QP": qps, "RETRY": int(qps == 1)}
    bench.run(__file__, "db_host_window_rows", parameters)
