# SPDX-License-Identifier: Apache-2.0
"""Every I/O command with every status, PRPs of every shape, both block sizes, and a media image that lasts."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from doorbell.device.messages import SimError
from doorbell.nvme.commands import NvmeError, expect
from doorbell.nvme.constants import DSM_AD, DSM_IDR, NSID_ALL, RW_FUA, RW_LR, WZ_DEAC, Feature, NvmOpc, Status
from doorbell.nvme.driver import Driver
from traffic import MakeDrive

DATA = (NvmOpc.WRITE, NvmOpc.READ, NvmOpc.COMPARE)
WITH_LBA = (*DATA, NvmOpc.WRITE_ZEROES, NvmOpc.VERIFY)
ALL = (*WITH_LBA, NvmOpc.DSM, NvmOpc.FLUSH)


def status_of(drive: Driver, opcode: int, slba: int = 0, nlb: int = 0, size: int | None = None, **fields: int) -> int:
    """Status of one command with a buffer where it needs one."""
    needs = opcode in (*DATA, NvmOpc.DSM) and "prp1" not in fields
    buffer = drive.buffer(max(size or 0, (nlb + 1) * drive.block_size)) if needs else None
    if opcode == NvmOpc.DSM and buffer is not None:
        buffer.write(bytes(512))
        fields = {"cdw10": 0, "cdw11": DSM_AD, **fields}
    command = drive.submit(1, opcode, slba, nlb, buffer, **fields)  # type: ignore[arg-type]
    drive.wait([command])
    if buffer is not None:
        buffer.free()
    return command.status


def test_unknown_opcodes(drive: Driver) -> None:
    known = {int(o) for o in ALL}
    commands = []
    for opcode in range(256):
        if opcode not in known:
            commands.append(drive.submit(1 + opcode % 4, opcode))
            if len(commands) % 50 == 0:
                drive.wait(commands)
    drive.wait(commands)
    for command in commands:
        expect(command, Status.INVALID_OPCODE)
    assert commands[0].dnr


@pytest.mark.parametrize("opcode", ALL, ids=lambda o: o.name)
def test_invalid_namespace(drive: Driver, opcode: int) -> None:
    for nsid in (0, 2, 0x7FFFFFFF, 0xFFFFFFFE):
        assert status_of(drive, opcode, nsid=nsid) == Status.INVALID_NS
    broadcast = status_of(drive, opcode, nsid=NSID_ALL)
    # The broadcast value is a valid identifier that only Flush takes (Base 2.0, 3.2.1.2).
    assert broadcast in ((Status.SUCCESS,) if opcode == NvmOpc.FLUSH else (Status.INVALID_FIELD, Status.INVALID_NS))
    assert status_of(drive, opcode) == Status.SUCCESS


@pytest.mark.parametrize("opcode", WITH_LBA, ids=lambda o: o.name)
def test_lba_range(drive: Driver, opcode: int) -> None:
    last = drive.namespace.nsze - 1  # type: ignore[union-attr]
    assert status_of(drive, opcode, last) == Status.SUCCESS
    assert status_of(drive, opcode, last - 7, 7) == Status.SUCCESS
    for slba, nlb in (
        (last + 1, 0),
        (last, 1),
        (last - 6, 7),
        (1 << 32, 0),
        (1 << 63, 0),
        ((1 << 64) - 1, 0),
        ((1 << 64) - 1, 7),
        (1 << 55, 0),
    ):
        assert status_of(drive, opcode, slba, nlb) == Status.LBA_RANGE, (hex(slba), nlb)


@pytest.mark.parametrize("opcode", DATA, ids=lambda o: o.name)
def test_mdts(drive: Driver, opcode: int) -> None:
    most = drive.max_transfer // drive.block_size
    assert status_of(drive, opcode, 5, most - 1) == Status.SUCCESS
    assert status_of(drive, opcode, 5, most) == Status.INVALID_FIELD
    assert status_of(drive, opcode, 5, 0xFFFF) == Status.INVALID_FIELD


def test_write_zeroes_has_no_mdts(drive: Driver) -> None:
    """The media does it by itself, so it is bound by WZSL alone, which NLB cannot pass."""
    assert status_of(drive, NvmOpc.WRITE_ZEROES, 5, 0xFFFF) == Status.SUCCESS


def test_verify_is_as_large_as_a_read_at_most(drive: Driver) -> None:
    """VSL is MDTS: blocks are read in the order of Reads, and one of 32 MiB would hold up all others' for 4 ms."""
    most = drive.max_transfer // drive.block_size
    assert status_of(drive, NvmOpc.VERIFY, 5, most - 1) == Status.SUCCESS
    assert status_of(drive, NvmOpc.VERIFY, 5, most) == Status.INVALID_FIELD
    assert status_of(drive, NvmOpc.VERIFY, 5, 0xFFFF) == Status.INVALID_FIELD


