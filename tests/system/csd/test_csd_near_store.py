# SPDX-License-Identifier: Apache-2.0
"""Near-storage commands whose result goes to blocks (docs/csd/near-storage.md): what is on the media, in the buffer
and in the entry then; that nothing is written unless all went well; owners, keys, aborts and resets."""

from __future__ import annotations

import dataclasses
import random

import pytest
from csd_drive import csd, cut_off, get, put, xts
from csd_functions import NUM_FN
from doorbell.compute import drive as compute
from doorbell.compute import near
from doorbell.compute.near import Aggregate, ColumnType, Crypt, Filter, Grep, Predicate
from doorbell.compute.operators import Op
from doorbell.nvme import namespaces, reservations
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import Feature, LogPage, NvmOpc, ResvType, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.log_pages import ErrorLogEntry, SmartLog, u128
from doorbell.nvme.sgl import PSDT_SGL, Descriptor, Kind, Sgl
from doorbell.nvme.vendor import NearComparison, VendorIoOpc
from near_words import random_program, random_text
from test_csd_near import TOO_LARGE
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
BLOCKS = 128  # of text, from block 0 on
TO = 4096  # where results go
KEY1, KEY2 = bytes(range(32)), bytes(range(32, 64))
HALF = Filter(16, (Predicate(ColumnType.U8, 0, NearComparison.LESS, 0x60),))


def text(rng: random.Random, drive: Driver, *, nsid: int = 1, blocks: int = BLOCKS) -> bytes:
    data = random_text(rng, blocks * drive.block_size)
    put(drive, 0, data, nsid=nsid)
    return data


