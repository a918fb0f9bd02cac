# SPDX-License-Identifier: Apache-2.0
"""Near-storage commands whose data lie in memory (docs/csd/near-storage.md): results, places, order among others,
errors of the link, owners, aborts and resets."""

from __future__ import annotations

import random
import struct

import pytest
from csd_drive import csd, ctr, cut_off, get, put, xts
from csd_functions import NUM_FN
from doorbell.compute import drive as compute
from doorbell.compute import near
from doorbell.compute.near import Aggregate, ColumnType, Crypt, Filter, Grep, Predicate
from doorbell.compute.operators import Op
from doorbell.compute.programs import Programs
from doorbell.nvme.cmb import map_cmb
from doorbell.nvme.commands import Command, expect
from doorbell.nvme.constants import LogPage, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.log_pages import SmartLog, u128
from doorbell.nvme.memory import Buffer
from doorbell.nvme.vendor import FROM_MEMORY, NearComparison, NearMode, VendorIoOpc
from near_words import random_program, random_text
from test_csd_near import TOO_LARGE, check
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
KEY1, KEY2 = bytes(range(32)), bytes(range(32, 64))
HALF = Filter(16, (Predicate(ColumnType.U8, 0, NearComparison.LESS, 0x60),))
TO = 4096


def table(rng: random.Random, drive: Driver, size: int, offset: int | None = None) -> tuple[Buffer, bytes]:
    """So many bytes of lines in host memory, one behind another, anywhere in a page."""
    offset = 4 * rng.randrange(1024) if offset is None else offset
    buffer = drive.buffer(size, offset=offset)
    data = random_text(rng, size)
    buffer.write(data)
    return buffer, data


