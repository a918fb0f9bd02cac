# SPDX-License-Identifier: Apache-2.0
"""`./doorbell bench --suite vcsd`: a card beside the bare SSD, plain and encrypted, and functions times SSDs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from doorbell.bench.card import OURS_US, WIDE, CardSetup, beside_bare, by_stage, grid
from doorbell.bench.ssds import SsdSetup
from doorbell.units import size_name

OF_BARE, OF_ONE, OF_LIMIT = 97.0, 98.0, 97.0
SHORT_PARAMS: dict[str, int | str] = {
    "NUM_NS": 4,
    "SHA_CORES": 0,
    "MS_CYCLES": 5000,
    "SSD_TIMEOUT": 100_000,
    "NEAR": 1,
    "NEAR_HASHES": 2,
}
SHORT = CardSetup(SsdSetup(2, "db_ssd", read_us=OURS_US, write_us=OURS_US), "gen3x8", 128, 1, SHORT_PARAMS)
"""Of the tests: the simulator of tests/system/vcsd, and an SSD that is soon done."""

ROWS = {"vcsd": 42, "vcsd-short": 2}


def measure(suite: str) -> Iterator[dict[str, Any]]:
    """Rows, each with its "table": "bare", "encrypted", "stages", "grid" or "packets": the last without straddling."""
    short = suite == "vcsd-short"
    setup = SHORT if short else CardSetup()
    for row in beside_bare(setup, (4096,), ios=128, depth=32) if short else beside_bare(setup):
        yield {"table": "bare", **row}
    if short:
        return
    for row in beside_bare(setup, encrypted=True):
        yield {"table": "encrypted", **row}
    for row in by_stage(replace(setup)):
        yield {"table": "stages", **row}
    for row in grid():
        yield {"table": "grid", **row}
    for row in grid((4,), (4,), params=WIDE | {"CQ_CC_STRADDLE": 0}):
        yield {"table": "packets", **row}


def targets(row: dict[str, Any]) -> list[tuple[str, float, float, str, bool]]:
    """(what, target, measured, unit, at least?) of a row that has one."""
    if row["table"] in ("bare", "encrypted"):
        what = f"{row['rw']} {size_name(row['bs'])}, {row['iodepth']} in flight"
        if row["table"] == "encrypted":
            what += ", encrypted"
        return [(what, OF_BARE, row["of_bare_pct"], "% of the bare SSD", True)]
    if row["table"] == "grid":
        what = f"{row['rw']} {size_name(row['bs'])}, {row['functions']} functions, {row['ssds']} SSDs"
        limits = {"% of the card's link": row["link_busy_pct"], "% of what CQ and CC carry": row["of_streams_pct"]}
        limit = max(limits, key=limits.__getitem__)
        if row["of_one_pct"] < OF_ONE and limits[limit] > row["of_one_pct"]:
            return [(what, OF_LIMIT, limits[limit], limit, True)]
        return [(what, OF_ONE, row["of_one_pct"], "% of as many times one", True)]
    if row["table"] == "packets":
        what = f"{row['rw']} {size_name(row['bs'])}, {row['functions']} functions, {row['ssds']} SSDs, not straddled"
        return [(what, OF_LIMIT, row["of_streams_pct"], "% of what CQ and CC carry", True)]
    return []


def tables(rows: list[dict[str, Any]]) -> list[Any]:
    """Rich tables of the rows."""
    from rich.table import Table

    def made(title: str, *heads: str) -> Table:
        table = Table(title=title, title_justify="left")
        for i, head in enumerate(heads):
            table.add_column(head, justify="right" if i else "left")
        return table

    heads = ("command", "in flight", "bare MB/s", "card MB/s", "% of bare", "alone: bare us", "card us", "added us")
    beside = {
        "bare": made("One function of a card with one SSD, beside that SSD driven directly", *heads),
        "encrypted": made("... whose data the card encrypts (AES-256 XTS)", *heads),
    }
    matrix = made("Functions times SSDs", "command", "functions", "SSDs", "MB/s", "% of as many times one",
                  "card's link busy %", "of CQ, CC %", "least of fair %")  # fmt: skip
    out = []
    for r in rows:
        if r["table"] in beside:
            beside[r["table"]].add_row(f"{r['rw']} {size_name(r['bs'])}", f"{r['iodepth']}", f"{r['bare_mb_s']:,.0f}",
                         f"{r['card_mb_s']:,.0f}", f"{r['of_bare_pct']:.1f}", f"{r['bare_us']:.2f}",
                         f"{r['card_us']:.2f}", f"{r['added_us']:.2f}")  # fmt: skip
        elif r["table"] in ("grid", "packets"):
            packets = ", not straddled" if r["table"] == "packets" else ""
            matrix.add_row(
                f"{r['rw']} {size_name(r['bs'])}{packets}", f"{r['functions']}", f"{r['ssds']}", f"{r['mb_s']:,.0f}",
                "" if packets else f"{r['of_one_pct']:.1f}", f"{r['link_busy_pct']:.1f}",
                f"{r['of_streams_pct']:.1f}", f"{r['least_fair_pct']:.1f}",
            )  # fmt: skip
        else:
            stage = made(f"Where the time of a {size_name(r['bs'])} {r['rw']} goes that is alone", "stage", "us")
            for name, us in r["us"].items():
                stage.add_row(name, f"{us:.2f}")
            out.append(stage)
    return [t for t in (*beside.values(), *out, matrix) if t.row_count]
