# SPDX-License-Identifier: Apache-2.0
"""db_ssd_order in front of a media that is told ahead: what moves user data, flushes or zeroes goes at once, however
many segments it has and whenever they come; it waits for its media in db_ssd_ahead."""

from __future__ import annotations

from typing import Any

import cocotb
import rtl_bench as bench
from test_db_ssd_order import Order

WINDOW = 16  # in 512 bytes: less than a command


@cocotb.test()
async def commands_go_whatever_the_engines_have(dut: Any) -> None:
    o = Order(dut, 5)
    o.window, o.room = 1 << 40, o.num_cmds  # the bench fails if a command that may go does not
    await o.start()
    for _ in range(3):
        o.rate, o.latency = o.rng.choice([1, 4]), o.rng.choice([5, 300])
        for _ in range(200):
            if o.free:
                kind = o.rng.choice(["read", "write", "write", "zeroes", "flush"])
                size = 0 if kind == "flush" else 512 * o.rng.choice([1, 8, 9, 16, 256, 2048])
                o.send(kind, o.rng.randrange(o.num_fn), size)
            for _ in range(3):
                await o.step()
        await o.drain()
    assert len(o.went) > 150


def test_db_ssd_order_ahead() -> None:
    bench.run(__file__, "db_ssd_order", {"NUM_FN": 3, "NUM_CMDS": 64, "DATA_W": 256, "WINDOW": WINDOW, "AHEAD": 1})
