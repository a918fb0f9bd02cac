# SPDX-License-Identifier: Apache-2.0
"""The build cache: builds at once and killed half way, what leaves it; the list of RTL, rules of the linter, paths."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from doorbell import build, paths
from doorbell.build import cache as cache_module
from doorbell.build import compiler
from doorbell.cli import main as cli
from doorbell.errors import UserError
from test_launcher import ROOT, wait_for
from test_launcher import cache as cache  # the fixture


def test_cached_builds_once(cache: Path) -> None:
    runs: list[Path] = []

    def make(out: Path) -> None:
        runs.append(out)
        (out / "result").write_text("made")

    first = build.cached("thing", ("a", 1), make)
    assert build.cached("thing", ("a", 1), make) == first and len(runs) == 1
    assert (first / "result").read_text() == "made" and not runs[0].exists()
    assert build.cached("thing", ("a", 2), make) != first and len(runs) == 2


def test_failed_build_leaves_nothing(cache: Path) -> None:
    def make(out: Path) -> None:
        (out / "half").write_text("")
        raise UserError("broken")

    with pytest.raises(UserError, match="broken"):
        build.cached("thing", "k", make)
    assert not [e for e in (cache / "build").iterdir() if e.is_dir()]
    done = build.cached("thing", "k", lambda out: None)
    assert not (done / "half").exists()


BUILDER = """
import sys, time
from doorbell import build
def make(out):
    (out / "part").write_text("")
    open(sys.argv[1], "a").write("x")
    build.tool(["sleep", sys.argv[2]], "sleep")
    (out / "whole").write_text("")
print(build.cached("thing", "k", make))
"""


def start_builder(counter: Path, seconds: float) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, "-c", BUILDER, str(counter), str(seconds)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def test_builders_at_once_and_killed(cache: Path, tmp_path: Path) -> None:
    counter = tmp_path / "runs"
    killed = start_builder(counter, 4)  # its sleep has the lock to the end
    wait_for(lambda: counter.exists() and bool(counter.read_text()))
    killed.kill()
    killed.communicate(timeout=60)
    both = [start_builder(counter, 0.3) for _ in range(2)]
    results = {p.communicate(timeout=60)[0].strip() for p in both}
    assert len(results) == 1 and (Path(results.pop()) / "whole").exists()
    assert counter.read_text() == "xx"  # the killed one, and one of the two


def test_prune(cache: Path) -> None:
    old, new = build.cached("old", 1, lambda out: None), build.cached("new", 1, lambda out: None)
    os.utime(old, (0, 0))
    (cache / "build" / "x.o").write_text("")
    os.utime(cache / "build" / "x.o", (0, 0))
    cache_module.prune(cache / "build")
    assert new.exists() and not old.exists() and not (cache / "build" / "x.o").exists()


def test_prune_by_size(cache: Path) -> None:
    """What was used for the longest time ago leaves when there is too much; what is in use stays."""
    folders = [build.cached("kept", i, lambda out: (out / "data").write_bytes(bytes(1000))) for i in range(4)]
    for age, folder in enumerate(folders):
        os.utime(folder, (time.time() - 7200 * age,) * 2)
    cache_module.prune(cache / "build", most=2500)
    assert all(f.exists() for f in folders), "what is small stays"
    cache_module.prune(cache / "build", most=2500, small=0)
    assert [f.exists() for f in folders] == [True, True, False, False]
    cache_module.prune(cache / "build", most=0, small=0)
    assert [f.exists() for f in folders] == [True, False, False, False]


def test_clean(cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    build.cached("some", 1, lambda out: (out / "data").write_bytes(bytes(3_000_000)))
    (cache / "env-1").mkdir()
    assert cli.run(["clean", "--dry-run"]) == 0 and "would remove 3 MB" in capsys.readouterr().out
    assert cli.run(["clean", "--keep-env"]) == 0
    assert [f.name for f in cache.iterdir()] == ["env-1"]
    assert cli.run(["clean"]) == 0 and not list(cache.iterdir())


def test_clean_leaves_what_is_not_ours(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """DOORBELL_CACHE may be a folder that has something else in it, as "set DOORBELL_CACHE to a folder" says."""
    ours = ("build", "build.pruned", "build.7.gone", "env-1", "env-1.lock", "env-1.log", "env-1.tmp", "env-1.7.gone",
            "zig", "report", "watch", "fuzz", "mutate", "last-error.txt")  # fmt: skip
    theirs = ("thesis", "build-2026", "environment", "photos.7.gone")
    for name in (*ours, *theirs):
        (cache / name).mkdir(parents=True)
        (cache / name / "file").touch()
    assert cli.run(["clean"]) == 0
    assert {f.name for f in cache.iterdir()} == {*theirs}
    assert all((cache / name / "file").exists() for name in theirs)
    assert "thesis" in capsys.readouterr().err


def test_objects_are_shared_by_content(cache: Path, tmp_path: Path) -> None:
    (cache / "build").mkdir(parents=True)
    source = tmp_path / "a.cpp"
    source.write_text("int f() { return 1; }  // one\n")
    flags = ["-O1", "-Wall", "-Werror", "-I."]

    def compiled(*flags: str) -> Path:
        return compiler.compile_object(compiler.Unit(source, list(flags)), tmp_path)

    first = compiled(*flags)
    stamp = first.stat().st_ino
    source.write_text("int f() { return 1; }  // another comment\n")
    assert compiled(*flags) == first and first.stat().st_ino == stamp
    assert compiled("-O2", *flags[1:]) != first
    source.write_text("int f() { return 2; }\n")
    assert compiled(*flags) != first
    source.write_text("int f() { }\n")
    with pytest.raises(UserError, match="a.cpp"):
        compiled(*flags)


def test_one_list_of_rtl() -> None:
    sources = build.rtl_sources()
    names = [f.name for f in sources.all_files()]
    assert len(names) == len(set(names)) and names.index("db_nvme_pkg.sv") < names.index("db_ssd_pkg.sv")
    on_disk = {f.name for folder in build.FOLDERS for f in (paths.RTL / folder).glob("*.sv")}
    assert on_disk <= set(names) and "picorv32.v" in names
    folders = {str(f.parent.relative_to(paths.RTL)) for f in paths.RTL.rglob("*.sv")}
    every = {f for f in folders if not f.startswith("compute/ops/")}  # those are found
    assert every <= set(build.FOLDERS), "a folder of rtl/ is missing in build.FOLDERS"


def test_verible_rules_find_faults(tmp_path: Path) -> None:
    paths.put_tools_on_path()
    rules = f"--rules_config={ROOT / '.rules.verible_lint'}"
    text = "// SPDX\nmodule {name} #(\n    parameter int WIDTH = 8\n) (\n    input logic clk\n);\nendmodule\n"
    good, bad = tmp_path / "good.sv", tmp_path / "bad.sv"
    good.write_text(text.format(name="good"))
    bad.write_text(text.format(name="worse"))
    assert subprocess.run(["verible-verilog-lint", rules, good], capture_output=True).returncode == 0
    assert subprocess.run(["verible-verilog-lint", rules, bad], capture_output=True).returncode != 0


def test_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOORBELL_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert paths.cache() == Path("/x/doorbell")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert paths.cache() == Path.home() / ".cache" / "doorbell"
