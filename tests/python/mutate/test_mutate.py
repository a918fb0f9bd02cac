# SPDX-License-Identifier: Apache-2.0
"""Mutants are small, exact and of the logic alone; the nearest tests come first; what is known is kept."""

from __future__ import annotations

import contextlib
import json
import os
import random
from pathlib import Path

import pytest
from doorbell import paths
from doorbell.build import find_module
from doorbell.errors import UserError
from doorbell.mutate import Check, Mutant, checks_of, command, covering, mutants_of
from doorbell.mutate.covering import TESTS_OF_TOPS, WHOLE, module_files, tops_of
from doorbell.mutate.running import Results, Verdict, judge, passes
from doorbell.signals import signals_raise

MODULE = """module db_sample #(
  parameter int WIDTH = 8
) (
  input  logic clk, rst, en,
  input  logic [WIDTH-1:0] a, b,
  output logic [WIDTH-1:0] sum_q
);
  if (WIDTH < 1) $fatal(1, "WIDTH");
  localparam int TWICE = WIDTH * 2 + 1;
  always_ff @(posedge clk) begin
    if (en && !(a == b)) sum_q <= a + b;
    if (rst) sum_q <= '0;
  end
  assert property (@(posedge clk) a != 8'd3 || b < 8'd4);
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (en) assert (a != b);
`endif
  for (genvar i = 0; i < 2; i++) begin : g_two
    wire c = a[0] ? b[1] : 1'b0;
  end
endmodule
"""


def sample(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Mutant]:
    monkeypatch.setattr("doorbell.mutate.changes.paths.ROOT", folder)
    file = folder / "db_sample.sv"
    file.write_text(MODULE)
    return mutants_of(file)


def test_changes_of_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {(m.line, m.old, m.new) for m in sample(tmp_path, monkeypatch)}
    assert found == {
        (11, "en && !(a == b)", "1'b1"), (11, "en && !(a == b)", "1'b0"), (11, "&&", "||"), (11, "!", ""),
        (11, "==", "!="), (11, "+", "-"), (12, "'0", "'1"), (19, "0", "1"), (19, "1", "2"), (19, "1'b0", "1'b1"),
        (19, "b[1] : 1'b0", "1'b0 : b[1]"),
    }  # fmt: skip


def test_a_mutant_changes_its_place_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = sample(tmp_path, monkeypatch)
    for m in found:
        changed = m.apply(MODULE)
        at = m.offset
        assert changed == MODULE[:at] + m.new + MODULE[at + len(m.old) :] and changed != MODULE
    with pytest.raises(AssertionError, match="the file is another one"):
        found[0].apply(MODULE[1:])


def test_every_module_has_mutants_that_fit_its_text() -> None:
    count = 0
    for file in sorted((paths.ROOT / "rtl" / "common").glob("*.sv")):
        for m in mutants_of(file):
            m.apply(file.read_text())
            count += 1
    assert count > 100


def test_the_nearest_tests_come_first() -> None:
    checks = checks_of("db_fifo")
    assert checks[0] == Check(("tests/rtl/common/test_common.py",), 0)
    assert ("tests/formal/test_formal.py", "-k", "fifo_8 and not refutes") in [
        c.arguments for c in checks if c.far == 0
    ]
    assert [c.far for c in checks] == sorted(c.far for c in checks)
    assert checks_of("db_ssd_bar")[0].arguments == ("tests/rtl/ssd/test_db_ssd_bar.py",)
    assert all((paths.ROOT / c.arguments[0]).exists() for c in checks)
    assert checks_of("db_csd_op_xor") == [Check(("rtl/compute/ops/xor/test_xor.py",), 0)]
    assert find_module("db_fifo")


def test_every_module_of_a_top_is_asked_of_tests_of_a_top_last() -> None:
    examples = paths.RTL / "compute" / "ops"  # operators that no top has
    without = [f.stem for f in module_files(["rtl"]) if not tops_of(f.stem) and not f.is_relative_to(examples)]
    assert without == []
    assert tops_of("db_ssd_cq") == ["db_ssd"]
    assert tops_of("db_csd_near") == ["db_csd"]
    assert tops_of("db_virt_map") == ["db_vcsd"]
    assert tops_of("db_fifo") == ["db_ssd", "db_host"]
    last = checks_of("db_rec_issue")[-1]
    assert last.far == WHOLE and last.limit(120) > 120
    files = {a for checks in TESTS_OF_TOPS.values() for arguments in checks for a in arguments if "/" in a}
    assert [f for f in files if not (paths.ROOT / f).exists()] == []


def test_what_has_no_module_is_refused_and_none_counts_twice() -> None:
    """With nothing to change "0 of 0 were caught" would look as if all were well."""
    for name in ("docs", "tests/rtl/tb", "/etc", "rtl/nosuch", "db_nosuch"):
        with pytest.raises(UserError, match="neither a module nor a folder of rtl/"):
            module_files(["db_fifo", name])
    common = module_files(["rtl/common"])
    assert len(common) > 5 and module_files(["rtl/common", "db_fifo", "db_skid"]) == common


