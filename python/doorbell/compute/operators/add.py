# SPDX-License-Identifier: Apache-2.0
"""Adder: db_csd_add. Adds bits 31:0 of the parameters to 32-bit little-endian words on write, subtracts on read."""

from __future__ import annotations

import struct

from doorbell.compute.operators import Context, Op


class Add:
    CODE = Op.ADD

    def apply(self, data: bytes, context: Context) -> bytes:
        addend = context.param & 0xFFFFFFFF
        term = addend if context.write else -addend
        words = struct.unpack(f"<{len(data) // 4}I", data)
        return struct.pack(f"<{len(words)}I", *((w + term) & 0xFFFFFFFF for w in words))
