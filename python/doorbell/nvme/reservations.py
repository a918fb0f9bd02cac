# SPDX-License-Identifier: Apache-2.0
"""Reservations of a namespace that several controllers share (Base 2.0, 8.19; 2.1, 8.1.22), as a host uses them.

    reservations.set_host_id(vf, 0x1234)
    reservations.register(vf, key=0xABC)
    reservations.acquire(vf, key=0xABC, rtype=ResvType.WRITE_EXCLUSIVE)
    reservations.release(vf, key=0xABC, rtype=ResvType.WRITE_EXCLUSIVE)

They are I/O commands, of the driver's namespace unless `nsid` says another, on its queue 1 unless `qid` does. `..._try`
leave the status to the caller. Keys have 64 bits; a host identifier has 64, or 128 if `wide`.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from doorbell.nvme.commands import Command
from doorbell.nvme.constants import (
    AdminOpc,
    Feature,
    LogPage,
    NvmOpc,
    ResvAcquire,
    ResvPtpl,
    ResvRegister,
    ResvRelease,
)
from doorbell.nvme.driver import Driver
from doorbell.nvme.log_pages import ResvNotification
from doorbell.nvme.structures import ResvController, ResvControllerExtended, ResvStatus

IEKEY = 1 << 3
EXTENDED = 64  # bytes of the header of an extended report


@dataclass(frozen=True)
class Registered:
    """A controller whose host is a registrant; FFFFh: the host has none."""

    cntlid: int
    holder: bool
    hostid: int
    key: int


@dataclass(frozen=True)
class Report:
    generation: int
    rtype: int
    persists: bool
    controllers: list[Registered]


def _keys_try(drive: Driver, opcode: int, cdw10: int, *keys: int, nsid: int | None, qid: int) -> Command:
    buffer = drive.buffer(8 * len(keys))
    try:
        buffer.write(b"".join(key.to_bytes(8, "little") for key in keys))
        command = drive.submit(qid, opcode, buffer=buffer, nbytes=8 * len(keys), nsid=nsid, cdw10=cdw10, cdw11=0,
                               cdw12=0, ring=True)  # fmt: skip
        drive.wait([command])
        return command
    finally:
        buffer.free()


def register_try(
    drive: Driver,
    action: int = ResvRegister.REGISTER,
    *,
    current: int = 0,
    key: int = 0,
    ignore: bool = False,
    ptpl: int = ResvPtpl.NO_CHANGE,
    nsid: int | None = None,
    qid: int = 1,
) -> Command:
    """Reservation Register (7.3). current, key: CRKEY, NRKEY. ignore: IEKEY."""
    cdw10 = action | (IEKEY if ignore else 0) | ptpl << 30
    return _keys_try(drive, NvmOpc.RESV_REGISTER, cdw10, current, key, nsid=nsid, qid=qid)


def register(drive: Driver, key: int, *, ptpl: int = ResvPtpl.NO_CHANGE, nsid: int | None = None) -> None:
    register_try(drive, key=key, ptpl=ptpl, nsid=nsid).check()


def unregister(drive: Driver, key: int, *, nsid: int | None = None) -> None:
    register_try(drive, ResvRegister.UNREGISTER, current=key, nsid=nsid).check()


def acquire_try(
    drive: Driver,
    action: int = ResvAcquire.ACQUIRE,
    *,
    key: int,
    rtype: int,
    preempt: int = 0,
    ignore: bool = False,
    nsid: int | None = None,
    qid: int = 1,
) -> Command:
    """Reservation Acquire (7.2). key, preempt: CRKEY, PRKEY. ignore: IEKEY, which no controller takes here."""
    cdw10 = action | (IEKEY if ignore else 0) | rtype << 8
    return _keys_try(drive, NvmOpc.RESV_ACQUIRE, cdw10, key, preempt, nsid=nsid, qid=qid)


def acquire(drive: Driver, key: int, rtype: int, *, nsid: int | None = None) -> None:
    acquire_try(drive, key=key, rtype=rtype, nsid=nsid).check()


def release_try(
    drive: Driver,
    action: int = ResvRelease.RELEASE,
    *,
    key: int,
    rtype: int = 0,
    ignore: bool = False,
    nsid: int | None = None,
    qid: int = 1,
) -> Command:
    """Reservation Release (7.4). key: CRKEY."""
    cdw10 = action | (IEKEY if ignore else 0) | rtype << 8
    return _keys_try(drive, NvmOpc.RESV_RELEASE, cdw10, key, nsid=nsid, qid=qid)


def release(drive: Driver, key: int, rtype: int, *, nsid: int | None = None) -> None:
    release_try(drive, key=key, rtype=rtype, nsid=nsid).check()


def clear(drive: Driver, key: int, *, nsid: int | None = None) -> None:
    release_try(drive, ResvRelease.CLEAR, key=key, nsid=nsid).check()


def report_try(
    drive: Driver, size: int = 4096, *, wide: bool = False, nsid: int | None = None, qid: int = 1
) -> tuple[Command, bytes]:
    """Reservation Report (7.5): so many bytes, a multiple of 4. wide: EDS."""
    buffer = drive.buffer(size)
    try:
        buffer.write(b"\xee" * size)
        command = drive.submit(qid, NvmOpc.RESV_REPORT, buffer=buffer, nbytes=size, nsid=nsid, cdw10=size // 4 - 1,
                               cdw11=int(wide), cdw12=0, ring=True)  # fmt: skip
        drive.wait([command])
        return command, buffer.read()
    finally:
        buffer.free()


def report(drive: Driver, *, wide: bool = False, nsid: int | None = None) -> Report:
    command, data = report_try(drive, wide=wide, nsid=nsid)
    command.check()
    head = ResvStatus.from_buffer_copy(data)
    kind = ResvControllerExtended if wide else ResvController
    at = EXTENDED if wide else ctypes.sizeof(ResvStatus)
    found = []
    for i in range(head.regctl):
        one = kind.from_buffer_copy(data, at + i * ctypes.sizeof(kind))
        hostid = int.from_bytes(bytes(one.hostid), "little") if wide else one.hostid
        found.append(Registered(one.cntlid, bool(one.rcsts & 1), hostid, one.rkey))
    return Report(head.gen, head.rtype, bool(head.ptpls), found)


def set_host_id_try(drive: Driver, hostid: int, *, wide: bool = False) -> Command:
    """Feature 81h, Host Identifier (5.27.1.25). 0: a host of its own, that no other controller is of."""
    size = 16 if wide else 8
    buffer = drive.buffer(size)
    try:
        buffer.write(hostid.to_bytes(size, "little"))
        return drive.admin_try(AdminOpc.SET_FEATURES, buffer=buffer, cdw10=Feature.HOST_ID, cdw11=int(wide))
    finally:
        buffer.free()


def set_host_id(drive: Driver, hostid: int, *, wide: bool = False) -> None:
    set_host_id_try(drive, hostid, wide=wide).check()


def host_id(drive: Driver, *, wide: bool = False) -> int:
    size = 16 if wide else 8
    data = drive.admin_read(AdminOpc.GET_FEATURES, size, cdw10=Feature.HOST_ID, cdw11=int(wide))
    return int.from_bytes(data, "little")


def notification(drive: Driver, *, keep: bool = False) -> ResvNotification:
    """Log page 80h (5.16.1.24); it is read, and the next one comes, unless `keep`. type 0: there is none."""
    return ResvNotification.from_buffer_copy(drive.get_log(LogPage.RESERVATION, 64, rae=keep))
