# SPDX-License-Identifier: Apache-2.0
"""Layers of C and C++ sources: a folder includes its own headers and those of the folders below it, no others.

SIM is the table of the simulator runtime; sim/README.md says what its folders are for.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from doorbell import paths

SIM: dict[str, Sequence[str]] = {
    "interface": (),
    "common": (),
    "pcie": ("interface", "common"),
    "nand": ("interface", "common"),
    "media": ("interface", "common", "nand"),
    "host": ("interface", "common", "pcie"),
    "drives": ("interface", "common", "pcie"),
    "user": ("interface", "common", "nand", "media"),
    "switch": ("interface", "common", "pcie", "drives"),
    "runtime": ("interface", "common", "pcie", "nand", "media", "host", "drives", "switch", "user"),
    "fst": (),
}
"""Folders of sim/, and what each may include beside its own."""

SIM_OUTSIDE: dict[str, Sequence[str]] = {
    "pcie": ("doorbell_facts.h",),
    "media": ("doorbell_facts.h",),
    "drives": ("nvme_facts.h",),
    "runtime": ("verilated.h", "verilated_cov.h", "verilated_vcd_c.h", "verilated_fst_c.h", "Vtop__Syms.h"),
}
"""Headers in quotes that are not of sim/, and who may include them: what is NVMe's, drives alone."""

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
ENDINGS = (".c", ".cpp", ".h")


def check_includes(
    folder: Path, allowed: Mapping[str, Sequence[str]], outside: Mapping[str, Sequence[str]] | None = None
) -> list[str]:
    """What is wrong with the sources below `folder`, a line each.

    allowed: for each folder in it, those whose headers it may include. outside: for each, headers from elsewhere.
    """
    if circle := _circle(allowed):
        return [f"the table has a circle: {circle}"]
    wrong = []
    for file in sorted(f for f in folder.rglob("*") if f.suffix in ENDINGS):
        name = file.relative_to(folder).as_posix()
        layer = name.rpartition("/")[0]
        if layer not in allowed:
            wrong.append(f"{name}: is in none of the folders {', '.join(allowed)}")
            continue
        text = file.read_text()
        for found in INCLUDE.finditer(text):
            if why := _refused(folder, layer, found[1], allowed[layer], (outside or {}).get(layer, ())):
                line = text.count("\n", 0, found.start(1)) + 1
                wrong.append(f"{name}:{line}: {why}")
    return wrong


def _refused(folder: Path, layer: str, header: str, below: Sequence[str], outside: Sequence[str]) -> str | None:
    """Why a file of this layer may not include this header."""
    if header in outside:
        return None
    theirs = header.rpartition("/")[0]
    if not theirs:
        return f"{header} is not for {layer}: headers are named with their folder"
    if not (folder / header).exists():
        return f"there is no {header}"
    return None if theirs == layer or theirs in below else f"{layer} may not include {header}: {theirs} is not below it"


def _circle(allowed: Mapping[str, Sequence[str]]) -> str:
    """Folders that may include each other, directly or not."""
    left = {name: set(below) & allowed.keys() for name, below in allowed.items()}
    while free := [name for name, below in left.items() if not below & left.keys()]:
        for name in free:
            del left[name]
    return ", ".join(left)


def main() -> None:
    """Exit status 1 if a layer of sim/ is broken."""
    if wrong := check_includes(paths.ROOT / "sim", SIM, SIM_OUTSIDE):
        print(*(f"sim/{w}" for w in wrong), sep="\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
