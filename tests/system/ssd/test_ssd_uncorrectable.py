# SPDX-License-Identifier: Apache-2.0
"""Write Uncorrectable (NVM Command Set 1.0, 3.2.7): blocks that cannot be read until they are written again.

A parameter of the drive, as not every memory can do it; without it the opcode is invalid.
"""

from __future__ import annotations

import random

import pytest
from doorbell.nvme.commands import NvmeError
from doorbell.nvme.constants import NSID_ALL, ONCS_WRITE_UNCOR, LogPage, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.traffic import WEIGHTS
from traffic import NARROW, MakeDrive, Traffic, media_of

UNCOR = NvmOpc.WRITE_UNCOR
READS = (NvmOpc.READ, NvmOpc.VERIFY, NvmOpc.COMPARE)


@pytest.fixture
def marking(make_drive: MakeDrive) -> Driver:
    """A drive with the command, with four queue pairs."""
    d = make_drive(**NARROW, media_size=256 << 20)  # of four namespaces
    d.start(queues=4, entries=64)
    return d


def status_of(drive: Driver, opcode: int, slba: int, blocks: int = 1, data: bytes | None = None, **fields: int) -> int:
    buffer = drive.buffer(blocks * drive.block_size) if opcode in (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.COMPARE) else None
    if buffer is not None and data is not None:
        buffer.write(data)
    command = drive.submit(1, opcode, slba, blocks - 1, buffer, **fields)
    drive.wait([command])
    if buffer is not None:
        buffer.free()
    return command.status


def mark(drive: Driver, slba: int, blocks: int = 1) -> None:
    assert status_of(drive, UNCOR, slba, blocks) == Status.SUCCESS


def unreadable(drive: Driver, first: int, blocks: int) -> list[int]:
    """The blocks of a stretch that cannot be read, or verified."""
    found = [lba for lba in range(first, first + blocks) if status_of(drive, NvmOpc.READ, lba) == Status.READ_ERROR]
    assert [
        lba for lba in range(first, first + blocks) if status_of(drive, NvmOpc.VERIFY, lba) == Status.READ_ERROR
    ] == found
    return found


def test_without_the_parameter(drive: Driver) -> None:
    assert drive.controller is not None and not drive.controller.oncs & ONCS_WRITE_UNCOR
    assert status_of(drive, UNCOR, 0) == Status.INVALID_OPCODE
    assert status_of(drive, NvmOpc.READ, 0) == Status.SUCCESS


def test_is_offered(marking: Driver) -> None:
    assert marking.controller is not None and marking.controller.oncs & ONCS_WRITE_UNCOR


@pytest.mark.rtl
@pytest.mark.parametrize("there", [0, 1])
def test_effects_log(make_drive: MakeDrive, there: int) -> None:
    d = make_drive(**NARROW if there else {})
    d.start()
    effects = d.get_log(LogPage.CMD_EFFECTS, 4096)[1024:]
    says = int.from_bytes(effects[4 * UNCOR : 4 * UNCOR + 4], "little")
    assert says == (3 if there else 0)  # supported, changes data


@pytest.mark.parametrize("lba4k", [0, 1])
def test_reads_fail(marking: Driver, lba4k: int) -> None:
    """Read, Verify and Compare that touch a marked block fail; blocks beside it do not."""
    d = marking
    if lba4k:
        d.format(1)
    bs = d.block_size
    data = random.Random(1).randbytes(32 * bs)
    d.write(100, data)
    mark(d, 110, 3)
    assert unreadable(d, 100, 32) == [110, 111, 112]
    for opcode in READS:
        for slba, blocks, status in (
            (100, 10, Status.SUCCESS),
            (100, 11, Status.READ_ERROR),
            (111, 1, Status.READ_ERROR),
            (112, 20, Status.READ_ERROR),
            (113, 19, Status.SUCCESS),
            (100, 32, Status.READ_ERROR),
        ):
            part = data[(slba - 100) * bs : (slba - 100 + blocks) * bs]
            assert status_of(d, opcode, slba, blocks, part) == status, (opcode, slba, blocks)
    assert d.read(100, 10) == data[: 10 * bs] and d.read(113, 19) == data[13 * bs :]


