# SPDX-License-Identifier: Apache-2.0
"""db_csd_near_filter with all below it: what passes against the model, records across rows and packets, rates."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import cocotb
import numpy as np
import pytest
import rtl_bench as bench
from cocotb.triggers import RisingEdge
from doorbell.compute.near import Aggregate, ColumnType, Filter, Predicate
from doorbell.nvme.vendor import NEAR_COLUMNS, NEAR_RECORD_MOST, NearComparison
from near_packets import Packet, reset, rows_of
from near_words import filter_words, random_columns, random_filter
from rtl_bench import WIDTHS, rounds
from streams import Sink, Source, start
from structs import layout

PARAM, ROW = (layout("db_csd_near_pkg", n) for n in ("near_param_t", "near_row_t"))
ALWAYS = Predicate(ColumnType.U8, 0, NearComparison.NOT_LESS, 0)
NEVER = Predicate(ColumnType.U8, 0, NearComparison.LESS, 0)


class Bench:
    """Packets in, what passes out."""

    def __init__(self, dut: Any, rng: random.Random, stall: float = 0.0) -> None:
        self.dut, self.rng = dut, rng
        self.step_bytes = len(dut.s_row_data) // 8
        self.rows = Source(dut, rng, "s_row", ("data", ("", ROW)))
        self.out = Sink(dut, rng, "m_row", ("data", ("", ROW)))
        self.rows.stall = self.out.stall = stall
        self.took = True
        self.got: list[bytes] = []
        self.cycle, self.went, self.came = 0, [], []  # type: int, list[int], list[int]
        self._part: list[bytes] = []

    async def step(self) -> None:
        await RisingEdge(self.dut.clk)
        self.cycle += 1
        if self.rows.step() is not None:
            self.went.append(self.cycle)
        row = self.out.step(self.took)
        if self.out.new is not None:
            self.came.append(self.cycle)
        if row is None:
            return
        assert row.first == (not self._part)
        assert row.bytes == self.step_bytes or row.last
        self._part.append(row.data.to_bytes(self.step_bytes, "little")[: row.bytes])
        if row.last:
            self.got.append(b"".join(self._part))
            self._part = []

    def queue(self, packets: Iterable[Packet]) -> None:
        self.rows.queue.extend(rows_of(packets, self.step_bytes, self.rng))

    async def run(self, program: Filter, packets: list[Packet]) -> None:
        """Load the program, with the first row right behind it, and compare what passes."""
        words = filter_words(program)
        for addr, data in enumerate(words, 1):
            self.dut.s_param.value = PARAM.pack(addr=addr, data=data)
            self.dut.s_param_valid.value = 1
            if addr == len(words):
                self.queue(packets)
            await self.step()
        self.dut.s_param_valid.value = 0
        self.got.clear()
        for _ in range(400 + 20 * (len(self.rows.queue) + 10 * len(packets))):
            await self.step()
            if len(self.got) == len(packets):
                break
        self.compare(program, packets)

    def compare(self, program: Filter, packets: list[Packet]) -> None:
        assert len(self.got) == len(packets), program
        for (data, phase), got in zip(packets, self.got, strict=True):
            assert got == program.result(data, phase), f"{program}, {len(data)} bytes, phase {phase}"


async def begin(dut: Any, seed: int, stall: float = 0.0) -> Bench:
    await start(dut, s_param_valid=0, s_param=0)
    return Bench(dut, random.Random(seed), stall)


def random_data(rng: random.Random, size: int) -> bytes:
    letters = rng.choice((None, b"\x00\xff", b"\x00\x7f\x80\xffabAB", b"aB"))
    return rng.randbytes(size) if letters is None else bytes(rng.choices(letters, k=size))


def random_packet(rng: random.Random, row: int, record: int) -> Packet:
    few, some = rng.randint(1, 16), record * rng.randint(1, 4)
    size = rng.choice((few, rng.randint(1, 6 * row), row * rng.randint(1, 4), some, rng.randint(1, 4096)))
    return random_data(rng, size), rng.choice((0, 0, rng.randrange(record), rng.randrange(1 << 16)))


@cocotb.test()
async def random_programs(dut: Any) -> None:
    """Packets right behind one another, new programs behind the last one's rows."""
    for seed, stall in ((1, 0.0), (2, 0.3), (3, 0.8)):
        b = await begin(dut, seed, stall)
        for _ in range(rounds(300, 50)):
            program = random_filter(b.rng)
            await b.run(
                program, [random_packet(b.rng, b.step_bytes, program.record) for _ in range(b.rng.randint(1, 6))]
            )


