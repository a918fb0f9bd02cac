# SPDX-License-Identifier: Apache-2.0
"""Eventfds of a client. Whether one blocks is said by what it shares with us, so it can change that at any time."""

from __future__ import annotations

import contextlib
import os
import select


def signal(fd: int) -> None:
    """Add one, unless it is at its maximum: then its owner has enough to wake up for."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    with contextlib.suppress(OSError):
        if any(events & select.POLLOUT for _, events in poll.poll(0)):
            os.eventfd_write(fd, 1)


def take(fd: int) -> bool:
    """Set it to 0; was it more?"""
    try:
        return os.preadv(fd, [bytearray(8)], -1, os.RWF_NOWAIT) == 8
    except OSError:
        return False
