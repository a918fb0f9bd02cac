# SPDX-License-Identifier: Apache-2.0
"""Near-storage commands of the firmware, compiled for this machine: all of it but main and the hardware's functions.
The registers of regs/db_csd_near.rdl are a stand-in that steps as they do."""

from __future__ import annotations

import ctypes
import struct
import subprocess
from collections.abc import Iterable
from pathlib import Path

from doorbell import build

ROOT = Path(__file__).resolve().parents[2]
FW = ROOT / "fw"
LOAD, SLOTS, GET_LOG = 0xD5, 0xD4, 0x02
OK, DATA_ERROR, BAD_OPCODE, BAD_FIELD, BAD_OFFSET = 0, 0x04, 0x4001, 0x4002, 0x4013
GREP, AGGREGATE, FILTER, HASH, CRYPT, CSV = 1, 2, 3, 4, 5, 6
OPERATORS = 1 << GREP | 1 << AGGREGATE | 1 << FILTER | 1 << HASH | 1 << CRYPT | 1 << CSV
OP_CTR, OP_XTS = 2, 3
FOLD, WHERE, WITHOUT, LINES = 1, 2, 4, 8
NUMBERS, MOST_WORDS = 4, 256

# 64-bit fields tell what was written, once each, from what was not.
REGISTERS = """
#ifndef REGISTERS_H
#define REGISTERS_H
#include <stdint.h>
#include "db_csd_near.h"
struct near_registers { uint64_t CAPS, PROGRAM, WORD; };
struct near_registers* near_registers(void);
#define NEAR near_registers()
#endif
"""
STAND_IN = """
#include <string.h>
#include "dispatch/dispatcher.h"
#include "dispatch/life.h"
#include "hw/registers.h"

#define NOTHING_WRITTEN UINT64_MAX
uint32_t caps, words[32][4][256], changes, trace[4096];  // trace: where each word went
static uint32_t at, which, place;
static struct near_registers registers = {0, NOTHING_WRITTEN, NOTHING_WRITTEN};

struct near_registers* near_registers(void)
{
    if (registers.PROGRAM != NOTHING_WRITTEN) {
        at = registers.PROGRAM & 255, which = registers.PROGRAM >> 8 & 3, place = registers.PROGRAM >> 16 & 31;
    }
    if (registers.WORD != NOTHING_WRITTEN) {
        words[place][which][at] = (uint32_t)registers.WORD;
        trace[changes++ % 4096] = place << 16 | which << 8 | at;
        at = (at + 1) & 255;
    }
    registers = (struct near_registers){caps, NOTHING_WRITTEN, NOTHING_WRITTEN};
    return &registers;
}

uint8_t host[1 << 16];
uint32_t read_to, copies, wrong, broken;  // read_to: behind the last byte read
bool hw_copy(uint32_t op, uint32_t function, uint64_t address, const void* ram, uint32_t n)
{
    (void)function;
    copies++;
    if (address & 3 || n & 3 || !n || (address & 4095) + n > 4096 || address + n > sizeof host ||
        (op == COPY_GET && n > 64)) {
        wrong++;
        return false;
    }
    if (op == COPY_PUT) memcpy(host + address, ram, n);
    if (op == COPY_ZERO) memset(host + address, 0, n);
    if (op == COPY_GET) memcpy((void*)ram, host + address, n);
    if (op == COPY_GET && address + n > read_to) read_to = (uint32_t)(address + n);
    return !broken;
}
static uint32_t ended, completions;
void hw_complete(uint32_t function, uint32_t cid, uint32_t status, uint32_t dw0)
{
    (void)function, (void)cid, (void)dw0;
    ended = status;
    completions++;
}

uint32_t slots, exchangeable;
uint32_t hw_slots(void) { return slots; }
uint32_t hw_slots_exchangeable(void) { return exchangeable; }

uint32_t bound[32][4][5];  // of each program: operator, slot, parameters
static uint32_t parameters[4];
void hw_operator_parameters(const uint32_t* four) { memcpy(parameters, four, sizeof parameters); }
void hw_bind_program(uint32_t of, uint32_t number, uint32_t op, uint32_t slot)
{
    uint32_t* b = bound[of][number];
    b[0] = op, b[1] = slot;
    memcpy(b + 2, parameters, 3 * sizeof *parameters);
}

static struct drive drive;
static struct function functions[FUNCTIONS];
static struct buffers buffers;
static struct waiting waiting[FUNCTIONS];
#if FUNCTIONS > 1
static struct reservations reservations;
#endif
void begin(void)
{
    memset(&drive, 0, sizeof drive);
    memset(functions, 0, sizeof functions);
    memset(&buffers, 0xa5, sizeof buffers);  // later it has what the command before has left
    drive.buffers = &buffers;
    drive.commands = admin_commands;
    drive.functions = functions;
    drive.hw.num_fn = FUNCTIONS;
    drive.hw.num_ns = 1;
    drive.hw.key_slots = FUNCTIONS > 16 ? 64 : 16;
    for (uint32_t i = 0; i < FUNCTIONS; i++) functions[i].hw.place = (uint8_t)i;
#if FUNCTIONS > 1
    *drive.reservations = &reservations;
#endif
}
uint32_t command(uint32_t of, const uint32_t* dw)
{
    struct request r = {.drive = &drive, .fn = &functions[of]};
    uint32_t before = completions;
    memcpy(r.cmd.dw, dw, sizeof r.cmd.dw);
    r.cmd.function = hw_number(of);
    execute(&waiting[of], &r);
    near_registers();
    return completions == before + 1 ? ended : 0xffffffff;
}
void reset(uint32_t of)
{
    life_reset_state(&drive, &functions[of]);
    near_registers();
}
"""


