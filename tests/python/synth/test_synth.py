# SPDX-License-Identifier: Apache-2.0
"""`doorbell synth`: counting cells and levels, and that no module has grown beyond what syn/area.json records."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from doorbell import build, paths, synth
from doorbell.errors import UserError
from doorbell.synth import records, yosys
from doorbell.synth.command import parse_params
from doorbell.synth.design import elaborate
from doorbell.synth.netlist import Area, Unit, area, flatten, longest
from doorbell.synth.records import record_key

RECORD = "db_ssd xcup DATA_W=256"
MANY = {"DATA_W": 256, "NUM_FN": 17, "NUM_NS": 17, "NUM_QP": 152}
"""The PF and 16 VFs with 8 I/O queue pairs each, 24 for the PF, a namespace each."""
QUICK = ("db_pcie_post", "db_ssd_bar", "db_ssd_post_arb", "db_ssd_fetch")
"""Modules that take a second or two each."""

Cells = list[tuple[str, str, dict[str, list[Any]]]]


def unit(ports: dict[str, tuple[str, list[Any]]], cells: Cells, names: dict[int, str] | None = None) -> Unit:
    return Unit(ports, cells, names or {})


def lut(name: str, ins: list[Any], out: int) -> tuple[str, str, dict[str, list[Any]]]:
    return (f"LUT{len(ins)}", name, {**{f"I{i}": [n] for i, n in enumerate(ins)}, "O": [out]})


def flop(name: str, d: Any, q: int, **more: list[Any]) -> tuple[str, str, dict[str, list[Any]]]:
    return ("FDRE", name, {"C": ["x"], "D": [d], "Q": [q], "CE": ["1"], "R": ["0"], **more})


# ---------------------------------------------------------------- yosys


def test_yosys_has_the_lock_of_what_it_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on when who has started it is killed, and nobody begins anew in its folder meanwhile."""
    monkeypatch.setenv("DOORBELL_CACHE", str(tmp_path))
    given: list[str] = []

    def run(
        command: list[str], *, stdout: Any, pass_fds: tuple[int, ...], **_: Any
    ) -> subprocess.CompletedProcess[str]:
        given.extend(os.readlink(f"/proc/self/fd/{fd}") for fd in pass_fds)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(yosys.subprocess, "run", run)
    folder = build.cached("rtlil", "key", lambda out: yosys.run_yosys(["help"], out, "nothing"))
    assert given == [f"{folder}.lock"]


# ---------------------------------------------------------------- counting


def test_area_of_cells() -> None:
    cells: Cells = [lut("a", [1, 2], 3), lut("b", [1, 2, 3, 4, 5, 6], 7), flop("f", 3, 8)]
    cells += [("RAM64M8", "m", {}), ("RAMB36E2", "r", {}), ("RAMB18E2", "s", {}), ("DSP48E2", "d", {})]
    cells += [("CARRY4", "c", {}), ("INV", "i", {}), ("MUXF7", "x", {}), ("child", "k", {})]
    assert area(unit({}, cells), {"child"}) == Area(lut=10, ff=1, bram=1.5, uram=0, dsp=1)


def test_an_unknown_cell_is_not_counted_as_nothing() -> None:
    with pytest.raises(UserError, match="MAGIC"):
        area(unit({}, [("MAGIC", "m", {})]), set())


def test_levels_across_modules() -> None:
    """Two LUTs in the child between a register and two LUTs in the parent, and a shorter way beside them."""
    child = unit({"i": ("input", [1]), "o": ("output", [3])}, [lut("a", [1], 2), lut("b", [2], 3)])
    top = unit(
        {"clk": ("input", [9])},
        [flop("f", 1, 2), ("child", "u", {"i": [2], "o": [3]}), lut("c", [3, 2], 4), lut("d", [4], 5), flop("g", 5, 6)],
        {2: "f_q", 6: "g_q[0]"},
    )
    found = longest(flatten({"child": child, "top": top}, "top", {"child": "child", "top": "top"}))
    assert (found[0].levels, found[0].start, found[0].end, found[0].unit) == (4, "f_q", "g_q", "top")
    assert found[0].through == ["top", "child", "top"] and found[0].source == "FDRE"


def test_a_carry_chain_is_one_level() -> None:
    carry = [("CARRY4", f"c{i}", {"S": [10], "DI": ["0"], "CI": [20 + i], "CO": [21 + i]}) for i in range(8)]
    top = unit({}, [flop("f", 1, 2), lut("a", [2], 10), *carry, flop("g", 28, 3)], {2: "f", 3: "g"})
    assert longest(flatten({"t": top}, "t", {"t": "t"}))[0].levels == 2


