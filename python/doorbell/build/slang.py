# SPDX-License-Identifier: Apache-2.0
"""`python -m doorbell.build.slang TOP`: elaborates a top as yosys' read_slang does.

For lint: Verilator takes names before their declaration and more that slang and Vivado refuse.
"""

from __future__ import annotations

import sys

from pyslang import driver

from doorbell.build.registers import regs
from doorbell.build.rtl import include_folders, rtl_sources


def elaborate(top: str) -> bool:
    """True if slang has nothing against it; errors go to stderr."""
    sources = rtl_sources(regs())
    files = map(str, [*sources.packages, *sources.modules(), *sources.extra])
    slang = driver.Driver()
    slang.addStandardArgs()
    options = f"slang --std 1800-2017 --timescale 1ns/1ps -DSYNTHESIS -Wnone --top {top} "
    options += "".join(f"-I {folder} " for folder in include_folders())
    if not (slang.parseCommandLine(options + " ".join(files)) and slang.processOptions() and slang.parseAllSources()):
        return False
    slang.reportCompilation(slang.createCompilation(), True)
    return slang.reportDiagnostics(True)


if __name__ == "__main__":
    raise SystemExit(0 if elaborate(sys.argv[1]) else 1)
