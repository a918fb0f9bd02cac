# SPDX-License-Identifier: Apache-2.0
"""db_csd_near_aggregate with all below it: results of all types and records against the model, rates, latency."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np
import pytest
import rtl_bench as bench
from doorbell.compute.near import Aggregate, ColumnType
from near_packets import Packet, WordBench, reset
from near_words import words
from rtl_bench import WIDTHS, rounds
from streams import start
from structs import layout

PARAM = layout("db_csd_near_pkg", "near_param_t")
PACKET_CYCLES = 15
"""Of a packet with fewer rows than that."""
LARGEST = 1 << 20
"""Bytes of a packet."""


class Bench(WordBench):
    """Packets in, their results out."""

    def __init__(self, dut: Any, rng: random.Random, stall: float = 0.0) -> None:
        super().__init__(dut, rng, stall, 3)

    async def run(self, program: Aggregate, packets: list[Packet]) -> None:
        """Load the program, with the first row right behind it, and compare what the packets come to."""
        for addr, data in list(enumerate(words(program, 1)))[1:]:
            self.dut.s_param.value = PARAM.pack(addr=addr, data=data)
            self.dut.s_param_valid.value = 1
            if addr == 3:
                self.queue(packets)
            await self.step()
        self.dut.s_param_valid.value = 0
        self.got.clear()
        await self.results(len(packets))
        self.compare(program, packets)

    def compare(self, program: Aggregate, packets: list[Packet]) -> None:
        assert len(self.got) == len(packets), program
        for (data, phase), got in zip(packets, self.got, strict=True):
            where = f"{program}, {len(data)} bytes, phase {phase}"
            assert got == program.result(data, phase), (
                f"{where}: {shown(got)}, not {shown(program.result(data, phase))}"
            )


def shown(result: bytes) -> str:
    count, total, least, greatest = (
        int.from_bytes(result[a:b], "little") for a, b in ((0, 16), (16, 32), (32, 40), (40, 48))
    )
    return f"{count} values, sum {total:#x}, {least:#x} to {greatest:#x}"


async def begin(dut: Any, seed: int, stall: float = 0.0) -> Bench:
    await start(dut, s_param_valid=0, s_param=0)
    return Bench(dut, random.Random(seed), stall)


def random_data(rng: random.Random, size: int) -> bytes:
    """Any bytes; or those of the least and the greatest values; or all the same."""
    letters = rng.choice((None, None, b"\x00\xff", b"\x7f\x80\xff\x00", b"\x00", b"\xff", b"\x80", b"\x7f"))
    return rng.randbytes(size) if letters is None else bytes(rng.choices(letters, k=size))


def random_size(rng: random.Random, row: int) -> int:
    """Of a packet: a few bytes, a few rows, whole ones, some KiB."""
    return rng.choice((rng.randint(1, 16), rng.randint(1, 6 * row), row * rng.randint(1, 4), rng.randint(1, 4096)))


@cocotb.test()
async def random_programs(dut: Any) -> None:
    """Packets right behind one another, new programs behind the last one's words."""
    for seed, stall in ((1, 0.0), (2, 0.3), (3, 0.8)):
        b = await begin(dut, seed, stall)
        for _ in range(rounds(300, 60)):
            kind = b.rng.choice(list(ColumnType))
            large = b.rng.choice((1000, 4096, 65535, b.rng.randrange(70, 65536)))
            record = b.rng.choice((kind.bytes, b.rng.randint(kind.bytes, 70), b.rng.randint(kind.bytes, 70), large))
            program = Aggregate(kind, record, b.rng.randint(0, record - kind.bytes))
            packets = []
            for _ in range(b.rng.randint(1, 5)):
                near_value = (program.column + b.rng.randint(-300, kind.bytes)) % record
                phase = b.rng.choice((0, near_value, b.rng.randrange(record), b.rng.randrange(1 << 16)))
                packets.append((random_data(b.rng, random_size(b.rng, b.step_bytes)), phase))
            await b.run(program, packets)


@cocotb.test()
async def every_type_and_record(dut: Any) -> None:
    """All records up to 70 bytes, each with some place, phase and end."""
    b = await begin(dut, 4)
    for kind in ColumnType:
        for record in range(kind.bytes, 71):
            program = Aggregate(kind, record, b.rng.randint(0, record - kind.bytes))
            sizes = (b.rng.randint(1, 6 * b.step_bytes) for _ in range(rounds(8, 2)))
            await b.run(program, [(b.rng.randbytes(size), b.rng.randrange(record)) for size in sizes])


@cocotb.test()
async def every_place_phase_and_end(dut: Any) -> None:
    """A column at each place of a record, each phase of it, and each number of bytes from none of a value on."""
    b = await begin(dut, 5)
    for kind, record in ((ColumnType.U16, 3), (ColumnType.I64, 9), (ColumnType.I32, b.step_bytes + 1)):
        data = b.rng.randbytes(3 * b.step_bytes)
        for place in range(record - kind.bytes + 1):
            phases = range(record) if record < 10 else b.rng.sample(range(record), 3)
            await b.run(Aggregate(kind, record, place), [(data, phase) for phase in phases])
        sizes = range(1, 2 * b.step_bytes + 1, rounds(1, 3))
        await b.run(Aggregate(kind, record, 1), [(data[:size], 1) for size in sizes])


