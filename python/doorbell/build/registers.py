# SPDX-License-Identifier: Apache-2.0
"""What is generated from regs/*.rdl: register blocks, C headers, documents, maps for Python."""

from __future__ import annotations

import sys
from pathlib import Path

from doorbell import paths
from doorbell.build import operator_folders
from doorbell.build.cache import cached, hash_files, tool, version
from doorbell.build.operator_chain import VERSION, generate
from doorbell.errors import UserError


def regs() -> Path:
    """What is generated from regs/*.rdl: rtl/*.sv, c/*.h, md/*.md, json/*.json in the returned folder."""
    folder = paths.ROOT / "regs"
    script = folder / "generate.py"
    sources = [*folder.glob("*.rdl"), folder / "register_map.py", script]
    if not script.exists():
        raise UserError("regs/generate.py is missing: this clone is not complete")
    ops = [(f.name, f.code, f.reduces, f.latency) for f in operator_folders.find()]
    sources += [f.rdl for f in operator_folders.find() if f.rdl.exists()]
    tools = version("peakrdl", "systemrdl-compiler", "peakrdl-regblock", "peakrdl-cheader", "peakrdl-markdown")
    key = (hash_files(sources), ops, VERSION, tools)

    def make(out: Path) -> None:
        tool([sys.executable, str(script), str(out)], "generating the registers")
        generate(out / "rtl")

    return cached("regs", key, make, "generating the registers")


def regs_html(out: Path) -> Path:
    """Write the register reference as a web page into `out`."""
    rdl = sorted((paths.ROOT / "regs").glob("*.rdl"))
    for file in rdl:
        command = [sys.executable, "-m", "peakrdl", "html", str(file), "-o", str(out / file.stem)]
        tool(command, "making the register reference")
    return out
