# SPDX-License-Identifier: Apache-2.0
"""What the SMART log and log page EBh say of media that wear, and the events of it.

Offsets are those of the figure "SMART / Health Information Log Page" of NVMe Base 2.0 (5.16.1.3), in bytes; values are
compared with what the model of the media has counted itself.
"""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest
from doorbell.device.nand import Nand
from doorbell.nvme.commands import Command, expect
from doorbell.nvme.constants import AdminOpc, Feature, LogPage, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import MediaHealth, VendorLog
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
CRITICAL_WARNING, SPARE, THRESHOLD, USED = 0, 3, 4, 5  # bytes of the log
WARNS_SPARE, WARNS_RELIABILITY = 1 << 0, 1 << 2
EVENT_SMART, INFO_RELIABILITY, INFO_SPARE = 1, 0, 2
SIZE = 1 << 20
SHARED = {"NUM_NS": 3, "SGL": 1, "READ_BUF_BYTES": 16384}
"""Of several functions, as in test_ssd_functions.py: nothing is read at a rate here, so the buffer is the small one."""
WORN_SOON = {
    "channels": 1, "ways": 1, "planes": 1, "pages": 16, "page_bytes": 4096, "bus_mbps": 1200, "read_us": 1,
    "program_us": 2, "erase_us": 5, "controller_us": 0, "buffer_units": 16, "over_provisioning": 1.2, "endurance": 4,
    "level": 2,
}  # fmt: skip


def flash(**options: Any) -> Nand:
    return Nand("worn soon", SIZE, {**WORN_SOON, **options})


def smart(drive: Driver) -> bytes:
    """The log; what has been reported may come again."""
    return drive.get_log(LogPage.SMART, 512)


def health(drive: Driver) -> dict[MediaHealth, int]:
    page = drive.get_log(VendorLog.MEDIA, 64)
    return dict(zip(MediaHealth, struct.unpack_from(f"<{len(MediaHealth)}I", page), strict=True))


def wear(drive: Driver, rng: random.Random, writes: int = 4) -> None:
    blocks = SIZE // 2 // 4096  # half of it again and again
    for _ in range(writes):
        drive.write(8 * rng.randrange(blocks), bytes(4096))


def test_a_memory_has_no_health(drive: Driver) -> None:
    log = smart(drive)
    assert (log[CRITICAL_WARNING], log[SPARE], log[THRESHOLD], log[USED]) == (0, 100, 10, 0)
    supported = drive.get_log(LogPage.SUPPORTED, 1024)
    assert not supported[4 * VendorLog.MEDIA] & 1
    command = drive.admin_try(AdminOpc.GET_LOG_PAGE, buffer=drive.buffer(64), cdw10=15 << 16 | VendorLog.MEDIA)
    expect(command, Status.INVALID_LOG_PAGE)


def happened(drive: Driver, event: Command) -> bool:
    drive.advance(5000)
    drive.poll(everything=True)
    return event.done


@pytest.mark.parametrize("several", [False, True])
def test_spare_falls(make_drive: MakeDrive, several: bool) -> None:
    """Until it is below its threshold, then until a die has none left: two events, each once."""
    more = {"num_fn": 3, "params": SHARED} if several else {}
    drive = make_drive(nand=flash(), media_size=SIZE, **more)
    drive.start(queues=1, entries=64)
    rng = random.Random(1)
    assert drive.get_log(LogPage.SUPPORTED, 1024)[4 * VendorLog.MEDIA] & 1
    log = smart(drive)
    assert (log[CRITICAL_WARNING], log[SPARE], log[THRESHOLD]) == (0, 100, 10)
    once = health(drive)[MediaHealth.SPARE]
    drive.set_features(Feature.ASYNC_EVENT, WARNS_SPARE | WARNS_RELIABILITY)
    event = drive.submit(0, AdminOpc.ASYNC_EVENT, nsid=0, ring=True)
    seen = []
    while len(seen) < 2 and drive.sim.nand_figures()["percent_used"] < 300:
        wear(drive, rng)
        if happened(drive, event):
            f = drive.sim.nand_figures()
            seen.append(event.check().dw0)
            log, words = smart(drive), health(drive)
            spare = words[MediaHealth.SPARE]
            assert spare == once - f["retired"] and log[SPARE] == 100 * spare // once == words[MediaHealth.STATE] & 0xFF
            assert bool(log[CRITICAL_WARNING] & WARNS_SPARE) == (log[SPARE] < 10)
            event = drive.submit(0, AdminOpc.ASYNC_EVENT, nsid=0, ring=True)
    log, words, f = smart(drive), health(drive), drive.sim.nand_figures()
    assert seen == [LogPage.SMART << 16 | info << 8 | EVENT_SMART for info in (INFO_SPARE, INFO_RELIABILITY)]
    assert log[CRITICAL_WARNING] == WARNS_SPARE | WARNS_RELIABILITY == words[MediaHealth.STATE] >> 24
    assert log[USED] == min(255, f["percent_used"]) == words[MediaHealth.STATE] >> 16 & 0xFF and log[USED] > 50
    wrote = words[MediaHealth.HOST_LO] | words[MediaHealth.HOST_HI] << 32
    programmed = words[MediaHealth.MEDIA_LO] | words[MediaHealth.MEDIA_HI] << 32
    assert wrote == f["host_units"] and programmed == wrote + f["moved_units"] + f["padding"]
    assert words[MediaHealth.ERASES_LEAST] == f["erase_least"] and words[MediaHealth.ERASES_MOST] == f["erase_most"]
    assert words[MediaHealth.ERASES_MEAN] == f["erase_sum"] // f["good"]
    assert words[MediaHealth.BAD] == f["bad"] + f["retired"] and words[MediaHealth.COLLECTIONS] == f["collections"]


def test_no_event_that_is_not_wanted(make_drive: MakeDrive) -> None:
    """Of what nobody asked for there is none; asked for when it is on, there is one at once."""
    drive = make_drive(nand=flash(), media_size=SIZE)
    drive.start(queues=1, entries=64)
    rng = random.Random(2)
    event = drive.submit(0, AdminOpc.ASYNC_EVENT, nsid=0, ring=True)
    while not smart(drive)[CRITICAL_WARNING] & WARNS_SPARE:
        wear(drive, rng, 64)
    assert not happened(drive, event)
    drive.set_features(Feature.ASYNC_EVENT, WARNS_SPARE)
    drive.wait([event])
    assert event.check().dw0 == LogPage.SMART << 16 | INFO_SPARE << 8 | EVENT_SMART
