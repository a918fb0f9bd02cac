# SPDX-License-Identifier: Apache-2.0
"""db_pcie_peers: drives and a host ask for windows and for BAR 0, in PG213's framing. Each drive reaches its own
window and no other, as docs/vcsd/theory.md says: what another asks of it (a drive that lies, the host) is dropped, or
answered as unsupported, and counted. What is for the controller, and what it answers, passes as it is. Where CQ and CC
are straddled, they are those of cocotbext-pcie's model."""

from __future__ import annotations

import logging
import os
import random
from collections import deque
from dataclasses import dataclass
from typing import Any

import cocotb
import host_cq
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.xilinx.us.interface import CcSink
from host_cq import MEM_RD, MEM_WR, Tlp
from pcie_stream import PcieStream, StreamBeat
from structs import layout
from test_db_pcie_completer_straddle import Request, StraddledCq, frame, pauses

N = int(os.environ.get("NUM_PEERS", "2"))
STRADDLE = bool(os.environ.get("STRADDLE"))
EACH = 1 << 26
BASE = 0x5A << 36
IDS = [0x0200, 0x0300, 0x0310, 0x0301, 0x4200, 0x02FF, 0x0001, 0xFFFF][:N]
UR, LATENCY, MPS = 1, 4, 256
CREDITS = 28
"""Places for reads: the header of db_pcie_root_credit."""
POKE = layout("db_pcie_block_pkg", "poke_t")


@dataclass
class Ask:
    tlp: Tlp
    bar: int
    own: bool = False  # the window it is for is that of who asks

    def beats(self, width: int, rng: random.Random) -> list[tuple[int, int, int, int]]:
        got = self.tlp.beats(width, rng)
        data, keep, last, user = got[0]
        got[0] = (data & ~(7 << 112) | self.bar << 112, keep, last, user)
        return got


def row_of(drive: int, addr: int, size: int) -> int:
    return random.Random(addr << 4 | drive).getrandbits(8 * size)


def end_of(_data: int, keep: int, last: int) -> int:
    """tuser of a beat of CC of 512 bits, but for the mark of its start."""
    return last << 6 | (keep.bit_length() - 1 if last else 0) << 8


class HardBlock:
    """Its CQ and CC, a packet a beat. Reads wait for a credit."""

    def __init__(self, dut: Any, bench: Bench) -> None:
        self.dut, self.bench = dut, bench
        width = bench.width
        self.cq, self.cc = PcieStream(dut, "s_cq", "CQ", width), PcieStream(dut, "m_cc", "CC", width)
        dut.s_cq_valid.value = dut.s_cq.value = dut.m_cc_ready.value = 0
        self.coming: deque[tuple[tuple[int, int, int, int], Ask]] = deque()
        self.completions: list[list[int]] = []
        self.frame: list[int] = []
        self.starts = True
        self.held: StreamBeat | None = None

    def send(self, asks: list[Ask], _ready: float) -> None:
        self.coming.extend((b, a) for a in asks for b in a.beats(self.bench.width, self.bench.rng))

    def put(self, ready: bool) -> None:
        coming = self.coming
        waits = bool(coming) and self.starts and coming[0][1].tlp.kind == MEM_RD and not self.bench.credits
        self.cq.valid.value = int(bool(coming) and not waits)
        if coming and not waits:
            self.cq.put(*coming[0][0])
        self.dut.m_cc_ready.value = int(ready)

    def look(self) -> None:
        if int(self.cq.valid.value) and int(self.cq.ready.value):
            beat, ask = self.coming.popleft()
            self.bench.credits -= int(self.starts and ask.tlp.kind == MEM_RD)
            self.starts = bool(beat[2])
        if not int(self.cc.valid.value):
            assert self.held is None
            return
        b = self.cc.beat()
        assert self.held is None or self.held == b, "changed while it waited"
        self.held = None if int(self.cc.ready.value) else b
        if self.held:
            return
        self.frame += [b.data >> 32 * i & 0xFFFFFFFF for i in range(b.keep.bit_length())]
        if b.last:
            self.completions.append(self.frame)
            self.frame = []

    def quiet(self) -> bool:
        return not self.coming