def test_a_bench_with_another_name_is_found_by_what_it_simulates() -> None:
    """Alone, or in a top made for it."""
    assert ("tests/rtl/nvme/test_db_nvme_sgl.py",) in [c.arguments for c in checks_of("db_nvme_prp") if c.far == 0]
    assert ("tests/rtl/compute/test_csd_chain.py",) in [c.arguments for c in checks_of("db_csd_front") if c.far == 0]
    assert ("tests/rtl/nvme/test_db_nvme_sgl.py",) in [c.arguments for c in checks_of("db_nvme_sgl_walk") if c.far == 2]


def test_a_bench_of_a_part_is_none_of_a_module_with_a_shorter_name() -> None:
    assert ("tests/rtl/ssd/test_db_ssd_cq_functions.py",) in [c.arguments for c in checks_of("db_ssd_cq") if c.far == 0]
    assert [c for c in checks_of("db_ssd") if c.far < WHOLE] == []


LOOKS = "text = (here / 'x.sv').read_text()\n    while '<<' in text: pass\n    assert text != 'a | b\\n'"


def copy_with_a_test(folder: Path, body: str = LOOKS) -> Path:
    """A copy of a repository with one test."""
    (folder / "python").mkdir(parents=True)
    (folder / "x.sv").write_text("a & b\n")
    head = "import os\nfrom pathlib import Path\nhere = Path(__file__).parent\ndef test_x():\n"
    (folder / "test_x.py").write_text(f"{head}    {body}\n")
    return folder


@pytest.mark.parametrize("new, outcome", [("|", "caught"), ("^", "survived"), ("<<", "caught")])
def test_a_mutant_is_judged_and_taken_back(new: str, outcome: str, tmp_path: Path) -> None:
    copy = copy_with_a_test(tmp_path)
    mutant = Mutant("x.sv", 1, 2, "&", new, "operator")
    verdict = judge(copy, mutant, [Check(("test_x.py",), 0)], 10)
    assert verdict.outcome == outcome
    assert ("no end" in verdict.by) == (new == "<<")
    assert (copy / "x.sv").read_text() == "a & b\n"


def test_when_it_is_ended_no_test_goes_on(tmp_path: Path) -> None:
    copy = copy_with_a_test(tmp_path)
    (copy / "test_x.py").write_text(
        "import os, signal\nfrom pathlib import Path\n"
        "def test_x():\n"
        f"    Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()))\n"
        f"    os.kill({os.getpid()}, signal.SIGTERM)\n"
        "    while True: pass\n"
    )
    with pytest.raises(SystemExit), signals_raise():
        judge(copy, Mutant("x.sv", 1, 2, "&", "^", "operator"), [Check(("test_x.py",), 0)], 60)
    assert not Path("/proc", (tmp_path / "pid").read_text()).exists()
    assert (copy / "x.sv").read_text() == "a & b\n"


def test_what_passed_before_is_asked_of_the_usual_cache_and_mutants_have_their_own(tmp_path: Path) -> None:
    copy = copy_with_a_test(tmp_path)
    (copy / "test_cache.py").write_text(
        f"import os\ndef test_usual():\n    assert os.environ['DOORBELL_CACHE'] == {str(paths.cache())!r}\n"
    )
    check = Check(("test_cache.py",), 0)
    assert passes(copy, check, 10) == ""
    assert judge(copy, Mutant("x.sv", 1, 2, "&", "^", "operator"), [check], 10).outcome == "caught"


def test_one_is_not_caught_by_a_limit_that_is_too_short_without_it_too(tmp_path: Path) -> None:
    """That it passed before, and is not run again, says nothing of how long it takes."""
    usual = f"os.environ['DOORBELL_CACHE'] == {str(paths.cache())!r}"
    slow = f"if not {usual}:\n        import time\n        time.sleep(60)"
    copy, check = copy_with_a_test(tmp_path, slow), Check(("test_x.py",), 0)
    verdict = judge(copy, Mutant("x.sv", 1, 2, "&", "^", "operator"), [check], 8)
    assert (verdict.outcome, verdict.caught_by, verdict.ended_after) == ("caught", check, 8)
    assert passes(copy, check, 60) == ""
    with pytest.raises(UserError, match=r"test_x.py takes 8 s without a mutant: --limit must be more"):
        passes(copy, check, 60, False, verdict.ended_after)
    copy = copy_with_a_test(tmp_path / "quick", "pass")
    assert passes(copy, check, 60, False, 50) == ""


