# SPDX-License-Identifier: Apache-2.0
"""Memory Fill and Memory Copy (docs/csd/programs.md): zeros, blocks and memory to memory, checked against what the host
has in its own memory; what is refused, errors of media and link, aborts, resets, several functions."""

from __future__ import annotations

import random
from typing import Any

import pytest
from csd_drive import MEMORY_LOG2, NARROW, PARAMS, cut_off, put
from csd_functions import NUM_FN, functions
from doorbell.compute import drive as compute
from doorbell.compute.near import Aggregate, ColumnType
from doorbell.compute.operators import Op
from doorbell.compute.programs import Blocks, Programs, Stretch
from doorbell.nvme import namespaces
from doorbell.nvme.commands import Command, expect
from doorbell.nvme.constants import Cns, Csi, LogPage, NsAttach, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.virtualization import set_share
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
SIZE = 1 << MEMORY_LOG2
PLACE = SIZE - (512 << 10)
"""From here on the tests look at the memory."""
RANGES = 4
BLOCK = 512


def start(make_drive: MakeDrive, **options: Any) -> tuple[Driver, Programs]:
    drive = make_drive(top="db_csd", **{"params": PARAMS, **NARROW, **options})
    drive.start(queues=2, entries=64, all_sets=True)
    return drive, Programs(drive)


def cuts(rng: random.Random, total: int, parts: int) -> list[int]:
    """So many lengths of 1 at least, which are `total` together."""
    at = sorted(rng.sample(range(1, total), parts - 1))
    return [b - a for a, b in zip([0, *at], [*at, total], strict=True)]


