# SPDX-License-Identifier: Apache-2.0
"""`python -m doorbell.build.slang TOP`: elaborates a top as yosys' read_slang does.

For lint: Verilator takes names before their declaration and more that slang and Vivado refuse. `parse` is for what else
asks about the RTL.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyslang import driver

from doorbell.build import boards
from doorbell.build.registers import regs
from doorbell.build.rtl import include_folders, rtl_sources


def words(folders: Iterable[Path], files: Iterable[Path]) -> str:
    """Of a command line for slang: where it includes from, and what it reads."""
    return shlex.join([*(word for folder in folders for word in ("-I", str(folder))), *map(str, files)])


def parse(top: str, parameters: Mapping[str, int | str] | None = None, more: Sequence[Path] = ()) -> tuple[Any, Any]:
    """slang's driver and the compilation with `top`, of rtl/, of a board or of the files `more`, with those parameters;
    None as the latter if it can't be read."""
    sources = rtl_sources(regs())
    files = [*sources.packages, *sources.modules(), *sources.extra, *boards.sources(top), *more]
    folders = [*include_folders(), *(boards.include_folders() if top in boards.TOPS else ())]
    slang = driver.Driver()
    slang.addStandardArgs()
    options = f"slang --std 1800-2017 --timescale 1ns/1ps -DSYNTHESIS -Wnone --top {top} "
    options += "".join(f"-G {name}={value} " for name, value in (parameters or {}).items())
    read = slang.parseCommandLine(options + words(folders, files)) and slang.processOptions()
    return slang, slang.createCompilation() if read and slang.parseAllSources() else None


def elaborate(top: str) -> bool:
    """True if slang has nothing against it; errors go to stderr."""
    slang, compilation = parse(top)
    if compilation is None:
        return False
    slang.reportCompilation(compilation, True)
    return slang.reportDiagnostics(True)


if __name__ == "__main__":
    raise SystemExit(0 if elaborate(sys.argv[1]) else 1)
