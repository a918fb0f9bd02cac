# SPDX-License-Identifier: Apache-2.0
"""DMA to memory that a client has not shared: messages that it answers."""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable

from doorbell.device.messages import DmaRequest
from doorbell.device.vfio_user.served import ServedDevice
from doorbell.device.vfio_user.wire import (
    DMA_READ,
    DMA_WRITE,
    ERROR,
    MAX_UNANSWERED,
    TYPE_COMMAND,
    Connection,
    Gone,
    Message,
    close_fds,
)

MAX_DMA = 128 << 20  # bytes for a client's memory that it does not take: more than all commands of a function have
ATTENTIVE_S = 0.1  # between two looks at a client


class DmaMessages:
    """What the device wants of a client's memory: sent, answered, given up.

    patience_s: so long a client has to answer one, or to take it. None: for ever.
    """

    def __init__(self, device: ServedDevice, log: Callable[[str], None], patience_s: float | None) -> None:
        self._device, self._log, self._patience_s = device, log, patience_s
        self._looked, self._attentive = time.monotonic(), 0.0  # seconds in which answers could be seen
        # message id: request (None: given up), command, _attentive when it was asked
        self._sent: dict[int, tuple[DmaRequest | None, int, float]] = {}
        self._next_id = 0
        self._writes: dict[int, int] = {}  # of those that wait for an answer: which of all writes it is, from 1 on
        self.written = 0
        """How many writes were sent so far."""
        self._full_since = math.inf  # the client takes no more; as _attentive

    @property
    def answered(self) -> int:
        """How many of these, from the first one on, the client has answered."""
        return next(iter(self._writes.values()), self.written + 1) - 1

    def be_patient(self, congested: bool) -> None:
        """Only so long with what the client has yet to answer, or to take before it is asked more. Time in which the
        server was at something else (another function's reset) does not count: answers may wait in the socket."""
        now = time.monotonic()
        self._attentive += min(now - self._looked, ATTENTIVE_S)
        self._looked = now
        if self._patience_s is not None:
            full = congested or len(self._sent) >= MAX_UNANSWERED
            self._full_since = min(self._full_since, self._attentive) if full else math.inf
            first = next((when for request, _, when in self._sent.values() if request), math.inf)
            if self._attentive - min(first, self._full_since) > self._patience_s:
                raise Gone("answers no DMA messages")

    def forward(self, connection: Connection | None) -> bool:
        """Send what the device has asked. True: there was something."""
        busy = False
        if self._device.dma_fetch() > MAX_DMA and connection:
            raise Gone("takes no DMA messages")
        while len(self._sent) < MAX_UNANSWERED and not (connection and connection.congested):
            request = self._device.dma_next()
            if not request:
                break
            busy = True
            if not connection:
                self._device.dma_complete(request.id, None)
                continue
            while self._next_id in self._sent:
                self._next_id = (self._next_id + 1) & 0xFFFF
            command = DMA_READ if request.data is None else DMA_WRITE
            self._sent[self._next_id] = (request, command, self._attentive)
            if command == DMA_WRITE:
                self.written += 1
                self._writes[self._next_id] = self.written
            body = struct.pack("<QQ", request.address, request.size) + (request.data or b"")
            connection.send(self._next_id, command, TYPE_COMMAND, 0, body)
            self._next_id = (self._next_id + 1) & 0xFFFF
        return busy

    def hold(self, connection: Connection | None, reading: bool) -> None:
        """A completion entry in shared memory, or an interrupt, is not seen before what was written before it, so what
        the device has said waits until the client has answered that. A client that reads a register may answer nothing
        until it has the value, which comes behind all: then it waits until the messages are sent.
        """
        unanswered = self._writes and not reading
        self._device.dma_hold(bool(connection and (connection.wants_write or unanswered)))

    def reply(self, message: Message) -> None:
        close_fds(message.fds)
        request, command, _ = self._sent.get(message.id, (None, -1, 0.0))  # -1: no command
        if command != message.command:
            self._log(f"reply to nothing: id {message.id}, command {message.command}")
            return
        del self._sent[message.id]
        if request is None:
            return
        self._writes.pop(message.id, None)
        if command == DMA_READ:
            data = message.body[16:]
            good = not message.flags & ERROR and len(data) == request.size
            self._device.dma_complete(request.id, data if good else None)

    def fail(self) -> None:
        """Give up what the client has not answered; an id is free again only when its answer has come."""
        for number, (request, command, when) in self._sent.items():
            if request and command == DMA_READ:
                self._device.dma_complete(request.id, None)
            self._sent[number] = (None, command, when)
        self._writes.clear()

    def drop(self) -> None:
        """The client will not answer: nobody waits for it."""
        self.fail()
        while request := self._device.dma_next():
            if request.data is None:
                self._device.dma_complete(request.id, None)

    def disconnect(self) -> None:
        self._sent.clear()
        self._writes.clear()
        self._full_since = math.inf
        self._device.dma_hold(False)
