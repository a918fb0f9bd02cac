# SPDX-License-Identifier: Apache-2.0
"""Namespace Management and Attachment, as a host uses them: create, delete, attach, detach, list.

    nsid = namespaces.create(drive, blocks=2048, block_size=4096)
    namespaces.attach(drive, nsid)

A namespace that has been created reads as zeros, and belongs to no controller until it is attached. Blocks are of 512
or 4096 bytes (formats 0 and 1 of Doorbell's drives). `..._try` leave the status to the caller.
"""

from __future__ import annotations

import struct

from doorbell.nvme.commands import Command
from doorbell.nvme.constants import NSID_ALL, OACS_NS_MGMT, AdminOpc, Cns, LogPage, NsAttach, NsMgmt
from doorbell.nvme.driver import Driver
from doorbell.nvme.log_pages import u128
from doorbell.nvme.structures import CtrlList, IdCtrl, IdNs

FORMATS = {512: 0, 4096: 1}


def supported(drive: Driver) -> bool:
    """The controller has Namespace Management. The drive must be up."""
    assert drive.controller is not None
    return bool(drive.controller.oacs & OACS_NS_MGMT)


def create_try(
    drive: Driver,
    blocks: int,
    block_size: int = 512,
    *,
    capacity: int | None = None,
    flbas: int | None = None,
    dps: int = 0,
    nmic: int = 0,
    nsid: int = 0,
    csi: int = 0,
) -> Command:
    """Namespace Management, create: dword 0 of the completion is the NSID. capacity: NCAP, if it is not `blocks`."""
    data = IdNs(
        nsze=blocks,
        ncap=blocks if capacity is None else capacity,
        dps=dps,
        nmic=nmic,
        flbas=FORMATS[block_size] if flbas is None else flbas,
    )
    buffer = drive.buffer(4096)
    try:
        buffer.write(bytes(data))
        return drive.admin_try(AdminOpc.NS_MGMT, buffer=buffer, nsid=nsid, cdw10=NsMgmt.CREATE, cdw11=csi << 24)
    finally:
        buffer.free()


def create(drive: Driver, blocks: int, block_size: int = 512) -> int:
    """A new namespace, not attached yet; its NSID."""
    return create_try(drive, blocks, block_size).check().dw0


def delete_try(drive: Driver, nsid: int = NSID_ALL) -> Command:
    return drive.admin_try(AdminOpc.NS_MGMT, nsid=nsid, cdw10=NsMgmt.DELETE)


def delete(drive: Driver, nsid: int = NSID_ALL) -> None:
    """Delete a namespace, or all. Its data is gone, its key too."""
    delete_try(drive, nsid).check()


def attachment_try(drive: Driver, nsid: int, select: int, controllers: tuple[int, ...] | None = None) -> Command:
    """Namespace Attachment. controllers: their identifiers; this one's alone unless given."""
    assert drive.controller is not None
    ids = (drive.controller.cntlid,) if controllers is None else controllers
    buffer = drive.buffer(4096)
    try:
        buffer.write(struct.pack(f"<H{len(ids)}H", len(ids), *ids).ljust(4096, b"\0"))
        return drive.admin_try(AdminOpc.NS_ATTACH, buffer=buffer, nsid=nsid, cdw10=select)
    finally:
        buffer.free()


def attach(drive: Driver, nsid: int) -> None:
    attachment_try(drive, nsid, NsAttach.ATTACH).check()


def detach(drive: Driver, nsid: int) -> None:
    """Commands under way end; those that come later are refused. Its data stays."""
    attachment_try(drive, nsid, NsAttach.DETACH).check()


def _ids(raw: bytes) -> list[int]:
    found = struct.unpack(f"<{len(raw) // 4}I", raw)
    return list(found[: found.index(0)] if 0 in found else found)


def active(drive: Driver, above: int = 0) -> list[int]:
    """NSIDs that are attached."""
    return _ids(drive.identify(Cns.NS_ACTIVE_LIST, nsid=above))


def allocated(drive: Driver, above: int = 0) -> list[int]:
    """NSIDs that exist."""
    return _ids(drive.identify(Cns.NS_PRESENT_LIST, nsid=above))


def controllers(drive: Driver, nsid: int | None = None, first: int = 0) -> list[int]:
    """Controllers from identifier `first` on that the namespace is attached to, or all."""
    cns = Cns.CTRL_LIST if nsid is None else Cns.CTRL_NS_LIST
    found = CtrlList.from_buffer_copy(drive.identify(cns, nsid=nsid or 0, cntid=first))
    return list(found.identifier[: found.num])


def of(drive: Driver, nsid: int, *, attached: bool = True) -> IdNs:
    """Identify Namespace: of an attached one, or of any that exists. All zeros if there is none."""
    return IdNs.from_buffer_copy(drive.identify(Cns.NS if attached else Cns.NS_PRESENT, nsid=nsid))


def capacity(drive: Driver) -> tuple[int, int]:
    """Bytes of the drive, and those that no namespace has (TNVMCAP, UNVMCAP)."""
    c = IdCtrl.from_buffer_copy(drive.identify(Cns.CTRL))
    return u128(c.tnvmcap), u128(c.unvmcap)


def changed(drive: Driver, *, rae: bool = False) -> list[int]:
    """Changed Namespace List: NSIDs that changed since it was read. rae: it stays, and so does the event."""
    return _ids(drive.get_log(LogPage.CHANGED_NS, 4096, rae=rae))
