# SPDX-License-Identifier: Apache-2.0
"""Descriptions of synthetic workloads: those of workloads.yaml, which says what each field means and where it is from,
or one in a file of the user's own."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from doorbell.bench.jobs import Split, parse_bssplit
from doorbell.errors import UserError

FILE = Path(__file__).with_name("workloads.yaml")
BLOCK = 512
ZIPF_MOST = 10.0
CHOICES = ("zipf", "latest")


@dataclass(frozen=True)
class Blocks:
    """Accesses by their statistics. Shares are of 1."""

    reads: float
    read_sizes: Split
    write_sizes: Split
    sequential: float = 0.0
    zipf: float = 0.0
    align: int = 4096


@dataclass(frozen=True)
class Records:
    """Operations on records in pages. Shares are of 1 and add up to it."""

    reads: float = 0.0
    updates: float = 0.0
    inserts: float = 0.0
    scans: float = 0.0
    modifies: float = 0.0
    choice: str = "zipf"
    zipf: float = 0.99
    record: int = 1000
    page: int = 4096
    most_scanned: int = 100

    def shares(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in ("reads", "updates", "inserts", "scans", "modifies")}


@dataclass(frozen=True)
class Workload:
    """published: field to source. beside: figures that others published for the real one."""

    name: str
    what: Blocks | Records
    about: str = ""
    published: Mapping[str, str] = field(default_factory=dict)
    said: str = ""
    beside: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def _number(where: str, value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise UserError(f"{where}: {value!r} is not a number from {low:g} to {high:g}")
    return float(value)


def _whole(where: str, value: Any, low: int, high: int) -> int:
    if not isinstance(value, int) or _number(where, value, low, high) != value:
        raise UserError(f"{where}: {value!r} is not a whole number")
    return value


def _sizes(where: str, value: Any) -> Split:
    try:
        sizes = parse_bssplit(str(value))[0]
    except ValueError as e:
        raise UserError(f"{where}: {e}") from e
    if wrong := [size for size, _ in sizes if size % BLOCK]:
        raise UserError(f"{where}: {wrong[0]} is not a multiple of {BLOCK} bytes")
    return sizes


def _known(where: str, given: Any, kind: type[Blocks] | type[Records]) -> dict[str, Any]:
    names = [f.name for f in fields(kind)]
    if not isinstance(given, dict):
        raise UserError(f"{where}: must have fields: {', '.join(names)}")
    if wrong := [name for name in given if name not in names]:
        raise UserError(f"{where}: there is no field '{wrong[0]}': there are {', '.join(names)}")
    return given


def _blocks(where: str, given: Any) -> Blocks:
    known = _known(where, given, Blocks)
    if missing := [name for name in ("reads", "read_sizes", "write_sizes") if name not in known]:
        raise UserError(f"{where}: '{missing[0]}' is missing")
    align = _whole(f"{where}.align", known.get("align", 4096), BLOCK, 1 << 20)
    if align % BLOCK:
        raise UserError(f"{where}.align: {align} is not a multiple of {BLOCK} bytes")
    return Blocks(
        _number(f"{where}.reads", known["reads"], 0, 100) / 100,
        _sizes(f"{where}.read_sizes", known["read_sizes"]),
        _sizes(f"{where}.write_sizes", known["write_sizes"]),
        _number(f"{where}.sequential", known.get("sequential", 0), 0, 100) / 100,
        _number(f"{where}.zipf", known.get("zipf", 0), 0, ZIPF_MOST),
        align,
    )


def _records(where: str, given: Any) -> Records:
    known = dict(_known(where, given, Records))
    choice = known.pop("choice", "zipf")
    if choice not in CHOICES:
        raise UserError(f"{where}.choice: {choice!r} is not one of {', '.join(CHOICES)}")
    sized = {"record": (1, 1 << 20), "page": (BLOCK, 1 << 20), "most_scanned": (1, 10_000)}
    whole = {n: _whole(f"{where}.{n}", known.pop(n), *sized[n]) for n in sized if n in known}
    zipf = _number(f"{where}.zipf", known.pop("zipf", 0.99), 0, ZIPF_MOST)
    shares = {n: _number(f"{where}.{n}", v, 0, 100) / 100 for n, v in known.items()}
    if abs(sum(shares.values()) - 1) > 1e-9:
        raise UserError(f"{where}: the shares add up to {100 * sum(shares.values()):g} %, not 100")
    made = Records(**shares, choice=choice, zipf=zipf, **whole)
    if made.page % BLOCK or made.record > made.page:
        raise UserError(f"{where}.page: {made.page} must be a multiple of {BLOCK} bytes and hold a record")
    return made


def _workload(name: str, given: Any, where: str) -> Workload:
    kinds = {"blocks": _blocks, "records": _records}
    found = [kind for kind in kinds if isinstance(given, dict) and kind in given]
    if len(found) != 1:
        raise UserError(f"{where}: '{name}' must have either 'blocks' or 'records', with their fields")
    taken = (*kinds, "about", "published", "said", "beside")
    if wrong := [key for key in given if key not in taken]:
        raise UserError(f"{where}: {name} has '{wrong[0]}': there are {', '.join(taken)}")
    try:
        beside = {k: (float(low), float(high)) for k, (low, high) in given.get("beside", {}).items()}
    except (AttributeError, TypeError, ValueError) as e:
        raise UserError(f"{where}: {name}.beside must look like {{mb_s: [1000, 2000], us: [0, 100]}}") from e
    what = kinds[found[0]](f"{where}: {name}", given[found[0]])
    return Workload(name, what, given.get("about", ""), given.get("published", {}), given.get("said", ""), beside)


def _read(file: Path) -> dict[str, Workload]:
    try:
        found = yaml.safe_load(file.read_text())
    except OSError as e:
        raise UserError(f"cannot read the workload {file}: {e.strerror}") from e
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        raise UserError(f"{file} is not YAML: {' '.join(str(e).split())}") from e
    every = found.get("workloads") if isinstance(found, dict) else None
    if not isinstance(every, dict) or not every:
        raise UserError(f"{file}: it has no 'workloads', see docs/workloads.md")
    return {str(name): _workload(str(name), given, str(file)) for name, given in every.items()}


@functools.cache
def own() -> dict[str, Workload]:
    """Those of Doorbell, by name."""
    return _read(FILE)


def sources() -> dict[str, str]:
    found: dict[str, str] = yaml.safe_load(FILE.read_text())["sources"]
    return found


def find(name: str) -> Workload:
    """One of Doorbell's by its name, or the first of a file (*.yaml)."""
    if name in own():
        return own()[name]
    if name.endswith((".yaml", ".yml")):
        return next(iter(_read(Path(name)).values()))
    raise UserError(
        f"there is no workload '{name}': there is {', '.join(own())}, all, list, or a file that ends in .yaml"
    )
