# SPDX-License-Identifier: Apache-2.0
"""db_csd_near_csv with all below it: numbers of fields against the model, across rows and packets, rates, latency."""

from __future__ import annotations

import csv
import io
import random
from decimal import Decimal, InvalidOperation
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from doorbell.compute.near_csv import INSIDE, Csv
from hypothesis import given, settings
from hypothesis import strategies as st
from near_packets import Packet, WordBench, reset
from near_words import ODD_NUMBERS, random_csv, words
from rtl_bench import rare, rounds
from streams import start
from structs import layout

PARAM = layout("db_csd_near_pkg", "near_param_t")
PACKET_CYCLES = 24
"""Of a packet with fewer rows than that."""
LARGEST = 1 << 20
"""Bytes of a packet."""


class Bench(WordBench):
    """Packets in, their results out."""

    def __init__(self, dut: Any, rng: random.Random, stall: float = 0.0) -> None:
        super().__init__(dut, rng, stall, 4)

    async def run(self, program: Csv, packets: list[Packet]) -> None:
        """Load the program, with the first row right behind it, and compare what the packets come to."""
        self.dut.s_param.value = PARAM.pack(addr=1, data=words(program, 1)[1])
        self.dut.s_param_valid.value = 1
        self.queue(packets)
        await self.step()
        self.dut.s_param_valid.value = 0
        self.got.clear()
        await self.results(len(packets))
        self.compare(program, packets)

    def compare(self, program: Csv, packets: list[Packet]) -> None:
        assert len(self.got) == len(packets), program
        for (data, phase), got in zip(packets, self.got, strict=True):
            where = f"{program}, {len(data)} bytes, phase {phase}, {data[:200]!r}"
            assert got == program.result(data, phase), (
                f"{where}: {shown(got)}, not {shown(program.result(data, phase))}"
            )


def shown(result: bytes) -> str:
    names = ("values", "others", "sum", "least", "greatest", "behind")
    ends = (8, 16, 32, 40, 48, 56)
    return str(
        {
            n: int.from_bytes(result[a:b], "little", signed=True)
            for n, a, b in zip(names, (0, *ends[:-1]), ends, strict=True)
        }
    )


async def begin(dut: Any, seed: int, stall: float = 0.0) -> Bench:
    await start(dut, s_param_valid=0, s_param=0)
    return Bench(dut, random.Random(seed), stall)


def random_csv_program(rng: random.Random) -> Csv:
    separator, line_end = rng.choice((",\n", ",\n", "\t\n", ";\r", ".\n", "1\0", "\r\n"))
    return Csv(rng.choice((0, 0, 1, 2, 7, 255, rng.randrange(256))), ord(separator), ord(line_end))


def random_packet(rng: random.Random, row: int, program: Csv) -> Packet:
    """Data of a few bytes, rows or KiB; some of other lines, and some of no text at all."""
    size = rng.choice((rng.randint(1, 16), rng.randint(1, 6 * row), row * rng.randint(1, 4), rng.randint(1, 4096)))
    data = random_csv(rng, size, bytes([program.separator]), bytes([program.line_end]))
    if rng.random() < 0.1:
        data = rng.choice((rng.randbytes(size), bytes(rng.choices(b"1.,\n-", k=size))))
    return data, rng.choice((0, 0, INSIDE, rng.randint(0, size), rng.randrange(1 << 16)))


@cocotb.test()
async def random_programs(dut: Any) -> None:
    """Packets right behind one another, new programs behind the last one's words."""
    for seed, stall in ((1, 0.0), (2, 0.3), (3, 0.8)):
        b = await begin(dut, seed, stall)
        for _ in range(rounds(300, 30)):
            program = random_csv_program(b.rng)
            await b.run(program, [random_packet(b.rng, b.step_bytes, program) for _ in range(b.rng.randint(1, 6))])


@cocotb.test()
async def each_number_at_each_byte(dut: Any) -> None:
    """What is one and what is nearly one, wherever it lies in a row, as first, middle and last field."""
    b = await begin(dut, 4)
    numbers = list(ODD_NUMBERS) if rounds(1, 0) else b.rng.sample(ODD_NUMBERS, 6)
    for number in [*numbers, b"-123456789012.654321", b"123456789012.654321"]:
        for program in (Csv(0), Csv(2)):
            packets = []
            for at in range(b.step_bytes):
                lines = b"x" * at + b"\n" + b"1,2," * program.field + number + b",3\n"
                packets.append((lines + b"4,,%b\n5,6,%b\r\n" % (number, number), 0))
            await b.run(program, packets)


@cocotb.test()
async def each_field(dut: Any) -> None:
    """All numbers of fields, those beyond a line's last one too; lines longer than what a field's number counts."""
    b = await begin(dut, 5)
    line = b",".join(b"%d" % n for n in range(300)) + b"\n"
    data = line + b"5\n" + line + b",".join([b"7"] * 2000) + b"\n" + line
    for field in {0, 1, 2, 31, 32, 63, 64, 127, 128, 254, 255, *b.rng.sample(range(256), rounds(200, 5))}:
        await b.run(Csv(field), [(data, 0), (data, INSIDE), (b"," * 700 + b"\n" + data, 0)])


