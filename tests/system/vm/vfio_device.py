# SPDX-License-Identifier: Apache-2.0
"""A small device for the vfio-user server, where every access is seen, and what tests of that server have in common."""

from __future__ import annotations

import ctypes
import os
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import vfio_client as vc
from doorbell.device.messages import DmaRequest
from doorbell.device.pci_config import PciConfig, PciState
from doorbell.device.vfio_user import serving
from hypothesis import HealthCheck
from served_drives import running

VECTORS = 9
DMA_ADDRESS, DMA_SIZE, DMA_GO, FIRE, LEVEL = 0x800, 0x808, 0x80C, 0x810, 0x814
EMPTY = 0xFFFFFFFF  # in the doorbell page: nothing written since the device looked


class FakeDevice:
    """Registers that keep what is written, a DMA engine, an interrupt register. Reads take a few runs.

    DMA_GO: 1 reads host memory into `buffer`, 2 writes it there. FIRE: signals a vector. LEVEL: INTx.
    """

    def __init__(self) -> None:
        self.vectors = VECTORS
        self.idle = True
        self.bar = bytearray(0x4000)
        self.maps: dict[int, tuple[int, int | None, bool]] = {}
        self.buffer = bytearray()
        self.fds: dict[int, int] = {}
        self.reads: dict[int, tuple[int, int, int]] = {}
        self.requests: deque[DmaRequest] = deque()
        self.waiting: dict[int, DmaRequest] = {}
        self.held = False
        self.kept: deque[Callable[[], None]] = deque()  # what it has said while it was held
        self.failed = 0
        self.answered = 0
        self.doorbells: list[tuple[int, int]] = []
        self.state: PciState | None = None
        self.msix_enable = False
        self.intx = False
        self.resets = 0
        self.next = 0
        self.runs = 0
        self.page = (ctypes.c_uint32 * 1024)()

    def map(self, base: int, size: int, pointer: int | None, writable: bool) -> None:
        self.maps[base] = (size, pointer, writable)

    def unmap(self, base: int, size: int) -> None:
        del self.maps[base]

    def write(self, offset: int, data: bytes) -> None:
        self.bar[offset : offset + len(data)] = data
        word = int.from_bytes(data, "little")
        if offset == DMA_GO:
            self.dma(write=word == 2)
        elif offset == FIRE and (fd := self.fds.get(word, -1)) >= 0 and self.msix_enable:
            self.say(partial(os.eventfd_write, fd, 1))
        elif offset == LEVEL:
            self.intx = bool(word)

    def dma(self, write: bool) -> None:
        address, size = struct.unpack_from("<QI", self.bar, DMA_ADDRESS)
        for base, (length, pointer, writable) in self.maps.items():
            if base <= address and address + size <= base + length:
                self.next += 1
                data = bytes(self.buffer[:size]) if write else None
                if pointer is None:
                    request = DmaRequest(self.next, address, size, data)
                    if write:
                        self.say(partial(self.requests.append, request))
                    else:
                        self.requests.append(request)
                        self.waiting[self.next] = request
                elif data is None:
                    self.buffer[:] = ctypes.string_at(pointer + address - base, size)
                elif writable:
                    ctypes.memmove(pointer + address - base, data, size)
                return
        self.failed += 1

    def say(self, what: Callable[[], None]) -> None:
        if self.held or self.kept:
            self.kept.append(what)
        else:
            what()

    def read_start(self, offset: int, size: int) -> int:
        self.next += 1
        self.reads[self.next] = (offset, size, self.runs + 3)
        return self.next

    def read_poll(self, handle: int) -> bytes | None:
        offset, size, when = self.reads[handle]
        if self.runs < when:
            return None
        del self.reads[handle]
        return bytes(self.bar[offset : offset + size])

    def read_forget(self, handle: int) -> None:
        del self.reads[handle]

    def run(self, cycles: int) -> None:
        self.runs += 1
        while self.kept and not self.held:
            self.kept.popleft()()
        for i in range(8):
            if self.page[i] != EMPTY:
                self.doorbells.append((i, self.page[i]))
                self.page[i] = EMPTY

    def dma_fetch(self) -> int:
        return len(self.kept)

    def dma_hold(self, on: bool) -> None:
        self.held = on

    def dma_next(self) -> DmaRequest | None:
        return self.requests.popleft() if self.requests else None

    def dma_complete(self, request: int, data: bytes | None) -> None:
        del self.waiting[request]
        self.answered += 1
        if data is None:
            self.failed += 1
        else:
            self.buffer[:] = data

    def irq_eventfd(self, vector: int, fd: int) -> None:
        self.fds[vector] = fd

    def doorbell_page(self, pointer: int) -> None:
        self.page = (ctypes.c_uint32 * 1024).from_address(pointer)

    def doorbell_reset(self) -> None:
        self.page[:] = [EMPTY] * 1024

    def configure(self, state: PciState, msix_enable: bool) -> None:
        self.state, self.msix_enable = state, msix_enable

    def reset(self) -> None:
        self.resets += 1
        self.bar[:] = bytes(len(self.bar))
        self.intx = False
        for request in self.requests:
            self.waiting.pop(request.id, None)
        self.requests.clear()
        self.kept.clear()


def device_served(tmp_path: Path, device: FakeDevice) -> Iterator[str]:
    """Socket of a running server for `device`."""
    name = str(tmp_path / "s")
    with serving(name, device, PciConfig(VECTORS)) as server, running(server):
        yield name
    assert not os.path.exists(name)


def memfd(size: int, fill: bytes = b"") -> int:
    fd = os.memfd_create("m")
    os.ftruncate(fd, size)
    os.pwrite(fd, fill, 0)
    return fd


def refused(number: int) -> Any:
    return pytest.raises(vc.ServerError, match=os.strerror(number))


def eventually(what: Any, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.001)


def dma(c: vc.Client, address: int, size: int, go: int) -> None:
    c.write(vc.BAR0, DMA_ADDRESS, struct.pack("<Q", address))
    c.write(vc.BAR0, DMA_SIZE, struct.pack("<I", size))
    c.write(vc.BAR0, DMA_GO, struct.pack("<I", go))


FUZZ = {"deadline": None, "derandomize": True, "suppress_health_check": [HealthCheck.function_scoped_fixture]}
