# SPDX-License-Identifier: Apache-2.0
"""Says whether what a drive does is allowed: how each command ends, what it leaves, what is touched meanwhile.

A command is known here from its submission to its one end: a completion, or a reset or deletion that took it. With
which statuses it may end depends on what was done to it: a fault on its link, an error of the media, an Abort, a key
that went.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from doorbell.device.messages import SimError
from doorbell.nvme.commands import Command, NvmeError, opcode_name
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.nvme.errors import DeviceTimeout, ProtocolError
from doorbell.nvme.memory import Buffer
from doorbell.nvme.model import Mismatch, Pending
from doorbell.nvme.structures import status_name
from doorbell.soak.grants import GrantingDriver
from doorbell.soak.model import Memory, Space
from doorbell.soak.near import ENDED_WELL, TOO_LARGE, Look

CANARY = 0xC3
MEDIA = {Status.READ_ERROR, Status.WRITE_FAULT}
MOVED = {Status.NS_NOT_READY, Status.FORMAT_IN_PROGRESS, Status.INVALID_FIELD, Status.INVALID_NS}
KEY_GONE = {Status.ACCESS_DENIED, Status.READ_ERROR, Status.DATA_TRANSFER_ERROR, Status.SUCCESS}


class Failure(Exception):
    """The drive did what it must not. kind: one word; a shrunk script fails with the same."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def end_name(status: int) -> str:
    if status == TOO_LARGE:
        return "RESULT_TOO_LARGE"
    return Status(status).name if status in Status._value2member_map_ else hex(status)


@contextmanager
def judged(where: str = "") -> Iterator[None]:
    """What driver, model and simulator raise, as a Failure, which says where."""
    try:
        with _as_failure():
            yield
    except Failure as e:
        if not where:
            raise
        raise Failure(e.kind, where + str(e)) from e


@contextmanager
def _as_failure() -> Iterator[None]:
    try:
        yield
    except Mismatch as e:
        raise Failure("data", str(e)) from e
    except DeviceTimeout as e:
        raise Failure("stuck", str(e)) from e
    except ProtocolError as e:
        raise Failure("rtl" if "assertion" in str(e) else "protocol", str(e)) from e
    except NvmeError as e:
        raise Failure("status", str(e)) from e
    except SimError as e:
        raise Failure("stuck", str(e)) from e


@dataclass(eq=False)
class Sent:
    """A command in flight."""

    space: Space | None
    pending: Pending | None  # None: it must not do anything
    allowed: set[int]
    buffer: Buffer | None
    fault: tuple[str, int, bool] | None = None  # kind, number in the simulator, of its data
    media: bool = False  # errors of the media while it was inside
    keys: bool = False  # keys changed while it was inside
    abort: bool = False  # the controller says that it has aborted it
    nsid: int = 0
    moved: bool = False  # its namespace was formatted, detached or deleted while it was inside
    ssds: frozenset[int] = frozenset()  # that its blocks are on
    misled: bool = False  # one of these put data elsewhere while it was inside
    look: Look | None = None  # a near-storage command
    to_space: Space | None = None  # where such a command stores
    source: Space | None = None  # of a Memory Copy: where its data come from, and what it reads there
    reads: list[Pending] = field(default_factory=list)
    executes: bool = False  # ... of an Execute Program

    @property
    def spaces(self) -> tuple[Space | None, ...]:
        return self.space, self.source, self.to_space

    def concerns(self, nsid: int) -> bool:
        """The command is of this namespace, or stores there."""
        return self.nsid == nsid or (self.look is not None and self.look.to_nsid == nsid)

    @property
    def of_memory(self) -> bool:
        return self.space is not None and isinstance(self.space.blocks, Memory)


