# SPDX-License-Identifier: Apache-2.0
"""Which tests cover a module: its own bench, proofs that read it, benches of the modules around it, nearest first; then
tests of the whole tops that it is in."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from doorbell import paths
from doorbell.build import find_module
from doorbell.build.cache import hash_files
from doorbell.errors import UserError

TESTS = paths.ROOT / "tests"
FARTHEST = 2
"""Levels above a module whose benches count."""
WHOLE = FARTHEST + 1
"""So far are the tests of whole tops."""
TESTS_OF_TOPS: dict[str, tuple[tuple[str, ...], ...]] = {
    "db_ssd": (
        ("tests/system/ssd/test_ssd_traffic.py",),
        ("tests/system/ssd/test_ssd_commands.py",),
        ("tests/system/test_compare.py", "-k", "test_quick and ssd"),
        ("tests/system/ssd",),
    ),
    "db_host": (
        ("tests/system/host/test_host_mix.py",),
        ("tests/system/test_compare.py", "-k", "test_quick and host"),
        ("tests/system/host",),
    ),
    "db_recorder": (("tests/system/recorder",),),
    "db_csd": (
        ("tests/system/csd/test_csd_drive.py", "tests/system/csd/test_csd_near.py"),
        ("tests/system/csd",),
    ),
    "db_vcsd": (("tests/system/vcsd/test_vcsd_drive.py",), ("tests/system/vcsd",)),
}
"""The quickest that say much first, then all of the top's."""


@dataclass(frozen=True)
class Check:
    """Arguments of pytest. far: levels above the module; a proof is as near as its own bench, and comes behind."""

    arguments: tuple[str, ...]
    far: int

    @property
    def proof(self) -> bool:
        return self.arguments[0].startswith("tests/formal/")

    def limit(self, seconds: float) -> float:
        """What a check may take where a bench may take `seconds`: a top is built for each mutant, several times."""
        return seconds * (15 if self.far == WHOLE else 1)


def digest(file: str, checks: Iterable[Check]) -> str:
    """Of a module's file and the files of its benches and proofs: where one has changed, a verdict may be another."""
    near = (check for check in checks if check.far < WHOLE)
    files = {file, *(argument.split("::")[0] for check in near for argument in check.arguments)}
    return hash_files([path for name in files if (path := paths.ROOT / name).is_file()])[:16]


@functools.cache
def _users() -> dict[str, set[str]]:
    """For each module those that instantiate it."""
    users: dict[str, set[str]] = {}
    for file in (paths.ROOT / "rtl").rglob("db_*.sv"):
        for name in set(re.findall(r"^[ \w:]*\b(db_\w+)\s*(?:#\s*\(|\w+\s*\()", file.read_text(), re.M)) - {file.stem}:
            users.setdefault(name, set()).add(file.stem)
    return users


def _around(module: str) -> Iterator[tuple[int, str]]:
    """The module, and those above it, with how far they are."""
    seen, now = {module}, [module]
    for far in range(FARTHEST + 1):
        yield from ((far, m) for m in sorted(now))
        now = [u for m in now for u in sorted(_users().get(m, ())) if u not in seen and find_module(u)]
        seen.update(now)


@functools.cache
def _simulated() -> dict[str, list[Path]]:
    """For each module the files of tests that simulate it under another name, alone or in a top made for them; what a
    file imports from its folder is read with it."""
    tops = {f.stem: set(re.findall(r"\bdb_\w+", f.read_text())) for f in (TESTS / "rtl").rglob("*.sv")}
    found: dict[str, list[Path]] = {}
    for file in sorted((TESTS / "rtl").rglob("test_*.py")):
        beside = (file.parent / f"{name}.py" for name in re.findall(r"^(?:from|import) (\w+)", file.read_text(), re.M))
        names = set(re.findall(r'"(\w+)"', "".join(f.read_text() for f in (file, *beside) if f.is_file())))
        for name in names.union(*(tops[n] for n in names & tops.keys())):
            found.setdefault(name, []).append(file)
    return found


def _module_of(name: str) -> str:
    """What a test is named after: the longest begin of its name that is a module."""
    while name and find_module(name) is None:
        name = name.rpartition("_")[0]
    return name


def _benches(module: str) -> list[str]:
    """Files with tests of this module: by its name, by what else is behind it (test_db_x_functions.py), by what they
    simulate."""
    own = sorted((TESTS / "rtl").rglob(f"test_{module}.py"))
    file = find_module(module)
    if not own and file is not None:  # an operator's test is beside it
        beside = TESTS / "rtl" / "common" if file.parent.name == "common" else file.parent
        own = sorted(beside.glob(f"test_{file.parent.name}.py"))
    more = [f for f in sorted((TESTS / "rtl").rglob(f"test_{module}_*.py")) if _module_of(f.stem[5:]) == module]
    named = own + more
    named += [f for f in _simulated().get(module, []) if f not in named]
    return [str(f.relative_to(paths.ROOT)) for f in named]


def _proofs(module: str) -> list[tuple[str, ...]]:
    """Proofs whose script reads the module's file; not those that break it by themselves."""
    found = []
    for sby in sorted((paths.ROOT / "formal").glob("*.sby")):
        script = sby.read_text().split("[script]")[1].split("[files]")[0]
        tasks = re.findall(rf"^(\w+):.*\b{module}\.sv\b", script, re.M)
        name = "test_formal.py" if sby.stem == "common" else f"test_formal_{sby.stem}.py"
        file = TESTS / "formal" / name
        if tasks and file.exists() and "def test_proof(tmp_path" in file.read_text():  # it has one proof
            found.append((f"tests/formal/{name}", "-k", "test_proof"))
        elif file.exists():
            found += [(f"tests/formal/{name}", "-k", f"{task} and not refutes") for task in tasks]
    return found


def tops_of(module: str) -> list[str]:
    """Those of db_ssd and db_host that it is in; if it is in neither, the smallest other top."""
    seen, todo = {module}, [module]
    while todo:
        new = _users().get(todo.pop(), set()) - seen
        seen |= new
        todo += new
    tops = [t for t in TESTS_OF_TOPS if t in seen]
    return [t for t in tops if t in ("db_ssd", "db_host")] or tops[:1]


def checks_of(module: str) -> list[Check]:
    """What to run for a mutant of the module, the most specific first; tests of whole tops last."""
    checks, seen = [], set()
    for far, name in _around(module):
        for file in _benches(name):
            if file not in seen:
                seen.add(file)
                checks.append(Check((file,), far))
        if far == 0:
            checks += [Check(proof, 0) for proof in _proofs(name)]
    return checks + [Check(arguments, WHOLE) for top in tops_of(module) for arguments in TESTS_OF_TOPS[top]]


def module_files(names: list[str]) -> list[Path]:
    """Files of the modules named, or of all in the folders named."""
    files: list[Path] = []
    for name in names:
        folder = paths.ROOT / name
        inside = folder.resolve().is_relative_to(paths.RTL)
        found = [f for f in sorted(folder.rglob("db_*.sv")) if not f.stem.endswith("_pkg")] if inside else []
        if file := find_module(name):
            found = [file]
        if not found:
            raise UserError(f"{name} is neither a module nor a folder of rtl/ with any")
        files += [f for f in found if f not in files]
    return files
