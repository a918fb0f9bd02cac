# SPDX-License-Identifier: Apache-2.0
"""What all simulations in a shared library have in common: to be closed, coverage, a trace."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from pathlib import Path
from typing import Any, Self

from doorbell import paths
from doorbell.build import coverage
from doorbell.device.messages import SimError

_serial = itertools.count()
_waves: dict[Path, int] = {}  # simulations that each test has opened


class Handle:
    """A simulation behind a C interface. `_handle` is what its `open` gave, None once it is closed."""

    coverage_name = ""  # in the names of coverage files

    _handle: int | None = None
    _lib: Any

    @property
    def _h(self) -> int:
        if self._handle is None:
            raise SimError("this simulation is closed")
        return self._handle

    @property
    def closed(self) -> bool:
        return self._handle is None

    def close(self) -> None:
        """End the simulation; image files are written out."""
        if self._handle is None:
            return
        if coverage.wanted():
            folder = paths.OUT / "coverage"
            folder.mkdir(parents=True, exist_ok=True)
            name = f"{os.getpid()}-{self.coverage_name}{next(_serial)}.dat"
            self._lib.coverage(self._h, os.fsencode(folder / name))
        self._lib.close(self._handle)
        self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def _opened(self) -> None:
        """With DOORBELL_WAVE (`./doorbell test --wave`): a VCD file from the start, one a simulation."""
        if not os.environ.get("DOORBELL_WAVE"):
            return
        file = paths.wave()
        count = _waves[file] = _waves.get(file, 0) + 1
        if count > 1:
            file = file.with_stem(f"{file.stem}-{count}")
        with contextlib.suppress(SimError):  # a library of the test's own that was built without
            self.trace(file)
            print(f"waveform: {file}", file=sys.stderr)

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write a waveform from now on (half cycles as its time); only in a library built with trace: VCD, or FST."""
        if self._lib.trace(self._h, os.fsencode(path)):
            raise SimError("no trace: the library was not built with it, or the file cannot be written")