def test_copied_and_filled(make_drive: MakeDrive) -> None:
    """Any place and length in multiples of 4, one to four ranges, blocks of two namespaces and memory; what is beside
    it stays. Several at once, in places of their own; PRPs and SGLs say where the list is."""
    rng = random.Random(71)
    drive, own = start(make_drive)
    assert int.from_bytes(drive.identify(Cns.CSI_NS, nsid=own.memory, csi=Csi.SLM)[16:20], "little") == RANGES
    media = {nsid: rng.randbytes(256 * BLOCK) for nsid in (1, 2)}
    for nsid, data in media.items():
        put(drive, 0, data, nsid=nsid)
    mirror = bytearray(rng.randbytes(SIZE - PLACE))
    own.write(PLACE, bytes(mirror))
    source, parts = mirror[: 64 << 10], 8
    part = ((512 - 64) << 10) // parts
    for sgl in (False, True):
        drive.sgl = sgl
        for _ in range(6):
            under_way = []
            for of in range(parts):
                low, count = (64 << 10) + of * part, rng.randint(1, RANGES)
                kind, size = rng.choice(("fill", "blocks", "blocks", "memory")), 4 * rng.randint(count, 1500)
                if kind == "blocks":
                    size = BLOCK * rng.randint(count, 100)
                at = low + 4 * rng.randrange((part - size) // 4)
                want = b""
                sources: list[Any] = []
                if kind == "fill":
                    want = bytes(size)
                    under_way.append(own.submit_fill(PLACE + at, size, qid=rng.randint(1, 2)))
                elif kind == "blocks":
                    for blocks in cuts(rng, size // BLOCK, count):
                        nsid, slba = rng.randint(1, 2), rng.randrange(256 - blocks)
                        sources.append(Blocks(nsid, slba, blocks))
                        want += media[nsid][slba * BLOCK : (slba + blocks) * BLOCK]
                else:
                    for length in (4 * n for n in cuts(rng, size // 4, count)):
                        first = 4 * rng.randrange((len(source) - length) // 4)
                        sources.append(Stretch(own.memory, PLACE + first, length))
                        want += source[first : first + length]
                if sources:
                    buffer = drive.buffer(32 * count, offset=4 * rng.randrange(1024), scattered=rng.random() < 0.5)
                    under_way.append(own.submit_copy(PLACE + at, size, sources, buffer, qid=rng.randint(1, 2)))
                mirror[at : at + size] = want
            drive.wait(under_way)
            for command in under_way:
                command.check()
            assert own.read(PLACE, SIZE - PLACE) == mirror


def test_blocks_to_a_result(make_drive: MakeDrive) -> None:
    """The way that the standard has: blocks to memory, a program on that, the result to the host; of data at rest
    that are encrypted as a Read would give them."""
    rng = random.Random(72)
    drive, own = start(make_drive)
    compute.load_key(drive, 3, rng.randbytes(32), rng.randbytes(32))
    compute.bind(drive, 2, Op.AES_XTS, 3)
    data = rng.randbytes(64 << 10)
    put(drive, 8, data, nsid=2)
    column = Aggregate(ColumnType.U32, 16, 4)
    own.load(0, column.program())
    own.activate(0)
    rsid = own.create_ranges((0, 64 << 10), (1 << 20, 64))
    own.copy(0, [Blocks(2, 8, 64), Blocks(2, 72, 64)])
    length = own.execute(0, rsid, 64 << 10).check().dw0
    assert own.read(1 << 20, length) == column.result(data)
    reads = drive.get_log(LogPage.SMART, 512)[64:80]
    assert not int.from_bytes(reads, "little"), "the host has read nothing"


def test_what_is_refused(make_drive: MakeDrive) -> None:
    drive, own = start(make_drive)
    own.write(0, b"\xa5" * 65536)
    one, here = Blocks(1, 0, 8), Stretch(own.memory, 0, 64)
    assert drive.namespace is not None
    last = drive.namespace.nsze
    for at, size, sources, fields, status in (
        (0, 4096, [one], {"cdw12": 0x204}, Status.SIZE_LIMIT),
        (0, 4096, [one], {"cdw12": 0x000}, Status.INVALID_FIELD),
        (0, 4096, [one], {"cdw12": 0x300}, Status.INVALID_FIELD),
        (0, 4096, [one], {"cdw3": 1}, Status.INVALID_FIELD), (2, 4096, [one], {}, Status.INVALID_FIELD),
        (0, 0, [one], {}, Status.INVALID_FIELD), (0, 4094, [one], {}, Status.INVALID_FIELD),
        (SIZE - 4092, 4096, [one], {}, Status.LBA_RANGE), (1 << 40, 4096, [one], {}, Status.LBA_RANGE),
        # lengths
        (0, 4092, [one], {}, Status.INVALID_FIELD), (0, 4100, [one], {}, Status.INVALID_FIELD),
        (0, 8192, [one], {}, Status.INVALID_FIELD), (0, 4096, [one, one], {}, Status.INVALID_FIELD),
        (0, 12288, [one, one], {}, Status.INVALID_FIELD), (4096, 60, [here], {}, Status.INVALID_FIELD),
        (4096, 68, [here], {}, Status.INVALID_FIELD), (4096, 64, [here, here], {}, Status.INVALID_FIELD),
        (4096, 4, [Stretch(own.memory, 0, 0)], {}, Status.INVALID_FIELD),
        (4096, 4, [Stretch(own.memory, 2, 4)], {}, Status.INVALID_FIELD),
        (4096, 4, [Stretch(own.memory, 0, 6)], {}, Status.INVALID_FIELD),
        # what a range names
        (0, 4096, [Blocks(0, 0, 8)], {}, Status.INVALID_NS), (0, 4096, [Blocks(99, 0, 8)], {}, Status.INVALID_NS),
        (0, 4096, [Blocks(0xFFFFFFFF, 0, 8)], {}, Status.INVALID_FIELD),
        (0, 4096, [Blocks(own.memory, 0, 8)], {}, Status.INVALID_NS),
        (0, 4096, [Blocks(own.programs, 0, 8)], {}, Status.INVALID_NS),
        (4096, 64, [Stretch(1, 0, 64)], {}, Status.INVALID_NS),
        (4096, 64, [Stretch(own.programs, 0, 64)], {}, Status.INVALID_NS),
        (0, 4096, [Blocks(1, last - 7, 8)], {}, Status.LBA_RANGE),
        (0, 4096, [Blocks(1, 1 << 60, 8)], {}, Status.LBA_RANGE),
        (4096, 64, [Stretch(own.memory, SIZE - 60, 64)], {}, Status.LBA_RANGE),
        (4096, 64, [Stretch(own.memory, 1 << 40, 64)], {}, Status.LBA_RANGE),
        (60, 64, [here], {}, Status.OVERLAPPING_IO_RANGE), (0, 64, [here], {}, Status.OVERLAPPING_IO_RANGE),
        (0, 64, [Stretch(own.memory, 60, 64)], {}, Status.OVERLAPPING_IO_RANGE),
        (64, 128, [here, Stretch(own.memory, 188, 64)], {}, Status.OVERLAPPING_IO_RANGE),
    ):  # fmt: skip
        expect(own.copy_try(at, size, sources, **fields), status)
    # Next to the destination is not over it; one that failed leaves nothing behind that the next one meets.
    own.write(0, bytes(range(64)))
    for at in (64, 128):
        own.copy(at, [Stretch(own.memory, at - 64, 64)])
    own.copy(192, [Stretch(own.memory, 128, 64), Stretch(own.memory, 320, 64)])
    assert own.read(0, 256) == bytes(range(64)) * 4
    assert not own.copy_try(0, 4096, [one]).status


def test_what_goes_wrong(make_drive: MakeDrive) -> None:
    """The list does not come, or its pointer is wrong; blocks cannot be read: each says so, once, and all goes on."""
    drive, own = start(make_drive)
    data = random.Random(73).randbytes(8 * BLOCK)
    put(drive, 0, data)
    buffer = drive.buffer(4096)

    def copy(**fields: Any) -> Command:
        command = own.submit_copy(0, 4096, [Blocks(1, 0, 8)], buffer, **fields)
        drive.wait([command])
        return command

    for fault in ("ur", "poison"):
        drive.sim.inject(fault, addr=buffer.pages[0], length=32)
        expect(copy(), Status.DATA_TRANSFER_ERROR)
    expect(copy(prp1=buffer.pages[0] + 2, prp2=0), Status.INVALID_PRP_OFFSET)
    errors = int.from_bytes(drive.get_log(LogPage.SMART, 512)[160:176], "little")
    assert not errors, "errors of the media"
    drive.sim.media_error(4 * BLOCK, BLOCK, -1)
    expect(copy(), Status.READ_ERROR)
    assert int.from_bytes(drive.get_log(LogPage.SMART, 512)[160:176], "little") == 1
    drive.sim.media_error_clear()
    copy().check()
    assert own.read(0, 4096) == data


def test_cut_off(make_drive: MakeDrive) -> None:
    """Aborted, their queue deleted, the controller reset, at any moment: what they write stays in their destination,
    what is there is old or new, and all slots come back."""
    rng = random.Random(74)
    drive, own = start(make_drive)
    data = rng.randbytes(128 * BLOCK)
    put(drive, 0, data)
    size = len(data)
    for cycles in (20, 150, 400, 1500):
        own.write(PLACE, b"\xa5" * (3 * size))
        commands: dict[int, list[Command]] = {1: [], 2: []}
        for qid, mine in commands.items():
            for i in range(6):
                sources = [Blocks(1, 32 * n, 32) for n in range(4)]
                mine.append(
                    own.submit_fill(PLACE + size, size, qid=qid) if i % 3 == 2
                    else own.submit_copy(PLACE + size, size, sources, drive.buffer(128), qid=qid)
                )  # fmt: skip
        cut_off(drive, commands, cycles)
        assert {c.status for c in commands[1]} <= {Status.SUCCESS, Status.ABORT_REQUESTED}
        around = own.read(PLACE, 3 * size)
        assert around[:size] == around[2 * size :] == b"\xa5" * size
        assert all(a in (b, 0xA5, 0) for a, b in zip(around[size : 2 * size], data, strict=True))
    for cycles in (60, 300, 1200):
        for i in range(12):
            own.submit_copy(PLACE, size, [Blocks(1, 0, 64), Blocks(1, 64, 64)], drive.buffer(64), qid=1 + i % 2)
        drive.ring()
        drive.advance(cycles)
        drive.disable()
        drive.start(queues=2, entries=64, all_sets=True)
        own = Programs(drive)
    # More than there are slots, and nothing is lost of them.
    many = []
    for i in range(100):
        source = [Blocks(1, 8 * (i % 16), 8)]
        many.append(own.submit_copy(PLACE + 4096 * (i % 64), 4096, source, drive.buffer(32), qid=1 + i % 2))
    drive.wait(many)
    for command in many:
        command.check()
    assert own.read(PLACE, 16 * 4096) == data


def test_a_copy_holds_nobody_up(make_drive: MakeDrive) -> None:
    """All slots have a Memory Copy of four ranges, and Reads wait behind them: each comes to its end."""
    rng = random.Random(75)
    drive, own = start(make_drive)
    data = rng.randbytes(128 * BLOCK)
    put(drive, 0, data)
    under_way: list[Command] = []
    for i in range(60):
        sources = [Blocks(1, rng.randrange(120), 1) for _ in range(4)]
        under_way.append(own.submit_copy(PLACE + 2048 * i, 2048, sources, drive.buffer(128), qid=1))
    reads = [drive.submit(2, NvmOpc.READ, 8 * (i % 16), 7, drive.buffer(4096)) for i in range(60)]
    drive.wait([*under_way, *reads])
    for command in (*under_way, *reads):
        command.check()
    for i, command in enumerate(reads):
        assert command.buffer is not None
        assert command.buffer.read() == data[4096 * (i % 16) : 4096 * (i % 16 + 1)]


@pytest.mark.nightly
def test_owners(make_drive: MakeDrive) -> None:
    """A function copies from its namespaces to its memory, and reaches no other's, whatever a range names."""
    rng = random.Random(76)
    drives = functions(make_drive, NUM_FN, {"CMB_LOG2": MEMORY_LOG2, "SLM": 1}, all_sets=True)
    owns = [Programs(drive) for drive in drives]
    data = [rng.randbytes(64 * BLOCK) for _ in owns]
    for i, (drive, own, mine) in enumerate(zip(drives, owns, data, strict=True)):
        put(drive, 0, mine, nsid=i + 1)
        own.fill(0, 64 << 10)
    under_way = [
        (drive, own.submit_copy(4096 * k, 4096, [Blocks(i + 1, 8 * k, 4), Blocks(i + 1, 8 * k + 4, 4)],
                                drive.buffer(64), qid=1 + k % 2))
        for k in range(8) for i, (drive, own) in enumerate(zip(drives, owns, strict=True))
    ]  # fmt: skip
    for drive in drives:
        drive.wait([command for of, command in under_way if of is drive])
    for _, command in under_way:
        command.check()
    for own, mine in zip(owns, data, strict=True):
        assert own.read(0, 32 << 10) == mine
    for i, own in enumerate(owns):
        other = (i + 1) % NUM_FN
        expect(own.copy_try(0, 4096, [Blocks(other + 1, 0, 8)]), Status.INVALID_FIELD)
        expect(own.copy_try(65536, 64, [Stretch(owns[other].memory, 0, 64)]), Status.INVALID_FIELD)
        assert own.read(65536, 64) == bytes(64)
    # What is detached meanwhile is refused from then on.
    namespaces.attachment_try(drives[0], 2, NsAttach.DETACH, (1,)).check()
    expect(owns[1].copy_try(0, 4096, [Blocks(2, 0, 8)]), Status.INVALID_FIELD)
    assert [own.read(0, 32 << 10) for own in owns] == data


@pytest.mark.nightly
def test_a_limit_of_bytes_counts_copies(make_drive: MakeDrive) -> None:
    """A limited function that always wants more copies has its rate: each of their bytes counts, and counts once."""
    drives = functions(make_drive, NUM_FN, {"CMB_LOG2": MEMORY_LOG2, "SLM": 1}, all_sets=True)
    own, drive, size, rate = Programs(drives[1]), drives[1], 4 * BLOCK, 100_000_000
    set_share(drives[0], 1, bytes_per_s=rate, bytes_burst=size)
    sources = [Blocks(2, n, 1) for n in range(4)]
    lists = drive.buffer(128)
    came: list[tuple[int, int]] = []
    for _ in range(500):
        for qid in (1, 2):
            while len(drive.sqs[qid].pending) < 40:
                own.submit_copy(0, size, sources, lists, qid=qid)
        drive.ring()
        drives[0].advance(10_000)
        done = drive.poll()
        for command in done:
            command.check()
        came.append((drives[0].sim.cycle, len(done) * size))
    settled = came[150:]  # what came before its debt was known is paid
    seconds = (settled[-1][0] - settled[0][0]) * 4e-9
    assert sum(n for _, n in settled[1:]) / seconds == pytest.approx(rate, rel=0.05)
