# SPDX-License-Identifier: Apache-2.0
"""db_pcie_cq_straddle and db_pcie_cc_straddle against cocotbext-pcie's model of a straddled CQ and CC.

How the model places requests, and how it finds completions in beats, was written by nobody of this project. It puts
byte enables in the half where a request starts; PG213 puts them in the order of the starts, so the bench moves them.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.xilinx.us.interface import CcSink, CqSource, UsPcieFrame
from structs import layout

SIDE = layout("db_pcie_pkg", "cc_side_t")
SIZES = (0, 0, 1, 2, 4, 5, 6, 8, 12, 13, 16, 20, 64)
LAST_LANE_OF_HALF = 7


def sizes(rng: random.Random, count: int) -> list[int]:
    """Dwords of payload."""
    return [rng.choice([*SIZES, rng.randint(1, 256)]) for _ in range(count)]


def words(rng: random.Random, count: int) -> list[int]:
    return [rng.getrandbits(32) for _ in range(count)]


def joined(dwords: list[int]) -> int:
    return sum(w << 32 * k for k, w in enumerate(dwords))


def lanes(data: int, count: int) -> list[int]:
    return [data >> 32 * k & 0xFFFFFFFF for k in range(count)]


def pauses(rng: random.Random, share: float) -> Iterator[bool]:
    while True:
        yield rng.random() < share


async def reset(dut: Any) -> None:
    for log in ("cocotb.pcie", f"cocotb.{dut._name}"):  # every packet is logged otherwise
        logging.getLogger(log).setLevel(logging.ERROR)
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    dut.rst.value, dut.s_valid.value, dut.m_ready.value = 1, 0, 0
    dut.m_axis_cc_tready.value = dut.s_axis_cq_tvalid.value = 0
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


# ---- CQ


class StraddledCq(CqSource):
    """Byte enables as in PG213, noise in those that mean nothing, tlast 0 and tkeep all ones; and what it gave."""

    rng = random.Random(1)

    async def _drive(self, obj: Any) -> None:
        enables, start, start_1 = obj.tuser & 0xFFFF, obj.tuser >> 80 & 1, obj.tuser >> 81 & 1
        if start and not start_1 and obj.tuser >> 82 & 3:
            enables = enables >> 4 & 0xF0F
        noise = self.rng.getrandbits(16) & (0 if start_1 else 0xF0F0 if start else 0xFFFF)
        obj.tuser = obj.tuser >> 16 << 16 | enables | noise
        obj.tkeep, obj.tlast = 0xFFFF, 0
        await super()._drive(obj)


@dataclass
class Request:
    dwords: list[int]
    first_be: int
    last_be: int
    damaged: bool = False


def request(rng: random.Random, payload: int) -> Request:
    return Request(words(rng, 4 + payload), rng.getrandbits(4), rng.getrandbits(4))


def frame(r: Request) -> UsPcieFrame:
    f = UsPcieFrame()
    f.data = list(r.dwords)
    f.byte_en = [0] * 4 + [15] * (len(r.dwords) - 4)
    f.first_be, f.last_be, f.discontinue = r.first_be, r.last_be, r.damaged
    f.update_parity()
    return f


async def take(dut: Any, count: int, rng: random.Random, stall: float) -> tuple[list[Request], int]:
    """`count` requests, and the cycles from the first row to the last."""
    got: list[Request] = []
    first = last = cycle = 0
    inside = False
    held: tuple[int, ...] | None = None
    while len(got) < count or inside:
        dut.m_ready.value = int(rng.random() >= stall)
        await RisingEdge(dut.clk)
        cycle += 1
        assert cycle < 100 * count + 1000, f"{len(got)} of {count} requests came"
        if not int(dut.m_valid.value):
            assert held is None, "a row was taken back"
            continue
        row = tuple(int(s.value) for s in (dut.m_sop, dut.m_eop, dut.m_dwords, dut.m_data, dut.m_desc))
        assert held in (None, row), "a row changed before it was taken"
        held = None if int(dut.m_ready.value) else row
        if held:
            continue
        first, last = first or cycle, cycle
        sop, eop, n, data, desc = row
        assert bool(sop) != inside and (n == 16 or eop)
        if sop:
            got.append(Request(lanes(desc, 4), int(dut.m_first_be.value), int(dut.m_last_be.value)))
        got[-1].dwords += lanes(data, n)
        got[-1].damaged = bool(int(dut.m_disc.value)) and bool(eop)
        inside = not eop
    return got, last - first + 1


async def run_cq(dut: Any, given: list[Request], seed: int, gap: float, stall: float) -> int:
    rng = random.Random(seed)
    source = StraddledCq(AxiStreamBus.from_prefix(dut, "s_axis_cq"), dut.clk, dut.rst, segments=2)
    source.set_pause_generator(pauses(random.Random(seed + 1), gap))
    for r in given:
        source.send_nowait(frame(r))
    got, took = await take(dut, len(given), rng, stall)
    assert got == given
    return took


@cocotb.test()
async def requests_come_whole_and_in_order(dut: Any) -> None:
    await reset(dut)
    rng = random.Random(os.environ["LOADS"])
    gap, stall = (float(x) for x in os.environ["LOADS"].split(","))
    pairs = [n for a in (0, 1, 3, 4, 5, 8, 11, 12, 13, 16) for b in range(0, 37, 3) for n in (a, b)]
    await run_cq(dut, [request(rng, n) for n in (*sizes(rng, 300), *pairs)], 1, gap, stall)


@cocotb.test()
async def requests_of_256_bytes_take_no_more_cycles_than_beats(dut: Any) -> None:
    await reset(dut)
    took = await run_cq(dut, [request(random.Random(2), 64) for _ in range(100)], 1, 0.0, 0.0)
    assert took <= 450, f"{took} cycles for 450 beats"


@cocotb.test()
async def a_damaged_request_is_said_to_be_so_alone(dut: Any) -> None:
    """The model marks each beat of one. So it ends at lane 8 or higher, or alone: the block looks where it ends."""
    await reset(dut)
    rng = random.Random(5)
    given = [request(rng, n) for n in (64, 64, 64, 0, 0, 9, 20, 64)]
    for i in (1, 4, 6):
        given[i].damaged = True
    source = StraddledCq(AxiStreamBus.from_prefix(dut, "s_axis_cq"), dut.clk, dut.rst, segments=2)
    got = []
    for r in given:  # one at a time: which of two in a beat is damaged, the model does not say
        source.send_nowait(frame(r))
        got += (await take(dut, 1, rng, 0.2))[0]
    assert got == given


# ---- CC


async def send(dut: Any, todo: list[list[int]], rng: random.Random, gap: float) -> None:
    """Each completion row by row without a pause inside; noise where nothing counts."""
    for dwords in todo:
        while rng.random() < gap:
            dut.s_valid.value = 0
            await RisingEdge(dut.clk)
        payload = dwords[3:]
        for i in range(0, max(1, len(payload)), 16):
            part = payload[i : i + 16]
            desc = joined(dwords[:3]) if i == 0 else rng.getrandbits(96)
            dut.s_side.value = SIDE.pack(sop=int(i == 0), dwords=len(part), desc=desc)
            dut.s_data.value = joined(part + words(rng, 16 - len(part)))
            dut.s_last.value, dut.s_valid.value = int(i + 16 >= len(payload)), 1
            await RisingEdge(dut.clk)
            while not int(dut.s_ready.value):
                await RisingEdge(dut.clk)
    dut.s_valid.value = 0


async def watch(dut: Any, seen: list[int]) -> None:
    """PG213's rules of a straddled beat; `seen` gets the cycle of each. The model takes what they forbid."""
    inside, cycle = False, 0
    while True:
        await RisingEdge(dut.clk)
        cycle += 1
        if int(dut.rst.value):
            continue
        assert not (int(dut.idle.value) and int(dut.m_axis_cc_tvalid.value)), "idle with a beat inside"
        if not int(dut.m_axis_cc_tvalid.value):
            assert not inside, "a pause inside a completion"
            continue
        if not int(dut.m_axis_cc_tready.value):
            continue
        seen.append(cycle)
        u = int(dut.m_axis_cc_tuser.value)
        starts, ends = (u & 1) + (u >> 1 & 1), (u >> 6 & 1) + (u >> 7 & 1)
        assert u & 3 != 2 and u >> 6 & 3 != 2 and u >> 16 == 0
        places = [u >> 2 & 3, u >> 4 & 3][:starts]
        stops = [u >> 8 & 15, u >> 12 & 15][:ends]
        for place in places:
            assert place in (0, 2)
            if inside or place == 2:  # another ends below it
                assert place == 2 and stops and stops[0] <= LAST_LANE_OF_HALF
        assert starts < 2 or places == [0, 2]
        assert int(inside) + starts - ends in (0, 1) and inside + starts > 0
        assert ends < 2 or stops[0] <= LAST_LANE_OF_HALF < stops[1]
        inside = int(inside) + starts > ends


