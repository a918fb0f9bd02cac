# SPDX-License-Identifier: Apache-2.0
"""`./doorbell bench --suite operators`: slots of near-storage operators under load, exchanged, and beside software."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doorbell.bench import deadlines, exchanges, orchestration
from doorbell.bench.pool import FULL, SHORT, Pool
from doorbell.units import size_name

ROWS = {"operators": 34, "operators-short": 7}
SHORT_RATES, SHORT_SPAN_NS, SHORT_SIZES, SHORT_PLAIN, SHORT_BLOCKS = (900_000,), 120_000.0, (4096,), ("Grep",), 2


def measure(suite: str) -> Iterator[dict[str, Any]]:
    """Rows, each with its "table": "deadlines", "hurry", "exchanges" or "orchestration"."""
    short = suite == "operators-short"
    pool = Pool(SHORT if short else FULL)
    worst: dict[tuple[str, int], float] = {}
    found = (
        deadlines.measure(pool, deadlines.SHORT_CONTESTS, SHORT_RATES, SHORT_SPAN_NS)
        if short
        else deadlines.measure(pool)
    )
    for row in found:
        of = row["contest"], row["rate"]
        worst.setdefault(of, row["late_pct"])  # the first strategy's
        dynamic = row["strategy"].startswith("dynamic")
        yield {"table": "deadlines", **row, **({"worst_pct": worst[of]} if dynamic else {})}
    if not short:
        usual: dict[int, float] = {}
        for row in deadlines.measure(pool, [deadlines.HURRY], deadlines.HURRY_RATES, deadlines.HURRY_SPAN_NS):
            usual.setdefault(row["rate"], row["late_pct"])
            hurries = row["strategy"] == "deadlines"
            yield {"table": "hurry", **row, **({"usual_pct": usual[row["rate"]]} if hurries else {})}
    for row in exchanges.measure(pool, SHORT_SIZES) if short else exchanges.measure(pool):
        yield {"table": "exchanges", **row}
    steps = orchestration.measure(pool, SHORT_PLAIN, SHORT_BLOCKS) if short else orchestration.measure(pool)
    for row in steps:
        yield {"table": "orchestration", **row}
    pool.close()


def targets(row: dict[str, Any]) -> list[tuple[str, float, float, str, bool]]:
    """(what, target, measured, unit, at least?) of a row that has one."""
    if row["table"] == "deadlines":
        if "worst_pct" not in row:
            return []
        what = f"{row['contest']}, {row['rate']:,} a second: late with {row['strategy']}"
        return [(what, row["worst_pct"], row["late_pct"], "% (the worst static one)", False)]
    if row["table"] == "hurry":
        if "usual_pct" not in row:
            return []
        what = f"deadlines of two of four functions, {row['rate']:,} a second: late"
        return [(what, row["usual_pct"], row["late_pct"], "% (equal shares)", False)]
    if row["table"] == "exchanges":
        what = f"exchange of {size_name(row['bytes'])}, as missed"
        return [(what, row["software_us"], row["missed_us"], "us (through software)", False)]
    what = f"{row['operator']}, 4 KiB: hardware beside software of the host"
    return [(what, 1, row["speedup_host"], "times", True)]


def tables(rows: list[dict[str, Any]]) -> list[Any]:
    """Rich tables of the rows."""
    from rich.table import Table

    def made(title: str, *heads: str) -> Table:
        table = Table(title=title, title_justify="left")
        for i, head in enumerate(heads):
            table.add_column(head, justify="right" if i else "left")
        return table

    strategies = list(dict.fromkeys(r["strategy"] for r in rows if r["table"] == "deadlines"))
    late = made(f"Commands later than {deadlines.FACTOR} times what they take alone, %", "functions want",
                "commands a second", *strategies)  # fmt: skip
    found = {(r["contest"], r["rate"], r["strategy"]): r["late_pct"] for r in rows if r["table"] == "deadlines"}
    for contest, rate in dict.fromkeys((contest, rate) for contest, rate, _ in found):
        cells = [found.get((contest, rate, strategy)) for strategy in strategies]
        late.add_row(contest, f"{rate:,}", *("-" if cell is None else f"{cell:.1f}" for cell in cells))
    hurry = made("Late of functions in a hurry (A) and of the others (B), %", "commands a second", "functions have",
                 "A", "B", "99 % of A within, us")  # fmt: skip
    brought = made("An operator's exchange, us", "bitstream", "words alone", "by the PF", "as missed",
                   "through software")  # fmt: skip
    done = made("4 KiB of data, us (of it the software's own)", "operator", *orchestration.WAYS,
                *(f"times: {way}" for way in orchestration.WAYS[1:]))  # fmt: skip
    for r in rows:
        if r["table"] == "hurry":
            hurry.add_row(f"{r['rate']:,}", r["strategy"], *(f"{r[f'late_{g}_pct']:.1f}" for g in "ab"),
                          f"{r['p99_a_us']:.1f}")  # fmt: skip
        elif r["table"] == "exchanges":
            brought.add_row(size_name(r["bytes"]), *(f"{r[f'{way}_us']:,.1f}"
                            for way in ("port", "pf", "missed", "software")))  # fmt: skip
        elif r["table"] == "orchestration":
            times = [f"{r[f'{way}_us']:.2f} ({r[f'{way}_own_us']:.2f})" for way in orchestration.WAYS]
            done.add_row(r["operator"], *times, *(f"{r[f'speedup_{way}']:.2f}" for way in orchestration.WAYS[1:]))
    return [t for t in (late, hurry, brought, done) if t.row_count]
