# SPDX-License-Identifier: Apache-2.0
"""Csv, a program of near-storage commands: count, sum, least and greatest number of a field of text lines."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from decimal import Decimal

from doorbell.nvme.vendor import NEAR_CSV_DECIMALS, NEAR_CSV_WHOLE, NearOperator

INSIDE = 0xFFFF
"""PHASE of data that begin inside a line; any other: bytes before the first line."""
UNIT = Decimal(1).scaleb(-NEAR_CSV_DECIMALS)
"""What results count in."""
NUMBER = re.compile(rb"[+-]?[0-9]{1,%d}(\.[0-9]{0,%d})?" % (NEAR_CSV_WHOLE, NEAR_CSV_DECIMALS))


@dataclass(frozen=True)
class Csv:
    """Numbers in field `field` (0 to 255) of each line."""

    field: int
    separator: int = ord(",")
    line_end: int = 0x0A

    def program(self) -> bytes:
        return struct.pack("<B3xBBB9x", NearOperator.CSV, self.separator, self.line_end, self.field)

    def fields(self, data: bytes, phase: int = 0) -> list[bytes]:
        """The field of each line in which it ends; with phase those of the lines that a command looks at."""
        *lines, cut = data[0 if phase == INSIDE else phase :].split(bytes([self.line_end]))
        separators = bytes({self.separator, 0x0D} - {self.line_end})
        split = [re.split(b"[%s]" % re.escape(separators), line) for line in (*lines, cut)]
        split[-1].pop()  # it may go on
        return [fields[self.field] for fields in split[phase == INSIDE :] if self.field < len(fields)]

    def result(self, data: bytes, phase: int = 0) -> bytes:
        filled = [text for text in self.fields(data, phase) if text]
        values = [int(Decimal(text.decode()) / UNIT) for text in filled if NUMBER.fullmatch(text)]
        behind = data.rfind(self.line_end, 0 if phase == INSIDE else phase) + 1
        head = struct.pack("<QQ", len(values), len(filled) - len(values))
        extremes = (min(values), max(values)) if values else (0, 0)
        return head + sum(values).to_bytes(16, "little", signed=True) + struct.pack("<qqQ8x", *extremes, behind)
