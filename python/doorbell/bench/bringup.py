# SPDX-License-Identifier: Apache-2.0
"""A drive as jobs need it: host memory, queues."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from doorbell.bench.jobs import Job
from doorbell.bench.runner import BUFFER_BYTES
from doorbell.errors import UserError
from doorbell.nvme.constants import Feature
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory

if TYPE_CHECKING:
    pass


def host_memory(jobs: Iterable[Job]) -> HostMemory:
    """Enough host memory for the jobs' buffers and queues."""
    need = sum(j.numjobs * j.iodepth * (j.max_bs + 8192) for j in jobs)
    return HostMemory((min(need, BUFFER_BYTES * 2) + (96 << 20)) & ~0xFFF)


def start_queues(drive: Driver, wanted: int, iodepth: int) -> None:
    """Bring the drive up with as many queue pairs as wanted, or as it has, deep enough for its share of the jobs."""
    entries = 2
    while entries <= iodepth:
        entries *= 2
    drive.start(queues=1, entries=entries)
    have = min((drive.get_features(Feature.NUM_QUEUES) & 0xFFFF) + 1, wanted)
    while entries <= iodepth * -(-wanted // have):
        entries *= 2
    assert drive.cap is not None
    if entries > drive.cap.mqes + 1:
        raise UserError(f"iodepth x numjobs needs queues of {entries} entries, the drive has {drive.cap.mqes + 1}")
    if have > 1 or entries > drive.sqs[1].entries:
        drive.start(queues=have, entries=entries)
