# SPDX-License-Identifier: Apache-2.0
"""Namespace write protection (feature 84h, Base 2.0): what is refused, how long it lasts, who hears of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from doorbell.nvme import namespaces
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import NSID_ALL, OAES_NS_ATTR, AdminOpc, AerNotice, Cns, Feature, LogPage, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.structures import DsmRange, IdNs, IdNsIndependent
from traffic import NARROW, MakeDrive

pytestmark = pytest.mark.rtl
WRITABLE, PROTECTED, UNTIL_POWER_CYCLE, PERMANENT = range(4)
DATA = random.Random(84).randbytes(4096)


def protect_try(drive: Driver, nsid: int, protection: int):
    return drive.admin_try(AdminOpc.SET_FEATURES, nsid=nsid, cdw10=Feature.WRITE_PROTECT, cdw11=protection)


def protection(drive: Driver, nsid: int) -> int:
    """As Get Features says it; Identify must say the same."""
    value = drive.admin(AdminOpc.GET_FEATURES, nsid=nsid, cdw10=Feature.WRITE_PROTECT).dw0
    assert IdNs.from_buffer_copy(drive.identify(Cns.NS, nsid=nsid)).nsattr == bool(value)
    independent = IdNsIndependent.from_buffer_copy(drive.identify(Cns.CSI_INDEPENDENT_NS, nsid=nsid))
    assert independent.nsattr == bool(value)
    return value


def command(drive: Driver, opcode: int, nsid: int, **fields: int):
    buffer = drive.buffer(4096)
    buffer.write(bytes(DsmRange(0, 8, 0)) if opcode == NvmOpc.DSM else DATA)
    if opcode == NvmOpc.DSM:
        sent = drive.submit(1, opcode, buffer=buffer, nsid=nsid, cdw10=0, cdw12=0, **{"cdw11": 4, **fields})
    else:
        sent = drive.submit(1, opcode, 0, 7, buffer, nsid=nsid)
    drive.wait([sent])
    buffer.free()
    return sent


def powered_on(make_drive: MakeDrive, image: Path) -> Driver:
    where = {"image": str(image), "media_size": 20 << 20}
    drive = make_drive(**NARROW, **where)
    drive.start(queues=2, entries=64)
    return drive


@pytest.fixture
def drive(make_drive: MakeDrive, tmp_path: Path) -> Driver:
    """Two namespaces with the same data."""
    d = powered_on(make_drive, tmp_path / "image")
    namespaces.delete(d)
    for _ in range(2):
        nsid = namespaces.create(d, 2048)
        namespaces.attach(d, nsid)
        command(d, NvmOpc.WRITE, nsid).check()
    return d


def test_what_is_refused(drive: Driver) -> None:
    assert drive.identify(Cns.CTRL)[531] == 3, "NWPC: protection, also until a power cycle"
    protect_try(drive, 1, PROTECTED).check()
    assert protection(drive, 1) == PROTECTED and protection(drive, 2) == WRITABLE
    for opcode in (NvmOpc.WRITE, NvmOpc.WRITE_ZEROES, NvmOpc.DSM):
        expect(command(drive, opcode, 1), Status.NS_WRITE_PROTECTED)
        command(drive, opcode, 2).check()
    command(drive, NvmOpc.DSM, 1, cdw11=0).check()  # advice that changes nothing
    for opcode in (NvmOpc.READ, NvmOpc.COMPARE, NvmOpc.VERIFY, NvmOpc.FLUSH):
        command(drive, opcode, 1).check()
    command(drive, NvmOpc.WRITE, 2).check()
    expect(drive.admin_try(AdminOpc.FORMAT_NVM, nsid=1), Status.NS_WRITE_PROTECTED)
    for nsid in (1, NSID_ALL):
        expect(drive.admin_try(AdminOpc.FORMAT_NVM, nsid=nsid), Status.NS_WRITE_PROTECTED)
        expect(namespaces.delete_try(drive, nsid), Status.NS_WRITE_PROTECTED)
    for nsid in (1, 2):
        command(drive, NvmOpc.COMPARE, nsid).check()
    protect_try(drive, 1, WRITABLE).check()
    command(drive, NvmOpc.WRITE_ZEROES, 1).check()
    namespaces.delete(drive)


def test_what_can_be_set(drive: Driver) -> None:
    for bad in (PERMANENT, 4, 7):
        expect(protect_try(drive, 1, bad), Status.INVALID_FIELD)
    expect(protect_try(drive, 9, PROTECTED), Status.INVALID_NS)
    expect(protect_try(drive, 3, PROTECTED), Status.INVALID_FIELD)  # there is no such namespace now
    protect_try(drive, 2, UNTIL_POWER_CYCLE).check()
    for value in (WRITABLE, PROTECTED):
        for nsid in (2, NSID_ALL):
            expect(protect_try(drive, nsid, value), Status.FEATURE_NOT_CHANGEABLE)
    assert protection(drive, 1) == WRITABLE, "all or none"
    protect_try(drive, NSID_ALL, UNTIL_POWER_CYCLE).check()
    assert protection(drive, 1) == protection(drive, 2) == UNTIL_POWER_CYCLE


def test_how_long_it_lasts(drive: Driver, make_drive: MakeDrive, tmp_path: Path) -> None:
    """Both outlast resets and being detached; one of them outlasts power."""
    protect_try(drive, 1, PROTECTED).check()
    protect_try(drive, 2, UNTIL_POWER_CYCLE).check()

    resets: list[Callable[[], object]] = [drive.disable, drive.flr, drive.sim.reset]
    for reset in resets:
        reset()
        drive.start(queues=2, entries=64)
        for nsid, value in ((1, PROTECTED), (2, UNTIL_POWER_CYCLE)):
            namespaces.detach(drive, nsid)
            namespaces.attach(drive, nsid)
            assert protection(drive, nsid) == value
            expect(command(drive, NvmOpc.WRITE, nsid), Status.NS_WRITE_PROTECTED)
            command(drive, NvmOpc.COMPARE, nsid).check()
    drive.sim.close()
    drive = powered_on(make_drive, tmp_path / "image")
    assert protection(drive, 1) == PROTECTED and protection(drive, 2) == WRITABLE
    expect(command(drive, NvmOpc.WRITE, 1), Status.NS_WRITE_PROTECTED)
    command(drive, NvmOpc.WRITE, 2).check()


def test_host_is_told(drive: Driver) -> None:
    drive.set_features(Feature.ASYNC_EVENT, OAES_NS_ATTR)
    drive.get_log(LogPage.CHANGED_NS, 4096)
    event = drive.submit(0, AdminOpc.ASYNC_EVENT, ring=True)
    protect_try(drive, 2, PROTECTED).check()
    drive.wait([event])
    assert event.dw0 >> 8 & 0xFF == AerNotice.NS_CHANGED
    assert drive.get_log(LogPage.CHANGED_NS, 8)[0] == 2
    event = drive.submit(0, AdminOpc.ASYNC_EVENT, ring=True)
    protect_try(drive, 2, UNTIL_POWER_CYCLE).check()
    drive.advance(10_000)
    drive.poll()
    assert not event.done, "Identify says what it said before"


def test_under_writes(drive: Driver) -> None:
    """Writes that were taken before are done when the command is answered; no later one changes anything; those of the
    other namespace go on."""
    rng = random.Random(3)
    buffer = drive.buffer(4096)
    for _ in range(5):
        buffer.write(rng.randbytes(4096))
        sent = {n: [drive.submit(n, NvmOpc.WRITE, 8 * i, 7, buffer, nsid=n) for i in range(30)] for n in (1, 2)}
        drive.ring()
        drive.advance(rng.randrange(2_000))
        protect_try(drive, 1, PROTECTED).check()
        before = drive.sim.media_read(0, 1 << 20)
        drive.wait()
        assert drive.sim.media_read(0, 1 << 20) == before
        assert {c.status for c in sent[1]} <= {Status.SUCCESS, Status.NS_WRITE_PROTECTED, Status.NS_NOT_READY}
        assert {c.status for c in sent[2]} == {Status.SUCCESS}
        protect_try(drive, 1, WRITABLE).check()
