# SPDX-License-Identifier: Apache-2.0
"""Programs of near-storage commands and what they come to, as docs/csd/near-storage.md has it.

`Grep`, `Aggregate`, `Filter`, `Hash`, `Crypt` and `Csv` make the bytes of Load Program and say what a result is:
the model that the hardware is held against.

    near.load(drive, 0, near.Grep((b"error",)).program())
    command, result = near.run(drive, 0, slba=0, blocks=8)
"""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Any

from doorbell.compute.near_csv import Csv
from doorbell.nvme.commands import Command
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import Buffer
from doorbell.nvme.model import Limits
from doorbell.nvme.sgl import Descriptor, Kind
from doorbell.nvme.vendor import (
    FROM_MEMORY,
    FROM_SGL,
    NEAR_LINES_MOST,
    STORE_NSID,
    NearComparison,
    NearDigest,
    NearMode,
    NearOperator,
    VendorIoOpc,
    VendorOpc,
)

PROGRAMS = 4
"""Of a function."""
CELLS = 8
"""Pieces that all strings of a Grep together may have."""
PIECE_BYTES = 16
STRETCH_BYTES = 64


class Cut(IntFlag):
    """PHASE of a Grep that gives lines."""

    FIRST = 1
    """The data begin inside a line: the first one does not come out."""
    LAST = 2
    """They end inside one: what is behind the last line end does not."""


@dataclass(frozen=True)
class Grep:
    """Lines that have one of `strings` (1 to 8, of 1 to 64 bytes), or that have none of them.

    lines: these come out, and are the result, or what `behind` makes of them; else how many there are, and with `where`
    where.
    """

    strings: tuple[bytes, ...]
    fold_case: bool = False
    where: bool = False
    without: bool = False
    line_end: int = 0x0A
    lines: bool = False
    behind: Behind | None = None

    def program(self) -> bytes:
        flags = self.fold_case | self.where << 1 | self.without << 2 | self.lines << 3
        behind = self.behind is not None
        head = struct.pack("<BB2xBBBx", NearOperator.GREP, behind, flags, self.line_end, len(self.strings))
        own = head + bytes(len(s) for s in self.strings).ljust(8, b"\0") + b"".join(self.strings)
        return in_front(own, self.behind)

    def _found(self, data: bytes, cut: Cut) -> bytes:
        pattern, end = self._pattern(), bytes([self.line_end])
        lines = [line + end for line in data.split(end)]
        lines[-1] = lines[-1][:-1]
        if cut & Cut.LAST:
            lines.pop()
        counts = (line for line in lines[cut & Cut.FIRST :] if line)
        return b"".join(line for line in counts if (pattern.search(line.removesuffix(end)) is None) == self.without)

    def _pattern(self) -> re.Pattern[bytes]:
        return re.compile(b"|".join(map(re.escape, self.strings)), re.IGNORECASE if self.fold_case else 0)

    def result(self, data: bytes, phase: int = 0) -> bytes:
        if self.lines:
            found = self._found(data, Cut(phase & 3))
            return self.behind.result(found) if self.behind else found
        pattern = self._pattern()
        end = bytes([self.line_end])
        lines = data.split(end)
        unended = lines[-1] != b""
        if not unended:
            lines.pop()
        counts = [(pattern.search(line) is None) == self.without for line in lines]
        stretches: dict[int, int] = {}
        at = 0
        for number, (line, counted) in enumerate(zip(lines, counts, strict=True)):
            last = at + len(line) - (unended and number == len(lines) - 1)
            if counted:
                stretch = last - last % STRETCH_BYTES
                stretches[stretch] = stretches.get(stretch, 0) | 1 << last % STRETCH_BYTES
            at = last + 1
        first = data.find(end) + 1 or len(data)
        flags = unended | counts[-1] << 1 | counts[0] << 2 if counts else 0
        entries = b"".join(struct.pack("<QQ", *entry) for entry in sorted(stretches.items())) if self.where else b""
        return entries + struct.pack("<QQQQ", sum(counts), len(lines), first, flags)


class ColumnType(IntEnum):
    U8 = 0
    U16 = 1
    U32 = 2
    U64 = 3
    I8 = 4
    I16 = 5
    I32 = 6
    I64 = 7

    @property
    def bytes(self) -> int:
        return int(1 << (self & 3))

    @property
    def signed(self) -> bool:
        return self >= ColumnType.I8


