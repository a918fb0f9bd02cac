# SPDX-License-Identifier: Apache-2.0
"""How slow media may be made by the user."""

from __future__ import annotations

from collections.abc import Mapping

from doorbell.errors import UserError

LIMITS = {"media_latency_ns": 10**9, "media_write_latency_ns": 10**9, "media_flush_latency_ns": 10**11,
          "media_zero_gbps": 4000}  # fmt: skip


def check(options: Mapping[str, float]) -> None:
    """Options of a simulator by name; a UserError says which is out of its range."""
    for name, value in options.items():
        most = LIMITS[name]
        if not 0 <= value <= most:  # neither is what is no number
            raise UserError(f"--{name.replace('_', '-')}: {value} is not in 0 to {most}")
