# SPDX-License-Identifier: Apache-2.0
"""Which statuses this process has seen as a host, and in which test: a line in a file for each that is new.

Only if DOORBELL_STATUSES names a folder (`./doorbell test --statuses`).
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import NamedTuple

SUFFIX = ".statuses"


class Seen(NamedTuple):
    """A completion: of which top, of an admin or an I/O command, its opcode, type and code of its status; the test."""

    top: str
    kind: str
    opcode: int
    status: int
    test: str = ""


class Record:
    """What was seen, each once, in a file of this process."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / f"{os.getpid()}{SUFFIX}"
        self.seen: set[Seen] = set()

    def note(self, top: str, admin: bool, opcode: int, status: int) -> None:
        what = Seen(top, "admin" if admin else "io", opcode, status)
        if what in self.seen:
            return
        self.seen.add(what)
        test = os.environ.get("PYTEST_CURRENT_TEST", "").removesuffix(" (call)").removesuffix(" (setup)")
        with self.file.open("a") as file:
            file.write(f"{what.top}\t{what.kind}\t{what.opcode}\t{what.status}\t{test}\n")


@functools.cache
def opened() -> Record | None:
    """The record of this process, if one is asked for."""
    folder = os.environ.get("DOORBELL_STATUSES")
    return Record(Path(folder)) if folder else None


def read(folder: Path) -> list[Seen]:
    """What all processes have noted in a folder, each once, sorted."""
    found: dict[Seen, Seen] = {}
    for file in sorted(folder.glob(f"*{SUFFIX}")):
        for line in file.read_text().splitlines():
            top, kind, opcode, status, test = line.split("\t")
            what = Seen(top, kind, int(opcode), int(status))
            found[what] = min(found.get(what, what._replace(test=test)), what._replace(test=test))
    return sorted(found.values())
