# SPDX-License-Identifier: Apache-2.0
"""Registers by name, as regs/*.rdl describe them: addresses, fields, accesses, values after reset, named values.

    registers = register_map("db_recorder")
    status = registers["Drive.Status"]
    status.address(1)                             # of drive 1
    status.get(word, "Completed")
    registers["Main.Control"].word(DataEnable=1)

Only for those whose generated package is made by regs/register_map.py.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass

from doorbell import build


@dataclass(frozen=True)
class Field:
    """Some bits of a register."""

    name: str
    low: int
    width: int
    sw: str  # what software can do: r, w or rw
    onwrite: str | None  # what writing does where it does not just store: woset, ...
    reset: int | None  # None: what the hardware says
    names: dict[int, str]  # of values

    @property
    def mask(self) -> int:
        return (1 << self.width) - 1 << self.low


@dataclass(frozen=True)
class Register:
    """A register, or an array of them; `arrays` has (elements, stride) of each level from the outside in."""

    path: str
    offset: int
    arrays: tuple[tuple[int, int], ...]
    fields: dict[str, Field]

    def address(self, *index: int) -> int:
        """Its address in bytes. index: one for each of `arrays`."""
        if len(index) != len(self.arrays):
            raise IndexError(f"{self.path} needs {len(self.arrays)} indices, not {len(index)}")
        for i, (number, _) in zip(index, self.arrays, strict=True):
            if not 0 <= i < number:
                raise IndexError(f"{self.path}: {i} is not within 0..{number - 1}")
        return self.offset + sum(i * stride for i, (_, stride) in zip(index, self.arrays, strict=True))

    def get(self, word: int, field: str) -> int:
        """A field's value in a word that was read."""
        f = self.fields[field]
        return (word & f.mask) >> f.low

    def word(self, **fields: int) -> int:
        """The word to write: fields that are not named are 0."""
        word = 0
        for name, value in fields.items():
            f = self.fields[name]
            if not 0 <= value < 1 << f.width:
                raise ValueError(f"{self.path}.{name} has {f.width} bits: {value} does not fit")
            word |= value << f.low
        return word


@functools.cache
def register_map(block: str) -> dict[str, Register]:
    """The registers of a SystemRDL file, by path."""
    found = json.loads((build.regs() / "json" / f"{block}.json").read_text())
    result: dict[str, Register] = {}
    for path, r in found["registers"].items():
        fields = {
            name: Field(name, **{**f, "names": {int(v): text for v, text in f["names"].items()}})
            for name, f in r["fields"].items()
        }
        result[path] = Register(path, r["offset"], tuple((n, stride) for n, stride in r["arrays"]), fields)
    return result
