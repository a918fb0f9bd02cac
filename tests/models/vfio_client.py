# SPDX-License-Identifier: Apache-2.0
"""vfio-user clients for tests, written from the protocol's specification and apart from our server.

`Client` speaks the protocol. `Drive` puts a client under the host driver (doorbell.nvme.driver.Driver), either as
QEMU does
(JSON version, eventfds, serves DMA messages, but not while it waits for a reply) or as SPDK does (no JSON, message id
always 0, doorbells through the mapped page, no interrupts, takes no message from the server).
"""

from __future__ import annotations

import json
import mmap
import os
import select
import socket
import struct
import time
from collections import deque
from typing import Any, NamedTuple

from doorbell.nvme.memory import HostMemory

HEADER = struct.Struct("<HHIII")
VERSION, DMA_MAP, DMA_UNMAP, GET_INFO, REGION_INFO, REGION_IO_FDS, IRQ_INFO, SET_IRQS = range(1, 9)
REGION_READ, REGION_WRITE, DMA_READ, DMA_WRITE, RESET = range(9, 14)
WRITE_MULTI = 15
BAR0, CONFIG = 0, 7
INTX, MSIX = 0, 2


class Reply(NamedTuple):
    error: int
    body: bytes
    fds: list[int]


class ServerError(Exception):
    def __init__(self, number: int) -> None:
        super().__init__(os.strerror(number))
        self.number = number


