# SPDX-License-Identifier: Apache-2.0
"""Nobody stops anybody: slow media, queues that nobody reads and deletions cost their owners alone."""

from __future__ import annotations

import random

import pytest
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import CC_EN, CSTS_RDY, AdminOpc, NvmOpc, Reg
from doorbell.nvme.driver import Driver
from test_ssd_reset import quiet
from traffic import MakeDrive, unread

CYCLES_US = 250
ZERO_US = 2_000  # the media's time for the zeroes below


def slow_zero(drive: Driver, qid: int = 1) -> Command:
    """A Write Zeroes of LBA 0 to 3 that is under way, and takes ZERO_US."""
    command = drive.submit(qid, NvmOpc.WRITE_ZEROES, 0, 3, ring=True)
    drive.advance(2_000)
    assert not command.done
    return command


def slow_media(make_drive: MakeDrive, **options: int) -> Driver:
    return make_drive(media_zero_gbps=2048 / (ZERO_US * 1000), **options)


def took_us(drive: Driver, since: int) -> float:
    return (drive.sim.cycle - since) / CYCLES_US


@pytest.mark.rtl
@pytest.mark.parametrize("kind", ["disable", "flr"])
def test_reset_does_not_wait_for_the_media(make_drive: MakeDrive, kind: str) -> None:
    """The host is told at once that nothing touches its memory; the controller is ready again when the media has ended,
    so what is written then is not zeroed."""
    drive = slow_media(make_drive)
    drive.start(queues=1, entries=16)
    zero = slow_zero(drive)
    begun = drive.sim.cycle
    lost = drive.disable() if kind == "disable" else drive.flr()
    assert lost == [zero] and took_us(drive, begun) < 100
    quiet(drive, 2_500)
    assert drive.read32(Reg.CC) & CC_EN == 0 and drive.read32(Reg.CSTS) & CSTS_RDY == 0
    drive.start(queues=1, entries=16)
    assert took_us(drive, begun) > ZERO_US - 100, "ready while the media still works on what was there before"
    data = random.Random(1).randbytes(2048)
    drive.write(0, data)
    drive.advance(3 * ZERO_US * CYCLES_US // 2)
    assert drive.read(0, 4) == data


@pytest.mark.rtl
def test_reset_while_the_last_one_waits_for_the_media(make_drive: MakeDrive) -> None:
    """Disabled, enabled, reset, enabled while the media works: each is answered at once, and then it is ready."""
    drive = slow_media(make_drive)
    drive.start(queues=1, entries=16)
    slow_zero(drive)
    begun = drive.sim.cycle
    drive.disable()
    drive.write32(Reg.CC, drive.read32(Reg.CC) | CC_EN)
    drive.advance(1_000)
    drive.disable()
    drive.flr()
    drive.flr()
    assert took_us(drive, begun) < 300
    drive.start(queues=1, entries=16)
    assert took_us(drive, begun) > ZERO_US - 100
    drive.write(0, bytes(512))


def test_delete_a_queue_whose_completions_nobody_reads(make_drive: MakeDrive) -> None:
    drive = make_drive()
    unread(drive)
    begun = drive.sim.cycle
    lost = drive.delete_sq(1)
    assert len(lost) >= 37 and took_us(drive, begun) < 1_000
    quiet(drive)
    drive.delete_cq(1)
    drive.create_cq(1, 64, 1)
    drive.create_sq(1, 64, 1)
    data = random.Random(2).randbytes(4096)
    drive.write(0, data)
    assert drive.read(0, 8, qid=2) == data


@pytest.mark.rtl
def test_admin_goes_on_while_a_deletion_waits(make_drive: MakeDrive) -> None:
    """A deleted queue still has a command on slow media: Delete is not answered before it has ended, all else is."""
    drive = slow_media(make_drive)
    drive.start(queues=2, entries=16)
    slow_zero(drive)
    begun = drive.sim.cycle
    deletion = drive.submit(0, AdminOpc.DELETE_SQ, ring=True, cdw10=1)
    drive.identify_all()
    drive.create_cq(3, 16, 1)
    drive.delete_cq(3)
    drive.read(0x100, 1, qid=2)
    assert took_us(drive, begun) < 300 and not deletion.done
    again = drive.admin_try(AdminOpc.DELETE_SQ, cdw10=1)
    assert again.status != 0, "a queue that is being deleted is deleted once"
    drive.run(deletion)
    assert took_us(drive, begun) > ZERO_US - 100
    assert deletion.status == 0


def test_format_beside_a_queue_that_nobody_reads(make_drive: MakeDrive) -> None:
    """Commands that wait for room in their completion queue are done: a format does not wait for them."""
    drive = make_drive()
    commands = unread(drive, 20)
    begun = drive.sim.cycle
    drive.format(0)
    assert took_us(drive, begun) < 2_000
    drive.write(0, bytes(512), qid=2)
    drive.cqs[1].hold = False
    drive.poll(everything=True)
    drive.run(*commands)
