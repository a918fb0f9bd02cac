# SPDX-License-Identifier: Apache-2.0
"""C++ to a shared library with all cores; objects are cached by their preprocessed text."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from doorbell import paths
from doorbell.build.cache import say, tool, touch
from doorbell.build.toolchain import GXX, clang, precompiled, version_of
from doorbell.errors import UserError


def jobs() -> int:
    """How many compilers run at once: DOORBELL_JOBS, or all cores this process may use."""
    said = os.environ.get("DOORBELL_JOBS") or str(len(os.sched_getaffinity(0)))
    if not said.isdecimal() or not 1 <= int(said) <= 1024:
        raise UserError(f"DOORBELL_JOBS={said[:40]}: must be a number from 1 to 1024")
    return int(said)


COMPILE = [
    "-std=c++17", "-fPIC", "-fno-semantic-interposition", "-pthread",
    "-DVERILATOR=1", "-DVM_SC=0", "-DVM_TIMING=0",
]  # fmt: skip
LINK = ["-shared", "-pthread", "-Wl,-Bsymbolic", "-Wl,-O1", "-Wl,--no-undefined"]
OPTIMISE = {"fast": "-O2", "slow": "-O0", "runtime": "-O3"}  # -O3 of a model takes longer and runs no faster
WARN = ["-Wall", "-Wextra", "-Werror"]
SANITIZE = ["-O1", "-g1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
"""In place of the runtime's optimisation, where DOORBELL_SANITIZE=1 asks for it; the model itself is Verilator's
business."""
SMALL = 300_000
"""Bytes of a file of Verilator's output that is not worth to be compiled alone."""
RUNTIME_INCLUDE = [paths.ROOT / "sim", paths.ROOT / "facts" / "c"]
"""Where the runtime's own headers are."""
FST_INCLUDE = paths.ROOT / "sim" / "fst"
"""What Verilator's writer of FST files includes."""


class Unit(NamedTuple):
    """A C++ file to compile, with which flags and compiler; before: headers that are compiled already."""

    source: Path
    flags: list[str]
    compiler: Sequence[str] = GXX
    before: Sequence[str] = ()


def link(obj: Path, runtime: list[Path], defines: list[str], library: Path, sanitize: bool = False) -> None:
    """Compile Verilator's output in `obj`, its library and our runtime with all cores; link them to `library`.

    sanitize: the runtime under AddressSanitizer and UndefinedBehaviorSanitizer; who loads it needs
    LD_PRELOAD=libasan.so.
    """
    include = paths.verilator_root() / "include"
    own, compiler = (SANITIZE, GXX) if sanitize else ([OPTIMISE["runtime"]], clang())  # clang's sanitizers are not here
    system = ["-isystem", str(include), "-isystem", str(include / "vltstd"), f"-I{FST_INCLUDE}"]
    common = [*COMPILE, *defines, "-I.", *system]
    models = ["-w", "-fvisibility=hidden", *COMPILE, *(d for d in defines if d.startswith("-DVM_")), *system]
    work: list[Unit] = []
    for kind, file in units(obj):
        flags = [OPTIMISE[kind], *models]
        work.append(Unit(file, [*flags, "-I."], clang(), precompiled(["verilated.h"], flags)))
    for name in library_files(obj):
        work.append(Unit(include / f"{name}.cpp", [OPTIMISE["runtime"], *models], clang()))
    for file in runtime:
        flags = [*own, *WARN, *common, *(f"-I{folder}" for folder in RUNTIME_INCLUDE)]
        work.append(Unit(file, flags, compiler))
    work.sort(key=lambda unit: -unit.source.stat().st_size)  # the longest first, so that the cores end together
    done = 0

    def one(unit: Unit) -> Path:
        nonlocal done
        result = compile_object(unit, cwd=obj)
        done += 1
        if done % 10 == 0 or done == len(work):
            say(f"compiled {done} of {len(work)} files")
        return result

    with ThreadPoolExecutor(jobs()) as pool:
        objects = list(pool.map(one, work))
    exports = obj / "exports"
    exports.write_text("{ global: db_*; local: *; };\n")  # the C interfaces of sim/interface/
    sanitizers = [f for f in SANITIZE if f.startswith("-fsanitize")] if sanitize else []
    tool(
        [*GXX, *LINK, *sanitizers, f"-Wl,--version-script={exports}", "-o", str(library), *map(str, objects)],
        "linking",
    )


LESS_THAN = re.compile(r"^    bool operator<\(const .*?^    \}\n", re.MULTILINE | re.DOTALL)


def leave_out_comparisons(obj: Path) -> None:
    """Take the `operator<` out of the structs in the headers of Verilator's output in `obj`.

    Nothing uses it but associative arrays, which this RTL has not; and its std::tie are most of what it costs to read
    a header.
    """
    for header in obj.glob("*.h"):
        text = header.read_text()
        if "operator<(" in text:
            header.write_text(LESS_THAN.sub("", text))


def units(obj: Path) -> list[tuple[str, Path]]:
    """What to compile of Verilator's output: "slow" for what runs once, "fast" for the rest, and a file.

    The headers of a model take seconds to compile, so files are put together: what runs once into one, what is small of
    the rest into one too.
    """
    files = sorted(obj.glob("*.cpp"))
    slow = [f for f in files if "__Slow" in f.name or "__Syms" in f.name]
    fast = [f for f in files if f not in slow]
    small = [f for f in fast if f.stat().st_size < SMALL]
    result = [("fast", f) for f in fast if f not in small]
    for kind, name, parts in (("slow", "all_slow", slow), ("fast", "all_small", small)):
        if parts:
            whole = obj / f"{name}.cpp"
            whole.write_text("".join(f'#include "{f.name}"\n' for f in parts))
            result.append((kind, whole))
    return result


def library_files(obj: Path) -> list[str]:
    """The parts of Verilator's own library that this model needs, from the list that Verilator writes."""
    listing = next(obj.glob("*_classes.mk")).read_text().replace("\\\n", " ")
    names: list[str] = []
    for line in listing.splitlines():
        if line.startswith(("VM_GLOBAL_FAST", "VM_GLOBAL_SLOW")):
            names += line.split("=", 1)[1].split()
    return names


def compile_object(unit: Unit, cwd: Path) -> Path:
    """Compile one C++ file; an object made from the same preprocessed text with the same flags is taken instead."""
    store = paths.cache() / "build"
    command, name = [*unit.compiler, *unit.flags], unit.source.name
    text = tool([*command, "-E", "-P", str(unit.source)], f"compiling {name}", cwd=cwd)
    # The text has what the other flags say.
    stable = [f for f in unit.flags if f.startswith(("-O", "-f", "-g", "-m", "-s", "-w", "-W"))]
    digest = hashlib.sha256(f"{version_of(unit.compiler)}\0{stable}\0{text}".encode()).hexdigest()
    final = store / f"{digest[:24]}.o"
    if touch(final):
        return final
    temporary = store / f"{digest[:24]}.{secrets.token_hex(6)}.tmp"  # in containers, others have this process's number
    try:
        tool([*command, *unit.before, "-c", str(unit.source), "-o", str(temporary)], f"compiling {name}", cwd=cwd)
        temporary.rename(final)
    finally:
        temporary.unlink(missing_ok=True)
    return final
