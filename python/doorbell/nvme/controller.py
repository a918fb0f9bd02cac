# SPDX-License-Identifier: Apache-2.0
"""A controller's registers, as a host uses them: access, waiting for CSTS, MSI-X vectors, shutdown."""

from __future__ import annotations

from doorbell.nvme.backend import Backend
from doorbell.nvme.constants import (
    CC_SHN_ABRUPT,
    CC_SHN_NORMAL,
    CC_SHN_SHIFT,
    CSTS_CFS,
    CSTS_RDY,
    CSTS_SHST_MASK,
    CSTS_SHST_SHIFT,
    Reg,
)
from doorbell.nvme.errors import DeviceTimeout, ProtocolError
from doorbell.nvme.structures import Cap
from doorbell.nvme.vendor import BAR_MSIX_TABLE

MSI_ADDRESS = 0xFEE0_0000  # x86's window for message-signalled interrupts


class Controller:
    """BAR 0 of one controller, and the time that its device lives in."""

    def __init__(self, sim: Backend, ready_timeout_us: float) -> None:
        self.sim = sim
        self.most_ready_us = ready_timeout_us  # CAP.TO is for real hosts: half a minute would be 10^10 cycles here
        self.cap: Cap | None = None
        self.masked: set[int] = set()

    def read32(self, offset: int) -> int:
        return self.sim.mmio_read(offset, 4)

    def write32(self, offset: int, value: int) -> None:
        self.sim.mmio_write(offset, value, 4)

    def read64(self, offset: int) -> int:
        return self.sim.mmio_read(offset, 8)

    def write64(self, offset: int, value: int) -> None:
        self.sim.mmio_write(offset, value, 8)

    def advance(self, cycles: int, *, until_irq: bool = False) -> None:
        """Run the device's clock. Raises if an assertion of the RTL failed."""
        if self.sim.run(cycles, until_irq=until_irq) == "rtl":
            raise ProtocolError(f"an assertion of the RTL failed at {self.sim.ns:.0f} ns (its text is on stdout)")

    def cycles(self, us: float) -> int:
        """Clock cycles in so many microseconds (250 MHz nominal)."""
        return int(us * 250)

    def wait_csts(self, mask: int, value: int, timeout_us: float, what: str) -> int:
        """Poll CSTS, with growing pauses, until `CSTS & mask == value`."""
        limit = self.sim.ns + timeout_us * 1000
        pause = 250
        while True:
            csts = self.read32(Reg.CSTS)
            if csts & mask == value:
                return csts
            if csts == 0xFFFFFFFF:
                raise DeviceTimeout(f"{what}: the controller is gone (CSTS reads all ones)")
            if csts & CSTS_CFS and not mask & CSTS_CFS and value & CSTS_RDY:
                raise ProtocolError(f"{what}: controller fatal status (CSTS {csts:#x})")
            if self.sim.ns > limit:
                raise DeviceTimeout(f"{what}: CSTS is still {csts:#x} after {timeout_us / 1000:.0f} ms")
            self.advance(pause)
            pause = min(pause * 2, 25_000)

    def ready_timeout_us(self) -> float:
        """CAP.TO, or what this driver's user has patience for."""
        cap = self.cap or Cap.decode(self.read64(Reg.CAP))
        return min(max(cap.to, 1) * 500_000.0, self.most_ready_us)

    def setup_msix(self, vectors: int) -> None:
        """Enable bus master and MSI-X; give vector v the message MSI_ADDRESS, v and unmask it."""
        self.sim.set_cfg(bus_master=True, msix_enable=True, msix_mask=False)
        for v in range(vectors):
            self.write_vector(v)
        self.masked.clear()

    def write_vector(self, vector: int, *, masked: bool = False) -> None:
        entry = BAR_MSIX_TABLE + 16 * vector
        self.write32(entry, MSI_ADDRESS)
        self.write32(entry + 4, 0)
        self.write32(entry + 8, vector)
        self.write32(entry + 12, int(masked))

    def mask_vector(self, vector: int, masked: bool) -> None:
        self.write32(BAR_MSIX_TABLE + 16 * vector + 12, int(masked))
        (self.masked.add if masked else self.masked.discard)(vector)

    def shutdown(self, *, abrupt: bool = False) -> None:
        """CC.SHN, then wait for CSTS.SHST = complete (Base 2.0, 3.6.1). Queues stay until `disable`."""
        cc = self.read32(Reg.CC) & ~(3 << CC_SHN_SHIFT)
        self.write32(Reg.CC, cc | (CC_SHN_ABRUPT if abrupt else CC_SHN_NORMAL) << CC_SHN_SHIFT)
        self.wait_csts(CSTS_SHST_MASK, 2 << CSTS_SHST_SHIFT, self.most_ready_us, "waiting for shutdown")
