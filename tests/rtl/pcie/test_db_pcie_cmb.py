# SPDX-License-Identifier: Apache-2.0
"""db_pcie_cmb with db_pcie_cmb_rq: a controller and a host, in PG213's framing, over one card memory. What each reads
is what it wrote, byte by byte (NVMe Base 2.0, 8.5: a controller knows the buffer by CMBMSC.CBA, the host by its BAR);
nobody reaches another function's region; what is not for card memory passes as it is; and the order of PCIe holds
across the two."""

from __future__ import annotations

import os
import random
from collections import deque
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from axi_model import axi_struct
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from host_cq import FETCH_ADD, MEM_RD, MEM_WR, Tlp, enables
from pcie_stream import PcieStream
from structs import layout

FNS, LOG2 = int(os.environ.get("FNS", "3")), int(os.environ.get("LOG2", "14"))
SIZE, HALF, PAGE = 1 << LOG2, 1 << (LOG2 - 1), 4096
BAR4, BASE4 = 4, 0x5A_0000_0000
DESC, SEQ = layout("db_pcie_pkg", "rq_desc_t"), layout("db_pcie_pkg", "rq_seq_t")
WINDOW = layout("db_pcie_block_pkg", "cmb_window_t")
SIDE = layout("db_pcie_pkg", "rq_side_t")
UR, POISON = 1, 1 << 14


def number(fn: int) -> int:
    """The hard block's number of a function (PG213: VFs from 4 on)."""
    return fn + 3 if fn else 0