def phase_in(phase: int, record: int) -> int:
    """What a command's PHASE counts as."""
    return phase if phase < record else 0


@dataclass(frozen=True)
class Aggregate:
    """Count, sum, least and greatest of a column: `record` bytes each, 1 to 65535, in which it begins at `column`."""

    type: ColumnType
    record: int
    column: int = 0

    def program(self) -> bytes:
        return struct.pack("<B3xB3xHH4x", NearOperator.AGGREGATE, self.type, self.record, self.column)

    def result(self, data: bytes, phase: int = 0) -> bytes:
        first = (self.column - phase_in(phase, self.record)) % self.record
        found = [
            int.from_bytes(data[at : at + self.type.bytes], "little", signed=self.type.signed)
            for at in range(first, len(data) - self.type.bytes + 1, self.record)
        ]
        mask = (1 << 64) - 1
        least, greatest = (min(found) & mask, max(found) & mask) if found else (0, 0)
        total = sum(found) & ((1 << 128) - 1)
        return struct.pack("<QQ", len(found), 0) + total.to_bytes(16, "little") + struct.pack("<QQ", least, greatest)


COMPARE = {
    NearComparison.EQUAL: operator.eq,
    NearComparison.NOT_EQUAL: operator.ne,
    NearComparison.LESS: operator.lt,
    NearComparison.NOT_GREATER: operator.le,
    NearComparison.GREATER: operator.gt,
    NearComparison.NOT_LESS: operator.ge,
}


@dataclass(frozen=True)
class Predicate:
    """A column's value compared with `number`. alternative: those before it, or from it on."""

    type: ColumnType
    column: int
    comparison: NearComparison
    number: int
    alternative: bool = False

    def program(self) -> bytes:
        number = self.number & ((1 << 64) - 1)
        return struct.pack("<BBBxHxxQ", self.type, self.comparison, self.alternative, self.column, number)

    def __call__(self, record: bytes) -> bool:
        value = int.from_bytes(record[self.column : self.column + self.type.bytes], "little", signed=self.type.signed)
        return bool(COMPARE[self.comparison](value, self.number))


