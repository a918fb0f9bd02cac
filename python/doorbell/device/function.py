# SPDX-License-Identifier: Apache-2.0
"""One PCIe function of a simulated device: its BAR 0, the host's memory as it sees it, its interrupts and settings.

`Sim` is function 0, the physical one (PF), of its device. A virtual one (VF) is `Sim.function(n)`: a view that has
everything that a `Sim` has, so that drivers and tests work over it unchanged. What a function does not have for itself
(time, media, counters, trace) is the device's, whichever view it is asked of.

    sim.enable_vfs(1)
    first, second = Driver(sim, memory), Driver(sim.function(1), HostMemory())
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from ctypes import byref, c_int
from typing import Any

from doorbell.device.messages import DmaRequest, Irq, MmioError, SimError, Stray
from doorbell.device.sim_interface import (
    BARS,
    FAULTS,
    GRANTS,
    MMIO,
    STOPS,
    IrqRecord,
    MessageRecord,
    StrayRecord,
    WatchRecord,
)

ALL = "budget"
EVERYBODY = 0xFFFF_FFFF
_FAULTS = FAULTS | {"poisoned": FAULTS["poison"], "timeout": FAULTS["drop"]}
_SETTINGS = ("bus_master", "msix_enable", "msix_mask", "intx_disable", "mps", "mrrs", "enabled")


class Shared:
    """What the functions of a device keep together."""

    def __init__(self) -> None:
        self.listening = EVERYBODY
        self.irq_buffer = (IrqRecord * 256)()
        self.message = MessageRecord()
        self.buffers: dict[tuple[int, int, int], Any] = {}  # function, base, size
        self.pages: dict[int, Any] = {}
        self.watched: tuple[int, Any] | None = None  # function, what it waits for


class PciFunction:
    """A function of a device. `fn`: its index, 0 is the PF."""

    BAR_4 = BARS["4"]
    """Added to an offset it makes it one in BAR 4, card memory."""
    fn: int
    num_fn: int
    _shared: Shared
    _sim: Any
    """The device: a `Sim`."""

    # ------------------------------------------------------------------------------------------------------------ time

    def run(
        self,
        cycles: int,
        until_irq: bool = False,
        until: tuple[int, int, int] | Iterable[tuple[int, int, int]] | None = None,
        *,
        stop_idle: bool = False,
        stop_dma: bool = True,
        everybody: bool = False,
    ) -> str:
        """Run the device up to `cycles`; says what of this function (of all: `everybody`) ended it.

        "budget": all cycles are over. "irq", "intx" (with until_irq): interrupts are there to be drained, or INTx is
        raised. "watch": a dword of host memory has (value & mask) == wanted for an (address, mask, wanted) of `until`,
        looked at when the device writes it. "dma": messages wait for `dma_pending`. "idle" (with stop_idle): nothing
        is to be expected. "rtl": an assertion of the RTL failed or it finished; its text is on stdout.
        """
        wanted = {"irq": until_irq, "intx": until_irq and not self.fn, "dma": stop_dma, "idle": stop_idle,
                  "watch": until is not None}  # fmt: skip
        stop = sum(STOPS[name] for name, on in wanted.items() if on)
        self._watch(until)
        sim = self._sim
        self._listen(EVERYBODY if everybody or self.num_fn == 1 else 1 << self.fn)
        return self._reason(sim._advance(int(cycles), stop))

    def _listen(self, functions: int) -> None:
        """Bits: whose messages and interrupts end a run."""
        if functions != self._shared.listening:
            self._shared.listening = functions
            self._sim._lib.listen(self._sim._h, functions)

    @staticmethod
    def _reason(bits: int) -> str:
        return next((name for name, bit in STOPS.items() if bits & bit), ALL)

    def _watch(self, until: tuple[int, int, int] | Iterable[tuple[int, int, int]] | None) -> None:
        """`run` looks for these alone."""
        before = self._shared.watched
        if before is not None and before[1] is until and (until is None or before[0] == self.fn):
            return
        self._shared.watched = (self.fn, until)
        watches = [] if until is None else [until] if isinstance(until, tuple) and len(until) == 3 and isinstance(
            until[0], int) else list(until)  # fmt: skip
        if len(watches) > 64:
            raise ValueError("at most 64 watches")
        if until is not None and not isinstance(until, tuple):
            self._shared.watched = None  # a list may change behind our back
        array = (WatchRecord * max(1, len(watches)))(*(WatchRecord(*w, self.fn) for w in watches))
        self._sim._lib.set_watches(self._sim._h, array, len(watches))

    # ----------------------------------------------------------------------------------------------------- host memory

    def map(self, base: int, size: int, buffer: Any, writable: bool = True) -> None:
        """Host memory [base, base + size) of this function is `buffer` (writable buffer object, or an address); None:
        by messages."""
        pointer: int | None = None
        keep: Any = None
        if isinstance(buffer, int):
            pointer = buffer
        elif buffer is not None:
            keep = (ctypes.c_char * size).from_buffer(buffer)
            pointer = ctypes.addressof(keep)
        if self._sim._lib.map(self._sim._h, self.fn, base, size, pointer, writable):
            raise SimError(f"{size:#x} bytes at {base:#x}: another region is there, or it ends beyond 64 bits")
        self._shared.buffers[self.fn, base, size] = keep

    def unmap(self, base: int, size: int | None = None) -> int:
        """Remove the regions inside [base, base + size), or the one at `base`. Says how many."""
        buffers = self._shared.buffers
        if size is None:
            size = next((s for fn, b, s in buffers if (fn, b) == (self.fn, base)), 0)
        count = self._sim._lib.unmap(self._sim._h, self.fn, base, size)
        for fn, b, s in list(buffers):
            if fn == self.fn and base <= b and b + s <= base + size:
                del buffers[fn, b, s]
        return count

    def iommu(self, on: bool = True) -> None:
        """Only what is granted from now on may be touched; the rest is refused and counted ("error.not_granted")."""
        self._sim._lib.iommu(self._sim._h, self.fn, on)

    def grant(self, addr: int, size: int, owner: int, *, read: bool = False, write: bool = False) -> None:
        """It may read or write the pages of [addr, addr + size). `owner`: whose they are, a number above 0."""
        rights = read * GRANTS["read"] | write * GRANTS["write"]
        self._sim._lib.grant(self._sim._h, self.fn, addr, size, owner, rights)

    def revoke(self, owner: int) -> int:
        """All that an owner was given is taken back. Says how many pages."""
        return self._sim._lib.revoke(self._sim._h, self.fn, owner)

    def strays(self) -> list[Stray]:
        """What the IOMMU has refused this function since the last call; it keeps the first 64."""
        found = (StrayRecord * 64)()
        write = GRANTS["write"]
        return [Stray(s.cycle, s.addr, s.bytes, s.rights == write, s.fn, s.owner, s.returned)
                for s in found[: self._sim._lib.strays(self._sim._h, self.fn, found, len(found))]]  # fmt: skip

    def dma_pending(self) -> list[DmaRequest]:
        """Accesses to regions without memory since the last call, in order.

        Writes count as done once they are handed out: deliver them before the next `run`, or say `dma_hold`.
        """
        out = []
        m = self._shared.message
        while self._sim._lib.dma_next(self._sim._h, self.fn, byref(m)):
            out.append(DmaRequest(m.id, m.addr, m.len, ctypes.string_at(m.data, m.len) if m.write else None))
        return out

    def dma_complete(self, id: int, data: bytes | None) -> None:
        """Answer a read (None: unsupported request). Nothing happens if it is gone, or was a write."""
        if self._sim._lib.dma_complete(self._sim._h, id, data, len(data) if data is not None else 0):
            return

    def dma_hold(self, on: bool) -> None:
        """What `dma_pending` gave is not delivered yet: what the function writes or signals behind it is kept."""
        self._sim._lib.dma_hold(self._sim._h, self.fn, on)

    @property
    def dma_kept(self) -> int:
        """How many writes and interrupts are kept."""
        return self._sim._lib.dma_kept(self._sim._h, self.fn)

    # -------------------------------------------------------------------------------------------------------- registers

    def mmio_write(self, off: int, data: int | bytes, size: int = 4) -> None:
        """Write BAR 0; posted, so it returns before the device has it."""
        sim = self._sim
        raw = bytes(data) if isinstance(data, bytes | bytearray | memoryview) else data.to_bytes(size, "little")
        while sim._lib.mmio_write(sim._h, self.fn, off, raw, len(raw)):
            self._check_mmio(off, len(raw))
            sim._advance(64, 0)

    def mmio_read(self, off: int, size: int = 4) -> int:
        """Read BAR 0; runs until the answer is there."""
        handle = self.mmio_read_start(off, size)
        while (data := self.mmio_read_poll(handle)) is None:
            self._sim._advance(1 << 20, STOPS["mmio"])
        return int.from_bytes(data, "little")

    def mmio_read_start(self, off: int, size: int = 4) -> int:
        """Send a read of BAR 0; returns a handle for `mmio_read_poll`."""
        sim = self._sim
        while (handle := sim._lib.mmio_read(sim._h, self.fn, off, size)) < 0:
            self._check_mmio(off, size)
            sim._advance(64, 0)
        return handle

    def mmio_read_forget(self, handle: int) -> None:
        """Nobody will poll this read any more."""
        self._sim._lib.mmio_forget(self._sim._h, handle)

    def mmio_read_poll(self, handle: int) -> bytes | None:
        """The answer, or None while there is none. Raises MmioError for UR, a bad answer or none at all."""
        data = ctypes.create_string_buffer(64)
        got = self._sim._lib.mmio_poll(self._sim._h, handle, data)
        if got == MMIO["pending"]:
            return None
        if got < 0:
            why = {MMIO["ur"]: "unsupported request", MMIO["timeout"]: "no answer in time",
                   MMIO["poison"]: "poisoned data"}  # fmt: skip
            raise MmioError(f"read of a BAR: {why.get(got, 'malformed answer')}")
        return data.raw[:got]

    def _check_mmio(self, off: int, size: int) -> None:
        """Why it was not taken, if that is not for lack of room."""
        if not 1 <= size <= 64 - off % 4:
            raise ValueError("an access of BAR 0 has 1 to 64 bytes, in at most 16 dwords")
        if off & self.BAR_4 and off - self.BAR_4 + size > self._sim.cmb_size:
            raise ValueError(f"card memory has {self._sim.cmb_size} bytes")

    def doorbell_page(self, page: Any) -> None:
        """A 4 KiB page (buffer or address) that others may write: what they write becomes writes to BAR 0 + 0x1000.

        The page is all ones where nobody has written since the simulator looked.
        """
        keep = None if page is None or isinstance(page, int) else (ctypes.c_char * 4096).from_buffer(page)
        address = page if keep is None else ctypes.addressof(keep)
        self._sim._lib.doorbell_page(self._sim._h, self.fn, address)
        self._shared.pages[self.fn] = keep

    def doorbell_reset(self) -> None:
        """Forget what is in the doorbell page and has not been seen: for when the function is reset."""
        self._sim._lib.doorbell_reset(self._sim._h, self.fn)

    # ------------------------------------------------------------------------------------------------------- interrupts

    def irqs(self) -> list[Irq]:
        """The function's interrupts since the last call."""
        sim, found = self._sim, self._shared.irq_buffer
        out: list[Irq] = []
        while n := sim._lib.irqs(sim._h, self.fn, found, len(found)):
            out += [Irq(i.cycle, i.addr, i.data) for i in found[:n]]
        return out

    def irq_eventfd(self, data: int, fd: int | None) -> None:
        """Signal this eventfd for interrupts with this data (below 4096); -1: drop them; None: to `irqs` again."""
        self._sim._lib.irq_eventfd(self._sim._h, self.fn, data, -1 if fd is None else -2 if fd < 0 else fd)

    @property
    def intx(self) -> bool:
        """Level of INTA. VFs have none."""
        return not self.fn and bool(self._sim._lib.intx(self._sim._h))

    # ------------------------------------------------------------------------------------------------ faults, settings

    def inject(self, kind: str, addr: int = 0, length: int = 0, nth: int = 0, count: int = 1) -> int:
        """Spoil DMA reads of this function: "ur", "ca", "poison", "drop" (times out), "late" (times out, then its
        completion comes) or "double" (its last completion comes twice).

        Of the reads that touch [addr, addr + length) (length 0: all), the first `nth` pass, the next `count` are hit.
        """
        if kind.lower() not in _FAULTS:
            raise ValueError(f"fault '{kind}': use {', '.join(_FAULTS)}")
        most = (1 << 32) - 1
        return self._sim._lib.inject(self._sim._h, self.fn, _FAULTS[kind.lower()], addr, length, nth, min(count, most))

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
        """What the host sets in configuration space. A VF has the first three; sizes are those of the PF."""
        for name, size, top in (("mps", mps, 1024), ("mrrs", mrrs, 4096)):
            if size is not None and (size & (size - 1) or not 128 <= size <= top):
                raise ValueError(f"{name}: a power of two from 128 to {top}")
        flags = (-1 if f is None else int(f) for f in (bus_master, msix_enable, msix_mask, intx_disable))
        if self._sim._lib.set_cfg(self._sim._h, self.fn, *flags, mps or 0, mrrs or 0):
            raise SimError(f"function {self.fn} is not enabled, or is a VF, which has no INTx and no sizes of its own")

    def cfg(self) -> dict[str, int]:
        """What `set_cfg` set, and if the function is enabled."""
        values = (c_int * len(_SETTINGS))()
        self._sim._lib.get_cfg(self._sim._h, self.fn, values)
        return dict(zip(_SETTINGS, values))

    def flr(self, max_cycles: int = 1_000_000) -> None:
        """Function-level reset: returns when the device says it is done. Bus master and MSI-X are off after it."""
        if not self._sim._flr(self.fn, max_cycles):
            raise SimError(f"function-level reset: not acknowledged within {max_cycles} cycles")

    def flr_begin(self) -> None:
        """Begin a function-level reset; others may be under way. `run` until `flr_done`."""
        if self._sim._lib.flr_begin(self._sim._h, self.fn):
            raise SimError(f"function {self.fn} is not enabled: it cannot be reset")

    @property
    def flr_done(self) -> bool:
        """No function-level reset is under way."""
        return bool(self._sim._lib.flr_poll(self._sim._h, self.fn))


class VirtualFunction(PciFunction):
    """A VF of a device. What concerns the whole device (time, media, counters) goes to its `Sim`."""

    def __init__(self, sim: Any, fn: int) -> None:
        """sim: the device, a `Sim`."""
        self._sim, self._shared, self.fn, self.num_fn = sim, sim._shared, fn, sim.num_fn

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._sim, name)

    @property
    def time_us(self) -> int:
        """The device's microseconds; writable."""
        return self._sim.time_us

    @time_us.setter
    def time_us(self, us: int) -> None:
        self._sim.time_us = us
