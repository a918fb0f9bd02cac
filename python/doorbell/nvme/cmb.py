# SPDX-License-Identifier: Apache-2.0
"""A Controller Memory Buffer as memory for queues, lists and data: card memory behind BAR 4 (Base 2.0, 8.5).

    drive.start(queues=0)
    cmb = map_cmb(drive, 0x40_0000_0000)
    drive.create_sq(1, 64, 1, memory=cmb)
    buffer = Buffer(cmb, 4096)

Entries of queues are written and read through BAR 4, as a host has to. Data and lists are the memory itself: who moves
them (a peer device, or nobody) is the caller's business. What a command has written is there after `settle`.
"""

from __future__ import annotations

from typing import Any

from doorbell.nvme.constants import PAGE_SIZE, Reg
from doorbell.nvme.controller import Controller
from doorbell.nvme.errors import ProtocolError
from doorbell.nvme.memory import HostMemory

CAP_CMBS = 1 << 57
CMBMSC_CRE = 1 << 0
CMBMSC_CMSE = 1 << 1
CMBSZ_UNIT_LOG2 = (12, 16, 20, 24, 28, 32, 36)


class Cmb(HostMemory):
    """The buffer of one function. `base`: where the controller has it among the addresses that it is told."""

    def __init__(self, sim: Any, base: int, size: int, bar: int) -> None:
        self.size, self.base = size, base
        self.view = sim.card_view(sim.fn)
        self._sim, self._bar = sim, bar
        self._begin()

    def store(self, offset: int, data: bytes) -> None:
        """Write at an offset, through the BAR."""
        self._sim.mmio_write(self._bar + offset, data)

    def settle(self) -> None:
        """What the controller has written is in memory: a read through the BAR comes behind it."""
        self.load(0, 4)

    def load(self, offset: int, nbytes: int) -> bytes:
        return self._sim.mmio_read(self._bar + offset, nbytes).to_bytes(nbytes, "little")


def map_cmb(drive: Controller, base: int) -> Cmb:
    """Enable the buffer at this address. Raises `ProtocolError` if there is none, or it is not where it should be."""
    sim: Any = drive.sim
    if not drive.read64(Reg.CAP) & CAP_CMBS:
        raise ProtocolError("the controller has no Controller Memory Buffer")
    drive.write64(Reg.CMBMSC, CMBMSC_CRE)
    location, size = drive.read32(Reg.CMBLOC), drive.read32(Reg.CMBSZ)
    if location & 7 != 4 or location >> 12:
        raise ProtocolError(f"the Controller Memory Buffer is not at the begin of BAR 4 (CMBLOC {location:#x})")
    nbytes = (size >> 12) << CMBSZ_UNIT_LOG2[size >> 8 & 15]
    if not nbytes or base % PAGE_SIZE:
        raise ProtocolError(f"a buffer of {nbytes} bytes at {base:#x}")
    drive.write64(Reg.CMBMSC, base | CMBMSC_CMSE | CMBMSC_CRE)
    if drive.read32(Reg.CMBSTS) & 1:
        raise ProtocolError(f"the controller does not take {base:#x} for its memory buffer")
    return Cmb(sim, base, nbytes, sim.BAR_4)
