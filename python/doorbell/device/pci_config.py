# SPDX-License-Identifier: Apache-2.0
"""PCI configuration space of our NVMe function, as software sees it through the vfio-user server.

In hardware this is the PCIe hard block's; the controller only sees what comes out of it (`cfg_*` ports). Type 0 header,
one 64-bit BAR, and the capabilities PM, MSI-X and PCI Express (endpoint, function-level reset).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from doorbell.nvme.vendor import BAR_BYTES, BAR_MSIX_PBA, BAR_MSIX_TABLE

VENDOR_ID = 0x1234
DEVICE_ID = 0xDB01
CLASS_CODE = 0x010802  # mass storage, non-volatile memory, NVM Express
SIZE = 4096
BAR0_SIZE, MSIX_TABLE, MSIX_PBA = BAR_BYTES, BAR_MSIX_TABLE, BAR_MSIX_PBA

PM, MSIX, PCIE = 0x40, 0x50, 0x60  # where the capabilities are
COMMAND, STATUS, BAR0, INTERRUPT_LINE = 0x04, 0x06, 0x10, 0x3C
MSIX_CONTROL, DEVICE_CONTROL, DEVICE_STATUS, LINK_CONTROL = MSIX + 2, PCIE + 0x08, PCIE + 0x0A, PCIE + 0x10

COMMAND_MEMORY, COMMAND_BUS_MASTER, COMMAND_INTX_DISABLE = 1 << 1, 1 << 2, 1 << 10
STATUS_INTERRUPT = 1 << 3
DEVICE_CONTROL_FLR = 1 << 15
DEFAULT_MRRS = 2  # 512 bytes, as the specification wants it after reset


@dataclass(frozen=True)
class PciState:
    """What the controller sees of the configuration space."""

    bus_master: bool
    intx_disable: bool
    mps: int  # 0 = 128 bytes, 1 = 256 ...
    mrrs: int


class PciConfig:
    """Configuration space with read-only, writable and write-one-to-clear bits."""

    def __init__(self, vectors: int, *, gen: int = 3, lanes: int = 8, max_payload: int = 2) -> None:
        """vectors: 1..2048 MSI-X vectors. gen 1..5, lanes 1..16: the link. max_payload: supported, 0 = 128 bytes."""
        if not (1 <= vectors <= 2048 and 1 <= gen <= 5 and 1 <= lanes <= 16 and 0 <= max_payload <= 5):
            raise ValueError("vectors 1..2048, gen 1..5, lanes 1..16, max_payload 0..5")
        self.vectors = vectors
        self._max_payload = max_payload
        self._initial = bytearray(SIZE)
        self._writable = bytearray(SIZE)
        self._clear_by_one = bytearray(SIZE)
        self._lay_out(gen, lanes)
        self._bytes = bytearray(self._initial)

    def _lay_out(self, gen: int, lanes: int) -> None:
        def put(fmt: str, offset: int, value: int, writable: int = 0) -> None:
            struct.pack_into("<" + fmt, self._initial, offset, value)
            struct.pack_into("<" + fmt, self._writable, offset, writable)

        put("I", 0x00, DEVICE_ID << 16 | VENDOR_ID)
        put("H", COMMAND, 0, 0x0546)  # SERR, parity, INTx disable, bus master, memory
        put("H", STATUS, 0x0010)  # capabilities list
        struct.pack_into("<H", self._clear_by_one, STATUS, 0xF900)
        put("I", 0x08, CLASS_CODE << 8 | 0x01)
        put("B", 0x0C, 0, 0xFF)  # cache line size: no function
        put("I", BAR0, 0x4, 0xFFFFFFFF & ~(BAR0_SIZE - 1))  # 64-bit, not prefetchable
        put("I", BAR0 + 4, 0, 0xFFFFFFFF)
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

    def reset(self) -> None:
        """What a function-level reset does to it."""
        self._bytes[:] = self._initial

    def read(self, offset: int, size: int) -> bytes:
        return bytes(self._bytes[offset : offset + size])

    def write(self, offset: int, data: bytes) -> bool:
        """Write; true if that asks for a function-level reset."""
        for at, new in enumerate(data, offset):
            mask = self._writable[at]
            self._bytes[at] = (self._bytes[at] & ~mask | new & mask) & ~(new & self._clear_by_one[at]) & 0xFF
        at = DEVICE_CONTROL + 1 - offset
        return 0 <= at < len(data) and bool(data[at] & DEVICE_CONTROL_FLR >> 8)

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
        )

    def _word(self, offset: int) -> int:
        return int.from_bytes(self._bytes[offset : offset + 2], "little")
