# SPDX-License-Identifier: Apache-2.0
"""Makes steps of a seed, without end. It does not look at the drive: what does not fit does nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from doorbell.compute.near import PROGRAMS
from doorbell.soak.generate_memory import execute, memory_command
from doorbell.soak.generate_near import (
    is_message,
    memory_look,
    near_kind,
    near_look,
    near_program,
    store_look,
    whole_message,
)
from doorbell.soak.generate_ssds import ssd_trouble
from doorbell.soak.near_kinds import CTR_SLOTS
from doorbell.soak.steps import BAD, CUTS, FAULTS, OPS, RESETS, TIMINGS, Step

REGION = 256  # blocks of a namespace that commands touch: few, so that they meet
MEMORY_CELLS = 8192  # of the function's memory, 4 bytes each
KEY_SLOTS = 3  # for namespaces, and for programs
CYCLES = (1, 100, 500, 1000, 1500, 2000, 3000, 5000, 15_000, 40_000)  # between a command and the reset that it meets


@dataclass(frozen=True)
class Shape:
    """What there is to play with."""

    queues: int = 6
    spaces: int = 1
    keys: bool = False
    manage: bool = False  # namespaces can be made and deleted
    ssds: int = 0  # that the drive stores in
    ssd: str = "model"  # what they are
    near: bool = False  # near-storage commands
    memory: bool = False  # a namespace of memory


class Generator:
    """Bursts of commands, and now and then a disturbance."""

    kinds: tuple[str, ...] = RESETS  # of resets
    second: tuple[str, ...] = ("power", "link", "disable")  # after another one

    def __init__(self, seed: int, shape: Shape, rng: random.Random | None = None) -> None:
        """rng: where the random numbers come from, else they are made of the seed."""
        self.rng = rng or random.Random(seed)
        self.stores = rng or random.Random(f"{seed}, stores")  # apart, so that seeds of before mean what they meant
        self.elsewhere = rng or random.Random(f"{seed}, elsewhere")
        self.memories = rng or random.Random(f"{seed}, memories")
        self.shape = shape
        self.serial = 0
        self.resets: list[str] = []
        self.cuts: list[tuple[str, str]] = []
        self.messages: set[int] = set()  # programs that may bring some
        self.mood()
        kinds = {
            "hold": 6, "release": 8, "abort": 12, "requeue": 6, "reset": 5, "media_error": 2, "bus_master": 1,
            "fatal": 0.4, "format": 0.7, "cut": 2, "check": 1,
        }  # fmt: skip
        if shape.keys:
            kinds |= {"key": 8, "bind": 2, "cut": 4}
        if shape.manage:
            kinds |= {"ns_create": 2.5, "ns_delete": 0.7, "attach": 5, "detach": 1}
        if shape.ssds:
            kinds |= {"ssd": 20, **({"grow": 1.5, "exchange": 4} if shape.manage else {})}
        if shape.near:
            kinds |= {"program": 10, "programs": 2, "message": 4}
        self.disturbances = kinds

    def __iter__(self) -> Iterator[Step]:
        yield from self.start()
        while True:
            yield from self.turn()

    def start(self) -> Iterator[Step]:
        """What a new drive is given first."""
        if self.shape.keys:
            yield from self.keys_for_all()
            for ns in range(1, self.shape.spaces, 2):
                yield {"do": "bind", "ns": ns, "slot": self.rng.randint(1, KEY_SLOTS)}
        yield from self.programs()
        yield from self.memory_for_all()

    def turn(self) -> Iterator[Step]:
        yield from self.burst()
        if self.rng.random() < self.disturbed:
            yield from self.busy()
            yield from self.disturbance()
        if self.rng.random() < 0.03:
            self.mood()

    def mood(self) -> None:
        """What the next commands are like."""
        rng = self.rng
        self.disturbed = rng.choice((0.05, 0.2, 0.4))
        self.faulty = rng.choice((0, 0, 0.02, 0.1))
        self.largest = rng.choice((1, 4, 8, 8, 16, 48))
        self.most = rng.choice((2, 6, 20))
        self.region = rng.choice((16, 64, REGION, REGION))
        self.near = rng.choice((5, 20, 100)) if self.shape.near else 0
        self.weights = rng.choice(((40, 40, 6, 5, 3, 3, 3), (10, 70, 5, 5, 2, 5, 3), (70, 15, 5, 2, 5, 2, 1)))

    # ---- commands

    def burst(self) -> Iterator[Step]:
        rng = self.rng
        for _ in range(rng.randint(1, self.most)):
            yield self.command()
            if self.shape.memory and self.memories.random() < 0.2:
                yield self.memory_command()
            if self.shape.memory and self.memories.random() < 0.05:
                yield execute(self.memories, self.shape.queues)
        if rng.random() < 0.12:
            yield {"do": "wait"}
        elif rng.random() < 0.9:
            yield {"do": "run", "cycles": rng.choice((1, 20, 100, 300, 300, 1000))}

    def busy(self) -> Iterator[Step]:
        """Mostly a disturbance meets commands at some stage."""
        rng = self.rng
        if rng.random() < 0.7:
            for _ in range(rng.randint(1, 16)):
                yield self.command()
            yield {"do": "run", "cycles": rng.choice((1, 5, 30, 100, 200, 400, 1000))}

    def command(self) -> Step:
        rng = self.rng
        op = rng.choices(OPS, (*self.weights, self.near))[0]
        step: Step = {"do": "io", "q": rng.randint(1, self.shape.queues), "op": op}
        if self.shape.spaces > 1:
            step["ns"] = self.space()
        if op != "flush":
            count = rng.randint(1, self.largest)
            step |= {"at": rng.randrange(self.region), "count": count}
        if op in ("write", "compare"):
            self.serial += 1
            step["data"] = self.serial
            if self.shape.near and rng.random() < 0.7:
                step["text"] = rng.choice((1, 1, 2))
        if op == "near":
            step |= near_look(rng, step["count"], self.messages) | store_look(self.stores, step["count"])
            step |= memory_look(self.stores, self.serial + 1)
            if self.shape.spaces > 1 and "to" in step and self.elsewhere.random() < 0.4:
                step["to_ns"] = self.elsewhere.choice((*range(1, self.shape.spaces + 1), self.shape.spaces + 1))
        if op == "compare" and rng.random() < 0.7:
            step["match"] = 1
        if op == "dsm":
            step["parts"] = rng.choice((1, 1, 2, 5))
        if op in ("write", "zeroes", "near") and rng.random() < 0.1:
            step["fua"] = 1
        if op in ("read", "write", "compare", "dsm", "near"):
            step |= self.geometry()
            if rng.random() < self.faulty:
                step |= {"fault": rng.choice(FAULTS), "part": rng.choice((0, 0, 0, 1, -1))}
        if rng.random() < 0.02:
            step["bad"] = rng.choice(BAD[1:])
        if rng.random() < 0.3:
            step["ring"] = 0
        return step

    def memory_command(self) -> Step:
        region = 512 if self.largest < 8 else MEMORY_CELLS
        return memory_command(
            self.memories, self.serial + 1, self.shape.queues, self.shape.spaces, region, self.faulty
        )  # fmt: skip

    def space(self) -> int:
        """A namespace."""
        return self.rng.randint(1, self.shape.spaces)

    def programs(self) -> Iterator[Step]:
        """All of a function, or most."""
        for number in range(PROGRAMS if self.shape.near else 0):
            if self.rng.random() < 0.9:
                self.serial += 1
                step = {"do": "program", "number": number, **near_kind(self.rng, self.serial)}
                self.knows(step)
                yield step

    def knows(self, step: Step) -> None:
        """A program is loaded."""
        if "bad" not in step:
            (self.messages.add if is_message(step) else self.messages.discard)(step["number"])

    def geometry(self) -> dict[str, Any]:
        rng, out = self.rng, {}
        if rng.random() < 0.5:
            out["offset"] = 4 * rng.randrange(1024)
        if rng.random() < 0.4:
            out["scattered"] = 1
            if rng.random() < 0.5:
                out["list"] = rng.choice((8 * rng.randrange(512), 4088, 4080))
        return out

    # ---- disturbances

    def disturbance(self) -> Iterator[Step]:
        rng = self.rng
        kind = rng.choices(list(self.disturbances), list(self.disturbances.values()))[0]
        q, ns = rng.randint(1, self.shape.queues), self.space()
        match kind:
            case "hold" | "release":
                yield {"do": "hold", "q": q, "on": int(kind == "hold")}
            case "abort":
                yield {"do": "abort", "q": q, "pick": rng.randrange(-1, 6)}
            case "requeue":
                yield {"do": "requeue", "q": q, "entries": rng.choice((2, 5, 16, 32, 64)), "cq": rng.randrange(2)}
            case "bus_master":
                yield {"do": "bus_master", "cycles": rng.choice((1, 100, 3000))}
            case "media_error":
                error = {"at": rng.randrange(self.region), "count": rng.randint(1, 8), "times": rng.choice((1, 3, -1))}
                yield {"do": "media_error", "ns": ns, **error}
                for _ in range(rng.randint(1, 4)):
                    yield from self.burst()
                yield {"do": "media_mended"}
            case "fatal":
                yield {"do": "fatal", "q": q, "kind": rng.choice(FAULTS[:3])}
            case "format":
                erase = rng.randrange(3) if self.shape.keys else rng.randrange(2)
                yield {"do": "format", "ns": ns, "size": rng.choice((512, 4096)), "erase": erase}
            case "cut":
                yield from self.cut(ns, q)
            case "reset":
                if not self.resets:  # all kinds in turn, each time in another order
                    self.resets = rng.sample(self.kinds, len(self.kinds))
                yield self.reset(self.resets.pop())
                yield from self.again()
                if rng.random() < 0.7:
                    yield {"do": "check"}
            case "key":
                if self.shape.near and rng.random() < 0.3:
                    yield {"do": "key", "slot": rng.choice(CTR_SLOTS), "key": rng.randrange(3), "mode": "ctr"}
                else:
                    yield {"do": "key", "slot": rng.randint(1, KEY_SLOTS), "key": rng.randrange(KEY_SLOTS + 1)}
            case "bind":
                yield {"do": "bind", "ns": ns, "slot": rng.randrange(KEY_SLOTS + 1)}
            case "ns_create":
                step = {"do": "ns_create", "blocks": rng.choice((100, 777, 2048)), "size": rng.choice((512, 4096))}
                yield step | ({"on": rng.randint(0, self.shape.ssds + 1)} if self.shape.ssds else {})
            case "grow":
                yield {"do": "grow", "ns": ns, "on": rng.randint(0, self.shape.ssds + 1)}
            case "exchange":
                yield {"do": "exchange", "ns": ns, "other": self.space()}
            case "ssd":
                yield from ssd_trouble(self)
            case "program":
                self.serial += 1
                step = near_program(rng, self.serial, self.faulty)
                self.knows(step)
                yield step
            case "message":
                number = rng.randrange(PROGRAMS)
                if number not in self.messages:
                    self.serial += 1
                    step = {"do": "program", "number": number, "of": "sha256", "data": self.serial}
                    self.knows(step)
                    yield step
                yield from whole_message(rng, number, self.shape.spaces, self.shape.queues)
            case "programs":
                yield from self.programs()
            case _:
                yield {"do": kind, **({"ns": ns} if kind in ("ns_delete", "attach", "detach") else {})}

    def cut(self, ns: int, q: int) -> Iterator[Step]:
        """All commands with all kinds of resets, in turn; a second reset after it must change nothing."""
        rng = self.rng
        if not self.cuts:
            whats = [w for w in CUTS if (self.shape.keys or w != "key") and (self.shape.near or w != "program")]
            whats = [w for w in whats if self.shape.manage or not w.startswith("ns_")]
            self.cuts = [(what, kind) for what in whats for kind in self.kinds]
            rng.shuffle(self.cuts)
        what, kind = self.cuts.pop()
        step: Step = {"do": "cut", "what": what, "kind": kind, "cycles": rng.choice(CYCLES)}
        if what in ("format", "write", "ns_delete"):
            step["ns"] = ns
        if what in ("format", "ns_create"):
            step["size"] = rng.choice((512, 4096))
        if what in ("write", "delete_queue"):
            step["q"] = q
        if what == "write":
            self.serial += 1
            step |= {"at": rng.randrange(self.region), "count": rng.randint(1, 48), "data": self.serial}
        if what == "ns_create":
            step["blocks"] = rng.choice((100, 777, 2048))
        if what == "key":
            step |= {"slot": rng.randint(1, KEY_SLOTS), "key": rng.randint(1, KEY_SLOTS)}
        if what == "program":
            self.serial += 1
            step |= {"slot": rng.randrange(PROGRAMS), **near_kind(rng, self.serial)}
        yield step
        if rng.random() < 0.3:
            yield self.reset(rng.choice(self.second))
        yield from self.again()
        yield {"do": "check"}

    def reset(self, kind: str) -> Step:
        rng = self.rng
        queues = rng.choice((self.shape.queues, self.shape.queues, rng.randint(1, self.shape.queues)))
        step: Step = {"do": "reset", "kind": kind, "queues": queues, "entries": rng.choice((3, 8, 32, 64))}
        step |= {"cq_entries": rng.choice((2, 4, 16, 64, 256)), "wrr": int(rng.random() < 0.2)}
        if rng.random() < 0.3:
            step["shared"] = rng.randint(1, queues)
        if kind == "power":
            step["timing"] = rng.randrange(len(TIMINGS))
        return step

    def again(self) -> Iterator[Step]:
        """What a reset takes: mostly it comes back."""
        if self.shape.keys and self.rng.random() < 0.9:
            yield from self.keys_for_all()
        if self.shape.near and self.rng.random() < 0.8:
            yield from self.programs()
        yield from self.memory_for_all()

    def memory_for_all(self) -> Iterator[Step]:
        """Lines, from the first cell to the last."""
        for at in range(0, MEMORY_CELLS if self.shape.memory else 0, MEMORY_CELLS // 4):
            data = 2 * self.memories.randrange(1 << 20) + 1
            yield {"do": "memory", "op": "write", "at": at, "size": MEMORY_CELLS // 4, "data": data}

    def keys_for_all(self) -> Iterator[Step]:
        for slot in range(1, KEY_SLOTS + 1):
            yield {"do": "key", "slot": slot, "key": slot}
        for slot in CTR_SLOTS if self.shape.near else ():
            yield {"do": "key", "slot": slot, "key": slot, "mode": "ctr"}
