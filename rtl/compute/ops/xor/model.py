# SPDX-License-Identifier: Apache-2.0
"""XOR with 16 bytes: db_csd_op_xor."""

from __future__ import annotations


def apply(data: bytes, lba: int, block: int, write: bool, param: dict[str, int]) -> bytes:
    """What leaves it, for the data of a command that begins with block `lba`. param: the fields of xor.rdl."""
    mask = param["mask"].to_bytes(16, "little")
    return bytes(b ^ mask[i % 16] for i, b in enumerate(data))
