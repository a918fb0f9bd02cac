# SPDX-License-Identifier: Apache-2.0
"""What commands show on a terminal: tables, progress, JSON files."""

from __future__ import annotations

import json as json_module
import os
import sys
import time
from pathlib import Path
from typing import Any

from doorbell.errors import UserError


def warn(text: str) -> None:
    """One line on stderr."""
    print(f"doorbell: warning: {text}", file=sys.stderr, flush=True)


def print_table(*tables: Any) -> None:
    """On a pipe too: full width, no colour."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 130)
    for t in tables:
        console.print(t)


class progress_bar:  # noqa: N801
    """A line of progress on stderr when that is a terminal."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bar: Any = None

    def __enter__(self) -> Any:
        if not sys.stderr.isatty():
            return lambda share: None
        from rich.console import Console
        from rich.progress import Progress

        self.bar = Progress(console=Console(stderr=True), transient=True)
        self.bar.start()
        task = self.bar.add_task(self.text, total=1.0)
        return lambda share: self.bar.update(task, completed=share)

    def __exit__(self, *_: object) -> None:
        if self.bar:
            self.bar.stop()


def check_result(file: Path | None) -> None:
    """Before a long run, not behind it: where its results are to go, unless that is stdout (-)."""
    if file is None or str(file) == "-":
        return
    folder = file.absolute().parent
    if not folder.is_dir():
        raise UserError(f"cannot write {file}: there is no folder {folder}")
    if file.is_dir() or not os.access(file if file.exists() else folder, os.W_OK):
        raise UserError(f"cannot write {file}: {'it is a folder' if file.is_dir() else 'permission denied'}")


def check_out(folder: Path) -> None:
    """Before a long run: where a file of what it may find is to go."""
    if not folder.is_dir():
        raise UserError(f"--out {folder}: there is no such folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"--out {folder}: no file can be made there")


def write_json(file: Path, data: dict[str, Any]) -> None:
    text = json_module.dumps(data, indent=2)
    if str(file) == "-":
        print(text)
        return
    try:
        file.write_text(text + "\n")
    except OSError as e:
        raise UserError(f"cannot write {file}: {e.strerror}") from e


class Progress:
    """A bar on stderr when that is a terminal, else a line now and then."""

    def __init__(self, text: str) -> None:
        self.text, self.bar, self.task, self.shown, self.begun = text, None, None, time.monotonic(), time.monotonic()

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            shown = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
            self.bar = Bar(*shown, console=Console(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task(self.text, total=None)
        return self

    def __call__(self, done: int, total: int) -> None:
        if self.bar is not None:
            self.bar.update(self.task, completed=done, total=total)
        elif time.monotonic() - self.shown >= 10 and done:
            self.shown = time.monotonic()
            print(f"doorbell: {self.text}: {done} of {total} after {self.shown - self.begun:.0f} s", file=sys.stderr,
                  flush=True)  # fmt: skip

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
