# SPDX-License-Identifier: Apache-2.0
"""The plots of the report, as plotly takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from doorbell.bench.recorder import DUNE_PUBLISHED
from doorbell.report.figures import Figures
from doorbell.report.plan import SHARES
from doorbell.sweep import point
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


def size(value: Any) -> str:
    """512 B, 4 KiB."""
    n = int(value)
    return f"{n >> 10} KiB" if n >= 1024 else f"{n} B"


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


OWNER_NAMES = {"randread": "random read", "randwrite": "random write", "randrw": "70/30 mix"}
OWNER_COLOURS = {**COLOURS, "randrw": "#3f7d4e"}


def owners(f: Figures) -> dict[str, Any]:
    """Throughput over how many functions work."""
    data = [line(rows, lambda r: r["functions"], lambda r: r["link_pct"], OWNER_NAMES[rw], OWNER_COLOURS[rw],
                 hovertemplate=f"{OWNER_NAMES[rw]}, %{{x}} functions<br>%{{y:.1f}} % of the limit<extra></extra>")
            for rw, rows in by_rw(f.owners).items()]  # fmt: skip
    counts = sorted({int(r["functions"]) for r in f.owners})
    x = axis("functions at work", type="log", tickmode="array", tickvals=counts, ticktext=[str(c) for c in counts])
    return {"data": data, "layout": layout(x, axis("% of the link's limit", range=[0, 104], dtick=20))}


def share_name(row: Row) -> str:
    """What the functions of a point have."""
    given = {k: v for k, v in row.items() if k in point.SHARES}
    return next(name for name, options in SHARES.items() if options == given)


def shares(f: Figures) -> dict[str, Any]:
    """What functions have of the drive with each setting."""
    data: list[dict[str, Any]] = []
    for rw, rows in by_rw(f.shares).items():
        rates = [[float(v) / 1e3 for v in str(r["fn_mb_s"]).split()] for r in rows]
        for fn in range(len(rates[0])):
            name = f"{'PF' if not fn else f'VF {fn}'}, {rw.removeprefix('rand')}"
            data.append({
                "type": "bar", "name": name, "x": [share_name(r) for r in rows], "y": [gb[fn] for gb in rates],
                "marker": {"color": OWNER_COLOURS[rw], "opacity": (1, 0.65, 0.35)[fn % 3]},
                "hovertemplate": f"{name}, %{{x}}<br>%{{y:.2f}} GB/s<extra></extra>",
            })  # fmt: skip
    return {"data": data, "layout": layout(axis("what the PF has set"), axis("GB/s"), barmode="group", bargap=0.3)}


def neighbours(f: Figures) -> dict[str, Any]:
    """What a quiet function waits beside busy ones; grey: three times the time of a fair share."""
    data: list[dict[str, Any]] = []
    for rw, rows in by_rw(f.neighbours).items():
        name = f"{OWNER_NAMES[rw]}, p99"
        data.append({
            "type": "bar", "name": name, "x": [r["beside"] for r in rows], "y": [r["p99_us"] for r in rows],
            "marker": {"color": OWNER_COLOURS[rw]}, "customdata": [r["p50_us"] for r in rows],
            "hovertemplate": f"{name}, beside %{{x}}<br>%{{y:.1f}} us, p50 %{{customdata:.1f}} us<extra></extra>",
        })  # fmt: skip
        data.append({
            "type": "scatter", "mode": "lines", "name": f"3 fair shares, {rw.removeprefix('rand')}",
            "x": [r["beside"] for r in rows], "y": [round(3 * float(r["fair_us"]), 2) for r in rows],
            "line": {"color": LIMIT, "width": 1.5, "dash": "dash" if rw == "randread" else "dot"},
        })  # fmt: skip
    y = axis("latency of a 4 KiB command, us", type="log")
    return {"data": data, "layout": layout(axis("what 16 other functions do"), y, barmode="group", bargap=0.3)}


def host(f: Figures) -> dict[str, Any]:
    """db_host over block size, with the published points of IntelliProp."""
    data = []
    for rw in ("read", "write"):
        rows = [r for r in f.host if r["rw"] == rw]
        data.append(
            line(
                rows,
                lambda r: r["bs"],
                lambda r: r["ours"] / 1e3,
                NAMES[rw],
                COLOURS[rw],
                hovertemplate=f"{NAMES[rw]}, %{{x}} B<br>%{{y:.2f}} GB/s<extra></extra>",
            )
        )
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
        data.append(
            line(
                rows,
                lambda r: r["drives"],
                lambda r: r["gb_s"],
                what,
                COLOURS[rw],
                hovertemplate=f"{what}, %{{x}} drives<br>%{{y:.2f}} GB/s<extra></extra>",
            )
        )
        limit = line(
            rows,
            lambda r: r["drives"],
            lambda r: min(r["links_gb_s"], r["stream_gb_s"]),
            f"limit, {what}",
            LIMIT,
            mode="lines",
        )
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


GREY = "#b9c4d0"


def card(f: Figures) -> dict[str, Any]:
    """db_vcsd and the bare SSD over block size; the card's part above it."""
    data = []
    for rw in ("randread", "randwrite"):
        rows = [r for r in f.card if r["table"] == "bare" and r["rw"] == rw]
        for who, name in (("card_mb_s", "through the card"), ("bare_mb_s", "bare SSD")):
            bar = {"type": "bar", "name": f"{NAMES[rw]}, {name}", "x": [size(r["bs"]) for r in rows],
                   "y": [r[who] / 1e3 for r in rows], "marker": {"color": COLOURS[rw] if who == "card_mb_s" else GREY},
                   "hovertemplate": f"{NAMES[rw]}, {name}<br>%{{y:.2f}} GB/s<extra></extra>"}  # fmt: skip
            data.append(bar)
    return {"data": data, "layout": layout(axis("block size"), axis("bandwidth, GB/s", rangemode="tozero"),
                                           barmode="group")}  # fmt: skip


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
