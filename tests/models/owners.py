# SPDX-License-Identifier: Apache-2.0
"""Owners of functions of one drive, side by side: some work and check what they get, while another may do anything.

Time is shared: whatever one of them waits for, the others go on meanwhile.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from doorbell.device.function import VirtualFunction
from doorbell.nvme import namespaces, virtualization
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import NsAttach, NvmOpc
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import Buffer, HostMemory

SIZE = 4096
PLACES = 1024
SLICE = 2000  # cycles between two looks at what others have to do


class Owner:
    """Reads and writes places of 4 KiB, `depth` commands on each queue, and checks what it reads."""

    def __init__(self, drive: Driver, depth: int, seed: int, first: int, read_share: float = 0.5) -> None:
        """first: block of its first place; it has PLACES of them."""
        self.drive, self.depth, self.read_share, self.first = drive, depth, read_share, first
        self.rng = random.Random(seed)
        self.blocks = SIZE // drive.block_size
        self.holds: list[bytes] = [bytes(8)] * PLACES  # what each place has, eight bytes again and again
        self.busy: set[int] = set()
        self.free: list[Buffer] = [drive.buffer(SIZE) for _ in range(depth * (len(drive.sqs) - 1))]
        self.stamp = seed << 40
        self.done = 0
        self.working = True
        self.slowest_ns = 0.0

    def fill(self) -> None:
        drive = self.drive
        for qid, sq in drive.sqs.items():
            while qid and self.working and self.free and len(sq.pending) < self.depth:
                place = self.rng.randrange(len(self.holds))
                if place in self.busy:
                    continue
                self.busy.add(place)
                buffer = self.free.pop()
                if self.rng.random() < self.read_share:
                    opcode, data = NvmOpc.READ, b"unwritten "[:8]
                else:
                    self.stamp += 1
                    opcode, data = NvmOpc.WRITE, self.stamp.to_bytes(8, "little")
                buffer.write(data * (SIZE // 8))
                slba = self.first + place * self.blocks
                drive.submit(qid, opcode, slba, self.blocks - 1, buffer, user=(place, data))
        drive.ring()

    def serve(self) -> None:
        for command in self.drive.poll():
            self._check(command)
        self.fill()

    def _check(self, command: Command) -> None:
        command.check()
        place, data = command.user
        assert command.buffer is not None
        if command.opcode == NvmOpc.READ:
            assert command.buffer.read() == self.holds[place] * (SIZE // 8), f"place {place} has other data"
        else:
            self.holds[place] = data
        self.slowest_ns = max(self.slowest_ns, command.done_ns - command.started_ns)
        self.busy.discard(place)
        self.free.append(command.buffer)
        self.done += 1


class Street:
    """The owners that work. `run` lets time go by, with all of them served."""

    def __init__(self, sim: Any, owners: dict[int, Owner]) -> None:
        """owners: by the index of their function."""
        self.sim, self.owners = sim, owners

    def run(self, cycles: int, until: Callable[[], Any] = lambda: False) -> None:
        end = self.sim.cycle + cycles
        while not until() and self.sim.cycle < end:
            for fn in self.sim.run_any(min(SLICE, end - self.sim.cycle), self.owners):
                self.owners[fn].serve()

    def start(self) -> None:
        for o in self.owners.values():
            o.fill()

    def finish(self, patience_us: float = 20_000) -> None:
        """All commands come back, and all places have what was written last."""
        for o in self.owners.values():
            o.working = False
        self.run(int(patience_us * 250), lambda: not any(o.busy for o in self.owners.values()))
        for fn, o in self.owners.items():
            assert not o.busy, f"function {fn} has lost {len(o.busy)} commands"
            o.working, o.read_share = True, 1.0
            o.fill()
        self.run(50_000)
        for o in self.owners.values():
            o.working = False
        self.run(int(patience_us * 250), lambda: not any(o.busy for o in self.owners.values()))
        assert not any(o.busy for o in self.owners.values())


class SharedTime(VirtualFunction):
    """A VF whose driver may wait as long as it likes: the owners of the street are served meanwhile."""

    street: Street | None = None

    def run(self, cycles: int, until_irq: bool = False, **_: Any) -> str:
        if self.street is None:
            return super().run(cycles, until_irq)
        self.street.run(int(cycles), lambda: until_irq and self.interrupted)
        return "irq" if until_irq and self.interrupted else "budget"

    @property
    def interrupted(self) -> bool:
        return bool(self._sim._lib.irqs_wait(self._sim._h) >> self.fn & 1)


def bring_up_functions(
    pf: Driver, *, queues: dict[int, int], entries: int = 64, memory: int = 24 << 20, hostile: int = 0, new: bool = True
) -> list[Driver]:
    """The PF and VFs, each with queues (by function); namespace 1 is everybody's. hostile: the VF with SharedTime.

    new: the drive does not know yet whose namespace 1 is.
    """
    pf.start(queues=queues[0], entries=entries)
    pf.sim.enable_vfs(len(queues) - 1)
    drives = [pf]
    for fn, count in queues.items():
        if not fn:
            continue
        if new:
            namespaces.attachment_try(pf, 1, NsAttach.ATTACH, (fn,)).check()
        virtualization.assign(pf, fn, queues=count, interrupts=min(8, count + 1))
        virtualization.online(pf, fn)
        view = SharedTime(pf.sim, fn) if fn == hostile else pf.sim.function(fn)
        drive = Driver(view, HostMemory(memory, pf.memory.base + (fn << 36), seed=fn), seed=fn)
        drive.start(queues=count, entries=entries, vectors=min(count, 7))
        drives.append(drive)
    return drives
