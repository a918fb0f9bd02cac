# SPDX-License-Identifier: Apache-2.0
"""Reference models of the operators in the data path (rtl/compute): one module an operator.

An operator has a code, and `apply` gives what leaves it for the data of one command; a reducer leaves the data as they
are and has `result`. Codes are those of facts/doorbell.yaml, the context is that of rtl/compute/db_csd_pkg.sv.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from doorbell.nvme.vendor import Op


@dataclass(frozen=True)
class Context:
    """op_ctx_t: what the data path knows of a command."""

    op: int = Op.PASS
    lba: int = 0
    lbads: int = 9
    write: bool = True
    key_slot: int = 0
    tag: int = 0
    nsid: int = 1
    fn: int = 0
    param: int = 0

    @property
    def block(self) -> int:
        """Bytes in a block."""
        return 1 << self.lbads


@dataclass(frozen=True)
class Key:
    """What a key slot holds. `k2` is for XTS, `iv` for CTR."""

    k1: bytes
    k2: bytes | None = None
    iv: bytes | None = None


class Operator(Protocol):
    """A format-preserving operator."""

    CODE: Op

    def apply(self, data: bytes, context: Context) -> bytes: ...


class Reducer(Protocol):
    """An operator whose result is read beside the data."""

    CODE: Op

    def result(self, data: bytes) -> int: ...
