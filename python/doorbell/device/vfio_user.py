# SPDX-License-Identifier: Apache-2.0
"""vfio-user server: puts a simulated device behind a UNIX socket, for QEMU, SPDK and other clients.

One thread does everything: it takes the client's messages and, between them, lets the device run in slices. What
happens often never comes by here: DMA goes through the client's memory, doorbells through a shared page, interrupts
through eventfds, all three inside the device's runtime. Region accesses are answered without waiting for the client.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import mmap
import os
import select
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from doorbell.device import pci_config
from doorbell.device.pci_config import PciConfig, PciState
from doorbell.errors import UserError

# --- The wire

HEADER = struct.Struct("<HHIII")  # id, command, size of the whole message, flags, errno
(VERSION, DMA_MAP, DMA_UNMAP, GET_INFO, GET_REGION_INFO, GET_REGION_IO_FDS, GET_IRQ_INFO, SET_IRQS, REGION_READ,
 REGION_WRITE, DMA_READ, DMA_WRITE, DEVICE_RESET) = range(1, 14)  # fmt: skip
REGION_WRITE_MULTI = 15
TYPE_MASK, TYPE_COMMAND, TYPE_REPLY, NO_REPLY, ERROR = 0xF, 0, 1, 0x10, 0x20

MAX_DATA = 1 << 20  # bytes of one region access; also told to the client
MAX_MESSAGE = HEADER.size + MAX_DATA + 64
MAX_FDS = 16
MAX_MAPS = 8192
MAX_WAITING = 256  # commands taken in behind one that is still being worked on

MAP_READ, MAP_WRITE = 1, 2
UNMAP_DIRTY, UNMAP_ALL = 1, 2
INFO_RESET, INFO_PCI = 1, 2
REGION_READABLE, REGION_WRITABLE, REGION_MMAP, REGION_CAPS = 1, 2, 4, 8
BAR0_REGION, CONFIG_REGION, NUM_REGIONS = 0, 7, 9
INTX, MSI, MSIX, ERR, REQ = range(5)
NUM_IRQS = 5
IRQ_EVENTFD, IRQ_MASKABLE, IRQ_AUTOMASKED, IRQ_NORESIZE = 1, 2, 4, 8
DATA_NONE, DATA_BOOL, DATA_EVENTFD, ACTION_MASK, ACTION_UNMASK, ACTION_TRIGGER = 1, 2, 4, 8, 16, 32

DOORBELL_PAGE = 0x1000
PAGE = 4096
PGSIZES = 4096

SLICE = 200  # cycles the device runs between two looks at the socket
SPIN_S = 0.0005  # after the last activity: look at the doorbell page without sleeping
NAP_SHARE = 8  # then sleep for this part of the time that it has been quiet, within
NAP_S = (0.00005, 0.001)
LONG_NAP_S, QUIET_S = 0.005, 1.0  # the longest sleep after QUIET_S
SETTLE_S = 0.005  # after an unmap the device waits for the maps that belong to it


@dataclass(frozen=True)
class DmaRequest:
    """Access of the device to host memory that is not mapped here. data is None for a read."""

    id: int
    address: int
    size: int
    data: bytes | None


class Backend(Protocol):
    """The device, as the server drives it. Addresses of registers are offsets in BAR 0."""

    vectors: int

    def map(self, base: int, size: int, pointer: int | None, writable: bool) -> None:
        """Host memory from `base` is at `pointer` of this process; None: reachable by `dma_next` only."""

    def unmap(self, base: int, size: int) -> None: ...
    def write(self, offset: int, data: bytes) -> None: ...
    def read_start(self, offset: int, size: int) -> int: ...
    def read_poll(self, handle: int) -> bytes | None:
        """The answer once it is there; it comes after some `run`, whatever the device does."""

    def run(self, cycles: int) -> None:
        """Run; doorbells in the shared page are seen first."""

    idle: bool  # after `run`: nothing will happen until the host does something
    @property
    def intx(self) -> bool: ...
    def dma_next(self) -> DmaRequest | None: ...
    def dma_complete(self, request: int, data: bytes | None) -> None:
        """Answer a read (None: it failed)."""

    def irq_eventfd(self, vector: int, fd: int) -> None:
        """Signal `fd` (not owned) for this MSI-X vector; -1: drop the interrupt."""

    def doorbell_page(self, pointer: int) -> None:
        """A page whose every dword is a doorbell: writes of others to it count as writes to BAR 0 + 0x1000."""

    def doorbell_reset(self) -> None:
        """Forget what is in the page."""

    def configure(self, state: PciState, msix_enable: bool) -> None: ...
    def reset(self) -> None:
        """Function-level reset, done when it returns. DMA that was not fetched by then is given up."""

    def close(self) -> None:
        """The end; the server does not call it."""


class Refused(Exception):
    """A command ends with this errno."""

    def __init__(self, number: int) -> None:
        super().__init__(os.strerror(number))
        self.number = number


class Gone(Exception):
    """The client went away, or its stream makes no sense any more."""


_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def _close(fds: list[int]) -> None:
    for fd in fds:
        with contextlib.suppress(OSError):
            os.close(fd)
    fds.clear()


def _is_eventfd(fd: int) -> bool:
    return os.readlink(f"/proc/self/fd/{fd}") == "anon_inode:[eventfd]"


class Mapping:
    """A piece of the client's memory, mapped here if it came with a file descriptor."""

    def __init__(self, base: int, size: int, writable: bool, fd: int | None, offset: int) -> None:
        self.base, self.size, self.writable = base, size, writable
        self.pointer: int | None = None
        self._start = self._length = 0
        if fd is None:
            return
        info = os.fstat(fd)
        if info.st_size and offset + size > info.st_size:  # beyond the end is SIGBUS; devices tell no size
            raise Refused(errno.EINVAL)
        lead = offset % mmap.PAGESIZE
        self._length = size + lead
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        start = _libc.mmap(None, self._length, protection, mmap.MAP_SHARED, fd, offset - lead)
        if start in (None, ctypes.c_void_p(-1).value):
            raise Refused(ctypes.get_errno() or errno.EINVAL)
        self._start = start
        self.pointer = start + lead

    def overlaps(self, base: int, size: int) -> bool:
        return base < self.base + self.size and self.base < base + size

    def close(self) -> None:
        if self._start:
            _libc.munmap(self._start, self._length)
        self._start, self.pointer = 0, None


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
            data, ancillary, flags, _ = self.sock.recvmsg(
                size, socket.CMSG_SPACE(4 * MAX_FDS), socket.MSG_CMSG_CLOEXEC
            )
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
            if sent == len(raw):
                self._out.popleft()
            else:
                self._out[0] = (raw[sent:], [])

    def close(self) -> None:
        _close(self._fds)
        self.sock.close()