class Judge:
    """Of one simulation after the other; `drive` is the present one."""

    def __init__(self) -> None:
        self.drive: GrantingDriver
        self.sent: dict[Command, Sent] = {}
        self.ended: Counter[str] = Counter()
        self.finder: Any = None  # of doorbell.soak.wave: sees commands end
        self.bad_media = False
        self.stale_faults = False  # a fault was not met and is still in the simulator
        self.bad_ssds: set[int] = set()  # whose commands may end with an error
        self.lying_ssds: set[int] = set()  # whose data may be others, without a word

    # ---- what is done to commands

    def begin(self, command: Command, sent: Sent) -> None:
        sent.media = self.bad_media or bool(sent.ssds & self.bad_ssds)
        sent.misled = bool(sent.ssds & self.lying_ssds)
        self.sent[command] = sent

    def media_breaks(self) -> None:
        self.bad_media = True
        for sent in self.sent.values():
            sent.media = True

    def ssd_fails(self, ssd: int, lies: bool = False) -> None:
        """It costs the commands that have blocks on it, and no others. lies: it may take and give
        wrong data."""
        self.bad_ssds.add(ssd)
        if lies:
            self.lying_ssds.add(ssd)
        for sent in self.sent.values():
            sent.media = sent.media or ssd in sent.ssds
            sent.misled = sent.misled or (lies and ssd in sent.ssds)

    def ssds_mended(self) -> None:
        """What is sent from now on must end as ever."""
        self.bad_ssds.clear()
        self.lying_ssds.clear()

    def namespace_changes(self, nsid: int) -> None:
        for sent in self.sent.values():
            sent.moved = sent.moved or sent.concerns(nsid)

    def keys_change(self, slot: int) -> None:
        for sent in self.sent.values():
            sent.keys = sent.keys or any(s is not None and s.slot == slot for s in sent.spaces)
            if sent.look is not None:
                sent.look.key_changes(slot)

    def lost(self, commands: list[Command]) -> None:
        """Commands that a reset or a deletion took: each has done all, some or nothing of its work."""
        for command in commands:
            sent = self.sent.pop(command, None)
            if sent is None:
                continue
            if sent.pending is not None and sent.space is not None:
                sent.space.blocks.taken(sent.pending)
                if sent.to_space is not None and sent.look is not None and sent.look.stores is not None:
                    sent.to_space.blocks.taken(sent.look.stores)
            self.ended["taken"] += 1
            self._release(sent)

    # ---- the end of a command

    def end(self, command: Command) -> None:
        sent = self.sent.pop(command, None)
        if sent is None:
            raise Failure("protocol", f"{self._name(command)} ended twice")
        if self.finder is not None:
            self.finder.ended(command)
        status = command.status
        allowed = self._allowed(command, sent)
        if status not in allowed:
            names = ", ".join(sorted(map(end_name, allowed)))
            raise Failure("status", f"{self._name(command)} ended with {status_name(command.status15)}, not {names}")
        self.ended[end_name(status)] += 1
        data = None
        if sent.buffer is not None and (command.opcode == NvmOpc.READ or sent.look is not None):
            try:
                sent.buffer.check_margins(CANARY)
            except ProtocolError as e:
                raise Failure("margin", f"{self._name(command)}: {e}") from e
            data = sent.buffer.read()
        if sent.pending is not None and sent.space is not None:
            try:
                if sent.look is not None and not sent.executes:
                    self._check_near(command, sent, data or b"")
                if sent.look is not None and sent.executes:
                    self._end_execute(command, sent, sent.look)
                elif sent.reads and status == Status.SUCCESS and not sent.misled:
                    self._end_copy(sent)
                elif sent.misled:
                    sent.space.blocks.taken(sent.pending)  # what it read or left, nobody can say
                else:
                    sent.space.blocks.end(sent.pending, status, data)
            except Mismatch as e:
                raise Failure("data", f"{self._name(command)}: {e}") from e
        self._release(sent)

    def _end_copy(self, sent: Sent) -> None:
        """Its destination has what its sources had, if that is known."""
        assert sent.space is not None and sent.source is not None and sent.pending is not None
        values = [v for read in sent.reads for v in sent.source.blocks.values(read, read.blocks) or [[]]]
        if all(len(v) == 1 for v in values) and isinstance(sent.space.blocks, Memory):
            sent.space.blocks.end_known(sent.pending, b"".join(v[0] for v in values))
            self.ended["memory: copy known"] += 1
        else:
            sent.space.blocks.end(sent.pending)

    def _end_execute(self, command: Command, sent: Sent, look: Look) -> None:
        """Where its result goes has what the model makes of its data, if they are known."""
        assert sent.space is not None and sent.pending is not None and isinstance(sent.space.blocks, Memory)
        look.check(command, b"")
        memory, (read,) = sent.space.blocks, sent.reads
        if command.status not in ENDED_WELL:
            memory.end(sent.pending, command.status)
            return
        values = memory.values(read, read.blocks) or [[]]
        result = look.result(b"".join(v[0] for v in values)) if all(len(v) == 1 for v in values) else None
        if result is None:
            memory.end(sent.pending)
            return
        if len(result) != command.dw0:
            raise Mismatch(f"{look.programs[0]} gives {command.dw0} bytes, not {len(result)}, in memory")
        memory.end_known(sent.pending, result[: look.room].ljust(look.room, b"\0"))
        self.ended["memory: result known"] += 1

    def _check_near(self, command: Command, sent: Sent, got: bytes) -> None:
        look, pending, space = sent.look, sent.pending, sent.space
        assert look is not None and pending is not None and space is not None
        look.check(command, got)
        looked_at = 0 if sent.misled else -(-look.length // space.blocks.block_size)
        values = space.blocks.values(pending, looked_at) if looked_at and pending.blocks >= looked_at else None
        if look.memory is not None:
            size = space.blocks.block_size
            values = [[look.memory[at : at + size]] for at in range(0, len(look.memory), size)][
                : -(-look.length // size)
            ]
            self.ended["near: of memory"] += 1
        if known := look.check_result(command, got, values):
            self.ended[known] += 1
        if look.stores is None or sent.to_space is None:
            return
        blocks = sent.to_space.blocks
        if command.status == Status.SUCCESS and not sent.misled:
            blocks.end_known(look.stores, got[: look.room])
            self.ended["near: stored" if sent.to_space is space else "near: stored elsewhere"] += 1
        elif command.status == TOO_LARGE:
            blocks.undone(look.stores)
        else:
            blocks.taken(look.stores)

    def _allowed(self, command: Command, sent: Sent) -> set[int]:
        allowed = set(sent.allowed)
        compares = command.opcode == NvmOpc.COMPARE and not sent.of_memory
        if compares and Status.SUCCESS in allowed:
            allowed.add(Status.COMPARE_FAILED)
        if sent.media:
            allowed |= MEDIA
        if sent.misled and compares:
            allowed |= {Status.SUCCESS, Status.COMPARE_FAILED}
        if sent.moved:
            allowed |= MOVED
        if sent.keys:
            allowed |= KEY_GONE | ({Status.COMPARE_FAILED} if compares else set())
        if sent.fault and sent.fault[0] != "double":
            allowed.add(Status.DATA_TRANSFER_ERROR)
            kind, number, of_data = sent.fault
            if of_data and self.drive.sim.injected(number):
                allowed.discard(Status.SUCCESS)  # its data did not come
        if sent.look is not None:
            allowed = sent.look.allowed(allowed, sure=not (sent.keys or sent.moved))
        return {Status.ABORT_REQUESTED} if sent.abort else allowed

    def _release(self, sent: Sent) -> None:
        for read in sent.reads:
            assert sent.source is not None
            sent.source.blocks.taken(read)
        if sent.fault and not self.drive.sim.closed and not self.drive.sim.injected(sent.fault[1]):
            self.stale_faults = True
        if sent.look is not None and sent.look.part is not None:
            sent.look.part.end()
        if sent.buffer is not None:
            sent.buffer.free()
        if sent.look is not None and sent.look.source is not None:
            sent.look.source.free()

    def _name(self, command: Command) -> str:
        return f"{opcode_name(command.opcode)} of {command.nlb + 1} blocks at {command.slba}, queue {command.qid}"

    # ---- everything else

    def look(self) -> None:
        """Rules of PCIe and AXI, and accesses to host memory that nobody granted."""
        self.look_at_strays()
        errors = self.drive.sim.errors()
        if errors:
            raise Failure("rules", ", ".join(f"{k}: {v}" for k, v in errors.items()))

    def look_at_strays(self) -> None:
        """Accesses of this function."""
        sim: Any = self.drive.sim
        for s in sim.strays() if sim.errors().get("error.not_granted") else ():
            had = self.drive.name_of(s.owner)
            whose = f"given back by {had} in cycle {s.returned}" if s.returned else f"of {had}"
            what = f"{'write' if s.write else 'read'} of {s.size} bytes at {s.addr:#x} in cycle {s.cycle}"
            raise Failure("access", f"{what}: the page was {whose}; {sim.errors()['error.not_granted']} such accesses")
