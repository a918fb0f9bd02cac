# SPDX-License-Identifier: Apache-2.0
"""Tests that passed are not run again, unless something that they depend on has changed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import results
import whole_tests
from doorbell import build, paths
from doorbell.build import benches

NEEDED = ("conftest.py", "pyproject.toml", "requirements.lock", "facts", "formal", "python", "regs", "rtl",
          "tests/formal", "tests/models", "tests/rtl")  # fmt: skip
BENCH, PROOF = "tests/rtl/common/test_common.py::test_db_skid", "tests/formal/test_formal.py::test_proof[skid]"


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that holds nothing but what all benches share."""
    shared = [build.regs(), benches.runtime(False)]
    monkeypatch.setenv("DOORBELL_CACHE", str(tmp_path / "cache"))
    for variable in ("DOORBELL_FRESH", "DOORBELL_WAVE", "DOORBELL_BUILD_LOG"):
        monkeypatch.delenv(variable, raising=False)
    store = tmp_path / "cache" / "build"
    store.mkdir(parents=True)
    for folder in shared:
        (store / folder.name).symlink_to(folder)
    return store


@pytest.fixture
def clone(tmp_path: Path, own_cache: Path) -> Path:
    root = tmp_path / "clone"
    for name in NEEDED:
        source, copy = paths.ROOT / name, root / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy)
    return root


