# SPDX-License-Identifier: Apache-2.0
"""Virtual drives of db_vcsd: namespaces whose granules the administrator places on SSDs (docs/vcsd/administration.md).

    nsid = virtual_drives.create(pf, 4, ssds=Ssds(0, 2))  # 4 granules, striped over SSDs 0 and 1
    virtual_drives.grow(pf, nsid, 2)

All are commands of the PF; `..._try` leave the status to the caller.
"""

from __future__ import annotations

from dataclasses import dataclass

from doorbell.nvme import namespaces
from doorbell.nvme.commands import Command
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import VendorOpc, VirtualDrive

ANY = 1 << 15
"""CDW10: whatever places are free."""


@dataclass(frozen=True)
class Ssds:
    """SSDs that take chunks of 128 KiB in turn: `count` (1, 2, 4, 8) from `first` on, a multiple of `count`."""

    first: int = 0
    count: int = 1

    def cdw10(self) -> int:
        return self.first << 8 | (self.count.bit_length() - 1) << 12


@dataclass(frozen=True)
class Pool:
    """What there is: bytes of a granule, SSDs, granules of each."""

    granule: int
    ssds: int
    each: int


@dataclass(frozen=True)
class Place:
    """Where a granule is: in part `part` (of `ssds.count`) of granule `granule` of each of these SSDs."""

    ssds: Ssds
    granule: int
    part: int

    @staticmethod
    def of(word: int) -> Place | None:
        """Dword 0 of the completion; None: nowhere."""
        if not word >> 31:
            return None
        return Place(Ssds(word >> 16 & 7, 1 << (word >> 24 & 3)), word & 0xFFFF, word >> 20 & 7)


def _command(
    drive: Driver, what: VirtualDrive, nsid: int = 0, cdw10: int = 0, cdw11: int = 0, cdw12: int = 0
) -> Command:
    return drive.admin_try(VendorOpc.VIRTUAL_DRIVE, nsid=nsid, cdw10=what | cdw10, cdw11=cdw11, cdw12=cdw12)


def _of(ssds: Ssds | None) -> int:
    return ANY if ssds is None else ssds.cdw10()


def pool(drive: Driver) -> Pool:
    word = _command(drive, VirtualDrive.GET).check().dw0
    return Pool(1 << (word & 63), 1 << (word >> 8 & 3), word >> 16)


def where_try(drive: Driver, nsid: int, granule: int) -> Command:
    return _command(drive, VirtualDrive.GET, nsid, cdw12=granule)


def where(drive: Driver, nsid: int) -> list[Place | None]:
    """Of each granule that the namespace has a part of."""
    found: list[Place | None] = []
    while (c := where_try(drive, nsid, len(found))).status == 0:
        found.append(Place.of(c.dw0))
    return found


def create_try(
    drive: Driver, granules: int, ssds: Ssds | None = None, *, block_size: int = 512, shared: bool = False
) -> Command:
    """Dword 0 of the completion is the NSID."""
    how = namespaces.FORMATS[block_size] | int(shared) << 1
    return _command(drive, VirtualDrive.CREATE, cdw10=_of(ssds), cdw11=how, cdw12=granules)


def create(
    drive: Driver, granules: int, ssds: Ssds | None = None, *, block_size: int = 512, shared: bool = False
) -> int:
    """A namespace on these SSDs (None: wherever), not attached yet; its NSID. It holds zeros."""
    return create_try(drive, granules, ssds, block_size=block_size, shared=shared).check().dw0


def grow_try(drive: Driver, nsid: int, granules: int, ssds: Ssds | None = None) -> Command:
    return _command(drive, VirtualDrive.GROW, nsid, cdw10=_of(ssds), cdw12=granules)


def grow(drive: Driver, nsid: int, granules: int, ssds: Ssds | None = None) -> None:
    """More granules behind its last block, on these SSDs; its data stays where it is. Its hosts are told."""
    grow_try(drive, nsid, granules, ssds).check()


def exchange_try(drive: Driver, nsid: int, other: int) -> Command:
    return _command(drive, VirtualDrive.EXCHANGE, nsid, cdw12=other)


def exchange(drive: Driver, nsid: int, other: int) -> None:
    """Two namespaces of the same size and format have each other's places, and so each other's data."""
    exchange_try(drive, nsid, other).check()