@pytest.mark.parametrize("lba4k", [0, 1])
def test_write_clears_just_its_blocks(marking: Driver, lba4k: int) -> None:
    d = marking
    if lba4k:
        d.format(1)
    bs = d.block_size
    mark(d, 0, 64)
    mark(d, 60, 10)  # again, and beyond
    assert unreadable(d, 0, 72) == list(range(70))
    data = random.Random(2).randbytes(8 * bs)
    d.write(5, data)
    assert d.read(5, 8) == data
    assert status_of(d, NvmOpc.WRITE, 20, 1, data[:bs], cdw12=1 << 30) == Status.SUCCESS  # FUA
    assert unreadable(d, 0, 72) == [*range(5), *range(13, 20), *range(21, 70)]


def test_zeroes_deallocate_and_format_clear(marking: Driver) -> None:
    d = marking
    d.write(0, b"\xaa" * 512 * 64)
    mark(d, 0, 64)
    assert status_of(d, NvmOpc.WRITE_ZEROES, 8, 4) == Status.SUCCESS
    d.deallocate([(20, 2), (63, 1)])
    assert d.read(8, 4) == bytes(2048) and d.read(20, 2) == bytes(1024) and d.read(63, 1) == bytes(512)
    assert unreadable(d, 0, 64) == [*range(8), *range(12, 20), *range(22, 63)]
    d.format(0)
    assert d.read(0, 64) == bytes(64 * 512)


def test_checks(marking: Driver) -> None:
    """The range, the namespace; no limit of length: it moves no data. What failed has marked nothing."""
    d = marking
    assert d.namespace is not None
    last = d.namespace.nsze - 1
    for slba, blocks in ((last + 1, 1), (last, 2), (1 << 32, 1), ((1 << 64) - 1, 1), ((1 << 64) - 1, 8)):
        assert status_of(d, UNCOR, slba, blocks) == Status.LBA_RANGE
    for nsid in (0, 5, 0xFFFFFFFE):
        assert status_of(d, UNCOR, 0, nsid=nsid) == Status.INVALID_NS
    assert status_of(d, UNCOR, 0, nsid=NSID_ALL) in (Status.INVALID_FIELD, Status.INVALID_NS)
    assert status_of(d, UNCOR, 0, flags=1) == Status.INVALID_FIELD
    assert status_of(d, NvmOpc.VERIFY, 0, 2048) == status_of(d, NvmOpc.VERIFY, last) == Status.SUCCESS
    mark(d, last)
    mark(d, 7, 0x10000)
    assert unreadable(d, last, 1) and unreadable(d, 5, 4) == [7, 8] and unreadable(d, 0x10005, 4) == [0x10005, 0x10006]


def test_media_error(marking: Driver) -> None:
    marking.sim.media_error(4096, 512, 1)
    assert status_of(marking, UNCOR, 8) == Status.WRITE_FAULT
    mark(marking, 8)
    assert unreadable(marking, 7, 3) == [8]


def test_survives_a_reset_and_is_logged(marking: Driver) -> None:
    d = marking
    mark(d, 40, 2)
    assert status_of(d, NvmOpc.FLUSH, 0) == Status.SUCCESS
    d.disable()
    d.start(queues=1)
    with pytest.raises(NvmeError):
        d.read(41, 1)
    entry = d.get_log(LogPage.ERROR, 64)
    assert int.from_bytes(entry[12:14], "little") >> 1 & 0x7FF == Status.READ_ERROR
    assert int.from_bytes(entry[16:24], "little") == 41


def test_order_with_writes(marking: Driver) -> None:
    """What has completed before a mark is under it, what is submitted after its completion is above it."""
    d = marking
    rng = random.Random(3)
    for _ in range(20):
        first, second = rng.randbytes(64 * 512), rng.randbytes(64 * 512)
        d.write(0, first)
        mark(d, 0, 64)
        assert status_of(d, NvmOpc.READ, rng.randrange(64)) == Status.READ_ERROR
        at = rng.randrange(60)
        d.write(at, second[: 4 * 512], qid=2)
        assert d.read(at, 4, qid=3) == second[: 4 * 512]
        assert status_of(d, NvmOpc.READ, at, 5) == Status.READ_ERROR or at == 60


@pytest.mark.parametrize("lba4k", [0, 1])
def test_traffic(marking: Driver, lba4k: int) -> None:
    """Among random commands on four queues, with faults, against the model."""
    if lba4k:
        marking.format(1)
        marking.identify_all()
    t = Traffic(marking, media_of(marking), seed=5 + lba4k, region=512, largest=32 << 10, weights={**WEIGHTS, UNCOR: 6})
    t.run(800, depth=8)
    assert t.counts.get("READ_ERROR", 0) > 20 and t.counts["SUCCESS"] > 400, t.counts
    t.read_all()