def test_reading_a_memory_of_luts_is_a_level_and_writing_it_ends_a_path() -> None:
    ram = ("RAM32M", "m", {"ADDRA": [2], "DIA": [4], "DOA": [3], "WCLK": ["x"], "ADDRD": ["0"], "WE": [6]})
    top = unit({}, [flop("f", 1, 2), ram, flop("g", 3, 7), lut("a", [7], 4), lut("b", [7], 8), lut("c", [8], 6)],
               {2: "f", 3: "mem", 7: "g"})  # fmt: skip
    found = {(p.start, p.end): p.levels for p in longest(flatten({"t": top}, "t", {"t": "t"}))}
    assert found[("f", "g")] == 1
    assert found[("g", "mem")] == 2  # the write enable


def test_the_ports_of_a_memory_of_luts_are_apart() -> None:
    ram = ("RAM64M8", "m", {"ADDRA": [2], "DOA": [3], "ADDRB": [4], "DOB": [5], "ADDRH": [2], "WE": [2]})
    top = unit({}, [flop("f", 1, 2), lut("a", [2], 4), ram, flop("g", 3, 6), flop("h", 5, 7)],
               {2: "f", 6: "g", 7: "h"})  # fmt: skip
    found = {(p.start, p.end): p.levels for p in longest(flatten({"t": top}, "t", {"t": "t"}))}
    assert found[("f", "g")] == 1 and found[("f", "h")] == 2


def test_a_loop_is_found() -> None:
    top = unit({}, [lut("a", [1], 2), lut("b", [2], 1)])
    with pytest.raises(UserError, match="loop"):
        longest(flatten({"t": top}, "t", {"t": "t"}))


# ---------------------------------------------------------------- units

CHILD = "module \\c${0}\n  wire input 1 \\i\n  wire output 2 \\o\n  cell $not ${1}\n    connect \\A \\i\n  end\nend\n"
CELL = "  cell \\c${0} \\u{0}\n    connect \\i 1'0\n  end\n"
PARENT = "module \\top\n" + CELL.format("a") + CELL.format("b") + "end\n"


def test_a_design_is_the_same_wherever_it_stands() -> None:
    """So that what one checkout has measured is not measured again by another."""
    pytest.importorskip("pyosys")
    text = elaborate("db_pcie_rq_mux", {"DATA_W": 128})
    assert "cell" in text and "rq_mux.sv" not in text and "db_skid.sv" not in text


def test_equal_instances_are_one_unit() -> None:
    units = synth.split(PARENT + CHILD.format("a", 5) + CHILD.format("b", 77))
    assert [u.name for u in units.values()] == ["c", "top"]
    assert list(list(units.values())[-1].children.values()) == [2]
    changed = synth.split(PARENT + CHILD.format("a", 5) + CHILD.format("b", 77).replace("$not", "$pos"))
    assert len(changed) == 3


# ---------------------------------------------------------------- the record


def result(lut_count: int, levels: int = 3) -> synth.Result:
    module = synth.Module("m", 1, Area(lut_count, 100, 1.0), levels)
    return synth.Result("t", "xcup", {}, {"m": module}, [])


@pytest.mark.parametrize(("now", "levels", "words"), [(1020, 3, ""), (1021, 3, "1021 lut"), (900, 9, "9 levels"),
                                                       (1000, 8, "")])  # fmt: skip
def test_growth_beyond_two_percent_is_found(now: int, levels: int, words: str) -> None:
    found = synth.growth(result(now, levels), result(1000).plain())
    assert (words in found[0]) if words else not found


def test_a_new_module_must_be_recorded() -> None:
    assert synth.growth(result(5), {"modules": {}}) == ["m: new, not on record"]


def test_the_document_holds_the_recorded_tables() -> None:
    text = synth.DOCUMENT.read_text()
    tables = text.split(synth.BEGIN + "\n")[1].split(synth.END)[0]
    assert tables == synth.markdown_tables(json.loads(synth.RECORDS.read_text()))


def test_a_full_disk_leaves_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "area.json"
    monkeypatch.setattr(records, "RECORDS", file)
    records.write_records({"known": 1})

    def full(path: Path, text: str) -> None:
        path.write_bytes(text[:4].encode())
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="no space"):
        records.write_records({"new": 2})
    assert json.loads(file.read_bytes()) == {"known": 1}


def test_a_bad_option_is_one_line() -> None:
    with pytest.raises(UserError, match="NUM_QP=32"):
        parse_params(["num_qp"], 256)
    with pytest.raises(UserError, match="xcup, xc7, ecp5"):
        synth.measure("db_ssd", "asic", {})


# ---------------------------------------------------------------- with yosys


def measure(top: str, params: dict[str, int]) -> Area:
    pytest.importorskip("pyosys")
    return synth.measure(top, "xcup", params).total()


def test_known_sizes() -> None:
    """512 words of 72 bits are what one block RAM holds; a register slice is two words and two flags."""
    assert measure("db_ram_sdp", {"WIDTH": 72, "DEPTH": 512}).bram == 1.0
    skid = measure("db_skid", {"WIDTH": 32})
    assert 2 * 32 + 1 <= skid.ff <= 2 * 32 + 2 and skid.bram == 0


