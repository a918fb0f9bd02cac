# SPDX-License-Identifier: Apache-2.0
"""Tables of measured figures in README and docs say what tests/data/behaviour.json does, and `./doorbell compare` holds
that to the cycle; those of workloads what workloads.json does
(test_ssd_workloads.py). To bring a table up to date: `./doorbell python tests/python/test_figures.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from doorbell.bench import workload_table, workloads

ROOT = Path(__file__).resolve().parents[2]
SUITE: dict[str, float] = json.loads((ROOT / "tests/data/behaviour.json").read_text())["workloads"]["suite-limit"]
WORKLOADS = {row["workload"]: row for row in json.loads((ROOT / "tests/data/workloads.json").read_text())["rows"]}
RW = ("read", "randread", "write", "randwrite", "rw 70/30", "randrw 70/30")


def cell(link: str, rw: str, size: str) -> str:
    share = SUITE.get(f"{link}: {rw} {size}")
    return "-" if share is None else f"{share:.1f}"


def of_performance(row: list[str]) -> list[str]:
    """Link, size, then a share each of RW."""
    return [*row[:2], *(cell(row[0], rw, row[1]) for rw in RW)]


def of_readme(row: list[str]) -> list[str]:
    """Link, then random accesses: 512 B read, and of 4 KiB and 128 KiB read, write, 70/30."""
    mixes = [cell(row[0], rw, size) for size in ("4 KiB", "128 KiB") for rw in RW[1::2]]
    return [row[0], cell(row[0], "randread", "512 B"), *mixes]


def of_cycles(row: list[str]) -> list[str]:
    """What, target, cycles at 128, 256 and 512 bit."""
    name = {
        "doorbell to first data out, host and media taken out": ", 4 KiB read: doorbell to first data out",
        "last data to CQE (read)": ", 4 KiB read: last data to CQE",
        "last write response to CQE": ", 4 KiB write: last write response to CQE",
        "CQE to MSI-X": ", 4 KiB: CQE to MSI-X",
        "front end, a command of a burst of 32 on 1 queue": ": front end, a command of a burst of 32 on 1 queue",
        "the same on 8 queues": ": front end, a command of a burst of 32 on 8 queues",
    }[row[0]]
    return [*row[:2], *(f"{SUITE[f'{w} bit{name}']:.2f}".rstrip("0").rstrip(".") for w in (128, 256, 512))]


def of_workloads(row: list[str]) -> list[str]:
    """Name, what it is, how fast, and what OpenExpress published."""
    return workload_table.cells(WORKLOADS[row[0]])


def of_parameters(row: list[str]) -> list[str]:
    """Name, about, parameters."""
    return workload_table.described(workloads.find(row[0]))


# page, how a table's first line begins, what its rows should say
TABLES: list[tuple[str, str, Callable[[list[str]], list[str]]]] = [
    ("docs/ssd/performance.md", "| link, width | size |", of_performance),
    ("docs/ssd/performance.md", "| | target | 128 bit |", of_cycles),
    ("docs/workloads.md", "| synthetic workload | reads % |", of_workloads),
    ("docs/workloads.md", "| name | what | parameters |", of_parameters),
    ("README.md", "| link, data path | 512 B read |", of_readme),
]


def rows_of(lines: list[str], begins: str) -> range:
    first = next(i for i, line in enumerate(lines) if line.startswith(begins)) + 2
    return range(first, next(i for i in range(first, len(lines) + 1) if i == len(lines) or lines[i][:1] != "|"))


def cells(line: str) -> list[str]:
    return [c.strip() for c in line.strip().strip("|").split("|")]


@pytest.mark.parametrize(("page", "begins", "expected"), TABLES, ids=[f.__name__ for _, _, f in TABLES])
def test_tables(page: str, begins: str, expected: Callable[[list[str]], list[str]]) -> None:
    lines = (ROOT / page).read_text().splitlines()
    rows = [cells(lines[i]) for i in rows_of(lines, begins)]
    assert len(rows) >= 3 and rows == [expected(row) for row in rows]


def test_workloads_are_all_there() -> None:
    lines = (ROOT / "docs/workloads.md").read_text().splitlines()
    for begins in ("| synthetic workload | reads % |", "| name | what | parameters |"):
        assert [cells(lines[i])[0] for i in rows_of(lines, begins)] == list(workloads.own())


def test_missed_targets() -> None:
    """What is missed is said, and nothing else is."""
    said = (ROOT / "docs/ssd/performance.md").read_text().split("## Missed targets\n")[1]
    missed = [n for n, v in SUITE.items() if n.startswith("Gen")
              and not (90 if n.endswith("512 B") else 97) <= v <= 101]  # fmt: skip
    assert all(name in said for name in missed) and (not missed) == bool(re.match(r"\s*None", said))


if __name__ == "__main__":
    for page, begins, expected in TABLES:
        lines = (ROOT / page).read_text().splitlines()
        for i in rows_of(lines, begins):
            lines[i] = "| " + " | ".join(expected(cells(lines[i]))) + " |"
        (ROOT / page).write_text("\n".join(lines) + "\n")
