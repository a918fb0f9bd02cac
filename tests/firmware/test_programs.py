# SPDX-License-Identifier: Apache-2.0
"""A function's own namespaces, of memory and of programs, compiled for this machine as near_firmware.py does it: what
the hardware is told, what each command refuses, what Identify and log pages say.

Codes and offsets stand here as the Base Specification and this project's reading of the command sets give them
(fw/commands/programs.h).
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable

import pytest
from near_firmware import (
    BAD_FIELD,
    BAD_OFFSET,
    BAD_OPCODE,
    DATA_ERROR,
    OK,
    REGISTERS,
    SOME,
    SOME_WORDS,
    STAND_IN,
    Firmware,
)

ALL = 0xFFFFFFFF
DNR = 0x4000
BAD_NS, LBA_RANGE, BAD_LOG, BAD_FORMAT_SET = DNR | 0x0B, DNR | 0x80, DNR | 0x109, DNR | 0x12C
NOT_REACHABLE, MEMORY_NS, RANGE_SET, RANGE_SET_ID = (DNR | 0x100 | code for code in (0x88, 0x8B, 0x8C, 0x8D))
PROGRAM_DATA, PROGRAM_INDEX, PROGRAM_TYPE = (DNR | 0x100 | code for code in (0x8E, 0x8F, 0x90))
RANGES, RANGE_SETS, NO_PROGRAM, OVERLAP = (DNR | 0x100 | code for code in (0x91, 0x92, 0x96, 0x97))
IN_USE, TOO_BIG = DNR | 0x199, DNR | 0x19B
SLM, PROGRAMS = 3, 4  # command sets
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


@pytest.fixture(scope="module", params=[1, 17])
def firmware(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Slm:
    return Slm(tmp_path_factory.mktemp("programs"), request.param)


@pytest.fixture
def fw(firmware: Slm) -> Slm:
    """The PF is enabled for all command sets."""
    firmware.power_on()
    firmware.enable()
    return firmware


def last(fw: Slm) -> int:
    """A function's place: the PF's, or the last VF's."""
    return fw.functions - 1


def test_the_hardware_knows_them_while_the_function_is_enabled_for_all_sets(fw: Slm) -> None:
    base = (1 << 64) - SIZE
    fw.enable(last(fw))
    for place in {0, last(fw)}:
        assert fw.space(memory_of(place)) == (base, SIZE, 1 << place, 1)
        assert fw.space(programs_of(place)) == (base, SIZE, 1 << place, 2)
    assert [n for n in range(2, 128) if fw.space(n)[2]] == sorted(
        n for place in {0, last(fw)} for n in (memory_of(place), programs_of(place))
    )
    fw.reset(last(fw))
    assert fw.space(memory_of(last(fw)))[2] == 0 and fw.space(programs_of(last(fw)))[2] == 0
    fw.enable(last(fw), css=0)
    assert fw.space(memory_of(last(fw)))[2] == 0


def test_lists(fw: Slm) -> None:
    mine = [memory_of(0), programs_of(0)]
    for every, of_set in ((0x02, 0x07), (0x10, 0x1A)):
        assert fw.listed(every) == [1, *mine]
        assert (
            fw.listed(every, nsid=1) == mine and fw.listed(every, nsid=2) == mine[1:] and not fw.listed(every, nsid=3)
        )
        assert fw.listed(of_set) == [1] and fw.listed(of_set, csi=SLM) == mine[:1]
        assert fw.listed(of_set, csi=PROGRAMS) == mine[1:]
        for csi in (1, 2, 5, 255):
            fw.identify(of_set, BAD_FIELD, csi=csi)
    if fw.functions > 1:
        fw.enable(5)
        assert fw.listed(0x02, 5) == [memory_of(5), programs_of(5)] and fw.listed(0x02) == [1, *mine]


def test_without_all_command_sets_there_are_none(fw: Slm) -> None:
    fw.reset()
    fw.enable(css=0)
    assert fw.listed(0x02) == fw.listed(0x10) == fw.listed(0x07) == [1]
    for csi in (SLM, PROGRAMS):
        for cns in (0x05, 0x06, 0x07, 0x1A, 0x1B):
            fw.identify(cns, BAD_FIELD, nsid=csi - 1, csi=csi)
        fw.log(0x05, 4096, BAD_FIELD, nsid=0, csi=csi)
        assert not any(fw.identify(0x00, nsid=csi - 1)) and not any(fw.identify(0x11, nsid=csi - 1))
        fw.identify(0x03, BAD_NS, nsid=csi - 1)
    fw.load85(0, status=BAD_FIELD)
    fw.activate(0, BAD_FIELD)
    fw.create([], BAD_FIELD)
    fw.log(0x82, 64, BAD_FIELD)
    assert fw.load(1, SOME) == OK  # the vendor's command needs no namespace
    fw.lib.end_of_command()
    assert fw.state() == (2, 0)


