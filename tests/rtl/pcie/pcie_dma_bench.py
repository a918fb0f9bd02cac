# SPDX-License-Identifier: Apache-2.0
"""Everybody around db_pcie_dma: read clients, a data writer, a poster, a root complex, and what each must get."""

from __future__ import annotations

import os
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from pcie_rc_model import RcModel, Read, parse_rq_read, read_of, word
from pcie_rq_model import RqWatch
from pcie_stream import PcieStream
from structs import layout
from test_db_pcie_write import Beat, Tlp, parse_rq, write_of

SEGMENT = layout("db_mem_pkg", "segment_t")
INFO = layout("db_mem_pkg", "row_info_t")
POST_STRUCT = layout("db_pcie_block_pkg", "post_t")
SEQ = layout("db_pcie_pkg", "rq_seq_t")
CONFIG = layout("db_pcie_block_pkg", "client_cfg_t")

TAGS_LOG2 = (6, 3, 3, 3, 1)  # as db_ssd has them
RING_DW_LOG2 = (13, 10, 9, 9, 6)
CHUNK = (512, 512, 256, 256, 128)
CLIENTS = len(TAGS_LOG2)
BASE = tuple(sum(1 << lg for lg in TAGS_LOG2[:i]) for i in range(CLIENTS + 1))
USER_W = 48
WR_USER_W = 24
MPS, MRRS = 256, 512
DATA, POST = 1, 2  # address bits 63:60 of what writer and poster write


def client_configs() -> int:
    """CLIENTS of db_pcie_dma."""
    return sum(
        CONFIG.pack(tags_log2=t, ring_dw_log2=r, chunk_bytes=c, has_user=1) << CONFIG.width * i
        for i, (t, r, c) in enumerate(zip(TAGS_LOG2, RING_DW_LOG2, CHUNK, strict=True))
    )


@dataclass
class Packet:
    """A read of one client: parts (address, bytes), and what must come back."""

    fn: int
    parts: list[tuple[int, int]]
    user: int
    words: list[int] = field(default_factory=list)
    failed_at: int | None = None  # first dword that a failed request covers
    row: int = 0


@dataclass
class Client:
    parts: deque[tuple[Packet, int]] = field(default_factory=deque)  # (packet, index of the part) to be offered
    packets: deque[Packet] = field(default_factory=deque)  # first part taken, last row not yet out
    todo: deque[list[int]] = field(default_factory=deque)  # [address, end, fn] taken, reads not yet seen
    offered: bool = False
    done: int = 0