@cocotb.test()
async def every_record(dut: Any) -> None:
    """All records up to 70 bytes and the longest, each with some predicates, phase and end."""
    b = await begin(dut, 4)
    for record in (*range(1, 71), NEAR_RECORD_MOST - 1, NEAR_RECORD_MOST):
        for _ in range(rounds(6, 1)):
            program = random_filter(b.rng, record)
            await b.run(program, [random_packet(b.rng, b.step_bytes, record) for _ in range(3)])


@cocotb.test()
async def every_comparison(dut: Any) -> None:
    """Each type and comparison at the borders of what the type holds, and next to its number."""
    b = await begin(dut, 5)
    for kind in ColumnType:
        low = -(1 << 8 * kind.bytes - 1) if kind.signed else 0
        high = low + (1 << 8 * kind.bytes) - 1
        for number in {low, high, low + 1, 0 if kind.signed else high // 2, b.rng.randint(low, high)}:
            values = [low, high, number, max(low, number - 1), min(high, number + 1), b.rng.randint(low, high)]
            data = b"".join(
                bytes([n]) + v.to_bytes(kind.bytes, "little", signed=kind.signed) for n, v in enumerate(values * 3)
            )
            for comparison in NearComparison:
                program = Filter(kind.bytes + 1, (Predicate(kind, 1, comparison, number),))
                await b.run(program, [(data, 0)])


@cocotb.test()
async def all_and_nothing(dut: Any) -> None:
    """Packets of which all passes, or nothing; no whole record; the next packet's is not theirs."""
    b = await begin(dut, 6)
    for record in (1, 7, b.step_bytes, 3 * b.step_bytes + 5, NEAR_RECORD_MOST):
        for predicate in (ALWAYS, NEVER):
            for bitmap in (False, True):
                sizes = (1, record - 1 or 1, record, record + 1, 3 * record, 4096)
                program = Filter(record, (predicate,), bitmap)
                await b.run(program, [(b.rng.randbytes(size), phase) for size in sizes for phase in (0, record - 1)])


@cocotb.test()
async def columns(dut: Any) -> None:
    """The first and the last byte, neighbours, all of it, across rows; packets that begin in the middle of a column or
    end there; another program has no columns."""
    b = await begin(dut, 11)
    for record in (1, 2, 5, 16, b.step_bytes, b.step_bytes + 1, 2 * b.step_bytes + 3, 300, NEAR_RECORD_MOST):
        for chosen in {
            ((0, 1),), ((record - 1, 1),), ((0, record),), ((0, record - 1 or 1),), ((record // 2, -(-record // 2)),),
            ((0, 1), (record - 1, 1)), tuple((at, 1) for at in range(0, 2 * NEAR_COLUMNS, 2)),
            tuple((at * record // 4, record // 4) for at in range(4)), random_columns(b.rng, record), (),
        }:  # fmt: skip
            if any(size < 1 or at + size > record for at, size in chosen) or chosen == ((0, 1), (0, 1)):
                continue
            program = Filter(record, (b.rng.choice((ALWAYS, random_filter(b.rng, 8).predicates[0])),), columns=chosen)
            if program.predicates[0].column + program.predicates[0].type.bytes > record:
                program = replace(program, predicates=(ALWAYS,))
            await b.run(program, [random_packet(b.rng, b.step_bytes, record) for _ in range(3)])


@cocotb.test()
async def rate(dut: Any) -> None:
    """A row a cycle, a cycle less a packet, whatever the records and however many pass, or how much of them."""
    b = await begin(dut, 7)
    for record in (1, 3, 16, 100, NEAR_RECORD_MOST):
        for predicate in (ALWAYS, NEVER, Predicate(ColumnType.U8, 0, NearComparison.LESS, 128)):
            for chosen in ((), ((0, 1),)):
                b.went.clear()
                program = Filter(record, (predicate,), columns=chosen)
                await b.run(program, [(b.rng.randbytes(100 * b.step_bytes), 0) for _ in range(12)])
                assert b.went[-1] - b.went[0] + 1 <= 12 * 101


@cocotb.test()
async def latency(dut: Any) -> None:
    """From a packet's last row to its last one, as the header says."""
    b = await begin(dut, 8)
    for rows in (1, 2, 30):
        b.went.clear()
        b.came.clear()
        await b.run(Filter(16, (ALWAYS,)), [(b.rng.randbytes(rows * b.step_bytes), 0)])
        later = 0 if b.step_bytes > 16 else {1: -1, 2: 0, 30: 1}[rows]  # rows wait in block RAM there
        assert b.came[-1] - b.went[-1] == 24 + later


@cocotb.test()
async def rows_that_wait_stop_the_rows(dut: Any) -> None:
    """Nobody takes what passes: nothing is lost, and not all goes in."""
    b = await begin(dut, 9)
    program = Filter(5, (Predicate(ColumnType.I16, 2, NearComparison.GREATER, 0),))
    packets = [(b.rng.randbytes(60 * b.step_bytes), n % 5) for n in range(8)]
    await b.run(program, packets[:1])
    b.got.clear()
    b.went.clear()
    b.queue(packets)
    b.took = False
    for _ in range(1000):
        await b.step()
    assert len(b.went) < 8 * 60
    b.took = True
    for _ in range(1000):
        await b.step()
    b.compare(program, packets)


@cocotb.test()
async def a_reset_forgets_packets(dut: Any) -> None:
    """At any time: in the middle of one, while rows wait for the end of a record, while what passes waits."""
    rng = random.Random(10)
    for cycles in range(4, 100, 5):
        b = Bench(dut, rng)
        if cycles == 4:
            b = await begin(dut, 10)
        b.took = cycles % 2 == 0
        b.queue([(rng.randbytes(4 * b.step_bytes + 3), 0), (rng.randbytes(60 * b.step_bytes), 0)])
        for _ in range(cycles):
            await b.step()
        await reset(dut)
        b = Bench(dut, rng)
        program = random_filter(rng)
        await b.run(program, [random_packet(rng, b.step_bytes, program.record) for _ in range(3)])


@pytest.mark.parametrize("data_w", WIDTHS)
def test_near_filter(data_w: int) -> None:
    bench.run(__file__, "db_csd_near_filter", {"DATA_W": data_w})


def test_the_model_agrees_with_numpy() -> None:
    """Records, bitmaps and what an Aggregate behind it says, of one and of two alternatives."""
    rng = random.Random(1)
    compare = {
        NearComparison.EQUAL: np.equal, NearComparison.NOT_EQUAL: np.not_equal, NearComparison.LESS: np.less,
        NearComparison.NOT_GREATER: np.less_equal, NearComparison.GREATER: np.greater,
        NearComparison.NOT_LESS: np.greater_equal,
    }  # fmt: skip
    for _ in range(2000):
        program = random_filter(rng)
        data, phase = random_packet(rng, 32, program.record)
        skip = -phase % program.record if phase < program.record else 0
        whole = max(0, (len(data) - skip) // program.record)
        part = data[skip : skip + whole * program.record]
        passed = np.zeros(whole, bool)
        group = np.ones(whole, bool)
        for p in program.predicates:
            kind = f"<{p.type.name[0].lower()}{p.type.bytes}"
            dtype = np.dtype({"names": ["v"], "formats": [kind], "offsets": [p.column], "itemsize": program.record})
            if p.alternative:
                passed, group = passed | group, np.ones(whole, bool)
            number = np.array(p.number, dtype=kind)
            group &= compare[p.comparison](np.frombuffer(part, dtype)["v"] if whole else np.empty(0, kind), number)
        passed |= group
        if program.bitmap:
            expected = np.packbits(passed, bitorder="little").tobytes()
        else:
            records = np.frombuffer(part, np.uint8).reshape(whole, program.record)[passed]
            stay = [n for at, size in program.columns or ((0, program.record),) for n in range(at, at + size)]
            expected = records[:, stay].tobytes()
        assert program.result(data, phase) == expected
        behind = Aggregate(ColumnType.U8, program.packed)
        if not program.bitmap:
            chain = replace(program, behind=behind)
            assert chain.result(data, phase) == behind.result(expected)
