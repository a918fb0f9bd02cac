# SPDX-License-Identifier: Apache-2.0
"""db_pcie_root_req: pokes and single accesses against a model of what goes out on RQ and what answers mean."""

from __future__ import annotations

import os
import random
from collections import deque
from dataclasses import dataclass

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from pcie_rc_model import Packet, RcBeat, Straddler, rc_beats, rc_packet
from pcie_rq_model import RqPort
from pcie_stream import PcieStream
from structs import enum, layout

ACC, ANSWER, POKE = (layout("db_pcie_block_pkg", name) for name in ("acc_t", "acc_answer_t", "poke_t"))
WIDTH = int(os.environ.get("DATA_W", "128"))
BAR = 0x7_89AB_0000
TICK = 40  # cycles of a millisecond
TIMEOUT_MS = 6
GOOD, REFUSED, RETRY, TIMEOUT = enum("db_pcie_block_pkg", "acc_status_e").values()
MISMATCH, WRONG_ADDRESS, INVALID = 4, 5, 6
# what the completion says -> error code, completion status, what we make of it
ENDS = {
    "good": (0, 0, GOOD),
    "ur": (2, 1, REFUSED),
    "ca": (2, 4, REFUSED),
    "crs": (2, 2, RETRY),
    "poison": (1, 0, REFUSED),
    "length": (3, 0, REFUSED),
    "flr": (8, 0, REFUSED),
    "hard block's timeout": (9, 0, TIMEOUT),
    "damaged": (0, 0, REFUSED),
    "silent": (-1, 0, TIMEOUT),
}


@dataclass
class Access:
    op: int  # config read, write, memory read, write
    addr: int
    be: int
    data: int
    end: str
    answer: int = 0

    def packed(self) -> int:
        return ACC.pack(op=self.op, addr=self.addr, be=self.be, wdata=self.data)


