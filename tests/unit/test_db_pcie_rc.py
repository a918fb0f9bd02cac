# SPDX-License-Identifier: Apache-2.0
"""db_pcie_rc: every completed dword is written once at its place in the ring, one beat a cycle, whatever the mix."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import bench
import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from pcie_rc_model import RcModel, Read, rc_beats, word

CLIENTS = 3
RING_DW_W = 10
LATENCY = 4  # cycles from s_axis_rc to wr_* and done_*


@dataclass
class Context:
    client: int
    dw: int
    read: Read
    failed: bool = False
    ended: bool = False


class Dut:
    def __init__(self, dut: object) -> None:
        self.dut = dut
        self.width = int(os.environ["WIDTH"])
        self.lanes = self.width // 32
        self.row_w = RING_DW_W - self.lanes.bit_length() + 1
        self.cycle = 0
        self.rings: list[dict[int, int]] = [{} for _ in range(CLIENTS)]
        self.done: list[tuple[int, int, int, int]] = []  # cycle, client, tag, err
        self.writes: list[tuple[int, int]] = []  # cycle, lanes

    async def start(self) -> None:
        d = self.dut
        for s in ("tdata", "tkeep", "tlast", "tuser", "tvalid"):
            getattr(d, f"s_axis_rc_{s}").value = 0
        for s in ("we", "tag", "client", "dw", "len_dw"):
            getattr(d, f"ctx_{s}").value = 0
        d.rst.value = 1
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        for _ in range(3):
            await RisingEdge(d.clk)
        d.rst.value = 0
        await RisingEdge(d.clk)

    async def step(self, beat: object = None, ctx: Context | None = None) -> None:
        d = self.dut
        d.s_axis_rc_tvalid.value = int(beat is not None)
        if beat is not None:
            d.s_axis_rc_tdata.value = beat.data
            d.s_axis_rc_tkeep.value = beat.keep
            d.s_axis_rc_tlast.value = int(beat.last)
            d.s_axis_rc_tuser.value = beat.user
        d.ctx_we.value = int(ctx is not None)
        if ctx is not None:
            d.ctx_tag.value = ctx.read.tag
            d.ctx_client.value = ctx.client
            d.ctx_dw.value = ctx.dw
            d.ctx_len_dw.value = ctx.read.dwords
        await RisingEdge(d.clk)
        self.cycle += 1
        assert d.s_axis_rc_tready.value == 1, "tready must always be 1"
        we = int(d.wr_we.value)
        if we:
            data, rows, client = int(d.wr_data.value), int(d.wr_row.value), int(d.wr_client.value)
            self.writes.append((self.cycle, we))
            for k in range(self.lanes):
                if we >> k & 1:
                    row = rows >> (k * self.row_w) & ((1 << self.row_w) - 1)
                    self.rings[client][row * self.lanes + k] = data >> (32 * k) & 0xFFFFFFFF
        if d.done_valid.value == 1:
            self.done.append((self.cycle, int(d.done_client.value), int(d.done_tag.value), int(d.done_err.value)))


async def traffic(tb: Dut, rng: random.Random, error_rate: float, total: int) -> None:
    size = 1 << RING_DW_W
    active: dict[int, Context] = {}
    alloc = [0] * CLIENTS
    issued = finished = 0

    def fail(read: Read) -> None:
        active[read.tag].failed = True

    model = RcModel(tb.width, rng, fail, rcb=rng.choice([64, 128]), mps=rng.choice([128, 256, 512]), latency=(2, 30),
                    error_rate=error_rate)
    rings: list[list[Context]] = [[] for _ in range(CLIENTS)]  # in order of allocation, freed in that order
    waiting: list[tuple[int, Context]] = []  # requests whose context was just written
    limit = 60 * total + 2000
    while finished < total:
        assert tb.cycle < limit, f"hang: {finished} of {total}"
        ctx = None
        if issued < total and len(active) < 24:
            client = rng.randrange(CLIENTS)
            dwords = rng.choice([1, 2, 3, 5, 16, 17, 32, rng.randint(1, 128)])
            free = [t for t in range(256) if t not in active]
            if sum(c.read.dwords for c in rings[client]) + dwords <= size:
                addr = rng.randrange(1 << 40) << 12 | rng.randrange(0, 4096 - 4 * dwords + 1, 4)
                ctx = Context(client, alloc[client] % size, Read(rng.randrange(256), addr, dwords, rng.choice(free)))
                alloc[client] += dwords
                rings[client].append(ctx)
                active[ctx.read.tag] = ctx
                waiting.append((tb.cycle, ctx))
                issued += 1
        seen = len(tb.done)
        await tb.step(model.next_beat(tb.cycle), ctx)
        while waiting and waiting[0][0] < tb.cycle:
            model.request(tb.cycle, waiting.pop(0)[1].read)
        for _, client, tag, err in tb.done[seen:]:
            c = active.pop(tag)
            assert not model.active(tag), f"tag {tag} done before its last completion"
            assert (client, err) == (c.client, int(c.failed)), f"tag {tag}: client {client} err {err}, expected {c}"
            ring = tb.rings[client]
            for i in range(c.read.dwords):
                got = ring.pop((c.dw + i) % size, None)
                if not c.failed:
                    assert got == word(c.read.fn, c.read.addr + 4 * i), f"tag {tag} dword {i}: {got} of {c}"
            c.ended = True
            while rings[client] and rings[client][0].ended:
                rings[client].pop(0)
            finished += 1
    for _ in range(10):
        await tb.step()
    assert len(tb.done) == total and not any(tb.rings), "extra done or stray ring writes"


@cocotb.test()
async def random_traffic(dut: object) -> None:
    tb = Dut(dut)
    await tb.start()
    await traffic(tb, random.Random(1), 0.0, 1000)


@cocotb.test()
async def random_traffic_with_errors(dut: object) -> None:
    tb = Dut(dut)
    await tb.start()
    await traffic(tb, random.Random(2), 0.2, 1500)


@cocotb.test()
async def back_to_back(dut: object) -> None:
    """Packets of every length from one beat on, no gap: each write comes exactly LATENCY later."""
    tb = Dut(dut)
    await tb.start()
    rng = random.Random(3)
    reads = []
    for tag in range(64):
        n = rng.choice([1, max(1, tb.lanes - 3), rng.randint(1, 40)])
        c = Context(tag % CLIENTS, rng.randrange(1 << RING_DW_W), Read(tag, rng.randrange(0, 1 << 44, 4), n, tag))
        reads.append(c)
        await tb.step(ctx=c)
    for _ in range(4):
        await tb.step()
    expected_writes, expected_done = [], []
    beats = []
    for c in rng.sample(reads, len(reads)):
        words = [word(c.read.fn, c.read.addr + 4 * i) for i in range(c.read.dwords)]
        tag, addr = c.read.tag, c.read.addr
        for b in rc_beats(tb.width, words, tag=tag, byte_count=4 * len(words), lower_addr=addr, completed=True):
            beats.append(b)
            lanes = b.keep.bit_count() - (3 if len(beats) == 1 or beats[-2].last else 0)
            if lanes:
                expected_writes.append((len(beats), lanes))
            if b.last:
                expected_done.append((len(beats), c.read.tag))
    start = tb.cycle
    for b in beats:
        await tb.step(b)
    for _ in range(8):
        await tb.step()
    # A beat driven before edge e is sampled by the test's next edge; its write is visible LATENCY edges later.
    assert [(t - start - LATENCY, we.bit_count()) for t, we in tb.writes] == expected_writes
    assert [(t - start - LATENCY, tag) for t, _, tag, _ in tb.done] == expected_done


@pytest.mark.parametrize("width", [128, 256, 512])
def test_db_pcie_rc(width: int) -> None:
    bench.run(__file__, "db_pcie_rc", {"DATA_W": width, "NUM_CLIENTS": CLIENTS, "RING_DW_W": RING_DW_W},
              env={"WIDTH": str(width)})
