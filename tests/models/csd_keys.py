# SPDX-License-Identifier: Apache-2.0
"""Loads keys into db_csd_keys, as a control processor would."""

from __future__ import annotations

from typing import Any

from cocotb.triggers import RisingEdge
from doorbell.compute.operators import Key
from structs import layout

WORD, CMD = layout("db_csd_pkg", "key_word_t"), layout("db_csd_pkg", "key_cmd_t")
SLOT, BUS = layout("db_csd_pkg", "key_slot_t"), layout("db_aes_pkg", "key_bus_t")


def idle(dut: Any) -> None:
    dut.s_word_valid.value = 0
    dut.s_cmd_valid.value = 0


async def not_busy(dut: Any) -> int:
    """Cycles that it took."""
    cycles = 0
    while dut.busy.value == 1:
        await RisingEdge(dut.clk)
        cycles += 1
        assert cycles < 10000, "busy for ever"
    return cycles


async def stage(dut: Any, key: Key) -> None:
    """Write a key's words."""
    for base, part in ((0, key.k1), (8, key.k2), (16, key.iv)):
        for i in range(0, len(part or b""), 4):
            assert part
            dut.s_word_valid.value = 1
            dut.s_word.value = WORD.pack(addr=base + i // 4, data=int.from_bytes(part[i : i + 4], "little"))
            await RisingEdge(dut.clk)
    dut.s_word_valid.value = 0


async def command(dut: Any, slot: int, key: Key | None) -> int:
    """Load a slot from what is staged, or erase it; cycles from the command to its end."""
    good_for = {"long_key": len(key.k1) == 32, "ctr": key.iv is not None, "xts": key.k2 is not None} if key else {}
    dut.s_cmd_valid.value = 1
    dut.s_cmd.value = CMD.pack(slot=slot, load=int(key is not None), **{n: int(v) for n, v in good_for.items()})
    await RisingEdge(dut.clk)
    dut.s_cmd_valid.value = 0
    await RisingEdge(dut.clk)
    return await not_busy(dut)


async def load(dut: Any, slot: int, key: Key) -> int:
    await not_busy(dut)
    await stage(dut, key)
    return await command(dut, slot, key)


async def erase(dut: Any, slot: int) -> int:
    await not_busy(dut)
    return await command(dut, slot, None)