class Firmware:
    def __init__(self, folder: Path, functions: int, registers: str = REGISTERS, stand_in: str = STAND_IN,
                 slm: bool = False) -> None:  # fmt: skip
        (folder / "hw").mkdir()
        (folder / "hw" / "registers.h").write_text(registers)
        (folder / "stand_in.c").write_text(stand_in)
        own = (FW / "base" / "bytes.c").read_text()
        for name in ("memset", "memcpy"):  # the processor's own stay out of this process
            own = own.replace(f"{name}(void", f"fw_{name}(void")
        (folder / "bytes.c").write_text(own)
        parts = [f for layer in ("transfer", "state", "commands", "dispatch") for f in sorted((FW / layer).glob("*.c"))]
        only_vcsd = {"main.c", "extents.c", "ssd.c", "virtual_drive.c"}
        hardware = [FW / "hw" / name for name in ("near.c", *(["programs.c"] if slm else []))]
        sources = [*folder.glob("*.c"), *hardware, *(f for f in parts if f.name not in only_vcsd)]
        include = (arg for d in (folder, FW, FW / "base", build.regs() / "c", ROOT / "facts" / "c")
                   for arg in ("-I", str(d)))  # fmt: skip
        macros = [f"-DFUNCTIONS={functions}", f"-DSLM={int(slm)}"]
        compiler = ["cc", "-std=gnu11", "-O1", "-fPIC", "-w", *macros, *include]
        objects = folder / "objects"
        objects.mkdir()
        subprocess.run([*compiler, "-r", "-o", str(objects / "all.o"), *map(str, sources)], check=True)
        left = subprocess.run(["nm", "-u", str(objects / "all.o")], capture_output=True, text=True, check=True).stdout
        # The rest of the hardware, and what is not compiled for one function.
        stubs = (f"unsigned long {name}(void) {{ return 0; }}" for name in left.split()
                 if name != "U" and not name.startswith(("mem", "_")))  # fmt: skip
        (objects / "stubs.c").write_text("\n".join(stubs))
        library = folder / "near.so"
        made = [str(objects / "all.o"), str(objects / "stubs.c")]
        subprocess.run([*compiler, "-shared", "-o", str(library), *made], check=True)
        self.lib = ctypes.CDLL(str(library))
        self.functions = functions
        self.host = (ctypes.c_uint8 * (1 << 16)).in_dll(self.lib, "host")
        self.start()

    def number(self, name: str) -> ctypes.c_uint32:
        return ctypes.c_uint32.in_dll(self.lib, name)

    def start(self, cells: int = 8, operators: int = OPERATORS, programs: int = NUMBERS, words: int = MOST_WORDS,
              slots: str = "63211", exchangeable: int = 0) -> None:  # fmt: skip
        """Words of programs as power-on may leave them; no program. slots: the operator in each, the first one last."""
        self.lib.begin()
        self.number("caps").value = operators | cells << 16 | programs << 24 | (words.bit_length() - 1) << 28
        self.number("slots").value = int(slots or "0", 16) | len(slots) << 28
        self.number("exchangeable").value = exchangeable
        for place in range(32):
            for which in range(NUMBERS):
                self.words(place, which)[:] = [0, *[0x5A5A5A5A] * (MOST_WORDS - 1)]
        self.number("broken").value = self.number("wrong").value = 0

    def words(self, place: int, which: int) -> ctypes.Array[ctypes.c_uint32]:
        of = ctypes.c_uint32 * MOST_WORDS
        whole = (of * (32 * NUMBERS)).in_dll(self.lib, "words")
        return whole[NUMBERS * place + which]  # type: ignore[no-any-return]

    def program(self, place: int, which: int) -> list[int]:
        """Its words; none: there is no program."""
        all_words, end = list(self.words(place, which)), 0
        more = all_words[0] & 15
        while more:
            more, end = all_words[end] & 16, end + 1 + (all_words[end] >> 8 & 255)
        return all_words[:end]

    def crypt(self, place: int, which: int) -> list[int]:
        """What its data are first: operator, key slot, and unless nothing is done the words of its offset, whether it
        encrypts."""
        of = ctypes.c_uint32 * 5
        found = list((of * (32 * NUMBERS)).in_dll(self.lib, "bound")[NUMBERS * place + which])
        return found if found[0] else found[:2]

    def everything(self) -> list[list[int]]:
        return [self.program(place, which) for place in range(32) for which in range(NUMBERS)]

    def command(self, opcode: int, place: int = 0, **dws: int) -> int:
        dw = (ctypes.c_uint32 * 16)(opcode | 7 << 16)
        for name, value in dws.items():
            dw[int(name[2:])] = value
        self.number("changes").value = self.number("read_to").value = self.number("copies").value = 0
        status = self.lib.command(place, dw) & 0xFFFFFFFF
        assert self.number("wrong").value == 0
        return status

    def load(self, which: int, data: bytes, place: int = 0, at: int = 0x2000, second: int = 0, nsid: int = 0,
             size: int | None = None) -> int:  # fmt: skip
        """Bytes behind those of the program are no zeros."""
        self.host[:] = b"\xee" * (1 << 16)
        room = 4096 - at % 4096
        self.host[at : at + len(data[:room])] = data[:room]
        self.host[second : second + len(data[room:])] = data[room:]
        size = len(data) if size is None else size
        return self.command(LOAD, place, dw1=nsid, dw6=at, dw8=second, dw10=which, dw11=size)

    def trace(self) -> list[int]:
        """Which word was written, one after the other."""
        every = (ctypes.c_uint32 * 4096).in_dll(self.lib, "trace")
        return [every[i] & 255 for i in range(self.number("changes").value)]


