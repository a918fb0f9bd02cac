# SPDX-License-Identifier: Apache-2.0
"""The report's page: figures in, HTML with plotly's own script inside, and the main plot as SVG."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from doorbell import __version__
from doorbell.bench.recorder import DUNE_PUBLISHED
from doorbell.sweep.point import Row

COLOURS = {"read": "#1764ab", "randread": "#5aa5dc", "write": "#b3431d", "randwrite": "#eb9468"}
NAMES = {"read": "sequential read", "randread": "random read", "write": "sequential write",
         "randwrite": "random write"}  # fmt: skip
STAGE_COLOURS = ("#3b4a6b", "#5b7db1", "#8fb8de", "#e0b354", "#8a6fb0", "#1f8a70", "#c65d3b", "#d8879a", "#9aa0a6",
                 "#c9a27e")  # fmt: skip
LIMIT = "#888888"
WIDE = {"read", "write"}  # drawn broad and pale: the random line lies on the sequential one

OPEN_EXPRESS = {
    # block: {direction: (GB/s, us)}: 10 threads with 8 commands each, as published. The scan of the paper that these
    # come from prints the larger block as "6KB".
    4096: {"read": (3.0, 72.0), "write": (2.8, 77.0)},
    16384: {"read": (7.0, 175.0), "write": (4.7, 258.0)},
}


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
    area: dict[str, Any] = field(default_factory=dict)
    sources: str = ""
    backend: str = "rtl"
    quick: bool = False


def size(value: Any) -> str:
    """512 B, 4 KiB."""
    n = int(value)
    return f"{n >> 10} KiB" if n >= 1024 else f"{n} B"


# -------------------------------------------------------------------------------------------------------------- plots


def axis(title: str, **more: Any) -> dict[str, Any]:
    return {"title": {"text": title, "standoff": 8}, "automargin": True, "gridcolor": "#e6e6e6", "zeroline": False,
            "fixedrange": True, **more}  # fmt: skip


def layout(x: dict[str, Any], y: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "xaxis": x, "yaxis": y, "margin": {"l": 8, "r": 12, "t": 12, "b": 8}, "height": 430,
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": "#222"}, "paper_bgcolor": "#fff",
        "plot_bgcolor": "#fff", "hovermode": "closest",
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom", "font": {"size": 12}},
        **more,
    }  # fmt: skip


def block_axis(sizes: Sequence[int]) -> dict[str, Any]:
    return axis("block size", type="log", tickmode="array", tickvals=list(sizes), ticktext=[size(s) for s in sizes],
                tickangle=-45)  # fmt: skip


def line(rows: Sequence[Row], x: Callable[[Row], Any], y: Callable[[Row], float], name: str, colour: str,
         **more: Any) -> dict[str, Any]:  # fmt: skip
    return {"type": "scatter", "mode": "lines+markers", "name": name, "x": [x(r) for r in rows],
            "y": [round(y(r), 4) for r in rows], "line": {"color": colour, "width": 2}, "marker": {"size": 6},
            **more}  # fmt: skip


def peer_points(index: int, unit: str) -> list[dict[str, Any]]:
    """OpenExpress' published figures: 0 GB/s, 1 latency."""
    out = []
    for side, colour in (("read", COLOURS["read"]), ("write", COLOURS["write"])):
        out.append({
            "type": "scatter", "mode": "markers", "name": f"OpenExpress {side}", "x": list(OPEN_EXPRESS),
            "y": [v[side][index] for v in OPEN_EXPRESS.values()],
            "marker": {"symbol": "diamond", "size": 12, "color": colour, "line": {"color": "#000", "width": 1}},
            "hovertemplate": f"OpenExpress {side}, %{{x}} B<br>%{{y}} {unit}<extra></extra>",
        })  # fmt: skip
    return out


def broad(rw: str) -> dict[str, Any]:
    """How a sequential line is drawn."""
    if rw not in WIDE:
        return {}
    return {"line": {"color": COLOURS[rw], "width": 7}, "mode": "lines", "opacity": 0.4}


def by_rw(rows: Sequence[Row]) -> dict[str, list[Row]]:
    out: dict[str, list[Row]] = {}
    for row in rows:
        out.setdefault(str(row["rw"]), []).append(row)
    return out


