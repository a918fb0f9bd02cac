# SPDX-License-Identifier: Apache-2.0
"""What a drive holds, written from the specification: namespaces, and for each block the values that it may have.

The values come from `doorbell.nvme.model.Media`. On top of it: data written under a key are what they were under this
key only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeGuard

from doorbell.compute.near import PROGRAMS, Crypt, Grep, operators
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.nvme.model import Limits, Media, Mismatch, Pending, allowed_statuses
from doorbell.soak.near import ENDED_WELL, Look, Program
from doorbell.soak.near_crypt import CTR_KEY
from doorbell.soak.near_messages import Message, fresh

CELL = 4
"""Bytes of a memory that a command moves at least."""
PLAIN, CHANGING = 0, -1  # `Change.under`: no key; the key changed while the command was inside
NO_OPCODE = 0x7E
LOCKED = -1  # the slot of a namespace that nobody can have a key for
WITH_DATA = (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.COMPARE)


def key_slots(functions: int) -> int:
    """KEY_SLOTS, where nothing else is said."""
    return 16 if functions <= 16 else 32


class Blocks(Media):
    """The blocks of one namespace. key: the one that data go through now."""

    def __init__(self, blocks: int, block_size: int, key: int = PLAIN) -> None:
        super().__init__(blocks, block_size)
        self.key = key
        self.rekeyed = 0  # when the key was last changed

    @classmethod
    def unknown(cls, blocks: int, block_size: int) -> Blocks:
        """As a Format that was cut off may leave it: nobody knows what is in it."""
        made = cls(blocks, block_size)
        pending = made.begin(NvmOpc.WRITE, 0, blocks, bytes(blocks * block_size))
        for change in pending.changes:
            change.under = CHANGING
        made.end(pending)
        return made

    def set_key(self, key: int) -> None:
        if key != self.key:
            self.key, self.rekeyed = key, next(self._clock)

    def begin(
        self,
        opcode: int,
        slba: int = 0,
        blocks: int = 0,
        data: bytes | None = None,
        ranges: Iterable[tuple[int, int]] = (),
    ) -> Pending:
        pending = super().begin(opcode, slba, blocks, data, ranges)
        for change in pending.changes:
            change.under = self.key
        return pending

    def begin_unknown(self, slba: int, blocks: int) -> Pending:
        """A write whose data are known when it has ended: `end_known`, or `undone`."""
        pending = self.begin(NvmOpc.WRITE, slba, blocks, bytes(blocks * self.block_size))
        for change in pending.changes:
            change.under = CHANGING
        return pending

    def end_known(self, cmd: Pending, data: bytes) -> None:
        """It has written `data`."""
        for change in cmd.changes:
            change.data, change.under = data, self.key
        self.end(cmd)

    def undone(self, cmd: Pending) -> None:
        """It has written nothing."""
        for change in cmd.changes:
            for lba in range(change.slba, min(change.slba + change.blocks, self.blocks)):
                self._cells[lba] = [cell for cell in self._cells[lba] if cell[0] is not change]
        self.taken(cmd)

    def taken(self, cmd: Pending) -> None:
        """`cmd` will never complete: each of its blocks may have been written, or not."""
        super().end(cmd, Status.ABORT_SQ_DELETED)

    def end(self, cmd: Pending, status: int = Status.SUCCESS, data: bytes | memoryview | None = None) -> None:
        if cmd.begin < self.rekeyed:
            for change in cmd.changes:
                change.under = CHANGING
            if cmd.opcode in (NvmOpc.READ, NvmOpc.COMPARE):
                status = Status.INTERNAL  # what it saw went through either key: nothing to compare with
        super().end(cmd, status, data)

    def check_block(self, lba: int, got: memoryview, since: int | None) -> None:
        strange = [c for c in self._changes(lba, since) if c.data is not None and c.under != self.key]
        if not strange:
            return super().check_block(lba, got, since)
        if got == self.zeros:
            return  # what is zeros on the media is so under any key
        if any(c.under != CHANGING and got == c.value(lba, self.block_size) for c in strange):
            raise Mismatch(f"block {lba}: read as it was written, under another key")

    def values(self, cmd: Pending, blocks: int) -> list[list[bytes]] | None:
        """What the first `blocks` blocks of `cmd` may have been since it began, each; None if nobody can say."""
        if cmd.begin < self.rekeyed:
            return None
        found = []
        for lba in range(cmd.slba, cmd.slba + blocks):
            if any(c.data is not None and c.under != self.key for c in self._changes(lba, cmd.begin)):
                return None
            found.append(list({bytes(v) for v in self.allowed(lba, cmd.begin)}))
        return found

    def expected(self, slba: int, blocks: int) -> bytes:
        """What a Compare may expect to find: one of the values of each block."""
        return b"".join(bytes((self.allowed(slba + i) or [self.zeros])[0]) for i in range(blocks))

    def _check_compare(self, cmd: Pending, status: int) -> None:
        size = self.block_size
        may_match, may_differ = True, False
        for i in range(cmd.blocks):
            lba, want = cmd.slba + i, (cmd.data or b"")[i * size : (i + 1) * size]
            choices = self.allowed(lba, cmd.begin)
            if any(c.data is not None and c.under != self.key for c in self._changes(lba, cmd.begin)):
                return
            may_match = may_match and any(want == v for v in choices)
            may_differ = may_differ or any(want != v for v in choices)
        if status == Status.SUCCESS and not may_match:
            raise Mismatch(f"compare of {cmd.blocks} blocks at {cmd.slba} succeeded on different data")
        if status == Status.COMPARE_FAILED and not may_differ:
            raise Mismatch(f"compare of {cmd.blocks} blocks at {cmd.slba} failed on equal data")


class Memory(Blocks):
    """Cells of a function's memory, of which no one is ever torn. A command that fails, or is taken, may have left its
    data, or zeros."""

    def __init__(self, cells: int) -> None:
        super().__init__(cells, CELL)
        self.forget()

    def forget(self) -> None:
        """From now on nobody knows what is in it."""
        super().end(self.begin_unknown(0, self.blocks))

    def taken(self, cmd: Pending) -> None:
        self.end(cmd, Status.ABORT_SQ_DELETED)

    def end(self, cmd: Pending, status: int = Status.SUCCESS, data: bytes | memoryview | None = None) -> None:
        if status != Status.SUCCESS:
            for change in cmd.changes:
                if change.data is None:
                    continue  # it has left zeros, or what was there
                change.under = CHANGING
        super().end(cmd, status, data)


@dataclass
class Space:
    """A namespace. fns: the functions that it is attached to, one at most unless it is shared. slot: of the key that
    its operator needs, None: it has none. home: where it begins on the media, in bytes, if that is known. ssds: those
    that it is on, of a drive that has some."""

    nsid: int
    blocks: Blocks
    fns: set[int] = field(default_factory=lambda: {0})
    shared: bool = False
    slot: int | None = None
    home: int | None = None
    ssds: frozenset[int] = frozenset()
    granular: bool = False  # it surely has whole granules


@dataclass
class Drive:
    """All namespaces, and the keys in their slots (0: none). fn: the function that looks at them, near: it has
    near-storage commands, with these programs and their messages, greps: and so many slots for a Grep."""

    spaces: dict[int, Space] = field(default_factory=dict)
    keys: dict[int, int] = field(default_factory=dict)
    mdts_bytes: int = 1 << 20
    fn: int = 0
    functions: int = 1
    near: bool = False
    greps: int = 1
    programs: list[Program | None] = field(default_factory=lambda: [None] * PROGRAMS)
    messages: list[list[Message]] = field(default_factory=lambda: [fresh() for _ in range(PROGRAMS)])
    memory: Space | None = None  # of the function, of which a window is looked at

    def slot_of(self, number: int) -> int | None:
        """The slot that this function calls so: a VF counts its own from 1 (docs/csd/integration.md)."""
        if not self.fn:
            return number
        return self._first(self.fn) + number - 1 if 1 <= number <= self._each else None

    def slot_for_programs(self, number: int) -> int | None:
        """The same for a Crypt of this function; None: it may not name it."""
        slot = self.slot_of(number)
        own = slot is not None and 1 <= slot < key_slots(self.functions) and self.owner_of(slot) == self.fn
        return slot if own else None

    def takes(self, program: Program) -> bool:
        """A Crypt names a slot of this function; there are slots for a chain."""
        ours = not isinstance(program, Crypt) or self.slot_for_programs(program.slot) is not None
        return ours and sum(isinstance(p, Grep) for p in operators(program)) <= self.greps

    def owner_of(self, slot: int) -> int:
        return next((fn for fn in range(1, self.functions) if 0 <= slot - self._first(fn) < self._each), 0)

    @property
    def _each(self) -> int:
        return key_slots(self.functions) // self.functions

    def _first(self, fn: int) -> int:
        return key_slots(self.functions) - (self.functions - fn) * self._each

    def serves(self, slot: int, space: Space) -> bool:
        """A slot of a VF is for what nobody else has."""
        owner = self.owner_of(slot)
        return not owner or (not space.shared and space.fns <= {owner})

    def has(self, space: Space | None) -> TypeGuard[Space]:
        """It is attached to this function."""
        return space is not None and self.fn in space.fns

    def formats(self, space: Space, erase: bool = False) -> bool:
        """It may: a VF what it has alone; erase: with the key."""
        others_key = erase and space.slot is not None and self.owner_of(space.slot) != self.fn
        return not self.fn or (len(space.fns) == 1 and not others_key)

    def attached(self, space: Space) -> None:
        """To another function: what needs a key of its old owner is locked from now on."""
        if space.slot is not None and not self.serves(space.slot, space):
            space.slot = LOCKED
            self.rekey()

    def locked(self, space: Space) -> bool:
        """It needs a key that is not there."""
        return space.slot is not None and not 0 < self.keys.get(space.slot, 0) < CTR_KEY

    def rekey(self) -> None:
        """Keys or bindings have changed."""
        for space in self.spaces.values():
            space.blocks.set_key(PLAIN if space.slot is None else self.keys.get(space.slot, PLAIN))

    def forget(self) -> None:
        """A reset: every key and program of this function is gone; of the PF those of all."""
        for slot in [s for s in self.keys if not self.fn or self.owner_of(s) == self.fn]:
            del self.keys[slot]
        self.rekey()
        self.programs = [None] * PROGRAMS
        self.messages = [fresh() for _ in range(PROGRAMS)]

    def stored(self, nsid: int, slba: int, room: int) -> frozenset[int]:
        """What refuses a Write of so many bytes, the result of a near-storage command."""
        space = self.spaces.get(nsid)
        size = space.blocks.block_size if space is not None else 512
        found = self.statuses(NvmOpc.WRITE, nsid, slba, -(-room // size) - 1, (0, 0), ())
        return frozenset((found | ({Status.INVALID_FIELD} if room % size else set())) - {Status.SUCCESS})

    def statuses(
        self, opcode: int, nsid: int, slba: int, nlb: int, prps: tuple[int, int], ranges: Iterable[tuple[int, int]],
        flags: int = 0, look: Look | None = None,
    ) -> set[int]:  # fmt: skip
        """With which statuses a command may end if nothing fails."""
        space = self.spaces.get(nsid)
        if not self.has(space):
            exists = nsid in self.spaces
            known = opcode != NO_OPCODE and (look is None or self.near)
            refused = {Status.INVALID_FIELD, Status.INVALID_FIELD if known else Status.INVALID_OPCODE}
            return refused | (set() if exists else {Status.INVALID_NS})
        limits = Limits(space.blocks.blocks, space.blocks.block_size, self.mdts_bytes, (nsid,))
        if look is not None and not self.near:
            return {Status.INVALID_OPCODE}
        prp1, prp2 = prps if look is None else (0, 0)
        allowed = allowed_statuses(
            limits, opcode if look is None else NvmOpc.READ, nsid=nsid, slba=slba, nlb=nlb, prp1=prp1, prp2=prp2,
            ranges=ranges, fuse=flags & 3, psdt=flags >> 6,
        )  # fmt: skip
        if look is not None:
            size = (nlb + 1) * space.blocks.block_size
            if refused := look.refused(size, prps, flags >> 6):
                allowed = (allowed - {Status.SUCCESS}) | refused
        if (look is not None or opcode in WITH_DATA) and self.locked(space):
            allowed = (allowed - set(ENDED_WELL)) | {Status.ACCESS_DENIED}
        return allowed
