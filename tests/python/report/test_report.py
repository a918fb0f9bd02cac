# SPDX-License-Identifier: Apache-2.0
"""The report: what it measures, what stands on the page, and that the page needs nothing from outside."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from doorbell import report, sweep
from doorbell.errors import UserError
from doorbell.report import measuring
from doorbell.report import page as report_page
from doorbell.report.drawing import bandwidth_svg
from doorbell.sweep import point

ROOT = Path(__file__).resolve().parents[3]
SVG = "{http://www.w3.org/2000/svg}"


def invented(points: list[point.Point]) -> list[point.Row]:
    """Rows with figures that can be told apart."""
    return [{**p, **{name: 1000.0 + 10 * i + j for j, name in enumerate(point.FIGURES)}} for i, p in enumerate(points)]


def figures(**more: Any) -> report_page.Figures:
    plan = report.make_plan(False, "rtl")
    return report_page.Figures(
        invented(plan.blocks), invented(plan.queues), invented(plan.links), invented(plan.clocks), sources="abc", **more
    )


STAGES = {
    "read": [{"stage": "doorbell", "mean_ns": 10.0, "p99_ns": 12.0}, {"stage": "media", "mean_ns": 300.0, "p99_ns": 1}],
    "write": [{"stage": "doorbell", "mean_ns": 20.0, "p99_ns": 22.0}],
}  # fmt: skip


HOST = [
    {"what": f"{bs} {rw}", "bs": bs, "rw": rw, "theirs": theirs, "ours": 1500.0 + bs, "limit": 9000.0, "kiops": 7.0}
    for bs, theirs in ((512, 179), (4096, 732), (131072, None)) for rw in ("write", "read")
]  # fmt: skip


RECORDER = [
    {"drives": n, "what": what, "gb_s": n + gb, "cycles": 1.0, "links_gb_s": 3.0 * n, "of_links": 12.5,
     "stream_gb_s": 8.0, "peak_us": 17, "lost": 3}
    for n in (1, 2, 4) for what, gb in (("capture", 0.25), ("read-out", 0.5))
]  # fmt: skip


OWNERS = [{"rw": rw, "functions": n, "kiops": 1700.0, "mb_s": 7000.0, "link_pct": 90.0 + n, "least_fair_pct": 98.7}
          for rw in ("randread", "randrw") for n in (1, 17)]  # fmt: skip
NEIGHBOURS = [
    {"rw": rw, "beside": beside, "fair_us": 11.0, "p50_us": us, "p99_us": us + 1, "p999_us": us + 2,
     "others_link_pct": 97.25}
    for rw in ("randread", "randwrite") for beside, us in (("4 KiB reads", 66.0), ("deallocation", 1.5))
]  # fmt: skip


AREA = {
    "db_ssd xcup DATA_W=256": {
        "modules": {"a": {"lut": 12, "ff": 3}, "b": {"lut": 20093, "ff": 1}},
        "total": {"lut": 20105, "ff": 4, "bram": 12.5, "uram": 0, "dsp": 0, "levels": 9},
    }
}


def plots_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="plots">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1])


def test_plan_is_what_the_issue_asks_for() -> None:
    plan = report.make_plan(False, "rtl")
    assert {(p["rw"], p["bs"]) for p in plan.blocks} == {(rw, 512 << i) for rw in report.RW for i in range(9)}
    assert {(p["numjobs"], p["iodepth"]) for p in plan.blocks} == {(10, 8)}
    assert {(p["link"], p["data_w"]) for p in plan.links} == {("gen3x4", 128), ("gen3x8", 256), ("gen4x8", 512)}
    assert {p["numjobs"] for p in plan.queues} == {1, 2, 4, 8, 16, 32}
    # All of a plan goes through the same checks as a sweep's file, and moves little enough to take minutes.
    assert all(point.clean(p, "x") == p for p in plan.points())
    moved = sum(int(p["bs"]) * int(p["numjobs"]) * int(p["number_ios"]) for p in plan.points())
    assert moved < 1 << 30


def test_plots_hold_the_figures_that_were_measured() -> None:
    f = figures(stages=STAGES)
    plots = plots_of(report_page.page(f))
    lines = {trace["name"]: trace for trace in plots["bandwidth"]["data"]}
    for rw, name in report_page.NAMES.items():
        rows = [r for r in f.blocks if r["rw"] == rw]
        assert lines[name]["x"] == [r["bs"] for r in rows]
        assert lines[name]["y"] == pytest.approx([r["mb_s"] / 1e3 for r in rows])
    assert lines["OpenExpress read"]["x"] == [4096, 16384]
    assert lines["OpenExpress read"]["y"] == [3.0, 7.0] and lines["OpenExpress write"]["y"] == [2.8, 4.7]
    slow = {trace["name"]: trace["y"] for trace in plots["latency"]["data"]}
    assert slow["OpenExpress read"] == [72.0, 175.0] and slow["OpenExpress write"] == [77.0, 258.0]
    assert slow["random read"] == pytest.approx([r["mean_us"] for r in f.blocks if r["rw"] == "randread"])
    shares = [y for trace in plots["links"]["data"] for y in trace["y"]]
    assert sorted(shares) == pytest.approx(sorted(r["limit_pct"] for r in f.links))
    stages = [(*trace["y"], trace["name"], *trace["x"], trace["showlegend"]) for trace in plots["stages"]["data"]]
    assert stages == [
        ("read", "doorbell", 10.0, True), ("read", "media", 300.0, True), ("write", "doorbell", 20.0, False)
    ]  # fmt: skip


def test_host_stands_beside_what_was_published() -> None:
    page = report_page.page(figures(host=HOST))
    lines = {trace["name"]: trace for trace in plots_of(page)["host"]["data"]}
    assert lines["sequential write"]["x"] == [512, 4096, 131072]
    assert lines["sequential write"]["y"] == pytest.approx([2.012, 5.596, 132.572])
    assert lines["link's limit, read"]["y"] == [9.0] * 3
    assert (lines["IntelliProp write"]["x"], lines["IntelliProp write"]["y"]) == ([512, 4096], [0.179, 0.732])
    assert "732" in page and "128 KiB write" in page


def test_many_owners() -> None:
    page = report_page.page(figures(owners=OWNERS, neighbours=NEIGHBOURS))
    plots = plots_of(page)
    lines = {trace["name"]: trace for trace in plots["owners"]["data"]}
    assert (lines["70/30 mix"]["x"], lines["70/30 mix"]["y"]) == ([1, 17], [91.0, 107.0])
    bars = {trace["name"]: trace for trace in plots["neighbours"]["data"]}
    assert (bars["random write, p99"]["x"], bars["random write, p99"]["y"]) == (
        ["4 KiB reads", "deallocation"], [67.0, 2.5])  # fmt: skip
    assert bars["3 fair shares, read"]["y"] == [33.0, 33.0]
    assert "random read beside deallocation" in page and "97.2" in page and "6.1" in page
    assert "owners" not in plots_of(report_page.page(figures()))


def test_recorder_stands_beside_what_was_published() -> None:
    page = report_page.page(figures(recorder=RECORDER))
    lines = {trace["name"]: trace for trace in plots_of(page)["recorder"]["data"]}
    assert (lines["capture"]["x"], lines["capture"]["y"]) == ([1, 2, 4], [1.25, 2.25, 4.25])
    assert lines["limit, capture"]["y"] == [3.0, 6.0, 8.0] and lines["read-out"]["y"] == [1.5, 2.5, 4.5]
    assert (lines["DUNE capture"]["x"], lines["DUNE capture"]["y"]) == ([2, 2], [4.36, 4.79])
    assert lines["DUNE read-out"]["y"] == [0.47]
    assert page.count("<td>4.36 to 4.79</td>") == 1 and "<td>2, read-out</td>" in page and "<td>17</td>" in page


def test_a_card_stands_beside_the_bare_ssd() -> None:
    bare = [{"table": "bare", "rw": rw, "bs": bs, "iodepth": 64, "bare_mb_s": 3500.0, "card_mb_s": 3400.0 + bs / 1024,
             "of_bare_pct": 97.25, "link_busy_pct": 27.0, "bare_us": 3.78, "card_us": 4.62, "added_us": 0.84}
            for rw in ("randread", "randwrite") for bs in (1024, 65536)]  # fmt: skip
    grid = {"table": "grid", "rw": "randread", "bs": 4096, "functions": 3, "ssds": 4, "mb_s": 13125.0,
            "of_one_pct": 93.8, "link_busy_pct": 88.4, "of_streams_pct": 99.6, "least_fair_pct": 99.0}  # fmt: skip
    page = report_page.page(figures(card=[*bare, {"table": "stages"}, grid]))
    bars = {trace["name"]: trace for trace in plots_of(page)["card"]["data"]}
    assert bars["random read, through the card"]["x"] == ["1 KiB", "64 KiB"]
    assert bars["random read, through the card"]["y"] == [3.401, 3.464]
    assert bars["random write, bare SSD"]["y"] == [3.5, 3.5]
    assert "<td>64 KiB write</td><td>3,500</td><td>3,464</td>" in page and "<td>13,125</td>" in page
    assert "card" not in plots_of(report_page.page(figures()))


def test_functions_stand_beside_what_the_pf_has_set() -> None:
    plan = report.make_plan(False, "rtl")
    assert {p["functions"] for p in plan.shares} == {3} and len(plan.shares) == 8
    rows = [{**row, "fn_mb_s": f"{4000 + i} 2000 1000", "fn_p99_us": "9 19 39", "least_fair_pct": 97.0}
            for i, row in enumerate(invented(plan.shares))]  # fmt: skip
    page = report_page.page(figures(shares=rows))
    bars = {trace["name"]: trace for trace in plots_of(page)["shares"]["data"]}
    assert list(bars) == [f"{fn}, {rw}" for rw in ("read", "write") for fn in ("PF", "VF 1", "VF 2")]
    assert bars["PF, read"]["x"][:2] == ["weights 1:1:1", "weights 4:2:1"]
    assert bars["PF, read"]["y"] == pytest.approx([4.0, 4.001, 4.002, 4.003])
    assert bars["VF 2, write"]["y"] == [1.0] * 4
    assert "<td>4.00 2.00 1.00</td>" in page and "<td>9 19 39</td>" in page and "<td>97</td>" in page
    assert not report.make_plan(False, "functional").shares


def test_stages_that_cannot_be_measured_are_no_page_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = report.make_plan(False, "rtl").stages
    monkeypatch.setattr(point, "stages", lambda p: {"write" if "write" in p["rw"] else "read": [p["rw"]]})
    kept = measuring.measure_stages(points, tmp_path)
    assert kept == {"read": ["randread"], "write": ["randwrite"]}

    def broken(_: point.Point) -> None:
        raise UserError("the drive broke rules of PCIe or AXI while it ran")

    monkeypatch.setattr(point, "stages", broken)
    assert measuring.measure_stages(points, tmp_path) == kept, "what was measured before is not measured again"
    with pytest.raises(UserError, match="broke rules"):
        measuring.measure_stages(points, tmp_path / "other")


class Reader(HTMLParser):
    """What a page consists of; fails on what loads something."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        assert "src" not in named, f"{tag} loads {named['src']}"
        if tag == "link":
            assert (named.get("href") or "").startswith("data:")
        if tag == "a":
            self.links.append(named["href"] or "")
        if named.get("id"):
            self.ids.add(str(named["id"]))
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("area", [{}, AREA])
@pytest.mark.parametrize("stages", [{}, STAGES])
@pytest.mark.parametrize("host, recorder", [([], []), (HOST, RECORDER)])
def test_page_is_well_formed_and_loads_nothing(
    host: list[point.Row], recorder: list[point.Row], stages: dict[str, Any], area: dict[str, Any]
) -> None:
    page = report_page.page(figures(host=host, recorder=recorder, stages=stages, area=area))
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    assert all(link[0] == "#" and link[1:] in reader.ids for link in reader.links)
    assert "Plotly.newPlot" in page and len(page) > 1_000_000, "plotly's script is inside"
    assert [n in reader.ids for n in ("host", "recorder", "stages", "area")] == [
        bool(host), bool(recorder), bool(stages), bool(area)]  # fmt: skip
    for name, plot in plots_of(page).items():
        assert f"plot-{name}" in reader.ids
        for side in ("xaxis", "yaxis"):
            assert "title" in plot["layout"][side]
    # Every section says how to get its figures again, with a command that exists.
    commands = re.findall(r"Again: <code>\./doorbell (\w+)", page)
    assert len(commands) == page.count("<section")
    assert set(commands) <= {"bench", "sweep", "report", "synth"}
    assert ("<td>20,105</td>" in page) == bool(area)


