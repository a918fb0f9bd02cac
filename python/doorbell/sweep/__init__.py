# SPDX-License-Identifier: Apache-2.0
"""Grids of parameters and workloads, measured on many cores into one CSV file."""

from doorbell.sweep.point import FIGURES, Point, Row
from doorbell.sweep.running import Summary, run
from doorbell.sweep.spec import Spec, load_spec, parse_spec
from doorbell.sweep.store import Store, columns_of

__all__ = [
    "FIGURES",
    "Point",
    "Row",
    "Spec",
    "Store",
    "Summary",
    "columns_of",
    "load_spec",
    "parse_spec",
    "run",
]