@pytest.mark.nightly
def test_small_modules_have_not_grown() -> None:
    pytest.importorskip("pyosys")
    found = synth.measure("db_ssd", "xcup", {"DATA_W": 256}, QUICK)
    assert synth.growth(found, synth.read_records()[RECORD], depth=False) == []


@pytest.mark.nightly
@pytest.mark.parametrize("params", [{"DATA_W": 128}, {"DATA_W": 256}, {"DATA_W": 512}, MANY], ids=str)
def test_no_module_has_grown(params: dict[str, int]) -> None:
    pytest.importorskip("pyosys")
    key = record_key("db_ssd", "xcup", params)
    if key not in (records := synth.read_records()):
        pytest.skip(f"{key} is not on record")
    assert synth.growth(synth.measure("db_ssd", "xcup", params), records[key]) == []


def test_one_function_costs_what_it_did_before_there_were_several() -> None:
    """Within 1 % of what was recorded just before: 19,719 LUT, 20,425 FF, 59.5 BRAM36."""
    now = synth.read_records()[RECORD]["total"]
    assert now["lut"] <= 19_719 * 1.01 and now["ff"] <= 20_425 * 1.01 and now["bram"] <= 59.5, now


def test_seventeen_functions_cost_what_they_may() -> None:
    """The targets of docs/area.md."""
    records = synth.read_records()
    one, many = records[RECORD], records[record_key("db_ssd", "xcup", MANY)]
    assert many["total"]["lut"] - one["total"]["lut"] <= 5000
    assert many["total"]["ff"] - one["total"]["ff"] <= 6000
    assert many["total"]["bram"] - one["total"]["bram"] <= 10
    assert many["total"]["levels"] <= 8 and one["total"]["levels"] <= 8
    assert records[record_key("db_ssd", "xcup", {"DATA_W": 256, "NUM_QP": 128})]["total"]["levels"] <= 8


def test_no_recorded_top_is_deeper_than_it_may_be() -> None:
    levels = {k: r["total"]["levels"] for k, r in synth.read_records().items() if " xcup " in k}
    assert len(levels) > 8
    assert {k: n for k, n in levels.items() if n > 8} == {}


def test_what_the_recorder_takes_is_as_the_documents_say() -> None:
    total = synth.read_records()["db_recorder xcup DATA_W=128 N_DRIVES=2 STREAM_W=256"]["total"]
    told = f"{total['lut']:,} LUT, {total['ff']:,} FF, {total['bram']:g} BRAM36 and {total['uram']} UltraRAM"
    for page in (synth.DOCUMENT, paths.ROOT / "docs" / "recorder" / "performance.md"):
        assert told in page.read_text(), page.name
    assert total["levels"] <= 8


def test_the_table_of_folders_says_what_is_recorded() -> None:
    """docs/area.md, db_vcsd; what is in no folder of rtl/ is the rest."""
    record = synth.read_records()["db_vcsd xcup DATA_W=256"]
    folder = {f.stem: f.relative_to(paths.RTL).parts[0] for f in paths.RTL.rglob("*.sv")}
    named = {"crypto": "crypto", "compute": "crypto", "pcie": "pcie", "host": "host", "ssd": "ssd", "virt": "virt"}
    sums: dict[str, list[float]] = {}
    for module, used in record["modules"].items():
        row = sums.setdefault(named.get(folder.get(module, ""), "rest"), [0, 0, 0, 0])
        for i, kind in enumerate(("lut", "ff", "bram", "uram")):
            row[i] += used[kind]
    sums["all"] = [record["total"][kind] for kind in ("lut", "ff", "bram", "uram")]
    part = synth.DOCUMENT.read_text().partition("\n## db_vcsd\n")[2].partition("\n## ")[0]
    form = r"^\| (?:`|the )?(\w+)[^|]* \| ([\d,]+) \| ([\d,]+) \| ([\d.]+) \| (\d+) \|$"
    told = re.findall(form, part, re.MULTILINE)
    assert {name: [float(f.replace(",", "")) for f in row] for name, *row in told} == sums
    assert f"Its longest path has {record['total']['levels']} levels." in part


def test_the_table_of_functions_says_what_is_recorded() -> None:
    def row(name: str, figures: list[float], levels: str) -> str:
        told = [f"{f:,}" if isinstance(f, int) else f"{f:g}" for f in figures]
        return f"| {name} | {' | '.join(told)} | {levels} |\n".replace("|  |", "| |")

    text = synth.DOCUMENT.read_text()

    records = synth.read_records()
    rows = []
    for name, params in (("one function, 32 queue pairs", {"DATA_W": 256}),
                         ("17 functions, 152 queue pairs, 17 namespaces", MANY)):  # fmt: skip
        r = records[record_key("db_ssd", "xcup", params)]
        total = r["total"]
        rows.append([total["lut"], total["ff"], total["bram"], r["without_cpu"]["bram"]])
        assert row(name, rows[-1], str(total["levels"])) in text
    assert row("more", [b - a for a, b in zip(*rows, strict=True)], "") in text
