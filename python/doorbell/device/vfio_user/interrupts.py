# SPDX-License-Identifier: Apache-2.0
"""Interrupts of the function: eventfds of the client for MSI-X vectors and INTx."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Callable

from doorbell.device import pci_config
from doorbell.device.pci_config import PciConfig
from doorbell.device.vfio_user.eventfds import signal, take
from doorbell.device.vfio_user.served import ServedDevice
from doorbell.device.vfio_user.wire import (
    ACTION_MASK,
    ACTION_TRIGGER,
    ACTION_UNMASK,
    DATA_BOOL,
    DATA_EVENTFD,
    DATA_NONE,
    INTX,
    IRQ_AUTOMASKED,
    IRQ_EVENTFD,
    IRQ_MASKABLE,
    MSI,
    MSIX,
    NUM_IRQS,
    Message,
    Refused,
    is_eventfd,
)


class Interrupts:
    """What the client has attached. `vectors`: MSI-X vector to eventfd."""

    def __init__(self, device: ServedDevice, config: PciConfig, changed: Callable[[], None]) -> None:
        """changed: called when vectors have come or gone."""
        self._device, self._config, self._changed = device, config, changed
        self.vectors: dict[int, int] = {}
        self._taken_away: set[int] = set()  # vectors that were attached; an interrupt may have been missed since
        self.unmask_fd = -1
        self._intx_fd = -1
        self._intx_masked = False
        self._intx_behind = -1  # so many writes must be answered before it is told; -1: it is not raised
        self._other_fds: dict[int, int] = {}  # ERR and REQ: kept, never signalled

    def detach_all(self) -> None:
        for index in range(NUM_IRQS):
            self.detach(index)
        self._taken_away.clear()

    def restore(self) -> None:
        """After a reset of the function: what is attached stays so."""
        for vector in self.vectors:
            self._write_vector(vector)
        self._taken_away.clear()
        self._intx_masked = False
        self._intx_behind = -1

    def info(self, message: Message) -> bytes:
        argsz, _, index = struct.unpack_from("<III", message.body)
        if argsz < 16 or index >= NUM_IRQS:
            raise Refused(errno.EINVAL)
        # Not NORESIZE: vectors may come one by one. Else QEMU takes all away to bring one more.
        flags = IRQ_EVENTFD | (IRQ_MASKABLE | IRQ_AUTOMASKED if index == INTX else 0)
        return struct.pack("<IIII", 16, flags, index, self.count(index))

    def count(self, index: int) -> int:
        return {MSI: 0, MSIX: self._config.vectors}.get(index, 1)

    def set(self, message: Message) -> bytes:
        argsz, flags, index, start, count = struct.unpack_from("<5I", message.body)
        data, action = flags & 7, flags & 0x38
        if argsz < 20 or flags >> 6 or index >= NUM_IRQS or start + count > self.count(index):
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
            self.detach(index)
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
        if len(message.fds) not in (0, count) or not all(is_eventfd(fd) for fd in message.fds):
            raise Refused(errno.EINVAL)
        fds = message.take_fds() or [-1] * count
        for i, fd in zip(chosen, fds, strict=True):
            if index == MSIX:
                self._attach_vector(i, fd)
            elif index == INTX and action == ACTION_TRIGGER:
                self._set_intx(fd)
            elif index == INTX and action == ACTION_UNMASK:
                self._set_intx_unmask(fd)
            elif action != ACTION_TRIGGER:
                os.close(fd)  # masking by eventfd: nobody does
            else:
                if old := self._other_fds.pop(index, 0):
                    os.close(old)
                if fd >= 0:
                    self._other_fds[index] = fd
        self._changed()
        return b""

    def detach(self, index: int) -> None:
        if index == MSIX:
            for vector in list(self.vectors):
                self._attach_vector(vector, -1)
            self._changed()
        elif index == INTX:
            self._set_intx(-1)
        elif index in self._other_fds:
            os.close(self._other_fds.pop(index))

    def _irq_action(self, index: int, action: int, chosen: list[int]) -> None:
        """Mask or unmask INTx, or (to test the way to the guest) signal what is attached."""
        if action == ACTION_TRIGGER:
            for i in chosen:
                fd = self.vectors.get(i, -1) if index == MSIX else self._intx_fd if index == INTX else -1
                if fd >= 0:
                    signal(fd)
        elif chosen:
            self._intx_masked = action == ACTION_MASK

    def _attach_vector(self, vector: int, fd: int) -> None:
        """The device's own table entry is ours: QEMU keeps the guest's table to itself.

        A vector that was taken away and comes back is signalled: what the device said meanwhile reached nobody, and a
        driver that is woken for nothing looks and sleeps again.
        """
        old = self.vectors.pop(vector, -1)
        if fd >= 0:
            self.vectors[vector] = fd
        elif old >= 0:
            self._taken_away.add(vector)
        self._device.irq_eventfd(vector, fd)
        self._write_vector(vector)
        if fd >= 0 and vector in self._taken_away:
            self._taken_away.discard(vector)
            signal(fd)
        if old >= 0:
            os.close(old)

    def _write_vector(self, vector: int) -> None:
        entry = struct.pack("<QII", 0xFEE00000 | (vector & 0xFF) << 4, vector, 0 if vector in self.vectors else 1)
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
        if self.unmask_fd >= 0:
            os.close(self.unmask_fd)
        self.unmask_fd = fd

    def forward_intx(self, written: int, answered: int) -> bool:
        """INTx is a level: one signal, then masked until the client has served it and unmasks.

        written: how many writes went to the client as messages. answered: so many, from the first on, it has answered.
        """
        level = self._device.intx
        self._config.set_interrupt(level)
        if self._intx_masked and self.unmask_fd >= 0:
            self._intx_masked = not take(self.unmask_fd)
        if not level or self._intx_masked or self._intx_fd < 0:
            self._intx_behind = -1
            return False
        if self._intx_behind < 0:
            self._intx_behind = written
        if self._intx_behind > answered:
            return False
        self._intx_masked = True
        signal(self._intx_fd)
        return True
