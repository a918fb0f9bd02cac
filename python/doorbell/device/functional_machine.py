# SPDX-License-Identifier: Apache-2.0
"""What stands around a functional drive: time, host memory with the faults that are injected into it, the media."""

from __future__ import annotations

import heapq
import os
import random
import struct
from collections.abc import Callable
from typing import Any

from doorbell.device.functional_memory import Buffer, Bytes, Mapped, MediaFile, MediaMemory
from doorbell.device.messages import Irq
from doorbell.nvme.constants import (
    Status,
)

PAGE = 4096
NS_PER_CYCLE = 4
DEFAULT_MEDIA = 1 << 30


class CommandFailed(Exception):
    """A command ends with this status."""

    def __init__(self, status: int) -> None:
        self.status = status


class FunctionalMachine:
    """Subset of `doorbell.device.Sim`: map, run, irqs, counters, inject, media_*, cycle, ns."""

    functional = True
    clock_mhz = 1000 / NS_PER_CYCLE

    link_policy = {"ack_every": 4, "fc_every": 4}

    def __init__(self, media_size: int | None, image: str | None, seed: int) -> None:
        """media_size: None is the image's, or 1 GiB."""
        self.cycle = 0
        self._rng = random.Random(seed)
        if media_size is None:
            media_size = 0 if image and os.path.exists(image) and os.path.getsize(image) else DEFAULT_MEDIA
        self._media: MediaFile | MediaMemory = MediaFile(image, media_size) if image else MediaMemory(media_size)
        self.media_size = self._media.size
        self._maps: list[tuple[int, int, Bytes, bool]] = []
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._seq = 0
        self._epoch = 0
        self._irqs: list[Irq] = []
        self._faults: list[dict[str, Any]] = []
        self._media_faults: list[list[int]] = []
        self._unreadable: set[int] = set()  # sectors of 512 bytes whose reads fail until they are written
        self._counts = {"reads": 0, "writes": 0, "read_sectors": 0, "write_sectors": 0}

    @property
    def idle(self) -> bool:
        """Nothing will happen unless the caller does something."""
        return not self._heap

    @property
    def ns(self) -> int:
        return self.cycle * NS_PER_CYCLE

    def map(self, base: int, size: int, buffer: Any, writable: bool = True) -> None:
        """`buffer`: a buffer object, or the address of a mapping."""
        self._maps.append((base, size, Mapped(buffer) if isinstance(buffer, int) else Buffer(buffer), writable))

    def unmap(self, base: int) -> None:
        self._maps = [m for m in self._maps if m[0] != base]

    def run(self, cycles: int, until_irq: bool = False) -> int:
        start, end = self.cycle, self.cycle + int(cycles)
        while self._heap and self._heap[0][0] <= end:
            if until_irq and self._irqs:
                return self.cycle - start
            self.cycle, _, action = heapq.heappop(self._heap)
            action()
        if not (until_irq and self._irqs):
            self.cycle = end
        return self.cycle - start

    def irqs(self) -> list[Irq]:
        out, self._irqs = self._irqs, []
        return out

    def counters(self) -> dict[str, int]:
        return dict(self._counts)

    def inject(self, kind: str, addr: int = 0, length: int = 0, nth: int = 0, count: int = 1) -> None:
        """The nth and next count - 1 reads of host memory in a range (length 0: any) end with a fault."""
        self._faults.append({"kind": kind, "addr": addr, "length": length, "nth": nth, "left": count})

    def inject_clear(self) -> None:
        self._faults.clear()

    def media_error(self, off: int, length: int, count: int = 1) -> None:
        """The next `count` accesses of the media in a range fail (-1: all)."""
        self._media_faults.append([off, length, count])

    def media_read(self, addr: int, size: int) -> bytes:
        return self._media.load(addr, size)

    def media_write(self, addr: int, data: bytes) -> None:
        self._media.store(addr, bytes(data))

    def trouble(self) -> str | None:
        """A line for the user, once: what of the image has begun to fail."""
        text, self._media.trouble = self._media.trouble, None
        return text

    def close(self) -> None:
        """The image is written out; raises if it cannot be."""
        self._media.close()

    # Time -------------------------------------------------------------------------------------------------------

    def _at(self, cycles: float, action: Callable[[], None], *, epoch: bool = True) -> None:
        """Do `action` later; a reset takes back those with epoch."""
        self._seq += 1
        if epoch:
            made = self._epoch

            def guarded() -> None:
                if made == self._epoch:
                    action()

            heapq.heappush(self._heap, (self.cycle + int(cycles), self._seq, guarded))
        else:
            heapq.heappush(self._heap, (self.cycle + int(cycles), self._seq, action))

    # Host memory ------------------------------------------------------------------------------------------------

    def _region(self, addr: int, size: int, write: bool) -> tuple[Bytes, int]:
        """Where that is, and the place in it."""
        for base, length, memory, writable in self._maps:
            if base <= addr and addr + size <= base + length and (writable or not write):
                return memory, addr - base
        raise CommandFailed(Status.DATA_TRANSFER_ERROR)

    def _put(self, addr: int, data: bytes) -> None:
        """A write by the device."""
        memory, at = self._region(addr, len(data), True)
        try:
            memory.store(at, data)
        except OSError as e:
            raise CommandFailed(Status.DATA_TRANSFER_ERROR) from e

    def _load(self, addr: int, size: int) -> bytes:
        """A read by the device, which may meet an injected fault."""
        for fault in self._faults:
            if fault["left"] > 0 and (
                not fault["length"] or (addr < fault["addr"] + fault["length"] and fault["addr"] < addr + size)
            ):
                if fault["nth"] > 0:
                    fault["nth"] -= 1
                    continue
                fault["left"] -= 1
                raise CommandFailed(Status.DATA_TRANSFER_ERROR)
        memory, at = self._region(addr, size, False)
        try:
            return memory.load(at, size)
        except OSError as e:
            raise CommandFailed(Status.DATA_TRANSFER_ERROR) from e

    def _prp(self, prp1: int, prp2: int, size: int) -> list[tuple[int, int]]:
        if prp1 & 3:
            raise CommandFailed(Status.INVALID_PRP_OFFSET)
        first = min(size, PAGE - prp1 % PAGE)
        out = [(prp1, first)]
        left = size - first
        if not left:
            return out
        if left <= PAGE:
            if prp2 % PAGE:
                raise CommandFailed(Status.INVALID_PRP_OFFSET)
            return [*out, (prp2, left)]
        if prp2 & 7:
            raise CommandFailed(Status.INVALID_PRP_OFFSET)
        at = prp2
        while left:
            here = self._load(at, min(8 * -(-left // PAGE), PAGE - at % PAGE))
            entries = struct.unpack(f"<{len(here) // 8}Q", here)
            chained = len(entries) < -(-left // PAGE)
            for entry in entries[:-1] if chained else entries:
                if entry % PAGE:
                    raise CommandFailed(Status.INVALID_PRP_OFFSET)
                out.append((entry, min(left, PAGE)))
                left -= out[-1][1]
            at = entries[-1]
            if chained and at % PAGE:
                raise CommandFailed(Status.INVALID_PRP_OFFSET)
        return out

    def _gather(self, prp1: int, prp2: int, size: int) -> bytes:
        return b"".join(self._load(a, n) for a, n in self._prp(prp1, prp2, size))

    def _scatter(self, prp1: int, prp2: int, data: bytes) -> None:
        at = 0
        for addr, size in self._prp(prp1, prp2, len(data)):
            self._put(addr, data[at : at + size])
            at += size

    def _media_ok(self, at: int, size: int, status: int) -> None:
        for fault in self._media_faults:
            if fault[2] and at < fault[0] + fault[1] and fault[0] < at + size:
                fault[2] -= 1
                raise CommandFailed(status)

    def _sectors(self, at: int, size: int) -> range:
        return range(at // 512, (at + size) // 512)

    def _media_readable(self, at: int, size: int) -> None:
        if self._unreadable and not self._unreadable.isdisjoint(self._sectors(at, size)):
            raise CommandFailed(Status.READ_ERROR)

    def _fetch_media(self, at: int, size: int) -> bytes:
        try:
            return self._media.load(at, size)
        except OSError as e:
            raise CommandFailed(Status.READ_ERROR) from e

    def _flush_media(self, failed: int = Status.WRITE_FAULT) -> None:
        """failed: what a command ends with if it cannot be."""
        try:
            self._media.flush()
        except OSError as e:
            raise CommandFailed(failed) from e

    def _store(self, at: int, data: bytes) -> None:
        try:
            self._media.store(at, data)
        except OSError as e:
            raise CommandFailed(Status.WRITE_FAULT) from e
        if self._unreadable:
            self._unreadable.difference_update(self._sectors(at, len(data)))

    def _zero(self, at: int, size: int) -> None:
        if self._unreadable:
            self._unreadable.difference_update(self._sectors(at, size))
        try:
            self._media.zero(at, size)
        except OSError as e:
            raise CommandFailed(Status.WRITE_FAULT) from e
