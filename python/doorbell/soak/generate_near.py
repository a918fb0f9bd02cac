# SPDX-License-Identifier: Apache-2.0
"""Random near-storage commands and programs: most of them as they must be."""

from __future__ import annotations

import random

from doorbell.compute.near import PROGRAMS
from doorbell.soak.near import MISTAKES, WRONG
from doorbell.soak.steps import FAULTS, Step


def near_look(rng: random.Random, count: int) -> Step:
    """Fields of a command of so many blocks."""
    most = 512 * count
    step: Step = {"program": rng.randrange(PROGRAMS)}
    if rng.random() < 0.6:
        step["length"] = rng.choice((rng.randint(1, most), rng.randint(1, most), 1, most - 1, 64 * count))
    if rng.random() < 0.6:
        step["room"] = rng.choice((64, 64, 128, 64 * rng.randint(1, 8 * count), most))
    if rng.random() < 0.4:
        step["phase"] = rng.choice((1, rng.randrange(64), rng.randrange(3000), rng.randrange(3000), -1))
    if rng.random() < 0.03:
        name, values = rng.choice((
            ("program", (4, 8, 0x8000)),
            ("length", (0, 4096 * count + 1, 0xFFFF_FFFF)),
            ("room", (0, 32, 96, 4096 * count + 64)),
        ))  # fmt: skip
        step[name] = rng.choice(values)
    return step


def near_program(rng: random.Random, data: int, faulty: float) -> Step:
    """faulty: how often the read of it meets a fault."""
    step: Step = {"do": "program", "number": rng.randrange(PROGRAMS), "data": data}
    if rng.random() < 0.15:
        step["data"] = 0
    if rng.random() < 0.3:
        step["bad"] = rng.choice((*WRONG, *MISTAKES))
    if rng.random() < 0.3:
        step["extra"] = rng.randrange(100)
    if rng.random() < 0.5:
        step["offset"] = rng.choice((4 * rng.randrange(1024), 4092, 4080))
    if rng.random() < faulty:
        step["fault"] = rng.choice(FAULTS)
    return step
