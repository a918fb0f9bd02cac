# SPDX-License-Identifier: Apache-2.0
"""db_pcie_rq_straddle: packets whole and in order, PG213's straddle rules, and as few beats as those allow."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from pcie_rq_model import RqPacket, RqWatch
from pcie_stream import PcieStream


@dataclass
class Request:
    desc: list[int]
    payload: list[int]

    @property
    def dwords(self) -> list[int]:
        return self.desc + self.payload


def request(rng: random.Random, payload: int) -> Request:
    length = payload or rng.choice([1, 2, rng.randrange(1, 1025)])  # no payload: a read
    d2 = length | int(payload > 0) << 11 | rng.randrange(1 << 8) << 16
    return Request(
        [rng.getrandbits(32) & ~3, rng.getrandbits(32), d2, rng.getrandbits(8)],
        [rng.getrandbits(32) for _ in range(payload)],
    )


def beats_of(rng: random.Random, r: Request) -> list[tuple[int, int, int]]:
    """data, last, user as they come from db_pcie_rq_mux; noise where nothing counts."""
    out = []
    for i in range(0, max(1, len(r.payload)), 16):
        part = r.payload[i : i + 16]
        desc = sum(w << 32 * k for k, w in enumerate(r.desc)) if i == 0 else rng.getrandbits(128)
        data = sum(w << 32 * k for k, w in enumerate(part)) | rng.getrandbits(512) >> 32 * len(part) << 32 * len(part)
        out.append((data, int(i + 16 >= len(r.payload)), desc | len(part) << 128 | int(i == 0) << 133))
    return out


def fewest_beats(packets: list[Request]) -> int:
    """Half beats of 8 dwords, and the one kind that may not share its last."""
    halves = 0
    for p in packets:
        n = (len(p.dwords) + 7) // 8
        lonely = halves % 2 == 0 and len(p.payload) > 16 and 1 <= len(p.payload) % 16 <= 4
        halves += n + int(lonely)
    return (halves + 1) // 2


async def run(dut: Any, packets: list[Request], seed: int, gap: float, stall: float) -> tuple[list[RqPacket], RqWatch]:
    rng = random.Random(seed)
    d, given, rq = dut, PcieStream(dut, "s_rq", "RQ", 512), PcieStream(dut, "m_rq", "RQ", 512)
    d.rst.value, given.valid.value, rq.ready.value = 1, 0, 0
    for _ in range(3):
        await RisingEdge(d.clk)
    d.rst.value = 0
    watch = RqWatch()
    got: list[RqPacket] = []
    todo = [beats_of(rng, p) for p in packets]
    current: list[tuple[int, int, int]] = []
    inside = False
    quiet = cycle = 0
    while todo or current or quiet < 20:
        if not current and todo and rng.random() >= gap:
            current = todo.pop(0)
        given.valid.value = int(bool(current))
        if current:
            data, last, user = current[0]
            given.put(data, rng.getrandbits(16), last, user)
        rq.ready.value = int(rng.random() >= stall)
        await RisingEdge(d.clk)
        cycle += 1
        quiet += 1
        new = watch.look(rq, cycle)
        got += new
        if new or current:
            quiet = 0
        assert not (int(d.idle.value) and int(rq.valid.value)), "idle with a beat inside"
        if int(d.idle.value):
            assert not inside, "idle inside a packet"
        if current and given.ready.value == 1:
            inside = not current.pop(0)[1]
    assert d.idle.value == 1 and not todo and not current and watch.unpacker.open is None
    for g, w in zip(got, packets, strict=True):
        assert g.dwords == w.dwords, "a packet is not what was sent"
        assert g.number == int(len(w.payload) > 0), "writes have the number 1, reads 0"
        assert (g.first_be, g.last_be) == (15, 0 if w.desc[2] & 0x7FF == 1 else 15)
    return got, watch


@cocotb.test()
async def random_packets(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    for seed, (gap, stall) in enumerate(((0.0, 0.0), (0.0, 0.4), (0.5, 0.2), (0.9, 0.0))):
        rng = random.Random(seed)
        sizes = [rng.choice([0, 0, 1, 4, 5, 8, 12, 13, 16, 20, 64, rng.randint(1, 100)]) for _ in range(400)]
        await run(dut, [request(rng, n) for n in sizes], seed, gap, stall)


@cocotb.test()
async def every_pair(dut: Any) -> None:
    """Each length from a read to two beats and more, behind each, at both offsets."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    rng = random.Random(9)
    packets = []
    for a in range(0, 37):
        for b in (0, 1, 4, 5, 12, 13, 16, 17, 20, 21, 28, 29, 36):
            packets += [request(rng, a), request(rng, b)]
    _, watch = await run(dut, packets, 1, 0.0, 0.0)
    assert watch.unpacker.beats == fewest_beats(packets)


@cocotb.test()
async def full_rate(dut: Any) -> None:
    """256-byte writes take 4.5 beats, reads and CQEs half of one, with no pause between them."""
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    rng = random.Random(3)
    for sizes, beats in (
        ([64] * 100, 450),
        ([0] * 100, 50),
        ([4] * 100, 50),
        ([128] * 40, 340),
        (([64] * 16 + [4, 1]) * 10, 730),
        ([64, 0] * 40, 200),
        ([32] * 40, 100),
        ([16] * 40, 60),
    ):
        got, watch = await run(dut, [request(rng, n) for n in sizes], 1, 0.0, 0.0)
        assert watch.unpacker.beats == beats, f"{watch.unpacker.beats} beats for {sizes[:3]}..."
        took = got[-1].last_cycle - got[0].first_cycle + 1
        # one packet a cycle comes in, so packets of half a beat leave a beat every other cycle
        assert took == beats or len(sizes) > beats and took == 2 * beats - 1, f"{took} cycles for {sizes[:3]}..."


def test_db_pcie_rq_straddle() -> None:
    bench.run(__file__, "db_pcie_rq_straddle", {}, env={"COCOTB_LOG_LEVEL": os.environ.get("LOG", "WARNING")})