# ---- programs as a host writes them
def grep(strings: Iterable[bytes], flags: int = 0, line_end: int = 0x0A) -> bytes:
    strings = list(strings)
    head = bytes([GREP, 0, 0, 0, flags, line_end, len(strings), 0])
    return head + bytes(map(len, strings)).ljust(8, b"\0") + b"".join(strings)


def aggregate(kind: int, record: int, column: int) -> bytes:
    return struct.pack("<IIHHI", AGGREGATE, kind, record, column, 0)


# ---- ... and as the hardware has them
def grep_words(strings: list[bytes], flags: int, line_end: int, cells: int) -> list[int]:
    words = [GREP | (1 + 5 * cells) << 8 | (flags >> 3) << 24, flags | line_end << 8]
    for string in strings:
        small = bytes(b + 32 if flags & FOLD and 65 <= b <= 90 else b for b in string)
        pieces = [small[i : i + 16] for i in range(0, len(small), 16)]
        for i, piece in enumerate(pieces):
            words += struct.unpack("<4I", piece.ljust(16, b"\0"))
            words.append(len(piece) | (i == 0) << 8 | (i == len(pieces) - 1) << 9)
    return words + [0] * (2 + 5 * cells - len(words))


SOME = grep([b"needle"])
SOME_WORDS = grep_words([b"needle"], 0, 0x0A, 8)