def test_svg_is_small_and_shows_all_lines() -> None:
    text = bandwidth_svg(figures())
    root = ET.fromstring(text)
    words = {e.text for e in root.iter(f"{SVG}text")}
    assert {*report_page.NAMES.values(), "OpenExpress read", "bandwidth, GB/s", "512 B", "128 KiB"} <= words
    assert len(list(root.iter(f"{SVG}polyline"))) == 6
    assert len(text) < 20_000


def test_area_may_be_missing(tmp_path: Path) -> None:
    file = tmp_path / "area.json"
    assert report.load_area(file) == {}
    for text, expected in (("no json", {}), ("[1]", {}), (json.dumps({**AREA, "clocks": {"x": 1}}), AREA)):
        file.write_text(text)
        assert report.load_area(file) == expected


def test_report_measures_once(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "DOORBELL_CACHE": str(tmp_path / "cache")}
    page, svg = tmp_path / "r.html", tmp_path / "r.svg"
    command = [sys.executable, "-P", "-m", "doorbell", "report", "--quick", "--backend", "functional", "--out"]
    call = {"env": env, "capture_output": True, "text": True, "timeout": 120}
    done = subprocess.run([*command, str(page), "--svg", str(svg)], **call)
    assert done.returncode == 0, done.stderr
    results = list((tmp_path / "cache" / "report").glob("*.csv"))
    assert len(results) == 1
    content, first = results[0].read_bytes(), page.read_bytes()
    store = sweep.Store(results[0], [])
    store.close()
    assert len(store.rows) == len({point.key_of(p) for p in report.make_plan(True, "functional").points()})
    done = subprocess.run([*command, str(page)], **call)
    assert done.returncode == 0, done.stderr
    assert results[0].read_bytes() == content and page.read_bytes() == first
    ET.parse(svg)
    assert "functional model" in page.read_text()


def test_report_into_no_folder_is_one_line_before_anything_is_measured(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "DOORBELL_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-P", "-m", "doorbell", "report", "--out", str(tmp_path / "no" / "r.html")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "there is no folder" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "cache").exists()
