# SPDX-License-Identifier: Apache-2.0
"""Programs of near-storage commands as the hardware has them (db_csd_near_programs), made from those of a host."""

from __future__ import annotations

import random
import string
import struct

from doorbell.compute.near import PIECE_BYTES, Aggregate, ColumnType, Grep
from doorbell.nvme.vendor import NearOperator

Program = Grep | Aggregate


def words(program: Program | None, cells: int) -> list[int]:
    """The words of a program, word 0 first. None: there is none."""
    if program is None:
        return [NearOperator.NONE]
    if isinstance(program, Aggregate):
        return [NearOperator.AGGREGATE | 3 << 8, program.type, program.record, program.column]
    flags = program.fold_case | program.where << 1 | program.without << 2
    pieces: list[tuple[bytes, int]] = []
    for text in program.strings:
        text = text.lower() if program.fold_case else text
        cuts = range(0, len(text), PIECE_BYTES)
        for at in cuts:
            pieces.append((text[at : at + PIECE_BYTES], (at == cuts[0]) << 8 | (at == cuts[-1]) << 9))
    assert len(pieces) <= cells
    pieces += [(b"", 0)] * (cells - len(pieces))
    out = [NearOperator.GREP | (1 + 5 * cells) << 8, flags | program.line_end << 8]
    for piece, ends in pieces:
        out += [*struct.unpack("<4I", piece.ljust(PIECE_BYTES, b"\0")), len(piece) | ends]
    return out


def random_program(rng: random.Random, *, cells: int = 8) -> Program:
    """Of either operator; a Grep's strings are short, of few letters, so that random text has them."""
    if rng.random() < 0.4:
        kind = rng.choice(list(ColumnType))
        record = rng.choice((kind.bytes, kind.bytes + rng.randrange(40), rng.randrange(kind.bytes, 3000)))
        return Aggregate(kind, record, rng.randrange(record - kind.bytes + 1))
    strings, left = [], cells
    for _ in range(rng.randint(1, 8)):
        size = rng.choice((1, 2, 3, 5, rng.randint(1, 20), 33))
        if (left := left - -(-size // PIECE_BYTES)) < 0:
            break
        strings.append(bytes(rng.choice(b"abAB") for _ in range(size)))
    return Grep(tuple(strings or [b"ab"]), rng.random() < 0.5, rng.random() < 0.6, rng.random() < 0.2)


def random_text(rng: random.Random, size: int) -> bytes:
    """Lines of few letters, short and long ones, some of them empty."""
    out = b""
    while len(out) < size:
        line = bytes(rng.choice(b"abAB. ") for _ in range(rng.choice((0, 3, 20, 70, 200))))
        out += line + (string.digits.encode() if rng.random() < 0.2 else b"") + b"\n"
    return out[:size]
