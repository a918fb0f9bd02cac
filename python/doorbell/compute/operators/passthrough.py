# SPDX-License-Identifier: Apache-2.0
"""Pass-through: db_csd_pass."""

from __future__ import annotations

from doorbell.compute.operators import Context, Op


class Passthrough:
    CODE = Op.PASS

    def apply(self, data: bytes, context: Context) -> bytes:
        return data
