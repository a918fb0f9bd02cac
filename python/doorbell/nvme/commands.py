# SPDX-License-Identifier: Apache-2.0
"""A command that was submitted, and what its end says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from doorbell.nvme.constants import (
    STATUS_CODE_MASK,
    STATUS_DNR,
    AdminOpc,
    NvmOpc,
    Status,
)
from doorbell.nvme.errors import ProtocolError
from doorbell.nvme.memory import Buffer
from doorbell.nvme.structures import status_name


class NvmeError(Exception):
    """A command ended with a status other than success."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.status = command.status
        name = opcode_name(command.opcode, command.qid == 0)
        super().__init__(
            f"{name} (queue {command.qid}, cid {command.cid:#06x}) ended with {status_name(command.status15)}"
        )


def opcode_name(opcode: int, admin: bool = False) -> str:
    """Readable name of an opcode."""
    kind = AdminOpc if admin else NvmOpc
    return kind(opcode).name if opcode in kind._value2member_map_ else f"opcode {opcode:#04x}"


class Command:
    """A submitted command: `done` when its completion was seen, `aborted` when a reset or queue deletion took it."""

    __slots__ = (
        "qid",
        "cid",
        "opcode",
        "slba",
        "nlb",
        "buffer",
        "position",
        "started_ns",
        "done_ns",
        "status15",
        "dw0",
        "done",
        "aborted",
        "user",
        "on_done",
    )

    def __init__(
        self,
        qid: int,
        cid: int,
        opcode: int,
        slba: int,
        nlb: int,
        buffer: Buffer | None,
        position: int,
        user: Any,
        on_done: Callable[[Command], None] | None,
    ) -> None:
        self.qid, self.cid, self.opcode, self.slba, self.nlb = qid, cid, opcode, slba, nlb
        self.buffer = buffer
        self.position = position  # count of entries submitted before it
        self.user = user
        self.on_done = on_done
        self.started_ns = self.done_ns = 0.0
        self.status15 = 0
        self.dw0 = 0
        self.done = self.aborted = False

    @property
    def status(self) -> int:
        """Status code type << 8 | status code."""
        return self.status15 & STATUS_CODE_MASK

    @property
    def dnr(self) -> bool:
        return bool(self.status15 & STATUS_DNR)

    @property
    def latency_ns(self) -> float:
        return self.done_ns - self.started_ns

    def check(self) -> Command:
        """Raise `NvmeError` unless it succeeded."""
        if self.aborted:
            raise ProtocolError(f"{opcode_name(self.opcode, self.qid == 0)} was aborted by a reset")
        if self.status15 & STATUS_CODE_MASK:
            raise NvmeError(self)
        return self


def expect(command: Command, *statuses: int) -> None:
    """Raise unless `command` ended with one of `statuses`."""
    if command.aborted or command.status not in statuses:
        names = " or ".join(Status(s).name for s in statuses)
        got = "a reset" if command.aborted else status_name(command.status15)
        raise ProtocolError(
            f"{opcode_name(command.opcode, command.qid == 0)} at {command.slba} (nlb {command.nlb}) "
            f"ended with {got}, not {names}"
        )