@cocotb.test()
async def the_greatest_sums(dut: Any) -> None:
    """Beyond 64 bits, and packets as large as there are: all bits set, the least and the greatest signed values."""
    b = await begin(dut, 6)
    u64, i64, u8, i8 = ColumnType.U64, ColumnType.I64, ColumnType.U8, ColumnType.I8
    for kind in ColumnType:
        low, high = bytes(kind.bytes - 1) + b"\x80", b"\xff" * (kind.bytes - 1) + b"\x7f"
        packets = [(piece * (8192 // kind.bytes), 0) for piece in (low, high, b"\xff" * kind.bytes, bytes(kind.bytes))]
        await b.run(Aggregate(kind, kind.bytes), packets)
    await b.run(Aggregate(u64, 8), [(b"\xff" * LARGEST, 0)])
    await b.run(Aggregate(i8, 1), [(b"\x80" * LARGEST, 0)])
    if bench.FULL:
        await b.run(Aggregate(u8, 1), [(b"\xff" * LARGEST, 0)])
        await b.run(Aggregate(i64, 8), [((bytes(7) + b"\x80") * (LARGEST // 8), 0)])


@cocotb.test()
async def rate(dut: Any) -> None:
    """Rows go in without a gap, whatever the records; of packets of fewer rows than 15 one goes in 15 cycles."""
    b = await begin(dut, 7)
    for kind, record in ((ColumnType.U8, 1), (ColumnType.U16, 3), (ColumnType.I64, 8), (ColumnType.U32, 1000)):
        for rows in (200, PACKET_CYCLES, 4, 1):
            packets = [(b.rng.randbytes(rows * b.step_bytes), 0) for _ in range(12)]
            b.went.clear()
            await b.run(Aggregate(kind, record), packets)
            ends = b.went[rows - 1 :: rows][3:]  # some packets are inside before the first one is through
            assert {later - end for end, later in zip(ends, ends[1:], strict=False)} == {max(rows, PACKET_CYCLES)}
            if rows >= PACKET_CYCLES:
                assert b.went[-1] - b.went[0] + 1 == 12 * rows


@cocotb.test()
async def latency(dut: Any) -> None:
    """From the last row to the first word, as the header says; a word a cycle."""
    b = await begin(dut, 8)
    expected = {16: 22, 32: 23, 64: 24}[b.step_bytes]
    for rows in (1, 2, 30):
        b.went.clear()
        b.came.clear()
        await b.run(Aggregate(ColumnType.U32, 5, 1), [(b.rng.randbytes(rows * b.step_bytes), 2)])
        assert [came - b.went[-1] for came in b.came] == [expected, expected + 1, expected + 2]


@cocotb.test()
async def words_that_wait_stop_the_rows(dut: Any) -> None:
    """Behind the last row of the third packet, and nothing is lost."""
    b = await begin(dut, 9)
    program = Aggregate(ColumnType.I16, 5, 2)
    packets = [(b.rng.randbytes(5 * b.step_bytes), n % 5) for n in range(6)]
    await b.run(program, packets[:1])
    await b.words_wait(packets)
    b.compare(program, packets)


@cocotb.test()
async def a_reset_forgets_packets(dut: Any) -> None:
    """At any time: in the middle of one, while its steps run, while its words wait."""
    rng = random.Random(10)
    for cycles in range(4, 60, 3):
        b = Bench(dut, rng)
        if cycles == 4:
            b = await begin(dut, 10)
        b.took = cycles % 2 == 0
        b.queue([(rng.randbytes(4 * b.step_bytes + 3), 0), (rng.randbytes(20 * b.step_bytes), 0)])
        for _ in range(cycles):
            await b.step()
        await reset(dut)
        b = Bench(dut, rng)
        await b.run(Aggregate(ColumnType.I32, 7, 3), [(rng.randbytes(100), 1), (rng.randbytes(333), 2)])


@pytest.mark.parametrize("data_w", WIDTHS)
def test_near_aggregate(data_w: int) -> None:
    bench.run(__file__, "db_csd_near_aggregate", {"DATA_W": data_w})


def test_the_model_agrees_with_numpy() -> None:
    rng = random.Random(1)
    for _ in range(2000):
        kind = rng.choice(list(ColumnType))
        record = rng.randint(kind.bytes, rng.choice((8, 20, 300)))
        place, phase = rng.randint(0, record - kind.bytes), rng.randrange(record)
        data = random_data(rng, rng.randint(1, 600))
        whole = bytes(phase) + data
        whole = whole.ljust(-(-len(whole) // record) * record, b"\0")
        column = np.dtype(
            {
                "names": ["v"],
                "formats": [f"<{kind.name[0].lower()}{kind.bytes}"],
                "offsets": [place],
                "itemsize": record,
            }
        )
        starts = np.arange(len(whole) // record) * record + place
        counted = (starts >= phase) & (starts + kind.bytes <= phase + len(data))
        values = np.frombuffer(whole, column)["v"][counted]
        total = sum(values.tolist())  # of Python's numbers: numpy's have 64 bits
        least, greatest = (int(values.min()), int(values.max())) if len(values) else (0, 0)
        expected = len(values).to_bytes(16, "little") + (total % (1 << 128)).to_bytes(16, "little")
        expected += b"".join((v % (1 << 64)).to_bytes(8, "little") for v in (least, greatest))
        assert Aggregate(kind, record, place).result(data, phase) == expected
