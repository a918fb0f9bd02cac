# SPDX-License-Identifier: Apache-2.0
"""A linked program of RV32I: its symbols, its words, and what each instruction is."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

FUNCTION, OBJECT = 2, 1
"""Types of symbols in ELF."""


@dataclass(frozen=True)
class Program:
    """What is loaded, from address 0 on, and names for it. Each name has an address and a size."""

    data: bytes
    functions: dict[int, str]
    objects: list[tuple[int, int, str]]
    values: dict[str, int]
    """Of symbols that are neither: what the linker script sets."""

    def word(self, at: int) -> int:
        return int.from_bytes(self.data[at : at + 4], "little")

    def object_at(self, address: int) -> tuple[int, int, str] | None:
        return next((o for o in self.objects if o[0] <= address < o[0] + o[1]), None)

    def name(self, address: int) -> str:
        return self.functions.get(address, f"{address:#x}")


def load(elf: Path) -> Program:
    """Read a 32-bit little-endian ELF file with symbols."""
    file = elf.read_bytes()
    if file[:6] != b"\x7fELF\x01\x01" or struct.unpack_from("<H", file, 18) != (243,):
        raise ValueError(f"{elf}: not a program for RV32")
    table, size, count = *struct.unpack_from("<I", file, 32), *struct.unpack_from("<HH", file, 46)
    # name, type, flags, address, offset, size, link, info, alignment, size of an entry
    sections = [struct.unpack_from("<10I", file, table + i * size) for i in range(count)]
    data = bytearray()
    for _, kind, flags, address, offset, length, *_ in sections:
        if kind == 1 and flags & 2:  # has bits, is loaded
            data.extend(bytes(max(0, address + length - len(data))))
            data[address : address + length] = file[offset : offset + length]
    functions: dict[int, str] = {}
    objects, values = [], {}
    for section in sections:
        if section[1] != 2:  # symbols
            continue
        names = sections[section[6]][4]
        for name, value, length, info, _, where in struct.iter_unpack(
            "<IIIBBH", file[section[4] : section[4] + section[5]]
        ):
            text = file[names + name : file.index(b"\0", names + name)].decode()
            if info & 15 == FUNCTION:
                functions[value] = text
            elif info & 15 == OBJECT:
                objects.append((value, length, text))
            elif where and text and not text.startswith("."):
                values[text] = value
    if not functions:
        raise ValueError(f"{elf}: has no symbols")
    return Program(bytes(data), functions, objects, values)


class Instruction(NamedTuple):
    """`kind`: lui, auipc, jal, jalr, branch, load, store, addi, add, and, or other (only rd changes)."""

    kind: str
    rd: int
    rs1: int
    rs2: int
    immediate: int
    funct3: int


KINDS = {
    0x37: "lui", 0x17: "auipc", 0x6F: "jal", 0x67: "jalr", 0x63: "branch", 0x03: "load", 0x23: "store", 0x13: "other",
    0x33: "other", 0x0F: "other", 0x73: "other", 0x0B: "other",
}  # fmt: skip
"""By opcode. 0Bh is picorv32's: waitirq, which sets rd."""

WORD = 2
"""funct3 of lw and sw."""
EQUAL, UNEQUAL = 0, 1
"""funct3 of beq and bne."""


def signed(value: int, bits: int) -> int:
    return (value & (1 << bits) - 1) - ((value >> bits - 1 & 1) << bits)


def decode(word: int, at: int) -> Instruction:
    """The instruction `word` at address `at`. Raises ValueError if it is none of RV32I or picorv32."""
    opcode = word & 0x7F
    kind = KINDS.get(opcode)
    if kind is None:
        raise ValueError(f"{at:#x}: {word:08x} is no instruction that is known")
    rd, funct3, rs1, rs2 = word >> 7 & 31, word >> 12 & 7, word >> 15 & 31, word >> 20 & 31
    immediate = signed(word >> 20, 12)
    if kind in ("lui", "auipc"):
        immediate = word & 0xFFFFF000
    elif kind == "jal":
        high, low = word >> 31 << 20 | (word >> 12 & 255) << 12, (word >> 20 & 1) << 11 | (word >> 21 & 1023) << 1
        immediate = signed(high | low, 21)
    elif kind == "branch":
        high, low = word >> 31 << 12 | (word >> 7 & 1) << 11, (word >> 25 & 63) << 5 | (word >> 8 & 15) << 1
        immediate = signed(high | low, 13)
    elif kind == "store":
        immediate = signed(word >> 25 << 5 | rd, 12)
    elif opcode == 0x13 and funct3 == 0:
        kind = "addi"
    elif opcode == 0x33 and word >> 25 == 0:
        kind = {0: "add", 7: "and"}.get(funct3, "other")
    writes = kind not in ("store", "branch") and opcode != 0x0F
    return Instruction(kind, rd if writes else 0, rs1, rs2, immediate, funct3)


def words(program: Program, start: int, size: int) -> Iterator[int]:
    """The words of an object."""
    yield from (program.word(at) for at in range(start, start + size, 4))