class Host:
    def __init__(self, dut, seed: int, stall: float) -> None:
        self.dut, self.rng, self.stall = dut, random.Random(seed), stall
        self.rq = RqPort(PcieStream(dut, "m_rq", "RQ", WIDTH))
        self.rc = PcieStream(dut, "s_rc", "RC", WIDTH)
        self.access: deque[Access] = deque()
        self.open: Access | None = None  # taken, not answered
        self.sent: Access | None = None  # on RQ
        self.answered = False
        self.pokes: deque[tuple[int, int]] = deque()  # address, data
        self.taken: deque[tuple[int, int]] = deque()  # taken, not on RQ yet
        self.answers: list[tuple[int, Packet]] = []
        self.beats: list[RcBeat] = []
        self.straddler = Straddler()
        self.cycle = self.done = 0
        self.since = 0
        self.poke_on = self.acc_on = False
        self.tags: deque[int] = deque(maxlen=31)
        self.poke_cycles: list[int] = []

    def send(self, tag: int, end: str, read: bool, data: int, delay: int) -> None:
        code, status, _ = ENDS[end]
        if code < 0:
            return
        words = [data] if read and code in (0, 1) else []
        p = rc_packet(
            words,
            tag=tag,
            byte_count=4,
            lower_addr=0,
            code=code,
            status=status,
            completed=True,
            discontinue=end == "damaged",
            noise=self.rng.getrandbits(32),
        )
        self.answers.append((self.cycle + delay, p))

    def packet(self, dw: list[int], be: int) -> None:
        kind, tag, addr = dw[2] >> 11 & 31, dw[3] & 0xFF, dw[1] << 32 | dw[0]
        assert dw[2] & 0x7FF == 1 and dw[2] >> 16 == 0
        if addr >= BAR + 0x1000:
            assert kind == 1
            offset, value = self.taken.popleft()
            assert addr == BAR | offset
            assert dw[4] == value and be == 15 and len(dw) == 5 and dw[3] >> 8 == 0
            self.poke_cycles.append(self.cycle)
            return
        a = self.open
        assert a is not None and self.sent is None
        write = a.op & 1
        assert kind == (8, 10, 0, 1)[a.op] and be == a.be and len(dw) == 4 + write
        if write:
            assert dw[4] == a.data
        if a.op < 2:
            assert addr == a.addr & 0xFFC and dw[3] >> 8 == 0x0100
        else:
            assert addr == (BAR | a.addr) and dw[3] >> 8 == 0
        self.sent = a
        if a.op == 3:
            return
        assert tag < 32 and tag not in self.tags, "a tag comes again too early"
        self.tags.append(tag)
        rng = self.rng
        a.answer = rng.getrandbits(32)
        delay = rng.randint(1, 60)
        for _ in range(rng.randrange(3)):  # noise before: others' tags, and not the answer yet
            other = rc_packet(
                [rng.getrandbits(32)],
                tag=tag ^ rng.choice((1, 2, 16, 32, 128)),
                byte_count=4,
                lower_addr=0,
                completed=True,
                noise=rng.getrandbits(32),
            )
            self.answers.append((self.cycle + rng.randint(0, delay), other))
            code = rng.choice((MISMATCH, WRONG_ADDRESS, INVALID))
            odd = rc_packet([rng.getrandbits(32)], tag=tag, byte_count=4, lower_addr=0, code=code, completed=False)
            self.answers.append((self.cycle + rng.randint(0, delay - 1), odd))
        self.send(tag, a.end, not write, a.answer, delay)
        if a.end == "silent" and rng.random() < 0.7:  # too late
            self.send(tag, "good", not write, rng.getrandbits(32), (TIMEOUT_MS + 2) * TICK)

    def next_beat(self) -> RcBeat | None:
        if self.beats:
            return self.beats.pop(0)
        if self.rng.random() < self.stall:
            return None

        def fetch() -> Packet | None:
            due = [x for x in self.answers if x[0] <= self.cycle]
            if not due:
                return None
            first = min(due, key=lambda x: x[0])
            self.answers.remove(first)
            return first[1]

        if WIDTH == 512:
            self.straddler.gap = lambda: self.rng.random() < 0.4
            return self.straddler.beat(fetch)
        p = fetch()
        self.beats = rc_beats(WIDTH, p) if p else []
        return self.beats.pop(0) if self.beats else None

    def step(self) -> None:
        d, rng = self.dut, self.rng
        self.cycle += 1
        # what was taken at this edge
        if self.poke_on and int(d.s_poke_ready.value):
            self.taken.append(self.pokes.popleft())
            self.poke_on = False
        if self.acc_on and int(d.s_acc_ready.value):
            assert self.open is None, "an access is taken before the last one is answered"
            self.open, self.sent, self.answered = self.access.popleft(), None, False
            self.acc_on = False
            self.since = self.cycle
        if int(d.m_answer_valid.value):
            answer = ANSWER.unpack(int(d.m_answer.value))
            a = self.open
            assert a is not None
            if a.op != 3:
                assert self.sent is a
                want = ENDS[a.end][2]
                assert answer["status"] == want, f"{a}"
                if want == GOOD and a.op in (0, 2):
                    assert answer["rdata"] == a.answer
                if a.end == "silent":
                    wait = self.cycle - self.since
                    assert (TIMEOUT_MS - 1) * TICK <= wait <= (TIMEOUT_MS + 1) * TICK + 10
            else:
                assert answer["status"] == GOOD
            self.done += 1
            self.answered = True
        ready = bool(int(d.m_rq_ready.value))
        for dw, be in self.rq.look(ready, self.cycle):
            self.packet(dw, be)
        if self.open is not None and self.answered and self.sent is self.open:
            self.open = None  # a write may be answered before it is out
        d.m_rq_ready.value = int(rng.random() >= self.stall)
        if not self.poke_on and self.pokes and rng.random() >= self.stall:
            self.poke_on = True
            addr, data = self.pokes[0]
            d.s_poke.value = POKE.pack(addr=addr, data=data)
        d.s_poke_valid.value = int(self.poke_on)
        if not self.acc_on and self.access and self.open is None and rng.random() >= self.stall:
            self.acc_on = True
            d.s_acc.value = self.access[0].packed()
        d.s_acc_valid.value = int(self.acc_on)
        beat = self.next_beat()
        self.rc.valid.value = int(beat is not None)
        assert int(self.rc.ready.value) == 1
        if beat:
            self.rc.put(beat.data, beat.keep, beat.last, beat.user)
        d.tick.value = int(self.cycle % TICK == 0)

    async def start(self) -> None:
        d = self.dut
        for s in ("s_poke_valid", "s_acc_valid", "s_rc_valid", "m_rq_ready", "tick"):
            getattr(d, s).value = 0
        d.bar_base.value = BAR
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        d.rst.value = 1
        for _ in range(3):
            await RisingEdge(d.clk)
        d.rst.value = 0

    async def run(self, limit: int = 60_000) -> None:
        while self.access or self.pokes or self.open or self.taken:
            await RisingEdge(self.dut.clk)
            self.step()
            assert self.cycle < limit, "stuck"


@cocotb.test()
@cocotb.parametrize(seed=[0, 10, 30, 80], stall=[0.0, 0.4])
async def random_mix(dut, seed, stall):
    h = Host(dut, seed + int(stall * 10), stall)
    await h.start()
    rng = h.rng
    for _ in range(150):
        op = rng.randrange(4)
        end = rng.choice(["good"] * 20 + list(ENDS))
        addr = 4 * rng.randrange(1024) if op < 2 else 4 * rng.randrange(0x400)
        be = rng.randrange(1, 16) if op == 1 else 15
        h.access.append(Access(op, addr, be, rng.getrandbits(32), end))
    n = len(h.access)
    for _ in range(400):
        h.pokes.append((0x1000 + 4 * rng.randrange(1 << 10), rng.getrandbits(32)))
    await h.run()
    assert h.done == n
    assert len(h.poke_cycles) == 400


@cocotb.test()
async def poke_rate(dut):
    h = Host(dut, 3, 0.0)
    await h.start()
    h.pokes.extend((0x1000 + 4 * (i & 3), i) for i in range(100))
    await h.run()
    gaps = {b - a for a, b in zip(h.poke_cycles[5:], h.poke_cycles[6:], strict=False)}
    assert gaps == {3 if WIDTH == 128 else 2}


@pytest.mark.parametrize("width", bench.WIDTHS)
def test_db_pcie_root_req(width: int) -> None:
    bench.run(__file__, "db_pcie_root_req", {"DATA_W": width, "TIMEOUT_MS": TIMEOUT_MS}, env={"DATA_W": str(width)})
