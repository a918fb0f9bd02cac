# SPDX-License-Identifier: Apache-2.0
"""The file of a sweep: which points there are. docs/sweep.md describes it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doorbell.errors import UserError
from doorbell.sweep import point as points_module
from doorbell.sweep.point import Point

MAX_POINTS = 100_000


@dataclass
class Spec:
    """A sweep as its file describes it."""

    name: str
    points: list[Point]


def load_spec(file: Path) -> Spec:
    """Read a sweep's YAML file."""
    import yaml

    try:
        data = yaml.safe_load(file.read_text())
    except OSError as e:
        raise UserError(f"cannot read the sweep {file}: {e.strerror}") from e
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        raise UserError(f"{file} is not YAML: {' '.join(str(e).split())[:120]}") from e
    return parse_spec(data, str(file), file.stem)


def parse_spec(data: Any, where: str, name: str = "sweep") -> Spec:
    """The points of {name, defaults, grid, workloads}: every grid point with every workload."""
    if not isinstance(data, dict):
        raise UserError(f"{where}: a sweep has 'grid' or 'workloads' at its top, see docs/sweep.md")
    for key in data:
        if key not in ("name", "defaults", "grid", "workloads"):
            raise UserError(f"{where}: '{key}' is not one of name, defaults, grid, workloads")
    defaults = _mapping(data.get("defaults") or {}, f"{where}: defaults")
    grids = data.get("grid") or [{}]
    grids = grids if isinstance(grids, list) else [grids]
    workloads = data.get("workloads") or [{}]
    if not isinstance(workloads, list):
        raise UserError(f"{where}: workloads: must be a list, an item a workload")
    points: list[Point] = []
    seen: set[str] = set()
    for grid in grids:
        for values in _cross(_mapping(grid, f"{where}: grid"), f"{where}: grid"):
            for workload in workloads:
                work = _mapping(workload, f"{where}: workloads")
                if clash := values.keys() & work.keys():
                    raise UserError(f"{where}: '{min(clash)}' is in the grid and in a workload: one of them decides")
                point = points_module.clean({**defaults, **values, **work}, where)
                key = points_module.key_of(point, "")
                if key not in seen:
                    seen.add(key)
                    points.append(point)
                if len(points) > MAX_POINTS:
                    raise UserError(f"{where}: more than {MAX_POINTS} points: make the grid smaller")
    if points == [{}]:
        raise UserError(f"{where}: nothing to measure: give a 'grid' or 'workloads', see docs/sweep.md")
    return Spec(str(data.get("name") or name), points)


def _mapping(data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise UserError(f"{where}: must be parameters with values, as in 'bs: 4k'")
    return data


def _cross(grid: dict[str, Any], where: str) -> Iterator[dict[str, Any]]:
    """All combinations. A key such as "link, data_w" has lists of values that go together."""
    axes: list[list[dict[str, Any]]] = []
    for key, values in grid.items():
        values = values if isinstance(values, list) else [values]
        names = [n.strip() for n in str(key).split(",")]
        if not values:
            raise UserError(f"{where}: {key}: the list is empty")
        if len(names) == 1:
            axes.append([{names[0]: value} for value in values])
            continue
        for value in values:
            if not isinstance(value, list) or len(value) != len(names):
                raise UserError(f"{where}: {key}: {value!r} is not a list of {len(names)} values")
        axes.append([dict(zip(names, value, strict=True)) for value in values])
    for combination in itertools.product(*axes):
        yield {k: v for part in combination for k, v in part.items()}
