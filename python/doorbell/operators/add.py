# SPDX-License-Identifier: Apache-2.0
"""Adder: db_csd_add. 32-bit little-endian words; adds on write, subtracts on read."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from doorbell.operators import Context, Op


@dataclass
class Add:
    addend: int
    CODE = Op.ADD

    def apply(self, data: bytes, context: Context) -> bytes:
        term = self.addend if context.write else -self.addend
        words = struct.unpack(f"<{len(data) // 4}I", data)
        return struct.pack(f"<{len(words)}I", *((w + term) & 0xFFFFFFFF for w in words))
