# SPDX-License-Identifier: Apache-2.0
"""The firmware of near_firmware.py with a function's own namespaces, of memory and of programs: what the hardware is
told of them, and a host's commands."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable

from near_firmware import OK, REGISTERS, SOME, STAND_IN, Firmware

ALL = 0xFFFFFFFF
TYPE = 0xC0
LOG2 = 22  # of the memory
SIZE = 1 << LOG2
AT = 0x2000  # data of commands

FW_REGISTERS = """
#include "db_ssd_fw.h"
struct fw_registers { uint64_t MEMORY, RANGE_START, RANGE_BYTES, RANGE_CTL, PROGRAM_STATE; };
struct fw_registers* fw_registers(void);
#define HW fw_registers()
"""
MORE = """
uint32_t memory_log2, ranges[32][4][2][2], programs_are[32];
static struct fw_registers fw = {0, NOTHING_WRITTEN, NOTHING_WRITTEN, NOTHING_WRITTEN, NOTHING_WRITTEN};
static uint64_t range[2];
struct fw_registers* fw_registers(void)
{
    if (fw.RANGE_START != NOTHING_WRITTEN) range[0] = fw.RANGE_START;
    if (fw.RANGE_BYTES != NOTHING_WRITTEN) range[1] = fw.RANGE_BYTES;
    if (fw.RANGE_CTL != NOTHING_WRITTEN && fw.RANGE_CTL >> 31) {
        uint32_t* its = ranges[fw.RANGE_CTL & 31][fw.RANGE_CTL >> 8 & 3][fw.RANGE_CTL >> 16 & 1];
        its[0] = (uint32_t)range[0], its[1] = (uint32_t)range[1];
    }
    if (fw.PROGRAM_STATE != NOTHING_WRITTEN && fw.PROGRAM_STATE >> 31)
        programs_are[fw.PROGRAM_STATE & 31] = fw.PROGRAM_STATE >> 8 & 255;
    fw = (struct fw_registers){memory_log2, NOTHING_WRITTEN, NOTHING_WRITTEN, NOTHING_WRITTEN, NOTHING_WRITTEN};
    return &fw;
}

uint32_t under_way, looked_for, looking;  // is a command of that namespace?
void hw_abort(const struct hw_function* f, uint32_t how, uint32_t sqid, uint32_t key)
{
    (void)f;
    if (how != HW_ABORT_FIND || sqid) wrong++;
    looked_for = key;
}
bool hw_abort_idle(void) { return !looking; }
bool hw_abort_found(void) { return under_way; }

