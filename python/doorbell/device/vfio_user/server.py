# SPDX-License-Identifier: Apache-2.0
"""vfio-user server: puts a simulated device behind a UNIX socket, for QEMU, SPDK and other clients.

One thread does everything: it takes the client's messages and, between them, lets the device run in slices. What
happens often never comes by here: DMA goes through the client's memory, doorbells through a shared page, interrupts
through eventfds, all three inside the device's runtime. Region accesses are answered without waiting for the client.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from doorbell.device.messages import DmaRequest
from doorbell.device.pci_config import PciConfig, PciState
from doorbell.device.vfio_user.interrupts import Interrupts
from doorbell.device.vfio_user.memory import PAGE, ClientMemory
from doorbell.device.vfio_user.regions import Regions
from doorbell.device.vfio_user.served import ServedDevice
from doorbell.device.vfio_user.waiting import wait
from doorbell.device.vfio_user.wire import (
    DEVICE_RESET,
    DMA_MAP,
    DMA_READ,
    DMA_UNMAP,
    DMA_WRITE,
    ERROR,
    GET_INFO,
    GET_IRQ_INFO,
    GET_REGION_INFO,
    INFO_PCI,
    INFO_RESET,
    MAX_DATA,
    MAX_FDS,
    MAX_MAPS,
    MAX_WAITING,
    NO_REPLY,
    NUM_IRQS,
    NUM_REGIONS,
    REGION_READ,
    REGION_WRITE,
    REGION_WRITE_MULTI,
    SET_IRQS,
    TYPE_COMMAND,
    TYPE_MASK,
    TYPE_REPLY,
    VERSION,
    Connection,
    Gone,
    Message,
    Refused,
    close_fds,
)
from doorbell.errors import UserError

SLICE = 200  # cycles the device runs between two looks at the socket
SPIN_S = 0.0005  # after the last activity: look at the doorbell page without sleeping
NAP_SHARE = 8  # then sleep for this part of the time that it has been quiet, within
NAP_S = (0.00005, 0.001)
LONG_NAP_S, QUIET_S = 0.005, 1.0  # the longest sleep after QUIET_S
LOCK_S = 2.0  # that another server may take to make its socket
SETTLE_S = 0.005  # after an unmap the device waits for the maps that belong to it


class Server:
    """One device, one client at a time."""

    def __init__(self, path: str | Path, device: ServedDevice, config: PciConfig, *, verbose: bool = False) -> None:
        self._path = Path(path)
        self._listener = self._listen()
        self._device = device
        self._config = config
        self._verbose = verbose
        self._memory = ClientMemory(device)
        self._interrupts = Interrupts(device, config, self._apply)
        self._regions = Regions(device, config, self._apply, self._reset)
        self._applied: tuple[PciState, bool] | None = None
        self._connection: Connection | None = None
        self._ready = False  # VERSION has been agreed on
        self._waiting: deque[Message] = deque()
        self._dma: dict[int, tuple[DmaRequest | None, int]] = {}  # message id: request (None: given up), command
        self._next_id = 0
        self._settle_until = 0.0
        self._stopped = False
        self._wake_r, self._wake_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._handlers: dict[int, Callable[[Message], bytes | tuple[bytes, list[int]] | None]] = {
            DMA_MAP: self._memory.map, DMA_UNMAP: self._unmap, GET_INFO: self._device_info,
            GET_REGION_INFO: self._regions.info, GET_IRQ_INFO: self._interrupts.info, SET_IRQS: self._interrupts.set,
            REGION_READ: self._regions.read, REGION_WRITE: self._regions.write, DEVICE_RESET: self._device_reset,
            REGION_WRITE_MULTI: self._regions.write_multi,
        }  # fmt: skip
        self._apply()

    def _listen(self) -> socket.socket:
        """Its folder is locked meanwhile: of two servers that find what another has left behind, one comes second."""
        try:
            folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as e:
            raise UserError(f"cannot make the socket {self._path}: {e.strerror}") from e
        try:
            end = time.monotonic() + LOCK_S
            while True:
                try:
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:  # somebody who is none of ours
                        break
                    time.sleep(0.01)
            listener = self._take_path()
            self._inode = self._path.stat().st_ino
            return listener
        finally:
            os.close(folder)

    def _take_path(self) -> socket.socket:
        if self._path.is_socket():
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                probe.setblocking(False)  # a server that has clients waiting takes no more
                try:
                    probe.connect(str(self._path))
                    raise UserError(f"{self._path} is in use by another server: name another socket")
                except ConnectionRefusedError:  # left behind: nobody listens any more
                    self._path.unlink(missing_ok=True)
                except FileNotFoundError:
                    pass
                except BlockingIOError as e:
                    raise UserError(f"{self._path} is in use by another server: name another socket") from e
                except OSError as e:
                    raise UserError(f"cannot use the socket {self._path}: {e.strerror}") from e
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
            if self._connection and not self._regions.pending and time.monotonic() < self._settle_until:
                self._connection.flush()
                self._wait(0.0005)
                return True
            self._device.run(SLICE)
            busy |= self._finish_read() | self._forward_dma() | self._interrupts.forward_intx()
            if self._connection:
                self._connection.flush()
        except Gone as e:
            self._disconnect(str(e))
        return busy or not self._device.idle

    def _wait(self, seconds: float) -> None:
        """Until the socket, an eventfd or `stop` wants attention, or the time is over."""
        read = [self._wake_r, *([self._interrupts.unmask_fd] if self._interrupts.unmask_fd >= 0 else [])]
        write = []
        if self._connection:
            if not self._connection.congested:
                read.append(self._connection.sock.fileno())
            if self._connection.wants_write:
                write.append(self._connection.sock.fileno())
        else:
            read.append(self._listener.fileno())
        wait(read, write, seconds)

    def _take_messages(self) -> bool:
        if not self._connection:
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return False
            self._connection = Connection(sock)
            self._log("client connected")
        busy = False
        for _ in range(MAX_WAITING):  # then the device has its turn
            if self._stopped or self._connection.congested or len(self._waiting) >= MAX_WAITING:
                break
            if not (message := self._connection.receive()):
                break
            busy = True
            if message.flags & TYPE_MASK == TYPE_REPLY:
                self._dma_reply(message)
            else:
                self._waiting.append(message)
                self._work()
        self._work()
        return busy

    @property
    def _congested(self) -> bool:
        return bool(self._connection and self._connection.congested)

    def _work(self) -> None:
        """Commands in their order; a register read that the device has not answered yet holds the later ones up."""
        while self._waiting and not (self._regions.pending or self._stopped or self._congested):
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
                close_fds(message.fds)

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
            close_fds(message.fds)
        self._waiting.clear()
        self._regions.abandon()
        if not self._stopped:  # else the device does not run any more
            self._reset()
        self._dma.clear()
        self._interrupts.detach_all()
        self._memory.remove_all()
        self._settle_until = 0.0

    def close(self) -> None:
        """Free everything; the device stays the caller's."""
        self._stopped = True
        if self._connection:
            self._disconnect("server ends")
        self._listener.close()
        with contextlib.suppress(FileNotFoundError):
            if self._path.stat().st_ino == self._inode:  # else it is another server's
                self._path.unlink()
        wake, self._wake_w = self._wake_w, -1  # a signal may come at any time
        for fd in (self._wake_r, wake):
            os.close(fd)
        self._regions.close()

    # --- Commands

    def _dispatch(self, message: Message) -> tuple[bytes, list[int]] | None:
        """Do a command; its answer, or None if that comes later."""
        if message.flags & TYPE_MASK != TYPE_COMMAND:
            raise Refused(errno.EINVAL)
        if message.command == VERSION:
            return self._version(message), []
        if not self._ready:
            raise Refused(errno.EINVAL)
        handler = self._handlers.get(message.command)
        if not handler:
            raise Refused(errno.ENOTSUP)
        answer = handler(message)
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
            "max_msg_fds": MAX_FDS, "max_data_xfer_size": MAX_DATA, "max_dma_maps": MAX_MAPS, "pgsizes": PAGE,
            "write_multiple": True,
        }  # fmt: skip
        return struct.pack("<HH", 0, 0) + json.dumps({"capabilities": capabilities}).encode() + b"\0"

    def _device_info(self, message: Message) -> bytes:
        argsz, _ = struct.unpack_from("<II", message.body)
        if argsz < 16:
            raise Refused(errno.EINVAL)
        return struct.pack("<4I", 16, INFO_RESET | INFO_PCI, NUM_REGIONS, NUM_IRQS)

    def _unmap(self, message: Message) -> bytes:
        self._settle_until = time.monotonic() + SETTLE_S
        return self._memory.unmap(message)

    def _device_reset(self, _: Message) -> bytes:
        self._reset()
        return b""

    def _apply(self) -> None:
        """Tell the device what of the configuration space concerns it."""
        wanted = (self._config.state, bool(self._interrupts.vectors))
        if wanted != self._applied:
            self._device.configure(*wanted)
            self._applied = wanted

    def _reset(self) -> None:
        """Function-level reset. The client's memory and eventfds stay attached."""
        self._fail_dma()  # the reset would wait for it, and the client may wait for the reset
        self._config.reset()
        self._regions.reset()
        self._device.reset()
        self._device.doorbell_reset()
        self._applied = None
        self._apply()
        self._interrupts.restore()

    def _finish_read(self) -> bool:
        """Answer a read that the device had held up, and go on with what waits behind it."""
        if not self._regions.pending:
            return False
        if answer := self._regions.answer():
            self._reply(*answer)
            self._work()
        return True

    # --- DMA to memory that is not mapped here

    def _forward_dma(self) -> bool:
        busy = False
        while len(self._dma) < 0x4000 and not self._congested and (request := self._device.dma_next()):
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
        close_fds(message.fds)
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


@contextlib.contextmanager
def serving(path: str | Path, device: ServedDevice, config: PciConfig, *, verbose: bool = False) -> Iterator[Server]:
    """A server that is closed at the end."""
    server = Server(path, device, config, verbose=verbose)
    try:
        yield server
    finally:
        server.close()
