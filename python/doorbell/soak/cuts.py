# SPDX-License-Identifier: Apache-2.0
"""The step "cut": a command that changes the drive, and a reset while it is being done. Afterwards the drive is as
before or as after, never something else; and if the command has ended, as after."""

from __future__ import annotations

from dataclasses import dataclass, field

from doorbell.compute import drive as compute
from doorbell.compute.near import PROGRAMS
from doorbell.nvme import namespaces
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import CREATE_Q_PC, AdminOpc, NsMgmt, NvmOpc, Status
from doorbell.nvme.memory import Buffer
from doorbell.nvme.model import Pending
from doorbell.nvme.structures import IdNs, status_name
from doorbell.nvme.vendor import VendorOpc
from doorbell.soak.grants import GrantingDriver
from doorbell.soak.judge import Failure, Judge
from doorbell.soak.machine import Machine
from doorbell.soak.model import Blocks, Space
from doorbell.soak.near import Program
from doorbell.soak.near_crypt import key_bytes
from doorbell.soak.near_kinds import of_kind
from doorbell.soak.steps import Step, whole

QUEUE_BYTES = 4096  # of a queue that is made in vain


@dataclass(eq=False)
class Cut:
    """What was under way. commands: with the statuses that each may end with; zeros: what blocks of `space` may get."""

    step: Step
    commands: list[tuple[Command, set[int]]] = field(default_factory=list)
    space: Space | None = None
    zeros: Pending | None = None
    buffer: Buffer | None = None

    def succeeded(self) -> bool | None:
        """None: it has not ended. A Failure if it ended as it must not."""
        for command, statuses in self.commands:
            if command.done and command.status not in statuses:
                what = self.step["what"]
                raise Failure("status", f"{what}, before a reset, ended with {status_name(command.status15)}")
        last = self.commands[-1][0]
        return last.status == Status.SUCCESS if last.done else None


