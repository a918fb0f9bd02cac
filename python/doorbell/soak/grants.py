# SPDX-License-Identifier: Apache-2.0
"""The host driver with an IOMMU: what a command needs is granted when it is submitted and taken back when its
completion has been seen, or when Delete Queue, a reset or a function-level reset has been answered."""

from __future__ import annotations

from collections import deque
from itertools import count
from typing import Any

from doorbell.nvme.commands import Command, opcode_name
from doorbell.nvme.constants import CQE_BYTES, PAGE_SIZE, SQE_BYTES
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import Buffer, HostMemory
from doorbell.nvme.queues import CompletionQueue

FROM_HOST, TO_HOST = 1, 2  # bits 1:0 of an opcode: the direction of its data
REMEMBERED = 20_000  # owners whose names are kept


class GrantingDriver(Driver):
    """Grants with the serial number of the owner; `name_of` says who that is. Without an IOMMU in the back end it is a
    plain driver."""

    def __init__(self, sim: Any, memory: HostMemory, **options: Any) -> None:
        super().__init__(sim, memory, **options)
        self._guarded = hasattr(sim, "iommu")
        self._serial = count(1)
        self._owners: dict[Any, int] = {}
        self._names: dict[int, str] = {}
        self._order: deque[int] = deque()
        if self._guarded:
            sim.iommu(True)

    # ---- who owns what

    def _own(self, what: Any, name: str) -> int:
        owner = self._owners[what] = next(self._serial)
        self._names[owner] = name
        self._order.append(owner)
        if len(self._order) > REMEMBERED:
            del self._names[self._order.popleft()]
        return owner

    def _give_back(self, what: Any) -> None:
        owner = self._owners.pop(what, None)
        if owner is not None and self._guarded:
            self.sim.revoke(owner)

    def name_of(self, owner: int) -> str:
        return self._names.get(owner, f"owner {owner}") if owner else "nobody"

    # ---- commands

    def submit(self, qid: int, opcode: int, *args: Any, ring: bool = False, **fields: Any) -> Command:
        command = super().submit(qid, opcode, *args, **fields)
        if command.buffer is not None and self._guarded:
            nbytes = fields.get("nbytes")
            owner = self._own(command, f"{opcode_name(opcode, qid == 0)}, queue {qid}, cid {command.cid:#06x}")
            self._grant(owner, opcode, command.buffer, command.buffer.size if nbytes is None else nbytes)
        if ring:
            self.ring()
        return command

    def grant_beside(self, command: Command, buffer: Buffer) -> None:
        """The controller may read `buffer`, too, until the command has ended."""
        if self._guarded and command in self._owners:
            self._grant(self._owners[command], FROM_HOST, buffer, buffer.size)

    def _grant(self, owner: int, opcode: int, buffer: Buffer, nbytes: int) -> None:
        rights = {"read": bool(opcode & FROM_HOST), "write": bool(opcode & TO_HOST)}
        if buffer.contiguous:
            self.sim.grant(buffer.address, nbytes, owner, **rights)
        else:
            for page in buffer.pages[: -(-(buffer.offset + nbytes) // PAGE_SIZE)]:
                self.sim.grant(page, PAGE_SIZE, owner, **rights)
        for page in buffer.list_pages:
            self.sim.grant(page, PAGE_SIZE, owner, read=True)

    def _complete(self, cq: CompletionQueue, *entry: Any) -> Command:
        command = super()._complete(cq, *entry)
        self._give_back(command)
        return command

    # ---- queues

    def _add_cq(self, qid: int, entries: int, address: int, vector: int, ien: bool, *memory: Any) -> None:
        super()._add_cq(qid, entries, address, vector, ien, *memory)
        if self._guarded:
            owner = self._own(("cq", qid), f"completion queue {qid}")
            self.sim.grant(address, entries * CQE_BYTES, owner, write=True)

    def _add_sq(self, qid: int, entries: int, address: int, cqid: int, prio: int, *memory: Any) -> None:
        super()._add_sq(qid, entries, address, cqid, prio, *memory)
        if self._guarded:
            owner = self._own(("sq", qid), f"submission queue {qid}")
            self.sim.grant(address, entries * SQE_BYTES, owner, read=True)

    def _forget_queues(self) -> list[Command]:
        lost = super()._forget_queues()
        for what in list(self._owners):
            self._give_back(what)
        return lost

    def delete_sq(self, qid: int) -> list[Command]:
        lost = super().delete_sq(qid)
        self._give_back(("sq", qid))
        for command in lost:
            self._give_back(command)
        return lost

    def delete_cq(self, qid: int) -> None:
        super().delete_cq(qid)
        self._give_back(("cq", qid))