async def run_cc(dut: Any, payloads: list[int], seed: int, gap: float, stall: float) -> list[int]:
    """The cycles in which beats left."""
    rng = random.Random(seed)
    todo = [words(rng, 3 + n) for n in payloads]
    sink = CcSink(AxiStreamBus.from_prefix(dut, "m_axis_cc"), dut.clk, dut.rst, segments=2)
    sink.set_pause_generator(pauses(random.Random(seed + 1), stall))
    seen: list[int] = []
    watching = cocotb.start_soon(watch(dut, seen))
    await send(dut, todo, rng, gap)
    for _ in range(200):
        await RisingEdge(dut.clk)
    watching.cancel()
    assert int(dut.idle.value)
    got = [sink.recv_nowait().data for _ in range(sink.count())]
    assert got == todo
    return seen


@cocotb.test()
async def completions_leave_whole_and_in_order(dut: Any) -> None:
    await reset(dut)
    rng = random.Random(os.environ["LOADS"])
    gap, stall = (float(x) for x in os.environ["LOADS"].split(","))
    pairs = [n for a in range(0, 37, 3) for b in (0, 1, 5, 6, 13, 14, 16, 21, 22, 29) for n in (a, b)]
    await run_cc(dut, [*sizes(rng, 300), *pairs], 1, gap, stall)


@cocotb.test()
async def completions_of_256_bytes_take_four_beats_and_a_half(dut: Any) -> None:
    await reset(dut)
    seen = await run_cc(dut, [64] * 100, 1, 0.0, 0.0)
    assert len(seen) == 450 and seen[-1] - seen[0] + 1 == 450


@pytest.mark.parametrize("loads", ["0.0,0.0", "0.3,0.0", "0.0,0.5"])
def test_db_pcie_completer_straddle(loads: str) -> None:
    """Shares of cycles in which who sends pauses, and who takes."""
    bench.run(
        __file__,
        "pcie_completer_straddle_tb",
        extra_sources=("tests/rtl/tb/pcie_completer_straddle_tb.sv",),
        env={"LOADS": loads, "COCOTB_LOG_LEVEL": os.environ.get("LOG", "WARNING")},
    )