def test_results(make_drive: MakeDrive) -> None:
    """Four programs, of data in memory and on the media, stored and not, with Reads and Verifies between them."""
    rng = random.Random(51)
    drive = csd(make_drive)
    blocks_of = random_text(rng, 128 * 512)
    put(drive, 0, blocks_of)
    for _ in range(2):
        programs = [random_program(rng) for _ in range(4)]
        for number, program in enumerate(programs):
            near.load(drive, number, program.program())
        under_way: list[tuple[Command, bytes, int, int | None]] = []
        for i in range(60):
            blocks, qid = rng.choice((1, 8, rng.randint(1, 40))), 1 + i % 2
            slba, size = rng.randrange(128 - blocks), blocks * 512
            kind = rng.choice(("memory", "memory", "media", "read", "verify"))
            if kind in ("read", "verify"):
                opcode = NvmOpc.READ if kind == "read" else NvmOpc.VERIFY
                buffer = drive.buffer(size)
                want = blocks_of[slba * 512 :][:size] if kind == "read" else b""
                under_way.append((drive.submit(qid, opcode, slba, blocks - 1, buffer), want, size, None))
                continue
            number = rng.randrange(4)
            phase = rng.randrange(getattr(programs[number], "record", 1))
            length, room = rng.choice((size, rng.randint(1, size))), rng.choice((512, size))
            length = min(length, near.longest(programs[number]))
            to = TO + 40 * i if rng.random() < 0.3 else None
            data, source = blocks_of[slba * 512 :][:size], None
            if kind == "memory":
                held, data = table(rng, drive, size)
                source = held.address
            command = near.submit(drive, number, slba, blocks, length=length, room=room, phase=phase, to=to,
                                  source=source, qid=qid)  # fmt: skip
            under_way.append((command, programs[number].result(data[:length], phase), room, to))
        drive.wait([c for c, *_ in under_way])
        for command, want, room, to in under_way:
            assert command.buffer is not None
            if command.opcode in (NvmOpc.READ, NvmOpc.VERIFY):
                command.check()
                assert command.opcode == NvmOpc.VERIFY or command.buffer.read() == want
                continue
            check(command, command.buffer.read()[:room], want)
            if to is not None and len(want) <= room:
                assert get(drive, to, room // 512) == want.ljust(room, b"\0")


def test_edges_of_pages(make_drive: MakeDrive) -> None:
    """From any dword of a page, of one block and of a megabyte."""
    rng = random.Random(52)
    drive = csd(make_drive, media_size=16 << 20)
    program = Grep((b"ab", b"B."), where=True)
    near.load(drive, 0, program.program())
    for offset, blocks in ((0, 1), (4092, 1), (3584, 1), (3588, 1), (4, 8), (0, 8), (4092, 9), (2048, 2048)):
        held, data = table(rng, drive, blocks * 512, offset)
        check(*near.run(drive, 0, 0, blocks, source=held.address), program.result(data))


def test_what_is_refused(make_drive: MakeDrive) -> None:
    drive = csd(make_drive)
    near.load(drive, 0, HALF.program())
    held, data = table(random.Random(53), drive, 4096, 0)
    for source in (held.address + 1, held.address + 2):
        expect(near.run(drive, 0, 0, 8, source=source)[0], Status.INVALID_FIELD)
    last = drive.namespace.nsze  # type: ignore[union-attr]
    expect(near.run(drive, 0, last - 7, 8, source=held.address)[0], Status.LBA_RANGE)
    expect(near.run(drive, 0, 0, 2049, source=held.address)[0], Status.INVALID_FIELD)
    expect(near.run(drive, 1, 0, 8, source=held.address)[0], Status.INVALID_FIELD)  # no program
    for bit in range(4, 16):
        bad = drive.submit(1, VendorIoOpc.NEAR, 0, 7, drive.buffer(4096), mptr=held.address, cdw13=4096, cdw14=4096,
                           cdw15=FROM_MEMORY | 1 << bit)  # fmt: skip
        drive.wait([bad])
        expect(bad, Status.INVALID_FIELD)
    check(*near.run(drive, 0, last - 8, 8, source=held.address), HALF.result(data))


def test_data_in_pieces(make_drive: MakeDrive) -> None:
    """Of any sizes, anywhere, also in card memory, where the SGL may be as well; more than are needed."""
    rng = random.Random(62)
    drive = csd(make_drive, all_sets=True)
    memory = Programs(drive)
    card = map_cmb(drive, 1 << 40).base
    programs = [random_program(rng) for _ in range(4)]
    for number, program in enumerate(programs):
        near.load(drive, number, program.program())
    under_way = []
    for i in range(40):
        blocks = rng.choice((1, 8, rng.randint(1, 40)))
        size, pieces, data = blocks * 512, [], b""
        while len(data) < size or (rng.random() < 0.2 and len(pieces) < 100):
            held, some = table(rng, drive, 4 * rng.choice((1, 16, 128, rng.randint(1, 2000), size)))
            pieces.append((held.address, len(some)))
            data += some
        if i % 4 == 3 and len(pieces[0:1]):  # the first piece, in card memory
            memory.write(1 << 20, data[: pieces[0][1]])
            pieces[0] = (card + (1 << 20), pieces[0][1])
            drive.wait([c for c, *_ in under_way])
        number = rng.randrange(4)
        length = min(rng.choice((size, rng.randint(1, size))), near.longest(programs[number]))
        to = TO + 40 * i if rng.random() < 0.3 else None
        sgl = near.scattered(drive, pieces)
        command = near.submit(drive, number, 0, blocks, length=length, to=to, source=sgl, qid=1 + i % 2)
        under_way.append((command, programs[number].result(data[:length]), size, to))
        if i % 4 == 3:
            drive.wait([command])
    drive.wait([c for c, *_ in under_way])
    for command, want, room, to in under_way:
        check(command, command.buffer.read()[:room], want)  # type: ignore[union-attr]
        if to is not None and len(want) <= room:
            assert get(drive, to, room // 512) == want.ljust(room, b"\0")


def test_lists_of_pieces_that_are_wrong(make_drive: MakeDrive) -> None:
    """Each ends its command as an SGL of data does, and stores nothing; those beside it have their results."""
    drive = csd(make_drive)
    near.load(drive, 0, HALF.program())
    held, data = table(random.Random(63), drive, 4096, 0)
    whole = near.scattered(drive, [(held.address, 4096)])
    blocks = [(held.address, 2048), (held.address + 2048, 2048)]

    def with_words(at: int, *words: int) -> Buffer:
        sgl = near.scattered(drive, blocks)
        held_words = bytearray(sgl.read())
        struct.pack_into(f"<{len(words)}Q", held_words, at, *words)
        sgl.write(held_words)
        return sgl

    end = held.address
    wrong = {
        Status.SGL_INVALID_TYPE: with_words(24, 2048 | 5 << 60),
        Status.SGL_INVALID_DATA: near.scattered(drive, blocks[:1]),
        Status.SGL_INVALID_GRANULARITY: with_words(16, end + 2),
        Status.SGL_INVALID_COUNT: with_words(16, end, 16 | 3 << 60),
        Status.SGL_INVALID_LAST: with_words(8, 24 | 3 << 60),
    }
    for i, (status, sgl) in enumerate(wrong.items()):
        to = TO + 64 * i
        commands = [near.submit(drive, 0, 0, 8, source=s, to=to + 16 * n) for n, s in enumerate((whole, sgl, whole))]
        drive.wait(commands)
        for n, command in enumerate(commands):
            if n == 1:
                expect(command, status)
                assert command.dw0 == 0 and get(drive, to + 16, 8) == bytes(4096)
            else:
                check(command, command.buffer.read(), HALF.result(data))  # type: ignore[union-attr]
    alone = near.scattered(drive, blocks)  # a descriptor of data stands for itself
    alone.write(struct.pack("<2Q", held.address, 4096))
    check(*near.run(drive, 0, 0, 8, source=alone), HALF.result(data))
    drive.sim.inject("ur", addr=whole.address, length=16)
    command, _ = near.run(drive, 0, 0, 8, source=whole)
    expect(command, Status.DATA_TRANSFER_ERROR)
    check(*near.run(drive, 0, 0, 8, source=alone), HALF.result(data))


@pytest.mark.parametrize("fault", ["ur", "poison", "drop"])
def test_data_that_do_not_come(make_drive: MakeDrive, fault: str) -> None:
    """The command ends so, stores nothing, counts as no error of the media, and its neighbours do not notice."""
    rng = random.Random(54)
    drive = csd(make_drive)
    near.load(drive, 0, HALF.program())
    before = SmartLog.from_buffer_copy(drive.get_log(LogPage.SMART, 512))
    held = [table(rng, drive, 8192, 0) for _ in range(4)]
    drive.sim.inject(fault, addr=held[1][0].address + 4096, length=4096)
    commands = [near.submit(drive, 0, 0, 16, source=h.address, to=TO + 16 * i, qid=1 + i % 2)
                for i, (h, _) in enumerate(held)]  # fmt: skip
    drive.wait(commands)
    for i, command in enumerate(commands):
        want = HALF.result(held[i][1])
        if i == 1:
            expect(command, Status.DATA_TRANSFER_ERROR)
            assert command.dw0 == 0
            want = b""
        else:
            check(command, command.buffer.read(), want)  # type: ignore[union-attr]
        assert get(drive, TO + 16 * i, 16) == want.ljust(8192, b"\0")
    after = SmartLog.from_buffer_copy(drive.get_log(LogPage.SMART, 512))
    assert u128(after.media_errors) == u128(before.media_errors)
    assert u128(after.host_reads) - u128(before.host_reads) == 4  # those of `get`


def test_too_large(make_drive: MakeDrive) -> None:
    drive = csd(make_drive)
    near.load(drive, 0, HALF.program())
    held, data = table(random.Random(55), drive, 16384)
    command, got = near.run(drive, 0, 0, 32, room=512, source=held.address)
    expect(command, TOO_LARGE)
    assert command.dw0 == len(HALF.result(data))
    assert got == HALF.result(data)[:512]


def test_keys(make_drive: MakeDrive) -> None:
    """Data in memory are plain whatever the namespace does; a Crypt works on them, and counts from SLBA; without its
    key nothing of them comes back. What is stored is as a Write would have left it."""
    rng = random.Random(56)
    drive = csd(make_drive)
    compute.load_key(drive, 1, KEY1, KEY2)
    compute.bind(drive, 1, Op.AES_XTS, 1)
    near.load(drive, 0, HALF.program())
    held, data = table(rng, drive, 16384)
    want = HALF.result(data).ljust(16384, b"\0")
    check(*near.run(drive, 0, 0, 32, source=held.address, to=TO), HALF.result(data))
    assert get(drive, TO, 32) == want
    assert drive.sim.media_read(TO * 512, 16384) == xts(KEY1, KEY2, TO, want)
    near.load(drive, 1, Crypt(1, encrypt=True, offset=5).program())
    check(*near.run(drive, 1, 70, 32, source=held.address), xts(KEY1, KEY2, 75, data))
    compute.load_key(drive, 2, KEY1, iv=bytes(16))
    near.load(drive, 2, Crypt(2, NearMode.CTR, behind=Aggregate(ColumnType.U8, 1)).program())
    check(*near.run(drive, 2, 3, 32, source=held.address, room=64),
          Aggregate(ColumnType.U8, 1).result(ctr(KEY1, bytes(16), 3 * 512, data)))  # fmt: skip
    compute.erase_key(drive, 2)
    command, got = near.run(drive, 2, 3, 32, source=held.address, room=512)
    expect(command, Status.DATA_TRANSFER_ERROR)
    assert command.dw0 == 0
    assert not any(data[at : at + 16] in got for at in range(0, 16384, 16))


def test_owners(csd_owners: list[Driver]) -> None:
    """Each function's addresses are those of its own host."""
    rng = random.Random(57)
    held = [[table(rng, drive, 4096) for _ in range(4)] for drive in csd_owners]
    for drive in csd_owners:
        near.load(drive, 1, HALF.program())
    under_way = []
    for i in range(60):
        fn = i % NUM_FN
        memory, data = held[fn][i // 3 % 4]
        command = near.submit(csd_owners[fn], 1, 0, 8, source=memory.address, nsid=fn + 1, qid=1 + i // 3 % 2)
        under_way.append((fn, command, HALF.result(data)))
    for fn, drive in enumerate(csd_owners):
        drive.wait([c for f, c, _ in under_way if f == fn])
    for _, command, want in under_way:
        assert command.buffer is not None
        check(command, command.buffer.read(), want)


def test_aborted_and_deleted_in_the_middle(make_drive: MakeDrive) -> None:
    """Data of commands that are gone are read no more once the host has been told; all others give what they should."""
    rng = random.Random(58)
    drive = csd(make_drive)
    near.load(drive, 0, HALF.program())
    each = 64 * 512  # of a command: so much that most of them have not been read when their queue goes
    held = {qid: table(rng, drive, 15 * each, 0) for qid in (1, 2)}
    for cycles in (10, 200, 400, 700, 1200, 2000):
        commands = {qid: [near.submit(drive, 0, 0, 64, qid=qid, source=memory.address + each * i) for i in range(15)]
                    for qid, (memory, _) in held.items()}  # fmt: skip
        traps: list[int] = []
        size = held[2][0].size

        def trap(traps: list[int] = traps, size: int = size) -> None:
            traps.append(drive.sim.inject("poison", addr=held[2][0].address, length=size))

        cut_off(drive, commands, cycles, trap)
        drive.advance(5000)
        assert drive.sim.injected(traps[0]) == 0, f"read after {cycles} cycles, though the queue is gone"
        drive.sim.inject_clear()
        for i, command in enumerate(commands[1]):
            assert command.buffer is not None
            if command.status != Status.ABORT_REQUESTED or command is not commands[1][-1]:
                check(command, command.buffer.read(), HALF.result(held[1][1][each * i :][:each]))


@pytest.mark.parametrize("kind", ["disable", "flr"])
def test_reset_in_the_middle(make_drive: MakeDrive, kind: str) -> None:
    rng = random.Random(59)
    drive = csd(make_drive)
    held, data = table(rng, drive, 16 * 4096, 0)
    for cycles in (10, 300, 1500, 2500):
        near.load(drive, 0, HALF.program())
        for i in range(16):
            at = held.address + 4096 * i
            source = near.scattered(drive, [(at, 2048), (at + 2048, 2048)]) if i % 3 == 0 else at
            near.submit(drive, 0, 0, 8, qid=1 + i % 2, source=source)
        drive.ring()
        drive.advance(cycles)
        getattr(drive, kind)()
        drive.start(queues=2, entries=64)
    near.load(drive, 0, HALF.program())
    check(*near.run(drive, 0, 0, 128, source=held.address), HALF.result(data))
