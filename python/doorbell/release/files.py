# SPDX-License-Identifier: Apache-2.0
"""The files that a top is made of, whatever its parameters are, in the order in which tools must read them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from doorbell import paths
from doorbell.build import regs, rtl_sources
from doorbell.build.rtl import INCLUDES

TOPS = ("db_ssd", "db_csd", "db_vcsd", "db_host", "db_recorder")
WORD = re.compile(r"\b\w+\b")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
INCLUDE = re.compile(r'`include "(\w+\.svh)"')


@dataclass(frozen=True)
class Files:
    """sources: packages first, then modules; headers: what these include."""

    sources: tuple[Path, ...]
    headers: tuple[Path, ...]


def place(file: Path) -> str:
    """Where a file is in the archive."""
    if file == paths.picorv32():
        return "third_party/picorv32.v"
    if file.is_relative_to(paths.ROOT):
        return file.relative_to(paths.ROOT).as_posix()
    return f"generated/{file.name}"


def of(top: str) -> Files:
    """By the names that files mention: a module that a parameter leaves out belongs to them too."""
    sources = rtl_sources(regs())
    every = sources.all_files()
    named = {f.stem: f for f in every}
    headers = {f.name: f for f in sources.headers()}
    found: set[Path] = set()
    included: set[Path] = set()
    wanted = [named[top]]
    while wanted:
        file = wanted.pop()
        if file in found | included:
            continue
        (included if file.suffix == ".svh" else found).add(file)
        text = COMMENT.sub("", file.read_text())
        wanted += [headers[name] for name in INCLUDE.findall(text)]
        wanted += [named[word] for word in set(WORD.findall(text)) & named.keys() if word != file.stem]
    return Files(tuple(f for f in every if f in found), tuple(sorted(included)))


def filelist(files: Files) -> str:
    """As Verilator, Vivado's xvlog, VCS, Questa and slang take it with -f, from the archive's folder."""
    folders = [f"+incdir+rtl/{name}" for name in INCLUDES if any(h.parent.name == name for h in files.headers)]
    return "\n".join([*folders, *map(place, files.sources)]) + "\n"