def test_without_memory_there_are_none(fw: Slm) -> None:
    fw.power_on(0)
    fw.enable()
    assert fw.listed(0x02) == [1] and fw.space(2) == (0, 0, 0, 0)
    for opcode in (0x85, 0x88, 0x89):
        fw.run(opcode, BAD_OPCODE, dw1=3)
    fw.identify(0x00, BAD_NS, nsid=2)
    assert struct.unpack_from("<I", fw.identify(0x01), 516) == (1,)
    assert struct.unpack_from("<Q", fw.identify(0x1C)) == (1,)
    for lid in (0x82, 0x83, 0x84):
        fw.log(lid, 64, BAD_LOG)
        assert fw.log(0x00, 1024, nsid=0)[4 * lid] == 0
    assert not any(fw.log(0x05, 4096, nsid=0)[4 * opcode] for opcode in (0x85, 0x88, 0x89))


def test_identify(fw: Slm) -> None:
    highest = 1 + 2 * fw.functions
    controller = fw.identify(0x01)
    assert struct.unpack_from("<I", controller, 516) == struct.unpack_from("<I", controller, 540) == (highest,)
    assert struct.unpack("<512Q", fw.identify(0x1C)) == (0x19, *[0] * 511)
    memory, programs = memory_of(0), programs_of(0)
    for cns in (0x05, 0x1B):
        assert fw.identify(cns, nsid=memory, csi=SLM) == struct.pack("<QQI", SIZE, SIZE, 4).ljust(4096, b"\0")
        said = struct.pack("<HHHBBQ", 4, 4, 512, 2, 0, 4096)
        assert fw.identify(cns, nsid=programs, csi=PROGRAMS) == said.ljust(4096, b"\0")
        for nsid, csi in ((memory, 0), (memory, PROGRAMS), (programs, 0), (programs, SLM), (1, SLM), (1, PROGRAMS)):
            fw.identify(cns, BAD_FORMAT_SET, nsid=nsid, csi=csi)
        for nsid in (0, highest + 1, ALL):
            fw.identify(cns, BAD_NS, nsid=nsid, csi=SLM)
        if fw.functions > 1:
            assert not any(fw.identify(cns, nsid=memory_of(1), csi=SLM))
    for csi in (SLM, PROGRAMS):
        assert not any(fw.identify(0x06, csi=csi))
    assert any(fw.identify(0x06))
    for nsid in (memory, programs):
        for cns in (0x00, 0x11):
            fw.identify(cns, BAD_FORMAT_SET, nsid=nsid)
        assert fw.identify(0x08, nsid=nsid) == bytes(14) + b"\1" + bytes(4081)
        assert struct.unpack_from("<HH", fw.identify(0x12, nsid=nsid)) == (1, 0)
    fw.identify(0x00, BAD_NS, nsid=highest + 1)
    if fw.functions > 1:
        for nsid in (memory_of(1), programs_of(16)):
            assert not any(fw.identify(0x00, nsid=nsid)) and fw.identify(0x08, nsid=nsid)[14] == 0
            fw.identify(0x12, BAD_FIELD, nsid=nsid)
            fw.identify(0x03, BAD_NS, nsid=nsid)


def test_identifiers(fw: Slm) -> None:
    """Each of its own, and the command set."""
    fw.enable(last(fw))
    seen: set[bytes] = set()
    for place in sorted({0, last(fw)}):
        for nsid in fw.listed(0x02, place):
            page, at, found = fw.identify(0x03, place=place, nsid=nsid), 0, {}
            while page[at + 1]:
                found[page[at]] = page[at + 4 : at + 4 + page[at + 1]]
                at += 4 + page[at + 1]
            assert found[4] == (b"\0" if nsid == 1 else bytes([4 if nsid % 2 else 3]))
            assert set(found) == ({1, 2, 3, 4} if nsid == 1 else {2, 3, 4})
            assert not seen & {found[2], found[3]}
            seen |= {found[2], found[3]}


