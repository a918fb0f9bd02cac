# SPDX-License-Identifier: Apache-2.0
"""What NAND media did while jobs ran, as a table and for a JSON file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from doorbell.bench.results import Result
from doorbell.device.nand import write_amplification


def nand_json(figures: dict[str, int]) -> dict[str, Any]:
    """The figures of a group of jobs."""
    return {**figures, "write_amplification": write_amplification(figures)}


def nand_table(groups: Sequence[Sequence[Result]], found: Sequence[dict[str, int]]) -> Table:
    """A column for each group of jobs, from its first command to its last."""
    out = Table(title="NAND media", title_justify="left")
    out.add_column("")
    for results in groups:
        out.add_column(", ".join(r.job.name for r in results), justify="right")
    for name, text in ROWS:
        out.add_row(name, *(text(figures) for figures in found))
    return out


def _amplification(figures: dict[str, int]) -> str:
    factor = write_amplification(figures)
    return "-" if factor is None else f"{factor:.2f}"


ROWS = (
    ("write amplification", _amplification),
    ("units of 4 KiB written by the host", lambda f: f"{f['host_units']:,}"),
    ("moved by collection", lambda f: f"{f['moved_units']:,}"),
    ("blocks collected", lambda f: f"{f['collections']:,}"),
    ("pages read for the host", lambda f: f"{f['senses']:,}"),
    ("reads answered by the write buffer", lambda f: f"{f['buffer_reads']:,}"),
    ("programs and erases suspended", lambda f: f"{f['suspensions']:,}"),
    ("erases of a block, least to most", lambda f: f"{f['erase_least']:,} to {f['erase_most']:,}"),
    ("bad blocks, become bad", lambda f: f"{f['bad']:,}, {f['retired']:,}"),
    ("endurance used", lambda f: f"{f['percent_used']} %"),
)
