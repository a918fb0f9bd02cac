# SPDX-License-Identifier: Apache-2.0
"""Benches and proofs that passed are not run again while all that they depend on is as it was.

What passed is kept in the cache under a hash of all that it depends on; what fails is never kept. /conftest.py counts
the tests that were not run again. DOORBELL_FRESH=1 (`./doorbell test --fresh`) runs everything.
"""

from __future__ import annotations

import ast
import functools
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from doorbell.build import cached, hash_files  # noqa: E402
from doorbell.build.cache import place  # noqa: E402

RECIPE = 1  # raise it when what is kept no longer says what it should

ran: list[str] = []
"""What this process has run."""

kept: list[str] = []
"""What it has not run, because it passed before."""


def run_once(kind: str, key: object, run: Callable[[Path], None]) -> None:
    """Call `run(folder)` unless it passed before with the same key. It raises if it fails, and leaves evidence in
    `folder` if not.

    key: anything whose repr holds all that the outcome depends on; Python, its packages and this file are added here.
    """
    whole = (RECIPE, key, environment())
    if os.environ.get("DOORBELL_FRESH"):
        shutil.rmtree(place(kind, whole), ignore_errors=True)

    def make(folder: Path) -> None:
        ran.append(kind)
        run(folder)

    before = len(ran)
    cached(kind, whole, make, log=False)
    if len(ran) == before:
        kept.append(kind)


@functools.cache
def environment() -> tuple[str, ...]:
    """The versions of Python, of all its packages, and of the machine; this file."""
    return sys.version, platform.machine(), hash_files([ROOT / "requirements.lock", Path(__file__)])


def sources(file: Path, folders: Sequence[Path]) -> list[Path]:
    """A Python file and all it imports, directly or through another, of what is in `folders`."""
    found = {file: None}
    todo = [file]
    while todo:
        for new in _imported(todo.pop(), tuple(folders)):
            if new not in found:
                found[new] = None
                todo.append(new)
    return sorted(found)


@functools.cache
def _imported(file: Path, folders: tuple[Path, ...]) -> list[Path]:
    """What one file imports, anywhere in it. A relative import would be missed, so it is not allowed."""
    names = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file} imports relative to itself"
            names += [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [f for name in names for folder in folders for f in _files(folder, name)]


def _files(folder: Path, name: str) -> Iterator[Path]:
    """The module `name` below `folder`, and the packages that it is in."""
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        module = folder.joinpath(*parts[:depth])
        yield from (f for f in (module.with_suffix(".py"), module / "__init__.py") if f.exists())