def outcome(root: Path, *tests: str, **settings: str) -> tuple[dict[str, int], str]:
    """How many tests passed, failed and so on, of a bench and a proof unless others are named; and all that pytest
    says."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")} | {"PYTHONPATH": str(root / "python")}
    env |= settings
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", *(tests or (BENCH, PROOF))]
    done = subprocess.run(command, cwd=root, env=env, text=True, capture_output=True, check=False, timeout=300)
    last = done.stdout.splitlines()[-1]
    return {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", last.split(" in ")[0])}, done.stdout


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def test_what_makes_a_bench_and_a_proof_run_again(clone: Path) -> None:
    assert outcome(clone)[0] == {"passed": 2}
    rtl = clone / "rtl/common/db_skid.sv"
    edit(rtl, "// SPDX", "// A comment; SPDX")
    kept, said = outcome(clone)
    assert kept == {"cached": 2} and "cached: 2 tests were not run again" in said
    # The RTL, to something that fails, which is not kept.
    before, after = "if (s_ready_q) spare_q", "if (s_valid) spare_q"
    edit(rtl, before, after)
    for _ in range(2):
        assert outcome(clone)[0] == {"failed": 2}
    edit(rtl, after, before)
    # The test, and what the proof is run with; then a model.
    for file in ("tests/rtl/common/test_common.py", "formal/common.sby"):
        (clone / file).write_text((clone / file).read_text() + "\n# changed\n")
    assert outcome(clone)[0] == {"passed": 2}
    models = clone / "tests/models/rtl_bench.py"
    models.write_text(models.read_text() + "\nCHANGED = True\n")
    assert outcome(clone)[0] == {"passed": 1, "cached": 1}


def counted(fail: bool = False) -> tuple[list[int], Callable[[Path], None]]:
    """A run that counts itself, and fails if told."""
    runs: list[int] = []

    def run(folder: Path) -> None:
        runs.append(1)
        assert not fail
        (folder / "log").write_text("passed")

    return runs, run


def test_once_for_each_key(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, run = counted()
    for key in ("a", "a", "b"):
        results.run_once("thing", key, run)
    assert len(runs) == 2
    monkeypatch.setenv("DOORBELL_FRESH", "1")
    results.run_once("thing", "a", run)
    assert len(runs) == 3


def test_what_fails_afresh_is_forgotten(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results.run_once("thing", "a", counted()[1])
    monkeypatch.setenv("DOORBELL_FRESH", "1")
    with pytest.raises(AssertionError):
        results.run_once("thing", "a", counted(fail=True)[1])
    monkeypatch.delenv("DOORBELL_FRESH")
    runs, run = counted()
    results.run_once("thing", "a", run)
    assert runs


def test_all_that_a_file_imports(tmp_path: Path) -> None:
    """Through other files, inside functions, modules of packages with the packages; nothing from elsewhere."""
    one, two = tmp_path / "one", tmp_path / "two"
    for name, text in {
        "one/test_a.py": "import os, b\n", "one/b.py": "def f():\n    from pack.inner import c, name\n",
        "one/unused.py": "", "two/pack/__init__.py": "", "two/pack/inner/__init__.py": "name = 1\n",
        "two/pack/inner/c.py": "import b\n", "two/pack/other.py": "",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = [str(f.relative_to(tmp_path)) for f in results.sources(one / "test_a.py", [one, two])]
    assert found == ["one/b.py", "one/test_a.py", "two/pack/__init__.py", "two/pack/inner/__init__.py",
                     "two/pack/inner/c.py"]  # fmt: skip


# ---------------------------------------------------------------- whole tops

QUICK = "tests/system/ssd/test_ssd_model.py"


@pytest.fixture
def tree(tmp_path: Path, own_cache: Path) -> Path:
    """A repository with as little in it as a system test may depend on."""
    root = tmp_path / "tree"
    for name, text in {
        "rtl/a.sv": "module a;", "python/doorbell/x.py": "", "docs/page.md": "", "formal/a.sv": "",
        "tests/rtl/test_b.py": "", "tests/models/used.py": "", "tests/models/other.py": "",
        "tests/system/conftest.py": "", "tests/system/vm/test_v.py": "",
        "docs/ssd/read.md": "", "docs/ssd/told.md": "",
        "tests/system/ssd/test_a.py": 'import used\nPAGE = paths.ROOT / "docs" / "ssd" / "read.md"  # not told.md',
    }.items():  # fmt: skip
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(("changed", "again"), [
    ("rtl/a.sv", True), ("rtl/new.sv", True), ("python/doorbell/x.py", True), ("tests/models/used.py", True),
    ("tests/system/conftest.py", True), ("tests/system/ssd/test_a.py", True), ("tests/models/other.py", False),
    ("docs/page.md", False), ("docs/ssd/told.md", False), ("docs/ssd/read.md", True), ("formal/a.sv", False),
    ("tests/rtl/test_b.py", False),
])  # fmt: skip
def test_what_makes_a_system_test_run_again(tree: Path, changed: str, again: bool) -> None:
    test, name = tree / "tests/system/ssd/test_a.py", "test_a[1]"

    def passed(settings: dict[str, str] | None = None, other: str = name) -> bool:
        kept = whole_tests.Kept(tree, settings or {})
        file = kept.file(test, other)
        return file is not None and kept.passed(file)

    kept = whole_tests.Kept(tree, {})
    file = kept.file(test, name)
    assert file is not None and not kept.passed(file)
    kept.keep(file)
    assert passed() and not passed(other="test_a[2]") and not passed({"DOORBELL_BACKEND": "functional"})
    assert kept.file(tree / "tests/system/vm/test_v.py", name) is None
    with (tree / changed).open("a") as source:
        source.write("# changed\n")
    assert passed() is not again


def test_another_firmware_runs_system_tests_again(tree: Path, tmp_path: Path) -> None:
    """That of DOORBELL_FIRMWARE, by what is in it."""
    image, found = tmp_path / "fw.hex", set()
    for text in ("00000000\n", "00000001\n"):
        image.write_text(text)
        kept = whole_tests.Kept(tree, {"DOORBELL_FIRMWARE": str(image)})
        found.add(kept.file(tree / "tests/system/ssd/test_a.py", "test_a"))
    assert len(found) == 2


def test_a_file_that_is_written_meanwhile(tree: Path) -> None:
    """Neither kept nor looked up; what is run afresh is forgotten first."""
    kept = whole_tests.Kept(tree, {})
    file = kept.file(tree / "tests/system/ssd/test_a.py", "test_a")
    assert file is not None
    kept.keep(file)
    assert kept.passed(file)
    fresh = whole_tests.Kept(tree, {"DOORBELL_FRESH": "1"})
    assert not fresh.passed(file) and not kept.passed(file)
    (tree / "rtl/a.sv").write_text("module a; endmodule")
    kept.keep(file)
    assert not file.exists() and not kept.passed(file)


def test_a_system_test_is_cached(own_cache: Path) -> None:
    settings = {"DOORBELL_BACKEND": "functional", "DOORBELL_FRESH": ""}
    first, _ = outcome(paths.ROOT, QUICK, **settings)
    again, _ = outcome(paths.ROOT, QUICK, **settings)
    assert first.pop("passed") == again.pop("cached") > 2 and first == again
