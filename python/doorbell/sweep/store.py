# SPDX-License-Identifier: Apache-2.0
"""The results of a sweep: a CSV file that a killed process leaves whole."""

from __future__ import annotations

import csv
import fcntl
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from doorbell.errors import UserError
from doorbell.sweep.point import FIGURES, FN_FIGURES, Point

FIRST = ("key", "sources")  # columns before the parameters


class Store:
    """A CSV file of rows, one a measurement; of one process at a time.

    A row is complete when its line is: a line that a killed process left half written is dropped.
    """

    def __init__(self, file: Path, columns: Sequence[str], *, anew: bool = False) -> None:
        """anew: what the file has becomes FILE.old."""
        self.file = file
        self.rows: list[dict[str, str]] = []
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._fd = self._open()
            if anew and os.fstat(self._fd).st_size:  # nobody else writes it
                file.replace(file.with_name(f"{file.name}.old"))
                os.close(self._fd)
                self._fd = self._open()
        except OSError as e:
            raise UserError(f"cannot write {file}: {e.strerror}") from e
        try:
            self.columns = self._read(columns)
        except BaseException:
            os.close(self._fd)
            raise

    def _open(self) -> int:
        while True:
            fd = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(fd), os.stat(self.file)):
                    return fd
            except BlockingIOError:
                os.close(fd)
                raise UserError(f"another sweep or report is writing {self.file}: wait for it") from None
            except FileNotFoundError:
                pass
            os.close(fd)  # replaced by a process that has just finished

    def _read(self, wanted: Sequence[str]) -> list[str]:
        with open(self.file, "rb") as f:
            content = f.read()
        whole = content[: content.rfind(b"\n") + 1]
        try:
            lines = list(csv.reader(io.StringIO(whole.decode())))
        except (UnicodeDecodeError, csv.Error) as e:
            raise UserError(f"{self.file} is not a sweep's results ({e}): use another --out") from e
        header = lines[0] if lines else []
        if content and not (header[:1] == ["key"] and set(FIGURES) <= set(header)):
            begin = ",".join(FIRST).encode()  # of a header that was half written
            if lines or not (content.startswith(begin) or begin.startswith(content)):
                raise UserError(f"{self.file} is not a sweep's results: use another --out")
        for cells in lines[1:]:
            if len(cells) == len(header) and cells[0]:
                self.rows.append(dict(zip(header, cells, strict=True)))
        ours = [c for c in header if c not in (*FIGURES, *FN_FIGURES)] or list(FIRST)
        more = [c for c in wanted if c not in (*ours, *FIGURES, *FN_FIGURES)]
        columns = [*ours, *more, *FIGURES, *(c for c in FN_FIGURES if c in (*header, *wanted))]
        if columns != header or len(whole) != len(content) or len(self.rows) != len(lines) - 1:
            self.columns = columns
            self._rewrite()
        return columns

    def _rewrite(self) -> None:
        """Write the whole file anew; who reads it meanwhile sees the old or the new one."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        temporary = self.file.with_name(f".{self.file.name}.{os.getpid()}.tmp")
        fd = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            _write_all(fd, text.getvalue().encode())
            os.fsync(fd)
            os.rename(temporary, self.file)
        except BaseException:
            os.close(fd)
            temporary.unlink(missing_ok=True)
            raise
        os.close(self._fd)
        self._fd = fd

    def append(self, row: dict[str, Any]) -> None:
        """Add one row; it is on the disk when this returns."""
        cells = {k: str(v) for k, v in row.items()}
        text = io.StringIO()
        csv.DictWriter(text, self.columns, restval="", lineterminator="\n").writerow(cells)
        try:
            _write_all(self._fd, text.getvalue().encode())
            os.fsync(self._fd)
        except OSError as e:
            raise UserError(f"cannot write {self.file}: {e.strerror}; run the same command to go on", 1) from e
        self.rows.append(cells)

    def sort(self, order: dict[str, int]) -> None:
        """Rows in the order of the sweep, then all others as they were; so the same sweep gives the same file."""
        ordered = sorted(self.rows, key=lambda row: order.get(row["key"], len(order)))
        if ordered != self.rows:
            self.rows = ordered
            self._rewrite()

    def close(self) -> None:
        os.close(self._fd)


def forget(file: Path) -> None:
    """Remove results, unless a process is writing them."""
    try:
        with open(file) as f:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.unlink()
    except BlockingIOError:
        raise UserError(f"another sweep or report is writing {file}: wait for it") from None
    except FileNotFoundError:
        pass


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def columns_of(points: Sequence[Point]) -> list[str]:
    """The columns of the results: key, sources, all parameters that any point names, figures."""
    several = FN_FIGURES if any("functions" in p for p in points) else ()
    return [*FIRST, *dict.fromkeys(k for p in points for k in p), *FIGURES, *several]