def test_other_commands_want_a_namespace_of_the_media(fw: Slm) -> None:
    for nsid in (memory_of(0), programs_of(0)):
        fw.run(0x80, BAD_FIELD, dw1=nsid)
        fw.run(0x0D, BAD_FIELD, dw1=nsid, dw10=1)
        fw.run(0x15, BAD_FIELD, dw1=nsid)
        fw.run(0x0A, BAD_FIELD, dw1=nsid, dw10=0x05)
        fw.run(0x09, DNR | 0x10F, dw1=nsid, dw10=0x0B)
        fw.log(0x02, 512, BAD_FIELD, nsid=nsid)
        fw.log(0x03, 512, BAD_NS, nsid=nsid)


def test_load_and_activate(fw: Slm) -> None:
    place = last(fw)
    fw.enable(place)
    assert fw.load(0x10002, SOME, place) == BAD_FIELD  # command D5h has no type
    fw.load85(2, pit=1, pid=0x1122334455667788, place=place)
    assert fw.program(place, 2) == SOME_WORDS and fw.state(place) == (4, 0)
    fw.activate(2, place=place)
    assert fw.state(place) == (4, 4)
    fw.activate(2, place=place)
    fw.load85(2, status=IN_USE, place=place)
    fw.unload(2, IN_USE, place)
    for size in (None, 0):
        assert fw.load(2, SOME, place, size=size) == IN_USE
    assert fw.program(place, 2) == SOME_WORDS and fw.state(place) == (4, 4)
    fw.number("under_way").value = 1
    fw.activate(2, IN_USE, place, select=0)
    assert fw.number("looked_for").value == programs_of(place) and fw.state(place) == (4, 4)
    fw.number("under_way").value = 0
    fw.activate(2, place=place, select=0)
    fw.activate(2, place=place, select=0)
    assert fw.state(place) == (4, 0)
    fw.load85(2, place=place)  # in place of it
    fw.unload(2, place=place)
    assert fw.program(place, 2) == [] and fw.state(place) == (0, 0)
    fw.unload(2, NO_PROGRAM, place)
    fw.activate(2, NO_PROGRAM, place)


def test_nothing_changes_while_deactivation_looks(fw: Slm) -> None:
    """It waits for the hardware's look: the program takes no more commands, and is nobody's to exchange; one that is
    activated beside it does not open it again."""
    place = last(fw)
    fw.enable(place)
    for which in (1, 2):
        fw.load85(which, place=place)
    for found, status, state in ((0, OK, (6, 2)), (1, IN_USE, (6, 6))):
        fw.activate(2, place=place)
        fw.activate(1, place=place, select=0)
        fw.number("looking").value = 1
        assert fw.command(0x88, place, dw1=programs_of(place), dw10=2) == 0xFFFFFFFF
        fw.lib.end_of_command()
        assert fw.state(place) == (6, 0)
        fw.load85(2, status=IN_USE, place=place)
        fw.unload(2, IN_USE, place)
        assert fw.load(2, SOME, place) == IN_USE
        fw.activate(1, place=place)
        assert fw.state(place) == (6, 2)
        fw.number("looking").value, fw.number("under_way").value = 0, found
        assert fw.lib.later(place) & 0xFFFFFFFF == status and fw.state(place) == state
        fw.number("under_way").value = 0


