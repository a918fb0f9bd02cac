# SPDX-License-Identifier: Apache-2.0
"""db_ssd_read_memory: each command's rows in the place of the command, wherever they come from and whoever is first;
segments that are a command's bytes, none across a page."""

from __future__ import annotations

import os
import random
from collections import deque
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.triggers import RisingEdge
from rtl_bench import rare
from streams import ROW, Sink, Source, start
from structs import layout

SEGMENT, FROM = layout("db_mem_pkg", "segment_t"), layout("db_nvme_pkg", "prp_t")
LATENCY = 4  # cycles from a command's push to the first row of the media, at least (db_axi_read)
M64 = (1 << 64) - 1


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.width, self.room = int(os.environ["DATA_W"]), int(os.environ["ROOM"])
        self.media = Source(dut, self.rng, "s_media", ROW)
        self.memory = Source(dut, self.rng, "s_memory", ROW)
        self.seg = Sink(dut, self.rng, "m_seg", (("", SEGMENT), "slot"))
        self.out = Sink(dut, self.rng, "m_row", (*ROW, "memory"))
        self.todo: deque[tuple[bool, int, int]] = deque()  # commands: memory, address, bytes
        self.inside: deque[bool] = deque()
        self.want: deque[tuple[int, ...]] = deque()
        self.later: deque[tuple[int, bool, list[tuple[int, int, int, int]]]] = deque()  # rows, and from when on
        self.segs: deque[tuple[int, ...]] = deque()
        self.cycle, self.serial, self.gap, self.wait = 0, 0, 2, 0
        self.row_cycles: list[int] = []
        self.slow = False  # memory takes its time

    async def start(self) -> None:
        await start(self.dut, s_push=0, s_fill=0, s_list=0)

    def add(self, memory: bool, nbytes: int, addr: int = 0) -> None:
        self.todo.append((memory, addr, nbytes))

    def push(self) -> None:
        d = self.dut
        memory, addr, nbytes = self.todo.popleft()
        fn, slot = self.rng.getrandbits(8), self.rng.getrandbits(8)
        d.s_push.value, d.s_memory.value, d.s_slot.value = 1, int(memory), slot
        d.s_from.value = FROM.pack(fn=fn, sgl=1, prp1=addr, prp2=nbytes, bytes=nbytes)
        rows = nbytes * 8 // self.width
        packet = []
        for i in range(rows):
            self.serial += 1
            packet.append((self.serial, int(i == rows - 1), self.width // 32, int(self.rng.random() < 0.05)))
        self.want.extend((0 if memory and row[3] else row[0], *row[1:], int(memory)) for row in packet)  # none of it
        late = self.rng.randint(0, 200) if memory and self.slow else 0
        self.later.append((self.cycle + LATENCY + late, memory, packet))
        self.inside.append(memory)
        if memory:
            at, left, first = addr, nbytes, 1
            while left:
                size = min(left, 4096 - at % 4096)
                self.segs.append((fn, at, size, first, int(size == left), 0, slot))
                at, left, first = at + size & M64, left - size, 0

    async def step(self) -> None:
        d = self.dut
        await RisingEdge(d.clk)
        self.cycle += 1
        d.s_push.value = 0
        if self.todo and self.wait <= 0 and len(self.inside) < self.room:
            self.push()
            self.wait = self.gap
        self.wait -= 1
        for kind, source in ((False, self.media), (True, self.memory)):  # each in order
            mine = [x for x in self.later if x[1] == kind]
            if mine and self.cycle >= mine[0][0]:
                self.later.remove(mine[0])
                source.queue.extend(mine[0][2])
            source.step()
        if (got := self.seg.step()) is not None:
            assert tuple(got) == self.segs.popleft()
        if (row := self.out.step()) is not None:
            want = self.want.popleft()
            assert tuple(row) == want, f"{row}, not {want}"
            self.row_cycles.append(self.cycle)
            if row.last:
                self.inside.popleft()

    async def drain(self, limit: int = 40_000) -> None:
        end = self.cycle + limit
        while self.todo or self.want or self.segs:
            assert self.cycle < end, "hangs"
            await self.step()
        for _ in range(6):
            await self.step()
        assert int(self.dut.idle.value)


@cocotb.test()
async def random_commands(dut: Any) -> None:
    for seed, stall in ((1, 0.0), (2, 0.3), (3, 0.7), (4, 0.0)):
        b = Bench(dut, seed)
        await b.start()
        b.slow = seed > 2
        for stream in (b.media, b.memory, b.seg, b.out):
            stream.stall = stall and b.rng.choice((0.0, stall))
        for _ in range(150):
            b.gap = b.rng.choice((1, 2, 2, 40))
            blocks = b.rng.choice((1, 1, 2, 8, b.rng.randint(1, 20)))
            addr = b.rng.choice((0, 4092, 3584, 4 * b.rng.getrandbits(62), 4096 * b.rng.getrandbits(52)))
            b.add(b.rng.random() < b.rng.choice((0.1, 0.5, 0.9)), 512 * blocks, addr)
            if b.rng.random() < 0.1:
                await b.drain()
        await b.drain()


@cocotb.test()
async def the_largest_one(dut: Any) -> None:
    b = Bench(dut, 5)
    await b.start()
    b.add(True, 1 << 20, 0x1000_0FFC)
    b.add(False, 512)
    await b.drain(200_000)


@cocotb.test()
async def the_media_alone_is_not_slowed_down(dut: Any) -> None:
    """Without a command of memory inside, a row a cycle and no cycle more."""
    b = Bench(dut, 6)
    await b.start()
    b.add(True, 512)
    await b.drain()
    for i in range(40):
        b.add(False, 512 * (1 + i % 3))
    b.row_cycles.clear()
    await b.drain()
    rows = b.row_cycles
    busy = [y - x for x, y in zip(rows, rows[1:])]
    assert sum(512 * (1 + i % 3) for i in range(40)) * 8 // b.width == len(rows)
    assert busy.count(1) >= len(busy) - 40, "only where a command's rows have not come yet"


@cocotb.test()
async def what_a_change_costs(dut: Any) -> None:
    """3 cycles at most, from the media to memory and back."""
    b = Bench(dut, 7)
    await b.start()
    b.gap = 1
    for i in range(30):
        b.add(i % 2 == 1, 4096)
    await b.drain()
    rows = 30 * 4096 * 8 // b.width
    assert len(b.row_cycles) == rows
    assert b.row_cycles[-1] - b.row_cycles[0] + 1 <= rows + 3 * 30


@pytest.mark.parametrize(("data_w", "room"), [(128, 128), rare(256, 32), rare(512, 256)])
def test_db_ssd_read_memory(data_w: int, room: int) -> None:
    bench.run(
        __file__, "db_ssd_read_memory", {"DATA_W": data_w, "ROOM": room}, env={"DATA_W": str(data_w), "ROOM": str(room)}
    )
