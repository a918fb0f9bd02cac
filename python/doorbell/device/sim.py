# SPDX-License-Identifier: Apache-2.0
"""A simulated PCIe device: a Verilated top in the runtime of sim/, as a Python class.

    with Sim(build.simulator("db_ssd"), link="gen4x8") as sim:
        sim.map(0x1_0000_0000, len(memory), memory)   # a bytearray or mmap that the device may read and write
        sim.mmio_write(0x14, 1)
        sim.run(1_000_000, until_irq=True)

sim/README.md says how link, host, media and faults behave. Time is counted in cycles of the device's clock; the same
options, seed and calls give the same cycles on any machine. A Sim may be used by one thread at a time; `run` lets
other threads run meanwhile.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from ctypes import byref, c_int, c_uint8, c_uint32, c_uint64
from pathlib import Path
from typing import Any

from doorbell.device.c_header import chosen, converted, with_options
from doorbell.device.handle import Handle
from doorbell.device.limits import Link
from doorbell.device.messages import DmaRequest, Event, Irq, MmioError, SimError, Stray
from doorbell.device.sim_interface import (
    ABI,
    EVENTS,
    FAULTS,
    GRANTS,
    MMIO,
    OPTIONS,
    STOPS,
    Config,
    EventRecord,
    IrqRecord,
    Library,
    MessageRecord,
    StrayRecord,
    WatchRecord,
)
from doorbell.nvme.vendor import SETTINGS_PAGES

ALL = "budget"
_FAULTS = FAULTS | {"poisoned": FAULTS["poison"], "timeout": FAULTS["drop"]}
DEFAULT_MEDIA = 1 << 30
SETTINGS = SETTINGS_PAGES * 4096
"""Bytes at the end of the media that a drive keeps for itself."""


@with_options(OPTIONS)
class Sim(Handle):
    """One simulated device. 0 means "no limit" where there is a limit; what media and links do, sim/README.md says."""

    def __init__(self, lib_path: str | os.PathLike[str], *, settings: bool = False, **options: Any) -> None:
        """settings: it is a drive that keeps the end of its media for itself; a media that is no file then has so much
        more than media_size."""
        self._buffers: dict[tuple[int, int], Any] = {}
        path = str(Path(lib_path).resolve())
        self._lib: Any = Library.loaded.get(path) or Library.loaded.setdefault(path, Library(path))
        o = chosen(OPTIONS, options, "a Sim")
        config, image = _config(o), o["image"]
        hidden = SETTINGS if settings and not image else 0
        config.media_size += hidden
        why = ctypes.create_string_buffer(256)
        self._handle = self._lib.open(byref(config), why, len(why))
        if not self._handle:
            text = why.value.decode(errors="replace")
            own = f"; {hidden} of these bytes are the drive's own, beside those of the user" if hidden else ""
            raise SimError(text + own if "too large" in text else text)
        self.link = o["link"]
        self.link_policy = {name: o[name] for name in ("ack_every", "fc_every", "mps", "mrrs")}
        self.clock_mhz = config.clock_khz / 1000
        self.data_w: int = self._lib.data_w()
        self._media_bytes = (config.media_size or os.path.getsize(image or "")) & ~4095
        self.media_size = self._media_bytes - hidden
        self.seed, self.image = o["seed"], image
        self._page: Any = None
        self._irq_buffer = (IrqRecord * 256)()
        self._message = MessageRecord()
        self._watched: Any = ()
        self._opened()

    def close(self) -> None:
        """End the simulation; an image file is written out. Raises if it cannot be."""
        bad = self._handle is not None and self._lib.media_sync(self._h)
        why = self.trouble() if bad else None
        super().close()
        self._buffers.clear()
        if bad:
            raise SimError(f"{self.image} could not be written out" + (f": {why}" if why else ""))

    def trouble(self) -> str | None:
        """A line for the user, once: what of the image or of host memory has begun to fail."""
        text = self._lib.trouble(self._h)
        return text.decode(errors="replace") if text else None

    # ------------------------------------------------------------------------------------------------------------ time

    @property
    def cycle(self) -> int:
        """Cycles since the start."""
        return self._lib.cycle(self._h)

    @property
    def ns(self) -> float:
        """Simulated time since the start."""
        return self.cycle * 1000 / self.clock_mhz

    @property
    def time_us(self) -> int:
        """The microseconds that the device sees; writable, then they go on from there."""
        return self._lib.time_us(self._h)

    @time_us.setter
    def time_us(self, us: int) -> None:
        self._lib.set_time_us(self._h, us)

    @property
    def wake_us(self) -> int | None:
        """The time_us at which an idle device wants to run again; None: never."""
        us = self._lib.wake_us(self._h)
        return None if us == (1 << 64) - 1 else us

    @property
    def idle(self) -> bool:
        """Nothing will happen before `wake_us` unless the caller does something."""
        return bool(self._lib.idle(self._h))

    def reset(self) -> None:
        """Pull the device's reset. All that is on its way is gone; host memory, media and faults stay."""
        self._lib.reset(self._h)

    def run(
        self,
        cycles: int,
        until_irq: bool = False,
        until: tuple[int, int, int] | Iterable[tuple[int, int, int]] | None = None,
        *,
        stop_idle: bool = False,
        stop_dma: bool = True,
    ) -> str:
        """Run up to `cycles`; says what ended it.

        "budget": all cycles are over. "irq", "intx" (with until_irq): interrupts are there to be drained, or INTx is
        raised. "watch": a dword of host memory has (value & mask) == wanted for an (address, mask, wanted) of `until`,
        looked at when the device writes it. "dma": messages wait for `dma_pending`. "idle" (with stop_idle): nothing
        is to be expected. "rtl": an assertion of the RTL failed or it finished; its text is on stdout.
        """
        wanted = {"irq": until_irq, "intx": until_irq, "dma": stop_dma, "idle": stop_idle, "watch": until is not None}
        stop = sum(STOPS[name] for name, on in wanted.items() if on)
        if until is not self._watched:
            self._watched = until
            watches = [] if until is None else [until] if isinstance(until, tuple) and len(until) == 3 and isinstance(
                until[0], int) else list(until)  # fmt: skip
            if len(watches) > 64:
                raise ValueError("at most 64 watches")
            if not isinstance(until, tuple):
                self._watched = ()  # a list may change behind our back
            array = (WatchRecord * max(1, len(watches)))(*(WatchRecord(*w) for w in watches))
            self._lib.set_watches(self._h, array, len(watches))
        return self._reason(self._lib.run(self._h, int(cycles), stop))

    @staticmethod
    def _reason(bits: int) -> str:
        return next((name for name, bit in STOPS.items() if bits & bit), ALL)

    # ----------------------------------------------------------------------------------------------------- host memory

    def map(self, base: int, size: int, buffer: Any, writable: bool = True) -> None:
        """Host memory [base, base + size) is `buffer` (writable buffer object, or an address); None: by messages."""
        pointer: int | None = None
        keep: Any = None
        if isinstance(buffer, int):
            pointer = buffer
        elif buffer is not None:
            keep = (ctypes.c_char * size).from_buffer(buffer)
            pointer = ctypes.addressof(keep)
        if self._lib.map(self._h, base, size, pointer, writable):
            raise SimError(f"{size:#x} bytes at {base:#x}: another region is there, or it ends beyond 64 bits")
        self._buffers[base, size] = keep

    def unmap(self, base: int, size: int | None = None) -> int:
        """Remove the regions inside [base, base + size), or the one at `base`. Says how many."""
        if size is None:
            size = next((s for b, s in self._buffers if b == base), 0)
        count = self._lib.unmap(self._h, base, size)
        for b, s in list(self._buffers):
            if base <= b and b + s <= base + size:
                del self._buffers[b, s]
        return count

    def iommu(self, on: bool = True) -> None:
        """Only what is granted from now on may be touched; the rest is refused and counted ("error.not_granted")."""
        self._lib.iommu(self._h, on)

    def grant(self, addr: int, size: int, owner: int, *, read: bool = False, write: bool = False) -> None:
        """The device may read or write the pages of [addr, addr + size). `owner`: whose they are, a number above 0."""
        self._lib.grant(self._h, addr, size, owner, read * GRANTS["read"] | write * GRANTS["write"])

    def revoke(self, owner: int) -> int:
        """All that an owner was given is taken back. Says how many pages."""
        return self._lib.revoke(self._h, owner)

    def strays(self) -> list[Stray]:
        """What the IOMMU has refused since the last call; it keeps the first 64."""
        found = (StrayRecord * 64)()
        write = GRANTS["write"]
        return [Stray(s.cycle, s.addr, s.bytes, s.rights == write, s.fn, s.owner, s.returned)
                for s in found[: self._lib.strays(self._h, found, len(found))]]  # fmt: skip

    def dma_pending(self) -> list[DmaRequest]:
        """Accesses to regions without memory since the last call, in order.

        Writes count as done once they are handed out: deliver them before the next `run`.
        """
        out = []
        while self._lib.dma_next(self._h, byref(self._message)):
            m = self._message
            out.append(DmaRequest(m.id, m.addr, m.len, ctypes.string_at(m.data, m.len) if m.write else None))
        return out

    def dma_complete(self, id: int, data: bytes | None) -> None:
        """Answer a read (None: unsupported request). Nothing happens if it is gone, or was a write."""
        if self._lib.dma_complete(self._h, id, data, len(data) if data is not None else 0):
            return

    # -------------------------------------------------------------------------------------------------------- registers

    def mmio_write(self, off: int, data: int | bytes, size: int = 4) -> None:
        """Write BAR 0; posted, so it returns before the device has it."""
        raw = bytes(data) if isinstance(data, bytes | bytearray | memoryview) else data.to_bytes(size, "little")
        while self._lib.mmio_write(self._h, off, raw, len(raw)):
            self._check_mmio(off, len(raw))
            self._lib.run(self._h, 64, 0)

    def mmio_read(self, off: int, size: int = 4) -> int:
        """Read BAR 0; runs until the answer is there."""
        handle = self.mmio_read_start(off, size)
        while (data := self.mmio_read_poll(handle)) is None:
            self._lib.run(self._h, 1 << 20, STOPS["mmio"])
        return int.from_bytes(data, "little")

    def mmio_read_start(self, off: int, size: int = 4) -> int:
        """Send a read of BAR 0; returns a handle for `mmio_read_poll`."""
        while (handle := self._lib.mmio_read(self._h, off, size)) < 0:
            self._check_mmio(off, size)
            self._lib.run(self._h, 64, 0)
        return handle

    def mmio_read_forget(self, handle: int) -> None:
        """Nobody will poll this read any more."""
        self._lib.mmio_forget(self._h, handle)

    def mmio_read_poll(self, handle: int) -> bytes | None:
        """The answer, or None while there is none. Raises MmioError for UR, a bad answer or none at all."""
        data = ctypes.create_string_buffer(64)
        got = self._lib.mmio_poll(self._h, handle, data)
        if got == MMIO["pending"]:
            return None
        if got < 0:
            why = {MMIO["ur"]: "unsupported request", MMIO["timeout"]: "no answer in time"}
            raise MmioError(f"read of BAR 0: {why.get(got, 'malformed answer')}")
        return data.raw[:got]

    @staticmethod
    def _check_mmio(off: int, size: int) -> None:
        if not 1 <= size <= 64 - off % 4:
            raise ValueError("an access of BAR 0 has 1 to 64 bytes, in at most 16 dwords")

    def doorbell_page(self, page: Any) -> None:
        """A 4 KiB page (buffer or address) that others may write: what they write becomes writes to BAR 0 + 0x1000.

        The page is all ones where nobody has written since the simulator looked.
        """
        keep = None if page is None or isinstance(page, int) else (ctypes.c_char * 4096).from_buffer(page)
        self._lib.doorbell_page(self._h, page if keep is None else ctypes.addressof(keep))
        self._page = keep

    def doorbell_reset(self) -> None:
        """Forget what is in the doorbell page and has not been seen: for when the function is reset."""
        self._lib.doorbell_reset(self._h)

    # ------------------------------------------------------------------------------------------------------- interrupts

    def irqs(self) -> list[Irq]:
        """The interrupts since the last call."""
        out: list[Irq] = []
        while n := self._lib.irqs(self._h, self._irq_buffer, len(self._irq_buffer)):
            out += [Irq(i.cycle, i.addr, i.data) for i in self._irq_buffer[:n]]
        return out

    def irq_eventfd(self, data: int, fd: int | None) -> None:
        """Signal this eventfd for interrupts with this data (below 4096); -1: drop them; None: to `irqs` again."""
        self._lib.irq_eventfd(self._h, data, -1 if fd is None else -2 if fd < 0 else fd)

    @property
    def intx(self) -> bool:
        """Level of INTA."""
        return bool(self._lib.intx(self._h))

    # ------------------------------------------------------------------------------------------------ faults, settings

    def inject(self, kind: str, addr: int = 0, length: int = 0, nth: int = 0, count: int = 1) -> int:
        """Spoil DMA reads: "ur", "ca", "poison", "drop" (times out), "late" (times out, then its completion comes) or
        "double" (its last completion comes twice).

        Of the reads that touch [addr, addr + length) (length 0: all), the first `nth` pass, the next `count` are hit.
        """
        if kind.lower() not in _FAULTS:
            raise ValueError(f"fault '{kind}': use {', '.join(_FAULTS)}")
        return self._lib.inject(self._h, _FAULTS[kind.lower()], addr, length, nth, min(count, (1 << 32) - 1))

    def injected(self, fault: int) -> int:
        """How many reads a fault has hit."""
        return self._lib.injected(self._h, fault)

    def inject_clear(self) -> None:
        """Take all faults back."""
        self._lib.inject_clear(self._h)

    def set_cfg(
        self,
        *,
        bus_master: bool | None = None,
        msix_enable: bool | None = None,
        msix_mask: bool | None = None,
        intx_disable: bool | None = None,
        mps: int | None = None,
        mrrs: int | None = None,
    ) -> None:
        """What the host sets in configuration space."""
        for name, size, top in (("mps", mps, 1024), ("mrrs", mrrs, 4096)):
            if size is not None and (size & (size - 1) or not 128 <= size <= top):
                raise ValueError(f"{name}: a power of two from 128 to {top}")
        flags = (-1 if f is None else int(f) for f in (bus_master, msix_enable, msix_mask, intx_disable))
        self._lib.set_cfg(self._h, *flags, mps or 0, mrrs or 0)

    def cfg(self) -> dict[str, int]:
        """What `set_cfg` set."""
        values = (c_int * 6)()
        self._lib.get_cfg(self._h, values)
        return dict(zip(("bus_master", "msix_enable", "msix_mask", "intx_disable", "mps", "mrrs"), values))

    def flr(self, max_cycles: int = 1_000_000) -> None:
        """Function-level reset: returns when the device says it is done. Bus master and MSI-X are off after it."""
        if self._lib.flr(self._h, max_cycles):
            raise SimError(f"function-level reset: not acknowledged within {max_cycles} cycles")

    # ------------------------------------------------------------------------------------------------------------ media

    def media_view(self, off: int = 0, size: int | None = None) -> memoryview:
        """The media itself, without a copy. Valid until `close`."""
        size = self.media_size - off if size is None else size
        if off < 0 or size < 0 or off + size > self._media_bytes:
            raise ValueError("outside of the media")
        return memoryview((c_uint8 * size).from_address(self._lib.media(self._h) + off)).cast("B")

    def media_read(self, off: int, n: int) -> bytes:
        return bytes(self.media_view(off, n))

    def media_write(self, off: int, data: bytes) -> None:
        self.media_view(off, len(data))[:] = data

    def media_error(self, off: int, n: int, count: int = 1) -> None:
        """The next `count` bursts (-1: all) that touch [off, off + n) end with SLVERR."""
        self._lib.media_error(self._h, off, n, count)

    def media_error_clear(self) -> None:
        self._lib.media_error_clear(self._h)

    def flush(self) -> None:
        """Write an image file out to its disk."""
        if self._lib.media_sync(self._h):
            raise SimError(self.trouble() or "the image could not be written out")

    # ---------------------------------------------------------------------------------------------------------- figures

    def counters(self) -> dict[str, int]:
        """All counters by name; those that begin with "error." must be 0."""
        names = self._lib.names
        values = (c_uint64 * len(names))()
        self._lib.counters(self._h, values, len(names))
        return dict(zip(names, values))

    def errors(self) -> dict[str, int]:
        """Broken rules of PCIe, AXI or the runtime, where there are any."""
        return {k: v for k, v in self.counters().items() if k.startswith("error.") and v}

    def record(self, kinds: Iterable[str] = EVENTS, capacity: int = 1 << 20) -> None:
        """Record what the device shows of its work from now on, until `record(())`. Costs time, changes no figure."""
        mask = sum(1 << EVENTS.index(kind) for kind in set(kinds))
        self._lib.events_open(self._h, mask, capacity if mask else 0)

    def recorded(self) -> list[Event]:
        """What was recorded since the last call."""
        out: list[Event] = []
        buffer = (EventRecord * 4096)()
        while n := self._lib.events(self._h, buffer, len(buffer)):
            out += [Event(e.cycle, EVENTS[e.kind], e.a, e.b) for e in buffer[:n]]
        if self._lib.events_lost(self._h):
            raise SimError("events were lost: take them more often")
        return out

    def stalls(self) -> list[int]:
        """Cycles that each engine has waited: stat_stall, 32 bit each."""
        values = (c_uint32 * 32)()
        return list(values[: self._lib.stalls(self._h, values, len(values))])

    @property
    def link_bytes_per_cycle(self) -> float:
        """What the wire carries in one direction in one cycle, all overhead included."""
        cycle, byte = c_uint64(), c_uint64()
        self._lib.link_rate(self._h, byref(cycle), byref(byte))
        return cycle.value / byte.value


def _config(o: dict[str, Any]) -> Any:
    """Options as the C interface has them."""
    link, image, size, cut = Link.parse(o["link"]), o["image"], o["media_size"], o["completion_bytes"]
    if isinstance(cut, str) and cut != "random":
        raise ValueError("completion_bytes: a number, None or 'random'")
    if size is None:
        size = 0 if image and os.path.exists(image) and os.path.getsize(image) else DEFAULT_MEDIA
    write_ns = o["media_latency_ns"] if o["media_write_latency_ns"] is None else o["media_write_latency_ns"]
    flush_ns = write_ns if o["media_flush_latency_ns"] is None else o["media_flush_latency_ns"]
    special = {
        "gen": link.gen, "lanes": link.lanes, "completion_bytes": 1 if isinstance(cut, str) else cut or 0,
        "media_write_latency_ns": write_ns, "media_flush_latency_ns": flush_ns, "media_size": size,
        "msi_base": o["msi_window"][0], "msi_bytes": o["msi_window"][1],
        "image": os.fsencode(image) if image else None,
    }  # fmt: skip
    return Config(abi=ABI, **{**converted(OPTIONS, o), **special})