def bandwidth(f: Figures) -> dict[str, Any]:
    groups = by_rw(f.blocks)
    data = [line(rows, lambda r: r["bs"], lambda r: r["mb_s"] / 1e3, NAMES[rw], COLOURS[rw], **broad(rw),
                 hovertemplate=f"{NAMES[rw]}, %{{x}} B<br>%{{y:.2f}} GB/s<extra></extra>")
            for rw, rows in groups.items()]  # fmt: skip
    for rw, name, dash in (("randread", "link's limit, read", "dash"), ("randwrite", "link's limit, write", "dot")):
        limit = line(groups[rw], lambda r: r["bs"], lambda r: r["limit_mb_s"] / 1e3, name, LIMIT, mode="lines")
        limit["line"].update(dash=dash, width=1.5)
        data.append(limit)
    sizes = [int(r["bs"]) for r in next(iter(groups.values()))]
    return {"data": data + peer_points(0, "GB/s"),
            "layout": layout(block_axis(sizes), axis("bandwidth, GB/s", rangemode="tozero"))}  # fmt: skip


def latency(f: Figures) -> dict[str, Any]:
    groups = by_rw(f.blocks)
    data = [line(rows, lambda r: r["bs"], lambda r: r["mean_us"], NAMES[rw], COLOURS[rw], **broad(rw),
                 hovertemplate=f"{NAMES[rw]}, %{{x}} B<br>mean %{{y:.1f}} us<extra></extra>")
            for rw, rows in groups.items()]  # fmt: skip
    sizes = [int(r["bs"]) for r in next(iter(groups.values()))]
    ticks = [n * 10**e for e in range(5) for n in (1, 2, 5)]
    return {"data": data + peer_points(1, "us"), "layout": layout(
        block_axis(sizes), axis("mean latency, us", type="log", tickmode="array", tickvals=ticks,
                                ticktext=[f"{t:,}" for t in ticks]))}  # fmt: skip


def queues(f: Figures) -> dict[str, Any]:
    data = [line(rows, lambda r: r["numjobs"], lambda r: r["kiops"] / 1e3, NAMES[rw], COLOURS[rw],
                 hovertemplate=f"{NAMES[rw]}, %{{x}} queues<br>%{{y:.3f}} million IOPS<extra></extra>")
            for rw, rows in by_rw(f.queues).items()]  # fmt: skip
    counts = sorted({int(r["numjobs"]) for r in f.queues})
    x = axis("queue pairs, 8 commands in flight on each", type="log", tickmode="array", tickvals=counts,
             ticktext=[str(c) for c in counts])  # fmt: skip
    return {"data": data, "layout": layout(x, axis("4 KiB commands, million IOPS", rangemode="tozero"))}


def link_name(row: Row) -> str:
    link = str(row.get("link", "gen3x8"))
    return f"Gen{link[3]} x{link[5:]}<br>{row.get('data_w', 256)} bit"


def links(f: Figures) -> dict[str, Any]:
    data = []
    shades = {"randread": ("#1764ab", "#5aa5dc", "#a9d0ee"), "randwrite": ("#b3431d", "#eb9468", "#f6c9b0"),
              "randrw": ("#3f7d4e", "#82b98d", "#c0dec6")}  # fmt: skip
    sizes = sorted({int(r["bs"]) for r in f.links})
    names = {"randread": "read", "randwrite": "write", "randrw": "70/30"}
    for rw, rows in by_rw(f.links).items():
        for i, bs in enumerate(sizes):
            mine = [r for r in rows if int(r["bs"]) == bs]
            data.append({
                "type": "bar", "name": f"{names[rw]} {size(bs)}", "x": [link_name(r) for r in mine],
                "y": [round(float(r["limit_pct"]), 2) for r in mine], "marker": {"color": shades[rw][i % 3]},
                "customdata": [round(float(r["mb_s"]) / 1e3, 2) for r in mine],
                "hovertemplate": f"{names[rw]} {size(bs)}<br>%{{y:.1f}} % of the limit, %{{customdata}} GB/s"
                                 "<extra></extra>",
            })  # fmt: skip
    y = axis("% of the link's limit", range=[0, 104], dtick=20)
    return {"data": data, "layout": layout(axis(""), y, barmode="group", bargap=0.12)}


