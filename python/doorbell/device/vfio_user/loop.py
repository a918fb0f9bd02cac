# SPDX-License-Identifier: Apache-2.0
"""The loop of a device and of the servers of its functions: messages of clients and, between them, slices of time.

One thread does everything. A server without a client costs a look at its socket now and then.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from typing import Protocol

from doorbell.device.vfio_user.served import ServedDevice
from doorbell.device.vfio_user.waiting import wait

SLICE = 200  # cycles the device runs between two looks at the sockets
SPIN_S = 0.0005  # after the last activity: look at doorbell pages without sleeping
NAP_SHARE = 8  # then sleep for this part of the time that it has been quiet, within
NAP_S = (0.00005, 0.001)
LONG_NAP_S, QUIET_S = 0.005, 1.0  # the longest sleep after QUIET_S
LOOK_S = 0.01  # between two looks for new clients, while there are others


class Looped(Protocol):
    """What the loop needs of a server."""

    stopped: bool

    @property
    def connected(self) -> bool: ...
    @property
    def reading(self) -> bool:
        """A client waits for a register."""

    @property
    def settling(self) -> bool:
        """The device is not to run: the client is about to change its memory."""

    def take(self) -> bool:
        """A new client, messages. True: there was something."""

    def after_run(self) -> bool:
        """What the device has to say to the client. True: there was something."""

    def flush(self) -> None: ...
    def waits_for(self) -> tuple[list[int], list[int]]:
        """File descriptors that are of interest when they can be read, and written."""


class Loop:
    """Serves until `stop`."""

    def __init__(self, device: ServedDevice, servers: Sequence[Looped]) -> None:
        """device: its `run` is that of all functions."""
        self._device, self._servers = device, servers
        self._stopped = False
        self._next_look = 0.0
        self._wake_r, self._wake_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def stop(self) -> None:
        """Let `serve` return; may be called from a signal handler or another thread."""
        self._stopped = True
        for server in self._servers:
            server.stopped = True
        with contextlib.suppress(OSError):
            os.write(self._wake_w, b"x")

    def serve(self) -> None:
        """Serve clients, one after another, until `stop`."""
        last = time.monotonic()
        while not self._stopped:
            if self._step():
                last = time.monotonic()
                continue
            quiet = time.monotonic() - last
            if not any(s.connected for s in self._servers):
                self._wait(1.0)
            elif quiet < SPIN_S:
                self._wait(0)
            else:
                self._wait(LONG_NAP_S if quiet > QUIET_S else min(max(quiet / NAP_SHARE, NAP_S[0]), NAP_S[1]))

    def close(self) -> None:
        wake, self._wake_w = self._wake_w, -1  # a signal may come at any time
        for fd in (self._wake_r, wake):
            os.close(fd)

    def _step(self) -> bool:
        """Take messages, run the device for a slice; false if there was nothing to do."""
        connected = [s for s in self._servers if s.connected]
        now = time.monotonic()
        everybody = not connected or now >= self._next_look
        if everybody:
            self._next_look = now + LOOK_S
        busy = False
        for server in self._servers if everybody else connected:
            busy |= server.take()
        if any(s.settling for s in self._servers) and not any(s.reading for s in self._servers):
            for server in self._servers:
                server.flush()
            self._wait(0.0005)
            return True
        self._device.run(SLICE)
        for server in connected if not everybody else self._servers:
            busy |= server.after_run()
        return busy or not self._device.idle

    def _wait(self, seconds: float) -> None:
        """Until a socket, an eventfd or `stop` wants attention, or the time is over."""
        read, write = [self._wake_r], []
        for server in self._servers:
            more = server.waits_for()
            read += more[0]
            write += more[1]
        wait(read, write, seconds)
