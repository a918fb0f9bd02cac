# SPDX-License-Identifier: Apache-2.0
"""Resets at every moment of the firmware's: none is lost, and a host that goes on at once finds what it has written."""

from __future__ import annotations

import pytest
from doorbell.nvme.constants import CC_EN, CSTS_CFS, CSTS_NSSRO, CSTS_RDY, NSSR_MAGIC, AdminOpc, Reg
from doorbell.nvme.driver import Driver
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
ANSWERED = 100_000  # cycles: a reset takes 300 to 2,700 with one function, 6,500 to 10,700 with three
READY = 400_000  # ... and until it is ready again behind it, 120,000 with three: they go offline one after the other
FUNCTIONS = pytest.mark.parametrize("num_fn", [1, pytest.param(3, marks=pytest.mark.nightly)])


def up(make_drive: MakeDrive, num_fn: int) -> Driver:
    params = {"NUM_NS": num_fn, "SGL": 1} if num_fn > 1 else {}  # as of test_served_functions
    drive = make_drive(num_fn=num_fn, params=params, memory=16 << 20)
    drive.enable()
    return drive


def shows(drive: Driver, mask: int, value: int, cycles: int = ANSWERED) -> bool:
    """CSTS does, soon."""
    for _ in range(cycles // 200):
        if drive.read32(Reg.CSTS) & mask == value:
            return True
        drive.advance(200)
    return False


@FUNCTIONS
@pytest.mark.parametrize(("event", "cycles"), [("CC", range(80)), ("command", range(100, 230))], ids=["CC", "command"])
def test_no_subsystem_reset_is_lost(make_drive: MakeDrive, num_fn: int, event: str, cycles: range) -> None:
    """It comes at each cycle after another event, for as long as the firmware looks at that one and clears it."""
    drive = up(make_drive, num_fn)
    lost, unsaid = [], []
    for after in cycles:
        drive.advance(3000)  # asleep
        if event == "CC":
            drive.write32(Reg.CC, drive.read32(Reg.CC))
        else:
            drive.submit(0, AdminOpc.KEEP_ALIVE, nsid=0, cdw10=0, cdw11=0, cdw12=0)
            drive.ring()
        drive.advance(after)
        drive.write32(Reg.NSSR, NSSR_MAGIC)
        if not shows(drive, CSTS_RDY, 0):
            lost.append(after)
            drive.disable()
        elif not drive.read32(Reg.CSTS) & CSTS_NSSRO:
            unsaid.append(after)
        drive._forget_queues()
        drive.write32(Reg.CSTS, CSTS_NSSRO)
        drive.enable()
    assert not lost, f"subsystem resets so many cycles after the other event were not answered: {lost}"
    assert not unsaid, f"CSTS.NSSRO does not tell of the reset: {unsaid}"


@FUNCTIONS
def test_a_host_goes_on_as_soon_as_it_may(make_drive: MakeDrive, num_fn: int) -> None:
    """It polls CSTS, its first look at each phase of the poll, and when RDY is 0 writes all anew without a look."""
    drive = up(make_drive, num_fn)
    phase = 13  # cycles of a look
    early, hung = [], []
    for offset in range(4 * phase):
        asq, acq = drive.read64(Reg.ASQ), drive.read64(Reg.ACQ)
        aqa, cc = drive.read32(Reg.AQA), drive.read32(Reg.CC)
        drive.write32(Reg.NSSR, NSSR_MAGIC)
        drive.advance(offset)
        while drive.read32(Reg.CSTS) & CSTS_RDY:
            pass
        if offset % 2 and drive.read32(Reg.CC) & CC_EN:
            early.append(offset)
        drive.write32(Reg.CC, cc & ~CC_EN)
        drive.write32(Reg.AQA, aqa)
        drive.write64(Reg.ASQ, asq)
        drive.write64(Reg.ACQ, acq)
        drive.write32(Reg.CC, cc)
        drive._forget_queues()
        if not shows(drive, CSTS_RDY | CSTS_CFS, CSTS_RDY):
            hung.append(offset)
            break
    assert not early, f"CC.EN is still 1 with RDY = 0, first look after so many cycles: {early}"
    assert not hung, f"not ready again, first look after so many cycles: {hung}"


@FUNCTIONS
@pytest.mark.parametrize("how", ["NSSR", "EN"])
def test_a_host_that_finds_it_not_ready_goes_on_at_once(make_drive: MakeDrive, num_fn: int, how: str) -> None:
    """RDY is 0 when the subsystem is reset, or EN falls again before RDY rises: there is nothing to wait for. What is
    written then is there, and the controller becomes ready with it, once."""
    drive = up(make_drive, num_fn)
    hung, unsaid, other, again = [], [], [], []
    for after in (*range(8), *range(8, 120, 7), *range(120, 14_000, 900)):
        asq, acq = drive.read64(Reg.ASQ), drive.read64(Reg.ACQ)
        aqa, cc = drive.read32(Reg.AQA), drive.read32(Reg.CC)
        drive.disable()
        drive.advance(3_000 if after % 2 else 30_000)  # asleep, or not yet
        if how == "NSSR":
            drive.write32(Reg.NSSR, NSSR_MAGIC)
            drive.advance(after)
        else:
            drive.write32(Reg.CC, cc)
            drive.advance(after)
            if drive.read32(Reg.CSTS) & CSTS_RDY:
                break
            drive.write32(Reg.CC, cc & ~CC_EN)
        drive.write32(Reg.AQA, aqa)
        drive.write64(Reg.ASQ, asq)
        drive.write64(Reg.ACQ, acq)
        drive.write32(Reg.CC, cc)
        if not shows(drive, CSTS_RDY | CSTS_CFS, CSTS_RDY, READY):
            hung.append(after)
            break
        if (how == "NSSR") != bool(drive.read32(Reg.CSTS) & CSTS_NSSRO):
            unsaid.append(after)
        drive.advance(20_000)
        if not drive.read32(Reg.CSTS) & CSTS_RDY:
            again.append(after)
        if (drive.read32(Reg.AQA), drive.read64(Reg.ASQ), drive.read32(Reg.CC)) != (aqa, asq, cc):
            other.append(after)
        drive.write32(Reg.CSTS, CSTS_NSSRO)
    assert not hung, f"never ready, enabled so many cycles after the reset: {hung}"
    assert not again, f"ready, and reset once more behind that: {again}"
    assert not other, f"the registers have something else, written so many cycles after the reset: {other}"
    assert not unsaid, f"CSTS.NSSRO tells of no reset, or of one that was none: {unsaid}"


@FUNCTIONS
def test_no_fall_of_enable_is_lost(make_drive: MakeDrive, num_fn: int) -> None:
    """CC.EN falls at each cycle after another write to CC, for as long as the firmware looks at that one."""
    drive = up(make_drive, num_fn)
    lost = []
    for after in range(130):
        drive.advance(3000)
        cc = drive.read32(Reg.CC)
        drive.write32(Reg.CC, cc)
        drive.advance(after)
        drive.write32(Reg.CC, cc & ~CC_EN)
        if not shows(drive, CSTS_RDY, 0):
            lost.append(after)
            drive.write32(Reg.CC, cc)
            drive.disable()
        drive._forget_queues()
        drive.enable()
    assert not lost, f"CC.EN = 0 so many cycles after another write was not answered: {lost}"