def clocks(f: Figures) -> dict[str, Any]:
    data = [line(rows, lambda r: r.get("clock_mhz", 250), lambda r: r["mb_s"] / 1e3, NAMES[rw], COLOURS[rw],
                 hovertemplate=f"{NAMES[rw]}, %{{x}} MHz<br>%{{y:.2f}} GB/s<extra></extra>")
            for rw, rows in by_rw(f.clocks).items()]  # fmt: skip
    mhz = sorted({r.get("clock_mhz", 250) for r in f.clocks})
    x = axis("clock, MHz", tickmode="array", tickvals=mhz)
    return {"data": data, "layout": layout(x, axis("4 KiB bandwidth, GB/s", rangemode="tozero"))}


def stages(f: Figures) -> dict[str, Any]:
    """One bar a command, cut into its stages; a stage has one colour in both."""
    names = list(dict.fromkeys(s["stage"] for rows in f.stages.values() for s in rows))
    shown: set[str] = set()
    data = []
    # A trace for each stage of each side: they pass data and media in different orders.
    for side, rows in f.stages.items():
        for s in rows:
            name = s["stage"]
            data.append({
                "type": "bar", "orientation": "h", "name": name, "y": [side], "x": [round(s["mean_ns"], 1)],
                "marker": {"color": STAGE_COLOURS[names.index(name) % len(STAGE_COLOURS)]}, "legendgroup": name,
                "showlegend": name not in shown, "hovertemplate": f"{side}, {name}<br>%{{x:.0f}} ns<extra></extra>",
            })  # fmt: skip
            shown.add(name)
    return {"data": data, "layout": layout(
        axis("mean time of a 4 KiB command, ns"), axis("", autorange="reversed", showgrid=False), barmode="stack",
        height=330, legend={**layout({}, {})["legend"], "traceorder": "normal"})}  # fmt: skip


def host(f: Figures) -> dict[str, Any]:
    """db_host over block size, with the published points of IntelliProp."""
    data = []
    for rw in ("read", "write"):
        rows = [r for r in f.host if r["rw"] == rw]
        data.append(line(rows, lambda r: r["bs"], lambda r: r["ours"] / 1e3, NAMES[rw], COLOURS[rw],
                         hovertemplate=f"{NAMES[rw]}, %{{x}} B<br>%{{y:.2f}} GB/s<extra></extra>"))
        limit = line(rows, lambda r: r["bs"], lambda r: r["limit"] / 1e3, f"link's limit, {rw}", LIMIT, mode="lines")
        limit["line"].update(dash="dash" if rw == "read" else "dot", width=1.5)
        data.append(limit)
        theirs = [r for r in rows if r["theirs"]]
        data.append({
            "type": "scatter", "mode": "markers", "name": f"IntelliProp {rw}", "x": [r["bs"] for r in theirs],
            "y": [r["theirs"] / 1e3 for r in theirs],
            "marker": {"symbol": "diamond", "size": 12, "color": COLOURS[rw], "line": {"color": "#000", "width": 1}},
            "hovertemplate": f"IntelliProp {rw}, %{{x}} B<br>%{{y}} GB/s<extra></extra>",
        })  # fmt: skip
    sizes = sorted({int(r["bs"]) for r in f.host})
    return {"data": data, "layout": layout(block_axis(sizes), axis("bandwidth, GB/s", rangemode="tozero"))}


