# SPDX-License-Identifier: Apache-2.0
"""db_ssd_read_engine: Reads give their segments and rows in order, Verifies swallow theirs, near-storage commands have
segments of their result, and some of them have their data from memory; a Memory Fill has zeros, and the list of a
Memory Copy is told as ranges; each ends once as it must."""

from __future__ import annotations

import os
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
import test_db_nvme_prp as prp
from axi_model import AxiRead, Media, stretches
from cocotb.triggers import RisingEdge
from streams import ROW, Sink, Source, start
from structs import layout
from test_db_nvme_prp import SEGMENT, ListReader, Segment, segments
from test_db_ssd_media_cmd import DESC, FILL, LIST, LOAD, NEAR, READ, READ_ERROR, STORE, VERIFY, WHOLE, Command

BURST = 1024  # of db_axi_read inside
SEGMENT_USER = layout("db_ssd_pkg", "segment_user_t")
COMPLETION = layout("db_ssd_pkg", "slot_completion_t")
SLM = os.environ.get("SLM") == "1"
RANGE, RANGE_BYTES, RANGES = layout("db_ssd_near_pkg", "copy_range_t"), 32, 4
PACKET, ARGS = layout("db_ssd_near_pkg", "near_packet_t"), layout("db_ssd_near_pkg", "near_args_t")