def test_what_fails_without_a_mutant_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found when it seems to have caught one: nothing else has to be run without one."""
    copy = copy_with_a_test(tmp_path)
    (copy / "test_x.py").write_text(
        "import pytest\ndef test_good():\n    pass\n"
        "@pytest.mark.parametrize('x', ['256 1'])\ndef test_bad(x):\n    raise AssertionError('a - b')\n"
    )
    check = Check(("test_x.py",), 0)
    caught_by = judge(copy, Mutant("x.sv", 1, 2, "&", "^", "operator"), [check], 10).caught_by
    assert caught_by == Check(("test_x.py::test_bad[256 1]",), 0)
    monkeypatch.setattr(command, "checks_of", lambda _: [check])
    monkeypatch.setattr(command, "copy_of_repository", lambda: contextlib.nullcontext(copy))
    monkeypatch.setattr(command, "judge", lambda _, mutant, *__: Verdict(mutant, "caught", "", 0, caught_by=caught_by))
    with pytest.raises(UserError, match=r"test_bad\[256 1\] does not pass without a mutant"):
        command.main(["db_fifo"], count=1, seed=1, minutes=0, limit=10, far=1, nightly=False,
                     results=tmp_path / "known.jsonl", listing=False, json=None)  # fmt: skip
    assert not (tmp_path / "known.jsonl").exists()


def test_they_are_judged_in_the_order_of_the_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So what is judged when it stops is a fair sample, of one draw for any --far. What no bench covers is counted,
    not drawn."""
    judged: list[Mutant] = []

    def judge_nothing(copy: Path, mutant: Mutant, *_: object) -> Verdict:
        judged.append(mutant)
        return Verdict(mutant, "caught", "", 0)

    monkeypatch.setattr(command, "judge", judge_nothing)
    monkeypatch.setattr(command, "passes", lambda *_: "")
    monkeypatch.setattr(command, "copy_of_repository", lambda: contextlib.nullcontext(tmp_path))
    said = tmp_path / "said.json"
    names = ["db_fifo", "db_skid", "db_csd_bindings"]
    command.main(names, count=30, seed=3, minutes=0, limit=1, far=1, nightly=False, results=tmp_path / "known.jsonl",
                 listing=False, json=said)  # fmt: skip
    drawn = [m for name in names if (file := find_module(name)) for m in mutants_of(file)]
    every = [m for m in random.Random(3).sample(drawn, len(drawn)) if not m.file.endswith("db_csd_bindings.sv")]
    assert judged == every[:30]
    report = json.loads(said.read_text())
    bare = find_module(names[2])
    assert bare is not None and all(c.far > 1 for c in checks_of(bare.stem))
    assert (report["mutants"], report["left_out"]) == (len(every), len(mutants_of(bare)))


def test_what_is_known_is_kept_and_a_line_that_was_cut_off_is_not(tmp_path: Path) -> None:
    file = tmp_path / "mutants.jsonl"
    first, second = (Mutant("x.sv", n, n, "&", "|", "operator") for n in (1, 2))
    Results(file).add(Verdict(first, "caught", "test_x.py::test_x", 1.5))
    file.write_text(file.read_text() + '{"name": "cut')
    again = Results(file)
    assert list(again.rows) == [first.name] and again.rows[first.name]["outcome"] == "caught"
    again.add(Verdict(second, "survived", "", 2))
    assert [json.loads(line)["line"] for line in file.read_text().splitlines()] == [1, 2]
    assert again.says(first, 2, True), "who is caught is caught"
    assert again.says(second, 0, False) and not again.says(second, 1, False) and not again.says(second, 0, True)
    again.add(Verdict(second, "survived", "", 2, far=1, nightly=True))
    assert Results(file).says(second, 1, True) and not Results(file).says(second, 2, False)
    file.write_text("no result\n" + file.read_text())
    with pytest.raises(UserError, match="no result of a mutant"):
        Results(file)


def test_what_is_known_of_a_module_or_a_test_that_is_another_one_now_is_judged_again(tmp_path: Path) -> None:
    file = tmp_path / "mutants.jsonl"
    mutant = Mutant("x.sv", 1, 2, "&", "|", "operator")
    Results(file, {"x.sv": "1"}).add(Verdict(mutant, "survived", "", 1))
    assert Results(file, {"x.sv": "1"}).says(mutant, 0, False)
    again = Results(file, {"x.sv": "2"})
    assert not again.says(mutant, 0, False) and not again.rows
    again.add(Verdict(mutant, "caught", "test_x.py::test_x", 1))
    assert Results(file, {"x.sv": "2"}).rows[mutant.name]["outcome"] == "caught"


def test_verdicts_depend_on_module_and_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covering.paths, "ROOT", tmp_path)
    module, bench = tmp_path / "x.sv", tmp_path / "test_x.py"
    module.write_text("a")
    bench.write_text("b")
    checks = [Check(("test_x.py::test_x", "-k", "c"), 0)]
    seen = {covering.digest("x.sv", checks)}
    module.write_text("another")
    seen.add(covering.digest("x.sv", checks))
    bench.write_text("another")
    seen.add(covering.digest("x.sv", checks))
    assert len(seen) == 3 and covering.digest("x.sv", checks) in seen


def test_two_that_judge_at_once_lose_nothing_of_each_other(tmp_path: Path) -> None:
    file = tmp_path / "mutants.jsonl"
    children = []
    for part in range(2):
        if not (child := os.fork()):
            known = Results(file)
            for n in range(100):
                known.add(Verdict(Mutant("x.sv", n, part, "&", "|", "operator"), "survived", "", 1))
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert len(Results(file).rows) == 200
