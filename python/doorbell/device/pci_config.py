# SPDX-License-Identifier: Apache-2.0
"""PCI configuration space of our NVMe functions, as software sees it through the vfio-user server.

In hardware this is the PCIe hard block's; the controller only sees what comes out of it (`cfg_*` ports). Type 0 header,
a 64-bit BAR, another one (BAR 4, card memory) where there is such, and the capabilities
PM, MSI-X and PCI Express (endpoint, function-level reset). A physical function
with VFs has SR-IOV and ARI, too; a VF's space is VfConfig. Sections: PCI Express Base Specification 5.0.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from doorbell.nvme.vendor import BAR_BYTES, BAR_MSIX_PBA, BAR_MSIX_TABLE

VENDOR_ID = 0x1234
DEVICE_ID = 0xDB01
VF_DEVICE_ID = 0xDB11
CLASS_CODE = 0x010802  # mass storage, non-volatile memory, NVM Express
SIZE = 4096
BAR0_SIZE, MSIX_TABLE, MSIX_PBA = BAR_BYTES, BAR_MSIX_TABLE, BAR_MSIX_PBA

PM, MSIX, PCIE = 0x40, 0x50, 0x60  # where the capabilities are
COMMAND, STATUS, BAR0, BAR4, INTERRUPT_LINE = 0x04, 0x06, 0x10, 0x20, 0x3C
MSIX_CONTROL, DEVICE_CONTROL, DEVICE_STATUS, LINK_CONTROL = MSIX + 2, PCIE + 0x08, PCIE + 0x0A, PCIE + 0x10

COMMAND_MEMORY, COMMAND_BUS_MASTER, COMMAND_INTX_DISABLE = 1 << 1, 1 << 2, 1 << 10
STATUS_INTERRUPT = 1 << 3
DEVICE_CONTROL_FLR = 1 << 15
DEFAULT_MRRS = 2  # 512 bytes, as the specification wants it after reset

ARI, SRIOV = 0x100, 0x140  # extended capabilities
ARI_ID, SRIOV_ID = 0x0E, 0x10
SRIOV_CONTROL, INITIAL_VFS, TOTAL_VFS, NUM_VFS = SRIOV + 0x08, SRIOV + 0x0C, SRIOV + 0x0E, SRIOV + 0x10
FIRST_VF_OFFSET, VF_STRIDE, VF_DEVICE = SRIOV + 0x14, SRIOV + 0x16, SRIOV + 0x1A
PAGE_SIZES, PAGE_SIZE, VF_BAR0, VF_BAR4 = SRIOV + 0x1C, SRIOV + 0x20, SRIOV + 0x24, SRIOV + 0x34
VF_ENABLE, VF_MEMORY = 1 << 0, 1 << 3  # of the control register
FIRST_VF = 4  # from the PF's routing id to that of VF 1
MOST_VFS = 16


@dataclass(frozen=True)
class PciState:
    """What the controller sees of the configuration space."""

    bus_master: bool
    intx_disable: bool
    mps: int  # 0 = 128 bytes, 1 = 256 ...
    mrrs: int
    vfs: int = 0  # that are enabled


class PciConfig:
    """Configuration space with read-only, writable and write-one-to-clear bits."""

    def __init__(
        self, vectors: int, *, gen: int = 3, lanes: int = 8, max_payload: int = 2, vfs: int = 0, bar4: int = 0
    ) -> None:
        """vectors: 1..2048 MSI-X vectors. gen 1..5, lanes 1..16: the link. max_payload: supported, 0 = 128 bytes.
        vfs: that it may have, 0..16. bar4: bytes of BAR 4 of each function, a power of two; 0: it has none."""
        if not (1 <= vectors <= 2048 and 1 <= gen <= 5 and 1 <= lanes <= 16 and 0 <= max_payload <= 5):
            raise ValueError("vectors 1..2048, gen 1..5, lanes 1..16, max_payload 0..5")
        if not 0 <= vfs <= MOST_VFS:
            raise ValueError(f"vfs 0..{MOST_VFS}")
        self.vectors, self.total_vfs, self.bar4 = vectors, vfs, bar4
        self._max_payload = max_payload
        self._initial = bytearray(SIZE)
        self._writable = bytearray(SIZE)
        self._clear_by_one = bytearray(SIZE)
        self._lay_out(gen, lanes)
        self._bytes = bytearray(self._initial)

    def _put(self, fmt: str, offset: int, value: int, writable: int = 0) -> None:
        struct.pack_into("<" + fmt, self._initial, offset, value)
        struct.pack_into("<" + fmt, self._writable, offset, writable)

    def _lay_out(self, gen: int, lanes: int) -> None:
        put = self._put
        put("I", 0x00, DEVICE_ID << 16 | VENDOR_ID)
        put("H", COMMAND, 0, 0x0546)  # SERR, parity, INTx disable, bus master, memory
        put("H", STATUS, 0x0010)  # capabilities list
        struct.pack_into("<H", self._clear_by_one, STATUS, 0xF900)
        put("I", 0x08, CLASS_CODE << 8 | 0x01)
        put("B", 0x0C, 0, 0xFF)  # cache line size: no function
        put("I", BAR0, 0x4, 0xFFFFFFFF & ~(BAR0_SIZE - 1))  # 64-bit, not prefetchable
        put("I", BAR0 + 4, 0, 0xFFFFFFFF)
        if self.bar4:
            put("I", BAR4, 0xC, 0xFFFFFFFF & ~(self.bar4 - 1))  # 64-bit, prefetchable: memory
            put("I", BAR4 + 4, 0, 0xFFFFFFFF)
        put("I", 0x2C, DEVICE_ID << 16 | VENDOR_ID)  # subsystem
        put("B", 0x34, PM)
        put("B", INTERRUPT_LINE, 0, 0xFF)
        put("B", 0x3D, 1)  # INTA

        put("I", PM, MSIX << 8 | 0x01 | 3 << 16)  # version 1.2, no PME
        put("H", PM + 4, 0x0008, 0x0003)  # no reset from D3hot to D0; power state

        put("I", MSIX, PCIE << 8 | 0x11 | (self.vectors - 1) << 16, 0xC000_0000)  # enable, function mask
        put("I", MSIX + 4, MSIX_TABLE)
        put("I", MSIX + 8, MSIX_PBA)

        put("I", PCIE, 0x10 | 0x2 << 16)  # version 2, endpoint, last capability
        # MPS supported, extended tags, L0s and L1 latencies any, role-based errors, FLR
        put("I", PCIE + 0x04, self._max_payload | 1 << 5 | 7 << 6 | 7 << 9 | 1 << 15 | 1 << 28)
        put("H", DEVICE_CONTROL, 0x0010 | 0x0100 | DEFAULT_MRRS << 12, 0x7FFF)  # relaxed ordering, extended tags on
        struct.pack_into("<H", self._clear_by_one, DEVICE_STATUS, 0x000F)
        put("I", PCIE + 0x0C, gen | lanes << 4)
        put("H", LINK_CONTROL, 0, 0x00C0)  # common clock, extended synch
        put("H", PCIE + 0x12, gen | lanes << 4)
        put("I", PCIE + 0x24, 0x1F)  # completion timeout ranges A to D, disable
        put("H", PCIE + 0x28, 0, 0x001F)
        put("I", PCIE + 0x2C, ((1 << gen) - 1) << 1)  # speeds up to gen
        put("H", PCIE + 0x30, gen, 0x000F)
        if self.total_vfs:
            self._lay_out_sriov()

    def _lay_out_sriov(self) -> None:
        put = self._put
        put("I", ARI, ARI_ID | 1 << 16 | SRIOV << 20)  # version 1; no next physical function
        put("I", SRIOV, SRIOV_ID | 1 << 16)  # version 1, the last one
        put("I", SRIOV + 0x04, 1 << 1)  # its numbers are the same in an ARI hierarchy
        put("H", SRIOV_CONTROL, 0, VF_ENABLE | VF_MEMORY | 1 << 4)  # 1 << 4: in an ARI hierarchy
        put("H", INITIAL_VFS, self.total_vfs)
        put("H", TOTAL_VFS, self.total_vfs)
        put("H", NUM_VFS, 0, 0xFFFF)
        put("H", FIRST_VF_OFFSET, FIRST_VF)
        put("H", VF_STRIDE, 1)
        put("H", VF_DEVICE, VF_DEVICE_ID)
        put("I", PAGE_SIZES, 0x553)  # 4 KiB, 8, 64, 256, 1 MiB, 4: those that every device has to have
        put("I", PAGE_SIZE, 1, 0x553)
        put("I", VF_BAR0, 0x4, 0xFFFFFFFF & ~(BAR0_SIZE - 1))
        put("I", VF_BAR0 + 4, 0, 0xFFFFFFFF)
        if self.bar4:
            put("I", VF_BAR4, 0xC, 0xFFFFFFFF & ~(self.bar4 - 1))
            put("I", VF_BAR4 + 4, 0, 0xFFFFFFFF)

    def reset(self) -> None:
        """What a function-level reset does to it."""
        self._bytes[:] = self._initial
        struct.pack_into("<I", self._writable, VF_BAR0, 0xFFFFFFFF & ~(BAR0_SIZE - 1) if self.total_vfs else 0)

    def read(self, offset: int, size: int) -> bytes:
        return bytes(self._bytes[offset : offset + size])

    def write(self, offset: int, data: bytes) -> bool:
        """Write; true if that asks for a function-level reset."""
        sriov = self._bytes[SRIOV : SRIOV + 0x40] if self.total_vfs else b""
        for at, new in enumerate(data, offset):
            mask = self._writable[at]
            self._bytes[at] = (self._bytes[at] & ~mask | new & mask) & ~(new & self._clear_by_one[at]) & 0xFF
        if sriov != self._bytes[SRIOV : SRIOV + len(sriov)]:
            self._sriov_written(sriov)
        at = DEVICE_CONTROL + 1 - offset
        return 0 <= at < len(data) and bool(data[at] & DEVICE_CONTROL_FLR >> 8)

    def _sriov_written(self, before: bytes) -> None:
        """Values that there are not leave what was there; so does a change of what is fixed while VFs are enabled
        (9.3.3.7, 9.3.3.13)."""

        def keep(offset: int, size: int) -> None:
            self._bytes[offset : offset + size] = before[offset - SRIOV : offset - SRIOV + size]

        enabled = before[SRIOV_CONTROL - SRIOV] & VF_ENABLE
        if enabled or self._word(NUM_VFS) > self.total_vfs:
            keep(NUM_VFS, 2)
        page = int.from_bytes(self._bytes[PAGE_SIZE : PAGE_SIZE + 4], "little")
        if enabled or page.bit_count() != 1:
            keep(PAGE_SIZE, 4)
            page = int.from_bytes(self._bytes[PAGE_SIZE : PAGE_SIZE + 4], "little")
        # The BAR of a VF is a page at least (9.3.3.14)
        mask = 0xFFFFFFFF & ~(max(BAR0_SIZE, page << 12) - 1)
        struct.pack_into("<I", self._writable, VF_BAR0, mask)
        bar = int.from_bytes(self._bytes[VF_BAR0 : VF_BAR0 + 4], "little")
        struct.pack_into("<I", self._bytes, VF_BAR0, bar & mask | 0x4)

    def enable_vfs(self, count: int) -> None:
        """What software does to have VFs 1 to `count`: NumVFs, then VF Enable and VF MSE."""
        self.write(SRIOV_CONTROL, bytes(2))
        self.write(NUM_VFS, struct.pack("<H", count))
        self.write(SRIOV_CONTROL, struct.pack("<H", VF_ENABLE | VF_MEMORY))

    def set_interrupt(self, asserted: bool) -> None:
        """The status register's copy of the INTx level."""
        self._bytes[STATUS] = self._bytes[STATUS] & ~STATUS_INTERRUPT | (STATUS_INTERRUPT if asserted else 0)

    @property
    def state(self) -> PciState:
        command, control = self._word(COMMAND), self._word(DEVICE_CONTROL)
        return PciState(
            bus_master=bool(command & COMMAND_BUS_MASTER),
            intx_disable=bool(command & COMMAND_INTX_DISABLE),
            mps=min(control >> 5 & 7, self._max_payload),
            mrrs=min(control >> 12 & 7, 5),
            vfs=self._word(NUM_VFS) if self._word(SRIOV_CONTROL) & VF_ENABLE else 0,
        )

    def _word(self, offset: int) -> int:
        return int.from_bytes(self._bytes[offset : offset + 2], "little")


