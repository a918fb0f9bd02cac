# SPDX-License-Identifier: Apache-2.0
"""Builds one RTL module with Verilator and runs its cocotb tests.

A test file holds cocotb tests and one or more pytest functions that call `run`; pytest parameters become module
parameters. Builds are kept in the cache by the content of the RTL that they use and the parameters.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from doorbell import build, paths  # noqa: E402
from doorbell.build import FOLDERS, PACKAGES  # noqa: E402
from doorbell.build.benches import Bench, program  # noqa: E402

RTL = ROOT / "rtl"


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


def python_path() -> list[str]:
    """Where tests find what they share: models, and each other."""
    return [str(ROOT / "tests" / "models"), *(str(d) for d in sorted((ROOT / "tests" / "rtl").iterdir()) if d.is_dir())]


def run(
    test_file: str,
    top: str,
    parameters: dict[str, int | str] | None = None,
    *,
    extra_sources: tuple[str | Path, ...] = (),
    defines: dict[str, str] | None = None,
    env: dict[str, str] | None = None,
    testcase: str | None = None,
) -> None:
    """Run the cocotb tests in `test_file` against module `top`. Raises if one fails.

    extra_sources: further files (a test wrapper), absolute or relative to the repository. testcase: one test's name.
    """
    from cocotb_tools.runner import get_results, get_runner

    paths.put_tools_on_path()
    extras = [ROOT / e for e in extra_sources]
    generated = {f.stem: f for f in sorted((build.regs() / "rtl").glob("*_pkg.sv"))}
    library = {f.stem: f for d in FOLDERS for f in sorted((RTL / d).glob("*.sv*"))}  # headers (.svh) too
    top_file = [] if any(e.stem == top for e in extras) else [library[top]]
    used = used_files([*extras, *top_file], {**generated, **library})
    packages = [p for p in (*generated.values(), *(RTL / p for p in PACKAGES)) if p in used and p not in extras]
    wave = bool(os.environ.get("DOORBELL_WAVE"))
    build_dir = program(Bench(
        top=top, sources=[*packages, *extras, *top_file], folders=[RTL / d for d in FOLDERS], depends=used,
        parameters=dict(parameters or {}), defines=dict(defines or {}), wave=wave,
    ))  # fmt: skip
    results_dir = ROOT / "build" / "unit" / f"{top}-{os.getpid()}"
    results_dir.mkdir(parents=True, exist_ok=True)
    runner = get_runner("verilator")
    file = Path(test_file).resolve()
    sys.path[:0] = [str(file.parent), *python_path()]
    results = runner.test(
        hdl_toplevel=top,
        hdl_toplevel_lang="verilog",
        waves=wave,
        test_module=file.stem,
        build_dir=build_dir,
        test_dir=results_dir,
        extra_env={"PYTHONPATH": os.pathsep.join([*python_path(), os.environ.get("PYTHONPATH", "")]), **(env or {})},
        testcase=testcase,
    )
    if wave:
        keep_wave(results_dir / "dump.vcd")
    ran, failed = get_results(results)
    if ran == 0 or failed:
        raise AssertionError(f"{top}: {failed} of {ran} cocotb tests failed")
