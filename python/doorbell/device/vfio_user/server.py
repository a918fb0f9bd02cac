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
import math
import os
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from doorbell.device.messages import DmaRequest
from doorbell.device.pci_config import PciConfig, PciState
from doorbell.device.vfio_user.interrupts import Interrupts
from doorbell.device.vfio_user.listener import Listener
from doorbell.device.vfio_user.loop import Loop
from doorbell.device.vfio_user.memory import PAGE, ClientMemory
from doorbell.device.vfio_user.regions import Regions
from doorbell.device.vfio_user.served import ServedDevice
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
    MAX_QUEUED,
    MAX_UNANSWERED,
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

MAX_DMA = 128 << 20  # bytes for a client's memory that it does not take: more than all commands of a function have
ATTENTIVE_S = 0.1  # between two looks at a client
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
        self._verbose, self._on_client, self._patience_s = verbose, on_client, patience_s
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
        self._looked, self._attentive = time.monotonic(), 0.0  # seconds in which its answers could be seen
        # message id: request (None: given up), command, _attentive when it was asked
        self._dma: dict[int, tuple[DmaRequest | None, int, float]] = {}
        self._next_id = 0
        self._written = 0  # how many of them were writes so far
        self._writes: dict[int, int] = {}  # of those that wait for an answer: which of them it is, from 1 on
        self._full_since = math.inf  # it takes no more messages; as _attentive
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
            self._be_patient()
            busy = self._forward_dma()
            if not (self._congested or self._device.dma_fetch()):  # else these would overtake what was written before
                busy |= self._finish_read() | self._forward_intx()
        except Gone as e:
            self._disconnect(str(e))
        self.flush()
        self._hold()
        return busy

    def forward(self) -> None:
        """Hand out what the device wants of the client's memory and take the answers, for while another function is
        being reset: what that waits for may stand behind them. Commands of the client wait in line.
        """
        if self._gone:
            return self._drop_dma()
        try:
            for _ in range(MAX_WAITING):
                if not self._may_receive or not self._receive():
                    break
            self._be_patient()
            self._forward_dma()
            if self._connection:
                self._connection.flush()
            self._hold()
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
        self._hold()
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
            self._dma_reply(message)
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
        self._dma.clear()
        self._writes.clear()
        self._full_since = math.inf
        self._device.dma_hold(False)
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
        if self._patience_s is not None:
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
        self._fail_dma()  # the reset would wait for it, and the client may wait for the reset
        self._config.reset()
        self._regions.reset()
        self._device.reset()
        self._was_reset()

    def function_is_new(self) -> None:
        """The PF has let this VF in (again): it is as after a function-level reset."""
        self._fail_dma()
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

    # --- DMA to memory that is not mapped here

    def _forward_dma(self) -> bool:
        busy = False
        if self._device.dma_fetch() > MAX_DMA and self._connection:
            raise Gone("takes no DMA messages")
        while len(self._dma) < MAX_UNANSWERED and not self._congested and (request := self._device.dma_next()):
            busy = True
            if not self._connection:
                self._device.dma_complete(request.id, None)
                continue
            while self._next_id in self._dma:
                self._next_id = (self._next_id + 1) & 0xFFFF
            command = DMA_READ if request.data is None else DMA_WRITE
            self._dma[self._next_id] = (request, command, self._attentive)
            if command == DMA_WRITE:
                self._written += 1
                self._writes[self._next_id] = self._written
            body = struct.pack("<QQ", request.address, request.size) + (request.data or b"")
            self._connection.send(self._next_id, command, TYPE_COMMAND, 0, body)
            self._next_id = (self._next_id + 1) & 0xFFFF
        return busy

    def _hold(self) -> None:
        """A completion entry in shared memory, or an interrupt, is not seen before what was written before it, so what
        the device has said waits until the client has answered that. A client that reads a register may answer nothing
        until it has the value, which comes behind all: then it waits until the messages are sent.
        """
        unanswered = self._writes and not self._regions.pending
        self._device.dma_hold(bool(self._connection and (self._connection.wants_write or unanswered)))

    def _be_patient(self) -> None:
        """Only so long with what the client has yet to answer, or to take before it is asked more. Time in which the
        server was at something else (another function's reset) does not count: answers may wait in the socket."""
        now = time.monotonic()
        self._attentive += min(now - self._looked, ATTENTIVE_S)
        self._looked = now
        if self._patience_s is not None:
            full = self._congested or len(self._dma) >= MAX_UNANSWERED
            self._full_since = min(self._full_since, self._attentive) if full else math.inf
            first = next((when for request, _, when in self._dma.values() if request), math.inf)
            if self._attentive - min(first, self._full_since) > self._patience_s:
                raise Gone("answers no DMA messages")

    def _dma_reply(self, message: Message) -> None:
        close_fds(message.fds)
        request, command, _ = self._dma.get(message.id, (None, -1, 0.0))  # -1: no command
        if command != message.command:
            self._log(f"reply to nothing: id {message.id}, command {message.command}")
            return
        del self._dma[message.id]
        if request is None:
            return
        self._writes.pop(message.id, None)
        if command == DMA_READ:
            data = message.body[16:]
            good = not message.flags & ERROR and len(data) == request.size
            self._device.dma_complete(request.id, data if good else None)

    def _fail_dma(self) -> None:
        """Give up what the client has not answered; an id is free again only when its answer has come."""
        for number, (request, command, when) in self._dma.items():
            if request and command == DMA_READ:
                self._device.dma_complete(request.id, None)
            self._dma[number] = (None, command, when)
        self._writes.clear()

    def _forward_intx(self) -> bool:
        """It is not among what the device keeps."""
        answered = next(iter(self._writes.values()), self._written + 1) - 1
        return self._interrupts.forward_intx(self._written, answered)

    def _drop_dma(self) -> None:
        """The client will not answer: nobody waits for it."""
        self._fail_dma()
        while request := self._device.dma_next():
            if request.data is None:
                self._device.dma_complete(request.id, None)


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
