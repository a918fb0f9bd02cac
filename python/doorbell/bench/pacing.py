# SPDX-License-Identifier: Apache-2.0
"""When a copy of a job may send its next command: fio's thinktime, rate and rate_iops."""

from __future__ import annotations

from doorbell.bench.jobs import Job


class Pace:
    """One copy's. Without any of these options it may always send.

    thinktime: after `thinktime_blocks` commands the copy waits until all that it has sent are done, and then that long.
    rate, rate_iops: the next command is sent when what was sent before it is due.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.free = not (job.thinktime_ns or job.rate or job.rate_iops)
        self._started_ns: float | None = None
        self._bytes = self._commands = 0
        self._since_pause = 0
        self._pause_until = 0.0

    def due_ns(self, now_ns: float, in_flight: int) -> float | None:
        """From when on it may send: `now_ns` or earlier is at once; None: when more of its commands are done."""
        if self.free or self._started_ns is None:
            return now_ns
        due = self._pause_until
        if self.job.thinktime_ns and self._since_pause >= self.job.thinktime_blocks:
            if in_flight:
                return None
            self._since_pause = 0
            due = self._pause_until = now_ns + self.job.thinktime_ns
        if self.job.rate:
            due = max(due, self._started_ns + self._bytes * 1e9 / self.job.rate)
        if self.job.rate_iops:
            due = max(due, self._started_ns + self._commands * 1e9 / self.job.rate_iops)
        return due

    def sent(self, size: int, now_ns: float) -> None:
        if self._started_ns is None:
            self._started_ns = now_ns
        self._bytes += size
        self._commands += 1
        self._since_pause += 1