@dataclass(frozen=True)
class Filter:
    """Records (1 to 1024 bytes) for which 1 to 4 predicates hold; or a bit for each; or what `behind` makes of them.

    columns: of those that pass only these come out: up to 4, a place and a size each, ascending, none in another.
    """

    record: int
    predicates: tuple[Predicate, ...]
    bitmap: bool = False
    behind: Behind | None = None
    columns: tuple[tuple[int, int], ...] = ()

    @property
    def packed(self) -> int:
        """Bytes that come out of a record."""
        return sum(size for _, size in self.columns) or self.record

    def program(self) -> bytes:
        head = struct.pack(
            "<BBxxBBBxH6x", NearOperator.FILTER, self.behind is not None, self.bitmap, len(self.predicates),
            len(self.columns), self.record,
        )  # fmt: skip
        columns = b"".join(struct.pack("<HH", *column) for column in self.columns)
        parts = [head, *(p.program() for p in self.predicates), columns.ljust(16 if columns else 0, b"\0")]
        return in_front(b"".join(parts), self.behind)

    def chosen(self, record: bytes) -> bytes:
        return b"".join(record[at : at + size] for at, size in self.columns) if self.columns else record

    def passes(self, record: bytes) -> bool:
        alternatives: list[bool] = [True]
        for predicate in self.predicates:
            if predicate.alternative:
                alternatives.append(True)
            alternatives[-1] = alternatives[-1] and predicate(record)
        return any(alternatives)

    def result(self, data: bytes, phase: int = 0) -> bytes:
        first = -phase_in(phase, self.record) % self.record
        records = [data[at : at + self.record] for at in range(first, len(data) - self.record + 1, self.record)]
        passed = [self.passes(r) for r in records]
        if self.bitmap:
            bits = sum(1 << n for n, p in enumerate(passed) if p)
            return bits.to_bytes(-(-len(passed) // 8), "little")
        found = b"".join(self.chosen(r) for r, p in zip(records, passed, strict=True) if p)
        return self.behind.result(found) if self.behind else found


class HashStep(IntFlag):
    """What a command does to a message, in its PHASE; the message's number stands above."""

    BEGIN = 1
    END = 2
    ASK = 4


MESSAGES = 4
"""Of a program of Hash."""
BLOCK_BYTES = 64
"""Data of a message are taken in blocks of so many bytes, but for its last ones."""


def message_phase(steps: HashStep, message: int = 0, skip: int = 0) -> int:
    """skip: blocks of 64 bytes before the data of the message, at most 1023."""
    return steps | message << 4 | skip << 6


def _crc32c_of_a_byte(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


CRC32C = tuple(_crc32c_of_a_byte(byte) for byte in range(256))


def crc32c(data: bytes) -> int:
    """A byte at a time, as RFC 3720 has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC32C[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


@dataclass(frozen=True)
class Hashed:
    """Result of a Hash: bytes of the message that were taken, whether it has ended, its digest if that is there."""

    taken: int
    ended: bool
    digest: bytes | None

    @classmethod
    def of(cls, result: bytes) -> Hashed:
        taken, flags = struct.unpack_from("<QQ", result)
        return cls(taken, bool(flags & 2), result[32:64] if flags & 1 else None)

    def result(self) -> bytes:
        flags = (self.digest is not None) | self.ended << 1
        return struct.pack("<QQ16x32s", self.taken, flags, self.digest or b"")


@dataclass(frozen=True)
class Hash:
    """Digest of data: SHA-256 of messages, which commands bring a part of each, or CRC-32C of a command's data."""

    digest: NearDigest = NearDigest.SHA256

    def program(self) -> bytes:
        return struct.pack("<B3xB11x", NearOperator.HASH, self.digest)

    def result(self, data: bytes, phase: int = 0) -> bytes:
        """Of CRC-32C. What SHA-256 comes to depends on the commands before, and on time: `digest` has it all."""
        assert self.digest == NearDigest.CRC32C
        del phase
        return Hashed(len(data), True, crc32c(data).to_bytes(32, "little")).result()


@dataclass(frozen=True)
class Crypt:
    """Data decrypted or encrypted with the key in the function's slot `slot`, or what `behind` makes of them.

    A data unit of XTS is a block, and its number the block's LBA plus `offset`; a counter of CTR counts from there too.
    """

    slot: int
    mode: NearMode = NearMode.XTS
    encrypt: bool = False
    offset: int = 0
    behind: Behind | None = None

    def program(self) -> bytes:
        behind = self.behind is not None
        head = struct.pack(
            "<BBxxBBBxQ", NearOperator.CRYPT, behind, self.mode, self.encrypt, self.slot, self.offset % (1 << 64)
        )
        return in_front(head, self.behind)

    def result(self, data: bytes, phase: int = 0) -> bytes:
        """data: what they are decrypted or encrypted; the key is none of the model's."""
        return self.behind.result(data, phase) if self.behind else data


Behind = Grep | Aggregate | Filter | Hash | Csv
"""What gets the lines of a Grep, the records of a Filter, the data of a Crypt; SHA-256 stands behind a Crypt alone."""
Program = Behind | Crypt


def in_front(own: bytes, behind: Behind | None) -> bytes:
    """A program and that of what stands behind it, from the next 16 bytes on."""
    return own + bytes(-len(own) % 16) + behind.program() if behind else own


def operators(program: Program | None) -> list[Behind]:
    """That get the data one behind another. A Crypt is the data path's, what is behind it all that they get."""
    behind = operators(program.behind) if isinstance(program, (Crypt, Grep, Filter)) else []
    return behind if program is None or isinstance(program, Crypt) else [program, *behind]


def longest(program: Program | None) -> int:
    """Bytes that a command of it looks at, at most."""
    gives_lines = any(isinstance(p, Grep) and p.lines for p in operators(program))
    return NEAR_LINES_MOST if gives_lines else Limits.mdts_bytes


def load_try(drive: Driver, number: int, program: bytes) -> Command:
    """Load Program; the status is the caller's to look at. An empty program forgets what is there."""
    buffer = drive.buffer(max(4, -(-len(program) // 4) * 4))
    try:
        buffer.write(program.ljust(buffer.size, b"\0"))
        return drive.admin_try(VendorOpc.LOAD_PROGRAM, buffer=buffer, cdw10=number, cdw11=len(program))
    finally:
        buffer.free()


def load(drive: Driver, number: int, program: bytes) -> None:
    load_try(drive, number, program).check()


def submit(
    drive: Driver,
    number: int,
    slba: int,
    blocks: int,
    *,
    length: int | None = None,
    room: int | None = None,
    phase: int = 0,
    to: int | None = None,
    to_nsid: int = 0,
    source: int | Buffer | None = None,
    buffer: Buffer | None = None,
    qid: int = 1,
    nsid: int | None = None,
) -> Command:
    """A near-storage command; its `buffer` is the result's, the caller's to free.

    length: bytes to look at, all unless given; room: of the result buffer, as many as the blocks have unless given.
    to: the result is stored from this block on, of namespace to_nsid (0: its own), which takes a room of whole blocks.
    buffer: one that the caller has.
    source: an address in memory, where the data are instead of in the blocks; or what `scattered` has made.
    """
    if not 0 <= to_nsid <= STORE_NSID >> 8:
        raise ValueError(f"a command that stores names namespaces up to {STORE_NSID >> 8}, not {to_nsid}")
    size = blocks * drive.block_size
    room = size if room is None else room
    opcode, where = (VendorIoOpc.NEAR, 0) if to is None else (VendorIoOpc.NEAR_STORE, to)
    flags = (FROM_MEMORY if source is not None else 0) | to_nsid << 8
    if isinstance(source, Buffer):
        source, flags = source.address, flags | FROM_SGL
    return drive.submit(
        qid, opcode, slba, blocks - 1, buffer or drive.buffer(max(room, 4)), nsid=nsid, nbytes=room,
        cdw2=where & 0xFFFFFFFF, cdw3=where >> 32, cdw13=size if length is None else length, cdw14=room,
        cdw15=number | flags | phase << 16, mptr=source or 0,
    )  # fmt: skip


def source_sgl(address: int, pieces: Sequence[tuple[int, int]]) -> bytes:
    """An SGL at `address` of data that lie in pieces, an address and bytes each: a descriptor, and the segment to which
    it points."""
    segment = Descriptor(address + 16, 16 * len(pieces), Kind.LAST_SEGMENT)
    return b"".join(struct.pack("<2Q", *d.words) for d in (segment, *(Descriptor(*piece) for piece in pieces)))


def scattered(drive: Driver, pieces: Sequence[tuple[int, int]]) -> Buffer:
    """`source_sgl` in memory, for a command's `source` on a drive with SLM; the caller's to free, when no command needs
    it any more."""
    buffer = drive.buffer(16 * (1 + len(pieces)))
    buffer.write(source_sgl(buffer.address, pieces))
    return buffer


def run(drive: Driver, number: int, slba: int, blocks: int, **options: Any) -> tuple[Command, bytes]:
    """One command, waited for, and what its result buffer has then, with the zeros behind the result."""
    command = submit(drive, number, slba, blocks, **options)
    assert command.buffer is not None
    try:
        command.buffer.write(b"\xa5" * command.buffer.size)
        drive.wait([command])
        return command, command.buffer.read()
    finally:
        command.buffer.free()


def digest(
    drive: Driver, number: int, slba: int, length: int, *, message: int = 0, most: int = 8192, patience: int = 1000
) -> bytes:
    """SHA-256 of `length` bytes from block `slba` on, by the function's program `number`; most: bytes of a command.

    What was not taken comes again, from its block on; when all was, the digest is asked for. TimeoutError after so many
    commands one behind another of which nothing came.
    """
    found, idle = Hashed(0, False, None), 0
    while found.digest is None:
        if idle == patience:
            raise TimeoutError(f"{found.taken} of {length} bytes were taken, and then {patience} commands for nothing")
        block, skip = divmod(found.taken, drive.block_size)
        part = min(most, length - found.taken)
        step = HashStep.ASK if found.ended else HashStep(0)
        step |= HashStep.END if found.taken + part == length else HashStep(0)
        step |= HashStep(0) if found.taken else HashStep.BEGIN
        phase = message_phase(step, message, skip // BLOCK_BYTES)
        size = max(1, skip + part)
        first = slba if found.ended else slba + block
        command, got = run(drive, number, first, -(-size // drive.block_size), length=size, room=64, phase=phase)
        command.check()
        before, found = found, Hashed.of(got)
        idle = idle + 1 if found == before else 0
    return found.digest
