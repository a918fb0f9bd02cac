# SPDX-License-Identifier: Apache-2.0
"""The host as the owner of an SSD beside a simulated device: what a kernel's driver, or SPDK, is on a real machine.

    owner = Driver(SsdHost(sim, port=0), HostMemory(1 << 20, 0x33_0000_0000))
    owner.enable()

The SSD reaches the memory that is mapped, beside its window in the device, and nothing else of the host. Interrupts of
the SSD go nowhere: who drives it polls.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from doorbell.device.drives import SsdDrive
from doorbell.device.messages import SimError
from doorbell.device.sim_interface import MMIO
from doorbell.device.switch_sim import SwitchSim

STEP_CYCLES = 250
PATIENCE = 100_000  # steps


class SsdHost:
    """A back end for `doorbell.nvme.Driver`: registers of one SSD, memory for it, and the time of all."""

    def __init__(self, sim: SwitchSim, port: int = 0) -> None:
        self.sim, self.port = sim, port
        self._lib, self._kept = sim.ssds._drive_lib, []  # type: ignore[var-annotated]

    @property
    def ns(self) -> float:
        return self.sim.ns

    def map(self, base: int, size: int, buffer: Any) -> None:
        """Host memory of the SSDs: `buffer` is writable, and stays as long as the simulation."""
        kept = (ctypes.c_char * size).from_buffer(buffer)
        if self._lib.map(self.sim._h, base, size, ctypes.addressof(kept)):
            raise SimError(f"{size:#x} bytes at {base:#x}: another region is there")
        self._kept.append(kept)
        drive = self.sim.ssds.drives[self.port]
        if isinstance(drive, SsdDrive) and drive.sim is not None:
            drive.sim.map(base, size, None)  # it has a host of its own, who knows of the window alone

    def mmio_write(self, off: int, data: int, size: int = 4) -> None:
        self._access(self._lib.mmio_write, off, data.to_bytes(size, "little"), size)

    def mmio_read(self, off: int, size: int = 4) -> int:
        """All ones if nothing answers."""
        data = ctypes.create_string_buffer(8)
        got = 0
        if self._access(self._lib.mmio_read, off, size):
            while (got := self._lib.mmio_poll(self.sim._h, self.port, data)) == MMIO["pending"]:
                self.sim.run(STEP_CYCLES)
        return int.from_bytes(data.raw[:got] if got > 0 else b"\xff" * size, "little")

    def _access(self, call: Callable[..., int], *args: Any) -> bool:
        """Begin an access; those before it may have to end first. False: the SSD is not there."""
        for _ in range(PATIENCE):
            if call(self.sim._h, self.port, *args) == 0:
                return True
            if not self.sim.ssds.present >> self.port & 1:
                return False
            self.sim.run(STEP_CYCLES)
        return False

    def run(self, cycles: int, until_irq: bool = False) -> Any:
        return self.sim.run(min(cycles, STEP_CYCLES) if until_irq else cycles)

    def irqs(self) -> list[int]:
        """Vector 0 at each look: the admin queue is polled."""
        return [0]

    def set_cfg(self, **fields: Any) -> None:
        """The simulator has set the SSD's configuration space up."""

    def flr(self) -> None:
        raise SimError("the host resets an SSD by CC.EN")
