# SPDX-License-Identifier: Apache-2.0
"""Simulated drives as the vfio-user server's device."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
import time
from collections import deque
from typing import Any

from doorbell.device.messages import DmaRequest, MmioError, SimError
from doorbell.device.pci_config import PciState
from doorbell.device.vfio_user.eventfds import signal
from doorbell.errors import UserError
from doorbell.nvme.vendor import BAR_DOORBELLS

QUEUE_PAIRS = 32
KEPT_BYTES = 1 << 10  # of a write that the simulator keeps
RESET_CYCLES = 100_000  # of one try
RESET_S = 30.0  # of all tries
LAND_CYCLES = 2000  # behind a reset: what was written before has landed, as the link takes less
BUSY_US = 50  # that pass in one `run` of a device at work, at most
NOTHING = 0xFFFFFFFF  # in a page of doorbells: nothing was written
FIGURES = struct.Struct("<QQ")  # cycles that were computed, ns of processor time for them
FIGURES_S = 0.05  # between two updates


class SimDevice:
    """A Verilated top as the server's device. DMA, doorbells and interrupts stay inside its runtime."""

    def __init__(self, sim: Any, figures_fd: int = -1, vectors: int = QUEUE_PAIRS + 1) -> None:
        """vectors: MSI-X vectors that the top has."""
        self._sim = sim
        self._figures_fd, self._figures_due, self._busy_ns = figures_fd, 0.0, 0
        self.vectors = vectors
        self._sizes: dict[int, int] = {}
        self._start = time.monotonic()
        self._pending: deque[DmaRequest] = deque()
        self._pending_bytes, self._held, self._kept = 0, False, 0
        self.idle = False
        for vector in range(self.vectors):
            sim.irq_eventfd(vector, -1)

    def map(self, base: int, size: int, pointer: int | None, writable: bool) -> None:
        self._sim.map(base, size, pointer, writable)

    def unmap(self, base: int, size: int) -> None:
        self._sim.unmap(base, size)
        self.dma_fetch()
        kept = [message for message in self._pending if not base <= message.address < base + size]
        self._pending, self._pending_bytes = deque(kept), sum(len(message.data or b"") for message in kept)

    def write(self, offset: int, data: bytes) -> None:
        self._sim.mmio_write(offset, data)

    def read_start(self, offset: int, size: int) -> int:
        handle = self._sim.mmio_read_start(offset, size)
        self._sizes[handle] = size
        return handle

    def read_poll(self, handle: int) -> bytes | None:
        try:
            data = self._sim.mmio_read_poll(handle)
        except MmioError as e:
            print(f"doorbell serve: {e}", file=sys.stderr, flush=True)
            data = b"\xff" * self._sizes[handle]  # what a CPU gets from a bus that does not answer
        if data is not None:
            del self._sizes[handle]
        return data

    def read_forget(self, handle: int) -> None:
        del self._sizes[handle]
        self._sim.mmio_read_forget(handle)

    def run(self, cycles: int) -> None:
        # The host lives in real time, so the device's timers do too. A device at work is not hurried, however slow this
        # machine simulates it: its watchdog counts the time that its processor takes.
        now, shown = int((time.monotonic() - self._start) * 1e6), self._sim.time_us
        if now > shown + 500:
            self._sim.time_us = now if self.idle else min(now, shown + BUSY_US)
        if self._figures_fd >= 0:
            self._run_and_count(cycles)
        else:
            self._run(cycles)
        self._sim.drop_irqs()  # no vector's: data that a guest has the drive write where interrupts go

    def _run(self, cycles: int) -> None:
        """A command may begin and end in one call: idle is only who had nothing to do in it."""
        before = self._sim.cycle
        self.idle = self._sim.run(cycles, stop_idle=True) == "idle" and self._sim.cycle == before
        say_trouble(self._sim)

    def _run_and_count(self, cycles: int) -> None:
        start = time.thread_time_ns()
        self._run(cycles)
        self._busy_ns += time.thread_time_ns() - start
        if time.monotonic() >= self._figures_due:
            self._figures_due = time.monotonic() + FIGURES_S
            cycles = self._sim.cycle - self._sim.counters()["sim.skipped_cycles"]
            os.pwrite(self._figures_fd, FIGURES.pack(cycles, self._busy_ns), 0)

    @property
    def intx(self) -> bool:
        return self._sim.intx

    def dma_fetch(self) -> int:
        asked = self._sim.dma_pending()
        self._pending.extend(asked)
        self._pending_bytes += sum(len(message.data or b"") for message in asked)
        if self._held or self._kept:
            self._kept = self._sim.dma_kept
        return self._pending_bytes + KEPT_BYTES * self._kept

    def dma_hold(self, on: bool) -> None:
        on = on or bool(self._pending)
        if on != self._held:
            self._held = on
            self._sim.dma_hold(on)

    def dma_next(self) -> DmaRequest | None:
        if not self._pending:
            self.dma_fetch()
        if not self._pending:
            return None
        message = self._pending.popleft()
        self._pending_bytes -= len(message.data or b"")
        return message

    def dma_complete(self, request: int, data: bytes | None) -> None:
        self._sim.dma_complete(request, data)

    def irq_eventfd(self, vector: int, fd: int) -> None:
        self._sim.irq_eventfd(vector, fd)

    def doorbell_page(self, pointer: int) -> None:
        self._sim.doorbell_page(pointer)

    def doorbell_reset(self) -> None:
        self._sim.doorbell_reset()

    def configure(self, state: PciState, msix_enable: bool) -> None:
        self._sim.set_cfg(bus_master=state.bus_master, msix_enable=msix_enable, intx_disable=state.intx_disable,
                          mps=128 << min(state.mps, 3), mrrs=128 << state.mrrs)  # fmt: skip

    def reset(self) -> None:
        end = time.monotonic() + RESET_S
        while time.monotonic() < end:
            self._drop_dma()
            with contextlib.suppress(SimError):
                self._sim.flr(RESET_CYCLES)
                return self._pass(LAND_CYCLES)
        # Not its power-on reset: that would hide a bug, and take the keys and whatever else is not saved on the media.
        raise UserError("the simulated device does not finish its function-level reset, please report: it ends here", 3)

    def _pass(self, cycles: int) -> None:
        """All of these."""
        end = self._sim.cycle + cycles
        while self._sim.cycle < end:
            self._sim.run(end - self._sim.cycle)
            self.dma_fetch()

    def _drop_dma(self) -> None:
        """A reset waits for reads, and nobody answers these now."""
        while message := self.dma_next():
            self.dma_complete(message.id, None)

    def close(self) -> None:
        """Write the image back; raise if it cannot be, or if the runtime saw a broken rule of PCIe or AXI."""
        say_trouble(self._sim)
        errors = self._sim.errors()
        self._sim.close()
        if errors:
            raise UserError(f"the simulated device broke rules, please report: {errors}", 3)