def stored(drive: Driver, slba: int, want: bytes, room: int, *, nsid: int = 1) -> None:
    assert get(drive, slba, room // drive.block_size, nsid=nsid) == want.ljust(room, b"\0")


def test_results_on_the_media(make_drive: MakeDrive) -> None:
    """Four programs, many under way on two queues, with Writes between them: each result is in its buffer and in its
    blocks, with zeros behind it, and no other block has changed."""
    rng = random.Random(31)
    drive = csd(make_drive)
    data = text(rng, drive)
    programs = [HALF, dataclasses.replace(HALF, behind=Aggregate(ColumnType.U16, 16, 4)),
                *(random_program(rng) for _ in range(2))]  # fmt: skip
    for number, program in enumerate(programs):
        near.load(drive, number, program.program())
    model = bytearray(rng.randbytes(8192 * 512))
    for at in range(0, len(model), 1 << 16):
        put(drive, TO + at // 512, bytes(model[at : at + (1 << 16)]))
    under_way, at = [], 0
    for i in range(60):
        blocks = rng.choice((1, 8, rng.randint(1, 40)))
        slba, qid, number = rng.randrange(BLOCKS - blocks), 1 + i % 2, rng.randrange(4)
        length = min(near.longest(programs[number]), rng.choice((blocks * 512, rng.randint(1, blocks * 512))))
        phase = rng.randrange(getattr(programs[number], "record", 1))
        want = programs[number].result(data[slba * 512 :][:length], phase)
        room = 512 * rng.choice((1, blocks, rng.randint(1, blocks)))
        at += rng.randint(0, 3)
        command = near.submit(drive, number, slba, blocks, length=length, room=room, phase=phase, to=TO + at, qid=qid)
        under_way.append((command, want, room))
        if len(want) <= room:
            model[at * 512 : at * 512 + room] = want.ljust(room, b"\0")
        at += room // 512
        other = rng.randbytes(512)
        model[at * 512 : at * 512 + 512] = other
        buffer = drive.buffer(512)
        buffer.write(other)
        under_way.append((drive.submit(3 - qid, NvmOpc.WRITE, TO + at, 0, buffer), other, 512))
        at += 1
    drive.wait([c for c, *_ in under_way])
    ends = set()
    for command, want, room in under_way:
        assert command.buffer is not None
        if command.opcode == NvmOpc.WRITE:
            command.check()
            continue
        ends.add(command.status)
        expect(command, Status.SUCCESS if len(want) <= room else TOO_LARGE)
        assert command.dw0 == len(want)
        assert command.buffer.read()[:room] == want[:room].ljust(room, b"\0")
    assert ends == {Status.SUCCESS, TOO_LARGE}, "the seed shows both"
    got = b"".join(get(drive, TO + at, 128) for at in range(0, len(model) // 512, 128))
    assert got == bytes(model)
    assert get(drive, 0, BLOCKS) == data


def test_onto_its_own_source(make_drive: MakeDrive) -> None:
    """All of the data is read before anything is written."""
    drive = csd(make_drive)
    data = text(random.Random(32), drive)
    near.load(drive, 0, HALF.program())
    command, got = near.run(drive, 0, 0, BLOCKS, to=1)
    want = HALF.result(data)
    assert command.check().dw0 == len(want)
    stored(drive, 1, want, BLOCKS * 512)
    assert got == want.ljust(BLOCKS * 512, b"\0")
    assert get(drive, 0, 1) == data[:512]


def test_nothing_is_written_unless_all_went_well(make_drive: MakeDrive) -> None:
    """A result that is too large, blocks that cannot be read, no program, a bad pointer, places beyond the end."""
    drive = csd(make_drive)
    data = text(random.Random(33), drive)
    before = random.Random(34).randbytes(64 * 512)
    put(drive, TO, before)
    near.load(drive, 0, HALF.program())
    last = drive.namespace.nsze  # type: ignore[union-attr]
    expect(near.run(drive, 0, 0, 64, room=512, to=TO)[0], TOO_LARGE)
    expect(near.run(drive, 1, 0, 64, to=TO)[0], Status.INVALID_FIELD)
    expect(near.run(drive, 0, 0, 64, room=64, to=TO)[0], Status.INVALID_FIELD)  # no whole block
    expect(near.run(drive, 0, 0, 64, room=512 * 65, to=TO)[0], Status.INVALID_FIELD)
    expect(near.run(drive, 0, 0, 64, to=last - 63)[0], Status.LBA_RANGE)
    expect(near.run(drive, 0, 0, 64, to=(1 << 64) - 1)[0], Status.LBA_RANGE)
    drive.sim.media_error(20 * 512, 512, -1)
    expect(near.run(drive, 0, 0, 64, to=TO)[0], Status.READ_ERROR)
    drive.sim.media_error_clear()
    bad = drive.submit(
        1, VendorIoOpc.NEAR_STORE, 0, 63, prp1=0x1002, cdw2=TO, cdw13=64 * 512, cdw14=64 * 512
    )  # fmt: skip
    drive.wait([bad])
    expect(bad, Status.INVALID_PRP_OFFSET)
    assert get(drive, TO, 64) == before
    assert near.run(drive, 0, 0, 64, to=last - 64)[0].check().dw0 == len(HALF.result(data[: 64 * 512]))
    stored(drive, last - 64, HALF.result(data[: 64 * 512]), 64 * 512)


def test_its_second_part_fails(make_drive: MakeDrive) -> None:
    """The media refuses the write: the status says so, dword 0 nothing, and the log has the block that it was for."""
    drive = csd(make_drive)
    text(random.Random(35), drive)
    near.load(drive, 0, HALF.program())
    drive.sim.media_error(TO * 512, 512, -1)
    command, _ = near.run(drive, 0, 0, 8, to=TO)
    expect(command, Status.WRITE_FAULT)
    assert command.dw0 == 0
    assert ErrorLogEntry.from_buffer_copy(drive.get_log(LogPage.ERROR, 64)).lba == TO
    drive.sim.media_error_clear()


def test_write_protected(make_drive: MakeDrive) -> None:
    drive = csd(make_drive)
    data = text(random.Random(36), drive)
    near.load(drive, 0, HALF.program())
    drive.set_features(Feature.WRITE_PROTECT, 1, nsid=1)
    expect(near.run(drive, 0, 0, 8, to=TO)[0], Status.NS_WRITE_PROTECTED)
    assert near.run(drive, 0, 0, 8)[0].check().dw0 == len(HALF.result(data[:4096]))
    drive.set_features(Feature.WRITE_PROTECT, 0, nsid=1)
    stored(drive, TO, b"", 4096)


def test_encrypted_both_ways(make_drive: MakeDrive) -> None:
    """A namespace with a key: the result is on the media as a Write would have left it. A Crypt makes it another's."""
    drive = csd(make_drive)
    compute.load_key(drive, 1, KEY1, KEY2)
    compute.bind(drive, 1, Op.AES_XTS, 1)
    data = text(random.Random(37), drive)
    near.load(drive, 0, HALF.program())
    near.run(drive, 0, 0, 64, to=TO)[0].check()
    want = HALF.result(data[: 64 * 512]).ljust(64 * 512, b"\0")
    stored(drive, TO, want, 64 * 512)
    assert drive.sim.media_read(TO * 512, 64 * 512) == xts(KEY1, KEY2, TO, want)
    compute.bind(drive, 1, Op.PASS, 0)
    put(drive, 0, data)
    near.load(drive, 1, Crypt(1, encrypt=True, offset=5).program())
    assert near.run(drive, 1, 0, 64, to=TO)[0].check().dw0 == 64 * 512
    stored(drive, TO, xts(KEY1, KEY2, 5, data[: 64 * 512]), 64 * 512)


def test_blocks_of_4_kib(make_drive: MakeDrive) -> None:
    drive = csd(make_drive)
    drive.format(1)
    data = text(random.Random(38), drive, blocks=32)
    near.load(drive, 0, HALF.program())
    near.load(drive, 1, Aggregate(ColumnType.U8, 1).program())
    expect(near.run(drive, 1, 0, 16, room=512, to=512)[0], Status.INVALID_FIELD)
    assert get(drive, 512, 1) == bytes(4096)
    command, _ = near.run(drive, 0, 3, 16, room=12 * 4096, to=512, phase=0)
    want = HALF.result(data[3 * 4096 : 19 * 4096])
    assert command.check().dw0 == len(want)
    stored(drive, 512, want, 12 * 4096)


def smart(drive: Driver) -> SmartLog:
    return SmartLog.from_buffer_copy(drive.get_log(LogPage.SMART, 512))


def test_smart_counts_both_parts(make_drive: MakeDrive) -> None:
    """A command that reads, and one that writes; and in bytes what each of them moves on the media."""
    drive = csd(make_drive)
    text(random.Random(39), drive)
    near.load(drive, 0, Aggregate(ColumnType.U8, 1).program())
    before = smart(drive)
    for i in range(250):
        near.run(drive, 0, 0, 16, room=8 * 512, to=TO + 8 * i)[0].check()
    after = smart(drive)
    assert u128(after.host_reads) - u128(before.host_reads) == 250
    assert u128(after.host_writes) - u128(before.host_writes) == 250
    assert u128(after.data_units_read) - u128(before.data_units_read) == 250 * 16 // 1000
    assert u128(after.data_units_written) - u128(before.data_units_written) == 250 * 8 // 1000


def test_from_pieces_of_memory(make_drive: MakeDrive) -> None:
    """An SGL, and PRP lists: the second part finds what the first has written."""
    rng = random.Random(40)
    drive = csd(make_drive)
    data = text(rng, drive)
    near.load(drive, 0, HALF.program())
    want = HALF.result(data)
    for sgl in (False, True):
        drive.sgl = sgl
        buffer = drive.buffer(BLOCKS * 512, offset=4 * rng.randrange(1024), scattered=True)
        command = near.submit(drive, 0, 0, BLOCKS, buffer=buffer, to=TO)
        drive.wait([command])
        assert command.check().dw0 == len(want)
        assert buffer.read() == want.ljust(BLOCKS * 512, b"\0")
        stored(drive, TO, want, BLOCKS * 512)
        put(drive, TO, bytes(BLOCKS * 512))


def test_a_bit_bucket(make_drive: MakeDrive) -> None:
    """It takes bytes of the result and has none of the Write's: the list is too short then. As a Write that fails, it
    may have written some blocks, each whole."""
    drive = csd(make_drive)
    want = HALF.result(text(random.Random(45), drive)[:4096]).ljust(4096, b"\0")
    near.load(drive, 0, HALF.program())
    held = drive.buffer(4096)
    parts = [[Descriptor(held.address, 2048), Descriptor(held.address, 2048, Kind.BIT_BUCKET)]]
    prp1, prp2 = Sgl(drive.memory, parts).pointer.words
    for opcode, status in ((VendorIoOpc.NEAR, Status.SUCCESS), (VendorIoOpc.NEAR_STORE, Status.SGL_INVALID_DATA)):
        command = drive.submit(1, opcode, 0, 7, prp1=prp1, prp2=prp2, flags=PSDT_SGL, cdw2=TO, cdw13=4096, cdw14=4096)
        drive.wait([command])
        expect(command, status)
    got = get(drive, TO, 8)
    assert all(got[at : at + 512] in (want[at : at + 512], bytes(512)) for at in range(0, 4096, 512))
    assert got[2048:] == bytes(2048)


def test_owners(csd_owners: list[Driver]) -> None:
    """Each function stores in its own namespace, at once with the others."""
    rng = random.Random(41)
    data = [text(rng, drive, nsid=fn + 1) for fn, drive in enumerate(csd_owners)]
    for drive in csd_owners:
        near.load(drive, 1, HALF.program())
    under_way = []
    for i in range(60):
        fn = i % NUM_FN
        slba = rng.randrange(BLOCKS - 8)
        command = near.submit(csd_owners[fn], 1, slba, 8, to=256 + 8 * i, nsid=fn + 1, qid=1 + i // 3 % 2)
        under_way.append((fn, command, HALF.result(data[fn][slba * 512 :][:4096]), 256 + 8 * i))
    for fn, drive in enumerate(csd_owners):
        drive.wait([c for f, c, *_ in under_way if f == fn])
    for fn, command, want, at in under_way:
        assert command.check().dw0 == len(want)
        stored(csd_owners[fn], at, want, 4096, nsid=fn + 1)
    expect(near.run(csd_owners[1], 1, 0, 8, to=0, nsid=1)[0], Status.INVALID_FIELD)  # not attached


def test_aborted_and_deleted_in_the_middle(make_drive: MakeDrive) -> None:
    """A block that was to be stored in is as before, or as it should be; that of one that succeeded as it should be."""
    rng = random.Random(42)
    drive = csd(make_drive)
    data = text(rng, drive)
    near.load(drive, 0, HALF.program())
    for cycles in (10, 200, 700, 1200, 2000, 5000):
        put(drive, TO, bytes(b"\xa5" * 320 * 512)[: 1 << 17])
        put(drive, TO + 256, bytes(b"\xa5" * 64 * 512))
        commands = {qid: [near.submit(drive, 0, 8 * i, 8, qid=qid, to=TO + 160 * (qid - 1) + 8 * i) for i in range(15)]
                    for qid in (1, 2)}  # fmt: skip
        cut_off(drive, commands, cycles)
        for qid, i in ((q, i) for q in (1, 2) for i in range(15)):
            want = HALF.result(data[4096 * i : 4096 * i + 4096])
            got = get(drive, TO + 160 * (qid - 1) + 8 * i, 8)
            right = want.ljust(4096, b"\0")
            blocks = [got[at : at + 512] in (right[at : at + 512], b"\xa5" * 512) for at in range(0, 4096, 512)]
            assert all(blocks), (qid, i, blocks)
            command = commands[qid][i]
            if qid == 1 and not command.status:
                assert got == right


@pytest.mark.parametrize("kind", ["disable", "flr"])
def test_reset_in_the_middle(make_drive: MakeDrive, kind: str) -> None:
    """Blocks are as before or as they should be; and all works again."""
    rng = random.Random(43)
    drive = csd(make_drive)
    data = text(rng, drive)
    for cycles in (10, 300, 1500, 2500, 4000):
        put(drive, TO, b"\xa5" * 128 * 512)
        near.load(drive, 0, HALF.program())
        for i in range(16):
            near.submit(drive, 0, 8 * i, 8, qid=1 + i % 2, to=TO + 8 * i)
        drive.ring()
        drive.advance(cycles)
        getattr(drive, kind)()
        drive.start(queues=2, entries=64)
        right = b"".join(HALF.result(data[at : at + 4096]).ljust(4096, b"\0") for at in range(0, 1 << 16, 4096))
        got = get(drive, TO, 128)
        assert all(got[at : at + 512] in (right[at : at + 512], b"\xa5" * 512) for at in range(0, 1 << 16, 512))
        assert get(drive, 0, BLOCKS) == data
    near.load(drive, 0, HALF.program())
    near.run(drive, 0, 0, 8, to=TO)[0].check()
    stored(drive, TO, HALF.result(data[:4096]), 4096)


def test_effects_log(make_drive: MakeDrive) -> None:
    """The drive says that the command changes blocks, as a Write does."""
    drive = csd(make_drive)
    log = drive.get_log(LogPage.CMD_EFFECTS, 2048)
    of = {op: int.from_bytes(log[1024 + 4 * op :][:4], "little") for op in (NvmOpc.WRITE, VendorIoOpc.NEAR_STORE)}
    assert of[VendorIoOpc.NEAR_STORE] == of[NvmOpc.WRITE]


def test_beside_one_that_does_not_store(make_drive: MakeDrive) -> None:
    """A command that stores beside one that does not, with the same program: each is what its opcode says."""
    drive = csd(make_drive)
    data = text(random.Random(44), drive)
    program = Grep((b"ab", b"B."), where=True)
    near.load(drive, 0, program.program())
    commands = [near.submit(drive, 0, 8 * i, 8, to=TO + 8 * i if i % 2 else None) for i in range(10)]
    drive.wait(commands)
    for i, command in enumerate(commands):
        want = program.result(data[4096 * i :][:4096])
        assert command.check().dw0 == len(want)
        stored(drive, TO + 8 * i, want if i % 2 else b"", 4096)


SIZES = {1: 512, 2: 4096}


def two_namespaces(make_drive: MakeDrive) -> Driver:
    """As large, but 1 has blocks of 512 bytes, 2 of 4096."""
    drive = csd(make_drive)
    namespaces.delete(drive)
    for size in SIZES.values():
        namespaces.attach(drive, namespaces.create(drive, (4 << 20) // size, size))
    return drive


def bytes_of(drive: Driver, nsid: int, slba: int, length: int) -> bytes:
    drive.block_size = SIZES[nsid]
    return get(drive, slba, length // SIZES[nsid], nsid=nsid)


def put_bytes(drive: Driver, nsid: int, slba: int, data: bytes) -> None:
    drive.block_size = SIZES[nsid]
    put(drive, slba, data, nsid=nsid)


def test_in_another_namespace(make_drive: MakeDrive) -> None:
    """From blocks of one size to blocks of the other, both ways, under another key: each namespace has its own, and
    what is only read may be write protected."""
    rng = random.Random(46)
    drive = two_namespaces(make_drive)
    compute.load_key(drive, 1, KEY1, KEY2)
    compute.bind(drive, 2, Op.AES_XTS, 1)
    data = {nsid: random_text(rng, 1 << 16) for nsid in SIZES}
    for nsid, of in data.items():
        put_bytes(drive, nsid, 0, of)
    near.load(drive, 0, HALF.program())
    for source, to, room in ((1, 2, 12 * 4096), (2, 1, 9 * 512), (2, 1, 1 << 16), (1, 1, 512), (2, 2, 4096)):
        drive.set_features(Feature.WRITE_PROTECT, int(source != to), nsid=source)
        size = SIZES[to]
        other = rng.randbytes(room + 2 * size)
        put_bytes(drive, to, 256, other)
        drive.block_size = SIZES[source]
        length = 1 << 16 if room > 1 << 14 else 512
        blocks = -(-max(length, room) // drive.block_size)
        command, got = near.run(drive, 0, 0, blocks, length=length, room=room, to=257, to_nsid=to, nsid=source)
        want = HALF.result(data[source][:length])
        assert command.check().dw0 == len(want)
        assert got == want.ljust(room, b"\0")
        now = bytes_of(drive, to, 256, room + 2 * size)
        assert now == other[:size] + want.ljust(room, b"\0") + other[-size:]
        assert [bytes_of(drive, nsid, 0, 1 << 16) for nsid in data] == [of[: 1 << 16] for of in data.values()]
        drive.set_features(Feature.WRITE_PROTECT, 0, nsid=source)


def test_another_namespace_says_no(make_drive: MakeDrive) -> None:
    """Each reason that a Write has, at its second part: nothing is written, and the log has where it was to go."""
    drive = two_namespaces(make_drive)
    put_bytes(drive, 1, 0, random_text(random.Random(47), 4096))
    near.load(drive, 0, Aggregate(ColumnType.U8, 1).program())
    last = (4 << 20) // 4096

    def ends(status: int, *, room: int = 4096, to: int = 8, to_nsid: int = 2, log: int = 2) -> None:
        drive.block_size = SIZES[1]
        command, _ = near.run(drive, 0, 0, 8, room=room, to=to, to_nsid=to_nsid, nsid=1)
        expect(command, status)
        assert command.dw0 == 0
        entry = ErrorLogEntry.from_buffer_copy(drive.get_log(LogPage.ERROR, 64))
        assert (entry.nsid, entry.lba) == (log, to)

    ends(Status.INVALID_FIELD, room=512)
    ends(Status.LBA_RANGE, to=last)
    ends(Status.LBA_RANGE, to=(1 << 64) - 1)
    ends(Status.INVALID_NS, to_nsid=255, log=255)
    with pytest.raises(ValueError, match="up to 255, not 258"):  # its lower bits would be namespace 2
        near.run(drive, 0, 0, 8, to=8, to_nsid=258)
    ends(Status.INVALID_FIELD, to_nsid=3, log=3)  # there is none
    drive.set_features(Feature.WRITE_PROTECT, 1, nsid=2)
    ends(Status.NS_WRITE_PROTECTED)
    drive.set_features(Feature.WRITE_PROTECT, 0, nsid=2)
    compute.load_key(drive, 1, KEY1, KEY2)
    compute.bind(drive, 2, Op.AES_XTS, 1)
    compute.erase_key(drive, 1)
    ends(Status.ACCESS_DENIED)
    compute.bind(drive, 2, Op.PASS, 0)
    drive.sim.media_error((4 << 20) + 8 * 4096, 512, -1)
    ends(Status.WRITE_FAULT)
    drive.sim.media_error_clear()
    namespaces.detach(drive, 2)
    ends(Status.INVALID_FIELD)
    namespaces.attach(drive, 2)
    assert bytes_of(drive, 2, 8, 4096) == bytes(4096)


def test_other_owners_namespaces(csd_owners: list[Driver]) -> None:
    """VF 1 stores in the namespace that it shares with VF 2, unless a reservation of VF 2 forbids it; never in
    another's, though it knows its number."""
    rng = random.Random(48)
    _, one, two = csd_owners
    shared = NUM_FN + 1
    data = text(rng, one, nsid=2)
    before = rng.randbytes(4096)
    put(two, 512, before, nsid=3)
    near.load(one, 0, HALF.program())
    want = HALF.result(data[:4096])
    expect(near.run(one, 0, 0, 8, to=512, to_nsid=3, nsid=2)[0], Status.INVALID_FIELD)
    assert near.run(one, 0, 0, 8, to=512, to_nsid=shared, nsid=2)[0].check().dw0 == len(want)
    stored(two, 512, want, 4096, nsid=shared)
    key = 0x5EED
    reservations.set_host_id(two, 0x1234)
    reservations.register(two, key, nsid=shared)
    reservations.acquire(two, key, ResvType.WRITE_EXCLUSIVE, nsid=shared)
    expect(near.run(one, 0, 8, 8, to=512, to_nsid=shared, nsid=2)[0], Status.RESV_CONFLICT)
    stored(two, 512, want, 4096, nsid=shared)
    reservations.release(two, key, ResvType.WRITE_EXCLUSIVE, nsid=shared)
    reservations.unregister(two, key, nsid=shared)
    near.run(one, 0, 8, 8, to=512, to_nsid=shared, nsid=2)[0].check()
    stored(two, 512, HALF.result(data[4096:8192]), 4096, nsid=shared)
    assert get(two, 512, 8, nsid=3) == before


@pytest.mark.parametrize("change", ["detach", "delete", "format", "protect"])
@pytest.mark.parametrize("moments", [(50, 900), pytest.param((400, 1500, 2500), marks=pytest.mark.nightly)])
def test_the_other_namespace_goes_meanwhile(make_drive: MakeDrive, moments: tuple[int, ...], change: str) -> None:
    """While commands store in it: each has stored its result, or says why not; what it said well is there, and where
    nothing is said it is a whole block of it, or none."""
    rng = random.Random(49)
    ends: set[int] = set()
    for cycles in moments:
        drive = two_namespaces(make_drive)
        data = text(rng, drive)
        near.load(drive, 0, HALF.program())
        commands = [near.submit(drive, 0, 8 * i, 8, to=i, to_nsid=2, nsid=1, qid=1 + i % 2) for i in range(15)]
        drive.ring()
        drive.advance(cycles)
        if change == "detach":
            namespaces.detach(drive, 2)
        elif change == "delete":
            namespaces.delete(drive, 2)
        elif change == "format":
            drive.format(1, nsid=2)
            drive.block_size = 512
        else:
            drive.set_features(Feature.WRITE_PROTECT, 1, nsid=2)
        ended = [c.done for c in commands]
        drive.wait(commands)
        ends |= {c.status for c in commands}
        refusals = (Status.INVALID_FIELD, Status.NS_NOT_READY, Status.FORMAT_IN_PROGRESS, Status.NS_WRITE_PROTECTED)
        assert all(c.status in (Status.SUCCESS, *refusals) for c in commands)
        if change == "delete":
            assert namespaces.create(drive, 1024, 4096) == 2
        if change in ("detach", "delete"):
            namespaces.attach(drive, 2)
        got = bytes_of(drive, 2, 0, 15 * 4096)
        for i, command in enumerate(commands):
            block = got[4096 * i :][:4096]
            right = HALF.result(data[4096 * i :][:4096]).ljust(4096, b"\0")
            gone = change in ("delete", "format")  # what was stored before
            if command.status:
                assert block == bytes(4096), i
            else:
                assert block == right or (gone and ended[i] and block == bytes(4096)), i
    assert Status.SUCCESS in ends and len(ends) > 1, "the times show both"
