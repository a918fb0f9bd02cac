# SPDX-License-Identifier: Apache-2.0
"""Random steps of a drive that stores in SSDs: one or two of them in trouble, commands and other disturbances
meanwhile, and the end of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Protocol

from doorbell.soak.backends import faults_of
from doorbell.soak.steps import SSD_OPS, Step

WEIGHTS = {"late": 6, "status": 4, "lost": 1.5, "hang": 0.3, "vanish": 0.3}  # the last ones cost the card long waits
NEXT_WINDOW = 1 << 20  # in 64 bytes


class Shape(Protocol):
    @property
    def queues(self) -> int: ...
    @property
    def ssds(self) -> int: ...
    @property
    def ssd(self) -> str: ...


class Steps(Protocol):
    """What makes the other steps."""

    rng: random.Random
    kinds: tuple[str, ...]

    @property
    def shape(self) -> Shape: ...
    def burst(self) -> Iterator[Step]: ...
    def reset(self, kind: str) -> Step: ...


def ssd_trouble(g: Steps) -> Iterator[Step]:
    rng = g.rng
    for ssd in rng.sample(range(g.shape.ssds), min(g.shape.ssds, rng.choice((1, 1, 1, 2)))):
        yield _trouble(g, ssd)
    for _ in range(rng.randint(1, 5)):
        yield from g.burst()
        if rng.random() < 0.2:
            yield _other(g)
    yield {"do": "ssd_mended"}
    if rng.random() < 0.3:
        yield {"do": "check"}


def _trouble(g: Steps, ssd: int) -> Step:
    rng = g.rng
    what = rng.choices(("ssd_fault", "ssd_away", "ssd_power"), (12, 1, 1))[0]
    if what == "ssd_away":
        return {"do": what, "ssd": ssd}
    if what == "ssd_power":
        return {"do": what, "ssd": ssd, "cycles": rng.choice((1, 1000, 100_000))}
    kinds = faults_of(g.shape.ssd)
    kind = rng.choices(kinds, [WEIGHTS.get(k, 1) for k in kinds])[0]
    step: Step = {"do": what, "ssd": ssd, "kind": kind, "op": rng.choice(("", "", *SSD_OPS)), "skip": rng.randrange(4)}
    if kind in ("late", "status"):
        step["count"] = rng.choice((1, 3, 20, -1))
    if kind in ("late", "double"):
        step["us"] = rng.choice((5, 50, 150))
    if kind == "late" and step["count"] in (1, 3) and rng.random() < 0.3:
        step["us"] = rng.choice((300, 1000, 20_000))  # too late for the card
    if kind in ("cid", "copy"):
        step["by"] = rng.choice((1, 2, 5, 16))
    if kind == "astray":
        step["by"] = rng.choice((1, 64, NEXT_WINDOW))
    return step


def _other(g: Steps) -> Step:
    """What hosts do meanwhile."""
    rng = g.rng
    q = rng.randint(1, g.shape.queues)
    match rng.choice(("abort", "requeue", "hold", "wait", "reset", "ssd_back")):
        case "abort":
            return {"do": "abort", "q": q, "pick": rng.randrange(6)}
        case "requeue":
            return {"do": "requeue", "q": q, "entries": rng.choice((5, 32))}
        case "hold":
            return {"do": "hold", "q": q}
        case "wait":
            return {"do": "wait"}
        case "reset":
            return g.reset(rng.choice(g.kinds))
    return {"do": "ssd_back", "ssd": rng.randrange(g.shape.ssds)}
