# SPDX-License-Identifier: Apache-2.0
"""One text carries many mutants: each of them is what it is alone, and the environment says which one runs."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from doorbell import paths
from doorbell.build import find_module
from doorbell.errors import UserError
from doorbell.mutate import Check, Mutant, carrying, mutants_of
from doorbell.mutate.covering import module_files
from doorbell.mutate.running import Carrier, _pytest, copy_of_repository, judge
from test_mutate import copy_with_a_test

CHOICE = re.compile(rf"\(\({carrying.NAME}::number == (\d+)\) \? \(")


def behind(text: str, at: int) -> int:
    """The place of the parenthesis that closes what is open at `at`."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at - 1


def chosen(text: str, number: int) -> str:
    """The text as it is when that one runs: each choice is made."""
    while found := CHOICE.search(text):
        first = behind(text, found.end())
        second = first + len(") : (")
        end = behind(text, second)
        part = text[found.end() : first] if int(found[1]) == number else text[second:end]
        text = f"{text[: found.start()]}({part}){text[end + 2 :]}"
    return text


def bare(text: str) -> str:
    """Without comments, space and parentheses: what is put around a mutant has those of its own."""
    return re.sub(r"//[^\n]*|[\s()]", "", text)


def test_each_is_what_it_is_alone() -> None:
    count = 0
    for file in module_files(["db_fifo", "db_skid", "db_axi_read_join", "db_ssd_abort", "db_nvme_prp_walk"]):
        text = file.read_text()
        mutants = dict(enumerate((m for m in mutants_of(file) if m.size), 1))
        carries = carrying.carried(text, mutants)
        assert carries.count("\n") == text.count("\n")
        assert bare(chosen(carries, 0)) == bare(text)
        for number, mutant in mutants.items():
            assert bare(chosen(carries, number)) == bare(mutant.apply(text)), mutant.name
            count += 1
    assert count > 300


EARLY = """module db_early;
  function automatic int twice(input int x); return x * 2; endfunction
  logic [7:0] a, b;
  always_comb begin
    a[2] = b[3] && a[1];
    for (int i = 0; i < 4; i++) a[i +: 2] = {2{b[i + 1]}};
  end
endmodule
"""


def test_what_a_tool_must_know_early_is_not_carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorbell.mutate.changes.paths.ROOT", tmp_path)
    file = tmp_path / "db_early.sv"
    file.write_text(EARLY)
    found = [(m.line, m.old, bool(m.size)) for m in mutants_of(file)]
    assert found == [
        (2, "2", False),
        (5, "2", False), (5, "3", True), (5, "&&", True), (5, "1", True),
        (6, "0", False), (6, "<", False), (6, "4", False), (6, "2", False), (6, "2", False),
        (6, "+", True), (6, "1", True),
    ]  # fmt: skip


@pytest.fixture
def skid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, dict[int, Mutant]]:
    monkeypatch.setattr(carrying, "TOPS", (("db_skid", {}),))
    shutil.copytree(paths.RTL, tmp_path / "rtl")
    file = find_module("db_skid")
    assert file is not None
    return tmp_path, dict(enumerate(mutants_of(file), 1))


def test_what_verilator_does_not_take_is_left_out(skid: tuple[Path, dict[int, Mutant]]) -> None:
    copy, mutants = skid
    good = {n for n, m in mutants.items() if m.size}
    assert carrying.carry(copy, mutants) == good
    one = mutants[max(good)]
    wrong = Mutant(one.file, one.line, one.offset, one.old, "no_such_signal", one.kind, one.start, one.size)
    file = copy / one.file
    shutil.copy(paths.ROOT / one.file, file)
    taken = carrying.carry(copy, {**mutants, 1000: wrong})
    assert 1000 not in taken and taken < good, "and what shares its line"
    assert "no_such_signal" not in file.read_text() and f"{carrying.NAME}::number == {min(taken)})" in file.read_text()


def test_rtl_that_verilator_does_not_take_is_said_in_one_line(skid: tuple[Path, dict[int, Mutant]]) -> None:
    copy, mutants = skid
    file = copy / mutants[1].file
    file.write_text(file.read_text().replace("endmodule", "  no syntax of any kind;\nendmodule"))
    with pytest.raises(UserError, match=r"rtl/common/db_skid.sv:\d+: Verilator does not take it"):
        carrying.carry(copy, mutants)


