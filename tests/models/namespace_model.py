# SPDX-License-Identifier: Apache-2.0
"""A model of a drive's table of namespaces: what exists, what is attached, where it is on the media, what is in it; and
commands for a namespace with any size of blocks."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from doorbell.nvme import namespaces
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import DSM_AD, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.log_pages import u128
from doorbell.nvme.structures import DsmRange

NUM_NS = 4
MEDIA = 20 << 20  # little, as deletions zero it
PAGES = MEDIA // 4096


def submit(
    drive: Driver, opcode: int, nsid: int, slba: int = 0, data: bytes | int = 0, size: int = 512, qid: int = 1
) -> Command:
    """A command for a namespace with blocks of `size`. data: what to send, or how many bytes to read."""
    nbytes = data if isinstance(data, int) else len(data)
    buffer = drive.buffer(max(nbytes, size))
    if not isinstance(data, int):
        buffer.write(data)
    nbytes = max(nbytes, size)
    if opcode == NvmOpc.DSM:
        buffer.write(bytes(DsmRange(0, 1, slba)))
        return drive.submit(qid, opcode, buffer=buffer, nsid=nsid, nbytes=16, cdw10=0, cdw11=DSM_AD)
    return drive.submit(qid, opcode, slba, nbytes // size - 1, buffer, nsid=nsid, nbytes=nbytes)


def io(drive: Driver, *args: int | bytes, **fields: int) -> tuple[Command, bytes]:
    command = submit(drive, *args, **fields)  # type: ignore[arg-type]
    drive.wait([command])
    assert command.buffer is not None
    out = command.buffer.read()
    command.buffer.free()
    return command, out


def put(drive: Driver, nsid: int, slba: int, data: bytes, size: int = 512) -> None:
    io(drive, NvmOpc.WRITE, nsid, slba, data, size=size)[0].check()


def get(drive: Driver, nsid: int, slba: int, nbytes: int, size: int = 512) -> bytes:
    command, data = io(drive, NvmOpc.READ, nsid, slba, nbytes, size=size)
    command.check()
    return data


# ------------------------------------------------------------------------------------------------------- the model


@dataclass
class Space:
    first: int  # page
    pages: int
    size: int  # of a block
    blocks: int
    attached: bool = False
    content: dict[int, bytes] = field(default_factory=dict)  # page of the namespace: 4096 bytes, where not zeros
    ids: bytes = b""


@dataclass
class Table:
    """What the drive should hold, by the rules of the specification and of docs/ssd/integration.md: the lowest free
    NSID, the first gap of whole pages that is large enough."""

    spaces: dict[int, Space] = field(default_factory=lambda: {1: Space(0, PAGES, 512, PAGES * 8, True)})

    def free(self) -> int:
        return PAGES - sum(s.pages for s in self.spaces.values())

    def gap(self, pages: int) -> int | None:
        used = bytearray(PAGES)
        for s in self.spaces.values():
            used[s.first : s.first + s.pages] = b"\1" * s.pages
        at = used.find(bytes(pages))
        return at if at >= 0 else None

    def create(self, blocks: int, size: int) -> tuple[int, int]:
        """(status, NSID)"""
        pages = -(-blocks * size // 4096)
        unused = [n for n in range(1, NUM_NS + 1) if n not in self.spaces]
        if not unused:
            return Status.NSID_UNAVAILABLE, 0
        at = self.gap(pages)
        if at is None:
            return Status.NS_INSUFFICIENT_CAP, 0
        self.spaces[unused[0]] = Space(at, pages, size, blocks)
        return Status.SUCCESS, unused[0]

    def check(self, drive: Driver) -> None:
        """All that Identify says of the table."""
        assert namespaces.allocated(drive) == sorted(self.spaces)
        assert namespaces.active(drive) == sorted(n for n, s in self.spaces.items() if s.attached)
        assert namespaces.capacity(drive) == (MEDIA, self.free() * 4096)
        for nsid in range(1, NUM_NS + 1):
            s = self.spaces.get(nsid)
            there, here = namespaces.of(drive, nsid, attached=False), namespaces.of(drive, nsid)
            assert bytes(here) == (bytes(there) if s and s.attached else bytes(4096))
            if s is None:
                assert bytes(there) == bytes(4096)
                continue
            assert (there.nsze, there.ncap, there.nuse) == (s.blocks,) * 3, nsid
            assert there.flbas == (s.size == 4096) and u128(there.nvmcap) == s.pages * 4096
            assert namespaces.controllers(drive, nsid) == ([0] if s.attached else [])
            if not s.ids:
                s.ids = bytes(there.nguid)
            assert bytes(there.nguid) == s.ids, "identifiers do not change while it exists"
        ids = [s.ids for s in self.spaces.values()]
        assert len(set(ids)) == len(ids) and all(any(i) for i in ids)


def fill(drive: Driver, s: Space, nsid: int, rng: random.Random) -> None:
    """Write its first page, its last, and one between; a last page that is not all the namespace's up to its end."""
    last = s.pages - 1
    for page in {0, last, rng.randrange(s.pages)}:
        blocks = min(4096 // s.size, s.blocks - page * (4096 // s.size))
        data = rng.randbytes(blocks * s.size)
        put(drive, nsid, page * (4096 // s.size), data, s.size)
        s.content[page] = data.ljust(4096, b"\0")


def compare(drive: Driver, s: Space, nsid: int, rng: random.Random) -> None:
    """Read back what was written, and a page that perhaps was not; look at the media too."""
    for page in {*s.content, rng.randrange(s.pages)}:
        want = s.content.get(page, bytes(4096))
        assert drive.sim.media_read((s.first + page) * 4096, 4096) == want, (nsid, page)
        blocks = min(4096 // s.size, s.blocks - page * (4096 // s.size))
        assert get(drive, nsid, page * (4096 // s.size), blocks * s.size, s.size) == want[: blocks * s.size]
