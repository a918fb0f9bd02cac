# SPDX-License-Identifier: Apache-2.0
"""db_pcie_rc: every completed dword is written once at its place in the ring, one beat a cycle, whatever the mix."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from pcie_rc_model import Packet, RcBeat, RcModel, Read, Straddler, rc_beats, rc_packet, word
from pcie_stream import PcieStream
from structs import layout

CTX = layout("db_pcie_block_pkg", "read_ctx_t")
DONE = layout("db_pcie_block_pkg", "read_done_t")
CLIENTS = 3
RING_W = 10
LATENCY = 3  # cycles from s_rc to m_ring_* and m_done, if RC is not straddled


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
        self.row_w = RING_W - self.lanes.bit_length() + 1
        self.rc = PcieStream(dut, "s_rc", "RC", self.width)
        self.cycle = 0
        self.rings: list[dict[int, int]] = [{} for _ in range(CLIENTS)]
        self.done: list[tuple[int, int, int, int]] = []  # cycle, client, tag, err
        self.writes: list[tuple[int, int]] = []  # cycle, lanes

    async def start(self) -> None:
        d = self.dut
        for s in (d.s_rc, d.s_rc_valid, d.s_ctx, d.s_ctx_valid):
            s.value = 0
        d.rst.value = 1
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        for _ in range(3):
            await RisingEdge(d.clk)
        d.rst.value = 0
        await RisingEdge(d.clk)

    async def step(self, beat: RcBeat | None = None, ctx: Context | None = None) -> bool:
        """One cycle; whether the beat, if any, was taken."""
        d = self.dut
        self.rc.valid.value = int(beat is not None)
        if beat is not None:
            self.rc.put(beat.data, beat.keep, beat.last, beat.user)
        d.s_ctx_valid.value = int(ctx is not None)
        if ctx is not None:
            d.s_ctx.value = CTX.pack(client=ctx.client, tag=ctx.read.tag, dwords=ctx.read.dwords, ring_dw=ctx.dw)
        await RisingEdge(d.clk)
        self.cycle += 1
        ready = self.rc.ready.value == 1
        assert ready or self.width == 512, "tready must always be 1"
        we = int(d.m_ring_we.value)
        if we:
            data, rows, client = int(d.m_ring_data.value), int(d.m_ring_row.value), int(d.m_ring_client.value)
            self.writes.append((self.cycle, we))
            for k in range(self.lanes):
                if we >> k & 1:
                    row = rows >> (k * self.row_w) & ((1 << self.row_w) - 1)
                    self.rings[client][row * self.lanes + k] = data >> (32 * k) & 0xFFFFFFFF
        if d.m_done_valid.value == 1:
            done = DONE.unpack(int(d.m_done.value))
            self.done.append((self.cycle, done["client"], done["tag"], done["err"]))
        return ready or beat is None


async def traffic(tb: Dut, rng: random.Random, error_rate: float, total: int) -> None:
    size = 1 << RING_W
    active: dict[int, Context] = {}
    alloc = [0] * CLIENTS
    issued = finished = 0

    def fail(read: Read) -> None:
        active[read.tag].failed = True

    model = RcModel(
        tb.width,
        rng,
        fail,
        rcb=rng.choice([64, 128]),
        mps=rng.choice([128, 256, 512]),
        latency=(2, 30),
        error_rate=error_rate,
    )
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
        beat = model.next_beat(tb.cycle)
        if not await tb.step(beat, ctx):
            model.refused(beat)
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


async def contexts(tb: Dut, rng: random.Random, lengths: list[int]) -> list[Packet]:
    """A read and its one completion for each length."""
    packets = []
    for tag, n in enumerate(lengths):
        c = Context(tag % CLIENTS, rng.randrange(1 << RING_W), Read(tag, rng.randrange(0, 1 << 44, 4), n, tag))
        await tb.step(ctx=c)
        words = [word(c.read.fn, c.read.addr + 4 * i) for i in range(n)]
        packets.append(rc_packet(words, tag=tag, byte_count=4 * n, lower_addr=c.read.addr, completed=True))
    for _ in range(4):
        await tb.step()
    return packets


@cocotb.test(skip=os.environ.get("WIDTH") == "512")
async def back_to_back(dut: object) -> None:
    """Packets of every length from one beat on, no gap: each write comes exactly LATENCY later."""
    tb = Dut(dut)
    await tb.start()
    rng = random.Random(3)
    packets = await contexts(tb, rng, [rng.choice([1, max(1, tb.lanes - 3), rng.randint(1, 40)]) for _ in range(64)])
    expected_writes, expected_done = [], []
    beats = []
    rng.shuffle(packets)
    for p in packets:
        for b in rc_beats(tb.width, p):
            beats.append(b)
            lanes = b.keep.bit_count() - (3 if len(beats) == 1 or beats[-2].last else 0)
            if lanes:
                expected_writes.append((len(beats), lanes))
            if b.last:
                expected_done.append((len(beats), p.dwords[2] & 0xFF))
    start = tb.cycle
    for b in beats:
        await tb.step(b)
    for _ in range(8):
        await tb.step()
    # A beat driven before edge e is sampled by the test's next edge; its write is visible LATENCY edges later.
    assert [(t - start - LATENCY, we.bit_count()) for t, we in tb.writes] == expected_writes
    assert [(t - start - LATENCY, tag) for t, _, tag, _ in tb.done] == expected_done


@cocotb.test(skip=os.environ.get("WIDTH") != "512")
async def straddled_full_rate(dut: object) -> None:
    """Completions of the sizes that carry data, packed without a gap: no beat is refused. Small ones: a row each."""
    tb = Dut(dut)
    await tb.start()
    rng = random.Random(3)
    for lengths in ([64] * 64, [16] * 100, [32, 64] * 32, [128] * 20, [13] * 60, [1] * 80):
        packets = await contexts(tb, rng, lengths)
        tb.done.clear()
        straddler = Straddler()
        queue, beats = list(packets), []
        while beat := straddler.beat(lambda q=queue: q.pop(0) if q else None):  # type: ignore[misc]
            beats.append(beat)
        quads = sum((n + 6) // 4 for n in lengths)
        assert len(beats) == -(-quads // 4), "the test's own packing"
        start = tb.cycle
        refused = 0
        for b in beats:
            while not await tb.step(b):
                refused += 1
        took = tb.cycle - start
        for _ in range(60):
            await tb.step()
        assert [t for _, _, t, _ in tb.done] == list(range(len(lengths)))
        if lengths[0] == 1:
            assert refused and took <= len(lengths), f"{took} cycles for {len(lengths)} completions of a dword"
        else:
            assert refused == 0, f"{refused} of {len(beats)} beats refused, completions of {lengths[:2]} dwords"
            # 4 to 6 cycles of pipeline
            assert tb.done[-1][0] - start <= len(beats) + 7, f"last done {tb.done[-1][0] - start} of {len(beats)}"


@pytest.mark.parametrize("width", bench.WIDTHS)
def test_db_pcie_rc(width: int) -> None:
    bench.run(
        __file__, "db_pcie_rc", {"DATA_W": width, "NUM_CLIENTS": CLIENTS, "RING_W": RING_W}, env={"WIDTH": str(width)}
    )
