# SPDX-License-Identifier: Apache-2.0
"""The step "program": Load Program, with programs that are none, mistakes of the command and faults of its data."""

from __future__ import annotations

from doorbell.compute.near import PROGRAMS
from doorbell.nvme.constants import Status
from doorbell.nvme.memory import Buffer
from doorbell.nvme.structures import status_name
from doorbell.nvme.vendor import VendorOpc
from doorbell.soak.grants import GrantingDriver
from doorbell.soak.judge import Failure, Judge
from doorbell.soak.machine import Machine
from doorbell.soak.near import BYTES_MOST, MISTAKES, WRONG, Program, spoiled
from doorbell.soak.near_kinds import of_kind
from doorbell.soak.near_messages import brings, fresh
from doorbell.soak.steps import Step

FIRMWARE_TIMEOUTS = 1  # it reads with two tags, and one that has timed out rests


class Programs:
    """A part of Player. Commands with the program in question go on meanwhile."""

    machine: Machine
    judge: Judge

    @property
    def drive(self) -> GrantingDriver:
        return self.machine.drive

    def inject(self, kind: str, page: int, most: int = 0) -> int | None:
        raise NotImplementedError

    def rest(self, number: int) -> None:
        raise NotImplementedError

    def do_program(self, step: Step) -> None:
        model, bad, number = self.machine.model, step["bad"], step["number"] % PROGRAMS
        if not model.near:
            return
        self.rest(number)
        data = self._program_bytes(step)
        program = None if bad or not data else of_kind(step["of"], step["data"])
        refused = program is not None and not model.takes(program)
        if refused:
            program = None  # as one that is none: the old one goes
        cdw10 = number | (4 << step["data"] % 28 if bad == "number" else 0)
        cdw11 = BYTES_MOST + 1 + step["data"] % 5000 if bad == "bytes" else len(data)
        buffer = self.drive.buffer(max(64, -(-len(data) // 4) * 4), offset=step["offset"] % 4096 & ~3)
        buffer.write(data)
        fault = self._fault_of(step["fault"], buffer, len(data)) if data and bad not in MISTAKES else None
        want: int = Status.INVALID_FIELD if bad in MISTAKES or (bad and data) or refused else Status.SUCCESS
        if fault is not None and step["fault"] != "double":
            want = Status.DATA_TRANSFER_ERROR
        elif bad not in MISTAKES:
            self.program_changes(number, program)
            model.programs[number] = program
        command = self.drive.admin_try(VendorOpc.LOAD_PROGRAM, buffer=buffer, cdw10=cdw10, cdw11=cdw11)
        buffer.free()
        if fault is not None and not self.drive.sim.injected(fault):
            raise Failure("status", "Load Program has not read all of its program")
        self.judge.stale_faults = self.judge.stale_faults or fault is not None
        if command.status != want:
            raise Failure("status", f"Load Program ended with {status_name(command.status15)}, not {Status(want).name}")

    def _program_bytes(self, step: Step) -> bytes:
        number, bad = step["data"], step["bad"]
        if not number:
            return b""
        if bad in WRONG:
            data = spoiled(number, bad)
        else:
            data = of_kind(step["of"], number).program()
        behind = 0 if bad == "short" else min(step["extra"], BYTES_MOST - len(data))
        return data + b"\x5a" * behind  # counts for nothing

    def program_changes(self, number: int, program: Program | None) -> None:
        """Messages of the old one are forgotten; what is under way may be of the new one."""
        messages = fresh()
        for sent in self.judge.sent.values():
            look = sent.look
            if look is None or look.number != number:
                continue
            look.loaded(number, program)
            if look.part is not None and brings(program):
                look.part.begin(messages[look.part.number])
        self.machine.model.messages[number] = messages

    def _fault_of(self, kind: str, buffer: Buffer, nbytes: int) -> int | None:
        """In the page that has the program's last byte."""
        if not kind:
            return None
        return self.inject(kind, buffer.pages[(buffer.offset + nbytes - 1) // 4096], FIRMWARE_TIMEOUTS)
