# SPDX-License-Identifier: Apache-2.0
"""Area and depth of logic of a top, put together from its units."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from doorbell import build
from doorbell.errors import UserError
from doorbell.synth.design import elaborate, map_unit, split
from doorbell.synth.netlist import Area, Unit, area, flatten, longest
from doorbell.synth.netlist import Path as LogicPath
from doorbell.synth.yosys import TARGETS

CPU_MODULES = ("db_ssd_admin_cpu", "picorv32", "db_ssd_admin_ram")


@dataclass
class Module:
    """A module's own cells in all its instances, without the modules inside it."""

    name: str
    instances: int = 0
    own: Area = dataclasses.field(default_factory=Area)
    levels: int = 0  # of the longest path that ends in it


@dataclass
class Result:
    """What was found out about a top."""

    top: str
    target: str
    params: dict[str, int]
    modules: dict[str, Module]
    paths: list[LogicPath]

    def total(self, without: Iterable[str] = ()) -> Area:
        return sum((m.own for m in self.modules.values() if m.name not in without), Area())

    def levels(self, without: Iterable[str] = ()) -> int:
        return max((m.levels for m in self.modules.values() if m.name not in without), default=0)

    def plain(self, keep: int = 16) -> dict[str, Any]:
        """For a JSON file."""
        return {
            "modules": {
                m.name: {"instances": m.instances, **dataclasses.asdict(m.own), "levels": m.levels}
                for m in sorted(self.modules.values(), key=lambda m: m.name)
            },
            "total": {**dataclasses.asdict(self.total()), "levels": self.levels()},
            "without_cpu": {**dataclasses.asdict(self.total(CPU_MODULES)), "levels": self.levels(CPU_MODULES)},
            "paths": [dataclasses.asdict(p) for p in worst(self.paths, keep)],
        }


def worst(found: list[LogicPath], keep: int) -> list[LogicPath]:
    """The longest paths, no more than three of them into one module with the same number of levels."""
    count: dict[tuple[str, int], int] = {}
    result = []
    for p in found:
        key = (p.unit, p.levels)
        count[key] = count.get(key, 0) + 1
        if count[key] <= 3:
            result.append(p)
    return result[:keep]


def measure(top: str, target: str, params: dict[str, int], only: Iterable[str] = (), show: bool = False) -> Result:
    """Area and depth of a top. only: nothing but the area of these modules."""
    if target not in TARGETS:
        raise UserError(f"--target {target}: must be {', '.join(TARGETS)}")
    sources = split(elaborate(top, params))
    wanted = set(only)
    if unknown := wanted - {s.name for s in sources.values()}:
        raise UserError(f"{top} has no module {' '.join(sorted(unknown))}")
    chosen = [n for n, s in sources.items() if not wanted or s.name in wanted]
    done = 0

    def work(name: str) -> tuple[str, Unit]:
        nonlocal done
        result = map_unit(sources[name], target)
        done += 1
        if show:
            print(f"\r{done} of {len(chosen)} modules ", end="", file=sys.stderr, flush=True)
        return name, result

    with ThreadPoolExecutor(build.jobs()) as pool:
        units = dict(pool.map(work, chosen))
    if show:
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)

    count = dict.fromkeys(sources, 0)
    order = list(sources)[::-1]  # a unit after those that use it
    count[order[0]] = 1
    for name in order:
        for child, n in sources[name].children.items():
            count[child] += n * count[name]
    modules: dict[str, Module] = {}
    for name, unit in units.items():
        module = modules.setdefault(sources[name].name, Module(sources[name].name))
        own = area(unit, set(sources))
        module.instances += count[name]
        module.own += Area(*(v * count[name] for v in own.values()))
    found: list[LogicPath] = []
    if not wanted:
        found = longest(flatten(units, order[0], {n: s.name for n, s in sources.items()}))
        for p in found:
            modules[p.unit].levels = max(modules[p.unit].levels, p.levels)
    return Result(top, target, params, modules, found)