def copy_that_counts(folder: Path, body: str) -> Path:
    """... and its test writes down which mutant ran."""
    count = (
        f"number = os.environ.get('{carrying.VARIABLE}', '-')\n"
        "    with (here / 'runs').open('a') as runs: runs.write(number)\n"
    )
    return copy_with_a_test(folder, f"{count}    {body}")


CHECK = Check(("test_x.py",), 0)
MUTANT = Mutant("x.sv", 1, 2, "&", "|", "operator", 0, 5)


@pytest.mark.parametrize("caught", [True, False])
def test_one_that_is_carried_is_chosen_by_the_environment(tmp_path: Path, caught: bool) -> None:
    plain = copy_that_counts(tmp_path / "plain", "raise AssertionError")
    carries = copy_that_counts(tmp_path / "carries", f"assert number != '7' or not {caught}")
    carrier = Carrier(carries, {MUTANT.name: 7})
    for _ in range(2):
        verdict = judge(plain, MUTANT, [CHECK], 30, carrier=carrier)
        assert verdict.outcome == ("caught" if caught else "survived") and verdict.caught_by is None
    assert (carries / "runs").read_text() == ("707" if caught else "77"), "what has failed passes without it"
    assert not (plain / "runs").exists()


def test_a_check_that_does_not_pass_there_or_is_a_proof_is_run_elsewhere(tmp_path: Path) -> None:
    plain = copy_that_counts(tmp_path / "plain", "assert '|' not in (here / 'x.sv').read_text()")
    carries = copy_that_counts(tmp_path / "carries", "raise AssertionError")
    carrier = Carrier(carries, {MUTANT.name: 7})
    for _ in range(2):
        verdict = judge(plain, MUTANT, [CHECK], 30, carrier=carrier)
        assert verdict.outcome == "caught" and verdict.caught_by == Check(("test_x.py::test_x",), 0)
    assert (carries / "runs").read_text() == "70" and (plain / "runs").read_text() == "--"
    other = Mutant("x.sv", 1, 0, "a", "c", "operator")
    assert judge(plain, other, [CHECK], 30, carrier=carrier).outcome == "survived", "it is not carried"
    assert (plain / "x.sv").read_text() == "a & b\n"
    assert Check(("tests/formal/test_formal.py", "-k", "fifo_8"), 0).proof and not CHECK.proof


def test_one_that_hangs_is_ended_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorbell.mutate.running.LEAST", 3)
    plain = copy_that_counts(tmp_path / "plain", "pass")
    carries = copy_that_counts(tmp_path / "carries", "\n    while number == '7': pass")
    carrier = Carrier(carries, {MUTANT.name: 7})
    for limit in (15, 1000):
        verdict = judge(plain, MUTANT, [CHECK], limit, carrier=carrier)
        assert verdict.outcome == "caught" and "no end after" in verdict.by and verdict.seconds < 120
    assert (carries / "runs").read_text() == "70077", "the first time it is not known how long it takes"


def test_one_is_not_caught_by_a_limit_that_is_too_short_without_it_too(tmp_path: Path) -> None:
    plain = copy_that_counts(tmp_path / "plain", "pass")
    carries = copy_that_counts(tmp_path / "carries", "\n    import time\n    time.sleep(8)")
    with pytest.raises(UserError, match=r"test_x.py takes 4 s without a mutant: --limit must be more"):
        judge(plain, MUTANT, [CHECK], 4, carrier=Carrier(carries, {MUTANT.name: 7}))


def test_a_bench_is_built_once_for_two_mutants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carrying, "TOPS", (("db_axi_read_join", {}),))
    file = find_module("db_axi_read_join")
    assert file is not None
    mutants = dict(enumerate((m for m in mutants_of(file) if m.kind == "enable"), 1))
    check = Check(("tests/rtl/axi/test_db_axi_read_join.py",), 0)

    def builds() -> set[str]:
        names = os.listdir(paths.cache() / "build")
        return {name for name in names if name.startswith("bench-db_axi_read_join") and "." not in name}

    with copy_of_repository() as copy:
        assert carrying.carry(copy, mutants) == set(mutants)
        said, before = {}, builds()
        for number in (0, 1, 2):
            more = {carrying.VARIABLE: str(number), "DOORBELL_FRESH": "1"}
            said[number], _ = _pytest(copy, check, 300, False, paths.cache(), more)
    assert said == {0: "passed", 1: "failed", 2: "failed"}
    assert len(builds() - before) <= 1, "none if an earlier test has left it"