@pytest.mark.parametrize("opcode", ALL, ids=lambda o: o.name)
def test_fused_is_refused(drive: Driver, opcode: int) -> None:
    for fuse in (1, 2):
        assert status_of(drive, opcode, flags=fuse) == Status.INVALID_FIELD


@pytest.mark.parametrize("opcode", [*DATA, NvmOpc.DSM], ids=lambda o: o.name)
def test_psdt_3_is_refused(drive: Driver, opcode: int) -> None:
    assert status_of(drive, opcode, flags=3 << 6) == Status.INVALID_FIELD


@pytest.mark.parametrize("opcode", DATA, ids=lambda o: o.name)
def test_prp_offsets(drive: Driver, opcode: int) -> None:
    """Illegal offsets of PRP1, of PRP2 as a page, of PRP2 as a list, and of entries in the list."""
    page = drive.memory.alloc(64 << 10)
    lists = drive.memory.alloc(4096)
    good = [page + 4096 * (i + 1) for i in range(8)]

    def entries(*values: int) -> None:
        for i, v in enumerate(values):
            drive.memory.at(lists + 8 * i, 8)[:] = v.to_bytes(8, "little")

    for low in (1, 2, 3):
        assert status_of(drive, opcode, prp1=page + low) == Status.INVALID_PRP_OFFSET
    assert status_of(drive, opcode, prp1=page + 0x800, prp2=0) == Status.SUCCESS  # PRP2 is not used
    for low in (4, 512, 2048, 4092):
        assert status_of(drive, opcode, nlb=15, prp1=page, prp2=page + 4096 + low) == Status.INVALID_PRP_OFFSET
    for low in (4, 12, 2044):
        assert status_of(drive, opcode, nlb=23, prp1=page, prp2=lists + low) == Status.INVALID_PRP_OFFSET
    entries(*good)
    assert status_of(drive, opcode, nlb=31, prp1=page, prp2=lists) in (Status.SUCCESS, Status.COMPARE_FAILED)
    for at in range(3):
        entries(*good)
        drive.memory.at(lists + 8 * at, 8)[:] = (good[at] + 8).to_bytes(8, "little")
        assert status_of(drive, opcode, nlb=31, prp1=page, prp2=lists) == Status.INVALID_PRP_OFFSET
    assert status_of(drive, opcode) in (Status.SUCCESS, Status.COMPARE_FAILED)


SHAPES = [
    (size, offset, lists)
    for size in (512, 4096, 8192, 12288, 65536, 131072, 1 << 20)
    for offset, lists in ((0, 0), (4, 8), (512, 4088), (2048, 2048), (4092, 4080))
]


