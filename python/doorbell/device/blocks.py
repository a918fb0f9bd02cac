# SPDX-License-Identifier: Apache-2.0
"""What goes in and out of a simulated host: block commands, their ends, read data, requests to an external drive."""

from __future__ import annotations

from typing import NamedTuple

OPS = ("read", "write", "flush", "trim", "zeroes", "verify")  # op_e of db_host_pkg


class BlockCommand(NamedTuple):
    """A block command: op is one of OPS."""

    op: str
    lba: int = 0
    blocks: int = 1
    tag: int = 0


class BlockStatus(NamedTuple):
    """The end of a block command: status as in CQE dword 3 bits 31:17 (0: good), latency in cycles."""

    cycle: int
    tag: int
    status: int
    latency: int


class DataEnd(NamedTuple):
    """A packet of read data has ended: its bytes, and whether any of them stood in for data that could not be read."""

    cycle: int
    size: int
    error: bool


class Forwarded(NamedTuple):
    """A row that the drive wrote to the forwarded region: byte address in it, byte enables, data."""

    cycle: int
    addr: int
    enables: int
    data: bytes


class DriveMessage(NamedTuple):
    """What the host asks of an external drive: kind is one of "cfg_read", "cfg_write", "read", "write" (addr: register,
    or memory address), "reset", "link_up", "link_down". Reads and all configuration requests must be answered by id.
    """

    id: int
    kind: str
    addr: int
    size: int
    target: int
    data: bytes
