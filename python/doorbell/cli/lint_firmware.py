# SPDX-License-Identifier: Apache-2.0
"""Layers of the firmware: each file of fw/ includes and calls only what is in its own folder and in those below, and no
two files call each other.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from doorbell import paths

LAYERS = ("base", "hw", "transfer", "state", "commands", "dispatch")
"""Folders of fw/, lowest first; fw/README.md says what each is for. Nothing but these has C files."""

OUTSIDE = {
    "hw": {
        "db_ssd_fw.h",
        "db_csd.h",
        "db_csd_near.h",
        "db_csd_slots.h",
        "db_vcsd.h",
        "db_vcsd_ssds.h",
        "doorbell_facts.h",
        "assert.h",
    },
    "base": {"nvme_facts.h", "doorbell_facts.h"},
}
"""Headers that are not of fw/, and who may include them: registers only hw, facts base (addresses hw)."""

ANYBODY = {"stdbool.h", "stddef.h", "stdint.h"}
PRIVATE = {"hw/registers.h"}
"""Headers for their own folder alone."""

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
DECLARED = re.compile(r"^(?!static|typedef|#)[\w* ]+?[ *](\w+)\s*\([^;{]*\);", re.MULTILINE)
HANDLERS = re.compile(r"^handler_t ([\w, ]+);", re.MULTILINE)
TABLES = re.compile(r"^extern [\w* ]+?(\w+)(?:\[\w*\])?;", re.MULTILINE)


def check(folder: Path) -> list[str]:
    """What is wrong with the C files below `folder`, a line each."""
    texts: dict[str, str] = {}
    wrong = []
    for file in sorted([*folder.rglob("*.c"), *folder.rglob("*.h")]):
        name = file.relative_to(folder).as_posix()
        if name.split("/")[0] not in LAYERS or name.count("/") != 1:
            wrong.append(f"{name}: is in no layer ({', '.join(LAYERS)})")
        else:
            texts[name] = file.read_text()
    for name, text in texts.items():
        wrong += [
            f"{name}:{line}: {problem}"
            for line, header in includes(text)
            if (problem := check_include(name.split("/")[0], header, texts))
        ]
    return wrong + check_calls(texts)


def includes(text: str) -> list[tuple[int, str]]:
    """Line numbers and names of the headers that a file includes."""
    return [(text.count("\n", 0, m.start(1)) + 1, m[1]) for m in INCLUDE.finditer(text)]


def check_include(layer: str, header: str, texts: dict[str, str]) -> str | None:
    """Why a file of this layer may not include this header."""
    theirs = header.split("/")[0]
    if header in ANYBODY or header in OUTSIDE.get(layer, ()):
        return None
    if "/" not in header or theirs not in LAYERS:
        return f"{header} is not for {layer}"
    if header not in texts:
        return f"there is no {header}"
    if LAYERS.index(theirs) > LAYERS.index(layer):
        return f"{header} is above {layer}"
    if header in PRIVATE and theirs != layer:
        return f"{header} is for {theirs} alone"
    return None


def check_calls(texts: dict[str, str]) -> list[str]:
    """Who names a function of whom: nobody one of a layer above, and no two files each other, directly or not."""
    owner = {}
    for name, text in texts.items():
        bare = COMMENT.sub("", text)
        if name.endswith(".h"):
            found = DECLARED.findall(bare) + TABLES.findall(bare)
            found += [n.strip() for names in HANDLERS.findall(bare) for n in names.split(",")]
            owner |= {function: name[:-2] + ".c" for function in found}
    calls: dict[str, set[str]] = {}
    wrong = []
    for name, text in texts.items():
        if name.endswith(".c"):
            words = set(re.findall(r"\w+", COMMENT.sub("", text)))
            called = {f: owner[f] for f in sorted(words & owner.keys()) if owner[f] != name}
            calls[name] = set(called.values())
            layer = name.split("/")[0]
            wrong += [
                f"{name}: {f} is above {layer}, in {other}"
                for f, other in called.items()
                if LAYERS.index(other.split("/")[0]) > LAYERS.index(layer)
            ]
    return wrong + circles(calls)


def circles(calls: dict[str, set[str]]) -> list[str]:
    """Files that call each other, directly or not."""
    left = dict(calls)
    while free := [name for name, others in left.items() if not others & left.keys()]:
        for name in free:
            del left[name]
    while ends := [name for name in left if not any(name in others for others in left.values())]:
        for name in ends:  # above the circle, not in it
            del left[name]
    return [f"{', '.join(sorted(left))}: call each other"] if left else []


def main() -> None:
    """Exit status 1 if a layer is broken."""
    if wrong := check(paths.ROOT / "fw"):
        print(*(f"fw/{w}" for w in wrong), sep="\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
