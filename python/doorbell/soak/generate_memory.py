# SPDX-License-Identifier: Apache-2.0
"""Random commands of a function's memory: few places, so that they meet."""

from __future__ import annotations

import random

from doorbell.compute.near import PROGRAMS
from doorbell.soak.steps import FAULTS, MEMORY_OPS, Step

OFTEN = (5, 5, 2, 6)


def memory_command(rng: random.Random, serial: int, queues: int, spaces: int, region: int, faulty: float) -> Step:
    """region: cells in which most of them are; faulty: how often its data meet a fault."""
    op = rng.choices(MEMORY_OPS, OFTEN)[0]
    size = rng.choice((1, 2, 16, 128, 128, rng.randint(1, 300), rng.randint(1, 2000)))
    step: Step = {"do": "memory", "q": rng.randint(1, queues), "op": op, "at": rng.randrange(region), "size": size}
    if op == "write":
        step["data"] = serial
    if op == "copy":
        step |= {"ns": rng.choice((0, *range(1, spaces + 1))), "start": rng.randrange(256)}
        step["parts"] = rng.choice((1, 1, 2, 3, 4))
        step["size"] = rng.choice((128, 256, 1024, size))
        if step["ns"] == 0:
            step["start"] = rng.randrange(8192)
    if op != "fill" and rng.random() < 0.5:
        step["offset"] = rng.choice((4 * rng.randrange(1024), 4092, 4088))
    if op != "fill" and rng.random() < 0.3:
        step["scattered"] = 1
    if op in ("write", "copy") and rng.random() < faulty:
        step["fault"] = rng.choice(FAULTS)
    if rng.random() < 0.02:
        step["bad"] = "range"
    if rng.random() < 0.3:
        step["ring"] = 0
    return step


def execute(rng: random.Random, queues: int) -> Step:
    """A program, whatever it is, on few places."""
    size = 128 * rng.randint(1, 8)
    step: Step = {"do": "execute", "q": rng.randint(1, queues), "number": rng.randrange(PROGRAMS), "size": size}
    step |= {"at": rng.randrange(512), "to": rng.randrange(512), "room": rng.choice((64, 512, 4 * size, 4 * size))}
    if rng.random() < 0.6:
        step["length"] = rng.choice((rng.randint(1, 4 * size), 1, 4 * size - 1, 64))
    if rng.random() < 0.4:
        step["phase"] = rng.randrange(3000)
    if rng.random() < 0.5:
        step["block"] = rng.choice((1, rng.randrange(1 << 30)))
    if rng.random() < 0.3:
        step["ring"] = 0
    return step
