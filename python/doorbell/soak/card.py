# SPDX-License-Identifier: Apache-2.0
"""db_vcsd with its host and its SSDs, whose data are files, as the card's own memory is one. So a power cut is one of
all: the simulation ends in that cycle, and another one opens what is in the files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from doorbell.device.drives import SsdDrive
from doorbell.device.opening import open_sim
from doorbell.device.sim import Sim
from doorbell.device.switch_sim import SwitchSim
from doorbell.nvme import namespaces, virtual_drives
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import (
    CC_SHN_ABRUPT,
    CC_SHN_NORMAL,
    CC_SHN_SHIFT,
    CSTS_CFS,
    CSTS_SHST_MASK,
    CSTS_SHST_SHIFT,
    Reg,
)
from doorbell.nvme.errors import DeviceTimeout
from doorbell.nvme.memory import HostMemory
from doorbell.soak import backends
from doorbell.soak.machine import MEMORY_BYTES, MEMORY_PARAMS, Machine, driver_of
from doorbell.soak.model import Space
from doorbell.soak.steps import TIMINGS

PARAMS = {
    "DATA_W": 128, "NUM_SSD": 2, "NUM_NS": 4, "SHA_CORES": 0, "MS_CYCLES": 5000, "SSD_TIMEOUT": 100_000, "NEAR": 1,
    "NEAR_HASHES": 2,
}  # fmt: skip
"""Of the top, where a script says nothing about SSDs: those of its tests too."""
SSD_BYTES = 4 << 20  # of each SSD, at least
GRANULE = 1 << 20
UP_CYCLES = 60_000_000  # in which an SSD that is there comes up, however it was left
SOON_CYCLES = 500_000  # in which one does with which nothing was wrong but its commands
PATIENT_US = 150  # so late a command may be, and is not too late for the card


class CardMachine(Machine):
    """One function, and SSDs of its own."""

    troubled: Callable[[], bool] = staticmethod(lambda: False)  # if some SSD may fail
    patience_us: float = 600_000  # the card waits for an SSD that does not answer, and brings it up again

    def __init__(self, top: str, image: Path, options: dict[str, Any], seed: int) -> None:
        shape = self._shape(top, options)
        memory = MEMORY_PARAMS if shape.memory else {}
        params = {**PARAMS, **memory, "NUM_NS": shape.spaces, **options.get("params", {}), "NUM_SSD": shape.ssds}
        super().__init__(top, image, {**options, "params": params}, seed)

    @property
    def sim(self) -> SwitchSim:
        sim = self.drive.sim
        assert isinstance(sim, SwitchSim)
        return sim

    @property
    def all_bits(self) -> int:
        return (1 << self.shape.ssds) - 1

    def power_on(self, timing: int) -> None:
        size = max(SSD_BYTES, self.functions * GRANULE)
        ssds = backends.drives(self.shape.ssd, self.shape.ssds, size, self.image, timing)
        options = {**TIMINGS[timing % len(TIMINGS)], **self.options}
        sim = open_sim(seed=self.seed, ssds=ssds, **options)
        self.opened(sim)
        self.drive = driver_of(sim, HostMemory(MEMORY_BYTES, seed=self.seed), self.seed, self.patience_us)

    def fault(self, ssd: int, kind: str, opcode: int | None, skip: int, count: int | None, us: int, by: int,
              status: int) -> None:  # fmt: skip
        """What this SSD does from now on, of what its kind can; see `ssd_fault` in steps.py."""
        if self.shape.ssd == "model":
            self.sim.ssds.fault(
                kind, opcode=opcode, skip=skip, count=count, delay_us=us, by=by, status=status, port=ssd
            )
        else:  # bursts of its media, whatever the command
            self._own(ssd).media_error(0, self.sim.ssd_pages * 4096, -1 if count is None else count)

    def faults_clear(self, ssd: int) -> None:
        if self.shape.ssd == "model":
            self.sim.ssds.fault_clear(port=ssd)
        else:
            self._own(ssd).media_error_clear()

    def _own(self, ssd: int) -> Sim:
        drive = self.sim.ssds.drives[ssd]
        assert isinstance(drive, SsdDrive) and drive.sim is not None
        return drive.sim

    def create_try(self, blocks: int, size: int, shared: bool, on: int) -> tuple[Command, int]:
        """on: 0 as any drive does it, else on that SSD (from 1 on), or striped over all."""
        if not on:
            return super().create_try(blocks, size, shared, on)
        granules = -(-blocks * size // GRANULE)
        command = virtual_drives.create_try(self.drive, granules, self.ssds_of(on), block_size=size, shared=shared)
        return command, granules * GRANULE // size

    def ssds_of(self, on: int) -> virtual_drives.Ssds | None:
        number = self.shape.ssds
        if not on:
            return None
        return virtual_drives.Ssds(on - 1) if on <= number else virtual_drives.Ssds(0, number)

    def placed(self, space: Space) -> Space:
        """... with the SSDs that it is on, as the card says."""
        ssds: set[int] = set()
        for place in virtual_drives.where(self.drive, space.nsid):
            if place is not None:
                ssds.update(range(place.ssds.first, place.ssds.first + place.ssds.count))
        space.ssds = frozenset(ssds)
        return space

    def shut_down(self, abrupt: bool) -> None:
        """What an SSD in trouble does not flush is not durable; then CSTS.CFS says so instead (docs/ssd/theory.md)."""
        drive = self.drive
        cc = drive.read32(Reg.CC) & ~(3 << CC_SHN_SHIFT)
        drive.write32(Reg.CC, cc | (CC_SHN_ABRUPT if abrupt else CC_SHN_NORMAL) << CC_SHN_SHIFT)
        end = drive.sim.ns + self.patience_us * 1000
        while (csts := drive.read32(Reg.CSTS)) & CSTS_SHST_MASK != 2 << CSTS_SHST_SHIFT:
            if csts & CSTS_CFS and self.troubled():
                return
            if csts & CSTS_CFS or drive.sim.ns > end:
                raise DeviceTimeout(f"a shutdown, all SSDs being well or it being late: CSTS is {csts:#x}")
            drive.advance(1000)

    def comes_up(self, wanted: int, patient: bool = True) -> bool:
        """Waits until these SSDs (bits) are up; not patient: soon, or not."""
        end = self.sim.cycle + (UP_CYCLES if patient else SOON_CYCLES)
        while self.sim.up & wanted != wanted and self.sim.cycle < end:
            self.drive.advance(1000)
            self.drive.poll()
        return self.sim.up & wanted == wanted

    def _first_look(self) -> None:
        """Of the namespaces of a new card, two an SSD or more, every second goes; one over all SSDs comes."""
        if not self.comes_up(self.all_bits):
            raise DeviceTimeout(f"of new SSDs only {self.sim.up:#b} are up")
        for nsid in range(2, self.shape.spaces + 1, 2):
            namespaces.delete(self.drive, nsid)
        command, _ = self.create_try(GRANULE // 4096, 4096, False, self.shape.ssds + 1)
        namespaces.attach(self.drive, command.check().dw0)
        self.drive.identify_all()
        super()._first_look()