class Client:
    """One connection. `memory` answers the server's DMA messages."""

    def __init__(self, path: str, *, zero_ids: bool = False, timeout: float = 20.0) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        self.sock.connect(path)
        self.zero_ids = zero_ids
        self.next_id = 1
        self.requests: deque[tuple[int, int, bytes]] = deque()  # from the server, not served yet
        self.memory: list[tuple[int, int, Any]] = []  # base, size, buffer
        self.served = 0

    def close(self) -> None:
        self.sock.close()

    # Messages

    def send(self, command: int, body: bytes = b"", fds: list[int] | None = None, *, flags: int = 0,
             size: int | None = None) -> int:  # fmt: skip
        number = 0 if self.zero_ids else self.next_id
        self.next_id = (self.next_id + 1) & 0xFFFF
        raw = HEADER.pack(number, command, HEADER.size + len(body) if size is None else size, flags, 0) + body
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(fds)}i", *fds))] if fds else []
        sent = self.sock.sendmsg([raw], rights)
        if sent < len(raw):  # to send nothing is an error, too, if the server has closed by now
            self.sock.sendall(raw[sent:])
        return number

    def _exactly(self, size: int, fds: list[int]) -> bytes:
        data = b""
        while len(data) < size:
            chunk, ancillary, _, _ = self.sock.recvmsg(size - len(data), socket.CMSG_SPACE(64))
            for _, _, payload in ancillary:
                fds += struct.unpack(f"{len(payload) // 4}i", payload)
            if not chunk:
                raise ConnectionError("server closed")
            data += chunk
        return data

    def receive(self) -> tuple[int, int, int, int, bytes, list[int]]:
        """id, command, flags, errno, body, fds of the next message."""
        fds: list[int] = []
        number, command, size, flags, error = HEADER.unpack(self._exactly(HEADER.size, fds))
        assert HEADER.size <= size <= 1 << 22, size
        return number, command, flags, error, self._exactly(size - HEADER.size, fds), fds

    def reply_to(self, number: int, command: int) -> Reply:
        """Wait for a reply. What the server asks meanwhile waits, as with QEMU."""
        while True:
            got, kind, flags, error, body, fds = self.receive()
            if flags & 0xF == 0:
                assert not self.zero_ids, "this client takes no messages"
                self.requests.append((got, kind, body))
                continue
            assert flags & 0xF == 1 and (got, kind) == (number, command), (got, kind, flags, number, command)
            assert bool(flags & 0x20) == bool(error)
            return Reply(error, body, fds)

    def ask(self, command: int, body: bytes = b"", fds: list[int] | None = None) -> Reply:
        reply = self.reply_to(self.send(command, body, fds), command)
        if reply.error:
            raise ServerError(reply.error)
        return reply

    def serve_dma(self, timeout: float = 0.0) -> int:
        """Answer the server's DMA messages that are there (or come within the time); how many."""
        count = 0
        while True:
            while not self.requests and select.select([self.sock], [], [], 0 if count else timeout)[0]:
                number, command, flags, _, body, _ = self.receive()
                assert flags & 0xF == 0, "a reply to nothing"
                self.requests.append((number, command, body))
            if not self.requests:
                return count
            number, command, body = self.requests.popleft()
            self.answer_dma(number, command, body)
            count += 1

    def answer_dma(self, number: int, command: int, body: bytes) -> None:
        address, size = struct.unpack_from("<QQ", body)
        piece = next((memoryview(b)[address - base : address - base + size] for base, length, b in self.memory
                      if base <= address and address + size <= base + length), None)  # fmt: skip
        answer, flags, error = body[:16], 1, 0
        if piece is None:
            flags, error = 0x21, 14
        elif command == DMA_READ:
            answer += bytes(piece)
        else:
            piece[:] = body[16:]
        self.served += 1
        self.sock.sendall(HEADER.pack(number, command, HEADER.size + len(answer), flags, error) + answer)

    # Commands

    def version(self, text: str | None = None) -> dict[str, Any]:
        body = self.ask(VERSION, struct.pack("<HH", 0, 0) + (text.encode() + b"\0" if text else b"")).body
        assert struct.unpack_from("<HH", body) == (0, 0)
        return json.loads(body[4:].rstrip(b"\0"))["capabilities"]

    def map(self, base: int, size: int, fd: int | None = None, offset: int = 0, flags: int = 3) -> None:
        self.ask(DMA_MAP, struct.pack("<IIQQQ", 32, flags, offset, base, size), [] if fd is None else [fd])

    def unmap(self, base: int, size: int, flags: int = 0) -> None:
        self.ask(DMA_UNMAP, struct.pack("<IIQQ", 24, flags, base, size))

    def region_info(self, index: int, argsz: int = 32) -> tuple[tuple[int, ...], bytes, list[int]]:
        """(argsz, flags, index, cap offset, size, offset), the rest, fds."""
        reply = self.ask(REGION_INFO, struct.pack("<IIIIQQ", argsz, 0, index, 0, 0, 0).ljust(argsz, b"\0"))
        return struct.unpack_from("<IIIIQQ", reply.body), reply.body[32:], reply.fds

    def read(self, region: int, offset: int, size: int) -> bytes:
        reply = self.ask(REGION_READ, struct.pack("<QII", offset, region, size)).body
        assert struct.unpack_from("<QII", reply) == (offset, region, size)
        assert len(reply) == 16 + size
        return reply[16:]

    def write(self, region: int, offset: int, data: bytes, *, posted: bool = False) -> None:
        body = struct.pack("<QII", offset, region, len(data)) + data
        if posted:
            self.send(REGION_WRITE, body, flags=0x10)
        else:
            self.ask(REGION_WRITE, body)

    def set_irqs(self, flags: int, index: int, start: int, count: int, data: bytes = b"",
                 fds: list[int] | None = None) -> None:  # fmt: skip
        self.ask(SET_IRQS, struct.pack("<5I", 20 + len(data), flags, index, start, count) + data, fds)


