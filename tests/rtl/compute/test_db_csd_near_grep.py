# SPDX-License-Identifier: Apache-2.0
"""db_csd_near_grep against the model of docs/csd/near-storage.md, which is held against grep itself; rates."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from dataclasses import replace
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.triggers import RisingEdge
from doorbell.compute.near import Cut, Grep
from doorbell.nvme.vendor import NEAR_LINES_MOST
from near_packets import reset
from near_words import random_text, words
from rtl_bench import rare, rounds
from streams import Sink, Source, start
from structs import layout

PARAM, ROW, WORD = (layout("db_csd_near_pkg", n) for n in ("near_param_t", "near_row_t", "near_word_t"))
CELLS = int(os.environ.get("CELLS", "8"))
LATENCY = 14  # from a packet's last row to its last word
LINES_LATENCY = {1: 22, 2: 23, 30: 24}  # ... of so many, to the last row of lines; with 128 bits 1 less


class Bench:
    """Rows of packets in, words of their results out, or rows."""

    def __init__(self, dut: Any, seed: int, stall: float = 0.0) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.row = len(dut.s_row_data) // 8
        self.rows = Source(dut, self.rng, "s_row", ("data", ("", ROW)))
        self.words = Sink(dut, self.rng, "m_word", WORD)
        self.out = Sink(dut, self.rng, "m_row", ("data", ("", ROW)))
        self.rows.stall, self.words.stall = stall, stall and self.rng.choice((0.0, stall, 0.9))
        self.out.stall = self.words.stall
        self.got: list[bytes] = []
        self.part = b""
        self.cycle = 0
        self.went: list[int] = []
        self.came: list[int] = []
        self.ended: list[int] = []

    async def step(self) -> None:
        await RisingEdge(self.dut.clk)
        self.cycle += 1
        if self.rows.step() is not None:
            self.went.append(self.cycle)
        if (word := self.words.step()) is not None:
            self.part += word.data.to_bytes(16, "little")
            if word.last:
                self._end()
        row = self.out.step()
        if self.out.new is not None:
            self.came.append(self.cycle)
        if row is not None:
            assert row.first == (not self.part) or not row.bytes
            assert row.bytes == self.row or row.last
            self.part += row.data.to_bytes(self.row, "little")[: row.bytes]
            if row.last:
                self._end()

    def _end(self) -> None:
        self.got.append(self.part)
        self.part = b""
        self.ended.append(self.cycle)

    def put(self, data: bytes, phase: int = 0) -> None:
        for at in range(0, len(data), self.row):
            piece = data[at : at + self.row]
            row = {"first": int(at == 0), "last": int(at + self.row >= len(data)), "bytes": len(piece), "phase": phase}
            noise = self.rng.choice((b"a", b"\n", b"B")) * (self.row - len(piece))  # behind the end
            self.rows.queue.append({"data": int.from_bytes(piece + noise, "little"), **row})

    async def load(self, program: Grep) -> None:
        for at, word in enumerate(words(program, CELLS)[1:], 1):
            self.dut.s_param_valid.value, self.dut.s_param.value = 1, PARAM.pack(addr=at, data=word)
            await self.step()
        self.dut.s_param_valid.value = 0

    async def drain(self, count: int) -> None:
        for _ in range(200_000):
            if len(self.got) >= count:
                break
            await self.step()
        for _ in range(30):
            await self.step()
        assert len(self.got) == count
        assert not self.part

    async def examine(self, program: Grep, texts: list[bytes], seed: int) -> None:
        """Packets one behind another, with a program of their own; each has the result that the model says."""
        await self.load(program)
        self.got.clear()
        phases = [self.rng.choice((0, 0, *Cut, *Cut, Cut.FIRST | Cut.LAST, 0xFFFC)) for _ in texts]
        for text, phase in zip(texts, phases, strict=True):
            self.put(text, phase)
        await self.drain(len(texts))
        for text, phase, got in zip(texts, phases, self.got, strict=True):
            assert got == program.result(text, phase), f"seed {seed}: {program} in {text!r}, phase {phase}"

    async def nobody_takes(self, program: Grep, texts: list[bytes], cycles: int) -> None:
        """Its results, for so many cycles: rows wait. Then they are taken, and nothing is lost."""
        await self.load(program)
        self.words.stall = self.out.stall = 1.0
        for text in texts:
            self.put(text)
        for _ in range(cycles):
            await self.step()
        assert self.rows.queue, "it takes rows without end"
        self.words.stall = self.out.stall = 0.0
        await self.drain(len(texts))
        assert self.got == [program.result(text) for text in texts]


async def begin(dut: Any, seed: int, stall: float = 0.0) -> Bench:
    await start(dut, s_param_valid=0, s_param=0, s_row_valid=0, m_word_ready=0)
    return Bench(dut, seed, stall)


def random_grep(rng: random.Random) -> Grep:
    """Strings of all lengths that the cells have room for, of letters that the text has."""
    line_end = rng.choice((10, 10, 10, ord("."), 0))
    strings, left = [], CELLS
    for _ in range(rng.randint(1, 8)):
        size = rng.choice((1, 2, 3, 5, 15, 16, 17, 18, 32, 33, 48, 64, rng.randint(1, 64)))
        if (left := left - -(-size // 16)) < 0:
            break
        letters = b"abAB" if rng.random() < 0.7 else b"a"
        strings.append(bytes(rng.choice(letters) for _ in range(size)))
    program = Grep(tuple(strings or [b"aB"]), *(rng.random() < p for p in (0.4, 0.7, 0.2)), line_end)
    return replace(program, where=False, lines=True) if rng.random() < 0.5 else program


def text_for(rng: random.Random, program: Grep) -> bytes:
    """Random lines, with the strings in some of them, whole or with a letter that is wrong."""
    text = bytearray(random_text(rng, rng.choice((1, 15, 16, 63, 64, 65, rng.randint(1, 700), 2048))))
    for _ in range(rng.randrange(4)):
        string = bytearray(rng.choice(program.strings))
        if rng.random() < 0.4:
            string[rng.randrange(len(string))] ^= 0x20
        at = rng.randrange(-len(string) + 1, len(text))  # perhaps only in part inside
        piece = string[max(0, -at) : len(text) - at]
        text[max(0, at) : max(0, at) + len(piece)] = piece
    return bytes(text)


@cocotb.test()
async def random_packets(dut: Any) -> None:
    """Packets behind each other: none sees what is in another."""
    for seed, stall in [(1, 0.0), (2, 0.4), (3, 0.8)]:
        b = await begin(dut, seed, stall)
        for _ in range(rounds(60, 25)):
            program = random_grep(b.rng)
            await b.examine(program, [text_for(b.rng, program) for _ in range(b.rng.randint(1, 12))], seed)


@cocotb.test()
async def strings_at_every_place(dut: Any) -> None:
    """A string of each number of pieces at each byte of three rows, alone, and with each of some bytes wrong."""
    b = await begin(dut, 4)
    for size in (1, 16, 17, 33, 64)[: 5 if CELLS >= 4 else 3]:
        string = bytes(b.rng.choice(b"abcd") for _ in range(size))
        texts = []
        for at in range(3 * b.row):
            text = bytearray(b"x" * at + string + b"x" * b.rng.randrange(20) + b"\n")
            texts.append(bytes(text))
            text[at + b.rng.choice((0, size - 1, b.rng.randrange(size)))] ^= 0x80
            texts.append(bytes(text))
        await b.examine(Grep((string,), where=True), texts, 4)


@cocotb.test()
async def letters_and_what_is_beside_them(dut: Any) -> None:
    """Each byte beside strings at the edges of the alphabet, upper and lower case alike or not."""
    b = await begin(dut, 8)
    text = b"".join(bytes([byte, 10]) for byte in range(256) if byte != 10)
    for fold in (False, True):
        for string in (b"z", b"Z", b"a", b"A", b"m", b"@", b"[", b"`", b"{", b"\xfa", b"\xda", b"\x00"):
            await b.examine(Grep((string,), fold, where=True), [text], 8)


@cocotb.test()
async def rate(dut: Any) -> None:
    """A row a cycle while words have room; 2 cycles more a packet; the latency of the header."""
    b = await begin(dut, 5)
    await b.load(Grep((b"abba", b"B" * 16 if CELLS > 1 else b"B")))
    for _ in range(3):
        b.put(random_text(b.rng, 8192))
    await b.drain(3)
    rows = 8192 // b.row
    assert b.went[-1] - b.went[0] + 1 == 3 * rows + 2 * 2
    assert [ended - b.went[(i + 1) * rows - 1] for i, ended in enumerate(b.ended)] == [LATENCY] * 3
    b = await begin(dut, 6)
    await b.load(Grep((b"a",), where=True))
    b.put(b"a\n" * 4096)  # a word a stretch
    await b.drain(1)
    assert b.went[-1] - b.went[0] + 1 == 8192 // b.row


@cocotb.test()
async def words_that_nobody_takes(dut: Any) -> None:
    """The rows wait, and nothing is lost."""
    b = await begin(dut, 7)
    await b.nobody_takes(Grep((b"a",), where=True), [b"a\n" * 8192], 3000)


@cocotb.test()
async def lines_of_all_lengths(dut: Any) -> None:
    """One line that is all of the longest packet, packets of nothing but line ends, lines that end with a row."""
    b = await begin(dut, 9, 0.2)
    counts, other = Grep((b"aB",), lines=True), Grep((b"aB",), without=True, lines=True)
    most, row = NEAR_LINES_MOST, b.row
    texts = [
        b"x" * (most - 2) + b"aB",
        b"aB" + b"x" * (most - 3) + b"\n",
        b"x" * most,
        b"\n" * most,
        b"\n",
        b"x",
        b"aB",
    ]
    texts += [(b"x" * (row - 3) + b"aB\n") * 5, (b"x" * (row - 1) + b"\n") * 3, b"aB\n" + b"x" * (2 * row - 4) + b"\n"]
    texts += [b"x" * at + b"\n" + b"aB" * row + b"\n" for at in range(2 * row)]
    for program in (counts, other):
        await b.examine(program, texts, 9)


@cocotb.test()
async def rate_of_lines(dut: Any) -> None:
    """As of words, whether all lines come out, none, or some. A line that takes all the room holds up what is next."""
    rows = NEAR_LINES_MOST // (len(dut.s_row_data) // 8)
    for pattern in (b"a", b"no such line", b"ab"):
        for line, waits in ((random_text(random.Random(1), NEAR_LINES_MOST), 0), (b"x" * NEAR_LINES_MOST, 12)):
            b = await begin(dut, 10)
            await b.load(Grep((pattern,), lines=True))
            for data in (random_text(b.rng, NEAR_LINES_MOST), line, random_text(b.rng, NEAR_LINES_MOST)):
                b.put(data)
            await b.drain(3)
            assert 0 <= b.went[-1] - b.went[0] + 1 - (3 * rows + 2 * 2) <= waits
    for rows in LINES_LATENCY:
        b = await begin(dut, 11)
        await b.load(Grep((b"a",), lines=True))
        b.put(b"a\n" * (rows * b.row // 2))
        await b.drain(1)
        assert b.came[-1] - b.went[-1] == LINES_LATENCY[rows] - (b.row == 16)


@cocotb.test()
async def lines_that_nobody_takes(dut: Any) -> None:
    """The rows wait, and nothing is lost."""
    b = await begin(dut, 12)
    texts = [random_text(b.rng, NEAR_LINES_MOST) for _ in range(3)]
    await b.nobody_takes(Grep((b"a",), lines=True), texts, 4 * NEAR_LINES_MOST // b.row)


@cocotb.test()
async def a_reset_forgets_lines(dut: Any) -> None:
    """At any time: while rows wait for the end of a line, while lines wait to be taken."""
    b = await begin(dut, 13)
    for cycles in range(4, 100, 5):
        await b.load(Grep((b"a",), lines=True))
        b.out.stall = float(cycles % 2)
        b.put(b"x" * (4 * b.row + 3))
        b.put(random_text(b.rng, 60 * b.row))
        for _ in range(cycles):
            await b.step()
        await reset(dut)
        b = Bench(dut, 13 + cycles)
        program = random_grep(b.rng)
        await b.examine(program, [text_for(b.rng, program) for _ in range(3)], 13)


@pytest.mark.parametrize(("data_w", "cells"), [(512, 8), rare(256, 8), rare(128, 8), (128, 3), rare(256, 32)])
def test_db_csd_near_grep(data_w: int, cells: int) -> None:
    bench.run(__file__, "db_csd_near_grep", {"DATA_W": data_w, "CELLS": cells}, env={"CELLS": str(cells)})


@pytest.mark.skipif(shutil.which("grep") is None, reason="grep is not installed")
def test_model_is_grep() -> None:
    """grep -F counts the same lines, and ends its output where the model says that lines end."""
    rng = random.Random(3)
    for _ in range(60):
        program = random_grep(rng)
        if program.line_end != 10:
            continue
        text = text_for(rng, program)
        program = replace(program, lines=False)
        flags = ["-i"] * program.fold_case + ["-v"] * program.without
        command = ["grep", "-F", "-a", "-b", *flags, *(f"-e{s.decode()}" for s in program.strings)]
        run = subprocess.run(command, input=text, capture_output=True, env={"LC_ALL": "C"}, check=False)
        lines = run.stdout.split(b"\n")[:-1]
        starts = [int(line.partition(b":")[0]) for line in lines]
        result = program.result(text)
        assert int.from_bytes(result[-32:-24], "little") == len(lines)
        ends = [text.find(b"\n", at) if b"\n" in text[at:] else len(text) - 1 for at in starts]
        if program.where:
            found = []
            for at in range(0, len(result) - 32, 16):
                offset, bits = (int.from_bytes(result[at + i : at + i + 8], "little") for i in (0, 8))
                found += [offset + n for n in range(64) if bits >> n & 1]
            assert found == ends
        command.remove("-b")
        run = subprocess.run(command, input=text, capture_output=True, env={"LC_ALL": "C"}, check=False)
        said = run.stdout if text.endswith(b"\n") or not run.stdout else run.stdout[:-1]
        got = replace(program, where=False, lines=True).result(text)
        assert got in (said, run.stdout), "grep ends the last line if nobody has"