class Server:
    """One device, one client at a time."""

    def __init__(self, path: str | Path, device: Backend, config: PciConfig, *, verbose: bool = False) -> None:
        self._path = Path(path)
        self._listener = self._listen()
        self._device = device
        self._config = config
        self._verbose = verbose
        self._maps: dict[int, Mapping] = {}
        self._vectors: dict[int, int] = {}  # MSI-X vector: eventfd
        self._table = self._blank_table()
        self._intx_fd = -1
        self._intx_unmask_fd = -1
        self._intx_masked = False
        self._other_fds: dict[int, int] = {}  # ERR and REQ: kept, never signalled
        self._applied: tuple[PciState, bool] | None = None
        self._connection: Connection | None = None
        self._ready = False  # VERSION has been agreed on
        self._waiting: deque[Message] = deque()
        self._read: tuple[Message, int, int] | None = None  # message, handle, bytes to skip
        self._dma: dict[int, tuple[DmaRequest | None, int]] = {}  # message id: request (None: given up), command
        self._next_id = 0
        self._settle_until = 0.0
        self._stopped = False
        self._wake_r, self._wake_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._page_fd = os.memfd_create("doorbells", os.MFD_CLOEXEC)
        os.ftruncate(self._page_fd, 2 * PAGE)  # BAR 0's offsets: the page is the second one
        self._page = Mapping(0, PAGE, True, self._page_fd, DOORBELL_PAGE)
        assert self._page.pointer
        device.doorbell_page(self._page.pointer)
        device.doorbell_reset()
        self._apply()

    def _listen(self) -> socket.socket:
        if self._path.is_socket():
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                try:
                    probe.connect(str(self._path))
                    raise UserError(f"{self._path} is in use by another server: name another socket")
                except OSError:
                    self._path.unlink()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(str(self._path))
        except OSError as e:
            listener.close()
            why = "the path is too long" if "too long" in str(e) else e.strerror
            raise UserError(f"cannot make the socket {self._path}: {why}") from e
        listener.listen(1)
        listener.setblocking(False)
        return listener

    # --- Main loop

    def stop(self) -> None:
        """Let `serve` return; may be called from a signal handler or another thread."""
        self._stopped = True
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
            if not self._connection:
                self._wait(1.0)
            elif quiet < SPIN_S:
                self._wait(0)
            else:
                self._wait(LONG_NAP_S if quiet > QUIET_S else min(max(quiet / NAP_SHARE, NAP_S[0]), NAP_S[1]))

    def _step(self) -> bool:
        """Take messages, run the device for a slice; false if there was nothing to do."""
        busy = False
        try:
            busy = self._take_messages()
            if self._connection and not self._read and time.monotonic() < self._settle_until:
                self._connection.flush()
                self._wait(0.0005)
                return True
            self._device.run(SLICE)
            busy |= self._finish_read() | self._forward_dma() | self._forward_intx()
            if self._connection:
                self._connection.flush()
        except Gone as e:
            self._disconnect(str(e))
        return busy or not self._device.idle

    def _wait(self, seconds: float) -> None:
        """Until the socket, an eventfd or `stop` wants attention, or the time is over."""
        read = [self._wake_r, *([self._intx_unmask_fd] if self._intx_unmask_fd >= 0 else [])]
        write = []
        if self._connection:
            read.append(self._connection.sock.fileno())
            if self._connection.wants_write:
                write.append(self._connection.sock.fileno())
        else:
            read.append(self._listener.fileno())
        select.select(read, write, [], seconds)

    def _take_messages(self) -> bool:
        if not self._connection:
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return False
            self._connection = Connection(sock)
            self._log("client connected")
        busy = False
        while len(self._waiting) < MAX_WAITING and (message := self._connection.receive()):
            busy = True
            if message.flags & TYPE_MASK == TYPE_REPLY:
                self._dma_reply(message)
            else:
                self._waiting.append(message)
                self._work()
        self._work()
        return busy

    def _work(self) -> None:
        """Commands in their order; a register read that the device has not answered yet holds the later ones up."""
        while self._waiting and not self._read:
            message = self._waiting.popleft()
            try:
                answer = self._dispatch(message)
            except Refused as e:
                self._reply(message, error=e.number)
            except struct.error:  # shorter than the command's fixed part
                self._reply(message, error=errno.EINVAL)
            except OSError as e:
                self._reply(message, error=e.errno or errno.EIO)
            else:
                if answer is not None:
                    self._reply(message, *answer)
            finally:
                _close(message.fds)

    def _reply(self, message: Message, body: bytes = b"", fds: list[int] | None = None, error: int = 0) -> None:
        if error:
            self._log(f"command {message.command} refused: {os.strerror(error)}")
        if message.flags & NO_REPLY or not self._connection:
            return
        flags = TYPE_REPLY | (ERROR if error else 0)
        self._connection.send(message.id, message.command, flags, error, body, fds)
        self._connection.flush()

    def _log(self, text: str) -> None:
        if self._verbose:
            print(f"doorbell serve: {text}", file=sys.stderr, flush=True)

    # --- End of a client, end of the server

    def _disconnect(self, why: str) -> None:
        """Quiesce the device and take everything of this client away."""
        self._log(f"client gone: {why}")
        if self._connection:
            self._connection.close()
        self._connection = None
        self._ready = False
        for message in self._waiting:
            _close(message.fds)
        self._waiting.clear()
        if self._read:
            _close(self._read[0].fds)
            self._read = None
        self._reset()
        self._dma.clear()
        for index in range(NUM_IRQS):
            self._detach_all(index)
        self._unmap_all()
        self._settle_until = 0.0

    def close(self) -> None:
        """Free everything; the device stays the caller's."""
        if self._connection:
            self._disconnect("server ends")
        self._listener.close()
        self._path.unlink(missing_ok=True)
        for fd in (self._wake_r, self._wake_w, self._page_fd):
            os.close(fd)
        self._page.close()

    # --- Commands

    def _dispatch(self, message: Message) -> tuple[bytes, list[int]] | None:
        """Do a command; its answer, or None if that comes later."""
        if message.flags & TYPE_MASK != TYPE_COMMAND:
            raise Refused(errno.EINVAL)
        if message.command == VERSION:
            return self._version(message), []
        if not self._ready:
            raise Refused(errno.EINVAL)
        handler = self._HANDLERS.get(message.command)
        if not handler:
            raise Refused(errno.ENOTSUP)
        answer = handler(self, message)
        return (answer, []) if isinstance(answer, bytes) else answer

    def _version(self, message: Message) -> bytes:
        major, _ = struct.unpack_from("<HH", message.body)
        if major != 0 or self._ready:
            raise Refused(errno.EINVAL)
        if text := message.body[4:].split(b"\0")[0].strip():
            try:
                if not isinstance(json.loads(text), dict):
                    raise Refused(errno.EINVAL)
            except (ValueError, RecursionError) as e:
                raise Refused(errno.EINVAL) from e
        self._ready = True
        capabilities = {
            "max_msg_fds": MAX_FDS, "max_data_xfer_size": MAX_DATA, "max_dma_maps": MAX_MAPS, "pgsizes": PGSIZES,
            "write_multiple": True,
        }  # fmt: skip
        return struct.pack("<HH", 0, 0) + json.dumps({"capabilities": capabilities}).encode() + b"\0"

    def _dma_map(self, message: Message) -> bytes:
        argsz, flags, offset, base, size = struct.unpack_from("<IIQQQ", message.body)
        aligned = not (base | size | offset) % PAGE
        if argsz < 32 or not size or not aligned or base + size > 1 << 64 or offset + size >= 1 << 63:
            raise Refused(errno.EINVAL)
        if flags & ~(MAP_READ | MAP_WRITE) or not flags or len(message.fds) > 1:
            raise Refused(errno.EINVAL)
        if len(self._maps) >= MAX_MAPS:
            raise Refused(errno.ENOSPC)
        if any(m.overlaps(base, size) for m in self._maps.values()):
            raise Refused(errno.EEXIST)
        writable = bool(flags & MAP_WRITE)
        mapping = Mapping(base, size, writable, message.fds[0] if message.fds else None, offset)
        self._device.map(base, size, mapping.pointer, writable)
        self._maps[base] = mapping
        return b""

    def _dma_unmap(self, message: Message) -> bytes:
        argsz, flags, base, size = struct.unpack_from("<IIQQ", message.body)
        if argsz < 24 or flags & ~UNMAP_ALL or (flags & UNMAP_ALL and (base or size)):
            raise Refused(errno.ENOTSUP if flags & UNMAP_DIRTY else errno.EINVAL)
        self._settle_until = time.monotonic() + SETTLE_S
        if flags & UNMAP_ALL:
            self._unmap_all()
        else:
            inside = [m for m in self._maps.values() if m.overlaps(base, size)]
            if not size or any(m.base < base or m.base + m.size > base + size for m in inside):
                raise Refused(errno.EINVAL)
            if not inside:
                raise Refused(errno.ENOENT)
            for mapping in inside:
                self._unmap(mapping)
        return struct.pack("<IIQQ", 24, flags, base, size)

    def _unmap(self, mapping: Mapping) -> None:
        self._device.unmap(mapping.base, mapping.size)  # from here on the device gets an error for it
        del self._maps[mapping.base]
        mapping.close()

    def _unmap_all(self) -> None:
        for mapping in list(self._maps.values()):
            self._unmap(mapping)

    def _device_info(self, message: Message) -> bytes:
        argsz, _ = struct.unpack_from("<II", message.body)
        if argsz < 16:
            raise Refused(errno.EINVAL)
        return struct.pack("<4I", 16, INFO_RESET | INFO_PCI, NUM_REGIONS, NUM_IRQS)

    def _device_reset(self, _: Message) -> bytes:
        self._reset()
        return b""

    def _region_info(self, message: Message) -> tuple[bytes, list[int]]:
        argsz, _, index = struct.unpack_from("<III", message.body)
        if argsz < 32 or index >= NUM_REGIONS:
            raise Refused(errno.EINVAL)
        size = {BAR0_REGION: pci_config.BAR0_SIZE, CONFIG_REGION: pci_config.SIZE}.get(index, 0)
        flags = REGION_READABLE | REGION_WRITABLE if size else 0
        if index != BAR0_REGION:
            return struct.pack("<IIIIQQ", 32, flags, index, 0, size, 0), []
        # One area may be mapped: the doorbells. A client that left no room for the list asks again with argsz as told;
        # QEMU wants a valid cap_offset even then.
        sparse = struct.pack("<HHIIIQQ", 1, 1, 0, 1, 0, DOORBELL_PAGE, PAGE)
        need = 32 + len(sparse)
        flags |= REGION_MMAP | REGION_CAPS
        if argsz < need:
            sparse = b""
        return struct.pack("<IIIIQQ", need, flags, index, 32, size, 0) + sparse, [self._page_fd] if sparse else []

    def _irq_info(self, message: Message) -> bytes:
        argsz, _, index = struct.unpack_from("<III", message.body)
        if argsz < 16 or index >= NUM_IRQS:
            raise Refused(errno.EINVAL)
        flags = IRQ_EVENTFD | (IRQ_MASKABLE | IRQ_AUTOMASKED if index == INTX else IRQ_NORESIZE)
        return struct.pack("<IIII", 16, flags, index, self._irq_count(index))

    def _irq_count(self, index: int) -> int:
        return {MSI: 0, MSIX: self._config.vectors}.get(index, 1)

    # --- Interrupts

    def _set_irqs(self, message: Message) -> bytes:
        argsz, flags, index, start, count = struct.unpack_from("<5I", message.body)
        data, action = flags & 7, flags & 0x38
        if argsz < 20 or flags >> 6 or index >= NUM_IRQS or start + count > self._irq_count(index):
            raise Refused(errno.EINVAL)
        if data not in (DATA_NONE, DATA_BOOL, DATA_EVENTFD):
            raise Refused(errno.EINVAL)
        if action not in (ACTION_MASK, ACTION_UNMASK, ACTION_TRIGGER):
            raise Refused(errno.EINVAL)
        if action != ACTION_TRIGGER and index != INTX:
            raise Refused(errno.ENOTSUP)
        if count == 0:
            if data != DATA_NONE or action != ACTION_TRIGGER:
                raise Refused(errno.EINVAL)
            self._detach_all(index)
            return b""
        chosen = range(start, start + count)
        if data == DATA_BOOL:
            wanted = message.body[20 : 20 + count]
            if len(wanted) != count:
                raise Refused(errno.EINVAL)
            chosen_list = [i for i, on in zip(chosen, wanted, strict=True) if on]
        else:
            chosen_list = list(chosen)
        if data != DATA_EVENTFD:
            self._irq_action(index, action, chosen_list)
            return b""
        if len(message.fds) not in (0, count) or not all(_is_eventfd(fd) for fd in message.fds):
            raise Refused(errno.EINVAL)
        fds = message.take_fds() or [-1] * count
        for i, fd in zip(chosen, fds, strict=True):
            if index == MSIX:
                self._attach_vector(i, fd)
            elif index == INTX and action == ACTION_TRIGGER:
                self._set_intx(fd)
            elif index == INTX and action == ACTION_UNMASK:
                if fd >= 0:
                    os.set_blocking(fd, False)
                self._set_intx_unmask(fd)
            elif action != ACTION_TRIGGER:
                os.close(fd)  # masking by eventfd: nobody does
            else:
                if old := self._other_fds.pop(index, 0):
                    os.close(old)
                if fd >= 0:
                    self._other_fds[index] = fd
        self._apply()
        return b""

    def _detach_all(self, index: int) -> None:
        if index == MSIX:
            for vector in list(self._vectors):
                self._attach_vector(vector, -1)
            self._apply()
        elif index == INTX:
            self._set_intx(-1)
        elif index in self._other_fds:
            os.close(self._other_fds.pop(index))

    def _irq_action(self, index: int, action: int, chosen: list[int]) -> None:
        """Mask or unmask INTx, or (to test the way to the guest) signal what is attached."""
        if action == ACTION_TRIGGER:
            for i in chosen:
                self._signal(self._vectors.get(i, -1) if index == MSIX else self._intx_fd if index == INTX else -1)
        elif chosen:
            self._intx_masked = action == ACTION_MASK

    @staticmethod
    def _signal(fd: int) -> None:
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.eventfd_write(fd, 1)

    def _attach_vector(self, vector: int, fd: int) -> None:
        """The device's own table entry is ours: QEMU keeps the guest's table to itself."""
        old = self._vectors.pop(vector, -1)
        if fd >= 0:
            self._vectors[vector] = fd
        self._device.irq_eventfd(vector, fd)
        self._write_vector(vector)
        if old >= 0:
            os.close(old)

    def _write_vector(self, vector: int) -> None:
        entry = struct.pack("<QII", 0xFEE00000 | (vector & 0xFF) << 4, vector, 0 if vector in self._vectors else 1)
        for at in range(0, 16, 4):
            self._device.write(pci_config.MSIX_TABLE + 16 * vector + at, entry[at : at + 4])

    def _set_intx(self, fd: int) -> None:
        if self._intx_fd >= 0:
            os.close(self._intx_fd)
        self._intx_fd = fd
        self._intx_masked = False
        if fd < 0:
            self._set_intx_unmask(-1)

    def _set_intx_unmask(self, fd: int) -> None:
        if self._intx_unmask_fd >= 0:
            os.close(self._intx_unmask_fd)
        self._intx_unmask_fd = fd

    def _forward_intx(self) -> bool:
        """INTx is a level: one signal, then masked until the client has served it and unmasks."""
        level = self._device.intx
        self._config.set_interrupt(level)
        if self._intx_masked and self._intx_unmask_fd >= 0:
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._intx_unmask_fd)
                self._intx_masked = False
        if not level or self._intx_masked or self._intx_fd < 0:
            return False
        self._intx_masked = True
        self._signal(self._intx_fd)
        return True

    # --- Region accesses

    def _access(self, message: Message) -> tuple[int, int, int]:
        offset, region, count = struct.unpack_from("<QII", message.body)
        size = {BAR0_REGION: pci_config.BAR0_SIZE, CONFIG_REGION: pci_config.SIZE}.get(region, 0)
        if not 0 < count <= MAX_DATA or offset + count > size:
            raise Refused(errno.EINVAL)
        return offset, region, count

    def _region_read(self, message: Message) -> tuple[bytes, list[int]] | None:
        offset, region, count = self._access(message)
        head = message.body[:16]
        if region == CONFIG_REGION:
            return head + self._config.read(offset, count), []
        if offset >= pci_config.MSIX_TABLE or offset + count > pci_config.MSIX_TABLE or count > 64:
            return head + self._plain_read(offset, count), []
        start, end = offset & ~3, (offset + count + 3) & ~3
        self._read = (message, self._device.read_start(start, end - start), offset - start)
        return None

    def _plain_read(self, offset: int, count: int) -> bytes:
        """MSI-X structures, which are the client's affair; and accesses that no bus would carry: all ones."""
        image = b"\xff" * pci_config.MSIX_TABLE + bytes(self._table) + bytes(pci_config.BAR0_SIZE)
        return image[offset : offset + count]

    def _finish_read(self) -> bool:
        if not self._read:
            return False
        message, handle, skip = self._read
        data = self._device.read_poll(handle)
        if data is None:
            return True
        self._read = None
        (count,) = struct.unpack_from("<I", message.body, 12)
        self._reply(message, message.body[:16] + data[skip : skip + count])
        self._work()
        return True

    def _region_write(self, message: Message) -> bytes:
        offset, region, count = self._access(message)
        if len(message.body) != 16 + count:
            raise Refused(errno.EINVAL)
        self._write(region, offset, message.body[16:])
        return message.body[:16]

    def _region_write_multi(self, message: Message) -> bytes:
        (count,) = struct.unpack_from("<Q", message.body)
        if len(message.body) != 8 + 24 * count:
            raise Refused(errno.EINVAL)
        for at in range(8, len(message.body), 24):
            offset, region, size = struct.unpack_from("<QII", message.body, at)
            limit = {BAR0_REGION: pci_config.BAR0_SIZE, CONFIG_REGION: pci_config.SIZE}.get(region, 0)
            if not 0 < size <= 8 or offset + size > limit:
                raise Refused(errno.EINVAL)
            self._write(region, offset, message.body[at + 16 : at + 16 + size])
        return struct.pack("<Q", count)

    def _write(self, region: int, offset: int, data: bytes) -> None:
        if region == CONFIG_REGION:
            if self._config.write(offset, data):
                self._reset()
            self._apply()
            return
        table_end = pci_config.MSIX_TABLE + len(self._table)
        if offset >= pci_config.MSIX_TABLE:
            if offset + len(data) <= table_end:
                at = offset - pci_config.MSIX_TABLE
                self._table[at : at + len(data)] = data
        elif offset + len(data) <= pci_config.MSIX_TABLE and len(data) <= 64:
            self._device.write(offset, data)

    def _blank_table(self) -> bytearray:
        return bytearray(struct.pack("<QII", 0, 0, 1) * self._config.vectors)

    def _apply(self) -> None:
        """Tell the device what of the configuration space concerns it."""
        wanted = (self._config.state, bool(self._vectors))
        if wanted != self._applied:
            self._device.configure(*wanted)
            self._applied = wanted

    def _reset(self) -> None:
        """Function-level reset. The client's memory and eventfds stay attached."""
        self._fail_dma()  # the reset would wait for it, and the client may wait for the reset
        self._config.reset()
        self._table = self._blank_table()
        self._device.reset()
        self._device.doorbell_reset()
        self._applied = None
        self._apply()
        for vector in self._vectors:
            self._write_vector(vector)
        self._intx_masked = False

    # --- DMA to memory that is not mapped here

    def _forward_dma(self) -> bool:
        busy = False
        while len(self._dma) < 0x4000 and (request := self._device.dma_next()):
            busy = True
            if not self._connection:
                self._device.dma_complete(request.id, None)
                continue
            while self._next_id in self._dma:
                self._next_id = (self._next_id + 1) & 0xFFFF
            command = DMA_READ if request.data is None else DMA_WRITE
            self._dma[self._next_id] = (request, command)
            body = struct.pack("<QQ", request.address, request.size) + (request.data or b"")
            self._connection.send(self._next_id, command, TYPE_COMMAND, 0, body)
            self._next_id = (self._next_id + 1) & 0xFFFF
        return busy

    def _dma_reply(self, message: Message) -> None:
        _close(message.fds)
        request, command = self._dma.get(message.id, (None, -1))  # -1: no command
        if command != message.command:
            self._log(f"reply to nothing: id {message.id}, command {message.command}")
            return
        del self._dma[message.id]
        if request is None:
            return
        if command == DMA_READ:
            data = message.body[16:]
            good = not message.flags & ERROR and len(data) == request.size
            self._device.dma_complete(request.id, data if good else None)

    def _fail_dma(self) -> None:
        """Give up what the client has not answered; an id is free again only when its answer has come."""
        for number, (request, command) in self._dma.items():
            if request and command == DMA_READ:
                self._device.dma_complete(request.id, None)
            self._dma[number] = (None, command)

    _HANDLERS = {
        DMA_MAP: _dma_map, DMA_UNMAP: _dma_unmap, GET_INFO: _device_info, GET_REGION_INFO: _region_info,
        GET_IRQ_INFO: _irq_info, SET_IRQS: _set_irqs, REGION_READ: _region_read, REGION_WRITE: _region_write,
        DEVICE_RESET: _device_reset, REGION_WRITE_MULTI: _region_write_multi,
    }  # fmt: skip


@contextlib.contextmanager
def serving(path: str | Path, device: Backend, config: PciConfig, *, verbose: bool = False) -> Iterator[Server]:
    """A server that is closed at the end."""
    server = Server(path, device, config, verbose=verbose)
    try:
        yield server
    finally:
        server.close()
