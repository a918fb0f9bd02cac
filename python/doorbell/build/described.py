# SPDX-License-Identifier: Apache-2.0
"""What the RTL says of a module: its header, its parameters and ports with their comments.

A comment belongs to what it stands before (`/// text`) or behind (`///< text`, `// text`). A `///` line before several
ports counts for those up to the next one, like a heading. Ports that a file includes (`*_ports.svh`) are the module's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import dropwhile
from pathlib import Path

from doorbell import paths

DECLARATION = re.compile(
    r"^\s*(?P<way>parameter|localparam|input|output|inout)\s+(?P<type>.*?)\s*\b(?P<name>\w+)\s*"
    r"(?P<array>(?:\[[^\]]*\])*)\s*(?:=\s*(?P<default>.*?))?\s*,?\s*(?://.*)?$"
)


@dataclass
class Item:
    """A parameter or a port. group: the comment that stands before it and the ones that follow."""

    way: str
    type: str
    name: str
    default: str = ""
    text: str = ""
    group: str = ""


@dataclass
class Module:
    name: str
    file: Path
    header: str = ""
    parameters: list[Item] = field(default_factory=list)
    ports: list[Item] = field(default_factory=list)


def plain(comment: str) -> str:
    """A comment's text without its slashes."""
    return re.sub(r"^//+<?\s?", "", comment.strip())


def lines_of(file: Path) -> Iterator[str]:
    """The file's lines, those of included lists of ports in their place, without the header of these."""
    for line in file.read_text().splitlines():
        included = re.match(r'\s*`include "(\w+_ports\.svh)"', line)
        if included:
            beside = file.parent / included[1]
            inside = (beside if beside.exists() else paths.RTL / "ssd" / included[1]).read_text().splitlines()
            yield from dropwhile(lambda text: re.match("//(?!/)", text), inside)
        else:
            yield line


def read(file: Path) -> Module | None:
    """The module in `file`; None if there is none."""
    module = Module(file.stem, file)
    header, inside, group, pending = [], False, "", []
    for line in lines_of(file):
        if not inside:
            if line.startswith("//") and "SPDX" not in line:
                header.append(plain(line))
            if re.match(rf"module\s+{file.stem}\b", line):
                inside = True
                module.header = "\n".join(header).strip()
            continue
        if re.match(r"^\s*\)\s*;", line):
            return module
        stripped = line.strip()
        if stripped.startswith("//"):
            pending.append(plain(stripped))
            continue
        found = DECLARATION.match(line)
        if not found:
            if not stripped:
                group = ""
            pending = []
            continue
        if pending:
            group, pending = " ".join(pending), []
        behind = re.search(r"//+<?\s?(.*)$", line)
        kind = f"{found['type']} {found['array']}".strip() or "logic"
        item = Item(found["way"], kind, found["name"], (found["default"] or "").rstrip(","),
                    behind[1].strip() if behind else "", group)  # fmt: skip
        if found["way"] == "localparam":
            continue
        (module.parameters if found["way"] == "parameter" else module.ports).append(item)
    return module if inside else None
