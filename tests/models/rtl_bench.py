# SPDX-License-Identifier: Apache-2.0
"""Builds one RTL module with Verilator and runs its cocotb tests.

A test file holds cocotb tests and one or more pytest functions that call `run`; pytest parameters become module
parameters. Programs are kept in the cache by the content of the RTL that they use and the parameters. What passed is
not run again while that, the test and all Python that it imports are as they were (results.py).
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import two_state  # noqa: E402
from doorbell import build, paths  # noqa: E402
from doorbell.build import FOLDERS, PACKAGES, boards, coverage  # noqa: E402
from doorbell.build.benches import Bench, hash_rtl, program, program_key  # noqa: E402
from results import run_once, sources  # noqa: E402

two_state.install()

RTL = ROOT / "rtl"


def rare(*values: object) -> object:
    """A case of a test that claims the same with other parameters, too: nightly."""
    return pytest.param(*values, marks=pytest.mark.nightly)


FULL = bool(os.environ.get("DOORBELL_NIGHTLY"))
"""`./doorbell test --nightly`: benches repeat what they claim as often as they can."""


def rounds(full: int, some: int) -> int:
    """How often a bench repeats something: `full` nightly, else `some`."""
    return full if FULL else some


WIDTHS = [rare(128), rare(256), 512]
"""The widest straddles; whole drives and hosts are driven at all three."""
SEED = "1"  # cocotb's, which would be the time; COCOTB_RANDOM_SEED takes another


SOURCES = [*(RTL / d for d in FOLDERS), boards.FOLDER / "rtl"]
"""Where modules are found by their names."""


def used_files(files: list[Path], library: dict[str, Path]) -> list[Path]:
    """`files` and every file of the library whose module one of them names, directly or through another."""
    found = dict.fromkeys(files)
    todo = list(files)
    while todo:
        for word in set(re.findall(r"\bdb_\w+", todo.pop().read_text())):
            f = library.get(word)
            if f and f not in found:
                found[f] = None
                todo.append(f)
    return sorted(found)


def keep_wave(dump: Path) -> None:
    """Move the waveform of a test to build/waves and say where it is. `./doorbell test --wave` asks for it."""
    kept = paths.wave()
    shutil.move(dump, kept)
    print(f"waveform: {kept}")


_runs = itertools.count()


def keep_coverage(counts: Path) -> None:
    """Move what a bench counted to where `./doorbell test --coverage` adds it up."""
    folder = paths.OUT / "coverage"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.move(counts, folder / f"{os.getpid()}-bench-{next(_runs)}.dat")


def python_path() -> list[str]:
    """Where tests find what they share: models, and each other."""
    return [str(ROOT / "tests" / "models"), *(str(d) for d in sorted((ROOT / "tests" / "rtl").iterdir()) if d.is_dir())]


def python_of(file: Path) -> list[Path]:
    """A test's file and all Python that it imports of the repository's."""
    return sources(file, [file.parent, *map(Path, python_path()), ROOT / "python"])


def read_at_run_time(file: Path) -> str:
    """A digest of what a test reads when it runs: Python, packages of the RTL (structs.py), models of operators."""
    python = [*python_of(file), *(RTL / "compute" / "ops").rglob("*.py")]
    headers = [f for pattern in ("*_pkg.sv", "*.svh") for f in sorted(RTL.rglob(pattern))]
    return f"{build.hash_files(python)} {hash_rtl(headers)} {build.regs().name}"


def run(
    test_file: str,
    top: str,
    parameters: dict[str, int | str] | None = None,
    *,
    extra_sources: tuple[str | Path, ...] = (),
    defines: dict[str, str] | None = None,
    env: dict[str, str] | None = None,
    testcase: str | None = None,
    files: Mapping[str, Path] | None = None,
    inside: tuple[str, ...] = (),
    parts: tuple[str, ...] = (),
) -> None:
    """Run the cocotb tests in `test_file` against module `top`, unless they passed before. Raises if one fails.

    extra_sources: further files (a test wrapper), absolute or relative to the repository. testcase: one test's name.
    files: what the simulation finds where it runs, by name. inside: modules below `top` that the tests look into.
    parts: modules of Python beside the file, whose cocotb tests run before its own.
    """
    paths.put_tools_on_path()
    extras = [ROOT / e for e in extra_sources]
    generated = {f.stem: f for f in sorted((build.regs() / "rtl").glob("*_pkg.sv"))}
    library = {f.stem: f for d in SOURCES for f in sorted(d.glob("*.sv*"))}  # headers (.svh) too
    top_file = [] if any(e.stem == top for e in extras) else [library[top]]
    used = used_files([*extras, *top_file], {**generated, **library})
    packages = [p for p in (*generated.values(), *(RTL / p for p in PACKAGES)) if p in used and p not in extras]
    wave, counted = bool(os.environ.get("DOORBELL_WAVE")), coverage.wanted()
    bench = Bench(
        top=top, sources=[*packages, *extras, *top_file], folders=SOURCES, depends=used,
        parameters=dict(parameters or {}), defines=dict(defines or {}), wave=wave,
        coverage=counted, inside=inside,
    )  # fmt: skip
    file, files = Path(test_file).resolve(), dict(files or {})
    tests = [*(file.parent / f"{name}.py" for name in parts), file]  # in the order in which they run
    settings = {"COCOTB_RANDOM_SEED": SEED, **two_state.settings(python_of(tests[-1]))}
    settings.update({k: v for k, v in os.environ.items() if k.startswith("COCOTB_") or k == "DOORBELL_MUTANT"})
    settings.update({"DOORBELL_NIGHTLY": "1"} if FULL else {})
    settings.update(env or {})
    if wave or counted:  # what passed before has left neither
        simulate(bench, tests, settings, testcase, files, None)
        return
    key = (
        program_key(bench), file.name, [read_at_run_time(f) for f in tests], sorted(settings.items()), testcase,
        sorted(files), build.hash_files(files.values()),
    )  # fmt: skip
    run_once(f"passed-{top}", key, lambda folder: simulate(bench, tests, settings, testcase, files, folder))


def simulate(
    bench: Bench,
    tests: Sequence[Path],
    env: dict[str, str],
    testcase: str | None,
    files: Mapping[str, Path],
    kept: Path | None,
) -> None:
    """Build the bench and run the tests in these files; what came of them goes to the folder `kept`."""
    from cocotb_tools.runner import get_results, get_runner

    build_dir = program(bench)
    results_dir = ROOT / "build" / "unit" / f"{bench.top}-{os.getpid()}"
    results_dir.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        shutil.copy(content, results_dir / name)
    runner = get_runner("verilator")
    paths_of_python = os.pathsep.join([*python_path(), os.environ.get("PYTHONPATH", "")])
    no_plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # of pytest: cocotb wants its messages of asserts alone
    sys.path[:0] = [str(tests[-1].parent), *python_path()]
    results = runner.test(
        hdl_toplevel=bench.top,
        hdl_toplevel_lang="verilog",
        waves=bench.wave,
        test_module=[file.stem for file in tests],
        build_dir=build_dir,
        test_dir=results_dir,
        extra_env={"PYTHONPATH": paths_of_python, **no_plugins, **env},
        testcase=testcase,
    )
    if bench.wave:
        keep_wave(results_dir / "dump.vcd")
    if bench.coverage:
        keep_coverage(results_dir / "coverage.dat")
    ran, failed = get_results(results)
    if ran == 0 or failed:
        raise AssertionError(f"{bench.top}: {failed} of {ran} cocotb tests failed")
    if kept:
        shutil.copy(results, kept / "results.xml")
