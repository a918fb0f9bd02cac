# SPDX-License-Identifier: Apache-2.0
"""Programs of near-storage commands as the hardware has them (db_csd_near_programs), made from those of a host."""

from __future__ import annotations

import random
import string
import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from doorbell.compute.near import (
    PIECE_BYTES,
    Aggregate,
    Behind,
    ColumnType,
    Crypt,
    Csv,
    Filter,
    Grep,
    Hash,
    Predicate,
    Program,
    operators,
)
from doorbell.nvme.vendor import (
    NEAR_COLUMNS,
    NEAR_PREDICATES,
    NEAR_RECORD_MOST,
    NearComparison,
    NearDigest,
    NearOperator,
)

LINES, MORE = 1 << 24, 1 << 4
ONE_OF_EACH = (NearOperator.GREP, NearOperator.AGGREGATE, NearOperator.FILTER, NearOperator.CSV, NearOperator.HASH)


def words(program: Program | None, cells: int) -> list[int]:
    """The words of a program, word 0 first: of each operator a head and its own. None: there is none."""
    chain = operators(program)
    if not chain:
        return [NearOperator.CRYPT if program else NearOperator.NONE]
    out = []
    for n, stage in enumerate(chain):
        number, own = operator_words(stage, cells)
        out += [number | MORE * (n + 1 < len(chain)) | len(own) << 8, *own]
    out[0] |= LINES * any(isinstance(stage, Grep) and stage.lines for stage in chain)
    return out


def operator_words(program: Behind, cells: int) -> tuple[NearOperator, list[int]]:
    """Which it is, and the words that it gets."""
    if isinstance(program, Aggregate):
        return NearOperator.AGGREGATE, [program.type, program.record, program.column]
    if isinstance(program, Hash):
        return NearOperator.HASH, [program.digest]
    if isinstance(program, Csv):
        return NearOperator.CSV, [program.separator | program.line_end << 8 | program.field << 16]
    if isinstance(program, Filter):
        return NearOperator.FILTER, filter_words(program)
    return NearOperator.GREP, grep_words(program, cells)


def grep_words(program: Grep, cells: int) -> list[int]:
    flags = program.fold_case | program.where << 1 | program.without << 2 | program.lines << 3
    pieces: list[tuple[bytes, int]] = []
    for text in program.strings:
        text = text.lower() if program.fold_case else text
        cuts = range(0, len(text), PIECE_BYTES)
        for at in cuts:
            pieces.append((text[at : at + PIECE_BYTES], (at == cuts[0]) << 8 | (at == cuts[-1]) << 9))
    assert len(pieces) <= cells
    pieces += [(b"", 0)] * (cells - len(pieces))
    out = [flags | program.line_end << 8]
    for piece, ends in pieces:
        out += [*struct.unpack("<4I", piece.ljust(PIECE_BYTES, b"\0")), len(piece) | ends]
    return out


LESS, EQUAL, GREATER = 1, 2, 4
WANTED = {
    NearComparison.EQUAL: EQUAL,
    NearComparison.NOT_EQUAL: LESS | GREATER,
    NearComparison.LESS: LESS,
    NearComparison.NOT_GREATER: LESS | EQUAL,
    NearComparison.GREATER: GREATER,
    NearComparison.NOT_LESS: EQUAL | GREATER,
}


