# SPDX-License-Identifier: Apache-2.0
"""db_ssd_order in front of a media that is told ahead: what moves data of the media, flushes or zeroes goes at once,
however many segments it has and whenever they come; it waits for its media in db_ssd_ahead. What has its data from
memory waits for nobody there, so the window is for it."""

from __future__ import annotations

from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from ssd_order_bench import READ, Command, Order

WINDOW = 16  # in 512 bytes: less than a command
KINDS = ["read", "write", "write", "zeroes", "flush"]


class Ahead(Order):
    """Of what an engine has, commands of memory alone count, and each as a whole until it ends."""

    def owes(self, cmd: Command) -> int:
        return cmd.cost if cmd.kind == "memory" else 0


async def random_commands(dut: Any, seed: int, kinds: list[str]) -> Ahead:
    o = Ahead(dut, seed)
    o.window, o.room = WINDOW * 512, o.num_cmds  # the bench fails if a command that may go does not
    await o.start()
    for _ in range(3):
        o.rate, o.latency = o.rng.choice([1, 4]), o.rng.choice([5, 300])
        for _ in range(200):
            if o.free:
                kind = o.rng.choice(kinds)
                size = 0 if kind == "flush" else 512 * o.rng.choice([1, 8, 9, 16, 256, 2048])
                o.send(kind, o.rng.randrange(o.num_fn), size)
            for _ in range(3):
                await o.step()
        await o.drain()
    assert len(o.went) > 150
    return o


@cocotb.test()
async def commands_go_whatever_the_engines_have(dut: Any) -> None:
    await random_commands(dut, 5, KINDS)


@cocotb.test()
async def those_of_memory_have_a_window(dut: Any) -> None:
    if not int(dut.NEAR.value):
        return  # there are none
    await random_commands(dut, 6, [*KINDS, "memory", "memory"])


@cocotb.test()
async def one_function_does_not_keep_the_engine(dut: Any) -> None:
    """A function has commands of memory for all slots but one; the other's command waits for two of them."""
    if not int(dut.NEAR.value):
        return
    o = Ahead(dut, 7)
    o.window, o.room = WINDOW * 512, o.num_cmds
    await o.start()
    for _ in range(o.num_cmds - 1):
        o.send("memory", 0, 64 << 10)
        await o.step()
    went = len(o.went)
    o.send("read", 1, 4096)
    while not any(c.fn == 1 for c in o.went):
        await o.step()
    assert len([c for c in o.went[went:] if c.engine == READ and c.fn == 0]) <= 2
    await o.drain()


@pytest.mark.parametrize("near", [bench.rare(0), 1])
def test_db_ssd_order_ahead(near: int) -> None:
    params = {"NUM_FN": 3, "NUM_CMDS": 64, "DATA_W": 256, "WINDOW": WINDOW, "AHEAD": 1, "NEAR": near}
    bench.run(__file__, "db_ssd_order", params)
