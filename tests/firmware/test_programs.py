# SPDX-License-Identifier: Apache-2.0
"""A function's own namespaces, of memory and of programs, compiled for this machine by program_firmware.py: what the
hardware is told, what each command refuses, what Identify and log pages say.

Codes and offsets stand in these two files as the Base Specification and this project's reading of the command sets
give them (fw/commands/programs.h).
"""

from __future__ import annotations

import struct

import pytest
from near_firmware import BAD_FIELD, BAD_OFFSET, BAD_OPCODE, DATA_ERROR, OK, SOME, SOME_WORDS
from program_firmware import ALL, AT, SIZE, TYPE, Slm, memory_of, programs_of

DNR = 0x4000
BAD_NS, LBA_RANGE, BAD_LOG, BAD_FORMAT_SET = DNR | 0x0B, DNR | 0x80, DNR | 0x109, DNR | 0x12C
NOT_REACHABLE, MEMORY_NS, RANGE_SET, RANGE_SET_ID = (DNR | 0x100 | code for code in (0x88, 0x8B, 0x8C, 0x8D))
PROGRAM_DATA, PROGRAM_INDEX, PROGRAM_TYPE = (DNR | 0x100 | code for code in (0x8E, 0x8F, 0x90))
RANGES, RANGE_SETS, NO_PROGRAM, OVERLAP = (DNR | 0x100 | code for code in (0x91, 0x92, 0x96, 0x97))
IN_USE, TOO_BIG = DNR | 0x199, DNR | 0x19B
SLM, PROGRAMS = 3, 4  # command sets


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
        fw.identify(0x03, BAD_FIELD, nsid=csi - 1)
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
            fw.identify(cns, BAD_FIELD, nsid=nsid, csi=csi)
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
            fw.identify(0x03, BAD_FIELD, nsid=nsid)


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
        fw.log(0x03, 512, BAD_FIELD, nsid=nsid)


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
