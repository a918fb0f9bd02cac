# SPDX-License-Identifier: Apache-2.0
"""Builds one RTL module with Verilator and runs its cocotb tests.

A test file holds cocotb tests and one or more pytest functions that call `run`; pytest parameters become module
parameters. Builds are kept in the cache by the content of the RTL that they use and the parameters.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import time
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from doorbell import build, paths  # noqa: E402
from doorbell.build import FOLDERS, PACKAGES  # noqa: E402

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


RUNTIME = ("verilated", "verilated_dpi", "verilated_vpi", "verilated_threads")


def python_path() -> list[str]:
    """Where tests find what they share: models, and each other."""
    return [str(ROOT / "tests" / "models"), *(str(d) for d in sorted((ROOT / "tests" / "rtl").iterdir()) if d.is_dir())]


def cache_dir_of_runtime(versions: tuple[str, ...]) -> Path:
    """Where the objects of Verilator's runtime are kept for the next bench."""
    return paths.cache() / "unit" / ("runtime-" + "-".join(versions))


def keep_runtime(build_dir: Path, runtime: Path) -> None:
    """Keep the runtime's objects of a finished build, each put in place whole."""
    runtime.mkdir(parents=True, exist_ok=True)
    for name in RUNTIME:
        for ending in (".d", ".o"):
            source, kept = build_dir / (name + ending), runtime / (name + ending)
            os.utime(source)
            if not kept.exists():
                partial = runtime / f".{name}{ending}.{os.getpid()}"
                shutil.copy(source, partial)
                partial.rename(kept)


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
    # Compiling is most of a bench's time, so no optimisation; and the wheel's Makefile leaves a flag empty.
    os.environ["MAKEFLAGS"] = "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0 CFG_CXXFLAGS_PCH_I=-include"
    parameters = dict(parameters or {})
    extras = [ROOT / e for e in extra_sources]
    generated = {f.stem: f for f in sorted((build.regs() / "rtl").glob("*_pkg.sv"))}
    library = {f.stem: f for d in FOLDERS for f in sorted((RTL / d).glob("*.sv*"))}  # headers (.svh) too
    top_file = [] if any(e.stem == top for e in extras) else [library[top]]
    used = used_files([*extras, *top_file], {**generated, **library})
    packages = [p for p in (*generated.values(), *(RTL / p for p in PACKAGES)) if p in used and p not in extras]
    versions = (metadata.version("verilator"), metadata.version("cocotb"))
    digest = hashlib.sha256(
        repr((top, versions, sorted(parameters.items()), sorted((defines or {}).items()))).encode()
    )
    for f in used:
        digest.update(f.read_bytes())
    build_dir = paths.cache() / "unit" / f"{top}-{digest.hexdigest()[:16]}"
    results_dir = ROOT / "build" / "unit" / f"{top}-{os.getpid()}"
    results_dir.mkdir(parents=True, exist_ok=True)
    # Verilator's own runtime is the same for every bench: compile it once.
    runtime = cache_dir_of_runtime(versions)
    build_dir.mkdir(parents=True, exist_ok=True)
    if not (build_dir / top).exists():
        for f in runtime.glob("*.[od]"):
            copy = Path(shutil.copy(f, build_dir))
            os.utime(copy, (time.time() + 3600,) * 2)  # newer than the Makefile that Verilator is about to write
    runner = get_runner("verilator")
    runner.build(
        sources=[*packages, *extras, *top_file],
        hdl_toplevel=top,
        parameters=parameters,
        defines=defines or {},
        build_dir=build_dir,
        always=not (build_dir / top).exists(),
        build_args=[
            *(a for d in FOLDERS for a in ("-y", str(RTL / d))),
            *(f"+incdir+{d}" for d in build.include_folders()),
            "+libext+.sv", "-Wall", "-Wno-fatal", "--assert", "-j", "1",
            "-Wno-UNUSEDSIGNAL", "-Wno-UNUSEDPARAM", "-Wno-DECLFILENAME", "-Wno-PINCONNECTEMPTY",
        ],
        timescale=("1ns", "1ps"),
    )
    keep_runtime(build_dir, runtime)
    file = Path(test_file).resolve()
    sys.path[:0] = [str(file.parent), *python_path()]
    results = runner.test(
        hdl_toplevel=top,
        test_module=file.stem,
        build_dir=build_dir,
        test_dir=results_dir,
        extra_env={"PYTHONPATH": os.pathsep.join([*python_path(), os.environ.get("PYTHONPATH", "")]), **(env or {})},
        testcase=testcase,
    )
    ran, failed = get_results(results)
    if ran == 0 or failed:
        raise AssertionError(f"{top}: {failed} of {ran} cocotb tests failed")
