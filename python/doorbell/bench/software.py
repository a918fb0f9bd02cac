# SPDX-License-Identifier: Apache-2.0
"""What software takes that no simulated drive shows: parameters, and a clock that they pass on.

What a processor does with the data of a command is not among them: as if it took no time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from doorbell.nvme.driver import Driver


@dataclass(frozen=True)
class Costs:
    """Nanoseconds. A write of a register has none of its own: it is one of the link, simulated.

    interrupt: from the message to the thread that waits for it ("on the order of a microsecond": AMD, UG1586).
    vm_exit: to the hypervisor and back, 2,000 cycles at 2.93 GHz (Landau, Ben-Yehuda, Gordon, SplitX, WIOV 2011).
    """

    interrupt_ns: float = 1000.0
    vm_exit_ns: float = 683.0


class Software:
    """Whose steps take their time in the simulation, and are counted."""

    def __init__(self, drive: Driver, costs: Costs = Costs()) -> None:  # noqa: B008
        self.drive, self.costs = drive, costs
        self.steps: Counter[str] = Counter()
        self.begun_ns = drive.sim.ns

    def _spend(self, what: str, ns: float, count: int) -> None:
        self.steps[what] += count
        self.drive.advance(round(ns * count * self.drive.sim.clock_mhz / 1000))  # type: ignore[attr-defined]

    def interrupt(self, count: int = 1) -> None:
        self._spend("interrupts", self.costs.interrupt_ns, count)

    def vm_exit(self, count: int = 1) -> None:
        self._spend("vm_exits", self.costs.vm_exit_ns, count)

    @property
    def us(self) -> float:
        """Since it began."""
        return (self.drive.sim.ns - self.begun_ns) / 1000

    @property
    def own_us(self) -> float:
        """Of these its own steps."""
        costs = self.costs
        return (self.steps["interrupts"] * costs.interrupt_ns + self.steps["vm_exits"] * costs.vm_exit_ns) / 1000
