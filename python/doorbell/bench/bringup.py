# SPDX-License-Identifier: Apache-2.0
"""A drive as jobs need it: host memory, queues."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from doorbell.bench.jobs import Job
from doorbell.bench.runner import BUFFER_BYTES
from doorbell.errors import UserError
from doorbell.nvme.constants import Feature
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory

MEDIUM = 2
HOST_BASE = 0x12_4000_0000


def host_memory(jobs: Iterable[Job], base: int = HOST_BASE) -> HostMemory:
    """Enough host memory for the jobs' buffers and queues, from an address on."""
    need = sum(j.numjobs * j.iodepth * (j.max_bs + 8192) for j in jobs)
    return HostMemory((min(need, BUFFER_BYTES * 2) + (96 << 20)) & ~0xFFF, base)


@dataclass(frozen=True)
class Arbitration:
    """How a drive chooses among its submission queues (Base 2.0, 3.4.4).

    wrr: weighted round robin with an urgent class; None: if any job names a priority. burst: commands of a queue in a
    row, a power of two up to 64 (0: no limit, None: the drive's own). weights: of the high, medium and low classes,
    1 to 256 each.
    """

    wrr: bool | None = None
    burst: int | None = None
    weights: tuple[int, int, int] | None = None

    @classmethod
    def parse(cls, scheme: str | None = None, burst: str | None = None, weights: str | None = None) -> Arbitration:
        """From the words of the command line or of a sweep."""
        if scheme not in (None, "rr", "wrr"):
            raise ValueError(f"arbitration: {scheme} is not rr or wrr")
        found: tuple[int, int, int] | None = None
        if weights is not None:
            words = weights.split(",")
            if len(words) != 3 or not all(w.strip().isdecimal() and 1 <= int(w) <= 256 for w in words):
                raise ValueError(f"weights: {weights} is not three numbers from 1 to 256: high,medium,low")
            found = (int(words[0]), int(words[1]), int(words[2]))
        if burst not in (None, "none", *(str(1 << i) for i in range(7))):
            raise ValueError(f"arbitration burst: {burst} is not 1, 2, 4 ... 64 or none")
        size = None if burst is None else 0 if burst == "none" else int(burst)
        return cls(None if scheme is None else scheme == "wrr", size, found)

    def feature(self, before: int) -> int:
        """The value of the feature ARBITRATION; `before` is the drive's own."""
        value = before
        if self.burst is not None:
            value = value & ~7 | (7 if not self.burst else self.burst.bit_length() - 1)
        if self.weights is not None:
            high, medium, low = (w - 1 for w in self.weights)
            value = value & 0xFF | high << 24 | medium << 16 | low << 8
        return value


def queue_priorities(jobs: Sequence[Job], queues: int) -> list[int]:
    """The class of each queue when these jobs run together; empty if no job names one. Those that do not are medium."""
    if not any(j.sq_priority for j in jobs):
        return []
    wanted = [(j.sq_priority or (MEDIUM,))[i % len(j.sq_priority or (MEDIUM,))] for j in jobs for i in range(j.numjobs)]
    for i, priority in enumerate(wanted):
        if priority != wanted[i % queues]:
            raise UserError(f"copies of jobs share {queues} queues and want different priorities: use fewer copies")
    return wanted[:queues]


def start_queues(
    drive: Driver,
    wanted: int,
    iodepth: int,
    jobs: Sequence[Job] = (),
    arbitration: Arbitration = Arbitration(),  # noqa: B008
    *,
    most_vectors: int | None = None,
) -> None:
    """Bring the drive up with as many queue pairs as wanted, or as it has, deep enough for its share of the jobs.

    jobs: those that will run together, for the priorities of their queues. most_vectors: MSI-X vectors there are for
    I/O queues, where these may be more.
    """
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
    prios = queue_priorities(jobs, have)
    wrr = bool(prios) if arbitration.wrr is None else arbitration.wrr
    if prios and not wrr:
        raise UserError("priorities of queues mean nothing to round robin: use --arbitration wrr, or leave it out")
    if wrr and not drive.cap.ams & 1:
        raise UserError("the drive has no weighted round robin")
    if have > 1 or entries > drive.sqs[1].entries or wrr:
        vectors = None if most_vectors is None else min(have, most_vectors)
        drive.start(queues=have, entries=entries, wrr=wrr, prios=prios, vectors=vectors)
    if arbitration.burst is not None or arbitration.weights is not None:
        drive.set_features(Feature.ARBITRATION, arbitration.feature(drive.get_features(Feature.ARBITRATION)))
