# SPDX-License-Identifier: Apache-2.0
"""Packets for operators of near-storage commands: their rows, and a reset in the middle of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

from cocotb.triggers import RisingEdge

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


async def reset(dut: Any) -> None:
    """Two cycles, with no row on offer."""
    dut.s_row_valid.value = 0
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0
