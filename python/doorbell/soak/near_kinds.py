# SPDX-License-Identifier: Apache-2.0
"""Programs of near-storage commands by their kind and a number, and tables of text for a Csv."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from doorbell.compute.near import Aggregate, Crypt, Csv, Filter, Grep, Hash, Program, operators
from doorbell.nvme.vendor import NEAR_COLUMNS, NearMode
from doorbell.soak.near import program_of

KINDS = ("", "columns", "csv", "sha256", "crypt", "lines", "chain")
"""What the step "program" has in `of`; "" as program_of has it."""
XTS_SLOTS = (1, 2, 3)
CTR_SLOTS = (4, 5)
NO_KEY = 6  # a slot that no step loads
FIELDS = (b"", b"0", b"-1", b"+7", b"12.5", b"-0.000001", b"999999999999", b"1234567890123", b"1.", b".5", b"1.2345678",
          b"--2", b"1 ", b"ab", b"3e4", b"00012.340000", b"-999999999999.999999")  # fmt: skip
"""Numbers, and what is none."""


def table(number: int, size: int) -> bytes:
    """Lines of fields, most of them separated by commas."""
    rng, out = random.Random(number), b""
    ends = rng.choice((b"\n", b"\n", b"\r\n"))
    while len(out) < size:
        separator = rng.choice((b",", b",", b",", b";"))
        out += separator.join(rng.choice(FIELDS) for _ in range(rng.randint(1, 6))) + ends
    return out[:size]


def _columns(number: int) -> Filter:
    """A Filter that chooses columns; an Aggregate or a Grep behind it looks at these alone."""
    rng = random.Random(number)
    drawn = (program_of(rng.randrange(1 << 30)) for _ in range(1000))
    plain = next(p for p in drawn if isinstance(p, Filter) and p.record >= 8 and not p.bitmap)
    edges = sorted(rng.sample(range(plain.record + 1), 2 * rng.randint(1, min(NEAR_COLUMNS, plain.record // 4))))
    columns = tuple((first, end - first) for first, end in zip(edges[::2], edges[1::2]))
    packed, behind = sum(size for _, size in columns), plain.behind
    if isinstance(behind, Aggregate):
        behind = Aggregate(behind.type, packed) if behind.type.bytes <= packed else None
    return Filter(plain.record, plain.predicates, False, behind, columns)


def _lines(number: int) -> Grep | Filter:
    """A Grep that gives lines: alone, with a Csv behind it, behind a Filter."""
    rng = random.Random(number)
    drawn = (program_of(rng.randrange(1 << 30)) for _ in range(1000))
    grep = replace(next(p for p in drawn if isinstance(p, Grep)), where=False, lines=True)
    kind = rng.choice(("alone", "alone", "csv", "filter"))
    if kind == "filter":
        before = next(p for p in drawn if isinstance(p, Filter) and not p.bitmap)
        return replace(before, behind=grep)
    return replace(grep, behind=_csv(rng.randrange(1 << 30))) if kind == "csv" else grep


ORDERS = ((Filter,), (Grep,), (Grep, Filter), (Filter, Grep), (Grep, Grep), (Grep, Grep, Filter))
"""What stands before the last operator of a chain, from it on."""


def _chain(number: int) -> Program:
    """Up to two Greps that give lines, a Filter before, between or behind them; at the end anything."""
    rng = random.Random(number)
    drawn = [program_of(rng.randrange(1 << 30)) for _ in range(300)]
    greps = [replace(p, where=False, lines=True) for p in drawn[4:] if isinstance(p, Grep)]
    filters = [p for p in drawn[4:] if isinstance(p, Filter) and not p.bitmap and p.record < 100]
    program: Program = rng.choice((_csv(rng.randrange(1 << 30)), *drawn[:4]))
    for kind in rng.choice(ORDERS):
        there = [type(p) for p in operators(program)]
        assert not isinstance(program, Crypt)
        if kind is Filter and Filter not in there:
            program = replace(filters.pop(), behind=program)
        if kind is Grep and there.count(Grep) < 2:
            program = replace(greps.pop(), behind=program)
    return program


def _csv(number: int) -> Csv:
    rng = random.Random(number)
    line_end = rng.choice(b"\n\n\n\n\r;")
    separator = rng.choice([c for c in b",,,,; \r." if c != line_end])
    return Csv(rng.choice((0, 0, 1, 2, 5, 255)), separator, line_end)


def _crypt(number: int) -> Crypt:
    """Most of them name a slot that should have a key for them."""
    rng = random.Random(number)
    mode = rng.choice((NearMode.XTS, NearMode.CTR))
    slot = rng.choice(XTS_SLOTS if mode == NearMode.XTS else CTR_SLOTS)
    if rng.random() < 0.1:
        slot = rng.choice((*XTS_SLOTS, *CTR_SLOTS, NO_KEY))
    offset = rng.choice((0, 1, -5, -1000, 1 << 40, (1 << 64) - 3, (1 << 63) - 10, rng.randrange(1 << 64)))
    behind: Program | None = None
    if rng.random() < 0.6:
        behind = of_kind(rng.choice(("", "", "columns", "csv", "sha256")), rng.randrange(1 << 30))
    assert not isinstance(behind, Crypt)
    return Crypt(slot, mode, rng.random() < 0.4, offset, behind)


MAKERS: dict[str, Callable[[int], Program]] = {
    "": program_of, "columns": _columns, "csv": _csv, "sha256": lambda number: Hash(), "crypt": _crypt,
    "lines": _lines, "chain": _chain,
}  # fmt: skip


def of_kind(kind: str, number: int) -> Program:
    """A number means the same program for ever: scripts have it."""
    return MAKERS[kind](number)


def record_of(program: Program | None, most: int) -> int:
    """PHASE of a command of it is below this."""
    inner = program.behind if isinstance(program, Crypt) else program
    return getattr(inner, "record", most)
