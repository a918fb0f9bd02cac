# SPDX-License-Identifier: Apache-2.0
"""What a simulated device says: interrupts, events, accesses to host memory, and why it cannot go on."""

from __future__ import annotations

from typing import NamedTuple

from doorbell.errors import UserError


class SimError(UserError):
    """The simulator cannot do what was asked of it."""


class MmioError(SimError):
    """A read of the device's registers was refused (UR), spoiled or not answered in time."""


class Irq(NamedTuple):
    """A message-signalled interrupt: cycle of arrival, address and data."""

    cycle: int
    addr: int
    data: int


class Event(NamedTuple):
    """Something recorded: kind is one of EVENTS; what a and b are, sim/interface/db_sim.h says."""

    cycle: int
    kind: str
    a: int
    b: int


class Traffic(NamedTuple):
    """What a function has moved: bytes that it wrote to host memory and read there, interrupts."""

    written: int
    read: int
    interrupts: int


class DmaRequest(NamedTuple):
    """Access of the device to a region without memory. `data` is None for a read, which `dma_complete` must answer."""

    id: int
    address: int
    size: int
    data: bytes | None


class Stray(NamedTuple):
    """An access that the IOMMU has refused. owner: who had the page last, or has it for another use (0: nobody ever).
    returned: the cycle in which it was given back; 0: it was not."""

    cycle: int
    addr: int
    size: int
    write: bool
    fn: int
    owner: int
    returned: int