def filter_words(program: Filter) -> list[int]:
    alternatives = sum(p.alternative << n for n, p in enumerate(program.predicates))
    out = [program.record | program.bitmap << 16 | alternatives >> 1 << 17]
    for p in program.predicates:
        size = p.type.bytes
        number = (p.number + (1 << 8 * size - 1) * p.type.signed) % (1 << 8 * size)  # the sign is turned
        later = program.record - p.column - size
        repeated = number.to_bytes(size, "little") * (8 // size)
        out += [p.type | WANTED[p.comparison] << 3, p.column | later << 16, *struct.unpack("<2I", repeated)]
    for _ in range(NEAR_PREDICATES - len(program.predicates)):  # always true
        out += [(LESS | EQUAL | GREATER) << 3, program.record - 1, 0, 0]
    return out + [at | at + size - 1 << 16 for at, size in program.columns]


def random_column(rng: random.Random, record: int) -> tuple[ColumnType, int]:
    kind = rng.choice([k for k in ColumnType if k.bytes <= record])
    return kind, rng.randrange(record - kind.bytes + 1)


def random_grep(rng: random.Random, cells: int) -> Grep:
    strings, left = [], cells
    for _ in range(rng.randint(1, 8)):
        size = rng.choice((1, 2, 3, 5, rng.randint(1, 20), 33))
        if (left := left - -(-size // PIECE_BYTES)) < 0:
            break
        strings.append(bytes(rng.choice(b"abAB") for _ in range(size)))
    program = Grep(tuple(strings or [b"ab"]), rng.random() < 0.5, rng.random() < 0.6, rng.random() < 0.2)
    return replace(program, where=False, lines=True) if rng.random() < 0.3 else program


def random_filter(rng: random.Random, record: int = 0) -> Filter:
    """Numbers are such that values of few bytes, and of few kinds of bytes, are on both sides of them, or the same."""
    record = record or rng.choice((rng.randint(1, 12), rng.randint(1, 70), rng.randint(1, NEAR_RECORD_MOST), 16, 64))
    predicates: list[Predicate] = []
    for n in range(rng.randint(1, NEAR_PREDICATES)):
        kind, column = random_column(rng, record)
        raw = bytes(rng.choice(b"\x00\x7f\x80\xffabAB") for _ in range(kind.bytes))
        number = int.from_bytes(rng.choice((raw, rng.randbytes(kind.bytes))), "little", signed=kind.signed)
        comparison = rng.choice(list(NearComparison))
        predicates.append(Predicate(kind, column, comparison, number, n > 0 and rng.random() < 0.4))
    if rng.random() < 0.2:
        return Filter(record, tuple(predicates), bitmap=True)
    return Filter(record, tuple(predicates), columns=random_columns(rng, record))


def random_columns(rng: random.Random, record: int) -> tuple[tuple[int, int], ...]:
    """Often none; some touch each other, some are all of the record."""
    columns, at = [], 0
    for _ in range(rng.choice((0, 0, 1, 2, 3, NEAR_COLUMNS))):
        at += rng.choice((0, rng.randint(0, 5), rng.randint(0, record)))
        if at >= record:
            break
        size = rng.choice((1, rng.randint(1, record - at), min(4, record - at)))
        columns.append((at, size))
        at += size
    return tuple(columns)


def random_end(rng: random.Random, cells: int) -> Behind:
    """Of any operator. A Grep's strings are short, of few letters, so that random text has them."""
    if rng.random() < 0.1:
        return Hash(NearDigest.CRC32C)
    if rng.random() < 0.15:
        return Csv(rng.randrange(4), rng.choice(b" a."))
    if rng.random() < 0.3:
        return random_filter(rng)
    if rng.random() < 0.4:
        kind = rng.choice(list(ColumnType))
        record = rng.choice((kind.bytes, kind.bytes + rng.randrange(40), rng.randrange(kind.bytes, 3000)))
        return Aggregate(kind, record, rng.randrange(record - kind.bytes + 1))
    return random_grep(rng, cells)


def random_program(
    rng: random.Random, *, cells: int = 8, as_it_is: bool = False, slots: Iterable[NearOperator] = ONE_OF_EACH
) -> Program:
    """An operator, or a chain of those in `slots`, each as often as it is there; a Hash is besides.

    as_it_is: also a Crypt, whose rows operators see as they are.
    """
    if as_it_is and rng.random() < 0.1:
        return Crypt(1)
    program = random_end(rng, cells)
    left = Counter(slots)
    left[operator_words(program, cells)[0]] -= 1
    while rng.random() < 0.5:
        before: Grep | Filter = rng.choice((random_filter(rng), random_grep(rng, cells)))
        before = (
            replace(before, bitmap=False) if isinstance(before, Filter) else replace(before, where=False, lines=True)
        )
        before = replace(before, behind=program)
        operator = operator_words(before, cells)[0]
        if not left[operator] or len(words(before, cells)) > program_words(cells):
            break
        left[operator] -= 1
        if isinstance(before, Filter) and isinstance(program, Aggregate):  # often one that the records have
            kind, column = random_column(rng, before.packed)
            before = replace(before, behind=Aggregate(kind, before.packed, column))
        program = before
    return program


def program_words(cells: int) -> int:
    """That the hardware has room for: two Filters and two Greps, at most 256."""
    return min(256, 2 << (3 + 4 * NEAR_PREDICATES + NEAR_COLUMNS + 5 * cells).bit_length())


ODD_NUMBERS = (
    b"", b"", b"+", b"-", b".", b"-.", b"+5", b".5", b"-.25", b"7.", b"1.2.3", b"--1", b"1-", b"1+2", b"1e3", b'"1"',
    b"abc", b"12 ", b" 12", b"0", b"-0", b"00000000000.", b"999999999999.999999", b"-999999999999.999999",
    b"1000000000000", b"0000000000001", b"1.0000000", b"0.0000001", b".000001", b"-.000001",
    b"1234567890123456789012345", b"0x10",
)  # fmt: skip


def random_number(rng: random.Random) -> bytes:
    """Most are such as a Csv takes."""
    if rng.random() < 0.2:
        return rng.choice(ODD_NUMBERS)
    whole = b"%d" % rng.randrange(10 ** rng.choice((1, 1, 2, 4, 12)))
    digits = rng.choice((0, 0, 1, 2, 6))
    point = b".%0*d" % (digits, rng.randrange(10**digits)) if digits else b""
    return rng.choice((b"", b"", b"-", b"+")) + whole + point


def random_csv(rng: random.Random, size: int, separator: bytes = b",", line_end: bytes = b"\n") -> bytes:
    """Lines of fields; of few fields or of many, short ones or all sorts, and some that end with a carriage return."""
    out, parts = [], 0
    most, short = rng.choice((1, 1, 3, 8, 300)), rng.random() < 0.3
    return_too = rng.random() < 0.2
    while parts < size:
        of = [
            rng.choice((b"", b"1", b"-2", b"9", b"x", b"5.")) if short else random_number(rng)
            for _ in range(rng.randint(max(1, most // 2), most))
        ]
        line = separator.join(of) + (b"\r" if return_too else b"") + line_end
        out.append(line)
        parts += len(line)
    return b"".join(out)[:size]


def random_text(rng: random.Random, size: int) -> bytes:
    """Lines of few letters, short and long ones, some of them empty."""
    out = b""
    while len(out) < size:
        line = bytes(rng.choice(b"abAB. ") for _ in range(rng.choice((0, 3, 20, 70, 200))))
        out += line + (string.digits.encode() if rng.random() < 0.2 else b"") + b"\n"
    return out[:size]