class Card:
    """Card memory: AXI4 of one beat, answers in order, late, with errors at chosen rows."""

    def __init__(self, dut: Any, width: int, rng: random.Random) -> None:
        self.dut, self.rng, self.size = dut, rng, width // 8
        bits = LOG2 + (FNS - 1).bit_length()
        self.structs = [axi_struct("READ_REQ", bits), axi_struct("READ_RSP", width),
                        axi_struct("WRITE_REQ", bits, width), axi_struct("WRITE_RSP")]  # fmt: skip
        self.mem = bytearray(rng.randbytes(SIZE * FNS))
        self.reads: deque[tuple[int, int]] = deque()
        self.writes: deque[tuple[int, int]] = deque()
        self.aw: deque[int] = deque()
        self.w: deque[tuple[int, int]] = deque()
        self.bad: set[int] = set()
        self.now, self.latency, self.ready = 0, 3, 1.0
        self.rsp_r = self.rsp_w = 0
        self.set(dict(ar_ready=0, r_valid=0), dict(aw_ready=0, w_ready=0, b_valid=0))

    def set(self, r: dict[str, Any], w: dict[str, Any]) -> None:
        self.r, self.wr = r, w
        self.dut.m_axi_read_rsp.value = self.structs[1].pack(**r)
        self.dut.m_axi_write_rsp.value = self.structs[3].pack(**w)

    def step(self) -> None:
        """Behind an edge: what happened at it, and the next cycle's answers."""
        req = self.structs[0].unpack(int(self.dut.m_axi_read_req.value))
        wreq = self.structs[2].unpack(int(self.dut.m_axi_write_req.value))
        rng, self.now = self.rng, self.now + 1
        if req["ar_valid"] and self.r["ar_ready"]:
            assert not req["ar"]["len"] and not req["ar"]["addr"] % self.size
            self.reads.append((req["ar"]["addr"], self.now + self.latency))
        if self.r["r_valid"] and req["r_ready"]:
            self.reads.popleft()
        if self.wr["b_valid"] and wreq["b_ready"]:
            self.writes.popleft()
        if wreq["aw_valid"] and self.wr["aw_ready"]:
            assert not wreq["aw"]["len"] and not wreq["aw"]["addr"] % self.size
            self.aw.append(wreq["aw"]["addr"])
        if wreq["w_valid"] and self.wr["w_ready"]:
            assert wreq["w"]["last"]
            self.w.append((wreq["w"]["strb"], wreq["w"]["data"]))
        while self.aw and self.w:
            at, (strb, data) = self.aw.popleft(), self.w.popleft()
            self.writes.append((at, self.now + self.latency))
            if at not in self.bad:
                for i in range(self.size):
                    if strb >> i & 1:
                        self.mem[at + i] = data >> 8 * i & 0xFF
        may = [rng.random() < self.ready for _ in range(5)]
        r: dict[str, Any] = dict(ar_ready=int(may[0] and len(self.reads) < 90), r_valid=0)
        if self.reads and self.reads[0][1] <= self.now and (may[1] or self.r["r_valid"]):
            at = self.reads[0][0]
            r |= dict(r_valid=1, r=dict(last=1, resp=2 * (at in self.bad),
                                        data=int.from_bytes(self.mem[at : at + self.size], "little")))  # fmt: skip
        w = dict(aw_ready=int(may[2]), w_ready=int(may[3]), b_valid=0, b=0)
        if self.writes and self.writes[0][1] <= self.now and (may[4] or self.wr["b_valid"]):
            w |= dict(b_valid=1, b=2 * (self.writes[0][0] in self.bad))
        self.set(r, w)


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.width = w = int(dut.DATA_W.value)
        self.cq, self.bar = PcieStream(dut, "s_cq", "CQ", w), PcieStream(dut, "m_cq", "CQ", w)
        self.cc, self.own = PcieStream(dut, "m_cc", "CC", w), PcieStream(dut, "m_own", "CC", w)
        self.rq, self.link = PcieStream(dut, "s_rq", "RQ", w), PcieStream(dut, "m_rq", "RQ", w)
        self.to_cq: deque[tuple[int, int, int, int]] = deque()
        self.to_rq: deque[tuple[int, int, int, int]] = deque()
        self.seen: dict[str, list[list[int]]] = {n: [] for n in ("bar", "cc", "own", "link")}
        self.part: dict[str, list[int]] = {n: [] for n in self.seen}
        self.ready = 1.0
        self.credits = 0
        self.reports: deque[int] = deque()  # cycles in which a write on the link is reported
        self.report_after = 5
        self.cycle = 0

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        for name in ("s_cq_valid", "s_cq", "m_cq_ready", "m_cc_ready", "s_cc_valid", "s_cc", "s_rq_seq", "s_rq_valid",
                     "s_rq", "m_rq_ready", "m_own_ready", "set_valid", "set_place", "set", "clear", "m_axi_read_rsp",
                     "m_axi_write_rsp"):  # fmt: skip
            getattr(d, name).value = 0
        d.cfg_mps.value = 1
        d.rst.value = 1
        self.card = Card(d, self.width, self.rng)
        self.model = [bytearray(self.card.mem[f * SIZE : (f + 1) * SIZE]) for f in range(FNS)]
        for _ in range(5):
            await FallingEdge(d.clk)
        d.rst.value = 0

    # ---- what is sent

    async def window(self, fn: int, base: int | None) -> None:
        self.dut.set.value = WINDOW.pack(enable=int(base is not None), base=(base or 0) >> 12)
        self.dut.set_place.value, self.dut.set_valid.value = fn, 1
        await self.run(1)
        self.dut.set_valid.value = 0

    def host(self, t: Tlp, fn: int, bar: int = BAR4) -> None:
        beats = t.beats(self.width, self.rng)
        first = beats[0][0] & ~(7 << 112 | 0xFF << 104) | bar << 112 | number(fn) << 104
        self.to_cq += [(first, *beats[0][1:]), *beats[1:]]

    def control(self, wr: bool, fn: int, addr: int, words: list[int], dwords: int, tag: int = 0) -> list[int]:
        """A request of the controller; the dwords of its packet."""
        desc = DESC.pack(req_type=int(wr), requester_fn=number(fn), addr_dw=addr >> 2, dword_count=dwords, tag=tag)
        head = [desc >> 32 * i & 0xFFFFFFFF for i in range(4)]
        n = self.width // 32
        if self.width == 512:
            for at in range(0, max(1, len(words)), n):
                part = words[at : at + n]
                side = SIDE.pack(sop=int(not at), dwords=len(part), desc=desc if not at else self.rng.getrandbits(128))
                self.to_rq.append((sum(v << 32 * i for i, v in enumerate(part)), self.rng.getrandbits(16),
                                   int(at + n >= len(words)), side))  # fmt: skip
        else:
            all_words = [*head, *words]
            for at in range(0, len(all_words), n):
                part = all_words[at : at + n]
                user = (0 if dwords == 1 else 0xF0) | 0xF if not at else 0
                self.to_rq.append((sum(v << 32 * i for i, v in enumerate(part)), (1 << len(part)) - 1,
                                   int(at + n >= len(all_words)), user))  # fmt: skip
        return [*head, *words]

    # ---- time

    async def run(self, cycles: int = 20_000, until: Any = None, still: int = 40) -> None:
        """Until nothing moves, or `until`."""
        d, rng, quiet = self.dut, self.rng, 0
        wait_starts = getattr(self, "_starts", True)
        for _ in range(cycles):
            read = self.to_cq and wait_starts and self.to_cq[0][0] >> 75 & 15 not in (MEM_WR, 12)
            d.s_cq_valid.value = int(bool(self.to_cq) and not (read and not self.credits))
            if self.to_cq:
                self.cq.put(*self.to_cq[0])
            d.s_rq_valid.value = int(bool(self.to_rq))
            if self.to_rq:
                self.rq.put(*self.to_rq[0])
            for name in ("m_cq_ready", "m_cc_ready", "m_rq_ready", "m_own_ready"):
                getattr(d, name).value = int(rng.random() < self.ready)
            due = bool(self.reports and self.reports[0] <= self.cycle)
            d.s_rq_seq.value = SEQ.pack(valid=int(due), num=1) if due else 0
            if due:
                self.reports.popleft()
            await RisingEdge(d.clk)
            self.cycle += 1
            moved = False
            if int(self.cq.valid.value) and int(self.cq.ready.value):
                beat = self.to_cq.popleft()
                self.credits -= int(bool(read))
                wait_starts, moved = bool(beat[2]), True
            if int(self.rq.valid.value) and int(self.rq.ready.value):
                self.to_rq.popleft()
                moved = True
            self.credits += int(d.cq_np_req.value)
            for name, stream in (("bar", self.bar), ("cc", self.cc), ("own", self.own), ("link", self.link)):
                if not (int(stream.valid.value) and int(stream.ready.value)):
                    continue
                moved = True
                b = stream.beat()
                words = [b.data >> 32 * i & 0xFFFFFFFF for i in range(self.width // 32)]
                if name == "link" and self.width == 512:
                    side = SIDE.unpack(b.user)
                    head = DESC.pack(**side["desc"]) if side["sop"] else 0
                    words = [*(head >> 32 * i & 0xFFFFFFFF for i in range(4 * side["sop"])), *words[: side["dwords"]]]
                else:
                    words = words[: b.keep.bit_length()]
                self.part[name] += words
                if b.last:
                    self.seen[name].append(self.part[name])
                    if name == "link" and self.part[name][2] >> 11 & 15 == MEM_WR:
                        self.reports.append(self.cycle + self.report_after)
                    self.part[name] = []
            self.card.step()
            await FallingEdge(d.clk)
            if until is not None and until():
                break
            busy = self.to_cq or self.to_rq or self.reports or not int(d.idle.value) or not int(d.rq_idle.value)
            quiet = 0 if moved or busy else quiet + 1
            if quiet > still:
                break
        else:
            assert cycles == 1 or (until is None and cycles < 1000), "it does not come to rest"
        self._starts = wait_starts

    def answer(self, name: str, tag: int, requester: int, fn: int) -> tuple[int, bytes, bool]:
        """Status, data and poison of the oldest read's completions on this stream."""
        data, poison, left = b"", False, None
        while True:
            p = self.seen[name].pop(0)
            assert (p[2] & 0xFF, p[1] >> 16, p[2] >> 8 & 0xFF) == (tag, requester, number(fn) if name == "cc" else 0)
            if p[1] >> 11 & 7:
                assert len(p) == 8
                return p[1] >> 11 & 7, b"", False
            count = p[0] >> 16 & 0x1FFF
            assert left is None or count == left
            assert len(p) - 3 == p[1] & 0x7FF, "length"
            if name == "cc":
                assert len(p) - 3 <= 32 << int(self.dut.cfg_mps.value)
            poison |= bool(p[1] & POISON)
            offset = p[0] & 3
            part = b"".join(w.to_bytes(4, "little") for w in p[3:])[offset:]
            data += part[:count]
            left = count - len(part)
            if left <= 0:
                return 0, data, poison


def bytes_of(words: list[int]) -> bytes:
    return b"".join(w.to_bytes(4, "little") for w in words)


async def fresh(dut: Any, seed: int) -> tuple[Bench, list[int]]:
    b = Bench(dut, seed)
    await b.start()
    bases = [0x9_0000_0000 + f * 0x11_0000 + PAGE * (f + 1) for f in range(FNS)]
    for f, base in enumerate(bases):
        await b.window(f, base)
    b.credits = 1
    return b, bases


def some_place(rng: random.Random, dwords: int, low: int) -> int:
    """An offset in half a region that crosses no 4 KiB with so many dwords."""
    return low + rng.randrange(HALF // PAGE) * PAGE + 4 * rng.randrange(1025 - dwords)


@cocotb.test()
async def both_at_once(dut: Any) -> None:
    """Random accesses of a host (lower half of each region) and the controller (upper half), checked against bytes."""
    for seed, ready, slow in ((1, 1.0, 3), (2, 0.6, 40)):
        b, bases = await fresh(dut, seed)
        b.ready, b.card.ready, b.card.latency = ready, ready, slow
        rng, wants = b.rng, []
        pass_link, pass_bar = [], []
        read: set[tuple[int, int]] = set()  # rows of 16 bytes; a write may pass a read before it, so none touches them
        for _ in range(bench.rounds(400, 120)):
            fn = rng.randrange(FNS)
            n = rng.choice([1, 2, 3, 4, 5, 8, 16, 17, rng.randrange(1, 65)])
            where, tag, hosts, writes = rng.random(), rng.randrange(128), rng.random() < 0.5, rng.random() < 0.5
            while True:
                at = some_place(rng, n, 0 if hosts else HALF)
                touched = {(fn, row) for row in range(at // 16, (at + 4 * n - 1) // 16 + 1)}
                if not writes or not touched & read:
                    break
            read |= set() if writes else touched
            if hosts:
                first, last = enables(rng, n)
                words = [rng.getrandbits(32) for _ in range(n)]
                if where < 0.1:
                    t = Tlp(MEM_WR, 0x1000 + 4 * n, n, 15, 15 if n > 1 else 0, words)
                    b.host(t, fn, 0)
                    pass_bar.append([*t.descriptor(), *words])
                elif where < 0.15:
                    b.host(Tlp(FETCH_ADD, BASE4 + at, 1, 15, 0, words[:1], tag, 0x77), fn)
                    wants.append(("cc", tag, 0x77, fn, UR, b""))
                elif where < 0.2 and FNS > 1:
                    b.host(Tlp(MEM_RD, BASE4, 1, 15, 0, [], tag, 0x77), FNS)
                    wants.append(("cc", tag, 0x77, FNS, UR, b""))
                elif writes:
                    t = Tlp(MEM_WR, BASE4 + at, n, first, last, words)
                    b.host(t, fn)
                    for i in range(n):
                        for k in range(4):
                            if t.be(i) >> k & 1:
                                b.model[fn][at + 4 * i + k] = words[i] >> 8 * k & 0xFF
                else:
                    b.host(Tlp(MEM_RD, BASE4 + at, n, first, last, [], tag, fn + 9), fn)
                    skip = next((k for k in range(4) if first >> k & 1), 0)
                    end = last if n > 1 else first
                    tail = next((k for k in range(4) if end >> (3 - k) & 1), 3)
                    got = bytes(b.model[fn][at + skip : at + 4 * n - tail]) if first else bytes([b.model[fn][at]])
                    wants.append(("cc", tag, fn + 9, fn, 0, got))
            else:
                addr = bases[fn] + at
                if where < 0.2:
                    addr = rng.choice([bases[fn] - 4 * n, bases[fn] + SIZE, bases[(fn + 1) % FNS] + at + (1 << 40)])
                elif where < 0.3 and FNS > 1:
                    addr = bases[(fn + 1) % FNS] + at  # another's window is not in reach
                here = bases[fn] <= addr < bases[fn] + SIZE
                if writes:
                    words = [rng.getrandbits(32) for _ in range(n)]
                    packet = b.control(True, fn, addr, words, n)
                    if here:
                        b.model[fn][at : at + 4 * n] = bytes_of(words)
                else:
                    packet = b.control(False, fn, addr, [], n, tag)
                    if here:
                        wants.append(("own", tag, 0, fn, 0, bytes(b.model[fn][at : at + 4 * n])))
                if not here:
                    pass_link.append(packet)
        await b.run()
        for name in ("own", "cc"):
            for _, tag, requester, fn, status, data in [w for w in wants if w[0] == name]:
                got = b.answer(name, tag, requester, fn)
                assert got == (status, data, False)
            assert not b.seen[name]
        assert b.seen["link"] == pass_link
        assert [p[4:] for p in b.seen["bar"]] == [p[4:] for p in pass_bar]
        assert b.card.mem == b"".join(b.model), "card memory is not what was written"
        assert b.credits == 1 and int(dut.idle.value)


@cocotb.test()
async def doorbell_behind_data(dut: Any) -> None:
    """When the controller gets a doorbell, it reads what the host wrote before, however slow memory is."""
    b, bases = await fresh(dut, 5)
    b.card.ready, b.card.latency = 0.2, 60
    for k in range(12):
        for j in range(6):
            b.host(Tlp(MEM_WR, BASE4 + 64 * j, 4, 15, 15, [k << 8 | j] * 4), 0)
        b.host(Tlp(MEM_WR, 0x1000, 1, 15, 0, [k]), 0, 0)
        for j in range(4):
            b.control(True, 0, bases[0] + HALF + 64 * j, [k] * 16, 16)
        await b.run(until=lambda: len(b.seen["bar"]) > k)  # noqa: B023
        b.control(False, 0, bases[0] + 64 * 5, [], 4, 3)
        await b.run(until=lambda: b.seen["own"])
        assert b.answer("own", 3, 0, 0)[1] == bytes_of([k << 8 | 5] * 4)
    await b.run()


@cocotb.test()
async def interrupt_behind_entry(dut: Any) -> None:
    """When an interrupt is on the link, the host reads the entry that was written before it."""
    b, bases = await fresh(dut, 6)
    b.card.ready, b.card.latency = 0.2, 60
    for k in range(12):
        for j in range(4):
            b.host(Tlp(MEM_WR, BASE4 + HALF + 64 * j, 16, 15, 15, [k] * 16), 0)
        for j in range(4):
            b.control(True, 0, bases[0] + 256 * j, [k << 8 | j] * 64, 64)
        b.control(True, 0, bases[0] + 16, [k] * 4, 4)
        b.control(True, 0, 0xFEE0_0000, [k], 1)
        await b.run(until=lambda: b.seen["link"])
        b.seen["link"].clear()
        b.host(Tlp(MEM_RD, BASE4 + 16, 4, 15, 15, [], 9, 1), 0)
        await b.run(until=lambda: b.seen["cc"])
        assert b.answer("cc", 9, 1, 0)[1] == bytes_of([k] * 4)
    await b.run()


@cocotb.test()
async def an_answer_waits_for_what_was_posted(dut: Any) -> None:
    """A host that finds an entry in card memory finds its data, which was posted before, in its own."""
    b, bases = await fresh(dut, 7)
    b.report_after = 3000
    b.control(True, 0, 0x1000, [1] * 16, 16)
    b.control(True, 0, bases[0], [2] * 4, 4)
    await b.run(cycles=300)
    sent = b.reports[0]
    b.host(Tlp(MEM_RD, BASE4, 4, 15, 15, [], 9, 1), 0)
    await b.run(until=lambda: b.seen["cc"])
    assert b.cycle > sent, "the answer has passed the data"
    assert b.answer("cc", 9, 1, 0)[1] == bytes_of([2] * 4)
    b.report_after = 5
    await b.run()


@cocotb.test()
async def memory_fails(dut: Any) -> None:
    """A row that cannot be read is poisoned, for whoever asks. Of a region that could not be written nothing is read
    until its window is set anew; others' are as before."""
    b, bases = await fresh(dut, 8)
    b.card.bad = {64}
    for size, at, poisoned in ((16, 64, True), (16, 128, False)):
        b.host(Tlp(MEM_RD, BASE4 + at, size, 15, 15, [], 4, 1), 0)
        b.control(False, 0, bases[0] + at, [], size, 5)
        await b.run()
        assert b.answer("cc", 4, 1, 0)[2] == poisoned
        assert b.answer("own", 5, 0, 0)[2] == poisoned
    b.control(True, 0, bases[0] + 64, [1], 1)
    await b.run()
    b.card.bad = set()
    for fn in range(FNS):
        b.control(False, fn, bases[fn] + 4096, [], 4, 5)
        await b.run()
        assert b.answer("own", 5, 0, fn)[2] == (fn == 0)
    await b.window(0, bases[0])
    b.control(False, 0, bases[0] + 4096, [], 4, 5)
    await b.run()
    assert not b.answer("own", 5, 0, 0)[2]


@cocotb.test()
async def windows_come_and_go(dut: Any) -> None:
    """A base that passes 2^64 is refused; a function that is reset has no window; others keep theirs."""
    b, bases = await fresh(dut, 9)
    await b.window(0, (1 << 64) - PAGE)
    await b.run(3)
    assert int(dut.base_invalid.value) == 1
    b.control(True, 0, (1 << 64) - PAGE, [1], 1)
    await b.run()
    assert len(b.seen["link"]) == 1
    await b.window(0, (1 << 64) - SIZE)
    await b.run(3)
    assert int(dut.base_invalid.value) == 0
    b.control(True, 0, (1 << 64) - 4, [0x1234], 1)
    await b.run()
    assert len(b.seen["link"]) == 1 and b.card.mem[SIZE - 4 : SIZE] == bytes_of([0x1234])
    dut.clear.value = 1
    await b.run(1)
    dut.clear.value = 0
    b.control(True, 0, (1 << 64) - 4, [1], 1)
    if FNS > 1:
        b.control(True, 1, bases[1], [0x99], 1)
    await b.run()
    assert len(b.seen["link"]) == 2
    assert FNS == 1 or b.card.mem[SIZE : SIZE + 4] == bytes_of([0x99])


@pytest.mark.parametrize(
    ("width", "functions"), [(256, 3), bench.rare(128, 1), bench.rare(512, 2), bench.rare(512, 17)]
)
def test_db_pcie_cmb(width: int, functions: int) -> None:
    bench.run(
        __file__, "pcie_cmb_tb", {"DATA_W": width, "NUM_FN": functions, "CMB_LOG2": 14},
        extra_sources=("tests/rtl/tb/pcie_cmb_tb.sv",), env={"FNS": str(functions), "LOG2": "14"},
    )  # fmt: skip