def recorder(f: Figures) -> dict[str, Any]:
    """db_recorder over drives, with what DUNE published for two."""
    data = []
    for what, rw in (("capture", "write"), ("read-out", "read")):
        rows = [r for r in f.recorder if r["what"] == what]
        data.append(line(rows, lambda r: r["drives"], lambda r: r["gb_s"], what, COLOURS[rw],
                         hovertemplate=f"{what}, %{{x}} drives<br>%{{y:.2f}} GB/s<extra></extra>"))
        limit = line(rows, lambda r: r["drives"], lambda r: min(r["links_gb_s"], r["stream_gb_s"]), f"limit, {what}",
                     LIMIT, mode="lines")
        limit["line"].update(dash="dash" if rw == "read" else "dot", width=1.5)
        data.append(limit)
        theirs = DUNE_PUBLISHED[what]
        data.append({
            "type": "scatter", "mode": "markers", "name": f"DUNE {what}", "x": [2] * len(theirs), "y": list(theirs),
            "marker": {"symbol": "diamond", "size": 12, "color": COLOURS[rw], "line": {"color": "#000", "width": 1}},
            "hovertemplate": f"DUNE {what}, %{{x}} drives<br>%{{y}} GB/s<extra></extra>",
        })  # fmt: skip
    counts = sorted({int(r["drives"]) for r in f.recorder})
    return {"data": data, "layout": layout(axis("drives", tickmode="array", tickvals=counts),
                                           axis("bandwidth, GB/s", rangemode="tozero"))}  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- tables


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
        rows.append((f"{r['drives']}, {r['what']}", theirs, f"{r['gb_s']:.2f}", f"{r['cycles']:.1f}",
                     f"{r['links_gb_s']:.2f}", f"{r['of_links']:.1f}", f"{r['stream_gb_s']:.2f}",
                     "-" if read else f"{r['peak_us']}", "-" if read else f"{r['lost']}"))
    return table(("drives", "DUNE, GB/s", "db_recorder, GB/s", "cycles a block", "links, GB/s", "% of links",
                  "stream, GB/s", "peak write, us", "blocks lost"), rows)  # fmt: skip


AREA = {"lut": "LUT", "ff": "FF", "bram": "BRAM", "uram": "URAM", "dsp": "DSP", "levels": "logic levels"}


def main_design(area: dict[str, Any]) -> str:
    """The one whose modules are drawn."""
    return next((k for k in area if "xcup" in k and "256" in k), next(iter(area)))


def area_plot(area: dict[str, Any]) -> dict[str, Any]:
    """LUT and FF of the largest modules."""
    modules = area[main_design(area)]["modules"]
    names = sorted(modules, key=lambda m: -modules[m]["lut"])[:14]
    data = [{"type": "bar", "orientation": "h", "name": AREA[what], "y": names, "x": [modules[m][what] for m in names],
             "marker": {"color": colour}, "hovertemplate": f"%{{y}}<br>%{{x:,}} {AREA[what]}<extra></extra>"}
            for what, colour in (("lut", COLOURS["read"]), ("ff", "#b9c4d0"))]  # fmt: skip
    y = axis("", autorange="reversed", showgrid=False)
    return {"data": data, "layout": layout(axis("LUT, FF of the largest modules"), y, height=520, barmode="group")}


def area_table(area: dict[str, Any]) -> str:
    rows = []
    for design, record in area.items():
        for what, name in (("total", "all"), ("without_cpu", "without processor")):
            if found := record.get(what):
                figures = (found.get(k) for k in AREA)
                rows.append((f"{design}, {name}", *("" if v is None else f"{v:,}" for v in figures)))
    return table(("design", *AREA.values()), rows)


# --------------------------------------------------------------------------------------------------------------- page


