# SPDX-License-Identifier: Apache-2.0
"""From the primary controller: Virtualization Management, which is resources and secondary controllers (Base 2.0, 5.28
and 8.26); and what each function may have of what all share, Doorbell's own feature D0h (docs/virtualization.md)."""

from __future__ import annotations

import ctypes

from doorbell.nvme.commands import Command
from doorbell.nvme.constants import AdminOpc, Cns, FeatureSelect, VirtMgmt, VirtResource
from doorbell.nvme.driver import Driver
from doorbell.nvme.structures import FunctionShare, PrimaryCaps, SecondaryCtrl, SecondaryList
from doorbell.nvme.vendor import VendorFeature


def capabilities(pf: Driver) -> PrimaryCaps:
    return PrimaryCaps.from_buffer_copy(pf.identify(Cns.PRIMARY_CTRL_CAP))


def secondaries(pf: Driver, first: int = 0) -> list[SecondaryCtrl]:
    """Secondary controllers with identifiers from `first` on."""
    found = SecondaryList.from_buffer_copy(pf.identify(Cns.SCNDRY_CTRL_LIST, cntid=first))
    return list(found.entry[: found.num])


def manage_try(pf: Driver, action: int, cntlid: int, *, resource: int = 0, count: int = 0) -> Command:
    """action: VirtMgmt.*; resource: VirtResource.*. Dword 0 of the completion: resources that it has changed."""
    return pf.admin_try(AdminOpc.VIRTUAL_MGMT, cdw10=cntlid << 16 | resource << 8 | action, cdw11=count)


def assign(pf: Driver, cntlid: int, *, queues: int, interrupts: int) -> None:
    """queues: I/O queue pairs; its admin queue is counted here. The controller must be offline."""
    manage_try(pf, VirtMgmt.ASSIGN, cntlid, resource=VirtResource.VQ, count=queues + 1).check()
    manage_try(pf, VirtMgmt.ASSIGN, cntlid, resource=VirtResource.VI, count=interrupts).check()


def allocate(pf: Driver, *, queues: int, interrupts: int) -> None:
    """Flexible resources that the PF has itself, from its next reset on."""
    cntlid = pf.controller.cntlid if pf.controller else 0
    manage_try(pf, VirtMgmt.PRIMARY_ALLOCATE, cntlid, resource=VirtResource.VQ, count=queues).check()
    manage_try(pf, VirtMgmt.PRIMARY_ALLOCATE, cntlid, resource=VirtResource.VI, count=interrupts).check()


def online(pf: Driver, cntlid: int) -> None:
    manage_try(pf, VirtMgmt.ONLINE, cntlid).check()


def offline(pf: Driver, cntlid: int) -> None:
    """It loses its resources too."""
    manage_try(pf, VirtMgmt.OFFLINE, cntlid).check()


def share_try(pf: Driver, cntlid: int, select: int = FeatureSelect.CURRENT) -> tuple[Command, FunctionShare]:
    """Get Features (Base 2.0, 5.15) of Function Share. cntlid: 0 the PF, n VF n."""
    buffer = pf.buffer(ctypes.sizeof(FunctionShare))
    try:
        command = pf.admin_try(AdminOpc.GET_FEATURES, buffer=buffer, cdw10=VendorFeature.FUNCTION_SHARE | select << 8,
                               cdw11=cntlid)  # fmt: skip
        return command, FunctionShare.from_buffer_copy(buffer.read())
    finally:
        buffer.free()


def share(pf: Driver, cntlid: int, select: int = FeatureSelect.CURRENT) -> FunctionShare:
    """What a function may have of what all share. select: FeatureSelect.*."""
    command, found = share_try(pf, cntlid, select)
    command.check()
    return found


def set_share_try(pf: Driver, cntlid: int, wanted: FunctionShare, *, save: bool = False) -> Command:
    """Set Features (Base 2.0, 5.27) of Function Share. save: it outlasts resets of the PF, and power."""
    buffer = pf.buffer(ctypes.sizeof(FunctionShare))
    try:
        buffer.write(bytes(wanted))
        return pf.admin_try(AdminOpc.SET_FEATURES, buffer=buffer,
                            cdw10=VendorFeature.FUNCTION_SHARE | int(save) << 31, cdw11=cntlid)  # fmt: skip
    finally:
        buffer.free()


def set_share(pf: Driver, cntlid: int, *, save: bool = False, **changes: int) -> FunctionShare:
    """Change some of it (names and units of FunctionShare: commands and bytes a second, 0 for no limit); all of it now.

    NvmeError: Invalid Field for a value that no function can have, Invalid Number of Controller Resources if guaranteed
    slots of all functions are more than `slots_min_total`.
    """
    wanted = share(pf, cntlid)
    for name, value in changes.items():
        setattr(wanted, name, value)
    set_share_try(pf, cntlid, wanted, save=save).check()
    return wanted
