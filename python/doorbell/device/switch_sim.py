# SPDX-License-Identifier: Apache-2.0
"""A simulated device that has SSDs beside it on a PCIe switch (db_vcsd), as a Python class.

    lib = build.simulator("db_vcsd", {"NUM_SSD": 2})
    with SwitchSim(lib, [ModelDrive(size=64 << 20), ModelDrive(size=64 << 20)]) as sim:
        driver = Driver(sim, HostMemory(32 << 20, 0x12_4000_0000))
        sim.ssds.fault("late", delay_us=100, port=1)

It is a `Sim`, so everything that works with one works with it. `sim.ssds` has the SSDs, with the calls that a `HostSim`
has for its drives. sim/README.md, "SSDs beside a device", says how the switch behaves.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from ctypes import byref, c_uint8
from typing import Any

from doorbell.device.c_header import chosen, converted, with_options
from doorbell.device.drive_calls import DriveCalls
from doorbell.device.drives import ModelDrive, PortOptions, SsdDrive, port_record
from doorbell.device.host_sim_interface import PortRecord
from doorbell.device.messages import SimError
from doorbell.device.sim import SETTINGS, Sim
from doorbell.device.sim_interface import OPTIONS as SIM_OPTIONS
from doorbell.device.sim_interface import load
from doorbell.device.switch_sim_interface import ABI, OPTIONS, SIGNALS, SwitchConfig, SwitchLibrary

NUMBERS = (1, 2, 4, 8)
"""How many SSDs a device may have."""
GRANULE = 32
"""Pages that an SSD has for the device: a multiple of it."""
PUMP_CYCLES = 200
"""Cycles at most between two calls of SwitchSim.pump."""


def pages_of(drive: PortOptions) -> int:
    """How many pages of 4 KiB a drive has for the device."""
    if isinstance(drive, SsdDrive) and drive.sim is not None:
        size = drive.sim.media_size
    elif isinstance(drive, ModelDrive):
        there = drive.image and os.path.exists(drive.image) and os.path.getsize(drive.image)
        size = there or drive.size
    else:
        raise ValueError("say ssd_pages: an external drive's size is its own")
    return size // 4096 // GRANULE * GRANULE


class Ssds(DriveCalls):
    """The SSDs of a SwitchSim."""

    def __init__(self, sim: SwitchSim, drives: Sequence[PortOptions]) -> None:
        self._sim = sim
        self._drive_lib = sim._lib.ssds
        self.drives = list(drives)

    @property
    def _h(self) -> int:  # type: ignore[override]
        return self._sim._h

    def cycles(self, us: float) -> int:
        """So many microseconds in cycles."""
        return round(us * self._sim.clock_mhz)

    @property
    def present(self) -> int:
        """Bits: those that the device is told of."""
        return self._drive_lib.signal(self._h, SIGNALS["present"])


@with_options(SIM_OPTIONS | OPTIONS)
class SwitchSim(Sim):
    """One simulated device and the SSDs beside it, as many as it is built for.

    `ssds`: of each SSD what it is; None: models with their defaults, or as large as media_size needs them. media_size
    is what all give together. Media and `image` are the card's own memory, whose addresses are behind all of that.
    """

    _library = SwitchLibrary
    _image_has_settings_alone = True
    pump: Callable[[], None] | None = None
    """Called often while time passes: lets SSDs that the caller plays do their work."""

    def __init__(
        self, lib_path: str | os.PathLike[str], ssds: Sequence[PortOptions] | None = None, **options: Any
    ) -> None:
        mine = chosen(OPTIONS, {k: options.pop(k) for k in list(options) if k in OPTIONS}, "a SwitchSim")
        number = load(SwitchLibrary, lib_path).num_ssd()
        wanted = options.pop("media_size", None)
        if wanted is not None and mine["ssd_pages"] is None:
            mine["ssd_pages"] = wanted // number // 4096
        size = {"size": 4096 * mine["ssd_pages"]} if mine["ssd_pages"] else {}
        drives = list(ssds) if ssds is not None else [ModelDrive(**size) for _ in range(number)]
        if len(drives) != number:
            raise SimError(f"this top has {number} SSDs, not {len(drives)}")
        if mine["ssd_pages"] is None:
            mine["ssd_pages"] = min(pages_of(d) for d in drives)
        self.ssd_pages: int = mine["ssd_pages"]
        """Pages of 4 KiB that each SSD has for the device."""
        if self.ssd_pages < GRANULE or self.ssd_pages % GRANULE:
            raise SimError(f"ssd_pages: a multiple of {GRANULE} above 0")
        self._switch = mine
        self._drives = drives
        super().__init__(lib_path, settings=True, media_size=self.ssd_pages * 4096 * number, **options)
        self.ssds = Ssds(self, drives)

    def _open(self, config: Any, why: Any) -> int | None:
        switch = SwitchConfig(abi=ABI, **converted(OPTIONS, self._switch))
        ports = (PortRecord * len(self._drives))(*(port_record(d, config.clock_khz) for d in self._drives))
        whole, config.media_size = config.media_size, SETTINGS
        handle = self._lib.ssds.open(byref(config), byref(switch), ports, len(ports), why, len(why))
        config.media_size = whole
        return handle

    def media_view(self, off: int | None = None, size: int | None = None) -> memoryview:
        """The card's own memory, without a copy; `off` is its address behind the SSDs'. Valid until `close`."""
        off = self.media_size if off is None else off
        at = off - self.media_size
        size = SETTINGS - at if size is None else size
        if at < 0 or size < 0 or at + size > SETTINGS:
            raise ValueError("outside of the card's own memory")
        return memoryview((c_uint8 * size).from_address(self._lib.media(self._h) + at)).cast("B")

    def _advance(self, cycles: int, stop: int) -> int:
        if self.pump is None:
            return super()._advance(cycles, stop)
        end = self.cycle + cycles
        while True:
            self.pump()
            reason = super()._advance(max(0, min(PUMP_CYCLES, end - self.cycle)), stop)
            if reason or self.cycle >= end:
                return reason

    def _flr(self, fn: int, max_cycles: int) -> bool:
        if self.pump is None:
            return super()._flr(fn, max_cycles)
        if self._lib.flr_poll(self._h, fn):
            self.function(fn).flr_begin()
        end = self.cycle + max_cycles
        while not self._lib.flr_poll(self._h, fn) and self.cycle < end:
            self._advance(PUMP_CYCLES, 0)
        return bool(self._lib.flr_poll(self._h, fn))

    def close(self) -> None:
        """End the simulation and those of its SSDs; image files are written out."""
        if self.closed:
            return
        bad = [port for port in range(len(self._drives)) if self._lib.ssds.media_sync(self._h, port)]
        with contextlib.ExitStack() as stack:  # all are ended, also if one's image fails
            for drive in self._drives:
                if isinstance(drive, SsdDrive) and drive.sim is not None:
                    stack.callback(drive.sim.close)
            super().close()
        if bad:
            raise SimError(f"the image of SSD {bad[0]} could not be written out")

    def trouble(self) -> str | None:
        """Of the SSDs' images, too."""
        if text := super().trouble():
            return text
        for port, drive in enumerate(self._drives):
            if isinstance(drive, SsdDrive) and drive.sim is not None:
                text = drive.sim.trouble()
            else:
                said = self._lib.ssds.trouble(self._h, port)
                text = said.decode(errors="replace") if said else None
            if text:
                return f"SSD {port}: {text}"
        return None

    def power_cycle(self) -> None:
        """Power of device and SSDs goes and comes: all is gone but host memory, faults, and what is on media."""
        self._lib.ssds.power_cycle(self._h)

    @property
    def window(self) -> int:
        """Bus address of BAR 2 of the device."""
        return int(self._switch["window"])

    @property
    def up(self) -> int:
        """Bits: SSDs whose queues work, as the device says."""
        return self._lib.ssds.signal(self._h, SIGNALS["up"])

    @property
    def dead(self) -> int:
        """Bits: SSDs that it has given up."""
        return self._lib.ssds.signal(self._h, SIGNALS["dead"])

    @property
    def foreign(self) -> int:
        """Requests to a window by another than its SSD, which the device has dropped or refused."""
        return self._lib.ssds.signal(self._h, SIGNALS["foreign"])

    @property
    def retried(self) -> int:
        """Commands that an SSD has answered with "not now", and got once more."""
        return self._lib.ssds.signal(self._h, SIGNALS["retried"])

    def counters(self) -> dict[str, int]:
        """The device's, and those of each SSD with its number before them: "ssd0.up.MWr.tlps"."""
        out = super().counters()
        for port, drive in enumerate(self._drives):
            counted = self.ssds.counters(port)
            if isinstance(drive, SsdDrive) and drive.sim is not None:  # its link is its Sim's
                own = drive.sim.counters().items()
                counted |= {name: value for name, value in own if name.startswith(("up.", "down."))}
            out |= {f"ssd{port}.{name}": value for name, value in counted.items()}
        return out

    def errors(self) -> dict[str, int]:
        """Broken rules of PCIe, AXI, NVMe or the runtime, where there are any."""
        return {k: v for k, v in self.counters().items() if v and "error" in k.split(".")[:2]}