def sections(f: Figures) -> list[tuple[str, str, dict[str, Any], str, str, str]]:
    """(id, title, plot, table, text, command) of each."""
    rtl = f.backend == "rtl"
    out: list[tuple[str, str, dict[str, Any], str, str, str]] = [
        ("bandwidth", "Bandwidth over block size", bandwidth(f), peer_table(f),
         "10 jobs with 8 commands in flight each, on a Gen3 x8 link with a 256-bit data path. Grey: the most that the "
         "link allows, with all protocol overhead. Diamonds: what OpenExpress published for the same load on its FPGA "
         "(the scan of its paper prints the larger block as 6KB; it is read as 16 KiB here).",
         "./doorbell bench --rw randread --bs 4k --numjobs 10 --iodepth 8"),
        ("latency", "Latency over block size", latency(f), block_table(f),
         "Mean latency of the same runs, from the doorbell's write to the interrupt's arrival. With 80 commands in "
         "flight nearly all of it is waiting for the link. OpenExpress was measured with fio on an 8-core host "
         "at 3.3 GHz; here the host's software takes no time.",
         "./doorbell sweep sweeps/blocks.yaml"),
    ]  # fmt: skip
    if f.stages:
        out.append(("stages", "Where the time of one command goes", stages(f), stage_table(f),
                    "One 4 KiB command at a time, alone in the drive: the stages of a read and of a write, from the "
                    "doorbell to the interrupt. Host memory (400 ns a read) and media (200 ns) are included.",
                    "./doorbell bench --rw randread --bs 4k --iodepth 1 --stages"))  # fmt: skip
    out.append(("queues", "Throughput over queues", queues(f), "",
                "4 KiB random reads and writes with 8 commands in flight on every queue pair: how many queues it takes "
                "to fill the link (Gen3 x8, 256 bit).",
                "./doorbell bench --rw randread --bs 4k --iodepth 8 --numjobs 4"))  # fmt: skip
    if rtl:
        out.append(("links", "Share of the link's limit", links(f), link_table(f),
                    "Each link with the data path made for it, 4 jobs with 32 commands each. 100 % is what the "
                    "link allows for that workload, computed from the bytes that must cross it "
                    "(docs/performance.md). A mix of reads and writes uses both directions at once.",
                    "./doorbell bench --link gen4x8 --data-w 512 --rw randrw --rwmixread 70 --bs 4k --numjobs 4 "
                    "--iodepth 32"))  # fmt: skip
        out.append(("clocks", "Bandwidth over the clock", clocks(f), "",
                    "4 KiB random reads and writes, 4 jobs with 32 commands each, Gen3 x8, 256 bit, with the drive's "
                    "clock from 50 to 250 MHz. Where the line is straight the data path limits; where it bends, the "
                    "link does.",
                    "./doorbell bench --clock-mhz 100 --rw randread --bs 4k --numjobs 4 --iodepth 32"))  # fmt: skip
    if f.host:
        out.append(("host", "The host's side: db_host over block size", host(f), host_table(f),
                    "db_host drives an SSD on Gen2 x4 at 125 MHz, sequential, 256 commands in flight (64 above 16 KiB),"
                    " the setting of IntelliProp's NVMe Host Accelerator, whose published figures are the diamonds. "
                    "Theirs were bound by the SSD that they had, from 4 KiB on; here the drive is a model with 10 us a "
                    "write and 80 us a read, which the link bounds. Reads of 512 B are bound by those 80 us.",
                    "./doorbell bench --top db_host --link gen2x4 --clock-mhz 125 --rw write --bs 4k --iodepth 256 "
                    "--param NUM_CMDS=256 --write-us 10"))  # fmt: skip
    if f.recorder:
        out.append(("recorder", "db_recorder over drives", recorder(f), recorder_table(f),
                    "db_recorder deals one stream out to drives, each a model with 10 us a write and 80 us a read on a "
                    "Gen3 x4 link of its own, 128 bit at 250 MHz, and reads it back. Diamonds: what DUNE published for "
                    "its core with two real drives; here the links bound them. Grey: the lower of what the links and "
                    "what the stream can carry (256 bit up to two drives, 512 for four; read-out always 128).",
                    "./doorbell bench --top db_recorder --rw read --drives 2 --size 8m --write-us 10 --read-us 80"))
    if f.area:
        out.append(("area", "Area", area_plot(f.area), area_table(f.area),
                    f"What the design needs on an FPGA, found by synthesis with yosys; the plot is of "
                    f"{main_design(f.area)}. docs/area.md says how it is measured; logic levels are the most LUTs "
                    "between two registers.",
                    "./doorbell synth --top db_ssd --target xcup"))  # fmt: skip
    return out


STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: #222;
  background: #f4f5f7; }