class Straddled:
    """cocotbext-pcie's CQ and CC, straddled. It gives reads without a credit: CQ has to wait by itself."""

    def __init__(self, dut: Any, seed: int) -> None:
        for log in ("cocotb.pcie", f"cocotb.{dut._name}"):  # every packet is logged otherwise
            logging.getLogger(log).setLevel(logging.ERROR)
        self.dut, self.rng = dut, random.Random(seed)
        self.completions: list[list[int]] = []
        self.source: Any = None

    def send(self, asks: list[Ask], ready: float) -> None:
        dut = self.dut
        if self.source is None:
            self.source = StraddledCq(AxiStreamBus.from_prefix(dut, "s_axis_cq"), dut.clk, dut.rst, segments=2)
            self.sink = CcSink(AxiStreamBus.from_prefix(dut, "m_axis_cc"), dut.clk, dut.rst, segments=2)
            self.source.set_pause_generator(pauses(self.rng, 1 - ready))
            self.sink.set_pause_generator(pauses(self.rng, 1 - ready))
        for a in asks:
            words = [*a.tlp.descriptor(), *a.tlp.data]
            words[3] |= a.bar << 16
            assert not a.tlp.damaged, "the model marks each beat of one"
            self.source.send_nowait(frame(Request(words, a.tlp.first_be, a.tlp.last_be)))

    def put(self, ready: bool) -> None:
        pass

    def look(self) -> None:
        while self.sink.count():
            self.completions.append(list(self.sink.recv_nowait().data))

    def quiet(self) -> bool:
        return self.source.idle() and not int(self.dut.s_axis_cq_tvalid.value)


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.width = int(dut.DATA_W.value)
        self.core, self.answer = PcieStream(dut, "m_cq", "CQ", self.width), PcieStream(dut, "s_cc", "CC", self.width)
        self.hard_block: HardBlock | Straddled = Straddled(dut, seed) if STRADDLE else HardBlock(dut, self)
        self.rows: list[tuple[int, int, int, int]] = []  # drive, address, enables, data
        self.to_core: list[tuple[int, int, int, int]] = []
        self.foreign = self.bad = 0
        self.credits = 0
        self.damaged = [0] * N

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        for name in ("s_rc_valid", "s_rc", "m_cq_ready", "s_cc_valid", "s_cc",
                     "m_rq_ready", "tick", "bar_base", "s_poke_valid", "s_poke", "s_acc_valid", "s_acc",
                     "s_row_data"):  # fmt: skip
            getattr(d, name).value = 0
        d.cfg_mps.value = 1
        d.window_base.value = BASE
        d.peer_id.value = sum(i << 16 * k for k, i in enumerate(IDS))
        d.peer_open.value = (1 << N) - 1
        d.rst.value = 1
        for _ in range(4):
            await FallingEdge(d.clk)
        d.rst.value = 0

    async def run(self, asks: list[Ask], answers: list[list[int]], ready: float = 1.0) -> None:
        """answers: what the controller sends on CC meanwhile, dwords of each packet."""
        d, rng, lanes, size = self.dut, self.rng, self.width // 32, self.width // 8
        self.hard_block.send(asks, ready)
        going = deque(
            (sum(w << 32 * i for i, w in enumerate(p[at : at + lanes])), (1 << len(p[at : at + lanes])) - 1,
             int(at + lanes >= len(p)))
            for p in answers for at in range(0, len(p), lanes)
        )  # fmt: skip
        given: deque[int | None] = deque([None] * LATENCY)
        quiet = 0
        while quiet < 40:
            self.answer.valid.value = int(bool(going))
            if going:
                self.answer.put(*going[0], end_of(*going[0]) if self.width == 512 else 0)
            self.hard_block.put(rng.random() < ready)
            d.m_cq_ready.value = int(rng.random() < ready)
            row = given.popleft()
            d.s_row_data.value = rng.getrandbits(N * self.width) if row is None else row
            await RisingEdge(d.clk)
            valid = int(d.m_wr_valid.value)
            assert valid.bit_count() <= 1
            if valid:
                be = int(d.m_wr_be.value)
                mask = sum(0xFF << 8 * k for k in range(size) if be >> k & 1)
                self.rows.append((valid.bit_length() - 1, int(d.m_wr_addr.value), be, int(d.m_wr_data.value) & mask))
            asked = int(d.m_row_valid.value)
            assert asked.bit_count() <= 1
            # the drive that is asked has its row, the others something
            given.append(
                None if not asked else sum(
                    row_of(i, int(d.m_row_addr.value) if asked >> i & 1 else rng.getrandbits(40), size)
                    << i * self.width for i in range(N))
            )  # fmt: skip
            if int(d.m_cq_valid.value) and int(d.m_cq_ready.value):
                b = self.core.beat()
                self.to_core.append((b.data, b.keep, b.last, b.user))
            self.foreign += int(d.m_foreign.value)
            self.bad += int(d.m_bad.value)
            self.credits += int(d.cq_np_req.value)
            for i in range(N):
                self.damaged[i] += int(d.m_damaged.value) >> i & 1
            self.hard_block.look()
            assert STRADDLE or self.credits <= CREDITS, "more than there are places"
            if going and int(self.answer.ready.value):
                going.popleft()
            busy = going or not self.hard_block.quiet() or not int(d.idle.value)
            quiet = 0 if busy else quiet + 1
            await FallingEdge(d.clk)
        assert STRADDLE or self.credits == CREDITS, "a read has not given its place back"

    def check(self, asks: list[Ask], answers: list[list[int]]) -> None:
        """All that came out is what the asks want, in their order."""
        size = self.width // 8
        rows, ends, damaged = [], [], [0] * N
        to_core: list[Ask] = []
        for a in asks:
            t, to = a.tlp, (a.tlp.addr - BASE) // EACH
            if a.bar != 2:
                to_core.append(a)
            elif t.kind == MEM_WR and a.own and not t.damaged:
                rows += [(to, at - BASE - to * EACH, be, data) for at, be, data in t.rows(self.width)]
            elif t.kind == MEM_RD:
                ends.append(a)
            if t.kind == MEM_WR and a.bar == 2 and a.own and t.damaged:
                damaged[to] += 1
        assert self.rows == rows, "rows of a window that are not what its drive has written"
        assert self.damaged == damaged
        assert self.foreign == self.bad == sum(a.bar == 2 and not a.own for a in asks)
        assert len(self.to_core) == sum(len(a.beats(self.width, self.rng)) for a in to_core)
        lanes = iter(self.to_core)
        for a in to_core:
            words: list[int] = []
            enables: list[int] = []
            last = 0
            while not last:
                data, keep, last, user = next(lanes)
                words += [data >> 32 * i & 0xFFFFFFFF for i in range(keep.bit_length())]
                byte_en = user >> (16 if self.width == 512 else 8)
                enables += [byte_en >> 4 * i & 15 for i in range(keep.bit_length())]
            assert enables[4:] == [a.tlp.be(i) for i in range(len(a.tlp.data))]
            want = [*a.tlp.descriptor(), *a.tlp.data]
            want[3] |= a.bar << 16
            assert words == want
        drives, others = [], list(answers)
        for c in self.hard_block.completions:
            drives.append(c) if c[1] >> 16 in IDS or c[2] & 0xFF < 200 else others.remove(c)
        assert not others, "answers of the controller that did not arrive"
        for a in ends:
            t, left = a.tlp, a.tlp.dwords
            assert drives, "a read without an answer"
            if not a.own:
                c = drives.pop(0)
                assert (c[1] >> 11 & 7, c[1] >> 16, c[2] & 0xFF) == (UR, t.requester, t.tag)
                assert len(c) == 8, "no data behind a refusal, but the request"
                continue
            at = t.addr
            while left:
                c = drives.pop(0)
                assert (c[1] >> 11 & 7, c[1] >> 16, c[2] & 0xFF) == (0, t.requester, t.tag)
                drive = (at - BASE) // EACH
                for w in c[3:]:
                    row = row_of(drive, (at - BASE) % EACH // size * size, size)
                    assert w == row >> at % size * 8 & 0xFFFFFFFF, "data of another window"
                    at, left = at + 4, left - 1
        assert not drives

    def ask(self, honest: float) -> Ask:
        rng = self.rng
        kind = rng.choice([MEM_WR, MEM_WR, MEM_RD])
        n = rng.choice([1, 2, 4, 16, rng.randrange(1, 65)])
        to = rng.randrange(N)
        who = IDS[to] if rng.random() < honest else rng.choice([*IDS, 0, IDS[to] ^ 1, IDS[to] ^ 0x8000])
        words = [rng.getrandbits(32) for _ in range(n)] if kind == MEM_WR else []
        part = host_cq.place(rng, n, 0, EACH // 2)
        if rng.random() < 0.2:
            n = 1 if kind == MEM_RD else n
            words = words[:n]
            return Ask(Tlp(kind, 0x1000 * n, n, *host_cq.enables(rng, n), words, 200 + rng.randrange(50), 0), 0)
        t = Tlp(kind, BASE + to * EACH + part, n, 15, 15 if n > 1 else 0, words, rng.randrange(200), who)
        t.damaged = not STRADDLE and kind == MEM_WR and n + 4 <= self.width // 32 and rng.random() < 0.2
        return Ask(t, 2, who == IDS[to])


@cocotb.test()
@cocotb.parametrize((("seed", "ready", "honest"), [(1, 1.0, 0.5), (2, 0.5, 0.7)]))
async def each_its_own_window(dut: Any, seed: int, ready: float, honest: float) -> None:
    b = Bench(dut, seed)
    await b.start()
    asks = [b.ask(honest) for _ in range(200)]
    # of the controller: tags that no drive's read has
    answers = [[0, 1 << 16 * 0 | 0, 200 + k, *range(k % 37)] for k in range(50)]
    await b.run(asks, answers, ready)
    b.check(asks, answers)
    assert b.foreign > 20


@cocotb.test()
async def straddled_streams_are_full(dut: Any) -> None:
    """256 bytes a request: four beats and a half of CQ each, and of CC for an answer; 5 with one packet a beat."""
    if not STRADDLE:
        return
    b = Bench(dut, 6)
    await b.start()
    writes = [Ask(Tlp(MEM_WR, BASE + 256 * i, 64, data=[i] * 64, requester=IDS[0]), 2, True) for i in range(100)]
    reads = [Ask(Tlp(MEM_RD, BASE + 512 * i, 128, tag=i, requester=IDS[0]), 2, True) for i in range(50)]
    cycles = {}
    for name, asks in (("s_axis_cq", writes), ("m_axis_cc", reads)):
        seen: list[int] = []
        watching = cocotb.start_soon(beats_of(dut, name, seen))
        await b.run(asks, [])
        watching.cancel()
        cycles[name] = (len(seen), seen[-1] - seen[0] + 1)
    b.check([*writes, *reads], [])
    assert cycles == {"s_axis_cq": (450, 450), "m_axis_cc": (450, 450)}


async def beats_of(dut: Any, name: str, seen: list[int]) -> None:
    """The cycles in which a beat of the stream is taken."""
    cycle = 0
    while True:
        await RisingEdge(dut.clk)
        cycle += 1
        if int(getattr(dut, f"{name}_tvalid").value) and int(getattr(dut, f"{name}_tready").value):
            seen.append(cycle)


@cocotb.test()
async def a_closed_window_is_nobodys(dut: Any) -> None:
    """... not even its drive's, while the others go on."""
    b = Bench(dut, 5)
    await b.start()
    dut.peer_open.value = (1 << N) - 2
    asks = [b.ask(0.9) for _ in range(200)]
    for a in asks:
        a.own = a.own and (a.tlp.addr - BASE) // EACH != 0
    await b.run(asks, [])
    b.check(asks, [])


@cocotb.test()
async def a_drive_that_lies_beside_one_that_does_not(dut: Any) -> None:
    """Every drive writes and reads every window, each place of them the same; only the last one's own is written."""
    b = Bench(dut, 3)
    await b.start()
    asks = [
        Ask(Tlp(kind, BASE + to * EACH + 64, 4, 15, 15, [to << 8 | who] * 4 if kind == MEM_WR else [], who, IDS[who]),
            2, to == who)
        for kind in (MEM_WR, MEM_RD) for who in range(N) for to in range(N)
    ]  # fmt: skip
    await b.run(asks, [])
    b.check(asks, [])
    assert b.foreign == 2 * N * (N - 1)


@cocotb.test()
async def pokes_go_to_their_drive(dut: Any) -> None:
    """A doorbell of each drive leaves as a write to its BAR, while a drive that lies has its say on CQ."""
    d = dut
    b = Bench(dut, 4)
    await b.start()
    bars = [0x7_0000_0000 + 0x1_0000 * i for i in range(N)]
    d.bar_base.value = sum(a << 64 * i for i, a in enumerate(bars))
    d.s_poke.value = sum(POKE.pack(addr=0x1000 + 8 * i, data=i + 1) << i * POKE.width for i in range(N))
    d.m_rq_ready.value = 1
    waiting = (1 << N) - 1
    seen: list[int] = []
    rq = PcieStream(dut, "m_rq", "RQ", b.width)
    for _ in range(60):
        d.s_poke_valid.value = waiting
        await RisingEdge(d.clk)
        waiting &= ~int(d.s_poke_ready.value)
        if int(rq.valid.value):
            beat = rq.beat()
            if b.width == 512:
                seen.append(beat.data & 0xFFFFFFFF)
            elif not beat.last or beat.keep.bit_length() > 4:
                seen.append(beat.data & (1 << 64) - 1)
        await FallingEdge(d.clk)
    want = [i + 1 for i in range(N)] if b.width == 512 else [bars[i] + 0x1000 + 8 * i for i in range(N)]
    assert sorted(seen) == want


@pytest.mark.parametrize(("width", "peers"), [(256, 2), bench.rare(128, 1), bench.rare(256, 8), bench.rare(512, 4)])
def test_db_pcie_peers(width: int, peers: int) -> None:
    bench.run(__file__, "db_pcie_peers", {"DATA_W": width, "NUM_PEERS": peers}, env={"NUM_PEERS": str(peers)})


@pytest.mark.parametrize("peers", [bench.rare(1), 4])
def test_straddled(peers: int) -> None:
    """At 512 bits, with CQ and CC straddled."""
    bench.run(__file__, "pcie_peers_tb", {"NUM_PEERS": peers},
              extra_sources=("tests/rtl/tb/pcie_peers_tb.sv",),
              env={"NUM_PEERS": str(peers), "STRADDLE": "1"})  # fmt: skip
