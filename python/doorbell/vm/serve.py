# SPDX-License-Identifier: Apache-2.0
"""`doorbell serve`: a simulated top as a vfio-user PCIe device, until it is told to stop."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from doorbell.bench.command import parse_size
from doorbell.device import limits
from doorbell.device.messages import MmioError, SimError
from doorbell.device.opening import open_sim, parse_params
from doorbell.device.pci_config import PciConfig, PciState
from doorbell.device.vfio_user import Backend, DmaRequest, serving
from doorbell.errors import UserError

QUEUE_PAIRS = 32
DATA_W, LINK = 512, "gen4x8"  # the fewest cycles to simulate for what a client moves
DEFAULT_SIZE = 1 << 30
SMALLEST = 1 << 20
RESET_CYCLES = 100_000  # of one try
FIGURES = struct.Struct("<QQ")  # cycles that were computed, ns of processor time for them
FIGURES_S = 0.05  # between two updates


def main(
    socket: str = typer.Option(..., help="Path of the UNIX socket to make."),
    top: str = typer.Option("db_ssd", help="Which top."),
    image: Path | None = typer.Option(None, metavar="FILE", help="File that holds the drive's data; made if missing."),  # noqa: B008
    size: str | None = typer.Option(None, help="Capacity of the drive [default: 1G, or the image's]."),
    link: str = typer.Option(LINK, help="PCIe link: gen<1..5>x<lanes>."),
    data_w: int = typer.Option(DATA_W, "--data-w", help="Width of the data path: 128, 256 or 512."),
    param: list[str] = typer.Option(  # noqa: B008
        [], "--param", metavar="NAME=VALUE", help="A parameter of the top: NUM_NS=2."),
    backend: str = typer.Option("rtl", help="rtl, or functional: a Python model with rough timing."),
    verbose: bool = typer.Option(False, "--verbose", help="Say on stderr what clients do."),
    ready_fd: int = typer.Option(-1, hidden=True, help="Where to write a byte when clients may connect."),
    figures_fd: int = typer.Option(-1, hidden=True, help="File that is kept up to date with FIGURES."),
) -> None:
    """Offer a top as a vfio-user PCIe device to QEMU (10.1 or later) and other clients."""
    with serving_device(socket, top=top, image=image, size=size, link=link, data_w=data_w, backend=backend,
                        params=parse_params(param), verbose=verbose, figures_fd=figures_fd) as server:  # fmt: skip
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: server.stop())
        if ready_fd >= 0:
            os.write(ready_fd, b"r")
            os.close(ready_fd)
        else:
            print(f"doorbell: {top} is at {socket}; Ctrl-C ends it", file=sys.stderr, flush=True)
        server.serve()


@contextlib.contextmanager
def serving_device(path: str | Path, *, top: str = "db_ssd", image: Path | None = None, size: str | None = None,
                   link: str = LINK, data_w: int = DATA_W, backend: str = "rtl",
                   params: dict[str, int | str] | None = None, verbose: bool = False,
                   figures_fd: int = -1) -> Iterator[Any]:  # fmt: skip
    """A server for a device that is made here, and closed (its image written back) at the end."""
    try:
        lanes = limits.Link.parse(link)
        wanted = parse_size(size) if size else None
    except ValueError as e:
        raise UserError(str(e)) from e
    media_size = prepare_image(image, wanted) if image else wanted or DEFAULT_SIZE
    if media_size < SMALLEST or media_size % 4096:
        raise UserError(f"a capacity of {media_size} bytes does not do: at least 1M, a multiple of 4096")
    options: dict[str, Any] = {"media_size": media_size} | ({"image": str(image)} if image else {})
    if backend == "rtl":
        options["cpl_timeout_us"] = 4_000_000  # a client answers late in simulated time, but it answers
        # The client lives in real time: simulated time in which the device waits is only work for this machine.
        options |= {"host_latency_ns": 0, "media_latency_ns": 0, "credit_ns": 0}
    if params and backend != "rtl":
        raise UserError("--param needs --backend rtl")
    wanted_params = {"NUM_QP": QUEUE_PAIRS, **(params or {})}
    sim = open_sim(backend, top=top, link=link, data_w=data_w, params=wanted_params, **options)
    device: Backend = FunctionalDevice(sim) if backend == "functional" else SimDevice(sim, figures_fd)
    try:
        config = PciConfig(device.vectors, gen=lanes.gen, lanes=lanes.lanes)
        with serving(path, device, config, verbose=verbose) as server:
            yield server
    finally:
        device.close()


def prepare_image(image: Path, wanted: int | None) -> int:
    """Make the file if it is not there; answer the drive's capacity, which never shrinks a file that is."""
    try:
        have = image.stat().st_size if image.exists() else 0
        if have and wanted and wanted < have:
            raise UserError(f"{image} has {have} bytes, more than --size: its end would be lost; leave --size out")
        if not have or (wanted and wanted > have):
            with open(image, "ab") as file:
                file.truncate(wanted or DEFAULT_SIZE)
        with open(image, "r+b"):
            return image.stat().st_size
    except OSError as e:
        raise UserError(f"cannot use the image {image}: {e.strerror}") from e


