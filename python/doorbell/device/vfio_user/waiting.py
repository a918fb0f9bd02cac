# SPDX-License-Identifier: Apache-2.0
"""Waiting for file descriptors, to the microsecond and whatever their numbers.

select() ends at 1,023, poll() counts milliseconds.
"""

from __future__ import annotations

import ctypes
import select
from collections.abc import Sequence


class _PollFd(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short)]


class _Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


_ppoll = ctypes.CDLL(None).ppoll
_ppoll.argtypes = [ctypes.POINTER(_PollFd), ctypes.c_ulong, ctypes.POINTER(_Time), ctypes.c_void_p]


def wait(read: Sequence[int], write: Sequence[int], seconds: float) -> None:
    """Until one of these can be read or written, a signal comes, or the time is over."""
    wanted = [(fd, select.POLLIN) for fd in read] + [(fd, select.POLLOUT) for fd in write]
    fds = (_PollFd * len(wanted))(*(_PollFd(fd, events, 0) for fd, events in wanted))
    _ppoll(fds, len(wanted), _Time(int(seconds), int(seconds % 1 * 1e9)), None)
