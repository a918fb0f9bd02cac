# SPDX-License-Identifier: Apache-2.0
"""Near-storage commands as a host sees them (docs/csd/near-storage.md): results, sizes, errors, owners, resets."""

from __future__ import annotations

import dataclasses
import itertools
import random
import struct
from collections.abc import Callable

import numpy as np
import pytest
from csd_drive import PARAMS, csd, cut_off, get, put
from csd_functions import NUM_FN
from doorbell.compute import drive as compute
from doorbell.compute import near
from doorbell.compute.near import Aggregate, ColumnType, Crypt, Csv, Filter, Grep, Predicate
from doorbell.compute.near_csv import INSIDE
from doorbell.compute.operators import Op
from doorbell.nvme.commands import Command, expect
from doorbell.nvme.constants import LogPage, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import NearComparison, NearOperator, VendorIoOpc, VendorOpc, VendorStatus
from near_words import ONE_OF_EACH, random_csv, random_program, random_text
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
TOO_LARGE = 0x100 | VendorStatus.RESULT_TOO_LARGE
BLOCKS = 256  # of text, from block 0 on
KEY1, KEY2 = bytes(range(32)), bytes(range(32, 64))


def text(rng: random.Random, drive: Driver, *, nsid: int = 1, size: int | None = None) -> bytes:
    """BLOCKS blocks of lines, on the drive."""
    data = random_text(rng, size or BLOCKS * drive.block_size)
    for at in range(0, len(data), 65536):
        put(drive, at // drive.block_size, data[at : at + 65536], nsid=nsid)
    return data


def check(command: Command, got: bytes, want: bytes) -> None:
    """Success, or Result Too Large, as the result wants it."""
    expect(command, Status.SUCCESS if len(want) <= len(got) else TOO_LARGE)
    assert command.dw0 == len(want)
    assert got == want[: len(got)].ljust(len(got), b"\0")


def test_results(make_drive: MakeDrive) -> None:
    """Four programs, each command with one of them, many under way on two queues, Reads between them."""
    rng = random.Random(5)
    drive = csd(make_drive)
    data = text(rng, drive)
    for _ in range(3):
        programs = [random_program(rng, slots=(*ONE_OF_EACH, NearOperator.GREP)) for _ in range(4)]
        for number, program in enumerate(programs):
            near.load(drive, number, program.program())
        under_way = []
        for i in range(60):
            blocks = rng.choice((1, 8, rng.randint(1, 40)))
            slba, qid = rng.randrange(BLOCKS - blocks), 1 + i % 2
            at, size = slba * 512, blocks * 512
            if rng.random() < 0.3:
                buffer = drive.buffer(size)
                under_way.append((drive.submit(qid, NvmOpc.READ, slba, blocks - 1, buffer), data[at : at + size]))
                continue
            number = rng.randrange(4)
            program = programs[number]
            phase = rng.randrange(getattr(program, "record", 1))
            length, room = rng.choice((size, rng.randint(1, size))), rng.choice((64, size))
            length = min(length, near.longest(program))
            command = near.submit(drive, number, slba, blocks, length=length, room=room, phase=phase, qid=qid)
            under_way.append((command, program.result(data[at : at + length], phase)))
        drive.wait([c for c, _ in under_way])
        for command, want in under_way:
            assert command.buffer is not None
            if command.opcode == NvmOpc.READ:
                assert command.check().buffer.read() == want  # type: ignore[union-attr]
            else:
                check(command, command.buffer.read(), want)
            command.buffer.free()


def test_a_megabyte(make_drive: MakeDrive) -> None:
    """MDTS at once, with an entry for each stretch of 64 bytes: the largest result there is."""
    drive = csd(make_drive, media_size=16 << 20)
    data = b"x\n" * (1 << 19)
    for at in range(0, 1 << 20, 131072):
        put(drive, at // 512, data[at : at + 131072])
    program = Grep((b"x",), where=True)
    near.load(drive, 2, program.program())
    want = program.result(data)
    assert len(want) == (1 << 20) // 4 + 32
    check(*near.run(drive, 2, 0, 2048), want)
    check(*near.run(drive, 2, 0, 2048, room=(len(want) + 63) // 64 * 64), want)
    check(*near.run(drive, 2, 0, 2048, room=(len(want) - 1) // 64 * 64), want)
    expect(near.run(drive, 2, 0, 2049)[0], Status.INVALID_FIELD)


def test_filters(make_drive: MakeDrive) -> None:
    """All, some and none of the records; bitmaps; an Aggregate behind; buffers that are too small; beside a Grep."""
    rng = random.Random(6)
    drive = csd(make_drive)
    values = np.arange(BLOCKS * 512 // 16 * 4, dtype="<u4").reshape(-1, 4)
    values[:, 1] = values[:, 0] * 2654435761 % 1000
    data = values.tobytes()
    for at in range(0, len(data), 65536):
        put(drive, at // 512, data[at : at + 65536])
    kinds = [(True, False, ()), *itertools.product((False,), (False, True), ((), ((0, 4), (5, 3), (12, 4))))]
    for least, (bitmap, behind, columns) in itertools.product((0, 10, 500, 990, 1000), kinds):
        passes = values[values[:, 1] >= least]
        some = Predicate(ColumnType.U16, 4, NearComparison.NOT_LESS, least)
        program = Filter(16, (some,), bitmap, columns=columns)
        aggregate = Aggregate(ColumnType.U32, program.packed, 0) if behind else None
        program = dataclasses.replace(program, behind=aggregate)
        near.load(drive, 0, program.program())
        room = rng.choice((64, 4096, len(data)))
        command, got = near.run(drive, 0, 0, BLOCKS, room=room)
        check(command, got, program.result(data))
        if aggregate:  # beside numpy
            total = int(passes[:, 0].sum(dtype=np.uint64))
            assert (int.from_bytes(got[:8], "little"), int.from_bytes(got[16:32], "little")) == (len(passes), total)
        elif not bitmap:
            if columns:
                passes = passes.view(np.uint8)[:, [0, 1, 2, 3, 5, 6, 7, 12, 13, 14, 15]]
            assert command.dw0 == passes.nbytes
            assert got[: command.dw0] == passes.tobytes()[:room]


def test_csv(make_drive: MakeDrive) -> None:
    """Fields of lines, commands that begin with a line, inside one and behind a header; behind a Crypt too."""
    rng = random.Random(16)
    drive = csd(make_drive)
    data = random_csv(rng, BLOCKS * 512)
    for at in range(0, len(data), 65536):
        put(drive, at // 512, data[at : at + 65536])
    compute.load_key(drive, 1, KEY1, KEY2)
    crypt = Crypt(1, encrypt=True)
    for program in (Csv(0), Csv(2), Csv(1, ord("."))):
        near.load(drive, 0, program.program())
        for phase in (0, 7, INSIDE):
            slba = rng.randrange(BLOCKS - 64)
            length = rng.randint(1, 64 * 512)
            got = near.run(drive, 0, slba, 64, length=length, room=64, phase=phase)
            check(*got, program.result(data[slba * 512 :][:length], phase))
    near.load(drive, 1, dataclasses.replace(crypt, behind=Csv(0)).program())
    near.load(drive, 2, crypt.program())
    secret = near.run(drive, 2, 0, 64)[1]
    check(*near.run(drive, 1, 0, 64, room=64), Csv(0).result(secret))


@pytest.mark.parametrize("record", [1, 8, 1000])
def test_a_phase_that_no_record_has(make_drive: MakeDrive, record: int) -> None:
    """It counts as 0, and what comes behind the command comes."""
    rng = random.Random(14)
    drive = csd(make_drive)
    data = text(rng, drive)
    some = Predicate(ColumnType.U8, 0, NearComparison.LESS, 0x60)
    for program in (Filter(record, (some,)), Filter(record, (some,), behind=Aggregate(ColumnType.U8, record)),
                    Aggregate(ColumnType.U8, record)):  # fmt: skip
        near.load(drive, 1, program.program())
        for phase in (record, 65535):
            check(*near.run(drive, 1, 0, 64, phase=phase), program.result(data[: 64 * 512]))


def test_what_is_refused(make_drive: MakeDrive) -> None:
    """Each field beyond what the page says; programs that are none; nothing is under way after it."""
    drive = csd(make_drive)
    program = Grep((b"abc", b"x" * 64), line_end=0x3B)
    near.load(drive, 1, program.program())
    for options in ({"length": 0}, {"length": 1025}, {"room": 0}, {"room": 96}, {"room": 1088}):
        expect(near.run(drive, 1, 0, 2, **{"room": 64, **options})[0], Status.INVALID_FIELD)
    expect(near.run(drive, 0, 0, 2)[0], Status.INVALID_FIELD)  # it was never loaded
    data = drive.buffer(1024)
    expect(near.run(drive, 0, 0, 2, source=data.address)[0], Status.INVALID_FIELD)
    data.free()
    expect(near.run(drive, 1, drive.namespace.nsze - 1, 2)[0], Status.LBA_RANGE)  # type: ignore[union-attr]
    expect(near.run(drive, 1, 0, 1, nsid=77)[0], Status.INVALID_NS)

    good = program.program()
    bad = [
        b"\x03" + good[1:], b"\x04" + good[1:], b"\0" + good[1:],
        good[:4] + b"\x0a" + good[5:], good[:4] + b"\x10" + good[5:], good[:6] + b"\0" + good[7:],
        good[:6] + b"\x09" + good[7:], good[:8] + b"\0" + good[9:], good[:8] + b"\x41" + good[9:], good[:-1],
        Grep((b"a;b",), line_end=0x3B).program(), Grep((b"aBc",), True, line_end=ord("b")).program(),
        Grep(tuple(bytes([65 + i]) * 17 for i in range(5))).program(),
        Aggregate(ColumnType.U32, 0).program(), Aggregate(ColumnType.U32, 3).program(),
        Aggregate(ColumnType.I64, 20, 13).program(),
        struct.pack("<B3xB3xHH4x", 2, 8, 16, 0),
    ]  # fmt: skip
    for wrong in bad:
        near.load(drive, 1, good)
        expect(near.load_try(drive, 1, wrong), Status.INVALID_FIELD)
        expect(near.run(drive, 1, 0, 2)[0], Status.INVALID_FIELD)  # the old one is gone
    expect(near.load_try(drive, 4, good), Status.INVALID_FIELD)
    expect(
        drive.admin_try(VendorOpc.LOAD_PROGRAM, buffer=drive.buffer(4096), cdw10=1, cdw11=1025), Status.INVALID_FIELD
    )
    near.load(drive, 3, good)
    check(*near.run(drive, 3, 0, 2), program.result(bytes(1024)))
    near.load(drive, 3, b"")
    expect(near.run(drive, 3, 0, 2)[0], Status.INVALID_FIELD)


def test_encrypted_and_locked(make_drive: MakeDrive) -> None:
    """Operators see plaintext; without the key nothing leaves."""
    rng = random.Random(7)
    drive = csd(make_drive)
    compute.load_key(drive, 1, KEY1, KEY2)
    compute.bind(drive, 1, Op.AES_XTS, 1)
    data = text(rng, drive, size=32 * 512)
    assert drive.sim.media_read(0, len(data)) != data
    program = Grep((b"ab", b"..", b"b a"), where=True)
    near.load(drive, 0, program.program())
    check(*near.run(drive, 0, 0, 32), program.result(data))
    compute.erase_key(drive, 1)
    command, got = near.run(drive, 0, 0, 32)
    expect(command, Status.ACCESS_DENIED)
    assert got == b"\xa5" * len(got)
    assert command.dw0 == 0


def test_faults(make_drive: MakeDrive) -> None:
    """A sector that cannot be read, a bad PRP: the command ends so, its neighbours do not notice."""
    rng = random.Random(8)
    drive = csd(make_drive)
    data = text(rng, drive, size=64 * 512)
    program = Grep((b"ab",), where=True)
    near.load(drive, 0, program.program())
    drive.sim.media_error(20 * 512, 512, -1)
    commands = [near.submit(drive, 0, 8 * i, 8, qid=1 + i % 2) for i in range(8)]
    drive.wait(commands)
    for i, command in enumerate(commands):
        assert command.buffer is not None
        if i == 2:
            expect(command, Status.READ_ERROR)
            assert command.dw0 == 0
        else:
            check(command, command.buffer.read(), program.result(data[4096 * i : 4096 * i + 4096]))
    drive.sim.media_error_clear()
    bad = drive.submit(1, VendorIoOpc.NEAR, 0, 7, prp1=0x1002, cdw13=4096, cdw14=4096)
    drive.wait([bad])
    expect(bad, Status.INVALID_PRP_OFFSET)
    check(*near.run(drive, 0, 16, 8), program.result(data[8192:12288]))


def test_owners(csd_owners: list[Driver]) -> None:
    """Each function's programs are its own, and none sees another's data or results."""
    rng = random.Random(9)
    drives = csd_owners
    programs = [Grep((b"ab",), where=True), Aggregate(ColumnType.U16, 5, 1), Grep((b"A", b"b."), without=True)]
    data = [text(rng, drive, nsid=fn + 1, size=BLOCKS * 512) for fn, drive in enumerate(drives)]
    for fn in (0, 2):
        near.load(drives[fn], 1, programs[fn].program())
    expect(near.run(drives[1], 1, 0, 8, nsid=2)[0], Status.INVALID_FIELD)  # its own is not there
    near.load(drives[1], 1, programs[1].program())
    expect(near.run(drives[1], 1, 0, 8, nsid=1)[0], Status.INVALID_FIELD)  # not attached
    under_way = []
    for i in range(90):
        fn = i % NUM_FN
        slba = rng.randrange(BLOCKS - 8)
        phase = rng.randrange(5) if fn == 1 else 0
        command = near.submit(drives[fn], 1, slba, 8, nsid=fn + 1, phase=phase, qid=1 + i // 3 % 2)
        under_way.append((fn, command, programs[fn].result(data[fn][slba * 512 :][:4096], phase)))
    for fn, drive in enumerate(drives):
        drive.wait([c for f, c, _ in under_way if f == fn])
    for _, command, want in under_way:
        assert command.buffer is not None
        check(command, command.buffer.read(), want)
    # One function's reset takes its programs, and no other's.
    drives[2].disable()
    drives[2].start(queues=2, entries=64)
    expect(near.run(drives[2], 1, 0, 8, nsid=3)[0], Status.INVALID_FIELD)
    check(*near.run(drives[1], 1, 0, 8, nsid=2), programs[1].result(data[1][:4096]))
    check(*near.run(drives[0], 1, 0, 8, nsid=1), programs[0].result(data[0][:4096]))


def test_a_neighbour_that_exchanges_programs(csd_owners: list[Driver]) -> None:
    """Each of its commands is the smallest there is, and has another program than the one before: who reads beside it
    keeps most of what he has beside one that reads."""
    _, noisy, quiet = csd_owners
    for number in range(4):
        near.load(noisy, number, Grep((b"a%d" % number,)).program())

    def beside(send: Callable[[int], Command]) -> float:
        begin, ended, sent, under_way = quiet.sim.ns, 0, 0, set[Command]()
        reads: set[Command] = set()
        while ended < 150:
            while len(under_way) < 32:
                under_way.add(send(sent))
                sent += 1
            while len(reads) < 16:
                reads.add(quiet.submit(1, NvmOpc.READ, 0, 7, quiet.buffer(4096), nsid=3))
            noisy.ring()
            quiet.ring()
            quiet.advance(100, until_irq=True)
            for drive, commands in ((noisy, under_way), (quiet, reads)):
                for command in drive.poll():
                    command.check()
                    assert command.buffer is not None
                    command.buffer.free()
                    commands.discard(command)
                    ended += commands is reads
        took = quiet.sim.ns - begin
        noisy.wait(under_way)
        quiet.wait(reads)
        return ended * 4096 / took

    reading = beside(lambda i: noisy.submit(1, NvmOpc.READ, 8 * (i % 16), 7, noisy.buffer(4096), nsid=2))
    exchanging = beside(lambda i: near.submit(noisy, i % 4, i % 64, 1, room=64, nsid=2))
    print(f"beside Reads {reading:.2f} GB/s, beside programs {exchanging:.2f} GB/s")
    assert exchanging > 0.8 * reading


def test_results_to_an_sgl(make_drive: MakeDrive) -> None:
    """In pieces anywhere in memory."""
    rng = random.Random(12)
    drive = csd(make_drive)
    data = text(rng, drive)
    program = Grep((b"a", b"B"), where=True)
    near.load(drive, 0, program.program())
    drive.sgl = True
    for blocks in (8, 64, BLOCKS):
        buffer = drive.buffer(blocks * 512, offset=4 * rng.randrange(1024), scattered=True)
        command = drive.submit(
            1, VendorIoOpc.NEAR, 0, blocks - 1, buffer, cdw13=blocks * 512, cdw14=buffer.size, cdw15=0
        )
        drive.wait([command])
        check(command, buffer.read(), program.result(data[: blocks * 512]))


def test_aborted_and_deleted_in_the_middle(make_drive: MakeDrive) -> None:
    """A queue that is deleted takes its commands along, an Abort one; all others give what they should."""
    rng = random.Random(13)
    drive = csd(make_drive)
    data = text(rng, drive)
    program = Grep((b"ab", b"a."), where=True)
    near.load(drive, 0, program.program())
    for cycles in (10, 200, 700, 2000, 5000):
        commands = {qid: [near.submit(drive, 0, 8 * i, 8, qid=qid) for i in range(20)] for qid in (1, 2)}
        cut_off(drive, commands, cycles)
        for i, command in enumerate(commands[1]):
            assert command.buffer is not None
            if command.status != Status.ABORT_REQUESTED or command is not commands[1][-1]:
                check(command, command.buffer.read(), program.result(data[4096 * i : 4096 * i + 4096]))


@pytest.mark.parametrize("kind", ["disable", "flr"])
def test_reset_in_the_middle(make_drive: MakeDrive, kind: str) -> None:
    """Commands under way are gone, programs forgotten, the data are as they were, and all works again."""
    rng = random.Random(10)
    drive = csd(make_drive)
    data = text(rng, drive, size=64 * 512)
    program = Grep((b"ab", b"a."), where=True)
    for cycles in (10, 300, 1500, 4000):
        near.load(drive, 0, program.program())
        for i in range(24):
            near.submit(drive, 0, rng.randrange(48), 16, qid=1 + i % 2, room=rng.choice((64, 4096)))
        drive.ring()
        drive.advance(cycles)
        getattr(drive, kind)()
        drive.start(queues=2, entries=64)
        expect(near.run(drive, 0, 0, 8)[0], Status.INVALID_FIELD)
        assert get(drive, 0, 64) == data
    near.load(drive, 0, program.program())
    check(*near.run(drive, 0, 0, 64), program.result(data))


# One without them has a simulator of its own: nightly. In every run tests/firmware says it, test_commands_supported.
@pytest.mark.parametrize("there", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_effects_log(make_drive: MakeDrive, there: bool) -> None:
    """The drive says that it has both commands; one without them says nothing, and refuses them."""
    drive = csd(make_drive, params={**PARAMS, "NEAR": 1} if there else {"NUM_NS": PARAMS["NUM_NS"]})
    log = drive.get_log(LogPage.CMD_EFFECTS, 2048)
    admin, io = (struct.unpack_from("<256I", log, at) for at in (0, 1024))
    assert io[VendorIoOpc.NEAR] == (io[NvmOpc.READ] if there else 0)
    assert admin[VendorOpc.LOAD_PROGRAM] & 1 == there
    program = Grep((b"a",)).program()
    expect(near.load_try(drive, 0, program), Status.SUCCESS if there else Status.INVALID_OPCODE)
    expect(near.run(drive, 0, 0, 1)[0], Status.SUCCESS if there else Status.INVALID_OPCODE)
