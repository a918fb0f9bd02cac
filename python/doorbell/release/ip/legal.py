# SPDX-License-Identifier: Apache-2.0
"""Which values a parameter may have, read from the comment that the RTL has beside it.

Understood: `1..17`, `128, 256, 512`, `a power of two`, `even`, `multiple of 4096`, `at least 16 rows`, `0: none` beside
a range, limits that are other parameters, `the same` as the one before, `of db_host`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

MOST_BYTES = 2**27
"""More have more bits than a whole number of the RTL can count."""
MANY = 300
"""More values than this are a range, not a list."""
SIZE = {"": 1, " KiB": 1024, " MiB": 1024**2}
RANGE = re.compile(
    r"(?P<low>\d+|[A-Z]\w+)(?P<low_unit> [KM]iB)?"
    r"\.\.(?P<high>\d+|[A-Z]\w+)(?P<high_unit> [KM]iB)?(?: - (?P<less>[A-Z]\w+))?"
)
LIST = re.compile(r"(?<![\w.])\d+(?:, \d+)+(?![\w.]| \w)")
ROWS = re.compile(r"at least (\d+) rows")


@dataclass(frozen=True)
class Legal:
    """Every whole number from low to high, or only `values`."""

    low: int
    high: int
    values: tuple[int, ...] = ()

    def and_zero(self) -> Legal:
        """The same, with 0."""
        if not self.values and self.low <= 1:
            return Legal(0, self.high)
        return listed({0, *(self.values or range(self.low, self.high + 1))})


def listed(values: set[int]) -> Legal:
    return Legal(min(values), max(values), tuple(sorted(values)))


def read(text: str, data_w: int, known: Mapping[str, Legal]) -> Legal | None:
    """What a comment says; None: nothing. known: the parameters before it."""
    if one := LIST.search(text):
        return listed({int(n) for n in one[0].split(", ")})
    if found := RANGE.search(text):
        low = number(found["low"], known, "low") * SIZE[found["low_unit"] or ""]
        high = number(found["high"], known, "high") * SIZE[found["high_unit"] or ""]
        high -= known[found["less"]].low if found["less"] else 0
    elif rows := ROWS.search(text):
        low, high = int(rows[1]) * data_w // 8, MOST_BYTES
    else:
        return None
    legal = stepped(text, low, high)
    return legal.and_zero() if low and re.search(r"\b0: ", text) else legal


def number(word: str, known: Mapping[str, Legal], side: str) -> int:
    """A limit: of another parameter, whatever that may be at most."""
    return int(word) if word.isdigit() else int(getattr(known[word], side))


def stepped(text: str, low: int, high: int) -> Legal:
    """Without those that the words about powers and multiples leave out."""
    if re.search(r"power of (two|2)\b", text):
        return listed({1 << n for n in range(31) if low <= 1 << n <= high})
    multiple = re.search(r"multiple of (\d+)", text)
    step = int(multiple[1]) if multiple else 2 if re.search(r"\beven\b", text) else 1
    values = range(-(-low // step) * step, high + 1, step)
    return listed(set(values)) if step > 1 and len(values) <= MANY else Legal(low, high)