class SimDevice:
    """A Verilated top as the server's device. DMA, doorbells and interrupts stay inside its runtime."""

    def __init__(self, sim: Any, figures_fd: int = -1) -> None:
        self._sim = sim
        self._figures_fd, self._figures_due, self._busy_ns = figures_fd, 0.0, 0
        self.vectors = QUEUE_PAIRS + 1
        self._sizes: dict[int, int] = {}
        self._start = time.monotonic()
        self._pending: deque[DmaRequest] = deque()
        self.idle = False
        for vector in range(self.vectors):
            sim.irq_eventfd(vector, -1)

    def map(self, base: int, size: int, pointer: int | None, writable: bool) -> None:
        self._sim.map(base, size, pointer, writable)

    def unmap(self, base: int, size: int) -> None:
        self._sim.unmap(base, size)

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

    def run(self, cycles: int) -> None:
        # The host lives in real time, so the device's timers do too.
        now = int((time.monotonic() - self._start) * 1e6)
        if now > self._sim.time_us + 500:
            self._sim.time_us = now
        if self._figures_fd >= 0:
            return self._run_and_count(cycles)
        self._run(cycles)

    def _run(self, cycles: int) -> None:
        """A command may begin and end in one call: idle is only who had nothing to do in it."""
        before = self._sim.cycle
        self.idle = self._sim.run(cycles, stop_idle=True) == "idle" and self._sim.cycle == before

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

    def dma_next(self) -> DmaRequest | None:
        if not self._pending:
            self._pending.extend(DmaRequest(*message) for message in self._sim.dma_pending())
        return self._pending.popleft() if self._pending else None

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
        for _ in range(20):
            while message := self.dma_next():  # the reset waits for reads, and nobody answers these now
                self.dma_complete(message.id, None)
            with contextlib.suppress(SimError):
                return self._sim.flr(RESET_CYCLES)
        print("doorbell serve: the device did not finish its reset; pulling rst", file=sys.stderr, flush=True)
        self._sim.reset()

    def close(self) -> None:
        """Write the image back; raise if the runtime saw a broken rule of PCIe or AXI."""
        errors = self._sim.errors()
        self._sim.close()
        if errors:
            raise UserError(f"the simulated device broke rules, please report: {errors}", 3)


class FunctionalDevice:
    """The functional model as the server's device: it computes, so all that happens comes by here."""

    def __init__(self, sim: Any) -> None:
        self._sim = sim
        self.vectors = sim.num_qp + 1
        self._reads: list[bytes | None] = []
        self._fds: dict[int, int] = {}
        self._doorbells = memoryview(bytearray(4096)).cast("I")

    def map(self, base: int, size: int, pointer: int | None, writable: bool) -> None:
        if pointer is not None:
            memory = (ctypes.c_ubyte * size).from_address(pointer)
            self._sim.map(base, size, memoryview(memory).cast("B"))

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

    def run(self, cycles: int) -> None:
        self._scan_doorbells()
        self._sim.run(max(cycles, 5000))
        for irq in self._sim.irqs():
            if (fd := self._fds.get(irq.data, -1)) >= 0:
                os.write(fd, struct.pack("=Q", 1))

    @property
    def idle(self) -> bool:
        return not self._sim._heap

    @property
    def intx(self) -> bool:
        return False

    def dma_next(self) -> DmaRequest | None:
        return None

    def dma_complete(self, request: int, data: bytes | None) -> None: ...

    def irq_eventfd(self, vector: int, fd: int) -> None:
        self._fds[vector] = fd

    def doorbell_page(self, pointer: int) -> None:
        self._doorbells = memoryview((ctypes.c_ubyte * 4096).from_address(pointer)).cast("B").cast("I")

    def doorbell_reset(self) -> None:
        self._doorbells[:] = self._blank

    _blank = memoryview(b"\xff" * 4096).cast("I")  # nothing written since we looked

    def _scan_doorbells(self) -> None:
        for i in range(2 * self.vectors):
            if (value := self._doorbells[i]) != 0xFFFFFFFF:
                self._doorbells[i] = 0xFFFFFFFF
                self._sim.mmio_write(0x1000 + 4 * i, value)

    def configure(self, state: PciState, msix_enable: bool) -> None:
        self._sim.set_cfg(msix_enable=msix_enable, bus_master=state.bus_master)

    def reset(self) -> None:
        self._sim.flr()

    def close(self) -> None:
        self._sim.close()
