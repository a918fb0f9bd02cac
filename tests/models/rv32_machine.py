# SPDX-License-Identifier: Apache-2.0
"""A processor for RV32I, to see what a program does to its stack: written from the ISA manual, and sharing nothing with
what works out a bound of it (doorbell.build.riscv, firmware_stack).
"""

from __future__ import annotations

import operator

MASK = 0xFFFFFFFF
COMPARE = {
    0: operator.eq, 1: operator.ne, 4: lambda a, b: sign(a) < sign(b), 5: lambda a, b: sign(a) >= sign(b),
    6: operator.lt, 7: operator.ge,
}  # fmt: skip


def sign(value: int, bits: int = 32) -> int:
    return value - (1 << bits) if value >> bits - 1 & 1 else value


def arithmetic(funct3: int, other: bool, a: int, b: int) -> int:
    """add sub, sll, slt, sltu, xor, srl sra, or, and."""
    return (
        a - b if other else a + b, a << (b & 31), sign(a) < sign(b), a < b, a ^ b,
        (sign(a) if other else a) >> (b & 31), a | b, a & b,
    )[funct3]  # fmt: skip


class Machine:
    """Runs from address 0 until ebreak."""

    def __init__(self, image: bytes, ram: int) -> None:
        self.memory = bytearray(image.ljust(ram, b"\0"))
        self.x = [0] * 32
        self.pc = 0
        self.x[2] = self.lowest = ram

    def run(self, most: int = 1_000_000) -> None:
        for _ in range(most):
            word = int.from_bytes(self.memory[self.pc : self.pc + 4], "little")
            if word == 0x0010_0073:  # ebreak
                return
            self.execute(word)
            if self.x[2] > 64:  # the start code sets it in two steps
                self.lowest = min(self.lowest, self.x[2])
        raise AssertionError("the program does not end")

    def execute(self, w: int) -> None:
        opcode, rd, funct3 = w & 127, w >> 7 & 31, w >> 12 & 7
        a, b = self.x[w >> 15 & 31], self.x[w >> 20 & 31]
        i = sign(w >> 20, 12)
        following, result = self.pc + 4, None
        if opcode == 0x37:
            result = w & 0xFFFFF000
        elif opcode == 0x17:
            result = self.pc + (w & 0xFFFFF000)
        elif opcode == 0x6F:
            bits = f"{w:032b}"
            result, following = (
                following,
                self.pc + sign(int(bits[0] + bits[12:20] + bits[11] + bits[1:11] + "0", 2), 21),
            )
        elif opcode == 0x67:
            result, following = following, a + i & ~1
        elif opcode == 0x63:
            bits = f"{w:032b}"
            if COMPARE[funct3](a, b):
                following = self.pc + sign(int(bits[0] + bits[24] + bits[1:7] + bits[20:24] + "0", 2), 13)
        elif opcode == 0x03:
            size = 1 << (funct3 & 3)
            at = a + i & MASK
            result = int.from_bytes(self.memory[at : at + size], "little", signed=funct3 < 2)
        elif opcode == 0x23:
            size = 1 << funct3
            at = a + sign(w >> 25 << 5 | rd, 12) & MASK
            self.memory[at : at + size] = (b & (1 << 8 * size) - 1).to_bytes(size, "little")
        elif opcode == 0x13:
            right = funct3 == 5 and bool(w >> 30 & 1)
            result = arithmetic(funct3, right, a, (w >> 20 & 31) if funct3 in (1, 5) else i & MASK)
        elif opcode == 0x33 and w >> 25 in (0, 32):
            result = arithmetic(funct3, bool(w >> 30 & 1), a, b)
        else:
            raise AssertionError(f"{self.pc:#x}: {w:08x} is not of RV32I")
        if result is not None and rd:
            self.x[rd] = int(result) & MASK
        self.pc = following & MASK