class Cuts:
    """A part of Player."""

    machine: Machine
    judge: Judge
    cut: Cut | None = None

    @property
    def drive(self) -> GrantingDriver:
        return self.machine.drive

    def settle(self, nsid: int | None = None) -> None:
        raise NotImplementedError

    def mend_media(self) -> None:
        raise NotImplementedError

    def keys_change(self, slot: int) -> None:
        raise NotImplementedError

    def do_reset(self, step: Step) -> None:
        raise NotImplementedError

    def do_io(self, step: Step) -> None:
        raise NotImplementedError

    def rest(self, number: int) -> None:
        raise NotImplementedError

    def program_changes(self, number: int, program: Program | None) -> None:
        raise NotImplementedError

    def do_cut(self, step: Step) -> None:
        cut = Cut(step)
        if not getattr(self, f"_begin_{step['what']}")(cut):
            return
        self.drive.ring()
        self.drive.advance(min(step["cycles"], 1_000_000))
        self.drive.poll(everything=True)
        self.cut = cut
        self.do_reset(whole({"do": "reset", "kind": step["kind"], **self.machine.layout}))
        if cut.buffer is not None:
            cut.buffer.free()

    def look_at_cut(self) -> None:
        """After the reset, when the drive is up again."""
        cut, self.cut = self.cut, None
        if cut is not None:
            ended = cut.succeeded() if cut.commands else None
            after = getattr(self, f"_after_{cut.step['what']}", None)
            if after is not None:
                after(cut, ended)

    def _send(self, cut: Cut, opcode: int, *statuses: int, **fields: int) -> None:
        for name in ("cdw10", "cdw11", "cdw12"):
            fields.setdefault(name, 0)
        command = self.drive.submit(0, opcode, buffer=cut.buffer, **{"nsid": 0, **fields})  # type: ignore[arg-type]
        cut.commands.append((command, {Status.SUCCESS, *statuses}))

    def _either(self, cut: Cut, ended: bool | None, done: bool, what: str) -> None:
        if ended is not None and ended != done:
            raise Failure("namespaces", f"{what}: {'' if done else 'not '}done, though its status said otherwise")

    # ---- Format

    def _begin_format(self, cut: Cut) -> bool:
        nsid, size = cut.step["ns"], cut.step["size"]
        cut.space = space = self.machine.model.spaces.get(nsid)
        model = self.machine.model
        if not model.has(space) or size not in namespaces.FORMATS or not model.formats(space):
            return False
        self.settle(nsid)
        self.mend_media()
        cut.zeros = space.blocks.begin(NvmOpc.WRITE_ZEROES, 0, space.blocks.blocks)
        self._send(cut, AdminOpc.FORMAT_NVM, nsid=nsid, cdw10=namespaces.FORMATS[size])
        return True

    def _after_format(self, cut: Cut, ended: bool | None) -> None:
        space = cut.space
        assert space is not None and cut.zeros is not None
        was, (blocks, size) = space.blocks, self.machine.size_of(space.nsid)
        if ended and size != cut.step["size"]:
            raise Failure("namespaces", f"namespace {space.nsid} was formatted to {cut.step['size']}, and has {size}")
        if ended:
            space.blocks = Blocks(blocks, size)
        elif size == was.block_size:
            was.taken(cut.zeros)
        else:
            space.blocks = Blocks.unknown(blocks, size)

    # ---- namespaces

    def _begin_ns_create(self, cut: Cut) -> bool:
        drive, step = self.drive, cut.step
        if not namespaces.supported(drive) or step["size"] not in namespaces.FORMATS:
            return False
        self.mend_media()
        blocks = max(1, step["blocks"])
        cut.buffer = drive.buffer(4096)
        cut.buffer.write(bytes(IdNs(nsze=blocks, ncap=blocks, flbas=namespaces.FORMATS[step["size"]])))
        refused = (Status.NS_INSUFFICIENT_CAP, Status.NSID_UNAVAILABLE)
        self._send(cut, AdminOpc.NS_MGMT, *refused, cdw10=NsMgmt.CREATE)
        return True

    def _after_ns_create(self, cut: Cut, ended: bool | None) -> None:
        model, step = self.machine.model, cut.step
        new = sorted(set(self.machine.allocated()) - set(model.spaces))
        self._either(cut, ended, bool(new), "Create Namespace")
        if not new:
            return
        blocks, nsid = max(1, step["blocks"]), new[0]
        if ended and nsid != cut.commands[0][0].dw0:
            raise Failure("namespaces", f"namespace {cut.commands[0][0].dw0} was created, and {nsid} is there")
        if self.machine.size_of(nsid) != (blocks, step["size"]):
            raise Failure("namespaces", f"namespace {nsid}, created before a reset, has another size")
        model.spaces[nsid] = self.machine.placed(Space(nsid, Blocks(blocks, step["size"]), fns=set()))

    def _begin_ns_delete(self, cut: Cut) -> bool:
        nsid = cut.step["ns"]
        cut.space = space = self.machine.model.spaces.get(nsid)
        if space is None or not namespaces.supported(self.drive):
            return False
        self.settle(nsid)
        self.mend_media()
        if space.slot is not None:
            self.keys_change(space.slot)  # it goes with the namespace; others may use it
        cut.zeros = space.blocks.begin(NvmOpc.WRITE_ZEROES, 0, space.blocks.blocks)
        self._send(cut, AdminOpc.NS_MGMT, nsid=nsid, cdw10=NsMgmt.DELETE)
        return True

    def _after_ns_delete(self, cut: Cut, ended: bool | None) -> None:
        space = cut.space
        assert space is not None and cut.zeros is not None
        gone = space.nsid not in self.machine.allocated()
        self._either(cut, ended, gone, "Delete Namespace")
        if gone:
            del self.machine.model.spaces[space.nsid]
        else:
            space.blocks.taken(cut.zeros)

    # ---- commands that leave nothing behind

    def _begin_write(self, cut: Cut) -> bool:
        step = cut.step
        fields = {name: step[name] for name in ("q", "ns", "at", "count", "data")}
        self.do_io(whole({"do": "io", "op": "write", **fields}))
        return True

    def _begin_create_queue(self, cut: Cut) -> bool:
        """A pair beside those that are there. Admin commands have no order, so the second may miss the first."""
        drive = self.drive
        q, entries = max(drive.sqs) + 1, QUEUE_BYTES // 64 - 1
        memory = drive.buffer(2 * QUEUE_BYTES)
        address = memory.address
        self._send(
            cut, AdminOpc.CREATE_CQ, Status.QID_INVALID, prp1=address, cdw10=entries << 16 | q, cdw11=CREATE_Q_PC
        )
        self._send(
            cut, AdminOpc.CREATE_SQ, Status.QID_INVALID, Status.CQ_INVALID, prp1=address + QUEUE_BYTES,
            cdw10=entries << 16 | q, cdw11=q << 16 | CREATE_Q_PC,
        )  # fmt: skip
        cut.buffer = memory
        return True

    def _begin_delete_queue(self, cut: Cut) -> bool:
        q = cut.step["q"]
        if not q or q not in self.drive.sqs:
            return False
        self.drive.ring()
        self._send(cut, AdminOpc.DELETE_SQ, cdw10=q)
        return True

    def _begin_key(self, cut: Cut) -> bool:
        if not self.machine.shape.keys:
            return False
        number = max(1, cut.step["slot"]) % 16 or 1
        slot = self.machine.model.slot_of(number)
        if slot is None:
            return False
        flags, data = compute.key_data(*key_bytes(max(1, cut.step["key"])))
        self.keys_change(slot)
        cut.buffer = self.drive.buffer(len(data))
        cut.buffer.write(data)
        self._send(cut, VendorOpc.KEY_LOAD, cdw10=number | flags)
        return True

    def _begin_program(self, cut: Cut) -> bool:
        if not self.machine.model.near:
            return False
        number, program = cut.step["slot"] % PROGRAMS, of_kind(cut.step["of"], cut.step["data"])
        self.rest(number)
        self.program_changes(number, program)
        refused = () if self.machine.model.takes(program) else (Status.INVALID_FIELD,)
        data = program.program()
        cut.buffer = self.drive.buffer(-(-len(data) // 4) * 4)
        cut.buffer.write(data)
        self._send(cut, VendorOpc.LOAD_PROGRAM, *refused, cdw10=number, cdw11=len(data))
        return True
