# SPDX-License-Identifier: Apache-2.0
"""Layers of the firmware: each file of fw/ includes only what its own folder and those below have to say."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from doorbell import paths

LAYERS = ("base", "hw", "transfer", "state", "commands", "dispatch")
"""Folders of fw/, lowest first; fw/README.md says what each is for. Nothing but these has C files."""

OUTSIDE = {
    "hw": {"db_ssd_fw.h", "db_csd.h", "doorbell_facts.h", "assert.h"},
    "base": {"nvme_facts.h", "doorbell_facts.h"},
}
"""Headers that are not of fw/, and who may include them: registers only hw, facts only base (hw for their addresses)."""

ANYBODY = {"stdbool.h", "stddef.h", "stdint.h"}
PRIVATE = {"hw/registers.h"}
"""Headers for their own folder alone."""

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


def check(folder: Path) -> list[str]:
    """What is wrong with the C files below `folder`, a line each."""
    wrong = []
    needs: dict[str, set[str]] = {}
    for file in sorted([*folder.rglob("*.c"), *folder.rglob("*.h")]):
        name = file.relative_to(folder).as_posix()
        layer = name.split("/")[0]
        if layer not in LAYERS or name.count("/") != 1:
            wrong.append(f"{name}: is in no layer ({', '.join(LAYERS)})")
            continue
        needs[name] = set()
        for line, header in includes(file.read_text()):
            theirs = header.split("/")[0]
            if header in ANYBODY or header in OUTSIDE.get(layer, ()):
                continue
            if "/" not in header or theirs not in LAYERS:
                wrong.append(f"{name}:{line}: {header} is not for {layer}")
            elif not (folder / header).exists():
                wrong.append(f"{name}:{line}: there is no {header}")
            elif LAYERS.index(theirs) > LAYERS.index(layer):
                wrong.append(f"{name}:{line}: {header} is above {layer}")
            elif header in PRIVATE and theirs != layer:
                wrong.append(f"{name}:{line}: {header} is for {theirs} alone")
            else:
                needs[name].add(header)
    for name, headers in list(needs.items()):  # who uses a header uses its .c file
        needs[name] = headers | {h[:-2] + ".c" for h in headers if h[:-2] + ".c" in needs} - {name}
    return wrong + circles(needs)


def includes(text: str) -> list[tuple[int, str]]:
    """Line numbers and names of the headers that a file includes."""
    return [(text.count("\n", 0, m.start(1)) + 1, m[1]) for m in INCLUDE.finditer(text)]


def circles(needs: dict[str, set[str]]) -> list[str]:
    """Files that need each other, directly or not: also inside one layer nobody does."""
    left = dict(needs)
    while free := [name for name, others in left.items() if not others & left.keys()]:
        for name in free:
            del left[name]
    while ends := [name for name in left if not any(name in others for others in left.values())]:
        for name in ends:  # above the circle, not in it
            del left[name]
    return [f"{', '.join(sorted(left))}: need each other"] if left else []


def main() -> None:
    """Exit status 1 if a layer is broken."""
    if wrong := check(paths.ROOT / "fw"):
        print(*(f"fw/{w}" for w in wrong), sep="\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
