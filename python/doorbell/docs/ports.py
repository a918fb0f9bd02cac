# SPDX-License-Identifier: Apache-2.0
"""Pages of modules, made from the RTL: a module's header, its parameters and ports with their comments.

A comment belongs to what it stands before (`/// text`) or behind (`///< text`, `// text`). A `///` line before several
ports counts for those up to the next one, like a heading. Ports that a file includes (`*_ports.svh`) are the module's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from doorbell import paths
from doorbell.build.rtl import FOLDERS

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
    """The file's lines, those of included lists of ports in their place."""
    for line in file.read_text().splitlines():
        included = re.match(r'\s*`include "(\w+_ports\.svh)"', line)
        if included:
            yield from (file.parent / included[1] if (file.parent / included[1]).exists()
                        else paths.RTL / "ssd" / included[1]).read_text().splitlines()[4:]  # fmt: skip
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


def escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def code(text: str) -> str:
    return f"`{' '.join(text.split())}`" if text else ""


def table(items: list[Item], parameters: bool) -> Iterator[str]:
    """Rows of a table; a group's comment stands in a row of its own."""
    yield "| parameter | default | meaning |" if parameters else "| port | | type | meaning |"
    yield "|---|---|---|" if parameters else "|---|---|---|---|"
    group = ""
    for item in items:
        if item.group != group:
            group = item.group
            if group:
                yield f"| | | *{escape(group)}* |" if parameters else f"| | | | *{escape(group)}* |"
        if parameters:
            yield f"| {code(item.name)} | {escape(code(item.default))} | {escape(item.text)} |"
        else:
            yield f"| {code(item.name)} | {item.way[:-3]} | {escape(code(item.type))} | {escape(item.text)} |"


def page(folder: str) -> str:
    """The page of a folder of rtl/: every module with its header, parameters and ports."""
    parts = [f"# Modules of rtl/{folder}", "", "Made from the comments in the sources.", ""]
    for file in sorted((paths.RTL / folder).glob("*.sv")):
        module = read(file)
        if module is None:
            continue
        parts += [f"## {module.name}", "", "```text", module.header, "```", ""]
        if module.parameters:
            parts += [*table(module.parameters, True), ""]
        if module.ports:
            parts += [*table(module.ports, False), ""]
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """Every page: folder of rtl/ -> Markdown."""
    return {folder: page(folder) for folder in FOLDERS if any((paths.RTL / folder).glob("*.sv"))}