class VfConfig(PciConfig):
    """Configuration space of a VF.

    Behind its PF's SR-IOV capability it has no ids and no BARs of its own: software takes them from there (9.3.4.1).
    Offered alone, as a device of its own, it has them: that is how a guest sees a VF.
    """

    def __init__(
        self, vectors: int, *, gen: int = 3, lanes: int = 8, max_payload: int = 2, alone: bool = True, bar4: int = 0
    ) -> None:
        """As of a PciConfig. alone: not behind an SR-IOV capability."""
        self._alone = alone
        super().__init__(vectors, gen=gen, lanes=lanes, max_payload=max_payload, bar4=bar4)

    def _lay_out(self, gen: int, lanes: int) -> None:
        super()._lay_out(gen, lanes)
        put = self._put
        put("B", INTERRUPT_LINE, 0)
        put("B", 0x3D, 0)  # no INTx
        # What a VF takes from its PF is not there to be written: payload sizes, relaxed ordering, tags, the link.
        put("H", DEVICE_CONTROL, 0)
        put("H", LINK_CONTROL, 0)
        put("H", PCIE + 0x28, 0)
        put("H", PCIE + 0x30, 0)
        if self._alone:
            put("H", 0x02, VF_DEVICE_ID)
            put("H", COMMAND, 0, COMMAND_MEMORY | COMMAND_BUS_MASTER)
            return
        put("I", 0x00, 0xFFFFFFFF)
        put("H", COMMAND, 0, COMMAND_BUS_MASTER)  # memory is VF MSE's
        put("I", BAR0, 0)
        put("I", BAR0 + 4, 0)
        put("I", BAR4, 0)
        put("I", BAR4 + 4, 0)
        put("I", ARI, ARI_ID | 1 << 16)
