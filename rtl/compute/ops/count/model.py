# SPDX-License-Identifier: Apache-2.0
"""How many bytes of a command's data have a value: db_csd_op_count."""

from __future__ import annotations


def result(data: bytes, lba: int, block: int, write: bool, param: dict[str, int]) -> bytes:
    """The digest of a command that begins with block `lba`. param: the fields of count.rdl."""
    return data.count(param["value"]).to_bytes(32, "little")
