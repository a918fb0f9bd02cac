# SPDX-License-Identifier: Apache-2.0
"""Near-storage commands of a soak: data and programs made of a number, wrong programs, and what a command's end may be,
by docs/csd/near-storage.md. `doorbell.compute.near` has the model of a result."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod

from doorbell.compute.near import (
    CELLS,
    PIECE_BYTES,
    PROGRAMS,
    Aggregate,
    ColumnType,
    Crypt,
    Csv,
    Filter,
    Grep,
    Hash,
    Predicate,
    Program,
    longest,
)
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.nvme.memory import Buffer
from doorbell.nvme.model import Limits, Mismatch, Pending, allowed_statuses
from doorbell.nvme.vendor import NEAR_PREDICATES, NEAR_RECORD_MOST, NearComparison, NearDigest, VendorStatus
from doorbell.soak.near_crypt import crypted, fits, leaked
from doorbell.soak.near_messages import Part, brings

TOO_LARGE = 0x100 | VendorStatus.RESULT_TOO_LARGE
ENDED_WELL = (Status.SUCCESS, TOO_LARGE)
WRONG = ("operator", "flags", "strings", "size", "short", "end", "cells", "type", "record", "column",
         "mode", "slot", "behind", "separator")  # fmt: skip
"""What a program can have that makes it none."""
MISTAKES = ("number", "bytes")
"""Of the command that loads it: the old one stays."""
BYTES_MOST = 1024
MOST_RESULTS = 16  # that are looked at, where blocks may have one of several values


# ---- data and programs


@cache
def _lines() -> list[bytes]:
    rng = random.Random(0)
    sizes = (0, 3, 20, 70, 200)
    return [bytes(rng.choices(b"abAB. ", k=rng.choice(sizes))) + b"\n" for _ in range(200)]


def text(number: int, size: int) -> bytes:
    """Lines of few letters, short and long ones, some of them empty."""
    rng, out = random.Random(number), b""
    while len(out) < size:
        out += b"".join(rng.choices(_lines(), k=1 + (size - len(out)) // 60))
    cut = rng.randrange(len(out) - size + 1)
    return out[cut : cut + size]


def _column(rng: random.Random, record: int) -> tuple[ColumnType, int]:
    kind = rng.choice([k for k in ColumnType if k.bytes <= record])
    return kind, rng.randrange(record - kind.bytes + 1)


def _filter(rng: random.Random) -> Filter:
    record = rng.choice((1, 8, rng.randint(1, 40), rng.randint(1, NEAR_RECORD_MOST), NEAR_RECORD_MOST))
    predicates = []
    for n in range(rng.randint(1, NEAR_PREDICATES)):
        kind, column = _column(rng, record)
        number = int.from_bytes(bytes(rng.choices(b"abAB\n .\xff", k=kind.bytes)), "little", signed=kind.signed)
        alternative = n > 0 and rng.random() < 0.4
        predicates.append(Predicate(kind, column, rng.choice(list(NearComparison)), number, alternative))
    behind: Aggregate | Grep | None = Aggregate(kind, record, column) if rng.random() < 0.3 else None
    bitmap = behind is None and rng.random() < 0.3
    if behind is None and not bitmap and rng.random() < 0.3:
        behind = Grep((b"ab", b"ba"), where=rng.random() < 0.5)
    return Filter(record, tuple(predicates), bitmap, behind)


def program_of(number: int) -> Program:
    """Grep, Aggregate, Filter or CRC-32C; most strings are short, of few letters, so that text has them. Numbers stand
    in scripts: what a number means must not change, so other programs have a name beside it (near_kinds.py)."""
    rng = random.Random(number)
    if rng.random() < 0.1:
        return Hash(NearDigest.CRC32C)
    if rng.random() < 0.3:
        return _filter(rng)
    if rng.random() < 0.4:
        kind = rng.choice(list(ColumnType))
        record = rng.choice((kind.bytes, kind.bytes + rng.randrange(40), rng.randrange(kind.bytes, 3000), 65535))
        return Aggregate(kind, record, rng.randrange(record - kind.bytes + 1))
    strings, left = [], CELLS
    for _ in range(rng.randint(1, 8)):
        size = rng.choice((1, 2, 3, 5, rng.randint(1, 20), 33, 64))
        if (left := left - -(-size // PIECE_BYTES)) < 0:
            break
        strings.append(bytes(rng.choices(b"abAB", k=size)))
    return Grep(tuple(strings or [b"ab"]), *(rng.random() < p for p in (0.5, 0.6, 0.2)), rng.choice(b"\n\n\n. \0"))


def spoiled(number: int, how: str) -> bytes:
    """The bytes of a program that is none, by one of WRONG."""
    grep, column = Grep((b"abc", b"x" * 33), line_end=0x3B), Aggregate(ColumnType.U32, 20, 4)
    rng = random.Random(number)
    good = bytearray((grep if how in WRONG[1:7] else column).program())
    if how in ("mode", "slot", "behind"):
        good = bytearray(Crypt(1, behind=column).program())
    match how:
        case "mode":
            good[rng.choice((4, 5))] = rng.choice((2, 255))
        case "slot":
            good[6] = rng.choice((0, 63, 255))  # none that a function has
        case "behind":
            good[16] = rng.choice((0, 5, 9))
        case "separator":
            good = bytearray(Csv(1, 0x0A, 0x0A).program())
        case "operator":
            good[0] = rng.choice((0, 3, 255))
        case "flags":
            good[4] |= rng.choice((32, 16, 128))
        case "strings":
            good[6] = rng.choice((0, 1, 3, 9, 255))  # not as many as have a size
        case "size":
            good[8] = rng.choice((0, 65, 255))
        case "short":
            del good[rng.choice((1, 4, 15, 16, len(good) - 1)) :]
        case "end":
            good[16] = 0x3B
        case "cells":
            good = bytearray(Grep(tuple(bytes([65 + i]) * 17 for i in range(5))).program())
        case "type":
            good[4] = rng.choice((8, 255))
        case "record":
            good[8] = rng.choice((0, 3, 7))
        case "column":
            good[10] = rng.choice((17, 20, 255))
    return bytes(good)


# ---- a command


@dataclass(eq=False)
class Look:
    """What a near-storage command is asked for. programs: those that it may run with; None: it finds none.

    Of a Crypt: key, its number (0: there is none, None: it has changed meanwhile), own: the namespace has an operator
    of its own, block_size: of the namespace. part: what it does to a message. to: the block where its result goes,
    to_nsid: of which namespace, late: what refuses that when the result is there, stores: what the model of the blocks
    calls it. memory: its data, if they lie in `source`.
    """

    slba: int
    length: int
    room: int
    phase: int
    number: int
    programs: list[Program | None]
    key: int | None = 0
    slot: int | None = None
    own: bool = False
    block_size: int = 512
    part: Part | None = None
    to: int | None = None
    to_nsid: int = 0
    late: frozenset[int] = frozenset()
    memory: bytes | None = None
    source: Buffer | None = None
    stores: Pending | None = None

    def loaded(self, number: int, program: Program | None) -> None:
        """Another program comes while the command is under way: it finds the old one, none or the new one."""
        if number == self.number:
            self.programs += [None, program]

    def key_changes(self, slot: int) -> None:
        if slot == self.slot:
            self.key = None

    def refused(self, size: int, prps: tuple[int, int], psdt: int) -> set[int]:
        """What is wrong with its fields; size: bytes of its blocks."""
        legal = 1 <= self.length <= size and 64 <= self.room <= size and not self.room % 64 and self.number < PROGRAMS
        if self.to is not None:
            legal = legal and not self.room % 512
        found = set() if legal else {int(Status.INVALID_FIELD)}
        if self.room > 0 and not psdt:
            limits = Limits(1, self.room, 0)
            found |= allowed_statuses(limits, NvmOpc.READ, prp1=prps[0], prp2=prps[1]) - {Status.SUCCESS}
        return found

    def allowed(self, statuses: Iterable[int], sure: bool = True) -> set[int]:
        """`statuses` are right but for its program, and where it stores; sure: what refuses that has not changed."""
        right, found = set(statuses), set()
        for program in self.programs:
            works, fails = self._with(program)
            if works:
                found |= right | ({TOO_LARGE} if Status.SUCCESS in right else set())
            if fails:
                found |= (right - set(ENDED_WELL)) | ({fails} if Status.SUCCESS in right or program is None else set())
        if self.late and Status.SUCCESS in found:
            found = (found - {Status.SUCCESS} if sure else found) | self.late
        return found

    def _with(self, program: Program | None) -> tuple[bool, int]:
        """With this program: if it can end well, and with what else it ends."""
        if program is None or self.length > longest(program):
            return False, Status.INVALID_FIELD
        if not isinstance(program, Crypt):
            return True, 0
        refused = Status.READ_ERROR if self.memory is None else Status.DATA_TRANSFER_ERROR
        if self.key is None or len(self.programs) > 1:  # nobody knows the key of another program
            return not self.own, refused
        good = fits(program, self.key) and not self.own
        return good, 0 if good else refused

    def check(self, command: Command, got: bytes) -> None:
        """What its end says for itself."""
        status, size = command.status, command.dw0
        if status not in ENDED_WELL:
            if size:
                raise Mismatch(f"it has failed, and dword 0 is {size}")
            return
        if (status == TOO_LARGE) != (size > self.room):
            raise Mismatch(f"a result of {size} bytes for {self.room} ended with {status:#x}")
        if status == TOO_LARGE and command.dnr:
            raise Mismatch("Result Too Large has DNR")
        if any(got[size:]):
            raise Mismatch(f"not all is zero behind the {size} bytes of the result")

    def check_result(self, command: Command, got: bytes, values: list[list[bytes]] | None) -> str:
        """values: those that each block may have. Returns what was looked at, if anything could be."""
        few = values if values is not None and prod(map(len, values)) <= MOST_RESULTS else None
        programs = [p for p in dict.fromkeys(self.programs) if p is not None]
        if command.status not in ENDED_WELL:
            return self._check_leak(got, values)
        if len(self.programs) == 1 and brings(programs[0]):
            return self._check_message(got, few, programs[0])
        crypts = any(isinstance(p, Crypt) for p in programs)
        if few is None or any(map(brings, programs)) or (crypts and (len(self.programs) > 1 or not self.key)):
            return ""
        wanted = b""
        for blocks in product(*few):
            whole = b"".join(blocks)
            for program in programs:
                wanted = program.result(self._seen(program, whole), self.phase)
                if len(wanted) == command.dw0 and got == wanted[: self.room].ljust(self.room, b"\0"):
                    return "near: result known" if not crypts else "near: result of a Crypt known"
        at = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
        raise Mismatch(
            f"{programs[-1]} gives {command.dw0} bytes, from {at} on {got[at : at + 8].hex()}, not {len(wanted)}, "
            f"{wanted[at : at + 8].hex()} ({self.length} bytes looked at, phase {self.phase})"
        )

    def result(self, whole: bytes) -> bytes | None:
        """Of these blocks, with its one program; None: nobody knows its key."""
        program = self.programs[0]
        if program is None or (isinstance(program, Crypt) and not self.key):
            return None
        return program.result(self._seen(program, whole), self.phase)

    def _seen(self, program: Program, whole: bytes) -> bytes:
        """What its operator sees of these blocks."""
        if isinstance(program, Crypt):
            assert self.key
            whole = crypted(program, self.key, self.slba, self.block_size, whole)
        return whole[: self.length]

    def _check_message(self, got: bytes, values: list[list[bytes]] | None, program: Program) -> str:
        assert self.part is not None
        certain = values is not None and all(len(v) == 1 for v in values)
        if isinstance(program, Crypt) and not self.key:
            certain = False
        data = self._seen(program, b"".join(v[0] for v in values)) if certain and values is not None else None
        looked_at = self.part.result(got, data)
        return "near: digest known" if looked_at else "near: message known" if self.part.known else ""

    def _check_leak(self, got: bytes, values: list[list[bytes]] | None) -> str:
        """Where a Crypt has no key, nothing of the data leaves."""
        program = self.programs[0]
        if len(self.programs) > 1 or not isinstance(program, Crypt) or self.key is None or values is None:
            return ""
        if fits(program, self.key) and not self.own:
            return ""
        for lba, choices in enumerate(values, self.slba):
            for value in choices:
                if (at := leaked(value, got)) is not None:
                    raise Mismatch(f"{program} has no key, and byte {at} of block {lba} is in the buffer")
        return "near: no key, nothing left"