def test_what_load_refuses(fw: Slm) -> None:
    fw.load85(1)
    n = len(SOME)
    for status, fields in (
        (BAD_NS, {"dw1": 0}), (BAD_NS, {"dw1": 2 + 2 * fw.functions}), (BAD_FIELD, {"dw1": ALL}),
        (BAD_FIELD, {"dw1": 1}), (BAD_FIELD, {"dw1": memory_of(0)}),
        (PROGRAM_INDEX, {"dw10": 4 | TYPE << 16}), (PROGRAM_INDEX, {"dw10": 0x101 | TYPE << 16}),
        (PROGRAM_INDEX, {"dw10": 4 | 1 << 24}),
        (PROGRAM_TYPE, {"dw10": 1}), (PROGRAM_TYPE, {"dw10": 1 | 0xC1 << 16}),
        *((BAD_FIELD, {"dw10": 1 | TYPE << 16 | pit << 25}) for pit in range(2, 8)),
        (TOO_BIG, {"dw11": 1025, "dw14": 1025}), (TOO_BIG, {"dw11": 1 << 31}),
        (PROGRAM_DATA, {"dw11": 0, "dw14": 0}), (PROGRAM_DATA, {"dw14": n - 1}), (PROGRAM_DATA, {"dw14": n + 1}),
        (PROGRAM_DATA, {"dw15": 4}), (BAD_OFFSET, {"dw6": AT + 2}), (BAD_FIELD, {"dw6": AT + 4096 - 4}),
    ):  # fmt: skip
        fw.load85(1, status=status, **fields)
    if fw.functions > 1:
        fw.load85(1, status=BAD_FIELD, dw1=programs_of(1))
    fw.number("broken").value = 1
    fw.load85(1, status=DATA_ERROR)
    fw.number("broken").value = 0
    assert fw.program(0, 1) == SOME_WORDS and fw.state() == (2, 0), "the old one stays"
    fw.load85(1, SOME[:-1], PROGRAM_DATA)
    assert fw.program(0, 1) == [] and fw.state() == (0, 0), "what is no program takes the old one with it"
    fw.load85(1, bytes(1024), PROGRAM_DATA)
    for opcode in (0x85, 0x88, 0x89):
        fw.run(opcode, BAD_NS, dw1=0)


def test_what_activation_refuses(fw: Slm) -> None:
    fw.load85(3)
    for select in range(2, 16):
        fw.activate(3, BAD_FIELD, select=select)
    for which in (4, 0xFFFF, 0x103):
        fw.activate(which, PROGRAM_INDEX)
    fw.activate(0, NO_PROGRAM)
    assert fw.state() == (8, 0)


def test_program_list(fw: Slm) -> None:
    fw.load85(0, pit=1, pid=0xFEDCBA9876543210)
    assert fw.load(1, SOME) == OK
    fw.load85(3)
    fw.activate(3)
    page = fw.log(0x82, 320)
    assert page[:64] == b"\4" + bytes(63)
    entry = [page[64 * (1 + i) : 64 * (2 + i)] for i in range(4)]
    assert entry[0] == struct.pack("<BB6xQ", 1 | 1 << 3, TYPE, 0xFEDCBA9876543210).ljust(64, b"\0")
    assert entry[1] == bytes([1, TYPE]).ljust(64, b"\0") and not any(entry[2])
    assert entry[3] == bytes([1 | 1 << 2, TYPE]).ljust(64, b"\0")
    fw.load85(0)  # another, which has no PID
    assert fw.log(0x82, 320, csi=PROGRAMS)[64:128] == entry[1]
    page = fw.log(0x83, 96)
    assert page == bytes([1]).ljust(64, b"\0") + bytes([TYPE]).ljust(32, b"\0")
    for lid in (0x82, 0x83, 0x84):
        assert fw.log(0x00, 1024, nsid=0)[4 * lid] == 1
        for status, nsid in ((BAD_NS, 0), (BAD_FIELD, ALL), (BAD_FIELD, 1), (BAD_FIELD, memory_of(0)), (BAD_NS, 99)):
            fw.log(lid, 64, status, nsid=nsid)
        fw.log(lid, 64, BAD_FIELD, csi=SLM)


GOOD = ((2, 512, 4096), (2, 64, 8192))


def test_memory_ranges(fw: Slm) -> None:
    place = last(fw)
    fw.enable(place)
    memory = memory_of(place)
    sets = [((memory, 1 << 20, 0), (memory, 1 << 20, SIZE - (1 << 20))), ((memory, 512, 4), (memory, 64, 516)),
            ((memory, 1024, SIZE - 1024), (memory, 128, 0)), ((memory, 512, 0), (memory, 64, 512))]  # fmt: skip
    for i, ranges in enumerate(sets):
        assert fw.create(ranges, place=place) == i + 1
        assert fw.ranges(place)[i] == [(start, size) for _, size, start in ranges]
    fw.create(sets[0], RANGE_SETS, place)
    page = fw.log(0x84, 384, place=place)
    assert page[:64] == b"\4" + bytes(63)
    for i, ranges in enumerate(sets):
        said = struct.pack("<HB13x", i + 1, 2) + b"".join(struct.pack("<IIQ16x", *r) for r in ranges)
        assert page[64 + 80 * i : 144 + 80 * i] == said
    for rsid in (0, 5, 0x102, 0xFFFF):
        fw.delete(rsid, RANGE_SET_ID, place)
    fw.delete(2, place=place)
    fw.delete(2, RANGE_SET_ID, place)
    assert fw.ranges(place)[1] == [(0, 0), (0, 0)]
    page = fw.log(0x84, 384, place=place)
    assert page[0] == 3 and [page[64 + 80 * i] for i in range(4)] == [1, 3, 4, 0]
    assert fw.create(sets[2], place=place) == 2