main { max-width: 1000px; margin: 0 auto; padding: 16px; }
h1 { font-size: 1.6rem; margin: .4rem 0; line-height: 1.2; }
h2 { font-size: 1.2rem; margin: 0 0 .4rem; }
section { background: #fff; border: 1px solid #dfe2e6; border-radius: 6px; padding: 16px; margin: 16px 0; }
p { margin: .5rem 0; max-width: 75ch; }
nav { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: .95rem; }
nav a { padding: 4px 0; }
a { color: #1764ab; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin: 14px 0; }
.facts div { background: #fff; border: 1px solid #dfe2e6; border-radius: 6px; padding: 8px 12px; }
.facts b { display: block; font-size: 1.3rem; }
.facts span { font-size: .85rem; color: #555; }
.plot { width: 100%; min-height: 330px; }
.wide { overflow-x: auto; margin: 10px 0; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 10px; border-bottom: 1px solid #e4e6e9; text-align: right; }
th { vertical-align: bottom; font-weight: 600; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td:first-child { white-space: nowrap; }
code { background: #eef0f3; padding: 2px 5px; border-radius: 4px; font-size: .85rem; overflow-wrap: anywhere; }
summary { cursor: pointer; padding: 6px 0; color: #1764ab; }
footer { font-size: .85rem; color: #555; }
@media (max-width: 600px) { main { padding: 10px; } section { padding: 12px 10px; } h1 { font-size: 1.35rem; }
  th, td { padding: 4px 1px 4px 5px; font-size: .7rem; }
  td:first-child { white-space: normal; } .plot { margin: 0 -4px; width: auto; } }
"""

SCRIPT = """
const plots = JSON.parse(document.getElementById('plots').textContent);
const narrow = window.matchMedia('(max-width: 600px)').matches;
for (const [id, plot] of Object.entries(plots)) {
  const e = document.getElementById('plot-' + id);
  if (narrow) {
    plot.layout.font.size = 11; plot.layout.legend.font.size = 11;
    plot.layout.height += 30 + 14 * plot.data.length;
  }
  Plotly.newPlot(e, plot.data, plot.layout, {responsive: true, displayModeBar: false});
}
"""


def facts(f: Figures) -> str:
    """The few figures to take along."""
    out = []
    for rw, bs in (("randread", 4096), ("randwrite", 4096), ("randread", 512)):
        row = next((r for r in f.blocks if r["rw"] == rw and r["bs"] == bs), None)
        if row:
            value = f"{row['mb_s'] / 1e3:.2f} GB/s" if bs == 4096 else f"{row['kiops'] / 1e3:.1f} million IOPS"
            out.append((value, f"{NAMES[rw]} of {size(bs)}, {row['limit_pct']:.0f} % of the link's limit"))
    for side in ("read", "write"):
        if side in f.stages:
            out.append((f"{sum(s['mean_ns'] for s in f.stages[side]) / 1e3:.2f} us", f"one 4 KiB {side} alone"))
    cells = "".join(f"<div><b>{html.escape(a)}</b><span>{html.escape(b)}</span></div>" for a, b in out)
    return f'<div class="facts">{cells}</div>'


def script_of_plotly() -> str:
    """plotly.js, from the Python package of the same name."""
    from doorbell.paths import package_dir

    return (package_dir("plotly") / "package_data" / "plotly.min.js").read_text()


def page(f: Figures) -> str:
    """The whole page; it loads nothing from anywhere."""
    parts = sections(f)
    plots = {ident: plot for ident, _, plot, _, _, _ in parts}
    data = json.dumps(plots, separators=(",", ":")).replace("<", "\\u003c")
    menu = "".join(f'<a href="#{ident}">{html.escape(title)}</a>' for ident, title, *_ in parts)
    body = []
    for ident, title, _, text_table, text, command in parts:
        body.append(
            f'<section id="{ident}"><h2>{html.escape(title)}</h2>'
            f'<div class="plot" id="plot-{ident}"></div><p>{html.escape(text)}</p>{text_table}'
            f"<p>Again: <code>{html.escape(command)}</code></p></section>"
        )
    kind = "of the RTL" if f.backend == "rtl" else "of the functional model (rough timing, not the RTL's)"
    short = " This is a quick report of a few short runs." if f.quick else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Doorbell: how fast</title>'
        f'<link rel="icon" href="data:,"><style>{STYLE}</style></head><body><main>'
        "<h1>Doorbell: how fast, beside what the link allows</h1>"
        f"<p>An NVMe SSD controller without a processor in the I/O path. Figures are {kind}, in simulated time at "
        "250 MHz unless said, with MPS 256 and MRRS 512 bytes; the same sources give the same figures on any "
        f"machine.{short}</p><nav>{menu}</nav>{facts(f)}{''.join(body)}"
        f"<footer>Doorbell {__version__}, sources {f.sources}. Made by <code>./doorbell report</code>. "
        "MB and GB are powers of ten, KiB powers of two.</footer></main>"
        f'<script type="application/json" id="plots">{data}</script><script>{script_of_plotly()}</script>'
        f"<script>{SCRIPT}</script></body></html>\n"
    )


# ---------------------------------------------------------------------------------------------------------------- SVG


STROKES = ('stroke-width="2"', 'stroke-width="7" opacity="0.4"')


def bandwidth_svg(f: Figures) -> str:
    """The main plot as a small picture that any viewer shows."""
    from math import log2

    left, right, top, bottom, width, height = 58, 32, 64, 62, 760, 420
    groups = by_rw(f.blocks)
    sizes = [int(r["bs"]) for r in next(iter(groups.values()))]
    values = [r[k] / 1e3 for r in f.blocks for k in ("mb_s", "limit_mb_s")]
    peak = max(2, int(max([*values, 7.0])) + 1)

    def x(bs: float) -> float:
        return left + (width - left - right) * (log2(bs / sizes[0]) / max(1e-9, log2(sizes[-1] / sizes[0])))

    def y(gb: float) -> float:
        return height - bottom - (height - top - bottom) * gb / peak

    def text(px: float, py: float, words: str, anchor: str = "middle", more: str = "") -> str:
        return f'<text x="{px:.1f}" y="{py:.1f}" text-anchor="{anchor}" {more}>{html.escape(words)}</text>'

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#222"><title>Bandwidth over block size</title>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>'
    ]  # fmt: skip
    for gb in range(peak + 1):
        out.append(f'<path d="M{left} {y(gb):.1f}H{width - right}" stroke="#e6e6e6"/>')
        out.append(text(left - 8, y(gb) + 4, str(gb), "end"))
    for bs in sizes:
        out.append(text(x(bs), height - bottom + 18, size(bs)))
    out.append(text((left + width - right) / 2, height - 14, "block size; Gen3 x8, 10 jobs with 8 commands each"))
    turned = f'transform="translate(18 {(top + height - bottom) / 2}) rotate(-90)"'
    out.append(text(0, 0, "bandwidth, GB/s", more=turned))

    def draw(rows: Sequence[Row], key: str, colour: str, style: str, dots: bool) -> None:
        way = " ".join(f"{x(r['bs']):.1f},{y(r[key] / 1e3):.1f}" for r in rows)
        out.append(f'<polyline points="{way}" fill="none" stroke="{colour}" {style}/>')
        for r in rows if dots else []:
            out.append(f'<circle cx="{x(r["bs"]):.1f}" cy="{y(r[key] / 1e3):.1f}" r="3" fill="{colour}"/>')

    draw(groups["randread"], "limit_mb_s", LIMIT, 'stroke-width="1.5" stroke-dasharray="7 4"', False)
    draw(groups["randwrite"], "limit_mb_s", LIMIT, 'stroke-width="1.5" stroke-dasharray="2 3"', False)
    for rw, rows in groups.items():
        draw(rows, "mb_s", COLOURS[rw], STROKES[rw in WIDE], rw not in WIDE)
    for bs, sides in OPEN_EXPRESS.items():
        for side, (gb, _) in sides.items():
            if sizes[0] <= bs <= sizes[-1]:
                out.append(diamond(x(bs), y(gb), COLOURS[side]))
    legend = [(NAMES[rw], f'stroke="{COLOURS[rw]}" {STROKES[rw in WIDE]}', "") for rw in groups]
    legend += [("link's limit, read", f'stroke="{LIMIT}" stroke-dasharray="7 4"', ""),
               ("link's limit, write", f'stroke="{LIMIT}" stroke-dasharray="2 3"', ""),
               ("OpenExpress read", "", COLOURS["read"]), ("OpenExpress write", "", COLOURS["write"])]  # fmt: skip
    for i, (words, stroke, mark) in enumerate(legend):
        px, py = left + (i % 4) * 172, 20 + (i // 4) * 20
        out.append(diamond(px + 12, py, mark) if mark else f'<path d="M{px} {py}h24" {stroke}/>')
        out.append(text(px + 30, py + 4, words, "start"))
    return "\n".join([*out, "</svg>\n"])


def diamond(px: float, py: float, colour: str) -> str:
    return f'<path d="M{px:.1f} {py - 7:.1f}l7 7l-7 7l-7 -7z" fill="{colour}" stroke="#000"/>'
