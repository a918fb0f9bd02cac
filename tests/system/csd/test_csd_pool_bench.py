# SPDX-License-Identifier: Apache-2.0
"""`bench --suite operators`: its short form, and the figures of docs/csd/operators.md, whose tables are read here.

./doorbell python tests/system/csd/test_csd_pool_bench.py FILE brings the page up to date with what --json wrote.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from doorbell import paths
from doorbell.bench import deadlines, exchanges, orchestration, pool_suite
from doorbell.bench.software import Costs, Software
from doorbell.cli.main import run
from doorbell.nvme.vendor import NearOperator
from doorbell.units import size_name

PAGE = paths.ROOT / "docs" / "csd" / "operators.md"
STRATEGIES = ("static-worst", "static-best", "dynamic", "dynamic+pr")


def of_table(rows: list[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["table"] == table]


def late(rows: list[dict[str, Any]]) -> list[list[str]]:
    found = {(r["contest"], r["rate"], r["strategy"]): f"{r['late_pct']:.1f}" for r in of_table(rows, "deadlines")}
    kinds = dict.fromkeys((contest, rate) for contest, rate, _ in found)
    return [
        [contest, f"{rate:,}", *(found.get((contest, rate, s), "-") for s in STRATEGIES)] for contest, rate in kinds
    ]


def late_b(rows: list[dict[str, Any]]) -> list[list[str]]:
    return [[f"{r['rate']:,}", r["strategy"], f"{r['late_a_pct']:.1f}", f"{r['late_b_pct']:.1f}", str(r["again"])]
            for r in of_table(rows, "deadlines")
            if r["contest"] == "four operators" and r["rate"] == 600_000]  # fmt: skip


def hurry(rows: list[dict[str, Any]]) -> list[list[str]]:
    return [[f"{r['rate']:,}", r["strategy"], f"{r['late_a_pct']:.1f}", f"{r['late_b_pct']:.1f}",
             f"{r['p99_a_us']:.1f}"] for r in sorted(of_table(rows, "hurry"), key=lambda r: r["rate"])]  # fmt: skip


def brought(rows: list[dict[str, Any]]) -> list[list[str]]:
    return [[size_name(r["bytes"]), *(f"{r[f'{way}_us']:,.1f}" for way in ("port", "pf", "missed", "software")),
             f"{r['writes']:,}"] for r in of_table(rows, "exchanges")]  # fmt: skip


def done(rows: list[dict[str, Any]]) -> list[list[str]]:
    return [[r["operator"], *(f"{r[f'{way}_us']:.2f}" for way in orchestration.WAYS),
             *(f"{r[f'speedup_{way}']:.2f}" for way in orchestration.WAYS[1:]),
             *(f"{r[f'{way}_bytes']:,}" for way in ("hardware", "data"))]
            for r in of_table(rows, "orchestration")]  # fmt: skip


TABLES = {
    "| functions want | commands a second": late,
    "| commands a second | strategy |": late_b,
    "| commands a second | functions have |": hurry,
    "| bitstream | its words alone |": brought,
    "| operator | hardware |": done,
}


def places(lines: list[str], head: str) -> range:
    """Lines of the table whose first begins so, without its head."""
    first = next(i for i, line in enumerate(lines) if line.startswith(head)) + 2
    return range(first, next(i for i in range(first, len(lines) + 1) if i == len(lines) or not lines[i]))


def test_arrivals() -> None:
    """So many a second, three of group A for one of group B, and the same each time."""
    operators = dict.fromkeys((1, 2, 3, 4), int(NearOperator.GREP))
    weights = {1: deadlines.BUSY, 2: deadlines.BUSY, 3: 1, 4: 1}
    found = deadlines.arrivals(operators, weights, 1e6, 20e6, 5)
    assert found == deadlines.arrivals(operators, weights, 1e6, 20e6, 5)
    assert len(found) == pytest.approx(20_000, rel=0.03)
    of = Counter(one.fn for one in found)
    assert (of[1] + of[2]) / (of[3] + of[4]) == pytest.approx(3, rel=0.06)
    gaps = [b.at_ns - a.at_ns for a, b in zip(found, found[1:])]
    mean = sum(gaps) / len(gaps)
    assert sum((gap - mean) ** 2 for gap in gaps) / len(gaps) / mean**2 == pytest.approx(1, abs=0.1), "exponential"


def test_software_passes_time() -> None:
    class Clock:
        ns, clock_mhz = 0.0, 250

    class Idle:
        sim = Clock()

        def advance(self, cycles: int) -> None:
            self.sim.ns += 4 * cycles

    software = Software(Idle(), Costs(1000, 600))  # type: ignore[arg-type]
    software.interrupt(3)
    software.vm_exit()
    assert software.us == pytest.approx(3.6) and software.own_us == pytest.approx(3.6)
    assert software.steps == {"interrupts": 3, "vm_exits": 1}


def test_a_suite_takes_no_other_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--suite", "operators", "--bs", "8k"]) == 2
    assert "brings its own jobs" in capsys.readouterr().err


@pytest.mark.rtl
@pytest.mark.nightly  # with its simulator 150 s
def test_short() -> None:
    """Renaming and exchanges make less late; a controller on the card, and one command for two, are faster."""
    rows = list(pool_suite.measure("operators-short"))
    found = {(r["contest"], r["strategy"]): r for r in of_table(rows, "deadlines")}
    static, dynamic = found["one operator", "static"], found["one operator", "dynamic"]
    assert 0 < dynamic["late_pct"] < static["late_pct"] and dynamic["commands"] == static["commands"] > 80
    static, dynamic = found["two operators", "static"], found["two operators", "dynamic+pr"]
    assert static["late_b_pct"] == 100 and static["exchanges"] == 0, "what it wants is in none of its slots"
    assert dynamic["late_b_pct"] < 50 and dynamic["exchanges"] >= 1 and dynamic["again"] >= 1
    (row,) = of_table(rows, "exchanges")
    assert row["port_us"] < row["missed_us"] < row["software_us"]
    assert row["writes"] == 64 and row["vm_exits"] == 2
    costs = Costs()
    for row in of_table(rows, "orchestration"):
        assert row["hardware_own_us"] * 1000 == pytest.approx(costs.interrupt_ns, abs=4)
        assert row["guest_us"] > row["hardware_us"] + costs.interrupt_ns / 1000
        extra = (costs.interrupt_ns + 2 * costs.vm_exit_ns) / 1000
        assert row["host_us"] - row["guest_us"] == pytest.approx(extra, abs=0.05)
        assert row["data_bytes"] > 4096
    assert all(m >= t if least else m <= t for r in rows for _, t, m, _, least in pool_suite.targets(r))


@pytest.mark.rtl
@pytest.mark.nightly
def test_the_page() -> None:
    """All of the suite: the tables of the page, to the digit, and what it says of them."""
    rows = list(pool_suite.measure("operators"))
    lines = PAGE.read_text().splitlines()
    for head, cells in TABLES.items():
        told = [[c.strip() for c in lines[i].strip("|").split("|")] for i in places(lines, head)]
        assert told == cells(rows)
    assert all(m >= t if least else m <= t for r in rows for _, t, m, _, least in pool_suite.targets(r))
    assert {r["bytes"] for r in of_table(rows, "exchanges")} == set(exchanges.SIZES)
    for row in of_table(rows, "exchanges"):
        assert (row["interrupts"], row["vm_exits"]) == (5, 2), "as the page says"


def update(measured: list[dict[str, Any]]) -> None:
    lines = PAGE.read_text().splitlines()
    for head, cells in TABLES.items():
        at = places(lines, head)
        lines[at.start : at.stop] = ["| " + " | ".join(row) + " |" for row in cells(measured)]
    PAGE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    update(json.loads(Path(sys.argv[1]).read_text())["measured"])
