# SPDX-License-Identifier: Apache-2.0
"""The wire of vfio-user: numbers of the protocol, messages, and their framing on a socket."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
from collections import deque
from dataclasses import dataclass, field

HEADER = struct.Struct("<HHIII")  # id, command, size of the whole message, flags, errno
(VERSION, DMA_MAP, DMA_UNMAP, GET_INFO, GET_REGION_INFO, GET_REGION_IO_FDS, GET_IRQ_INFO, SET_IRQS, REGION_READ,
 REGION_WRITE, DMA_READ, DMA_WRITE, DEVICE_RESET) = range(1, 14)  # fmt: skip
REGION_WRITE_MULTI = 15
TYPE_MASK, TYPE_COMMAND, TYPE_REPLY, NO_REPLY, ERROR = 0xF, 0, 1, 0x10, 0x20

MAX_DATA = 1 << 20  # bytes of one region access; also told to the client
MAX_MESSAGE = HEADER.size + MAX_DATA + 64
MAX_FDS = 16
MAX_MAPS = 8192
MAX_QUEUED = 4 << 20  # bytes for a client that does not take them; of its commands that wait
MAX_UNANSWERED = 0x4000  # DMA messages that the client has not answered
MAX_WAITING = 256  # commands taken in behind one that is still being worked on

MAP_READ, MAP_WRITE = 1, 2
UNMAP_DIRTY, UNMAP_ALL = 1, 2
INFO_RESET, INFO_PCI = 1, 2
REGION_READABLE, REGION_WRITABLE, REGION_MMAP, REGION_CAPS = 1, 2, 4, 8
BAR0_REGION, BAR4_REGION, CONFIG_REGION, NUM_REGIONS = 0, 4, 7, 9
INTX, MSI, MSIX, ERR, REQ = range(5)
NUM_IRQS = 5
IRQ_EVENTFD, IRQ_MASKABLE, IRQ_AUTOMASKED, IRQ_NORESIZE = 1, 2, 4, 8
DATA_NONE, DATA_BOOL, DATA_EVENTFD, ACTION_MASK, ACTION_UNMASK, ACTION_TRIGGER = 1, 2, 4, 8, 16, 32


class Refused(Exception):
    """A command ends with this errno."""

    def __init__(self, number: int) -> None:
        super().__init__(os.strerror(number))
        self.number = number


class Gone(Exception):
    """The client went away, or its stream makes no sense any more."""


def close_fds(fds: list[int]) -> None:
    for fd in fds:
        with contextlib.suppress(OSError):
            os.close(fd)
    fds.clear()


def is_eventfd(fd: int) -> bool:
    return os.readlink(f"/proc/self/fd/{fd}") == "anon_inode:[eventfd]"


@dataclass
class Message:
    id: int
    command: int
    flags: int
    error: int
    body: bytes
    fds: list[int] = field(default_factory=list)

    def take_fds(self) -> list[int]:
        """The message's file descriptors; the caller owns them now."""
        fds, self.fds = self.fds, []
        return fds


class Connection:
    """Message framing on the client's socket. Header and body are read apart: file descriptors come with the header."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock
        self._head = bytearray()
        self._body = bytearray()
        self._fds: list[int] = []
        self._out: deque[tuple[memoryview, list[int]]] = deque()
        self._queued = 0  # bytes in it

    @property
    def congested(self) -> bool:
        """The client takes no messages: it gets none, and none of its own are read, until it does."""
        return self._queued >= MAX_QUEUED

    @property
    def wants_write(self) -> bool:
        return bool(self._out)

    def receive(self) -> Message | None:
        """The next whole message, or None if it is not all there yet."""
        if not self._fill(self._head, HEADER.size):
            return None
        number, command, size, flags, error = HEADER.unpack(self._head)
        if not HEADER.size <= size <= MAX_MESSAGE:
            if flags & TYPE_MASK == TYPE_COMMAND:
                self.send(number, command, TYPE_REPLY | ERROR, errno.EINVAL)
                self.flush()
            raise Gone(f"message of {size} bytes")
        if not self._fill(self._body, size - HEADER.size):
            return None
        message = Message(number, command, flags, error, bytes(self._body), self._fds)
        self._head, self._body, self._fds = bytearray(), bytearray(), []
        return message

    def _fill(self, buffer: bytearray, size: int) -> bool:
        """Read until the buffer holds `size` bytes; false if the socket has no more of them now."""
        while len(buffer) < size:
            chunk = self._read(min(size - len(buffer), 1 << 18))
            if not chunk:
                return False
            buffer += chunk
        return True

    def _read(self, size: int) -> bytes:
        """Up to `size` bytes; nothing if the socket has none now."""
        try:
            data, ancillary, flags, _ = self.sock.recvmsg(size, socket.CMSG_SPACE(4 * MAX_FDS), socket.MSG_CMSG_CLOEXEC)
        except (BlockingIOError, InterruptedError):
            return b""
        except OSError as e:
            raise Gone(e.strerror) from e
        for level, kind, payload in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                self._fds += struct.unpack(f"{len(payload) // 4}i", payload[: len(payload) // 4 * 4])
        if flags & socket.MSG_CTRUNC or len(self._fds) > MAX_FDS:
            raise Gone("too many file descriptors")
        if not data:
            raise Gone("closed")
        return data

    def send(self, number: int, command: int, flags: int, error: int = 0, body: bytes = b"",
             fds: list[int] | None = None) -> None:  # fmt: skip
        """Queue a message; `fds` stay the caller's."""
        raw = HEADER.pack(number, command, HEADER.size + len(body), flags, error) + body
        self._out.append((memoryview(raw), fds or []))
        self._queued += len(raw)

    def flush(self) -> None:
        """Send what the socket takes."""
        while self._out:
            raw, fds = self._out[0]
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(fds)}i", *fds))] if fds else []
            try:
                sent = self.sock.sendmsg([raw], rights, socket.MSG_NOSIGNAL)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as e:
                raise Gone(e.strerror) from e
            self._queued -= sent
            if sent == len(raw):
                self._out.popleft()
            else:
                self._out[0] = (raw[sent:], [])

    def close(self) -> None:
        close_fds(self._fds)
        self.sock.close()
