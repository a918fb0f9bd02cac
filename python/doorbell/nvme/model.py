# SPDX-License-Identifier: Apache-2.0
"""Reference model of a drive, written from the NVMe specification.

Commands that are in flight at the same time have no order among them (Base 2.0, 3.4.2), so after a run the
model cannot say which value a block has, only which values it may have. For every block it keeps the writes whose
data may still be there; a write that ends removes those that had ended before it was submitted.

Use: `begin` when a command is submitted (before its doorbell), `end` with its status when its completion is seen.
`end` of a read, compare or verify checks what the drive answered and raises `Mismatch`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count

from doorbell.nvme.constants import NSID_ALL, Status
from doorbell.nvme.constants import NvmOpc as Opc

IO_OPCODES = (Opc.FLUSH, Opc.WRITE, Opc.READ, Opc.COMPARE, Opc.WRITE_ZEROES, Opc.DSM, Opc.VERIFY)
DATA_OPCODES = (Opc.WRITE, Opc.READ, Opc.COMPARE)
LBA_OPCODES = (Opc.WRITE, Opc.READ, Opc.COMPARE, Opc.WRITE_ZEROES, Opc.VERIFY, Opc.WRITE_UNCOR)

_NEVER = 1 << 62


class Mismatch(AssertionError):
    """The drive did something that the specification does not allow."""


@dataclass(slots=True, eq=False)
class Change:
    """A command that gives blocks a value: Write, Write Zeroes, one range of Dataset Management; or takes it away."""

    slba: int
    blocks: int
    data: bytes | None  # None: zeros
    begin: int
    end: int = _NEVER
    unreadable: bool = False  # Write Uncorrectable
    under: int = 0  # the key that its data went through: see doorbell/soak

    def value(self, lba: int, block_size: int) -> bytes | memoryview | None:
        if self.data is None:
            return None
        at = (lba - self.slba) * block_size
        return memoryview(self.data)[at : at + block_size]


@dataclass(slots=True, eq=False)
class Pending:
    """A command between `begin` and `end`."""

    opcode: int
    slba: int
    blocks: int
    begin: int
    changes: list[Change] = field(default_factory=list)
    data: bytes | None = None  # of a compare


class Media:
    """The blocks of one namespace, and the values that each may have. None is ever a mixture of two (AWUN, AWUPF)."""

    def __init__(self, blocks: int, block_size: int, *, deallocate_reads_zero: bool = True) -> None:
        self.blocks = blocks
        self.block_size = block_size
        self.zeros = bytes(block_size)
        self.deallocate_reads_zero = deallocate_reads_zero
        self._clock = count(1)
        self._first = Change(0, blocks, None, 0, 0)  # a fresh drive reads as zeros
        # block -> [change, time from which its value can no longer be there]
        self._cells: dict[int, list[list]] = {}
        self._pending: dict[int, Pending] = {}
        self._marked = False  # there has been a Write Uncorrectable

    # Commands ---------------------------------------------------------------------------------------------------

    def begin(
        self,
        opcode: int,
        slba: int = 0,
        blocks: int = 0,
        data: bytes | None = None,
        ranges: Iterable[tuple[int, int]] = (),
    ) -> Pending:
        """A command goes to the drive. `data`: of a write or compare. `ranges`: (slba, blocks) to deallocate."""
        now = next(self._clock)
        cmd = Pending(opcode, slba, blocks, now)
        if opcode == Opc.WRITE:
            if data is None or len(data) < blocks * self.block_size:
                raise ValueError("a write needs its data")
            cmd.changes.append(Change(slba, blocks, bytes(data), now))
        elif opcode == Opc.WRITE_ZEROES:
            cmd.changes.append(Change(slba, blocks, None, now))
        elif opcode == Opc.WRITE_UNCOR:
            cmd.changes.append(Change(slba, blocks, None, now, unreadable=True))
            self._marked = True
        elif opcode == Opc.DSM:
            cmd.changes.extend(Change(first, length, None, now) for first, length in ranges)
        elif opcode == Opc.COMPARE:
            cmd.data = bytes(data or b"")
        for change in cmd.changes:
            for lba in range(change.slba, min(change.slba + change.blocks, self.blocks)):
                self._cell(lba).append([change, _NEVER])
        self._pending[now] = cmd
        return cmd

    def end(self, cmd: Pending, status: int = Status.SUCCESS, data: bytes | memoryview | None = None) -> None:
        """The completion of `cmd` was seen with `status` (SCT << 8 | SC); `data` is what a read returned."""
        if status == Status.SUCCESS and cmd.opcode in LBA_OPCODES and cmd.slba + cmd.blocks > self.blocks:
            raise Mismatch(f"opcode {cmd.opcode:#x} beyond the last block succeeded")
        if cmd.opcode == Opc.READ and status == Status.SUCCESS:
            if data is None:
                raise ValueError("a read needs its data to be checked")
            self.check(cmd.slba, cmd.blocks, data, since=cmd.begin)
        elif cmd.opcode == Opc.VERIFY and status == Status.SUCCESS:
            self._check_readable(cmd.slba, cmd.blocks, cmd.begin)
        elif cmd.opcode == Opc.COMPARE and status in (Status.SUCCESS, Status.COMPARE_FAILED):
            self._check_compare(cmd, status)
        now = next(self._clock)
        for change in cmd.changes:
            change.end = now
            # Zeros may be given up by a deallocate, and a failed write may have reached any part of its blocks:
            # neither removes what was there.
            supersedes = status == Status.SUCCESS and (cmd.opcode != Opc.DSM or self.deallocate_reads_zero)
            if supersedes:
                for lba in range(change.slba, min(change.slba + change.blocks, self.blocks)):
                    for cell in self._cell(lba):
                        if cell[0].end < change.begin and cell[1] == _NEVER:
                            cell[1] = now
        del self._pending[cmd.begin]
        if cmd.changes:
            self._prune(cmd.changes)

    def lost(self, cmd: Pending) -> None:
        """`cmd` will never complete (reset): it may have done any part of its work, or may not."""
        self.end(cmd, status=Status.DATA_TRANSFER_ERROR)

    # Checks -----------------------------------------------------------------------------------------------------

    def allowed(self, lba: int, since: int | None = None) -> list[bytes | memoryview]:
        """Every value that block `lba` may have now (or may have had since time `since`). None: reads of it fail."""
        values = [c.value(lba, self.block_size) for c in self._changes(lba, since) if not c.unreadable]
        return [self.zeros if v is None else v for v in values]

    def may_fail(self, slba: int, blocks: int, since: int | None = None) -> bool:
        """Whether a read of these blocks may meet one that has been made uncorrectable."""
        return self._marked and any(
            c.unreadable for lba in range(slba, min(slba + blocks, self.blocks)) for c in self._changes(lba, since)
        )

    def check(self, slba: int, blocks: int, data: bytes | memoryview, since: int | None = None) -> None:
        """Raise `Mismatch` if some block of `data` has a value that it cannot have."""
        size = self.block_size
        view = memoryview(data)
        if len(view) < blocks * size:
            raise Mismatch(f"{len(view)} bytes for {blocks} blocks")
        for i in range(blocks):
            self.check_block(slba + i, view[i * size : (i + 1) * size], since)

    def check_block(self, lba: int, got: memoryview, since: int | None) -> None:
        """As `check`, for one block."""
        choices = self.allowed(lba, since)
        if not choices:
            raise Mismatch(f"block {lba} was read: it is uncorrectable")
        if all(got != value for value in choices):
            best = bytes(choices[0])
            at = next(k for k in range(self.block_size) if got[k] != best[k])
            raise Mismatch(
                f"block {lba}: byte {at} is {bytes(got[at : at + 8]).hex()}, "
                f"not {best[at : at + 8].hex()} ({len(choices)} values allowed)"
            )

    def known(self, lba: int) -> bool:
        """Whether block `lba` can have one value only."""
        return len({bytes(v) for v in self.allowed(lba)}) == 1 and not self.may_fail(lba, 1)

    def _check_readable(self, slba: int, blocks: int, since: int) -> None:
        for lba in range(slba, slba + blocks) if self._marked else ():
            if not self.allowed(lba, since):
                raise Mismatch(f"verify of {blocks} blocks at {slba} succeeded: block {lba} is uncorrectable")

    def _check_compare(self, cmd: Pending, status: int) -> None:
        size = self.block_size
        may_match, may_differ = True, False
        for i in range(cmd.blocks):
            want = (cmd.data or b"")[i * size : (i + 1) * size]
            choices = self.allowed(cmd.slba + i, cmd.begin)
            may_match = may_match and any(want == v for v in choices)
            may_differ = may_differ or any(want != v for v in choices)
        if status == Status.SUCCESS and not may_match:
            raise Mismatch(f"compare of {cmd.blocks} blocks at {cmd.slba} succeeded on different data")
        if status == Status.COMPARE_FAILED and not may_differ:
            raise Mismatch(f"compare of {cmd.blocks} blocks at {cmd.slba} failed on equal data")

    def _changes(self, lba: int, since: int | None) -> list[Change]:
        start = _NEVER - 1 if since is None else since
        return [c for c, gone in self._cells.get(lba, ((self._first, _NEVER),)) if gone > start]

    # Cells ------------------------------------------------------------------------------------------------------

    def _cell(self, lba: int) -> list[list]:
        cell = self._cells.get(lba)
        if cell is None:
            cell = self._cells[lba] = [[self._first, _NEVER]]
        return cell

    def _prune(self, changes: list[Change]) -> None:
        oldest = min(self._pending, default=_NEVER - 1)
        for change in changes:
            for lba in range(change.slba, min(change.slba + change.blocks, self.blocks)):
                cell = self._cells[lba]
                if len(cell) > 1:
                    self._cells[lba] = [c for c in cell if c[1] > oldest]


@dataclass(frozen=True)
class Limits:
    """What Identify and the register file say about the drive, as far as command checks need it."""

    blocks: int
    block_size: int
    mdts_bytes: int = 1 << 20
    namespaces: tuple[int, ...] = (1,)
    nn: int = 1  # the largest NSID that there can be
    page_size: int = 4096
    verify_bytes: int = 1 << 20  # VSL
    uncorrectable: bool = False  # ONCS: Write Uncorrectable (WUSL = 0: no limit)
    sgl: bool = False  # SGLS: I/O commands may have SGLs


def allowed_statuses(
    limits: Limits,
    opcode: int,
    *,
    nsid: int = 1,
    slba: int = 0,
    nlb: int = 0,
    prp1: int = 0,
    prp2: int = 0,
    fuse: int = 0,
    psdt: int = 0,
    ranges: Iterable[tuple[int, int]] = (),
) -> set[int]:
    """The statuses with which an I/O command may end when nothing fails. `nlb` is zero based, as in the command.

    A command with several faults may end with the status of any of them: the specification sets no order.
    """
    if opcode not in IO_OPCODES and not (opcode == Opc.WRITE_UNCOR and limits.uncorrectable):
        return {Status.INVALID_OPCODE}
    bad: set[int] = set()
    if fuse:
        bad.add(Status.INVALID_FIELD)
    if (psdt == 3 or (psdt and not limits.sgl)) and opcode in (*DATA_OPCODES, Opc.DSM):
        bad.add(Status.INVALID_FIELD)
    if nsid not in limits.namespaces and not (opcode == Opc.FLUSH and nsid == NSID_ALL):
        inactive = 0 < nsid <= limits.nn
        bad |= {Status.INVALID_FIELD} if inactive or nsid == NSID_ALL else set()
        bad |= set() if inactive else {Status.INVALID_NS}
    blocks = nlb + 1
    size = blocks * limits.block_size
    if opcode in LBA_OPCODES and slba + blocks > limits.blocks:
        bad.add(Status.LBA_RANGE)
    most = limits.verify_bytes if opcode == Opc.VERIFY else limits.mdts_bytes if opcode in DATA_OPCODES else 0
    if most and size > most:
        bad.add(Status.INVALID_FIELD)
    if opcode == Opc.DSM:
        ranges = list(ranges)
        size = max(len(ranges), 1) * 16
        if any(first + length > limits.blocks for first, length in ranges):
            bad.add(Status.LBA_RANGE)
    if opcode in (*DATA_OPCODES, Opc.DSM) and not psdt:
        page = limits.page_size
        first = page - prp1 % page
        if prp1 % 4:
            bad.add(Status.INVALID_PRP_OFFSET)
        if first < size <= first + page and prp2 % page:  # PRP2 is the second page
            bad.add(Status.INVALID_PRP_OFFSET)
        if size > first + page and prp2 % 8:  # PRP2 points to a list
            bad.add(Status.INVALID_PRP_OFFSET)
    return bad or {Status.SUCCESS}