def test_what_memory_ranges_refuses(fw: Slm) -> None:
    data, result = GOOD
    fw.create(GOOD[:1], RANGE_SET)
    fw.create((), RANGE_SET)
    fw.create(GOOD, RANGES, count=3)
    fw.create(GOOD, RANGES, count=255)
    for select in range(2, 16):
        fw.run(0x89, BAD_FIELD, dw1=programs_of(0), dw10=select, dw11=2)
    for nsid in (0, 1, programs_of(0), 2 + 2 * fw.functions, ALL):
        fw.create(((nsid, 512, 0), result), MEMORY_NS)
        fw.create((data, (nsid, 64, 0)), MEMORY_NS)
    if fw.functions > 1:
        for nsid in (memory_of(1), programs_of(16)):
            fw.create((data, (nsid, 64, 0)), NOT_REACHABLE)
    for size, start in ((0, 0), (511, 0), (64, 0), (512, 2), (512, 1), ((1 << 20) + 512, 0), (1 << 31, 0)):
        fw.create(((2, size, start), (2, 64, SIZE - 64)), RANGE_SET)
    for size, start in ((0, 0), (63, 0), (32, 0), (64, 1), ((1 << 20) + 64, 0)):
        fw.create((data, (2, size, start)), RANGE_SET)
    for size, start in ((512, SIZE - 508), (512, SIZE), (1024, SIZE - 512), (512, 1 << 32), (512, (1 << 64) - 512)):
        fw.create(((2, size, start), result), LBA_RANGE)
        fw.create((data, (2, size, start)), LBA_RANGE)
    for start in (4096, 4096 - 60, 4096 + 508):
        fw.create((data, (2, 64, start)), OVERLAP)
    fw.create(((2, 512, 4096), (2, 1024, 4000)), OVERLAP)
    assert fw.ranges() == [[(0, 0), (0, 0)]] * 4
    assert fw.create((data, (2, 64, 4096 - 64))) == 1


def test_a_reset_takes_all_of_its_function(fw: Slm) -> None:
    places = sorted({0, last(fw)})
    fw.enable(last(fw))
    for place in places:
        fw.load85(0, pit=1, pid=1, place=place)
        fw.activate(0, place=place)
        assert fw.create([(memory_of(place), *r[1:]) for r in GOOD], place=place) == 1
    fw.reset(last(fw))
    assert fw.state(last(fw)) == (0, 0) and fw.ranges(last(fw)) == [[(0, 0), (0, 0)]] * 4
    assert fw.program(last(fw), 0) == []
    if fw.functions > 1:
        assert fw.state(0) == (1, 1) and fw.ranges(0)[0] == [(4096, 512), (8192, 64)]
    fw.enable(last(fw))
    assert not any(fw.log(0x82, 320, place=last(fw))[64:]) and not any(fw.log(0x84, 384, place=last(fw)))
    fw.load85(0, place=last(fw))


def test_commands_supported(fw: Slm) -> None:
    nvm, slm, programs = (fw.log(0x05, 4096, nsid=0, csi=csi) for csi in (0, SLM, PROGRAMS))
    for page in (nvm, slm, programs):
        assert page[:1024] == nvm[:1024] and all(page[4 * opcode] == 1 for opcode in (0x85, 0x88, 0x89))
    found = [{i: page[1024 + 4 * i] for i in range(256) if any(page[1024 + 4 * i : 1028 + 4 * i])}
             for page in (slm, programs)]  # fmt: skip
    assert found == [{1: 3, 2: 1, 4: 3, 5: 3}, {1: 3}] and nvm[1024 + 4 * 2]
    for csi in (1, 2, 5):
        fw.log(0x05, 4096, BAD_FIELD, nsid=0, csi=csi)
    fw.log(0x02, 512, BAD_FIELD, nsid=0, csi=SLM)
