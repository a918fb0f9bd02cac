# SPDX-License-Identifier: Apache-2.0
"""Packets for operators of near-storage commands: their rows, and a reset in the middle of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

from cocotb.triggers import RisingEdge
from streams import Sink, Source
from structs import layout

ROW, WORD = (layout("db_csd_near_pkg", n) for n in ("near_row_t", "near_word_t"))

Packet = tuple[bytes, int]
"""Its data and phase."""


def rows_of(
    packets: Iterable[Packet], step: int, rng: random.Random, owner: int = 0
) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Rows of `step` bytes, as the fields of a near_row_t behind their data; what is behind a packet's end is noise.

    owner: place of the function, and number of its program in bits 1:0.
    """
    for data, phase in packets:
        for at in range(0, len(data), step):
            piece = data[at : at + step]
            row = int.from_bytes(piece + rng.randbytes(step - len(piece)), "little")
            yield row, int(at == 0), int(at + step >= len(data)), len(piece), phase, owner


class WordBench:
    """Packets into an operator that gives words, their results out."""

    def __init__(self, dut: Any, rng: random.Random, stall: float, words: int) -> None:
        """words: of each result."""
        self.dut, self.rng, self.words = dut, rng, words
        self.step_bytes = len(dut.s_row_data) // 8
        self.rows = Source(dut, rng, "s_row", ("data", ("", ROW)))
        self.out = Sink(dut, rng, "m_word", WORD)
        self.rows.stall = self.out.stall = stall
        self.took = True  # words are taken
        self.got: list[bytes] = []
        self.cycle, self.went, self.came = 0, [], []  # type: int, list[int], list[int]
        """Cycles in which a row went in, and in which a word was on offer for the first time."""
        self._part: list[bytes] = []

    async def step(self) -> None:
        await RisingEdge(self.dut.clk)
        self.cycle += 1
        if self.rows.step() is not None:
            self.went.append(self.cycle)
        word = self.out.step(self.took)
        if self.out.new is not None:
            self.came.append(self.cycle)
        if word is not None:
            self._part.append(word.data.to_bytes(16, "little"))
            assert word.last == (len(self._part) == self.words)
            if word.last:
                self.got.append(b"".join(self._part))
                self._part = []

    def queue(self, packets: Iterable[Packet], owner: int = 0) -> None:
        self.rows.queue.extend(rows_of(packets, self.step_bytes, self.rng, owner))

    async def results(self, packets: int) -> None:
        """Of so many packets that are queued, or the bench has waited long enough."""
        for _ in range(400 + 40 * (len(self.rows.queue) + 10 * packets)):
            await self.step()
            if len(self.got) == packets:
                break

    async def words_wait(self, packets: list[Packet]) -> None:
        """Nobody takes words of packets of five rows: rows stop behind the third packet. Then they are taken."""
        self.got.clear()
        self.went.clear()
        self.queue(packets)
        self.took = False
        for _ in range(300):
            await self.step()
        assert len(self.went) == 3 * 5
        self.took = True
        for _ in range(300):
            await self.step()


async def reset(dut: Any) -> None:
    """Two cycles, with no row on offer."""
    dut.s_row_valid.value = 0
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0