def test_prp_shapes(drive: Driver) -> None:
    """Sizes, offsets and list placements together: the data arrives, nothing beside it does."""
    rng = random.Random(5)
    slba = 0
    written = []
    for size, offset, list_offset in SHAPES:
        data = rng.randbytes(size)
        drive.write(slba, data, offset=offset, scattered=True, list_offset=list_offset)
        written.append((slba, data))
        slba += size // 512
    rng.shuffle(written)
    for slba, data in written:
        for scattered in (False, True):
            buffer = drive.buffer(
                len(data), offset=4 * rng.randrange(1024), scattered=scattered, list_offset=8 * rng.randrange(512)
            )
            buffer.fill(0x99)
            drive.run(drive.submit(1, NvmOpc.READ, slba, len(data) // 512 - 1, buffer))
            assert buffer.read() == data
            buffer.check_margins(0x99)
            buffer.free()


def test_chained_lists(drive: Driver) -> None:
    """1 MiB with an offset needs 256 entries behind PRP1: placed at the end of a page, they chain once or twice."""
    data = random.Random(6).randbytes(1 << 20)
    for list_offset in (0, 2048, 2056, 4088, 4080):
        drive.write(7, data, offset=1024, scattered=True, list_offset=list_offset)
        assert drive.read(7, 2048, offset=4, scattered=True, list_offset=list_offset) == data


@pytest.mark.parametrize("bad", [2, 4, 7, 8, 4088])
def test_chain_pointer_offset(drive: Driver, bad: int) -> None:
    """The pointer to the next list is one to a page: so no list leads to itself without end, as 4088 would."""
    buffer = drive.buffer(64 << 10, scattered=True, list_offset=4088)
    prp1, prp2 = buffer.prps()
    pointer = drive.memory.at(prp2, 8)
    pointer[:] = (prp2 & ~4095 | bad).to_bytes(8, "little")
    command = drive.submit(1, NvmOpc.READ, 0, 127, prp1=prp1, prp2=prp2)
    drive.wait([command])
    expect(command, Status.INVALID_PRP_OFFSET)


def test_compare(drive: Driver) -> None:
    rng = random.Random(7)
    data = rng.randbytes(16 << 10)
    drive.write(100, data)

    def compare(content: bytes, slba: int = 100, **geometry: int) -> int:
        buffer = drive.buffer(len(content), **geometry)
        buffer.write(content)
        command = drive.submit(1, NvmOpc.COMPARE, slba, len(content) // 512 - 1, buffer)
        drive.wait([command])
        buffer.free()
        return command.status

    assert compare(data) == Status.SUCCESS
    assert compare(data, offset=36, scattered=True) == Status.SUCCESS
    for at in (0, 3, 511, 512, 4095, 4096, 8191, len(data) - 1, *(rng.randrange(len(data)) for _ in range(6))):
        wrong = bytearray(data)
        wrong[at] ^= 1 << rng.randrange(8)
        assert compare(bytes(wrong)) == Status.COMPARE_FAILED, at
        assert compare(bytes(wrong), offset=2052) == Status.COMPARE_FAILED, at
    assert compare(data) == Status.SUCCESS
    assert drive.read(100, 32) == data, "a compare must not write"
    # Mismatch in one command says nothing about its neighbours.
    buffers = []
    for i in range(16):
        buffer = drive.buffer(1024)
        buffer.write(data[1024 * i : 1024 * i + 1024] if i % 3 else bytes(1024))
        buffers.append(drive.submit(1 + i % 4, NvmOpc.COMPARE, 100 + 2 * i, 1, buffer))
    drive.wait(buffers)
    for i, command in enumerate(buffers):
        expect(command, Status.SUCCESS if i % 3 else Status.COMPARE_FAILED)
    # Zeros on the media are equal to zeros alone.
    drive.write(100, bytes(1024))
    assert compare(bytes(1024)) == Status.SUCCESS
    assert compare(bytes(1000) + b"\1" * 24) == Status.COMPARE_FAILED


def test_write_zeroes(drive: Driver) -> None:
    size = 256 << 10
    drive.write(0, b"\xff" * size)
    holes = [(3, 1), (8, 8), (17, 30), (100, 64), (200, 129)]
    commands = [drive.submit(1 + i % 4, NvmOpc.WRITE_ZEROES, s, n - 1) for i, (s, n) in enumerate(holes)]
    drive.run(*commands)
    want = bytearray(b"\xff" * size)
    for s, n in holes:
        want[s * 512 : (s + n) * 512] = bytes(n * 512)
    assert drive.read(0, size // 512) == want
    drive.run(drive.submit(1, NvmOpc.WRITE_ZEROES, 256, 15, cdw12=15 | WZ_DEAC))
    assert drive.read(256, 16) == bytes(16 * 512)


def test_deallocate(drive: Driver) -> None:
    blocks = 2048
    content = bytearray(random.Random(8).randbytes(blocks * 512))
    drive.write(0, bytes(content))
    last = drive.namespace.nsze  # type: ignore[union-attr]
    for ranges in (
        [(0, 1)],
        [(5, 3), (64, 8), (129, 7), (1000, 48)],
        [(10, 0), (11, 1), (12, 0)],
        [(1100 + 3 * i, 1) for i in range(256)],
        [(last - 8, 8)],
    ):
        drive.deallocate(ranges)
        for s, n in ranges:
            if s < blocks:
                content[s * 512 : (s + n) * 512] = bytes(n * 512)
        assert drive.read(0, blocks) == content
    # Without the attribute it is a hint: nothing changes.
    drive.dsm_try([(1, 4)], attributes=DSM_IDR).check()
    assert drive.read(0, blocks) == content
    # A range list that crosses pages, at an offset.
    drive.dsm_try([(400 + 2 * i, 1) for i in range(200)], offset=2052, scattered=True).check()
    for i in range(200):
        content[(400 + 2 * i) * 512 : (401 + 2 * i) * 512] = bytes(512)
    assert drive.read(0, blocks) == content


def test_deallocate_errors(drive: Driver) -> None:
    last = drive.namespace.nsze  # type: ignore[union-attr]
    drive.write(0, b"\x77" * 4096)
    for ranges in ([(last, 1)], [(last - 1, 2)], [(1 << 63, 1)], [((1 << 64) - 1, 2)], [(0, 0), (last + 5, 1)]):
        expect(drive.dsm_try(ranges), Status.LBA_RANGE)
    assert drive.read(0, 8) == b"\x77" * 4096
    expect(drive.dsm_try([(0, 0xFFFFFFFF)]), Status.LBA_RANGE)
    expect(drive.dsm_try([(last, 0)]), Status.SUCCESS, Status.LBA_RANGE)


def test_verify(drive: Driver) -> None:
    drive.write(0, b"v" * 8192)
    commands = [drive.submit(1 + i % 4, NvmOpc.VERIFY, i, 7 + i) for i in range(8)]
    drive.run(*commands)
    assert drive.read(0, 16) == b"v" * 8192


@pytest.mark.rtl
def test_flush_and_zeroing_take_the_medias_time(make_drive: MakeDrive) -> None:
    """Beside what the controller takes, to the cycle; reads go on meanwhile."""

    def times(**media: Any) -> tuple[float, float]:
        drive = make_drive(media_write_latency_ns=0, **media)
        drive.start(queues=1, entries=16)
        flush = drive.run(drive.submit(1, NvmOpc.FLUSH))
        zero = drive.run(drive.submit(1, NvmOpc.WRITE_ZEROES, 0, 511))
        one, read = (
            drive.submit(1, NvmOpc.WRITE_ZEROES, 1024, 511),
            drive.submit(1, NvmOpc.READ, 0, 0, drive.buffer(512)),
        )
        drive.run(one, read)
        assert (read.done_ns < one.done_ns) == bool(media)
        return flush.latency_ns, zero.latency_ns

    fast, slow = times(), times(media_flush_latency_ns=100_000, media_zero_gbps=1)
    assert [b - a for a, b in zip(fast, slow)] == [100_000, -(-512 * 512 // 4) * 4]


def test_flush_waits_for_nothing_forever(drive: Driver) -> None:
    drive.flush()
    buffers = [drive.buffer(4096) for _ in range(16)]
    commands = []
    for i, buffer in enumerate(buffers):
        buffer.write(bytes([i]) * 4096)
        commands.append(drive.submit(1 + i % 4, NvmOpc.WRITE, 8 * i, 7, buffer))
        commands.append(drive.submit(1 + i % 4, NvmOpc.FLUSH, nsid=1 if i % 2 else NSID_ALL))
    drive.run(*commands)
    for i in range(16):
        assert drive.read(8 * i, 8) == bytes([i]) * 4096


@pytest.mark.parametrize("bits", [RW_FUA, RW_LR, RW_FUA | RW_LR])
def test_fua_and_limited_retry_are_taken(drive: Driver, bits: int) -> None:
    buffer = drive.buffer(4096)
    buffer.write(b"f" * 4096)
    drive.run(drive.submit(1, NvmOpc.WRITE, 0, 7, buffer, cdw12=7 | bits, cdw13=0xFF))
    buffer.fill(0)
    drive.run(drive.submit(1, NvmOpc.READ, 0, 7, buffer, cdw12=7 | bits))
    assert buffer.read() == b"f" * 4096


@pytest.mark.rtl
def test_write_cache_off(make_drive: MakeDrive) -> None:
    """Without the write cache a write ends when it is durable; a controller reset brings the cache back, or what was
    saved."""
    drive = make_drive(media_flush_latency_ns=100_000)
    drive.start(queues=1, entries=16)

    def write_us() -> float:
        begun = drive.sim.ns
        drive.write(0, bytes(512))
        return (drive.sim.ns - begun) / 1000

    assert drive.get_features(Feature.VOLATILE_WC) == 1 and write_us() < 20
    begun = drive.sim.ns
    drive.set_features(Feature.VOLATILE_WC, 0)
    assert (drive.sim.ns - begun) / 1000 > 100, "what was in the cache is durable"
    assert drive.get_features(Feature.VOLATILE_WC) == 0 and 100 < write_us() < 150
    drive.run(drive.submit(1, NvmOpc.WRITE_ZEROES, 0, 7))
    drive.set_features(Feature.VOLATILE_WC, 1)
    assert write_us() < 20
    for save in (False, True):
        drive.set_features(Feature.VOLATILE_WC | save << 31, 0)
        drive.disable()
        drive.start(queues=1, entries=16)
        assert drive.get_features(Feature.VOLATILE_WC) == (not save) and (write_us() > 100) == save


@pytest.mark.rtl
@pytest.mark.parametrize("opcode", [NvmOpc.READ, NvmOpc.COMPARE, NvmOpc.VERIFY])
def test_fua_of_what_reads(make_drive: MakeDrive, opcode: int) -> None:
    """What is read with FUA is made durable first, if it is not (NVM command set, CDW12.FUA); without FUA it is not."""
    drive = make_drive(media_flush_latency_ns=100_000)
    drive.start(queues=1, entries=16)
    buffer = drive.buffer(512)

    def read_us(fua: int) -> float:
        command = drive.run(drive.submit(1, opcode, 0, 0, None if opcode == NvmOpc.VERIFY else buffer, cdw12=fua))
        return command.latency_ns / 1000

    def flushes() -> int:
        return drive.sim.counters()["media.flushes"]

    buffer.write(b"x" * 512)
    drive.write(0, b"x" * 512)
    before = flushes()
    assert read_us(0) < 20 and flushes() == before
    assert 100 < read_us(RW_FUA) < 120 and flushes() == before + 1
    assert read_us(RW_FUA) < 20 and flushes() == before + 1, "it is durable by now"


@pytest.mark.rtl
def test_fua_of_what_cannot_be_made_durable(make_drive: MakeDrive, tmp_path: Path) -> None:
    """Nor can it after a Flush that has said so: a Read with FUA fails, one without does not."""
    image = tmp_path / "image"
    drive = make_drive(image=str(image), media_size=16 << 20)
    drive.start(queues=1, entries=16)
    drive.write(0, b"x" * 512)
    os.truncate(image, 1 << 20)
    for _ in range(2):
        assert status_of(drive, NvmOpc.FLUSH) == Status.WRITE_FAULT
        assert status_of(drive, NvmOpc.READ, cdw12=RW_FUA) == Status.READ_ERROR
        assert status_of(drive, NvmOpc.READ) == Status.SUCCESS
    with pytest.raises(SimError, match="could not be written out"):
        drive.sim.close()


def test_command_identifiers_of_any_value(drive: Driver) -> None:
    for cid in (0, 1, 0x7FFF, 0x8000, 0xFFFE):
        commands = [drive.submit(q, NvmOpc.FLUSH, cid=cid) for q in range(1, 5)]  # the same one on every queue
        drive.run(*commands)


def test_formats(make_drive: MakeDrive) -> None:
    drive = make_drive()
    drive.start(queues=2, entries=16)
    drive.write(0, b"o" * 8192)
    capacity = drive.namespace.nsze * 512  # type: ignore[union-attr]
    rng = random.Random(9)
    for lbaf, size in ((1, 4096), (0, 512), (1, 4096)):
        drive.format(lbaf)
        assert drive.block_size == size and drive.namespace.nsze * size == capacity  # type: ignore[union-attr]
        assert drive.read(0, 2) == bytes(2 * size), "a format leaves no data"
        data = rng.randbytes(32 << 10)
        blocks = len(data) // size
        drive.write(3, data, offset=1028, scattered=True)
        assert drive.read(3, blocks, offset=12) == data
        last = drive.namespace.nsze - 1  # type: ignore[union-attr]
        assert status_of(drive, NvmOpc.READ, last) == Status.SUCCESS
        assert status_of(drive, NvmOpc.READ, last, 1) == Status.LBA_RANGE
        most = drive.max_transfer // size
        assert status_of(drive, NvmOpc.WRITE, 0, most - 1) == Status.SUCCESS
        assert status_of(drive, NvmOpc.WRITE, 0, most) == Status.INVALID_FIELD
        drive.deallocate([(4, 1)])
        assert drive.read(4, 1) == bytes(size)
        drive.run(drive.submit(1, NvmOpc.WRITE_ZEROES, 3, 0))
        assert drive.read(3, 1) == bytes(size)
    with pytest.raises(NvmeError) as bad:
        drive.format(5)
    assert bad.value.status == Status.INVALID_FORMAT


def test_image_lasts(make_drive: MakeDrive, tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    image.write_bytes(bytes(4 << 20))
    data = random.Random(10).randbytes(256 << 10)
    first = make_drive(image=str(image), media_size=4 << 20)
    first.start()
    first.write(16, data)
    first.flush()
    assert image.read_bytes()[8192 : 8192 + len(data)] == data, "after a flush it is in the file"
    first.write(1000, b"z" * 512)
    first.stop()
    first.sim.close()
    second = make_drive(image=str(image), media_size=4 << 20)
    second.start()
    assert second.read(16, 512) == data
    assert second.read(1000, 1) == b"z" * 512
