# SPDX-License-Identifier: Apache-2.0
"""The step "execute": Execute Program on the window of a function's memory (docs/csd/programs.md). It activates what it
executes, and makes a set of ranges for it; who loads a program deactivates the old one first."""

from __future__ import annotations

from doorbell.compute.near import PROGRAMS, Crypt
from doorbell.compute.programs import Programs
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.soak.generate import MEMORY_CELLS
from doorbell.soak.grants import GrantingDriver
from doorbell.soak.judge import Failure, Judge, Sent
from doorbell.soak.machine import Machine
from doorbell.soak.model import CELL
from doorbell.soak.near import Look
from doorbell.soak.near_kinds import record_of
from doorbell.soak.near_messages import brings
from doorbell.soak.steps import Step

SETS = 4  # of a function
GRANULE = 512  # bytes: of what is looked at
PHASES = 1 << 16


class Executes:
    """A part of Player. active: programs that are; sets: of ranges that there are."""

    machine: Machine
    judge: Judge
    commands: int
    active: set[int]
    sets: list[int]

    @property
    def drive(self) -> GrantingDriver:
        return self.machine.drive

    def settle(self, nsid: int | None = None) -> None:
        raise NotImplementedError

    def do_execute(self, step: Step) -> None:
        model, number = self.machine.model, step["number"] % PROGRAMS
        memory, program = model.memory, model.programs[number]
        if memory is None or step["q"] not in self.drive.sqs or (program is not None and brings(program)):
            return
        own = self.machine.own
        assert own is not None
        # What it looks at is in one half of the window, its result in the other.
        half = MEMORY_CELLS // 2
        size = max(1, min(step["size"] * CELL // GRANULE, 16)) * GRANULE
        at = step["at"] % (half - size // CELL)
        room = max(1, min(step["room"] // 64, size // 64)) * 64
        to = half + step["to"] % (half - room // CELL)
        rsid = self._ready(own, number, at, size, to, room) if program is not None else 1
        if not self.drive.sqs[step["q"]].room():
            return
        length = size if step["length"] < 0 else max(1, min(step["length"], size))
        blocks = -(-length // GRANULE)
        phase = step["phase"] % record_of(program, PHASES)
        look = Look(step["block"], length, min(room, blocks * GRANULE), phase, number, [program], memory=b"")
        if isinstance(program, Crypt):
            look.slot = model.slot_for_programs(program.slot)
            look.key = model.keys.get(look.slot, 0) if look.slot is not None else 0
        pending = memory.blocks.begin_unknown(to, look.room // CELL) if program else memory.blocks.begin(NvmOpc.FLUSH)
        reads = [memory.blocks.begin(NvmOpc.VERIFY, at, blocks * GRANULE // CELL)]
        command = own.submit(
            number, rsid, length, phase=phase, block=look.slba, qid=step["q"], on_done=self.judge.end
        )  # fmt: skip
        allowed: set[int] = {Status.SUCCESS if program else Status.NO_PROGRAM}
        self.judge.begin(
            command,
            Sent(memory, pending, allowed, None, nsid=memory.nsid, look=look if program else None, source=memory,
                 reads=reads, executes=True),
        )  # fmt: skip
        self.commands += 1
        if step["ring"]:
            self.drive.ring()

    def _ready(self, own: Programs, number: int, at: int, size: int, to: int, room: int) -> int:
        """The program is active, and there is a set of these ranges; its RSID."""
        if number not in self.active:
            own.activate(number)
            self.active.add(number)
        if len(self.sets) == SETS:
            self.settle()
            while self.sets:
                own.delete_ranges_try(self.sets.pop()).check()
        first = self.machine.memory_at
        rsid = own.create_ranges((first + at * CELL, size), (first + to * CELL, room))
        if rsid in self.sets or not 1 <= rsid <= SETS:
            raise Failure("status", f"a set of ranges was made as {rsid}, beside {self.sets}")
        self.sets.append(rsid)
        return rsid

    def rest(self, number: int) -> None:
        """Nobody executes this program, and it is not active, so it may be loaded anew."""
        if number in self.active:
            self.settle()
            assert self.machine.own is not None
            self.machine.own.deactivate(number)
            self.active.discard(number)
