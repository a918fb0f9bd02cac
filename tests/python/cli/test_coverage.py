# SPDX-License-Identifier: Apache-2.0
"""What the RTL's tests meet is added up over all files and instances; what they don't is listed, with its reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import rtl_bench
from doorbell import paths
from doorbell.cli import coverage
from doorbell.cli.coverage import Point, Reason

SOURCE = """module db_thing;
  always_ff @(posedge clk) begin
    if (a) q <= 1'b1;
    case (state_q)
      default: state_q <= ST_IDLE;
    endcase
  end
endmodule
"""
FILE = Path("rtl/x/db_thing.sv")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of coverage files, beside an RTL of one module."""
    (tmp_path / "rtl" / "x").mkdir(parents=True)
    (tmp_path / FILE).write_text(SOURCE)
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "RTL", tmp_path / "rtl")
    coverage._lines.cache_clear()
    folder = tmp_path / "coverage"
    folder.mkdir()
    return folder


def record(page: str, line: int, what: str, count: int, file: Path | str = FILE, instance: str = "top.x") -> str:
    """As Verilator writes it."""
    fields = {"f": file, "l": line, "n": 5, "page": f"v_{page}/db_thing", "o": what, "S": line, "h": instance}
    return "C '" + "".join(f"\x01{k}\x02{v}" for k, v in fields.items()) + f"' {count}\n"


def test_points_are_added_up_over_files_and_instances(folder: Path) -> None:
    (folder / "a.dat").write_text(
        record("branch", 3, "if", 0)
        + record("branch", 3, "else", 2)
        + record("line", 2, "block", 1, instance="top.y")
        + record("branch", 1, "if", 7, "/elsewhere/other.sv")
    )
    whole = record("branch", 3, "if", 4, folder.parent / FILE)  # benches know files by their whole path
    (folder / "b.dat").write_text(whole + record("line", 2, "block", 2) + record("toggle", 1, "clk:0->1", 0))
    assert coverage.read(sorted(folder.glob("*.dat"))) == {
        Point(FILE, 3, 5, "branch", "if"): 4,
        Point(FILE, 3, 5, "branch", "else"): 2,
        Point(FILE, 2, 5, "branch", "block"): 3,
        Point(FILE, 1, 5, "toggle", "clk:0->1"): 0,
    }


def test_report(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = Reason("no encoding has it", "rtl/*", "default:", "case")
    monkeypatch.setattr(coverage, "reasons", lambda: [reason])
    (folder / "a.dat").write_text(
        record("line", 2, "block", 1) + record("branch", 3, "if", 0) + record("line", 5, "case", 0)
    )
    said: list[str] = []
    coverage.report(folder, said.append)
    assert [line.split() for line in said[1:3]] == [[name, "1/3", "33.3", "%", "1"] for name in ("rtl/x", "all")]
    assert "no test met 2 branches" in said[3] and "0 are open, 1 are not in" in said[3]
    assert (folder / "not_met.txt").read_text().splitlines() == [
        "rtl/x/db_thing.sv:3:5: if: if (a) q <= 1'b1;  // ?",
        "rtl/x/db_thing.sv:5:5: case: default: state_q <= ST_IDLE;  // no encoding has it",
    ]


def test_a_bench_leaves_what_it_met(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOORBELL_COVERAGE", "lines")
    monkeypatch.setattr(paths, "OUT", tmp_path)
    test = paths.ROOT / "tests" / "rtl" / "common" / "test_common.py"
    rtl_bench.run(str(test), "db_skid", {"WIDTH": 16}, testcase="skid")
    counts = coverage.read((tmp_path / "coverage").glob("*.dat"))
    assert {(p.file.as_posix(), p.kind) for p in counts} == {("rtl/common/db_skid.sv", "branch")}
    assert len(counts) >= 4 and all(counts.values()), "a module so small, and each of its branches"


def test_nothing_was_counted(folder: Path) -> None:
    said: list[str] = []
    coverage.report(folder, said.append)
    assert len(said) == 1 and "none ran" in said[0]


def test_every_reason_is_of_lines_that_there_are() -> None:
    lines = {f.relative_to(paths.ROOT): f.read_text().splitlines() for f in paths.RTL.rglob("*.sv")}
    for reason in coverage.reasons():
        assert reason.why
        ways = (reason.what,) if reason.what else ("if",)
        points = (Point(f, n, 1, "branch", w) for f in lines for n in range(1, len(lines[f]) + 1) for w in ways)
        assert any(reason.says(p, lines[p.file][p.line - 1]) for p in points), f"{reason} is of no line: take it out"
        assert re.fullmatch("|block|if|else|elsif|case|cond_then|cond_else", reason.what)


def test_the_page_says_what_the_list_has() -> None:
    page = (paths.ROOT / "docs" / "coverage.md").read_text()
    rows = [
        [int(n.replace(",", "")) for n in m]
        for m in re.findall(r"^\| `rtl/\w+` \| ([\d,]+) \| ([\d,]+) \|", page, re.M)
    ]
    of, met = (sum(column) for column in zip(*rows))
    assert f"| all | {of:,} | {met:,} | {100 * met / of:.1f} % |" in page
    unmet, explained, left = (
        int(n) for n in re.findall(r"Of the (\d+) that .* met, (\d+) cannot .*; (\d+) are", page)[0]
    )
    assert unmet == of - met == explained + left
    assert left == sum(reason.why == coverage.OPEN for reason in coverage.reasons())
