# SPDX-License-Identifier: Apache-2.0
"""db_virt_write_lane alone: how much of the SSD's ring is taken, where Writes are larger than the ring. All else that
it does is tested in its bench, that of db_virt_media."""

from __future__ import annotations

import os
import random
from collections import deque
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from structs import layout

ROOM = layout("db_virt_pkg", "room_t")
RING = int(os.environ.get("RING_BYTES", "65536")) // 512
LARGEST = (1 << 20) // 512
PART = min(256, RING // 4)
BURST = 8
INPUTS = ("forget", "s_put_valid", "s_put", "s_put_alone", "m_alone_ready", "s_burst_valid", "s_void_valid",
          "s_burst_len", "s_end_valid")  # fmt: skip


@cocotb.test()
async def room_is_the_rings(dut: Any) -> None:
    """A Write that is larger than the ring goes with its first part. What comes behind it goes when the ring has room
    for it, and not before: else its rows would stand before those of others."""
    rng = random.Random(RING)
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    for name in INPUTS:
        getattr(dut, name).value = 0
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    sizes = [LARGEST, 8, LARGEST, LARGEST - 8, 16, *(8 * rng.randrange(1, LARGEST // 8) for _ in range(6)), 8]
    parts: deque[dict[str, int]] = deque()
    for slot, size in enumerate(sizes):
        for at in range(0, size, PART):
            length = min(PART, size - at)
            big = size > RING
            tells = at == 0 if big else at + length == size
            parts.append({"slot": slot, "over": int(big and at > 0), "tells": int(tells), "len512": length,
                          "bursts": length // BURST})  # fmt: skip
    told: deque[dict[str, int]] = deque(p for p in parts if p["tells"])
    bursts: deque[int] = deque()  # of parts that were put, not yet sent
    used = out = 0
    while told or bursts or out:
        dut.s_put_valid.value = int(bool(parts))
        if parts:
            dut.s_put.value = ROOM.pack(**parts[0])
        sends = bool(bursts) and out < BURST and rng.random() < 0.3
        ends = out > 0 and rng.random() < 0.1
        dut.s_burst_valid.value, dut.s_burst_len.value, dut.s_end_valid.value = int(sends), BURST, int(ends)
        put = parts and int(dut.s_put_ready.value)
        await FallingEdge(dut.clk)
        if put:
            parts.popleft()
        if sends:
            bursts.popleft()
            out += 1
        if ends:
            out -= 1
            used -= BURST
        if int(dut.m_call_valid.value):
            first = told.popleft()
            assert int(dut.m_call_slot.value) == first["slot"]
            size = sizes[first["slot"]]
            assert used + min(size, PART if size > RING else size) <= RING, "its rows have no room"
            used += size
            bursts.extend([BURST] * (size // BURST))
    assert used == 0


@pytest.mark.parametrize("ring", [65536, 131072, pytest.param(262144, marks=pytest.mark.nightly)])
def test_db_virt_write_lane(ring: int) -> None:
    bench.run(__file__, "db_virt_write_lane", {"RING_BYTES": ring, "PARTS": 256, "NUM_CMDS": 32},
              env={"RING_BYTES": str(ring)})  # fmt: skip
