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
from collections.abc import Container, Iterable
from ctypes import byref, c_uint8, c_uint32, c_uint64
from typing import Any

from doorbell.device.c_header import chosen, converted, with_options
from doorbell.device.function import ALL, PciFunction, Shared, VirtualFunction
from doorbell.device.handle import Handle
from doorbell.device.limits import Link
from doorbell.device.live import Watched
from doorbell.device.messages import Event, SimError, Traffic
from doorbell.device.nand import Figures, Nand, as_dict
from doorbell.device.sim_interface import ABI, EVENTS, OPTIONS, STOPS, Config, EventRecord, Library, load
from doorbell.nvme.vendor import SETTINGS_PAGES

__all__ = ["ALL", "SETTINGS", "Sim"]

DEFAULT_MEDIA = 1 << 30
SETTINGS = SETTINGS_PAGES * 4096
"""Bytes at the end of the media that a drive keeps for itself."""


@with_options(OPTIONS)
class Sim(Handle, PciFunction):
    """One simulated device, seen as its function 0, the PF. 0 means "no limit" where there is a limit; what media and
    links do, sim/README.md says."""

    _library = Library
    _image_has_settings_alone = False
    watched: Watched | None = None
    recording = False

    def __init__(self, lib_path: str | os.PathLike[str], *, settings: bool = False, nand: Nand | None = None,
                 **options: Any) -> None:  # fmt: skip
        """settings: it is a drive that keeps the end of its media for itself; a media that is no file then has so much
        more than media_size. nand: what the media is; None: a memory."""
        self._lib: Any = load(self._library, lib_path)
        self.top = os.path.basename(lib_path).removeprefix("lib").removesuffix(".so")
        o = chosen(OPTIONS, options, "a Sim")
        config, image = _config(o), o["image"]
        hidden = SETTINGS if settings and (not image or self._image_has_settings_alone) else 0
        config.media_size += hidden
        why = ctypes.create_string_buffer(256)
        self._handle = self._open(config, why)
        if not self._handle:
            text = why.value.decode(errors="replace")
            own = f"; {hidden} of these bytes are the drive's own, beside those of the user" if hidden else ""
            raise SimError(text + own if "too large" in text else text)
        if nand and self._lib.media_nand(self._handle, byref(nand.config()), why, len(why)):
            super().close()
            raise SimError(f"{nand.name}: {why.value.decode()}")
        self.nand = nand
        self.link, self.msi_window = o["link"], o["msi_window"]
        self.link_policy = {name: o[name] for name in ("ack_every", "fc_every", "mps", "mrrs")}
        self.clock_mhz = config.clock_khz / 1000
        self.data_w: int = self._lib.data_w()
        self.num_fn: int = self._lib.num_fn()
        log2 = self._lib.cmb_log2()
        self.cmb_size: int = 1 << log2 if log2 else 0
        self._shared = Shared()
        self._media_bytes = (config.media_size or os.path.getsize(image or "")) & ~4095
        self.media_size = self._media_bytes - hidden
        self.seed, self.image = o["seed"], image
        self._opened()

    def _open(self, config: Any, why: Any) -> int | None:
        return self._lib.open(byref(config), why, len(why))

    def _advance(self, cycles: int, stop: int) -> int:
        """Time passes, until one of the reasons to stop; which."""
        why = self._lib.run(self._h, cycles, stop)
        if self.watched is not None:
            self.watched.look()
        return why

    def _flr(self, fn: int, max_cycles: int) -> bool:
        """A function-level reset; False: not done in time."""
        return not self._lib.flr(self._h, fn, max_cycles)

    def close(self) -> None:
        """End the simulation; an image file is written out. Raises if it cannot be."""
        bad = self._handle is not None and self._lib.media_sync(self._h)
        why = self.trouble() if bad else None
        super().close()
        self._shared.buffers.clear()
        if bad:
            raise SimError(f"{self.image} could not be written out" + (f": {why}" if why else ""))

    def trouble(self) -> str | None:
        """A line for the user, once: what of the image or of host memory has begun to fail."""
        text = self._lib.trouble(self._h)
        return text.decode(errors="replace") if text else None

    # ------------------------------------------------------------------------------------------------------- functions

    fn = 0

    @property
    def _sim(self) -> Sim:
        return self

    def function(self, fn: int) -> PciFunction:
        """A function of the device: 0 is this one, the PF; 1 to num_fn - 1 are VFs, which `enable_vfs` lets in."""
        if not 0 <= fn < self.num_fn:
            raise ValueError(f"function {fn}: the device has {self.num_fn}")
        return VirtualFunction(self, fn) if fn else self

    def enable_vfs(self, n: int) -> None:
        """VF Enable and NumVFs of the PF: VFs 1 to n are there, the others are not. What goes is reset."""
        if n < 0 or self._lib.enable_vfs(self._h, n):
            raise SimError(f"{n} VFs: the device has {self.num_fn - 1}")

    def run_any(self, cycles: int, functions: Container[int] | None = None) -> list[int]:
        """Run up to `cycles`, or until an MSI-X interrupt of one of these functions is there (of any: None); those that
        have some."""
        wanted = [fn for fn in range(self.num_fn) if functions is None or fn in functions]
        self._listen(sum(1 << fn for fn in wanted))
        if self._reason(self._advance(int(cycles), STOPS["irq"])) == "rtl":
            raise SimError("an assertion of the RTL failed (its text is on stdout)")
        waiting = self._lib.irqs_wait(self._h)
        return [fn for fn in wanted if waiting >> fn & 1]

    def drop_irqs(self) -> None:
        """Of all functions: those that wait for `irqs`."""
        waiting = self._lib.irqs_wait(self._h)
        for fn in range(self.num_fn):
            if waiting >> fn & 1:
                self.function(fn).irqs()

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
        """Pull the device's reset. All that is on its way is gone, and the VFs; host memory, media and faults stay."""
        self._lib.reset(self._h)

    # ---------------------------------------------------------------------------------------------------------- faults

    def injected(self, fault: int) -> int:
        """How many reads a fault has hit."""
        return self._lib.injected(self._h, fault)

    def inject_clear(self) -> None:
        """Take all faults back."""
        self._lib.inject_clear(self._h)

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

    def nand_figures(self) -> dict[str, int] | None:
        """What NAND media have counted, and how they stand; None: the media is a memory."""
        out = Figures()
        return None if self._lib.media_figures(self._h, byref(out)) else as_dict(out)

    # ------------------------------------------------------------------------------------------------------ card memory

    def card_view(self, fn: int = 0) -> memoryview:
        """A function's region of card memory itself, without a copy and past the link. Valid until `close`."""
        if not self.cmb_size:
            raise ValueError("the device has no card memory: build it with CMB_LOG2")
        at = self._lib.card(self._h) + fn * self.cmb_size
        return memoryview((c_uint8 * self.cmb_size).from_address(at)).cast("B")

    def card_error(self, off: int, n: int, count: int = 1, fn: int = 0) -> None:
        """The next `count` accesses (-1: all) of AXI4 that touch these bytes of a function's region end with SLVERR."""
        self._lib.card_error(self._h, fn * self.cmb_size + off, n, count)

    def card_error_clear(self) -> None:
        self._lib.card_error_clear(self._h)

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

    def coverage_counts(self) -> ctypes.Array[c_uint32]:
        """How often each line and toggle of the RTL was met; of a library built with coverage alone."""
        count = self._lib.coverage_counts(self._h, None, 0)
        if count < 0:
            raise SimError("the library was not built with coverage")
        counts = (c_uint32 * count)()
        self._lib.coverage_counts(self._h, counts, count)
        return counts

    def errors(self) -> dict[str, int]:
        """Broken rules of PCIe, AXI or the runtime, where there are any."""
        return {k: v for k, v in self.counters().items() if k.startswith("error.") and v}

    def record(self, kinds: Iterable[str] = EVENTS, capacity: int = 1 << 20) -> None:
        """Record what the device shows of its work from now on, until `record(())`. Costs time, changes no figure."""
        mask = sum(1 << EVENTS.index(kind) for kind in set(kinds))
        self.recording = bool(mask)
        if self.watched is not None:
            self.watched.activity = None  # whoever records has the events
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

    def traffic(self, fn: int = 0) -> Traffic:
        """What a function has moved so far."""
        values = (c_uint64 * 3)()
        if self._lib.traffic(self._h, fn, values):
            raise ValueError(f"function {fn}: the device has {self.num_fn}")
        return Traffic(*values)

    def trace_window(self, first: int = 0, end: int | None = None) -> None:
        """Of a waveform only these cycles are written, from `first` on and before `end`; None: there is none."""
        self._lib.trace_window(self._h, first, (1 << 64) - 1 if end is None else end)

    @property
    def link_ticks(self) -> tuple[int, int]:
        """Times of the link are exact in ticks: how many a cycle has, and how many a byte takes."""
        cycle, byte = c_uint64(), c_uint64()
        self._lib.link_rate(self._h, byref(cycle), byref(byte))
        return cycle.value, byte.value

    @property
    def link_bytes_per_cycle(self) -> float:
        """What the wire carries in one direction in one cycle, all overhead included."""
        cycle, byte = self.link_ticks
        return cycle / byte


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
