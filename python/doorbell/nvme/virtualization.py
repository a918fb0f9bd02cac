# SPDX-License-Identifier: Apache-2.0
"""Virtualization Management from the primary controller: resources, secondary controllers (Base 2.0, 5.28 and 8.26)."""

from __future__ import annotations

from doorbell.nvme.commands import Command
from doorbell.nvme.constants import AdminOpc, Cns, VirtMgmt, VirtResource
from doorbell.nvme.driver import Driver
from doorbell.nvme.structures import PrimaryCaps, SecondaryCtrl, SecondaryList


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


def online(pf: Driver, cntlid: int) -> None:
    manage_try(pf, VirtMgmt.ONLINE, cntlid).check()


def offline(pf: Driver, cntlid: int) -> None:
    """It loses its resources too."""
    manage_try(pf, VirtMgmt.OFFLINE, cntlid).check()
