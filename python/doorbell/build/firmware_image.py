# SPDX-License-Identifier: Apache-2.0
"""The admin processor's program."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from doorbell import paths
from doorbell.build.cache import cached, hash_files, tool, version
from doorbell.build.registers import regs
from doorbell.errors import UserError

MOST_FUNCTIONS = 17

IMAGES = {
    "fw.hex": (1, False, True, False),
    "fw-functions.hex": (17, False, False, False),
    "fw-functions-operators.hex": (17, False, True, False),
    "fw-extents.hex": (1, True, True, False),
    "fw-functions-extents.hex": (17, True, True, False),
    "fw-slm.hex": (1, False, True, True),
    "fw-functions-slm.hex": (17, False, True, True),
    "fw-extents-slm.hex": (1, True, True, True),
    "fw-functions-extents-slm.hex": (17, True, True, True),
}
"""All there are: for how many functions, whether namespaces are on SSDs (db_vcsd), whether there is room for
programs of near-storage commands (not in db_ssd), and whether functions have namespaces of memory and programs
(parameter SLM)."""


def firmware(
    functions: int = 1, extents: bool = False, programs: bool = True, slm: bool = False, serial: int = 1
) -> Path:
    """The admin processor's program as 32-bit hexadecimal words for $readmemh, with memory for so many functions:
    one, or as many as there can be. extents: namespaces are on SSDs (db_vcsd). programs: of near-storage commands; with
    one function there is always room for them. slm: namespaces of memory and programs. serial: the drive's number.

    DOORBELL_FIRMWARE names another image, to see what changes with it.
    """
    if own := own_image():
        return own
    made = linked(functions, extents, programs, slm).with_suffix(".hex")
    words = made.read_text().splitlines(keepends=True)
    words[1] = f"{serial:08x}\n"  # as fw/build.py's --serial, without another compilation
    text = "".join(words)
    # Named by what it holds, so that a comment in a source builds no simulator anew.
    return cached("fw-image", text, lambda out: (out / "fw.hex").write_text(text)) / "fw.hex"


def own_image() -> Path | None:
    """The image that DOORBELL_FIRMWARE names in the place of ours."""
    if not (own := os.environ.get("DOORBELL_FIRMWARE")):
        return None
    if not Path(own).is_file():
        raise UserError(f"DOORBELL_FIRMWARE={own}: there is no such file")
    return Path(own).absolute()


def linked(functions: int = 1, extents: bool = False, programs: bool = True, slm: bool = False) -> Path:
    """The same program with its symbols, an ELF file."""
    functions = MOST_FUNCTIONS if functions > 1 else 1
    programs |= functions == 1
    folder = paths.ROOT / "fw"
    sources = [f for f in folder.rglob("*") if f.suffix in (".c", ".S", ".h", ".ld", ".py")]
    sources += (paths.ROOT / "facts" / "c").glob("*.h")
    if folder / "build.py" not in sources:
        raise UserError("fw/build.py is missing: this clone is not complete")
    headers = regs() / "c"
    used = {name for file in sources for name in re.findall(r'#include "(\w+\.h)"', file.read_text())}
    included = [h for h in headers.glob("*.h") if h.name in used]
    key = (functions, extents, programs, slm, hash_files(sources), hash_files(included, headers), version("ziglang"))

    def make(out: Path) -> None:
        env = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(paths.cache() / "zig")}
        command = [sys.executable, str(folder / "build.py"), str(out / "fw.hex"), str(headers)]
        command += ["--functions", str(functions), *(["--extents"] if extents else [])]
        command += [] if programs else ["--no-programs"]
        command += ["--slm"] if slm else []
        tool(command, "building the firmware", env=env)

    return cached("fw", key, make, "building the firmware") / "fw.elf"