@dataclass
class Job(Command):
    walk: prp.Command | None = None
    bad: bool = False  # a row of it cannot be read
    read: int = 0  # rows that the media has given
    sent: bool = False  # to the host, as far as the data writer is concerned
    memory: bool = False  # addr is there
    source: list[Segment] = field(default_factory=list)  # ... what is to be asked of it
    lost: bool = False  # not all of it comes
    ranges: list[tuple[int, int, int]] = field(default_factory=list)  # told of a list: NSID, start, amount

    def stretch(self) -> list[Segment]:
        """Segments of so many bytes from addr on."""
        at, left = self.addr, self.size
        out: list[Segment] = []
        while left:
            size = min(left, 4096 - at % 4096)
            out.append((self.fn, at, size, int(at == self.addr), int(size == left), 0))
            at, left = at + size, left - size
        return out

    def status(self) -> int:
        if self.op != VERIFY:
            assert self.sent or self.op == LIST, "ends before its data is sent"
            if self.walk and self.walk.status:
                return self.walk.status
            if self.op in (LOAD, STORE, LIST) and self.lost:
                return prp.TRANSFER_ERROR
        return READ_ERROR if self.bad else 0


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.width = dut, int(os.environ["DATA_W"])
        prp.WIDTH = self.width
        self.row = self.width // 8
        self.rng = rng = random.Random(seed)
        self.media = Media(self.width)
        self.mem = prp.Memory(rng)
        self.axi = AxiRead(dut, rng, self.media, self.on_burst)
        self.lists = ListReader(dut, rng, self.mem)
        self.near_lists = ListReader(dut, rng, self.mem, "m_list", "s_near_list")  # of where data come from
        self.cmd = Source(dut, rng, "s_cmd", WHOLE)
        self.seg = Sink(dut, rng, "m_seg", (("", SEGMENT), ("user", SEGMENT_USER)))
        self.data = Sink(dut, rng, "m_row", ROW)
        self.fetch = Sink(dut, rng, "m_fetch", (("", SEGMENT), "slot"))
        self.fetched = Source(dut, rng, "s_fetch", ROW)
        self.fetches: deque[Job] = deque()  # commands whose data come from memory
        self.done = Source(dut, rng, "s_done", (("user", SEGMENT_USER), "err"))
        self.completion = Sink(dut, rng, "m_completion", COMPLETION)
        self.open: dict[int, Job] = {}
        self.bursts: deque[tuple[int, int, bool]] = deque()
        self.read_owner: deque[Job] = deque()  # of each row the media is to give
        self.segs: deque[tuple[Job, Segment]] = deque()  # to come
        self.rows: deque[tuple[Job, int, int]] = deque()  # to come: job, address, last
        self.segs_done: deque[tuple[Job, int]] = deque()  # packets whose segments are here, with their status
        self.packets: deque[Job] = deque()  # to be announced
        self.rows_done: deque[Job] = deque()  # packets whose rows are here
        self.sending: deque[Job] = deque()  # given to s_done
        self.errors = [0, 0]  # media_err pulses: seen, expected
        self.cycle = 0
        self.row_cycles: list[int] = []
        self.statuses: set[tuple[int, int]] = set()
        self.take = True
        self.stopped = 0

    async def start(self) -> None:
        await start(self.dut, stop=0)

    def on_burst(self, addr: int, rows: int) -> None:
        assert self.bursts and (addr, rows, self.axi.ar.new.fua) == self.bursts.popleft()  # type: ignore[union-attr]
        assert not self.stopped or self.cycle <= self.stopped + 1, "address after stop"

    def stalls(self, p: float) -> None:
        for channel in (self.axi, self.lists.rows, self.near_lists.rows, self.data, self.fetch):
            channel.stall = p and self.rng.choice((0.0, p, p / 2))
        for channel in (
            self.axi.ar,
            self.lists.req,
            self.near_lists.req,
            self.cmd,
            self.seg,
            self.done,
            self.completion,
        ):
            channel.stall = p and self.rng.choice((0.0, p, p / 2, 0.9))

    def add(self, job: Job) -> None:
        assert job.slot not in self.open
        self.open[job.slot] = job
        addresses = range(job.addr, job.addr + job.size, self.row)
        if job.op == FILL:
            job.read = len(addresses)
        elif job.memory:
            self.fetches.append(job)
        else:
            bursts = stretches(job.addr, job.size, 4096 if job.lba4k else BURST, self.row)
            self.bursts.extend((*b, job.fua) for b in bursts)
            self.read_owner.extend([job] * len(addresses))
        host: list[Segment] = []
        if job.walk:
            job.fn, job.prp1, job.prp2 = job.walk.fn, job.walk.prp1, job.walk.prp2
            (self.near_lists if job.op in (STORE, LIST) else self.lists).add(job.walk)
            host = list(segments(job.walk))
        job.source = host if job.op in (STORE, LIST) else job.stretch()
        if job.op not in (VERIFY, LIST):
            self.packets.append(job)
            self.segs.extend((job, s) for s in (job.stretch() if job.op in (STORE, FILL) else host))
            self.rows.extend((job, a, int(a + self.row >= job.addr + job.size)) for a in addresses)
        desc = dict.fromkeys((*DESC[job.op], *(["memory"] if job.memory else [])), 1)
        self.cmd.queue.append(WHOLE.pack({**WHOLE.unpack(job.packed(whole=True)), "desc": desc}))

    def random_job(self, slot: int) -> Job:
        rng = self.rng
        op = rng.choice((READ, READ, READ, NEAR, VERIFY, *((LOAD, STORE, STORE, FILL, LIST) if SLM else ())))
        lba4k = rng.random() < 0.3
        block = 4096 if lba4k else 512
        size = block * rng.choice((1, 1, 2, 8, rng.randint(1, 24), rng.randint(17, 40)))
        size = min(size, 5 * 4096)
        job = Job(op, block * rng.randrange(1 << 24), size, slot=slot, prp1=rng.getrandbits(64))
        job.lba4k, job.fua = lba4k, rng.random() < 0.3
        if op == READ:
            job.walk = prp.make_command(rng, self.mem, size)
        if op == NEAR:
            room = rng.choice((size, 64 * rng.randint(1, size // 64)))
            job.walk = prp.make_command(rng, self.mem, room)
            job.blocks = ARGS.pack(
                data=rng.randint(1, size), result=room, number=rng.getrandbits(2), phase=rng.getrandbits(16)
            )
            job.memory = rng.random() < 0.5
            job.addr += 4 * rng.randrange(128) * job.memory
        if op in (LOAD, STORE, FILL, LIST):
            job.memory, job.lba4k = True, False
            job.size = rng.choice((size, 4 * rng.randint(1, size // 4)))
            job.addr += 4 * rng.randrange(128)
            if op == LIST:
                job.size = RANGE_BYTES * rng.randint(1, RANGES)
            if op != FILL:
                job.walk = prp.make_command(rng, self.mem, job.size)
                job.lost = rng.random() < 0.2
        if rng.random() < 0.15 and not job.memory:
            self.media.bad.add(job.addr + self.row * rng.randrange(size // self.row))
        return job

    async def step(self) -> None:
        await RisingEdge(self.dut.clk)
        self.cycle += 1
        if int(self.dut.m_packet_valid.value):
            job, packet = self.packets.popleft(), PACKET.unpack(int(self.dut.m_packet.value))
            assert (packet["computes"], packet["slot"]) == (int(job.op == NEAR), job.slot)
            assert job.op != NEAR or ARGS.pack(packet["args"]) == job.blocks
        told = RANGE.unpack(int(self.dut.m_copy_range.value))
        if told["valid"]:
            job = self.open[told["slot"]]
            assert job.op == LIST and told["index"] == len(job.ranges) % RANGES
            job.ranges.append((told["nsid"], told["start"], told["amount"]))
        self.cmd.step()
        self.lists.step(self.cycle)
        self.near_lists.step(self.cycle)
        seen = len(self.axi.log)
        self.axi.step(self.cycle)
        for _, _, bad in self.axi.log[seen:]:
            job = self.read_owner.popleft()
            job.read += 1
            job.bad |= bad
        self.look_at_memory()
        word = self.seg.step()
        if self.seg.new:
            job, want = self.segs.popleft()
            assert self.seg.new[:6] == want, f"segment {self.seg.new}, expected {want}"
            assert self.seg.new.slot == job.slot
            assert self.seg.new.memory == (job.memory and job.op != FILL)
            if self.seg.new.last:
                to = 0 if job.op in (STORE, FILL) else job.walk.status  # type: ignore[union-attr]
                assert self.seg.new.status == to
                self.segs_done.append((job, self.seg.new.status))
        word = self.data.step(self.take)
        if word:
            job, addr, last = self.rows.popleft()
            bad = self.err_of(job, last) if job.memory else addr in self.media.bad
            data = (
                0 if job.op == FILL or (job.memory and bad) else self.row_at(job, addr)
            )  # what does not come is zeros
            assert word == (data, last, self.dwords(job, addr), int(bad)), hex(addr)
            self.row_cycles.append(self.cycle)
            if last:
                self.rows_done.append(job)
        # A packet that is here in full has been sent.
        if self.segs_done and self.rows_done:
            job, status = self.segs_done.popleft()
            assert job is self.rows_done.popleft()
            self.sending.append(job)
            err = int(job.bad or (job.memory and self.err_of(job, 1)))
            self.done.queue.append((status, job.memory and job.op != FILL, job.slot, err))
        offered = self.done.word
        self.done.step()
        if self.done.word is not None and self.done.word is not offered:
            self.sending.popleft().sent = True
        word = self.completion.step(self.take)
        if word:
            self.complete(word.slot, word.status)
        self.errors[0] += int(self.dut.media_err.value)
        if int(self.dut.quiet.value):
            assert self.axi.missing == 0, "not quiet"

    def look_at_memory(self) -> None:
        """A segment of a command's data is asked for: it comes, with its errors, which are none of the media's."""
        self.fetched.step()
        if (word := self.fetch.step()) is None:
            return
        job = self.fetches[0]
        assert tuple(word) == (*job.source.pop(0), job.slot)
        if job.source:
            return
        self.fetches.popleft()
        rows = range(job.addr, job.addr + job.size, self.row)
        for at in rows:
            last = int(at == rows[-1])
            self.fetched.queue.append((self.row_at(job, at), last, self.dwords(job, at), self.err_of(job, last)))
        job.read = len(rows)

    def dwords(self, job: Job, addr: int) -> int:
        return min(self.row, job.addr + job.size - addr) // 4

    @staticmethod
    def err_of(job: Job, last: int) -> int:
        """What does not come shows in the last row; so does what is asked of no memory."""
        pointed = job.op in (STORE, LIST) and job.walk is not None and job.walk.status != 0
        return int(last and job.op in (LOAD, STORE, LIST) and (job.lost or pointed))

    def row_at(self, job: Job, addr: int) -> int:
        return random.Random(addr).getrandbits(self.width) if job.memory else self.media.read(addr)

    def complete(self, slot: int, status: int) -> None:
        assert slot in self.open, f"completion of slot {slot}: none is under way there"
        job = self.open.pop(slot)
        assert job.read == -(-job.size // self.row), "ends before the media has been read"
        assert status == job.status(), f"status {status:#x}, expected {job.status():#x} of {job}"
        self.errors[1] += job.bad
        if job.op == LIST and not status:
            bits = sum(self.row_at(job, job.addr + at) << 8 * at for at in range(0, job.size, self.row))
            entries = [bits >> 8 * at for at in range(0, job.size, RANGE_BYTES)]
            want = [(e & 0xFFFFFFFF, e >> 64 & (1 << 64) - 1, e >> 128 & 0xFFFFFFFF) for e in entries]
            assert job.ranges[: len(want)] == want
            assert len(job.ranges) <= len(want) + (self.row > RANGE_BYTES), "a row has two"
        self.statuses.add((job.op, status))

    async def drain(self) -> None:
        limit = self.cycle + 60_000
        while self.open:
            assert self.cycle < limit, f"hangs: {self.open}"
            await self.step()
        for _ in range(20):
            await self.step()
            assert int(self.dut.idle.value) and int(self.dut.quiet.value)
        assert not self.segs and not self.rows and not self.packets and not self.bursts and not self.lists.plan
        assert not self.near_lists.plan
        assert self.errors[0] == self.errors[1], "media_err pulses"

    async def random(self, n: int) -> None:
        while n:
            slot = self.rng.randrange(int(self.dut.NUM_CMDS.value))
            if slot not in self.open and len(self.open) < 30:
                self.add(self.random_job(slot))
                n -= 1
            await self.step()


@cocotb.test()
async def random_commands(dut: Any) -> None:
    seen: set[tuple[int, int]] = set()
    for seed, stall, latency in (
        (1, 0.0, (0, 5)),
        (2, 0.3, (1, 80)),
        (3, 0.6, (0, 20)),
        (4, 0.0, (50, 200)),
        (5, 0.2, (0, 30)),
    ):
        b = Bench(dut, seed)
        await b.start()
        b.stalls(stall)
        b.axi.latency = b.lists.latency = b.near_lists.latency = latency
        await b.random(30 * b.width // 256 + 35 + 20 * SLM)
        await b.drain()
        seen |= b.statuses
    seen.add((NEAR, prp.TRANSFER_ERROR))  # seldom: its lists are short
    assert seen == {
        (READ, 0),
        (READ, READ_ERROR),
        (READ, prp.OFFSET_INVALID),
        (READ, prp.TRANSFER_ERROR),
        (NEAR, 0),
        (NEAR, READ_ERROR),
        (NEAR, prp.OFFSET_INVALID),
        (NEAR, prp.TRANSFER_ERROR),
        (VERIFY, 0),
        (VERIFY, READ_ERROR),
        *(
            (op, status)
            for op in ((LOAD, STORE, LIST) if SLM else ())
            for status in (0, prp.OFFSET_INVALID, prp.TRANSFER_ERROR)
        ),
        *([(FILL, 0)] if SLM else []),
    }, f"the random mix misses a status: {sorted(seen)}"


@cocotb.test()
async def a_row_a_cycle(dut: Any) -> None:
    for sectors in (1, 8, 64):
        b = Bench(dut, 10)
        await b.start()
        b.axi.latency = b.lists.latency = (30, 30)
        for i in range(max(3, 64 // sectors)):
            walk = prp.make_command(b.rng, b.mem, 512 * sectors, 512, errors=False)
            b.add(Job(READ, 512 * sectors * i, 512 * sectors, slot=i, walk=walk))
        await b.drain()
        bubbles = b.row_cycles[-1] - b.row_cycles[0] + 1 - len(b.row_cycles)
        assert bubbles == 0, f"{sectors} sectors: {bubbles} bubbles"


@cocotb.test()
async def verify_does_not_hold_reads_up(dut: Any) -> None:
    """Reads with Verifies between them: the media gives a row a cycle, whoever it is for."""
    b = Bench(dut, 11)
    await b.start()
    b.axi.latency = b.lists.latency = (30, 30)
    for i in range(24):
        walk = prp.make_command(b.rng, b.mem, 4096, 512, errors=False)
        b.add(Job(VERIFY if i % 3 == 1 else READ, 4096 * i, 4096, slot=i, walk=walk))
    await b.drain()
    rows = 24 * 4096 // b.row
    assert b.row_cycles[-1] - b.row_cycles[0] + 1 <= rows


@cocotb.test()
async def room_for_every_command(dut: Any) -> None:
    """Neither media nor link moves: as many commands as there are slots are taken all the same, one a cycle."""
    b = Bench(dut, 12)
    await b.start()
    for channel in (b.axi, b.axi.ar, b.lists.req, b.lists.rows, b.seg, b.done, b.completion):
        channel.stall = 1.0
    b.take = False
    slots = int(dut.NUM_CMDS.value)
    if int(dut.ROOM.value) < slots:
        return  # they wait in front of it
    for i in range(slots):
        walk = prp.make_command(b.rng, b.mem, 4096, 512, errors=False)
        b.add(Job((READ, VERIFY)[i % 2], 4096 * i, 4096, slot=i, walk=walk))
    for _ in range(slots + 2):
        await b.step()
    assert not b.cmd.queue, f"{len(b.cmd.queue)} of {slots} commands stand outside"
    b.take = True
    b.stalls(0.0)
    await b.drain()


@cocotb.test()
async def no_room_for_every_command(dut: Any) -> None:
    """Nothing moves, and commands of memory come all the same: those without room stand outside, and all end
    as they must."""
    if not SLM:
        return
    b = Bench(dut, 13)
    await b.start()
    b.stalls(1.0)
    for channel in (b.seg, b.fetch, b.near_lists.req, b.near_lists.rows, b.data):
        channel.stall = 1.0
    b.cmd.stall = 0.0
    for slot in range(int(dut.NUM_CMDS.value)):
        walk = prp.make_command(b.rng, b.mem, 512, 512, errors=False)
        b.add(Job((LOAD, STORE)[slot % 2], 4096 * slot, 512, slot=slot, walk=walk, memory=True))
    for _ in range(400):
        await b.step()
    b.stalls(0.0)
    b.fetch.stall = b.near_lists.rows.stall = b.data.stall = 0.0
    await b.drain()


@cocotb.test()
async def stop_at_any_time(dut: Any) -> None:
    """Nothing new is asked of the media, quiet comes though nobody takes rows or completions; a reset makes it new."""
    for seed in range(20, 28):
        b = Bench(dut, seed)
        await b.start()
        b.stalls(b.rng.choice((0.0, 0.4)))
        b.axi.latency = b.rng.choice(((0, 5), (60, 200)))
        await b.random(b.rng.choice((2, 12, 20)))
        for _ in range(b.rng.randint(0, 200)):
            await b.step()
        dut.stop.value = 1
        b.stopped = b.cycle
        b.take = b.rng.random() < 0.5
        for _ in range(8000):
            await b.step()
            if int(dut.quiet.value):
                break
        assert int(dut.quiet.value), f"seed {seed}: never quiet"
        for _ in range(20):
            await b.step()
            assert int(dut.quiet.value)
        b = Bench(dut, seed)
        await b.start()
        await b.random(4)
        await b.drain()


@pytest.mark.parametrize(("data_w", "buf", "slm", "room"), [
    (128, 8192, 1, 32), bench.rare(256, 16384, 1, 128), (512, 16384, 1, 128), bench.rare(256, 65536, 0, 128),
])  # fmt: skip
def test_db_ssd_read_engine(data_w: int, buf: int, slm: int, room: int) -> None:
    params: dict[str, int | str] = {"DATA_W": data_w, "BUF_BYTES": buf, "NEAR": 1, "SGL": slm, "SLM": slm, "ROOM": room}
    bench.run(__file__, "db_ssd_read_engine", params, env={"DATA_W": str(data_w), "SLM": str(slm)})