class SharedMemory(HostMemory):
    """Host memory that has a file descriptor to hand over."""

    def __init__(self, size: int = 64 << 20, base: int = 0x1_0000_0000, seed: int = 1) -> None:
        super().__init__(mmap.PAGESIZE, base, seed)
        self.fd = os.memfd_create("host")
        os.ftruncate(self.fd, size)
        self.size = size
        self.map = mmap.mmap(self.fd, size)
        self.view = memoryview(self.map)
        self._used = bytearray(size // 4096)


class Drive:
    """What doorbell.nvme.driver.Driver calls a back end: a drive behind a vfio-user socket."""

    def __init__(self, path: str, *, spdk: bool = False, messages: bool = False) -> None:
        """messages: give memory without file descriptors, so that DMA comes as messages."""
        self.spdk, self.messages = spdk, messages
        self.client = c = Client(path, zero_ids=spdk)
        self._eventfds: list[int] = []
        self._page: mmap.mmap | None = None
        c.version(None if spdk else '{"capabilities":{"max_msg_fds":8,"max_data_xfer_size":1048576}}')
        info = struct.unpack("<4I", c.ask(GET_INFO, struct.pack("<4I", 16, 0, 0, 0)).body)
        assert info[1] & 2 and info[2:] == (9, 5)
        if spdk:
            self._map_doorbells()
        else:
            assert len(c.read(CONFIG, 0, 4096)) == 4096

    def _map_doorbells(self) -> None:
        (need, flags, _, cap, size, offset), rest, fds = self.client.region_info(BAR0, 4080)
        assert flags == 0xF and size == 0x4000 and cap == 32 and len(fds) == 1 and need == 32 + len(rest)
        kind, version, following, areas, _, start, length = struct.unpack_from("<HHIIIQQ", rest)
        assert (kind, version, following, areas, start, length) == (1, 1, 0, 1, 0x1000, 0x1000)
        self._page = mmap.mmap(fds[0], 0x1000, offset=offset + start)
        os.close(fds[0])

    def close(self) -> None:
        self.client.close()
        for fd in self._eventfds:
            os.close(fd)

    # doorbell.nvme.driver.Backend

    @property
    def ns(self) -> float:
        return time.monotonic_ns()

    def map(self, base: int, size: int, buffer: Any) -> None:
        memory = self._memory
        assert (memory.base, memory.size, memory.map) == (base, size, buffer)
        self.client.memory.append((base, size, buffer))
        self.client.map(base, size, None if self.messages else memory.fd)

    _memory: SharedMemory

    def use(self, memory: SharedMemory) -> SharedMemory:
        """The memory that the driver will ask to map."""
        self._memory = memory
        return memory

    def mmio_write(self, off: int, data: int, size: int = 4) -> None:
        if self._page and 0x1000 <= off < 0x2000:
            struct.pack_into("<I", self._page, off - 0x1000, data)
        else:
            self.client.write(BAR0, off, data.to_bytes(size, "little"), posted=not self.spdk)

    def mmio_read(self, off: int, size: int = 4) -> int:
        return int.from_bytes(self.client.read(BAR0, off, size), "little")

    def run(self, cycles: int, until_irq: bool = False) -> None:
        """Let time pass: until an interrupt at best. Simulated time runs slower than ours, so it is not counted."""
        if self.spdk:
            time.sleep(0.0005)
            return
        waiting = [self.client.sock, *(self._eventfds if until_irq else [])]
        if self.client.requests or self.client.sock in select.select(waiting, [], [], 0.01)[0]:
            self.client.serve_dma()

    def irqs(self) -> list[int]:
        if self.spdk:
            return list(range(64))  # polls all its queues
        fired = select.select(self._eventfds, [], [], 0)[0] if self._eventfds else []
        for fd in fired:
            os.eventfd_read(fd)
        if fired and self.messages:
            self.client.serve_dma()  # what was written before the interrupt is in the socket
        return [self._eventfds.index(fd) for fd in fired]

    def set_cfg(self, *, bus_master: bool | None = None, msix_enable: bool | None = None,
                msix_mask: bool | None = None) -> None:  # fmt: skip
        if bus_master is not None:
            self.client.write(CONFIG, 4, struct.pack("<H", 0x0002 | bus_master << 2))
        if msix_enable and not self.spdk and not self._eventfds:
            self._eventfds = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(8)]
            self.client.set_irqs(0x24, MSIX, 0, 8, fds=self._eventfds)

    def flr(self) -> None:
        control = self.client.read(CONFIG, 0x68, 2)
        self.client.write(CONFIG, 0x68, struct.pack("<H", struct.unpack("<H", control)[0] | 1 << 15))