def say_trouble(sim: Any) -> None:
    """A line about what has begun to fail."""
    if text := sim.trouble():
        print(f"doorbell serve: {text}", file=sys.stderr, flush=True)


class FunctionalDevice:
    """The functional model as the server's device: it computes, so all that happens comes by here."""

    def __init__(self, sim: Any) -> None:
        self._sim = sim
        self.vectors = sim.num_qp + 1
        self._reads: list[bytes | None] = []
        self._fds: dict[int, int] = {}
        self._doorbells = memoryview(bytearray(b"\xff" * 4096)).cast("I")
        self._seen = [NOTHING] * (2 * self.vectors)
        sim.on_queue = self._forget_doorbell

    def map(self, base: int, size: int, pointer: int | None, writable: bool) -> None:
        if pointer is not None:
            self._sim.map(base, size, pointer, writable)

    def unmap(self, base: int, size: int) -> None:
        self._sim.unmap(base)

    def write(self, offset: int, data: bytes) -> None:
        self._scan_doorbells()
        self._sim.mmio_write(offset, int.from_bytes(data, "little"), len(data))
        self._sim.run(100)

    def read_start(self, offset: int, size: int) -> int:
        self._scan_doorbells()
        self._reads.append(self._sim.mmio_read(offset, size).to_bytes(size, "little"))
        return len(self._reads) - 1

    def read_poll(self, handle: int) -> bytes | None:
        data = self._reads[handle]
        self._reads[handle] = None
        if not any(self._reads):
            self._reads.clear()
        return data

    def read_forget(self, handle: int) -> None:
        self.read_poll(handle)

    def run(self, cycles: int) -> None:
        self._scan_doorbells()
        self._sim.run(max(cycles, 5000))
        for irq in self._sim.irqs():
            if (fd := self._fds.get(irq.data, -1)) >= 0:
                signal(fd)
        say_trouble(self._sim)

    @property
    def idle(self) -> bool:
        return self._sim.idle

    @property
    def intx(self) -> bool:
        return False

    def dma_fetch(self) -> int:
        return 0

    def dma_hold(self, on: bool) -> None: ...
    def dma_next(self) -> DmaRequest | None:
        return None

    def dma_complete(self, request: int, data: bytes | None) -> None: ...

    def irq_eventfd(self, vector: int, fd: int) -> None:
        self._fds[vector] = fd

    def doorbell_page(self, pointer: int) -> None:
        self._doorbells = memoryview((ctypes.c_ubyte * 4096).from_address(pointer)).cast("B").cast("I")

    def doorbell_reset(self) -> None:
        for i in range(2 * self.vectors):
            self._forget_doorbell(i)

    def _forget_doorbell(self, i: int) -> None:
        """A queue begins, so nobody rings it yet."""
        self._doorbells[i] = self._seen[i] = NOTHING

    def _scan_doorbells(self) -> None:
        """The client may ring at any time, and what it writes must not be wiped out: so what is there is compared with
        what was there, and stays. A queue's doorbell never has the same value twice in a row.
        """
        for i in range(2 * self.vectors):
            if (value := self._doorbells[i]) != self._seen[i]:
                self._seen[i] = value
                self._sim.mmio_write(BAR_DOORBELLS + 4 * i, value)

    def configure(self, state: PciState, msix_enable: bool) -> None:
        self._sim.set_cfg(msix_enable=msix_enable, bus_master=state.bus_master)

    def reset(self) -> None:
        self._sim.flr()

    def close(self) -> None:
        say_trouble(self._sim)
        self._sim.close()
