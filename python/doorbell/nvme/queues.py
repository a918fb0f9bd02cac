# SPDX-License-Identifier: Apache-2.0
"""The host's view of a submission queue and of a completion queue."""

from __future__ import annotations

from doorbell.nvme.commands import Command
from doorbell.nvme.memory import HostMemory


class SubmissionQueue:
    __slots__ = (
        "qid",
        "entries",
        "memory",
        "address",
        "offset",
        "cqid",
        "prio",
        "tail",
        "head",
        "taken",
        "sent",
        "next_cid",
        "pending",
        "doorbell",
        "unrung",
    )

    def __init__(
        self, qid: int, entries: int, memory: HostMemory, address: int, cqid: int, prio: int, doorbell: int, cid: int
    ) -> None:
        self.qid, self.entries, self.memory, self.address = qid, entries, memory, address
        self.offset = address - memory.base
        self.cqid, self.prio, self.doorbell = cqid, prio, doorbell
        self.tail = self.head = 0
        self.sent = 0  # entries written since creation
        self.taken = 0  # entries that the controller says it has consumed
        self.next_cid = cid
        self.pending: dict[int, Command] = {}
        self.unrung: list[Command] = []

    def room(self) -> int:
        """Entries that can be written before the queue is full."""
        return self.entries - 1 - (self.sent - self.taken)


class CompletionQueue:
    __slots__ = ("qid", "entries", "memory", "address", "offset", "vector", "ien", "head", "phase", "doorbell", "sqs",
                 "hold")  # fmt: skip

    def __init__(
        self, qid: int, entries: int, memory: HostMemory, address: int, vector: int, ien: bool, doorbell: int
    ) -> None:
        self.qid, self.entries, self.memory, self.address = qid, entries, memory, address
        self.offset = address - memory.base
        self.vector, self.ien, self.doorbell = vector, ien, doorbell
        self.head = 0
        self.phase = 1
        self.sqs: set[int] = set()
        self.hold = False  # completions are left where they are (a host that does not look)