class Bench:
    def __init__(self, dut: Any, seed: int, error_rate: float = 0.0) -> None:
        self.dut = dut
        self.width = int(os.environ["WIDTH"])
        self.lanes = self.width // 32
        self.rq = PcieStream(dut, "m_rq", "RQ", self.width)
        self.rc = PcieStream(dut, "s_rc", "RC", self.width)
        self.rng = random.Random(seed)
        self.error_rate = error_rate
        self.cycle = 0
        self.stop = False
        self.load = True  # keep all sources busy
        self.rq_stall = 0.2
        self.reports = 0.3  # how likely the hard block reports a request in a cycle
        self.clear()

    def clear(self) -> None:
        self.model = RcModel(self.width, self.rng, self.failed, mps=MPS, error_rate=self.error_rate)
        self.clients = [Client() for _ in range(CLIENTS)]
        self.segs: deque[tuple[int, ...]] = deque()  # fn, addr, len, first, last, drop, user
        self.rows: deque[tuple[int, int]] = deque()  # data, last
        self.seg_offered = self.row_offered = self.post_offered = False
        self.want_writes: dict[int, deque[tuple[int, int, list[int]]]] = {DATA: deque(), POST: deque()}
        self.want_done: deque[int] = deque()
        self.posts: deque[tuple[int, int, list[int]]] = deque()
        self.beats: list[Beat] = []
        self.held: Beat | None = None
        self.watch = RqWatch()  # 512 bits
        self.unreported: deque[int] = deque()  # sequence numbers of requests inside the hard block
        self.sent = {"read": 0, DATA: 0, POST: 0}
        self.rq_cycles: list[int] = []
        self.page = self.resting = 0  # resting: cycles that it has been idle with something inside, which moves

    async def start(self) -> None:
        cocotb.start_soon(Clock(self.dut.clk, 4, unit="ns").start())
        self.dut.cfg_mps.value, self.dut.cfg_mrrs.value = 1, 2
        await self.reset()

    async def reset(self) -> None:
        d = self.dut
        for name in (
            "s_read_valid",
            "s_seg_valid",
            "s_row_valid",
            "s_post_valid",
            "m_row_ready",
            "m_done_ready",
            "m_rq_ready",
            "s_rc_valid",
            "stop",
            "s_read",
            "s_read_user",
            "s_seg",
            "s_seg_user",
            "s_row_data",
            "s_row_info",
            "s_post",
            "s_rc",
            "s_rq_seq",
            "hold",
        ):
            getattr(d, name).value = 0
        self.stop = False
        self.clear()
        d.rst.value = d.link_rst.value = 1
        for _ in range(3):
            await FallingEdge(d.clk)
        d.rst.value = d.link_rst.value = 0

    # ---- work
    def failed(self, read: Read) -> None:
        i = next(k for k in range(CLIENTS) if BASE[k] <= read.tag < BASE[k + 1])
        for p in self.clients[i].packets:
            at = 0
            for addr, n in p.parts:
                if p.fn == read.fn and addr <= read.addr < addr + n:
                    dword = at + (read.addr - addr) // 4
                    p.failed_at = dword if p.failed_at is None else min(dword, p.failed_at)
                    return
                at += n // 4
        raise AssertionError("failure of an unknown read")

    def address(self) -> int:
        """A page of its own, so that no two reads or writes meet."""
        self.page += 1
        return (self.rng.getrandbits(20) << 32 | self.page) << 12 & (1 << 60) - 1

    def add_read(self, i: int) -> None:
        r = self.rng
        most = 64 if i == 4 else 4096
        parts = []
        for _ in range(1 if i == 4 else r.choice([1, 1, 2, 3])):
            n = 4 * r.randint(1, most // 4) if i != 4 else 64
            parts.append((self.address() + (r.randrange(0, 4096 - n + 1, 4)), n))
        p = Packet(r.getrandbits(8), parts, r.getrandbits(USER_W))
        self.clients[i].parts.extend((p, k) for k in range(len(parts)))

    def add_write(self) -> None:
        r = self.rng
        fn, user = r.getrandbits(8), r.getrandbits(WR_USER_W)
        sizes = [4 * r.randint(1, 1024) for _ in range(r.randint(1, 3))]
        words: list[int] = []
        for k, n in enumerate(sizes):
            addr = DATA << 60 | self.address() + r.randrange(0, 4096 - n + 1, 4)
            self.segs.append((fn, addr, n, int(k == 0), int(k == len(sizes) - 1), 0, user))
            part = [r.getrandbits(32) for _ in range(n // 4)]
            words += part
            while part:
                m = min(len(part), (MPS - addr % MPS) // 4)
                self.want_writes[DATA].append((fn, addr, part[:m]))
                addr, part = addr + 4 * m, part[m:]
        for k in range(0, len(words), self.lanes):
            row = words[k : k + self.lanes]
            self.rows.append((sum(w << 32 * i for i, w in enumerate(row)), int(k + self.lanes >= len(words))))
        self.want_done.append(user)

    def add_post(self) -> None:
        r = self.rng
        n = r.choice([1, 4, 4, r.randint(1, 4)])
        self.posts.append(
            (
                r.getrandbits(8),
                POST << 60 | self.address() + 64 * r.randrange(64),
                [r.getrandbits(32) for _ in range(n)],
            )
        )

    # ---- one cycle
    async def step(self) -> None:
        d, rng = self.dut, self.rng
        if self.load:
            for i, c in enumerate(self.clients):
                if len(c.parts) < 2:
                    self.add_read(i)
            if len(self.segs) < 2:
                self.add_write()
            if len(self.posts) < 2 and rng.random() < 0.3:
                self.add_post()
        valid = reads = user = 0
        for i, c in enumerate(self.clients):
            c.offered = bool(c.parts) and (c.offered or rng.random() < 0.7)
            if c.offered:
                p, k = c.parts[0]
                addr, n = p.parts[k]
                valid |= 1 << i
                read = SEGMENT.pack(fn=p.fn, addr=addr, len=n, first=int(k == 0), last=int(k == len(p.parts) - 1))
                reads |= read << SEGMENT.width * i
                user |= p.user << USER_W * i
        d.s_read_valid.value, d.s_read.value, d.s_read_user.value = valid, reads, user
        rows_ready = rng.getrandbits(CLIENTS) | rng.getrandbits(CLIENTS)
        d.m_row_ready.value = rows_ready
        self.seg_offered = bool(self.segs) and (self.seg_offered or rng.random() < 0.9)
        d.s_seg_valid.value = int(self.seg_offered)
        if self.seg_offered:
            *seg, d.s_seg_user.value = self.segs[0]
            d.s_seg.value = SEGMENT.pack(dict(zip(SEGMENT, seg, strict=True)))
        self.row_offered = bool(self.rows) and (self.row_offered or rng.random() < 0.9)
        d.s_row_valid.value = int(self.row_offered)
        if self.row_offered:
            d.s_row_data.value = self.rows[0][0]
            d.s_row_info.value = INFO.pack(last=self.rows[0][1])
        d.m_done_ready.value = int(rng.random() < 0.8)
        if self.posts and not self.post_offered and rng.random() < 0.5:
            self.post_offered = True
            self.want_writes[POST].append(self.posts[0])  # it may begin before it is acknowledged
        d.s_post_valid.value = int(self.post_offered)
        if self.post_offered:
            fn, addr, words = self.posts[0]
            data = sum(w << 32 * i for i, w in enumerate(words))
            d.s_post.value = POST_STRUCT.pack(fn=fn, addr=addr, dwords=len(words), data=data)
        self.rq.ready.value = int(rng.random() >= self.rq_stall)
        d.stop.value = int(self.stop)
        d.time_us.value = self.cycle << 12  # a tag rests for 64 to 96 cycles
        d.s_rq_seq.value = self.report()
        beat = self.model.next_beat(self.cycle)
        self.rc.valid.value = int(beat is not None)
        if beat is not None:
            self.rc.put(beat.data, beat.keep, beat.last, beat.user)
        await RisingEdge(d.clk)
        if beat is not None and self.rc.ready.value == 0:
            self.model.refused(beat)
        self.resting = self.resting + 1 if d.idle.value == 1 and self.inside() else 0
        assert self.resting < 3, "idle with reads, rows or writes that wait inside"
        self.look(rows_ready)
        self.cycle += 1
        await FallingEdge(d.clk)

    def report(self) -> int:
        """The hard block says which requests no completion can pass any more: none, one or two of them."""
        valid, number = 0, [0, 0]
        for k in self.rng.sample((0, 1), 2):
            if self.unreported and self.rng.random() < self.reports:
                valid |= 1 << k
                number[k] = self.unreported.popleft()
        return SEQ.pack(valid=valid, num=number[0] | number[1] << 6)

    def look(self, rows_ready: int) -> None:
        d = self.dut
        self.look_rq()
        ready = int(d.s_read_ready.value)
        for i, c in enumerate(self.clients):
            if c.offered and ready >> i & 1:
                c.offered = False
                p, k = c.parts.popleft()
                addr, n = p.parts[k]
                if k == 0:
                    c.packets.append(p)
                p.words += [word(p.fn, a) for a in range(addr, addr + n, 4)]
                c.todo.append([addr, addr + n, p.fn])
        valid = int(d.m_row_valid.value) & rows_ready
        if valid:
            data, infos, users = int(d.m_row_data.value), int(d.m_row_info.value), int(d.m_row_user.value)
            for i, c in enumerate(self.clients):
                if valid >> i & 1:
                    info = INFO.unpack(infos >> INFO.width * i)
                    self.row(
                        i,
                        c,
                        data >> self.width * i & (1 << self.width) - 1,
                        info["last"],
                        info["dw"],
                        users >> USER_W * i & (1 << USER_W) - 1,
                        info["err"],
                    )
        if self.seg_offered and d.s_seg_ready.value == 1:
            self.segs.popleft()
            self.seg_offered = False
        if self.row_offered and d.s_row_ready.value == 1:
            self.rows.popleft()
            self.row_offered = False
        if self.post_offered and d.s_post_ready.value == 1:
            self.posts.popleft()
            self.post_offered = False
        if d.m_done_valid.value == 1 and d.m_done_ready.value == 1:
            assert int(d.m_done_user.value) == self.want_done.popleft() and d.m_done_err.value == 0

    def look_rq(self) -> None:
        if self.width == 512:
            if self.rq.valid.value == 1 and self.rq.ready.value == 1:
                self.rq_cycles.append(self.cycle)
            for p in self.watch.look(self.rq, self.cycle):
                length = p.dwords[2] & 0x7FF
                assert (p.first_be, p.last_be) == (15, 15 if length > 1 else 0), "byte enables"
                assert p.number == int(len(p.dwords) > 4), "writes have the number 1, reads 0"
                self.unreported.append(p.number)
                if p.dwords[2] >> 11 & 0xF == 0:
                    assert len(p.dwords) == 4
                    self.look_read(read_of(p.dwords))
                else:
                    self.look_write(write_of(p.dwords, 0, p.first_cycle, p.last_cycle))
            return
        if self.rq.valid.value == 0:
            assert self.held is None, "RQ valid withdrawn"
            return
        data, keep, last, user = self.rq.beat()
        b = Beat(self.cycle, data, keep, bool(last), user)
        h = self.held or b
        assert (h.data, h.keep, h.last, h.user) == (b.data, b.keep, b.last, b.user), "RQ changed in a stall"
        if self.rq.ready.value == 0:
            self.held = b
            return
        self.held = None
        self.rq_cycles.append(self.cycle)
        self.beats.append(b)
        if not b.last:
            return
        beats, self.beats = self.beats, []
        self.unreported.append(b.user >> 24 & 15 | (b.user >> 60 & 3) << 4)
        if beats[0].data >> 64 >> 11 & 0xF == 0:
            self.look_read(parse_rq_read(self.width, b.data, b.keep, int(b.last), b.user))
        else:
            self.look_write(parse_rq(beats, self.width))

    def look_read(self, read: Read) -> None:
        i = next(k for k in range(CLIENTS) if BASE[k] <= read.tag < BASE[k + 1])
        todo = self.clients[i].todo[0]
        assert (read.addr, read.fn) == (todo[0], todo[2]) and read.addr + 4 * read.dwords <= todo[1]
        assert 4 * read.dwords <= min(MRRS, CHUNK[i])
        todo[0] += 4 * read.dwords
        if todo[0] == todo[1]:
            self.clients[i].todo.popleft()
        self.sent["read"] += 1
        self.model.request(self.cycle, read)

    def look_write(self, t: Tlp) -> None:
        kind = t.addr >> 60
        assert (t.fn, t.addr, t.payload) == self.want_writes[kind].popleft()
        self.sent[kind] += 1

    def row(self, i: int, c: Client, data: int, last: int, tdw: int, user: int, err: int) -> None:
        assert c.packets, f"client {i}: a row without a packet"
        p = c.packets[0]
        start = p.row * self.lanes
        words = p.words[start : start + self.lanes]
        total = sum(n for _, n in p.parts) // 4
        assert (last, tdw, user) == (int(start + self.lanes >= total), len(words), p.user), f"client {i}"
        assert err == int(p.failed_at is not None and p.failed_at < start + len(words)), f"client {i}: error"
        if not err:
            assert [data >> 32 * k & 0xFFFFFFFF for k in range(tdw)] == words, f"client {i}: data"
        p.row += 1
        if last:
            c.packets.popleft()
            c.done += 1

    def inside(self) -> bool:
        return bool(self.model.pending or any(c.packets for c in self.clients) or any(self.want_writes.values()))

    def rq_at_rest(self) -> bool:
        return not self.beats and self.held is None and self.watch.held is None and self.watch.unpacker.open is None

    def busy(self) -> bool:
        return bool(
            any(c.parts or c.packets for c in self.clients)
            or self.segs
            or self.rows
            or self.posts
            or self.want_done
            or self.model.pending
        )

    async def drain(self) -> None:
        self.load = False
        for _ in range(20000):
            await self.step()
            if not self.busy():
                break
        else:
            raise AssertionError("hang")
        for _ in range(20):
            await self.step()
        assert self.dut.idle.value == 1
        assert self.rq_at_rest() and not self.want_writes[DATA] and not self.want_writes[POST]
        self.load = True
