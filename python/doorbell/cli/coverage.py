# SPDX-License-Identifier: Apache-2.0
"""Which branches and toggles of our RTL the tests met, from the files that simulators and benches leave which count
them (build/coverage.py), and what was not met though nobody says why."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import yaml

from doorbell import paths

COUNTED_AS = {"line": "branch", "branch": "branch", "toggle": "toggle"}
REASONS = paths.ROOT / "tests" / "data" / "not_covered.yaml"
OPEN = "open"
"""The reason of what could be met, and is known not to be."""


@dataclass(frozen=True, order=True)
class Point:
    """What is counted once for all instances of a module. kind: branch (a block, or a way of an if, a case or a
    choice) or toggle. what: block, if, else, cond_then, cond_else, elsif, case; of a toggle the bit and its edge."""

    file: Path
    line: int
    column: int
    kind: str
    what: str


def read(files: Iterable[Path]) -> dict[Point, int]:
    """How often each point was met, summed over the files.

    A record is C '<fields>' <count>; a field is \\x01 name \\x02 value.
    """
    records: dict[str, int] = defaultdict(int)
    for file in files:
        with file.open(errors="replace") as lines:
            for line in lines:
                text, _, count = line.rstrip("\n").rpartition(" ")
                if text.startswith("C '"):
                    records[text] += int(count)
    counts: dict[Point, int] = defaultdict(int)
    for text, count in records.items():
        fields = dict(f.split("\x02", 1) for f in text[3:-1].split("\x01") if "\x02" in f)
        kind = COUNTED_AS.get(fields.get("page", "").split("/", 1)[0].removeprefix("v_"), "")
        path = paths.ROOT / fields.get("f", "")
        if kind and path.is_relative_to(paths.RTL):
            name = path.relative_to(paths.ROOT)
            counts[Point(name, int(fields["l"]), int(fields["n"]), kind, fields.get("o", ""))] += count
    return counts


@dataclass(frozen=True)
class Reason:
    """Why no test meets such a point. file: a pattern of its path; text: a regular expression that its line has; what:
    only this way of it."""

    why: str
    file: str = "*"
    text: str = ""
    what: str = ""

    def says(self, point: Point, line: str) -> bool:
        return bool(
            fnmatch(point.file.as_posix(), self.file) and self.what in ("", point.what) and re.search(self.text, line)
        )


def reasons(file: Path = REASONS) -> list[Reason]:
    return [Reason(**{k: str(v) for k, v in row.items()}) for row in yaml.safe_load(file.read_text())]


@functools.cache
def _lines(file: Path) -> list[str]:
    return (paths.ROOT / file).read_text().splitlines()


def line_of(point: Point) -> str:
    return _lines(point.file)[point.line - 1].strip()


@dataclass
class Sum:
    """Of a folder: points of a kind, those met, and of the others those that are explained."""

    met: int = 0
    explained: int = 0
    of: int = 0

    def text(self) -> str:
        return f"{self.met}/{self.of} {100 * self.met / self.of:5.1f} %" if self.of else "-"


def report(folder: Path, out: Callable[[str], None] = print) -> None:
    """Print a line for each folder of the RTL, and the sum, over all that simulators and benches left in `folder`.

    What no test met is written to `not_met.txt` in it; those that have no reason end with a question mark.
    """
    counts = read(sorted(folder.glob("*.dat")))
    if not counts:
        out("coverage: no simulator and no bench counted anything (none ran?)")
        return
    known = reasons()
    sums: dict[tuple[str, str], Sum] = defaultdict(Sum)
    unmet: list[str] = []
    for point, count in sorted(counts.items()):
        why = "" if count or point.kind == "toggle" else why_not(point, known)
        for name in ("/".join(point.file.parts[:2]), "all"):
            of = sums[name, point.kind]
            of.of, of.met, of.explained = of.of + 1, of.met + (count > 0), of.explained + (why not in ("", OPEN))
        if not count and point.kind == "branch":
            unmet.append(f"{point.file}:{point.line}:{point.column}: {point.what}: {line_of(point)}  // {why or '?'}")
    toggles = ("all", "toggle") in sums
    out(f"{'coverage of the RTL':28} {'branches':>20} {'explained':>10}" + (f" {'toggles':>22}" if toggles else ""))
    for name in [*sorted({name for name, _ in sums} - {"all"}), "all"]:
        branches = sums[name, "branch"]
        row = f"{name:28} {branches.text():>20} {branches.explained or '':>10}"
        out(row + (f" {sums[name, 'toggle'].text():>22}" if toggles else ""))
    list_of = folder / "not_met.txt"
    list_of.write_text("".join(f"{line}\n" for line in unmet))
    known_open, new = (sum(line.endswith(f"// {why}") for line in unmet) for why in (OPEN, "?"))
    out(f"no test met {len(unmet)} branches ({list_of}): {known_open} are open, {new} are not in {REASONS.name}")


def why_not(point: Point, known: Iterable[Reason]) -> str:
    line = line_of(point)
    return next((r.why for r in known if r.says(point, line)), "")
