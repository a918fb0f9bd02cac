# SPDX-License-Identifier: Apache-2.0
"""Scatter gather lists (Base 2.0, 4.1.2): descriptors, and segments of them in host memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

from doorbell.nvme.constants import PAGE_SIZE

PSDT_SGL = 1 << 6  # in Sqe.flags: the data pointer is an SGL descriptor
SGLS_DWORDS = 2  # Identify Controller, SGLS: bits 1:0
SGLS_BIT_BUCKET = 1 << 16
SGLS_LONGER = 1 << 18

# What the lists of a drive with several functions may take (rtl/nvme/README.md).
BUDGET_START = 256
BUDGET_PAGE = 8  # more for each page of the data
BUDGET_PIECE = 64  # of which a piece takes so many; a descriptor takes one
BUDGET_PAGES = 511  # that count
RANGES_BYTES = 64  # of Dataset Management; longer ones must lie in one data block, or have PRPs


class Memory(Protocol):
    """What of HostMemory is needed here."""

    base: int
    view: memoryview

    def alloc(self, nbytes: int) -> int: ...
    def free(self, *addresses: int) -> None: ...


class Kind(IntEnum):
    """Type of a descriptor."""

    BLOCK = 0
    BIT_BUCKET = 1
    SEGMENT = 2
    LAST_SEGMENT = 3


class Descriptor(NamedTuple):
    """Of `length` bytes of data at `address`, or of further descriptors."""

    address: int
    length: int
    kind: int = Kind.BLOCK
    subtype: int = 0

    @property
    def words(self) -> tuple[int, int]:
        """As it stands in an entry in the place of PRP1 and PRP2, or in a segment."""
        return self.address, self.length | self.subtype << 56 | self.kind << 60


class Sgl:
    """Descriptors in segments of host memory. `pointer` is what the entry of the command holds; `segments` says where
    the segments are and how long they are, in bytes."""

    def __init__(
        self,
        memory: Memory,
        parts: Sequence[Sequence[Descriptor]],
        *,
        offset: int = 0,
        last: Kind = Kind.LAST_SEGMENT,
    ) -> None:
        """parts: what each segment holds, to which a pointer to the next one is added. offset: of each in its page, a
        multiple of 8. last: how the last one is pointed to."""
        self.memory = memory
        self.parts = [list(part) for part in parts]
        self.last = last
        self.segments: list[tuple[int, int]] = []
        pointer: list[Descriptor] = []
        for part in reversed(parts):
            here = [*part, *pointer]
            address = memory.alloc(offset + 16 * len(here)) + offset
            self.segments.insert(0, (address, 16 * len(here)))
            for i, descriptor in enumerate(here):
                struct.pack_into("<QQ", memory.view, address + 16 * i - memory.base, *descriptor.words)
            pointer = [Descriptor(address, 16 * len(here), Kind.SEGMENT if pointer else last)]
        self.pointer = pointer[0]

    @property
    def pages(self) -> list[int]:
        """The first page of each segment."""
        return [address // PAGE_SIZE * PAGE_SIZE for address, _ in self.segments]

    def units(self, size: int, to_host: bool = True) -> int:
        """What a drive with several functions counts until it has found `size` bytes."""
        spent, left = 0, size
        for i, ((address, length), part) in enumerate(zip(self.segments, self.parts)):
            whole = not i and len(self.parts) == 1 and self.last == Kind.LAST_SEGMENT
            spent += 0 if whole and address % PAGE_SIZE + length <= PAGE_SIZE else BUDGET_PIECE
            for k, at in enumerate(range(address, address + length, 16)):
                spent += 1 + BUDGET_PIECE * sum(a > address and not a % PAGE_SIZE for a in (at, at + 8))
                if k < len(part) and (part[k].kind == Kind.BLOCK or (part[k].kind == Kind.BIT_BUCKET and to_host)):
                    left -= part[k].length
                if left <= 0:
                    return spent
        return spent

    def free(self) -> None:
        self.memory.free(*self.pages)


def budget(size: int) -> int:
    """How many units a command with so much data has."""
    return BUDGET_START + BUDGET_PAGE * min(-(-size // PAGE_SIZE), BUDGET_PAGES)