@cocotb.test()
async def where_the_first_line_begins(dut: Any) -> None:
    """At each byte of two rows, or behind what is there."""
    b = await begin(dut, 6)
    data = (b"12,7\n-5,9\n" * b.step_bytes)[: 3 * b.step_bytes + 5]
    phases = (*range(2 * b.step_bytes + 3), len(data) - 1, len(data), len(data) + 1, 65534, INSIDE)
    await b.run(Csv(1), [(data, phase) for phase in phases])
    await b.run(Csv(0), [(b"1" * size, phase) for size in (1, b.step_bytes, 100) for phase in (0, 1, INSIDE)])


@cocotb.test()
async def as_much_as_there_is(dut: Any) -> None:
    """The largest packets, with the largest numbers and with the most."""
    b = await begin(dut, 7)
    size = LARGEST if rounds(1, 0) else LARGEST // 32
    for line in (b"9\n", b"-9\n", b"999999999999.999999\n", b"-999999999999.999999,\n"):
        await b.run(Csv(0), [((line * (size // len(line) + 1))[:size], 0)])


@cocotb.test()
async def rate(dut: Any) -> None:
    """A row a cycle, a cycle less a packet, however many numbers there are; short packets take what the header says."""
    b = await begin(dut, 8)
    for line in (b"1\n", b"\n", b"-1234.5,abc\n", b"x" * 200 + b"\n"):
        for rows in (100, PACKET_CYCLES, 1):
            b.went.clear()
            data = (line * (100 * b.step_bytes // len(line) + 1))[: rows * b.step_bytes]
            await b.run(Csv(0), [(data, 0)] * 12)
            assert b.went[-1] - b.went[0] <= 11 * max(rows + 1, PACKET_CYCLES) + rows


@cocotb.test()
async def latency(dut: Any) -> None:
    """From a packet's last row to its words, as the header says; a word a cycle."""
    b = await begin(dut, 9)
    expected = {16: 34, 32: 36, 64: 37}[b.step_bytes]
    for rows in (1, 2, 30):
        b.went.clear()
        b.came.clear()
        await b.run(Csv(0), [((b"12.5\n" * 30 * b.step_bytes)[: rows * b.step_bytes], 0)])
        assert [came - b.went[-1] for came in b.came] == [expected + n for n in range(4)]


@cocotb.test()
async def words_that_wait_stop_the_rows(dut: Any) -> None:
    """Behind the last row of the third packet, and nothing is lost."""
    b = await begin(dut, 10)
    program = Csv(1)
    packets = [(random_csv(b.rng, 5 * b.step_bytes), 0) for n in range(6)]
    await b.run(program, packets[:1])
    await b.words_wait(packets)
    b.compare(program, packets)


@cocotb.test()
async def a_reset_forgets_packets(dut: Any) -> None:
    """At any time: in the middle of one, while its steps run, while its words wait."""
    rng = random.Random(11)
    for cycles in range(4, 80, 3):
        b = Bench(dut, rng)
        if cycles == 4:
            b = await begin(dut, 11)
        b.took = cycles % 2 == 0
        b.queue([(random_csv(rng, 4 * b.step_bytes + 3), 0), (random_csv(rng, 20 * b.step_bytes), 0)])
        for _ in range(cycles):
            await b.step()
        await reset(dut)
        b = Bench(dut, rng)
        await b.run(Csv(0), [(random_csv(rng, 100), 1), (random_csv(rng, 333), INSIDE)])


@pytest.mark.parametrize("data_w", [128, rare(256), rare(512)])
def test_near_csv(data_w: int) -> None:
    bench.run(__file__, "db_csd_near_csv", {"DATA_W": data_w})


FIELD = st.one_of(
    st.sampled_from(ODD_NUMBERS).map(bytes.decode),
    st.text("0123456789.-+", max_size=21),
    st.decimals(-(10**12), 10**12, places=6).map(str),
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.lists(FIELD, min_size=1, max_size=4), max_size=6), st.integers(0, 4), st.sampled_from(["\n", "\r\n"])
)
def test_the_model_agrees_with_csv_and_decimal(rows: list[list[str]], field: int, line_end: str) -> None:
    text = "".join(",".join(row) + line_end for row in rows)
    values, others = [], 0
    for row in csv.reader(io.StringIO(text, newline=""), quoting=csv.QUOTE_NONE):
        if field >= len(row) or not row[field]:
            continue
        try:
            value = Decimal(row[field])
            _, digits, exponent = value.as_tuple()
        except InvalidOperation:
            value = None
        shape = row[field].lstrip("+-").partition(".")
        if (
            value is None
            or not set(row[field]) <= set("0123456789.+-")
            or not 0 < len(shape[0]) <= 12
            or len(shape[2]) > 6
        ):
            others += 1
        else:
            values.append(int(value * 10**6))
    data = text.encode()
    got = Csv(field).result(data)
    assert got[:16] == len(values).to_bytes(8, "little") + others.to_bytes(8, "little")
    assert int.from_bytes(got[16:32], "little", signed=True) == sum(values)
    least, greatest = (min(values), max(values)) if values else (0, 0)
    assert int.from_bytes(got[32:40], "little", signed=True) == least
    assert int.from_bytes(got[40:48], "little", signed=True) == greatest
    assert int.from_bytes(got[48:56], "little") == len(data)
