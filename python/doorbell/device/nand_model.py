# SPDX-License-Identifier: Apache-2.0
"""The NAND model alone, without a drive around it: a host that keeps some accesses in flight."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_uint64
from typing import Any

import numpy as np

from doorbell.build.nand import nand_library
from doorbell.device.nand import SIGNATURES, Figures, Nand, as_dict
from doorbell.errors import UserError


class NandModel:
    """Media of a description. Times are nanoseconds."""

    def __init__(self, nand: Nand, capacity: int | None = None) -> None:
        library = ctypes.CDLL(str(nand_library()))
        for name, (result, arguments) in SIGNATURES.items():
            function = getattr(library, f"db_nand_{name}")
            function.restype, function.argtypes = result, arguments
        self._lib: Any = library
        why = ctypes.create_string_buffer(256)
        self._handle = library.db_nand_open(byref(nand.config()), capacity or nand.capacity, why, len(why))
        if not self._handle:
            raise UserError(f"{nand.name}: {why.value.decode()}")

    def close(self) -> None:
        self._lib.db_nand_close(self._handle)
        self._handle = None

    def __enter__(self) -> NandModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def play(self, at: Sequence[int] | Any, size: int = 4096, *, write: bool, depth: int = 1) -> tuple[float, Any]:
        """Accesses of up to 4 KiB at these bytes: the time they took, and of each of them."""
        where = np.ascontiguousarray(at, np.uint64)
        each = np.zeros(len(where), np.uint64)
        as_c = [a.ctypes.data_as(POINTER(c_uint64)) for a in (where, each)]
        took = self._lib.db_nand_play(self._handle, as_c[0], len(where), size, write, depth, as_c[1])
        return took / 1000, each / 1000

    def flush(self) -> float:
        return self._lib.db_nand_flush(self._handle) / 1000

    def settle(self) -> float:
        """Until nothing is under way."""
        return self._lib.db_nand_settle(self._handle) / 1000

    def trim(self, at: int, size: int) -> None:
        self._lib.db_nand_trim(self._handle, at, size)

    def figures(self) -> dict[str, int]:
        out = Figures()
        self._lib.db_nand_read_figures(self._handle, byref(out))
        return as_dict(out)

    def check(self) -> int:
        """Rules of the mapping that do not hold."""
        return self._lib.db_nand_check(self._handle)
