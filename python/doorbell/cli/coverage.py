# SPDX-License-Identifier: Apache-2.0
"""Line and toggle coverage of our RTL, from the files that simulators built for it write when they end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from doorbell import paths

COUNTED_AS = {"line": "line", "branch": "line", "toggle": "toggle"}


def read(files: Iterable[Path]) -> dict[tuple[str, str, str], int]:
    """(kind, source file, point) -> how often, summed over the files.

    A record is C '<fields>' <count>; a field is \\x01 name \\x02 value. A point is counted once for all
    instances of its module.
    """
    records: dict[str, int] = defaultdict(int)
    for file in files:
        for line in file.read_text(errors="replace").split("\n"):
            text, _, count = line.rpartition(" ")
            if text.startswith("C '"):
                records[text] += int(count)
    counts: dict[tuple[str, str, str], int] = defaultdict(int)
    for text, count in records.items():
        fields = dict(f.split("\x02", 1) for f in text[3:-1].split("\x01") if "\x02" in f)
        kind = fields.get("page", "").split("/", 1)[0].removeprefix("v_")
        point = f"{fields.get('l')}.{fields.get('n')}.{fields.get('o')}.{fields.get('S', '')}"
        counts[kind, fields.get("f", ""), point] += count
    return counts


def report(folder: Path, out: Callable[[str], None] = print) -> None:
    """Print a line for each of our RTL files, and the sum, over all coverage files in `folder`."""
    files = sorted(folder.glob("*.dat"))
    if not files:
        out("coverage: no simulator wrote any (no system test ran?)")
        return
    hit: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for (kind, source, _), count in read(files).items():
        path = paths.ROOT / source
        kind = COUNTED_AS.get(kind, "")
        if not kind or not path.is_relative_to(paths.RTL):
            continue
        for name in (str(path.relative_to(paths.ROOT)), "all"):
            hit[name, kind][0] += count > 0
            hit[name, kind][1] += 1
    out(f"{'coverage of the RTL':40} {'lines':>16} {'toggles':>18}")
    names = sorted({name for name, _ in hit} - {"all"})
    for name in [*names, *(["all"] if names else [])]:
        out(f"{name:40} {share(hit[name, 'line']):>16} {share(hit[name, 'toggle']):>18}")


def share(pair: list[int]) -> str:
    got, of = pair
    return f"{got}/{of} {100 * got / of:5.1f} %" if of else "-"
