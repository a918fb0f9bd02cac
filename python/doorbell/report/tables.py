# SPDX-License-Identifier: Apache-2.0
"""The tables of the report."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any

from doorbell.bench.recorder import DUNE_PUBLISHED
from doorbell.report.figures import Figures
from doorbell.report.plots import AREA, NAMES, OPEN_EXPRESS, OWNER_NAMES, link_name, share_name, size
from doorbell.sweep.point import Row


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = "".join(f"<th>{html.escape(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>'


def peer_table(f: Figures) -> str:
    """Doorbell beside OpenExpress where both have figures."""
    out = []
    for bs, sides in OPEN_EXPRESS.items():
        for side, (gb, us) in sides.items():
            ours = next((r for r in f.blocks if r["bs"] == bs and r["rw"] == f"rand{side}"), None)
            if ours:
                out.append((f"{size(bs)} {side}", f"{gb:.1f}", f"{ours['mb_s'] / 1e3:.2f}", f"{us:.0f}",
                            f"{ours['mean_us']:.1f}", f"{ours['limit_pct']:.1f}"))  # fmt: skip
    other = "Open\u00adExpress"  # breaks there on a phone
    head = ("workload", f"{other}, GB/s", "Doorbell, GB/s", f"{other}, mean us", "Doorbell, mean us",
            "% of link's limit")  # fmt: skip
    return table(head, out)


def block_table(f: Figures) -> str:
    rows = [(NAMES[str(r["rw"])], size(r["bs"]), f"{r['mb_s'] / 1e3:.2f}", f"{r['kiops']:,.0f}", f"{r['mean_us']:,.1f}",
             f"{r['p50_us']:,.1f}", f"{r['p99_us']:,.1f}", f"{r['p999_us']:,.1f}", f"{r['limit_pct']:.1f}")
            for r in f.blocks]  # fmt: skip
    head = ("workload", "block", "GB/s", "kIOPS", "mean us", "p50 us", "p99 us", "p99.9 us", "% of limit")
    return f"<details><summary>All figures</summary>{table(head, rows)}</details>"


def stage_table(f: Figures) -> str:
    rows = [(side, s["stage"], f"{s['mean_ns']:.0f}", f"{s['p99_ns']:.0f}") for side, some in f.stages.items()
            for s in some]  # fmt: skip
    for side, some in f.stages.items():
        rows.append((side, "all", f"{sum(s['mean_ns'] for s in some):.0f}", ""))
    return f"<details><summary>All figures</summary>{table(('command', 'stage', 'mean ns', 'p99 ns'), rows)}</details>"


def link_table(f: Figures) -> str:
    rows = [(link_name(r).replace("<br>", ", "), str(r["rw"]), size(r["bs"]), f"{r['mb_s'] / 1e3:.2f}",
             f"{r['limit_mb_s'] / 1e3:.2f}", f"{r['limit_pct']:.1f}") for r in f.links]  # fmt: skip
    head = ("link, data path", "workload", "block", "GB/s", "limit, GB/s", "% of limit")
    return f"<details><summary>All figures</summary>{table(head, rows)}</details>"


def owner_table(f: Figures) -> str:
    rows = [(OWNER_NAMES[str(r["rw"])], f"{r['functions']}", f"{r['mb_s'] / 1e3:.2f}", f"{r['kiops']:,.0f}",
             f"{r['link_pct']:.1f}", f"{r['least_fair_pct']:.0f}") for r in f.owners]  # fmt: skip
    head = ("workload", "functions", "GB/s", "kIOPS", "% of limit", "least share, % of fair")
    return f"<details><summary>All figures</summary>{table(head, rows)}</details>"


def share_table(f: Figures) -> str:
    def each(row: Row, name: str, show: Callable[[float], str]) -> str:
        return " ".join(show(float(v)) for v in str(row[name]).split())

    rows = [(OWNER_NAMES[str(r["rw"])], share_name(r), each(r, "fn_mb_s", lambda v: f"{v / 1e3:.2f}"),
             each(r, "fn_p99_us", lambda v: f"{v:,.0f}"), f"{r['limit_pct']:.1f}", f"{r['least_fair_pct']:.0f}")
            for r in f.shares]  # fmt: skip
    return table(("workload", "setting", "GB/s of PF, VF 1, VF 2", "p99 us of each", "% of limit",
                  "least share, % of fair by weight"), rows)  # fmt: skip


def neighbour_table(f: Figures) -> str:
    rows = [(f"{OWNER_NAMES[str(r['rw'])]} beside {r['beside']}", *(f"{r[k]:,.1f}" for k in (
             "p50_us", "p99_us", "p999_us", "fair_us")), f"{r['p99_us'] / r['fair_us']:.1f}",
             f"{r['others_link_pct']:.1f}") for r in f.neighbours]  # fmt: skip
    return table(("4 KiB, one at a time", "p50 us", "p99 us", "p99.9 us", "fair share, us", "p99, fair shares",
                  "others, % of link"), rows)  # fmt: skip


def host_table(f: Figures) -> str:
    rows = [(f"{size(r['bs'])} {r['rw']}", f"{r['theirs']:,}" if r["theirs"] else "-", f"{r['ours']:,.0f}",
             f"{r['limit']:,.0f}", f"{r['kiops']:,.0f}") for r in f.host]  # fmt: skip
    head = ("block", "IntelliProp, MB/s", "db_host, MB/s", "link's limit", "db_host, kIOPS")
    return f"<details><summary>All figures</summary>{table(head, rows)}</details>"


def recorder_table(f: Figures) -> str:
    rows = []
    for r in f.recorder:
        read = r["what"] == "read-out"
        theirs = " to ".join(f"{x:.2f}" for x in DUNE_PUBLISHED[str(r["what"])]) if r["drives"] == 2 else "-"
        rows.append(
            (
                f"{r['drives']}, {r['what']}",
                theirs,
                f"{r['gb_s']:.2f}",
                f"{r['cycles']:.1f}",
                f"{r['links_gb_s']:.2f}",
                f"{r['of_links']:.1f}",
                f"{r['stream_gb_s']:.2f}",
                "-" if read else f"{r['peak_us']}",
                "-" if read else f"{r['lost']}",
            )
        )
    return table(("drives", "DUNE, GB/s", "db_recorder, GB/s", "cycles a block", "links, GB/s", "% of links",
                  "stream, GB/s", "peak write, us", "blocks lost"), rows)  # fmt: skip


def card_table(f: Figures) -> str:
    """Beside the bare SSD; functions times SSDs, where they were measured."""
    bare = [(f"{size(r['bs'])} {r['rw'].removeprefix('rand')}", f"{r['bare_mb_s']:,.0f}", f"{r['card_mb_s']:,.0f}",
             f"{r['of_bare_pct']:.1f}", f"{r['bare_us']:.2f}", f"{r['card_us']:.2f}", f"{r['added_us']:.2f}")
            for r in f.card if r["table"] == "bare"]  # fmt: skip
    out = table(
        ("random", "bare SSD, MB/s", "card, MB/s", "% of bare", "alone: bare, us", "card, us", "added, us"), bare
    )
    grid = [(r["rw"].removeprefix("rand"), f"{r['functions']}", f"{r['ssds']}", f"{r['mb_s']:,.0f}",
             f"{r['of_one_pct']:.1f}", f"{r['link_busy_pct']:.1f}", f"{r['of_streams_pct']:.1f}")
            for r in f.card if r["table"] == "grid"]  # fmt: skip
    if grid:
        out += table(
            (
                "4 KiB random",
                "functions",
                "SSDs",
                "MB/s",
                "% of as many times one",
                "card's link busy, %",
                "% of what CQ, CC carry",
            ),  # fmt: skip
            grid,
        )
    return out


def area_table(area: dict[str, Any]) -> str:
    rows = []
    for design, record in area.items():
        for what, name in (("total", "all"), ("without_cpu", "without processor")):
            if found := record.get(what):
                figures = (found.get(k) for k in AREA)
                rows.append((f"{design}, {name}", *("" if v is None else f"{v:,}" for v in figures)))
    return table(("design", *AREA.values()), rows)
