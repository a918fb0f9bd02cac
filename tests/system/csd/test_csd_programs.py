# SPDX-License-Identifier: Apache-2.0
"""Namespaces of memory and of programs (docs/csd/programs.md), from bring-up to results: what a host finds, what it
writes and reads, what programs make of it, what is refused, errors of the link, aborts, resets, several functions."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from csd_drive import MEMORY_LOG2, NARROW, NUM_NS, PARAMS, cut_off, io, put, rates_of
from csd_functions import NUM_FN, functions
from doorbell.compute import drive as compute
from doorbell.compute import near
from doorbell.compute.near import Aggregate, ColumnType, Crypt, Filter, Grep, Predicate
from doorbell.compute.programs import Programs
from doorbell.nvme.commands import Command, expect
from doorbell.nvme.constants import AdminOpc, Cns, Csi, LogPage, NvmOpc, SlmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.errors import ProtocolError
from doorbell.nvme.vendor import NearComparison, NearMode, VendorStatus
from near_words import random_program, random_text
from traffic import MakeDrive

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "examples"))

pytestmark = pytest.mark.rtl
SIZE = 1 << MEMORY_LOG2
TOO_LARGE = 0x100 | VendorStatus.RESULT_TOO_LARGE
HALF = Filter(16, (Predicate(ColumnType.U8, 0, NearComparison.LESS, 0x80),))


def start(make_drive: MakeDrive, queues: int = 2, **options: Any) -> tuple[Driver, Programs]:
    drive = make_drive(top="db_csd", **{"params": PARAMS, **NARROW, **options})
    drive.start(queues=queues, entries=64, all_sets=True)
    return drive, Programs(drive)


def words(data: bytes, size: int = 4) -> list[int]:
    return [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]


def test_what_a_host_finds(make_drive: MakeDrive) -> None:
    drive, own = start(make_drive)
    last = NUM_NS
    assert (own.memory, own.programs, own.size) == (last + 1, last + 2, SIZE)
    assert drive.controller is not None and drive.controller.nn == last + 2
    active = [n for n in words(drive.identify(Cns.NS_ACTIVE_LIST)) if n]
    assert active == list(range(1, last + 3))
    for csi, mine in ((Csi.NVM, active[:-2]), (Csi.SLM, [last + 1]), (Csi.PROGRAMS, [last + 2])):
        assert [n for n in words(drive.identify(Cns.CSI_NS_ACTIVE_LIST, csi=csi)) if n] == mine
    assert words(drive.identify(Cns.IOCS_LIST), 8)[0] == 1 << Csi.NVM | 1 << Csi.SLM | 1 << Csi.PROGRAMS
    seen = set()
    for nsid, csi in ((1, Csi.NVM), (own.memory, Csi.SLM), (own.programs, Csi.PROGRAMS)):
        descriptors, at, found = drive.identify(Cns.NS_DESC_LIST, nsid=nsid), 0, {}
        while descriptors[at]:
            found[descriptors[at]] = descriptors[at + 4 : at + 4 + descriptors[at + 1]]
            at += 4 + descriptors[at + 1]
        assert found[4] == bytes([csi])
        seen.add(found[2])
    assert len(seen) == 3, "each has an NGUID of its own"
    # A host that has not asked for all command sets has blocks alone.
    drive.start(queues=1, entries=16)
    assert [n for n in words(drive.identify(Cns.NS_ACTIVE_LIST)) if n] == active[:-2]
    with pytest.raises(ProtocolError, match="namespace of command set 3"):
        Programs(drive)
    command = drive.submit(1, SlmOpc.READ, buffer=drive.buffer(4096), nsid=last + 1, cdw12=4096)
    drive.wait([command])
    expect(command, Status.INVALID_FIELD)  # an NSID that is not active (Base 2.0, 3.2.1.5)


def test_written_and_read(make_drive: MakeDrive) -> None:
    """Any length and place in multiples of 4, buffers of any form; what is beside it stays."""
    rng = random.Random(61)
    drive, own = start(make_drive)
    last = SIZE - (256 << 10)  # what is looked at: the last bytes
    mirror = bytearray(last) + rng.randbytes(SIZE - last)
    own.write(last, bytes(mirror[last:]))
    for sgl in (False, True):
        drive.sgl = sgl
        for i in range(24):
            size = rng.choice((4, 4 * rng.randint(1, 40), 4096, 4 * rng.randint(1, 8 << 10), 1 << 16))
            at = rng.choice((last, SIZE - size, last + 4 * rng.randrange((SIZE - size - last) // 4)))
            form = {"offset": 4 * rng.randrange(1024), "scattered": rng.random() < 0.5}
            if i % 2:
                data = rng.randbytes(size)
                own.write(at, data, **form)
                mirror[at : at + size] = data
            else:
                assert own.read(at, size, **form) == mirror[at : at + size], f"{size} bytes at {at}"
    assert own.read(last, SIZE - last) == mirror[last:]
    whole = drive.buffer(1 << 20)
    drive.wait([own.move(SlmOpc.WRITE, 0, 1 << 20, whole)])
    assert own.read((1 << 20) - 64, 64) == bytes(64)


def test_results(make_drive: MakeDrive) -> None:
    """Programs of all kinds, of data anywhere in the memory, among Reads of blocks; each against its model."""
    rng = random.Random(62)
    drive, own = start(make_drive)
    blocks = random_text(rng, 64 * 512)
    put(drive, 0, blocks)
    for _ in range(2):
        programs = [random_program(rng) for _ in range(4)]
        for pind, program in enumerate(programs):
            own.load(pind, program.program())
            own.activate(pind)
        places, under_way = [], []
        for of in range(4):
            size = 512 * rng.randint(1, 40)
            source = (of << 17) + 4 * rng.randrange(64)
            room = 64 * rng.randint(1, size // 64)
            result = (1 << 20) + (of << 17) + 4 * rng.randrange(64)
            data = random_text(rng, size)
            own.write(source, data)
            places.append((own.create_ranges((source, size), (result, room)), data, result, room))
        for rsid, data, result, room in places:
            pind = rng.randrange(4)
            program = programs[pind]
            length = min(rng.randint(1, len(data)), near.longest(program))
            phase = rng.randrange(getattr(program, "record", 1))
            under_way.append(own.submit(pind, rsid, length, phase=phase, qid=1 + rsid % 2))
            under_way[-1].user = program.result(data[:length], phase), result, min(room, -(-length // 512) * 512)
            buffer = drive.buffer(4096)
            under_way.append(drive.submit(1, NvmOpc.READ, 8, 7, buffer))
            under_way[-1].user = buffer
        drive.wait(under_way)
        for command in under_way:
            if command.opcode == NvmOpc.READ:
                assert command.check().user.read() == blocks[8 * 512 : 16 * 512]
                continue
            want, at, room = command.user
            assert command.dw0 == len(want)
            assert own.read(at, room) == want[:room].ljust(room, b"\0")
            if len(want) <= room:
                command.check()
            else:
                expect(command, TOO_LARGE)
        for rsid, *_ in places:
            own.delete_ranges_try(rsid).check()
        for pind in range(4):
            own.deactivate(pind)


def test_one_program_behind_another(make_drive: MakeDrive) -> None:
    """Decrypt to memory, filter that, aggregate that: what one leaves another takes, and the host reads one result."""
    rng = random.Random(63)
    drive, own = start(make_drive)
    key1, key2 = rng.randbytes(32), rng.randbytes(32)
    compute.load_key(drive, 3, key1, key2)
    table = rng.randbytes(64 << 10)
    crypt = Crypt(3, NearMode.XTS, encrypt=True, offset=40)
    own.write(0, table)
    own.load(0, crypt.program())
    own.load(1, Crypt(3, NearMode.XTS, offset=40).program())
    own.load(2, HALF.program())
    own.load(3, Aggregate(ColumnType.U32, 16, 4).program())
    sets = [own.create_ranges(*r) for r in (
        ((0, 64 << 10), (64 << 10, 64 << 10)), ((64 << 10, 64 << 10), (128 << 10, 64 << 10)),
        ((128 << 10, 64 << 10), (192 << 10, 64 << 10)), ((192 << 10, 64 << 10), (256 << 10, 64)),
    )]  # fmt: skip
    length = len(table)
    for pind, rsid in enumerate(sets):
        own.activate(pind)
        length = own.execute(pind, rsid, length, block=7).check().dw0
    secret = own.read(64 << 10, 4096)
    assert secret != table[:4096] and own.read(128 << 10, 64 << 10) == table
    half = HALF.result(table)
    assert own.read(256 << 10, length) == Aggregate(ColumnType.U32, 16, 4).result(half)


def test_what_is_refused(make_drive: MakeDrive) -> None:
    drive, own = start(make_drive)
    program = Grep((b"a",)).program()

    # memory
    for at, size, status in (
        (2, 4, Status.INVALID_FIELD), (0, 2, Status.INVALID_FIELD), (0, 0, Status.INVALID_FIELD),
        (0, (1 << 20) + 4, Status.INVALID_FIELD), (SIZE - 4, 8, Status.LBA_RANGE), (SIZE, 4, Status.LBA_RANGE),
        (1 << 40, 4, Status.LBA_RANGE),
    ):  # fmt: skip
        for opcode in (SlmOpc.READ, SlmOpc.WRITE, SlmOpc.FILL):
            command = own.move(opcode, at, size, drive.buffer(max(size, 4)))
            drive.wait([command])
            expect(command, status)
    for opcode, nsid in ((0x00, own.memory), (0x08, own.memory), (0x82, own.memory), (0x02, own.programs)):
        command = drive.submit(1, opcode, buffer=drive.buffer(4096), nsid=nsid)
        drive.wait([command])
        expect(command, Status.INVALID_OPCODE)

    # programs
    expect(own.load_try(4, program), Status.INVALID_PROGRAM_INDEX)
    expect(own.load_try(0, b"\xff" * 16), Status.INVALID_PROGRAM_DATA)
    expect(own.load_try(0, program, cdw11=1025, cdw14=1025), Status.PROGRAM_TOO_BIG)
    expect(own.load_try(0, program, cdw10=1 << 16), Status.INVALID_PROGRAM_TYPE)
    expect(own.load_try(0, program, cdw15=4), Status.INVALID_PROGRAM_DATA)
    expect(own.activate_try(0), Status.NO_PROGRAM)
    expect(own.unload_try(0), Status.NO_PROGRAM)
    own.load(0, program, pid=0x1122334455667788)
    expect(own.activate_try(0, 2), Status.INVALID_FIELD)
    own.activate(0)
    expect(own.load_try(0, program), Status.PROGRAM_IN_USE)
    expect(near.load_try(drive, 0, program), Status.PROGRAM_IN_USE)
    expect(own.unload_try(0), Status.PROGRAM_IN_USE)
    listed = drive.get_log(LogPage.PROGRAM_LIST, 320, nsid=own.programs)
    assert listed[0] == 4 and listed[64] == 0b001101 and listed[72:80] == (0x1122334455667788).to_bytes(8, "little")

    # ranges
    small, result = (0, 512), (4096, 64)
    expect(own.create_ranges_try(small), Status.INVALID_RANGE_SET)
    expect(own.create_ranges_try(small, result, (8192, 64)), Status.RANGES_EXCEEDED)
    expect(own.create_ranges_try(small, result, nsid=1), Status.INVALID_MEMORY_NS)
    for bad in ((0, 500), (2, 512), (0, 0), (0, (1 << 20) + 512)):
        expect(own.create_ranges_try(bad, (1 << 20, 64)), Status.INVALID_RANGE_SET)
    expect(own.create_ranges_try(small, (SIZE - 64, 128)), Status.LBA_RANGE)
    expect(own.create_ranges_try(small, (508, 64)), Status.OVERLAPPING_MEMORY_RANGES)
    sets = [own.create_ranges(small, result) for _ in range(4)]
    assert sorted(sets) == [1, 2, 3, 4]
    expect(own.create_ranges_try(small, result), Status.RANGE_SETS_EXCEEDED)
    own.delete_ranges_try(3).check()
    expect(own.delete_ranges_try(3), Status.INVALID_RANGE_SET_ID)

    # Execute Program
    own.load(1, program)
    own.write(0, b"a\nb\n".ljust(512, b"\0"))
    for pind, rsid, length, fields, status in (
        (4, 1, 512, {}, Status.INVALID_PROGRAM_INDEX), (2, 1, 512, {}, Status.NO_PROGRAM),
        (1, 1, 512, {}, Status.PROGRAM_NOT_ACTIVATED), (0, 3, 512, {}, Status.INVALID_RANGE_SET_ID),
        (0, 0, 512, {}, Status.INVALID_RANGE_SET_ID), (0, 1, 513, {}, Status.INVALID_FIELD),
        (0, 1, 0, {}, Status.INVALID_FIELD), (0, 1, 512, {"cdw3": 1}, Status.INVALID_FIELD),
        (0, 1, 512, {"mptr": 4}, Status.INVALID_FIELD), (0, 1, 512, {"cdw11": 1 << 16}, Status.INVALID_FIELD),
    ):  # fmt: skip
        expect(own.execute(pind, rsid, length, **fields), status)
    assert own.execute(0, 1, 4).check().dw0 == 32
    assert own.read(4096, 64) == Grep((b"a",)).result(b"a\nb\n").ljust(64, b"\0")


@pytest.mark.parametrize("fault", ["ur", *(pytest.param(f, marks=pytest.mark.nightly) for f in ("poison", "drop"))])
def test_data_that_do_not_come(make_drive: MakeDrive, fault: str) -> None:
    """A Memory Write whose data the host does not give ends so, and is no error of the media; the next one is whole."""
    rng = random.Random(64)
    drive, own = start(make_drive)
    data = rng.randbytes(16 << 10)
    before = b"before" * 6144
    own.write(64 << 10, before[: 32 << 10])  # what the link's side has in its memory now
    own.write(0, bytes(16 << 10))
    buffer = drive.buffer(len(data), scattered=True)
    buffer.write(data)
    drive.sim.inject(fault, addr=buffer.pages[2], length=512)
    command = own.move(SlmOpc.WRITE, 0, len(data), buffer)
    drive.wait([command])
    expect(command, Status.DATA_TRANSFER_ERROR)
    found = own.read(0, len(data))
    assert all(a in (b, 0) for a, b in zip(found, data, strict=True)), "neither its data nor nothing"
    bad = own.move(SlmOpc.WRITE, 0, 4096, buffer, prp1=buffer.pages[0] + 2, prp2=0)
    drive.wait([bad])
    expect(bad, Status.INVALID_PRP_OFFSET)
    bad = own.move(SlmOpc.WRITE, 0, 8192, buffer, prp1=buffer.pages[0], prp2=buffer.pages[1] + 4)
    drive.wait([bad])
    expect(bad, Status.INVALID_PRP_OFFSET)
    assert own.read(0, 4096) == data[:4096]
    assert not any(own.read(4096, 4096)), "what is nobody's to have"
    own.write(0, data)
    assert own.read(0, len(data)) == data
    assert not int.from_bytes(drive.get_log(LogPage.SMART, 512)[160:176], "little"), "errors of the media"


def test_resets(make_drive: MakeDrive) -> None:
    """A controller reset forgets programs and ranges, and lets go of what is under way; the memory stays."""
    rng = random.Random(65)
    drive, own = start(make_drive)
    data = rng.randbytes(64 << 10)
    for cycles in (50, 9000):
        own.load(0, HALF.program())
        own.activate(0)
        rsid = own.create_ranges((0, 64 << 10), (1 << 20, 64 << 10))
        own.write(0, data)
        for i in range(8):
            own.submit(0, rsid, 64 << 10, qid=1 + i % 2)
        for _ in range(2):
            own.move(SlmOpc.READ, 0, 64 << 10, drive.buffer(64 << 10))
            own.move(SlmOpc.WRITE, 1 << 20, 64 << 10, drive.buffer(64 << 10), qid=2)
        drive.ring()
        drive.advance(cycles)
        drive.disable()
        drive.start(queues=2, entries=64, all_sets=True)
        own = Programs(drive)
        assert own.read(0, 64 << 10) == data
        expect(own.execute(0, rsid, 512), Status.NO_PROGRAM)
        own.load(0, HALF.program())
        own.activate(0)
        expect(own.execute(0, rsid, 512), Status.INVALID_RANGE_SET_ID)
        expect(own.delete_ranges_try(rsid), Status.INVALID_RANGE_SET_ID)
        own.deactivate(0)
        own.unload_try(0).check()


def test_aborts_and_deleted_queues(make_drive: MakeDrive) -> None:
    """Commands of both kinds are cut off at any moment; those beside them end as ever, and their memory is right."""
    rng = random.Random(66)
    drive, own = start(make_drive)
    data = rng.randbytes(64 << 10)
    own.load(0, HALF.program())
    own.activate(0)
    rsid = own.create_ranges((0, 64 << 10), (1 << 20, 64 << 10))
    for cycles in (20, 700):
        own.write(0, data)
        own.write(448 << 10, b"\xa5" * (192 << 10))
        pattern = rng.randbytes(64 << 10)
        commands: dict[int, list[Command]] = {1: [], 2: []}
        for qid, mine in commands.items():
            for _ in range(3):
                mine.append(own.submit(0, rsid, 64 << 10, qid=qid))
                mine.append(own.move(SlmOpc.READ, 0, 64 << 10, drive.buffer(64 << 10), qid=qid))
                held = drive.buffer(64 << 10)
                held.write(pattern)
                mine.append(own.move(SlmOpc.WRITE, 512 << 10, 64 << 10, held, qid=qid))
        cut_off(drive, commands, cycles)
        for command in commands[1]:
            assert command.status in (Status.SUCCESS, Status.ABORT_REQUESTED)
        for command in commands[1]:
            if command.opcode == SlmOpc.READ and command.status == Status.SUCCESS:
                assert command.buffer is not None and command.buffer.read() == data[: 64 << 10]
        around = own.read(448 << 10, 192 << 10)
        assert around[: 64 << 10] == around[128 << 10 :] == b"\xa5" * (64 << 10)
        assert all(a in (b, 0xA5, 0) for a, b in zip(around[64 << 10 : 128 << 10], pattern, strict=True))
        assert own.execute(0, rsid, 64 << 10).check().dw0 == len(HALF.result(data))
        assert own.read(1 << 20, 4096) == HALF.result(data)[:4096]


def test_blocks_as_ever(make_drive: MakeDrive) -> None:
    """What a host does with blocks is not disturbed by the namespaces behind them: Format, attachment, Flush of all."""
    drive, own = start(make_drive)
    data = random.Random(67).randbytes(4096)
    own.write(0, data)
    put(drive, 0, data)
    drive.flush(nsid=0xFFFFFFFF)
    for cns in (Cns.NS, Cns.NS_PRESENT):
        expect(
            drive.admin_try(AdminOpc.IDENTIFY, buffer=drive.buffer(4096), nsid=own.memory, cdw10=cns),
            Status.INVALID_IOCS,
        )
    expect(drive.admin_try(AdminOpc.FORMAT_NVM, nsid=own.memory), Status.INVALID_FIELD)
    drive.format(0, nsid=1)
    assert io(drive, NvmOpc.READ, 0, 8)[1] == bytes(4096)
    assert own.read(0, 4096) == data


@pytest.mark.nightly
def test_owners(make_drive: MakeDrive) -> None:
    """Three functions: each has its memory, its programs and its ranges, and reaches no other's, whatever it names; a
    reset of one leaves the others theirs."""
    rng = random.Random(68)
    drives = functions(make_drive, NUM_FN, {"CMB_LOG2": MEMORY_LOG2, "SLM": 1}, all_sets=True)
    owns = [Programs(drive) for drive in drives]
    assert [(o.memory, o.programs) for o in owns] == [(NUM_FN + 4 + 2 * i, NUM_FN + 5 + 2 * i) for i in range(NUM_FN)]
    data = [rng.randbytes(16 << 10) for _ in owns]
    columns = [Aggregate(ColumnType.U32, 16, 4 * i) for i in range(NUM_FN)]
    for own, mine, column in zip(owns, data, columns, strict=True):
        own.write(0, mine)
        own.load(0, column.program())
        own.activate(0)
        assert own.create_ranges((0, 16 << 10), (64 << 10, 64)) == 1
    under_way = [own.submit(0, 1, 16 << 10, qid=1 + i % 2) for i in range(20) for own in owns]
    for i, drive in enumerate(drives):
        drive.wait(under_way[i::NUM_FN])
    for command in under_way:
        command.check()
    for own, mine, column in zip(owns, data, columns, strict=True):
        assert own.read(64 << 10, 64) == column.result(mine).ljust(64, b"\0")
        assert own.read(0, 16 << 10) == mine
    for i, (own, drive) in enumerate(zip(owns, drives, strict=True)):
        other = owns[(i + 1) % NUM_FN]
        for opcode in (SlmOpc.READ, SlmOpc.WRITE):
            command = own.move(opcode, 0, 4096, drive.buffer(4096), nsid=other.memory)
            drive.wait([command])
            expect(command, Status.INVALID_FIELD)  # an NSID that is not active here
        expect(own.execute(0, 1, 512, nsid=other.programs), Status.INVALID_FIELD)
        expect(own.create_ranges_try((0, 512), (4096, 64), nsid=other.memory), Status.NS_NOT_REACHABLE)
    drives[1].disable()
    drives[1].start(queues=2, entries=64, all_sets=True)
    owns[1] = Programs(drives[1])
    expect(owns[1].execute(0, 1, 512), Status.NO_PROGRAM)
    for i in (0, 2):
        owns[i].execute(0, 1, 16 << 10).check()
    assert [own.read(0, 16 << 10) for own in owns] == data


@pytest.mark.nightly
def test_the_page() -> None:
    """The figures of docs/csd/programs.md are those that its command prints."""
    told = rates_of("programs.md")
    found: dict[str, list[tuple[str, str]]] = {}
    for row in importlib.import_module("programs").measure():
        found.setdefault(row.what, []).append((f"{row.gb_per_s:.2f}", f"{100 * row.on_link:.1f}"))
    assert found == told