uint32_t hw_aqa(const struct hw_function* f) { (void)f; return 31 << 16 | 31; }
struct { uint64_t base, blocks, attached, set; } spaces[128];  // by NSID
void hw_namespace(uint32_t nsid, const struct hw_namespace* ns)
{
    spaces[nsid].base = ns->base, spaces[nsid].blocks = ns->blocks;
    spaces[nsid].attached = ns->attached, spaces[nsid].set = ns->set;
    if (ns->gate || ns->read_only || ns->lba4k) wrong++;
#if FUNCTIONS > 1
    if (ns->barred || ns->exclusive) wrong++;
#endif
}
static struct boot_record boot = {.in_use = 1};  // so that nothing is saved
void power_on(uint32_t log2)
{
    memory_log2 = log2;
    begin();
    fw_registers();
    drive.boot = &boot;
    memset(spaces, 0, sizeof spaces);
    identify_init(&drive);
    drive.namespaces.of[1].exists = functions[0].ns[1].attached = true;  // of the PF
    for (uint32_t i = 0; i < FUNCTIONS; i++) life_reset_state(&drive, &functions[i]);
    fw_registers();
}
void enable(uint32_t of, uint32_t css)
{
    if (!life_enable(&drive, &functions[of], css << 4 | 1)) wrong++;
    fw_registers();
}
void end_of_command(void) { fw_registers(); }
uint32_t later(uint32_t of)  // what waited ends
{
    uint32_t before = completions;
    go_on(&waiting[of], &drive, &functions[of]);
    fw_registers();
    return completions == before + 1 ? ended : 0xffffffff;
}
"""


class Slm(Firmware):
    def __init__(self, folder, functions: int) -> None:  # type: ignore[no-untyped-def]
        stand_in = STAND_IN.replace(
            "(void)function, (void)cid, (void)dw0;", "(void)function, (void)cid; last_dw0 = dw0;"
        )
        stand_in = stand_in.replace("static uint32_t ended", "uint32_t last_dw0;\nstatic uint32_t ended")
        stand_in = '#include "commands/identify.h"\n' + stand_in
        super().__init__(folder, functions, REGISTERS.replace("#endif", FW_REGISTERS + "#endif"), stand_in + MORE, True)

    def power_on(self, log2: int = LOG2) -> None:
        self.start()
        self.lib.power_on(log2)

    def enable(self, place: int = 0, css: int = 6) -> None:
        self.lib.enable(place, css)
        assert self.number("wrong").value == 0

    def reset(self, place: int = 0) -> None:
        self.lib.reset(place)
        self.lib.end_of_command()

    def run(self, opcode: int, status: int = OK, place: int = 0, data: bytes = b"", **dws: int) -> int:
        """Its dword 0."""
        self.host[:] = b"\xee" * (1 << 16)
        self.host[AT : AT + len(data)] = data
        found = self.command(opcode, place, **{"dw6": AT, **dws})
        self.lib.end_of_command()
        assert found == status, f"{opcode:#x} {dws}: {found:#x}, not {status:#x}"
        return self.number("last_dw0").value

    # ---- what the hardware has been told
    def space(self, nsid: int) -> tuple[int, int, int, int]:
        """Base, size, functions, command set."""
        every = (ctypes.c_uint64 * (4 * 128)).in_dll(self.lib, "spaces")
        return tuple(every[4 * nsid : 4 * nsid + 4])  # type: ignore[return-value]

    def ranges(self, place: int = 0) -> list[list[tuple[int, int]]]:
        every = (ctypes.c_uint32 * (32 * 16)).in_dll(self.lib, "ranges")
        its = every[16 * place : 16 * place + 16]
        return [[(its[i], its[i + 1]), (its[i + 2], its[i + 3])] for i in range(0, 16, 4)]

    def state(self, place: int = 0) -> tuple[int, int]:
        """Programs that are there, that are activated."""
        its = (ctypes.c_uint32 * 32).in_dll(self.lib, "programs_are")[place]
        return its & 15, its >> 4

    # ---- commands
    def identify(self, cns: int, status: int = OK, place: int = 0, nsid: int = 0, csi: int = 0) -> bytes:
        self.run(0x06, status, place, dw1=nsid, dw10=cns, dw11=csi << 24)
        return bytes(self.host[AT : AT + 4096])

    def listed(self, cns: int, place: int = 0, csi: int = 0, nsid: int = 0) -> list[int]:
        return [n for n in struct.unpack("<1024I", self.identify(cns, place=place, csi=csi, nsid=nsid)) if n]

    def log(self, lid: int, size: int, status: int = OK, place: int = 0, nsid: int | None = None,
            csi: int = 0) -> bytes:  # fmt: skip
        nsid = programs_of(place) if nsid is None else nsid
        self.run(0x02, status, place, dw1=nsid, dw10=lid | (size // 4 - 1) << 16, dw14=csi << 24)
        return bytes(self.host[AT : AT + size])

    def load85(self, which: int, data: bytes = SOME, status: int = OK, place: int = 0, kind: int = TYPE, pit: int = 0,
               pid: int = 0, **dws: int) -> None:  # fmt: skip
        fields = {"dw1": programs_of(place), "dw10": which | kind << 16 | pit << 25, "dw11": len(data),
                  "dw12": pid & ALL, "dw13": pid >> 32, "dw14": len(data)}  # fmt: skip
        self.run(0x85, status, place, data, **(fields | dws))

    def unload(self, which: int, status: int = OK, place: int = 0) -> None:
        self.run(0x85, status, place, dw1=programs_of(place), dw10=which | 1 << 24)

    def activate(self, which: int, status: int = OK, place: int = 0, select: int = 1) -> None:
        self.run(0x88, status, place, dw1=programs_of(place), dw10=which | select << 16)

    def create(self, descriptors: Iterable[tuple[int, int, int]], status: int = OK, place: int = 0,
               count: int | None = None) -> int:  # fmt: skip
        """NSID, bytes, first byte of each."""
        data = [struct.pack("<IIQ16x", *d) for d in descriptors]
        return self.run(0x89, status, place, b"".join(data), dw1=programs_of(place),
                        dw11=len(data) if count is None else count)  # fmt: skip

    def delete(self, rsid: int, status: int = OK, place: int = 0) -> None:
        self.run(0x89, status, place, dw1=programs_of(place), dw10=1 | rsid << 16)


def memory_of(place: int) -> int:
    return 2 + 2 * place  # the drive has one namespace on its media


def programs_of(place: int) -> int:
    return 3 + 2 * place
