# SPDX-License-Identifier: Apache-2.0
"""vfio-user server: puts a simulated device behind a UNIX socket, for QEMU, SPDK and other clients.

One thread does everything (loop.py): it takes the client's messages and, between them, lets the device run in slices.
What happens often never comes by here: DMA goes through the client's memory, doorbells through a shared page,
interrupts through eventfds, all three inside the device's runtime. Region accesses are answered without waiting for
the client.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from doorbell.device.pci_config import PciConfig, PciState
from doorbell.device.vfio_user.dma_messages import DmaMessages
from doorbell.device.vfio_user.interrupts import Interrupts
from doorbell.device.vfio_user.listener import Listener
from doorbell.device.vfio_user.loop import Loop
from doorbell.device.vfio_user.memory import PAGE, ClientMemory
from doorbell.device.vfio_user.regions import Regions
from doorbell.device.vfio_user.served import ServedDevice
from doorbell.device.vfio_user.wire import (
    DEVICE_RESET,
    DMA_MAP,
    DMA_UNMAP,
    ERROR,
    GET_INFO,
    GET_IRQ_INFO,
    GET_REGION_INFO,
    INFO_PCI,
    INFO_RESET,
    MAX_DATA,
    MAX_FDS,
    MAX_MAPS,
    MAX_QUEUED,
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

SETTLE_S = 0.005  # after an unmap the device waits for the maps that belong to it
# Where others wait with it: so long in all, and this part of the time
SETTLE_MOST_S, SETTLE_PART = 0.5, 0.01
TURN_S = 0.005  # of a client's commands, before the device and others have theirs; a reset takes longer


class Server:
    """One device, or one function of it, and one client at a time."""

    def __init__(
        self,
        path: str | Path,
        device: ServedDevice,
        config: PciConfig,
        *,
        verbose: bool = False,
        on_client: Callable[[bool], None] = lambda _: None,
        patience_s: float | None = None,
    ) -> None:
        """on_client: told that a client has come (True) or is gone. patience_s: so long a client has to answer a DMA
        message, as others have other functions of the device; None: there are none."""
        self._listener = Listener(Path(path))
        self._device = device
        self._config = config
        self._verbose, self._on_client, self._shared = verbose, on_client, patience_s is not None
        self._memory = ClientMemory(device)
        self._interrupts = Interrupts(device, config, self._apply)
        self._regions = Regions(device, config, self._apply, self._reset)
        self._applied: tuple[PciState, bool] | None = None
        self._connection: Connection | None = None
        self._gone = ""  # why the client is to be given up
        self._ready = False  # VERSION has been agreed on
        self._waiting: deque[Message] = deque()
        self._waiting_bytes = 0
        self._turn_end = 0.0
        self._dma = DmaMessages(device, self._log, patience_s)
        self._settle_until = 0.0
        self._settle_left, self._settle_seen = SETTLE_MOST_S, time.monotonic()
        self.stopped = False
        self._loop = Loop(device, [self])
        self._handlers: dict[int, Callable[[Message], bytes | tuple[bytes, list[int]] | None]] = {
            DMA_MAP: self._memory.map, DMA_UNMAP: self._unmap, GET_INFO: self._device_info,
            GET_REGION_INFO: self._regions.info, GET_IRQ_INFO: self._interrupts.info, SET_IRQS: self._interrupts.set,
            REGION_READ: self._regions.read, REGION_WRITE: self._regions.write, DEVICE_RESET: self._device_reset,
            REGION_WRITE_MULTI: self._regions.write_multi,
        }  # fmt: skip
        self._apply()

    # --- The loop's side

    def stop(self) -> None:
        """Let `serve` return; may be called from a signal handler or another thread."""
        self._loop.stop()

    def serve(self) -> None:
        """Serve clients, one after another, until `stop`: for a device with one function."""
        self._loop.serve()

    @property
    def connected(self) -> bool:
        return self._connection is not None

    @property
    def reading(self) -> bool:
        return self._regions.pending is not None

    @property
    def settling(self) -> bool:
        return self.connected and time.monotonic() < self._settle_until

    def take(self) -> bool:
        try:
            if self._gone:
                raise Gone(self._gone)
            return self._take_messages()
        except Gone as e:
            self._disconnect(str(e))
            return True

    def after_run(self) -> bool:
        busy = False
        try:
            self._dma.be_patient(self._congested)
            busy = self._dma.forward(self._connection)
            if not (self._congested or self._device.dma_fetch()):  # else these would overtake what was written before
                busy |= self._finish_read() | self._interrupts.forward_intx(self._dma.written, self._dma.answered)
        except Gone as e:
            self._disconnect(str(e))
        self.flush()
        self._dma.hold(self._connection, self.reading)
        return busy

    def forward(self) -> None:
        """Hand out what the device wants of the client's memory and take the answers, for while another function is
        being reset: what that waits for may stand behind them. Commands of the client wait in line.
        """
        if self._gone:
            return self._dma.drop()
        try:
            for _ in range(MAX_WAITING):
                if not self._may_receive or not self._receive():
                    break
            self._dma.be_patient(self._congested)
            self._dma.forward(self._connection)
            if self._connection:
                self._connection.flush()
            self._dma.hold(self._connection, self.reading)
        except Gone as e:  # it ends when its turn comes
            self._gone = str(e)

    def flush(self) -> None:
        try:
            if self._connection:
                self._connection.flush()
        except Gone as e:
            self._disconnect(str(e))

    def waits_for(self) -> tuple[list[int], list[int]]:
        read = [self._interrupts.unmask_fd] if self._interrupts.unmask_fd >= 0 else []
        write = []
        if self._connection:
            if not self._connection.congested:
                read.append(self._connection.sock.fileno())
            if self._connection.wants_write:
                write.append(self._connection.sock.fileno())
        else:
            read.append(self._listener.fileno())
        return read, write

    def _take_messages(self) -> bool:
        if not self._connection:
            sock = self._listener.accept()
            if not sock:
                return False
            self._connection = Connection(sock)
            self._log("client connected")
            self._on_client(True)
        busy = False
        self._turn_end = time.monotonic() + TURN_S
        for _ in range(MAX_WAITING):  # then the device has its turn
            if not self._may_receive or not self._receive():
                break
            busy = True
            self._work()
        self._work()
        self._dma.hold(self._connection, self.reading)
        return busy or bool(self._waiting and not self._blocked)

    @property
    def _blocked(self) -> bool:
        """Commands wait: for the device, or for the client."""
        return self._regions.pending is not None or self.stopped or self._congested

    @property
    def _may_receive(self) -> bool:
        full = len(self._waiting) >= MAX_WAITING or self._waiting_bytes >= MAX_QUEUED
        return not (self.stopped or not self._connection or self._congested or full)

    def _receive(self) -> bool:
        """Take one message: an answer is used, a command waits in line. False: there is none."""
        message = self._connection.receive() if self._connection else None
        if not message:
            return False
        if message.flags & TYPE_MASK == TYPE_REPLY:
            self._dma.reply(message)
        else:
            self._waiting.append(message)
            self._waiting_bytes += len(message.body)
        return True

    @property
    def _congested(self) -> bool:
        return bool(self._connection and self._connection.congested)

    def _work(self) -> None:
        """Commands in their order; a register read that the device has not answered yet holds the later ones up."""
        while self._waiting and not self._blocked and time.monotonic() < self._turn_end:
            message = self._waiting.popleft()
            self._waiting_bytes -= len(message.body)
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
        self._gone = ""
        self._ready = False
        for message in self._waiting:
            close_fds(message.fds)
        self._waiting.clear()
        self._waiting_bytes = 0
        self._regions.abandon()
        if not self.stopped:  # else the device does not run any more
            self._reset()
        self._dma.disconnect()
        self._interrupts.detach_all()
        self._memory.remove_all()
        self._settle_until = 0.0
        self._on_client(False)

    def close(self) -> None:
        """Free everything; the device stays the caller's."""
        self.stopped = True
        if self._connection:
            self._disconnect("server ends")
        self._listener.close()
        self._loop.close()
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
        answer = self._memory.unmap(message)
        self._settle()
        return answer

    def _settle(self) -> None:
        now = time.monotonic()
        begin = max(now, self._settle_until)
        more = now + SETTLE_S - begin
        if self._shared:
            self._settle_left += (now - self._settle_seen) * SETTLE_PART
            self._settle_seen = now
            more = min(more, self._settle_left)
            self._settle_left = min(self._settle_left - more, SETTLE_MOST_S)
        self._settle_until = begin + more

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
        self._dma.fail()  # the reset would wait for it, and the client may wait for the reset
        self._config.reset()
        self._regions.reset()
        self._device.reset()
        self._was_reset()

    def function_is_new(self) -> None:
        """The PF has let this VF in (again): it is as after a function-level reset."""
        self._dma.fail()
        self._config.reset()
        self._regions.reset()
        self._was_reset()

    def _was_reset(self) -> None:
        """The device has been reset: it is told anew what is attached."""
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


@contextlib.contextmanager
def serving(
    path: str | Path,
    device: ServedDevice,
    config: PciConfig,
    *,
    verbose: bool = False,
    on_client: Callable[[bool], None] = lambda _: None,
    patience_s: float | None = None,
) -> Iterator[Server]:
    """A server that is closed at the end."""
    server = Server(path, device, config, verbose=verbose, on_client=on_client, patience_s=patience_s)
    try:
        yield server
    finally:
        server.close()
