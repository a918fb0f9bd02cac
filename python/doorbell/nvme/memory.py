# SPDX-License-Identifier: Apache-2.0
"""Memory of the host that a device can reach, and the data buffers in it with their PRP lists and SGLs."""

from __future__ import annotations

import mmap
import random
import struct
from collections.abc import Iterable

from doorbell.nvme.constants import (
    PAGE_SIZE,
)
from doorbell.nvme.errors import ProtocolError
from doorbell.nvme.sgl import Descriptor, Sgl


class HostMemory:
    """Host memory that the device can reach: one anonymous mapping at a physical address, given out in pages."""

    def __init__(self, size: int = 256 << 20, base: int = 0x12_4000_0000, seed: int = 1) -> None:
        if size % PAGE_SIZE or base % PAGE_SIZE:
            raise ValueError("host memory is made of whole pages")
        self.size = size
        self.base = base
        self.map = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE)
        self.view = memoryview(self.map)
        self._begin(seed)

    def _begin(self, seed: int = 1) -> None:
        """All of it is free."""
        self._used = bytearray(self.size // PAGE_SIZE)
        self._sizes: dict[int, int] = {}
        self._next = 0
        self._rng = random.Random(seed)

    def store(self, offset: int, data: bytes) -> None:
        """Write at an offset, as the host does."""
        self.view[offset : offset + len(data)] = data

    def load(self, offset: int, nbytes: int) -> bytes:
        return bytes(self.view[offset : offset + nbytes])

    def alloc(self, nbytes: int) -> int:
        """Contiguous pages for `nbytes`; returns their physical address. They keep what was in them."""
        pages = max(1, -(-nbytes // PAGE_SIZE))
        want = bytes(pages)
        # Runs from the lower half, single pages from the upper, so that the one does not break up the other.
        at = self._used.find(want, self._next, len(self._used) // 2)
        if at < 0:
            at = self._used.find(want)
        if at < 0:
            raise MemoryError(f"no {pages} pages in a row left in {self.size >> 20} MiB of host memory")
        self._take(at, pages)
        self._next = at + pages
        return self.base + at * PAGE_SIZE

    def alloc_pages(self, count: int, scattered: bool = True) -> list[int]:
        """Addresses of `count` pages, in no order and not together when `scattered`."""
        if not scattered:
            first = self.alloc(count * PAGE_SIZE)
            at = (first - self.base) // PAGE_SIZE
            del self._sizes[at]
            self._sizes.update((at + i, 1) for i in range(count))
            return [first + i * PAGE_SIZE for i in range(count)]
        out = []
        for _ in range(count):
            at = self._used.find(0, self._rng.randrange(len(self._used) // 2, len(self._used)))
            if at < 0:
                at = self._used.find(0)
            if at < 0:
                raise MemoryError(f"no page left in {self.size >> 20} MiB of host memory")
            self._take(at, 1)
            out.append(self.base + at * PAGE_SIZE)
        return out

    def free(self, *addresses: int) -> None:
        """Give back what `alloc` or `alloc_pages` returned."""
        for address in addresses:
            at = (address - self.base) // PAGE_SIZE
            pages = self._sizes.pop(at)
            self._used[at : at + pages] = bytes(pages)

    def _take(self, at: int, pages: int) -> None:
        self._used[at : at + pages] = b"\1" * pages
        self._sizes[at] = pages

    def at(self, address: int, nbytes: int) -> memoryview:
        """View of `nbytes` at a physical address."""
        off = address - self.base
        if not 0 <= off <= self.size - nbytes:
            raise IndexError(f"{address:#x} is not host memory")
        return self.view[off : off + nbytes]

    def zero(self, address: int, nbytes: int) -> None:
        self.at(address, nbytes)[:] = bytes(nbytes)

    def snapshot(self) -> bytes:
        """All of it, to see later that nothing changed."""
        return bytes(self.view)


class Buffer:
    """Data buffer of a command, with its PRP entries and lists.

    offset: of the first byte in its page. scattered: pages in no order. list_offset: of the first PRP entry in its
    page (a multiple of 8); a list that reaches the end of its page is chained. misalign_list: see `prps`.
    """

    def __init__(
        self, memory: HostMemory, size: int, *, offset: int = 0, scattered: bool = False, list_offset: int = 0
    ) -> None:
        if size < 1 or not 0 <= offset < PAGE_SIZE or list_offset % 8 or not 0 <= list_offset < PAGE_SIZE:
            raise ValueError("bad buffer geometry")
        self.memory = memory
        self.size = size
        self.offset = offset
        self.list_offset = list_offset
        count = -(-(offset + size) // PAGE_SIZE)
        self.contiguous = not scattered
        if scattered:
            self._owned = memory.alloc_pages(count)
            self.pages = list(self._owned)
        else:
            first = memory.alloc(count * PAGE_SIZE)
            self._owned = [first]
            self.pages = [first + i * PAGE_SIZE for i in range(count)]
        self.address = self.pages[0] + offset
        self._lists: dict[int, tuple[int, int]] = {}
        self._sgls: dict[int, tuple[int, int]] = {}
        self.list_pages: list[int] = []

    def prps(self, nbytes: int | None = None) -> tuple[int, int]:
        """PRP1 and PRP2 for the first `nbytes` (Base 2.0, 4.1.1). Lists are made once and kept."""
        nbytes = self.size if nbytes is None else nbytes
        count = -(-(self.offset + nbytes) // PAGE_SIZE)
        if count <= 1:
            return self.address, 0
        if count == 2:
            return self.address, self.pages[1]
        if count > len(self.pages):
            raise ValueError("the buffer is smaller than the command")
        made = self._lists.get(count)
        if made is None:
            made = self._lists[count] = (self.address, self._make_list(self.pages[1:count]))
        return made

    def _make_list(self, entries: list[int]) -> int:
        page = self.memory.alloc(PAGE_SIZE)
        self._owned.append(page)
        self.list_pages.append(page)
        first = at = page + self.list_offset
        left = list(entries)
        while left:
            room = (page + PAGE_SIZE - at) // 8
            if len(left) <= room:
                here, left = left, []
            else:
                here, left = left[: room - 1], left[room - 1 :]
                page = self.memory.alloc(PAGE_SIZE)
                self._owned.append(page)
                self.list_pages.append(page)
                here.append(page)  # the last entry of a page points to the next list
            struct.pack_into(f"<{len(here)}Q", self.memory.view, at - self.memory.base, *here)
            at = page
        return first

    def blocks(self, nbytes: int | None = None) -> list[Descriptor]:
        """SGL descriptors of the first `nbytes`: pages that lie together are one data block."""
        left = self.size if nbytes is None else nbytes
        out: list[Descriptor] = []
        at = self.offset
        for page in self.pages:
            here = min(left, PAGE_SIZE - at)
            if here <= 0:
                break
            if out and out[-1].address + out[-1].length == page + at:
                out[-1] = Descriptor(out[-1].address, out[-1].length + here)
            else:
                out.append(Descriptor(page + at, here))
            left -= here
            at = 0
        return out

    def sgl(self, nbytes: int | None = None) -> tuple[int, int]:
        """The descriptor of the first `nbytes` that stands in the place of PRP1 and PRP2: a data block, or one segment
        with all of them, at `list_offset`. Segments are made once and kept."""
        nbytes = self.size if nbytes is None else nbytes
        made = self._sgls.get(nbytes)
        if made is None:
            every = self.blocks(nbytes)
            descriptor = every[0]
            if len(every) > 1:
                sgl = Sgl(self.memory, [every], offset=self.list_offset)
                descriptor = sgl.pointer
                self._owned += sgl.pages
                ((at, length),) = sgl.segments
                self.list_pages += range(at // PAGE_SIZE * PAGE_SIZE, at + length, PAGE_SIZE)
            made = self._sgls[nbytes] = descriptor.words
        return made

    def pieces(self, nbytes: int | None = None) -> Iterable[memoryview]:
        """Views of the data in order, one a page (one for all when contiguous)."""
        left = self.size if nbytes is None else nbytes
        if self.contiguous:
            yield self.memory.at(self.address, left)
            return
        offset = self.offset
        for page in self.pages:
            here = min(left, PAGE_SIZE - offset)
            if here <= 0:
                return
            yield self.memory.at(page + offset, here)
            left -= here
            offset = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        at = 0
        for piece in self.pieces(len(data)):
            piece[:] = data[at : at + len(piece)]
            at += len(piece)

    def read(self, nbytes: int | None = None) -> bytes:
        return b"".join(self.pieces(nbytes))

    def margins(self) -> Iterable[memoryview]:
        """Views of what its pages hold before and after the data: nobody may write there."""
        yield self.memory.at(self.pages[0], self.offset)
        end = (self.offset + self.size - 1) % PAGE_SIZE + 1
        yield self.memory.at(self.pages[-1] + end, PAGE_SIZE - end)

    def fill(self, byte: int) -> None:
        """Fill data and margins."""
        for page in self.pages:
            self.memory.at(page, PAGE_SIZE)[:] = bytes([byte]) * PAGE_SIZE

    def check_margins(self, byte: int) -> None:
        """Raise `ProtocolError` if something was written beside the data since `fill(byte)`."""
        for margin in self.margins():
            if bytes(margin) != bytes([byte]) * len(margin):
                raise ProtocolError(f"the device wrote outside the buffer of {self.size} bytes at {self.address:#x}")

    def free(self) -> None:
        self.memory.free(*self._owned)
        self._owned.clear()
        self._lists.clear()
        self._sgls.clear()
