# SPDX-License-Identifier: Apache-2.0
"""All that the report shows, measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from doorbell.sweep.point import Row


@dataclass
class Figures:
    """All that the page shows."""

    blocks: list[Row]
    queues: list[Row]
    links: list[Row]
    clocks: list[Row]
    stages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    host: list[Row] = field(default_factory=list)
    recorder: list[Row] = field(default_factory=list)
    card: list[Row] = field(default_factory=list)
    owners: list[Row] = field(default_factory=list)
    neighbours: list[Row] = field(default_factory=list)
    shares: list[Row] = field(default_factory=list)
    area: dict[str, Any] = field(default_factory=dict)
    sources: str = ""
    backend: str = "rtl"
    quick: bool = False
