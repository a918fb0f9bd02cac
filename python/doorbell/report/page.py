# SPDX-License-Identifier: Apache-2.0
"""The report's page: figures in, HTML with plotly's own script inside, and the main plot as SVG."""

from __future__ import annotations

import html
import json
from typing import Any

from doorbell import __version__
from doorbell.paths import package_dir
from doorbell.report.figures import Figures
from doorbell.report.plots import (
    NAMES,
    area_plot,
    bandwidth,
    card,
    clocks,
    host,
    latency,
    links,
    main_design,
    neighbours,
    owners,
    queues,
    recorder,
    shares,
    size,
    stages,
)
from doorbell.report.tables import (
    area_table,
    block_table,
    card_table,
    host_table,
    link_table,
    neighbour_table,
    owner_table,
    peer_table,
    recorder_table,
    share_table,
    stage_table,
)


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
                    "(docs/ssd/performance.md). A mix of reads and writes uses both directions at once.",
                    "./doorbell bench --link gen4x8 --data-w 512 --rw randrw --rwmixread 70 --bs 4k --numjobs 4 "
                    "--iodepth 32"))  # fmt: skip
        out.append(("clocks", "Bandwidth over the clock", clocks(f), "",
                    "4 KiB random reads and writes, 4 jobs with 32 commands each, Gen3 x8, 256 bit, with the drive's "
                    "clock from 50 to 250 MHz. Where the line is straight the data path limits; where it bends, the "
                    "link does.",
                    "./doorbell bench --clock-mhz 100 --rw randread --bs 4k --numjobs 4 --iodepth 32"))  # fmt: skip
    if f.owners:
        out.append(("owners", "Many owners: throughput", owners(f), owner_table(f),
                    "4 KiB commands of 1 to 17 functions (the PF and its VFs) of one drive at once, about 128 in "
                    "flight in all; each has queues, memory and a part of the blocks of its own (Gen3 x8, 256 bit).",
                    "./doorbell bench --functions 17 --rw randread --bs 4k --iodepth 8"))  # fmt: skip
    if f.shares:
        out.append(("shares", "Many owners: weights, slots, limits", shares(f), share_table(f),
                    "4 KiB commands of the PF and two VFs that all want more than they get, 64 in flight each: what "
                    "they have when the PF gives weights, fewer command slots or a limit (docs/virtualization.md; Gen3 "
                    "x8, 256 bit).",
                    "./doorbell bench --functions 3 --fn-weights 4,2,1 --rw randread --bs 4k --iodepth 64"
                    ))  # fmt: skip
    if f.neighbours:
        out.append(("neighbours", "Many owners: a quiet one beside 16 busy ones", neighbours(f), neighbour_table(f),
                    "One function has a 4 KiB command in flight at a time, 16 others keep the drive busy. Grey: three "
                    "times what a command takes whose owner has an equal part of the link.",
                    "./doorbell bench --functions 17 --fn0 iodepth=1 --rw randread --bs 4k --iodepth 128"
                    ))  # fmt: skip
    if f.host:
        out.append(("host", "The host's side: db_host over block size", host(f), host_table(f),
                    "db_host drives an SSD on Gen2 x4 at 125 MHz, sequential, 256 commands in flight (64 above 16 KiB),"
                    " the setting of IntelliProp's NVMe Host Accelerator, whose published figures are the diamonds. "
                    "Theirs were bound by the SSD that they had, from 4 KiB on; here the drive is a model with 10 us a "
                    "write and 80 us a read, which the link bounds. Reads of 512 B are bound by those 80 us.",
                    "./doorbell bench --top db_host --link gen2x4 --clock-mhz 125 --rw write --bs 4k --iodepth 256 "
                    "--param NUM_CMDS=256 --write-us 10"))  # fmt: skip
    if f.recorder:
        out.append(
            (
                "recorder",
                "db_recorder over drives",
                recorder(f),
                recorder_table(f),
                "db_recorder deals one stream out to drives, each a model with 10 us a write and 80 us a read on a "
                "Gen3 x4 link of its own, 128 bit at 250 MHz, and reads it back. Diamonds: what DUNE published for "
                "its core with two real drives; here the links bound them. Grey: the lower of what the links and "
                "what the stream can carry (256 bit up to two drives, 512 for four; read-out always 128).",
                "./doorbell bench --top db_recorder --rw read --drives 2 --size 8m --write-us 10 --read-us 80",
            )
        )
    if f.card:
        out.append(("card", "db_vcsd: a card beside the bare SSD", card(f), card_table(f),
                    "One function of a card stores on an SSD that the card drives itself, peer to peer. Beside it the "
                    "same SSD (db_ssd on Gen3 x4, 2 us), driven directly by the same host. Below: functions times "
                    "SSDs, models with 20 us a read and 10 us a write (the card: Gen4 x8, 512 bit).",
                    "./doorbell bench --suite vcsd"))  # fmt: skip
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
