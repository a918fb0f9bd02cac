# SPDX-License-Identifier: Apache-2.0
"""Makes steps for the functions of one drive: a generator each. They take turns, so each finds the others at work."""

from __future__ import annotations

import random
from collections.abc import Iterator

from doorbell.soak.generate import Generator, Shape
from doorbell.soak.steps import VF_RESETS, Step

PF_SHAPE = Shape(queues=6, manage=True)
VF_QUEUES = 3
TAKES_VFS = ("reset", "cut", "fatal", "bus_master")  # with the PF their VFs go


class FunctionGenerator(Generator):
    """Steps of one function. Its home is the namespace that it has at first."""

    def __init__(self, seed: int, fn: int, functions: int) -> None:
        super().__init__(seed, Shape(PF_SHAPE.queues if not fn else VF_QUEUES, functions, manage=not fn))
        self.fn, self.functions = fn, functions
        if fn:
            self.kinds, self.second = VF_RESETS, ("disable", "flr", "offline")
            self.disturbances |= {"offline": 1.5, "vfs": 0.4}
        else:  # what it does to itself, it does to all
            self.disturbances |= {"reset": 2, "cut": 1.5, "fatal": 0.1, "bus_master": 0.2, "ns_delete": 0.7,
                                  "detach": 2, "format": 1.5}  # fmt: skip

    def space(self) -> int:
        """Its own, the shared one, or any."""
        draw = self.rng.random()
        return self.fn + 1 if draw < 0.7 else self.functions if draw < 0.9 else super().space()

    def disturbance(self) -> Iterator[Step]:
        for step in super().disturbance():
            if step["do"] in ("ns_delete", "attach", "detach"):  # most come back to where they were
                step["ns"] = ns = self.rng.randint(1, self.shape.spaces)
                if step["do"] != "ns_delete":
                    home = ns < self.functions and self.rng.random() < 0.9
                    step["to"] = ns - 1 if home else self.rng.randrange(self.functions)
            if step["do"] in ("format", "ns_delete", "detach"):
                step["busy"] = self.rng.randrange(2)
                if step["busy"]:
                    yield from self.many(step["ns"])
            if step["do"] == "ns_create":
                step["shared"] = int(self.rng.random() < 0.3)
            if step["do"] == "vfs":
                step["count"] = self.rng.randrange(self.functions)
            yield step

    def many(self, ns: int) -> Iterator[Step]:
        """Commands that are under way when something is done to their namespace."""
        for _ in range(self.rng.randint(2, 12)):
            yield {**self.command(), "ns": ns}
        yield {"do": "run", "cycles": self.rng.choice((1, 30, 200, 600))}


class CrowdGenerator:
    """`away`: VFs that have left, or may have; they come back one after the other."""

    def __init__(self, seed: int, functions: int) -> None:
        self.rng = random.Random(seed)
        self.members = [FunctionGenerator(self.rng.randrange(1 << 31), fn, functions) for fn in range(functions)]
        self.away: list[int] = []

    def __iter__(self) -> Iterator[Step]:
        rng = self.rng
        while True:
            here = [m for m in self.members if m.fn not in self.away] if rng.random() < 0.95 else self.members
            member = self.members[0] if rng.random() < 0.1 else rng.choice(here)  # the PF does most to the others
            for step in member.turn():
                if step["do"] == "run" and rng.random() < 0.6:
                    continue  # the next one's commands come beside these
                yield {**step, "fn": member.fn} if member.fn else step
                self._leave(step, member.fn)
            while self.away and rng.random() < 0.4:
                fn = self.away.pop(rng.randrange(len(self.away)))
                yield {"do": "online", "fn": fn}

    def _leave(self, step: Step, fn: int) -> None:
        gone: range | tuple[int, ...] = ()
        if not fn and step["do"] in TAKES_VFS:
            gone = range(1, len(self.members))
        elif step["do"] == "offline":
            gone = (fn,)
        elif step["do"] == "vfs":
            gone = range(step["count"] + 1, len(self.members))
        elif step.get("kind") == "vf_enable":
            gone = range(fn + 1, len(self.members))
        self.away += [g for g in gone if g not in self.away]
