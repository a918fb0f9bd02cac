# SPDX-License-Identifier: Apache-2.0
"""Random near-storage commands and programs: most of them as they must be."""

from __future__ import annotations

import random
from collections.abc import Container, Iterator

from doorbell.compute.near import MESSAGES, PROGRAMS, HashStep, message_phase
from doorbell.soak.near import MISTAKES, WRONG
from doorbell.soak.near_kinds import KINDS, of_kind
from doorbell.soak.near_messages import brings
from doorbell.soak.steps import FAULTS, Step

OFTEN = (8, 2, 3, 3, 6, 0, 0)
"""How often each of KINDS; of lines and chains see near_kind."""
BEGIN, END, ASK = HashStep.BEGIN, HashStep.END, HashStep.ASK
STEPS = (BEGIN | END, BEGIN, HashStep(0), END, ASK, BEGIN | ASK)


def near_kind(rng: random.Random, serial: int) -> Step:
    """A program that is one, of any kind."""
    step: Step = {"data": serial}
    if kind := rng.choices(KINDS, OFTEN)[0]:
        step["of"] = kind
    elif (drawn := random.Random(serial).random()) < 0.45:  # beside rng: a seed's other steps stay what they were
        step["of"] = "lines" if drawn < 0.2 else "chain"
    return step


def is_message(step: Step) -> bool:
    """Commands of this program, if it is loaded, bring messages."""
    return step["data"] > 0 and brings(of_kind(step.get("of", ""), step["data"]))


def message_look(rng: random.Random, count: int) -> Step:
    """PHASE of a command of a message, and how much it brings."""
    steps = rng.choices(STEPS, (4, 4, 3, 3, 4, 0.3))[0]
    skip = rng.choice((0, 0, 0, rng.randrange(8), rng.randrange(8 * count), 1023))
    step: Step = {"phase": message_phase(steps, rng.choice((0, 0, 1, rng.randrange(MESSAGES))), skip)}
    if rng.random() < 0.6:
        step["length"] = rng.choice((rng.randint(1, 512 * count), rng.randint(1, 512 * count), 64 * count, 1, 511))
    return step


def whole_message(rng: random.Random, number: int, spaces: int, queues: int) -> Iterator[Step]:
    """A message from its begin to its digest, with time for it. Others may use its program meanwhile."""
    message, parts = rng.randrange(MESSAGES), rng.randint(1, 3)
    for n in range(parts + 1):
        steps = BEGIN if n == 0 and parts > 1 else ASK if n == parts else END if n == parts - 1 else HashStep(0)
        if parts == 1 and not n:
            steps = BEGIN | END
        count = rng.choice((1, 2, 8, 8, 30))
        step: Step = {"do": "io", "q": rng.randint(1, queues), "op": "near", "at": rng.randrange(64), "count": count}
        step |= {"program": number, "phase": message_phase(steps, message)}
        if steps & END and rng.random() < 0.7:
            step["length"] = rng.randint(1, 512 * count)
        yield step | ({"ns": rng.randint(1, spaces)} if spaces > 1 else {})
        yield {"do": "wait"} if rng.random() < 0.8 else {"do": "run", "cycles": 1000}
        if n == parts - 1:
            yield {"do": "run", "cycles": 40_000}


def memory_look(rng: random.Random, number: int) -> Step:
    """One of four has its data in memory."""
    return {"memory": number} if rng.random() < 0.25 else {}


def store_look(rng: random.Random, count: int) -> Step:
    """Of three commands of so many blocks one stores: mostly whole blocks, where others read and write."""
    if rng.random() > 0.3:
        return {}
    step: Step = {"to": rng.choice((0, rng.randrange(64), rng.randrange(64), rng.randrange(256)))}
    if rng.random() < 0.02:
        step["to"] = rng.choice((1 << 32, (1 << 40) - 1))
    if rng.random() < 0.9:
        step["room"] = rng.choice((512, 4096, 512 * rng.randint(1, count), 512 * count, -1))
    return step


def near_look(rng: random.Random, count: int, messages: Container[int] = ()) -> Step:
    """Fields of a command of so many blocks. messages: the programs that bring some."""
    most = 512 * count
    step: Step = {"program": rng.randrange(PROGRAMS)}
    if step["program"] in messages and rng.random() < 0.95:
        return step | message_look(rng, count)
    if rng.random() < 0.6:
        step["length"] = rng.choice((rng.randint(1, most), rng.randint(1, most), 1, most - 1, 64 * count))
    if rng.random() < 0.6:
        step["room"] = rng.choice((64, 64, 128, 64 * rng.randint(1, 8 * count), most))
    if rng.random() < 0.4:
        step["phase"] = rng.choice((1, rng.randrange(64), rng.randrange(3000), rng.randrange(3000), -1))
    if rng.random() < 0.03:
        name, values = rng.choice((
            ("program", (12, 8, 0x8000)),
            ("length", (0, 4096 * count + 1, 0xFFFF_FFFF)),
            ("room", (0, 32, 96, 4096 * count + 64)),
        ))  # fmt: skip
        step[name] = rng.choice(values)
    return step


def near_program(rng: random.Random, data: int, faulty: float) -> Step:
    """faulty: how often the read of it meets a fault."""
    step: Step = {"do": "program", "number": rng.randrange(PROGRAMS), **near_kind(rng, data)}
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
