# SPDX-License-Identifier: Apache-2.0
"""Makes steps for the functions of one drive: a generator each. They take turns, so each finds the others at work."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

from doorbell.soak.generate import KEY_SLOTS, Generator, Shape
from doorbell.soak.steps import VF_RESETS, Step

PF_SHAPE = Shape(queues=6, manage=True)
VF_QUEUES = 3
SPARE = 3  # namespaces beside those of the functions
TAKES_VFS = ("reset", "cut", "fatal", "bus_master")  # with the PF their VFs go


def crowd_shape(top: Shape, functions: int, memory: bool = False) -> Shape:
    """What the PF has of a drive of this kind: a namespace for each function, and where there are keys some more.
    memory: all functions have some, with programs."""
    return replace(
        top,
        queues=PF_SHAPE.queues,
        spaces=functions + (SPARE if top.keys and not top.ssds else 0),
        manage=True,
        memory=memory,
    )


class FunctionGenerator(Generator):
    """Steps of one function. Its home is the namespace that it has at first."""

    def __init__(self, seed: int, fn: int, functions: int, shape: Shape) -> None:
        super().__init__(seed, replace(shape, queues=VF_QUEUES, manage=False) if fn else shape)
        self.fn, self.functions = fn, functions
        if fn:
            self.kinds, self.second = VF_RESETS, ("disable", "flr", "offline")
            self.disturbances |= {"offline": 1.5, "vfs": 0.4}
            self.disturbances.pop("ssd", None)  # the PF's are those of all
        else:  # what it does to itself, it does to all
            self.disturbances |= {"reset": 2, "cut": 1.5, "fatal": 0.1, "bus_master": 0.2, "ns_delete": 0.7,
                                  "detach": 2, "format": 1.5}  # fmt: skip

    def first(self) -> Iterator[Step]:
        """With which it begins."""
        yield from self.again()
        if self.shape.keys and self.rng.random() < 0.7:
            yield {"do": "bind", "ns": self.fn + 1, "slot": self.rng.randint(1, KEY_SLOTS)}

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

    def of(self, steps: Iterable[Step]) -> Iterator[Step]:
        """... as those of this function."""
        for step in steps:
            yield {**step, "fn": self.fn} if self.fn else step

    def many(self, ns: int) -> Iterator[Step]:
        """Commands that are under way when something is done to their namespace."""
        for _ in range(self.rng.randint(2, 12)):
            yield {**self.command(), "ns": ns}
        yield {"do": "run", "cycles": self.rng.choice((1, 30, 200, 600))}


class CrowdGenerator:
    """`away`: VFs that have left, or may have; they come back one after the other."""

    def __init__(self, seed: int, functions: int, top: Shape = PF_SHAPE, memory: bool = False) -> None:
        self.rng = random.Random(seed)
        shape = crowd_shape(top, functions, memory)
        self.members = [FunctionGenerator(self.rng.randrange(1 << 31), fn, functions, shape) for fn in range(functions)]
        self.away: list[int] = []

    def __iter__(self) -> Iterator[Step]:
        rng = self.rng
        for member in self.members:
            yield from member.of(member.first())
        while True:
            here = [m for m in self.members if m.fn not in self.away] if rng.random() < 0.95 else self.members
            member = self.members[0] if rng.random() < 0.1 else rng.choice(here)  # the PF does most to the others
            for step in member.turn():
                if step["do"] == "run" and rng.random() < 0.6:
                    continue  # the next one's commands come beside these
                yield from member.of([step])
                self._leave(step, member.fn)
                if member.shape.ssds and step["do"] == "run":  # SSDs in trouble meet commands of all
                    other = rng.choice(here)
                    yield from other.of(s for s in other.burst() if s["do"] == "io")
            while self.away and rng.random() < 0.4:
                fn = self.away.pop(rng.randrange(len(self.away)))
                yield {"do": "online", "fn": fn}
                yield from self.members[fn].of(self.members[fn].again())

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
