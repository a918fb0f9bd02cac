# SPDX-License-Identifier: Apache-2.0
"""Sizes and times as people write them."""

from __future__ import annotations

import re


def parse_size(text: str) -> int:
    """fio's sizes: 4096, 4k, 4KiB, 1m, 1g (all powers of 1024)."""
    match = re.fullmatch(r"(\d+)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    if not match:
        raise ValueError(f"'{text}' is not a size: use for example 4096, 4k or 1m")
    return int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[match[2]]


def parse_time_ns(text: str) -> int:
    """Simulated time: 500us, 2ms, 1s; seconds when there is no unit, as in fio."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m)?", text.strip().lower())
    if not match or len(match[1]) > 30:
        raise ValueError(f"'{text[:40]}' is not a time: use for example 500us, 2ms or 1s")
    scale = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9}
    return int(float(match[1]) * scale[match[2] or "s"])


def parse_rate(text: str) -> int:
    """fio's rates: bytes a second, as sizes are written, with or without /s."""
    return parse_size(text.strip().removesuffix("/s"))


def size_name(size: int) -> str:
    return f"{size >> 10} KiB" if size % 1024 == 0 else f"{size} B"
