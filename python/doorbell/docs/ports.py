# SPDX-License-Identifier: Apache-2.0
"""Pages of modules, made from the RTL: a module's header, its parameters and ports with their comments."""

from __future__ import annotations

from collections.abc import Iterator

from doorbell import paths
from doorbell.build.described import Item, read
from doorbell.build.rtl import FOLDERS


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
