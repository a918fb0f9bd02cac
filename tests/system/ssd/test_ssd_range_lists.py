# SPDX-License-Identifier: Apache-2.0
"""Lists of ranges of several functions at once: each is cut into pieces, with work of others between them, and ends as
one command."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from doorbell.nvme.commands import Command, expect
from doorbell.nvme.constants import DSM_AD, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.structures import DsmRange
from test_ssd_functions import REGION, functions
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
ONE = 7  # blocks from one range to the next
FILL = 0xA5
Ranges = Sequence[tuple[int, int]]


def fill(drive: Driver, first: int) -> None:
    for at in range(first, first + REGION, 256):
        drive.write(at, bytes([FILL]) * (256 * 512))


def some(rng: random.Random, count: int, first: int) -> list[tuple[int, int]]:
    """Ranges that do not touch each other, in no order."""
    ranges = [(first + ONE * i, rng.randint(1, ONE - 1)) for i in range(count)]
    rng.shuffle(ranges)
    return ranges


def submit(drive: Driver, ranges: Ranges, *, qid: int = 1, offset: int = 0) -> Command:
    data = b"".join(bytes(DsmRange(0, blocks, slba)) for slba, blocks in ranges)
    buffer = drive.buffer(len(data), offset=offset, scattered=True)
    buffer.write(data)
    return drive.submit(
        qid, NvmOpc.DSM, buffer=buffer, nbytes=len(data), cdw10=len(ranges) - 1, cdw11=DSM_AD, ring=True
    )


def gone(drive: Driver, first: int) -> set[int]:
    """Blocks that are zero; all others have what was written."""
    found = set()
    for at in range(first, first + REGION, 256):
        data = drive.read(at, 256)
        for i in range(256):
            block = data[512 * i : 512 * (i + 1)]
            assert block in (bytes(512), bytes([FILL]) * 512)
            if not any(block):
                found.add(at + i)
    return found


def blocks(ranges: Ranges) -> set[int]:
    return {b for first, count in ranges for b in range(first, first + count)}


def wait(drives: list[Driver], commands: list[Command]) -> None:
    for _ in range(2000):
        for d in drives:
            d.poll()
        if all(c.done for c in commands):
            return
        drives[0].advance(500)
    raise AssertionError("commands are lost")


@pytest.mark.parametrize(
    "offset", [0, 4092, *(pytest.param(offset, marks=pytest.mark.nightly) for offset in (4, 60, 64, 2052, 4032))]
)
def test_all_at_once(make_drive: MakeDrive, offset: int) -> None:
    """Of any length, wherever the list crosses its page: what is in it is deallocated, and nothing else."""
    drives = functions(make_drive, 3)
    rng = random.Random(offset)
    lists: list[list[Ranges]] = []
    for i, d in enumerate(drives):
        fill(d, i * REGION)
        counts = [rng.choice([1, 3, 4, 5, 8, 64, 255, 256]) for _ in range(4)]
        all_of_it = some(rng, 256, i * REGION)
        lists.append([rng.sample(all_of_it, n) for n in counts])
    commands = [
        submit(d, ranges, qid=1 + n % 2, offset=offset)
        for n in range(4)
        for d, ranges in zip(drives, (its[n] for its in lists))
    ]
    wait(drives, commands)
    for c in commands:
        c.check()
    for i, (d, its) in enumerate(zip(drives, lists)):
        assert gone(d, i * REGION) == set.union(*(blocks(r) for r in its))


def test_one_with_an_error(make_drive: MakeDrive) -> None:
    """A range that is not there, or a page that cannot be: what is before it is done, what is behind it is not, and
    nobody else's command has the error, not even the next of the same function."""
    drives = functions(make_drive, 3)
    rng = random.Random(3)
    last = drives[0].namespace.nsze  # type: ignore[union-attr]
    for at in (0, 3, 4, 100, 255):
        fill(drives[0], 0)
        fill(drives[1], REGION)
        bad, good = some(rng, 256, 0), some(rng, 256, REGION)
        bad[at] = (last, 1)
        commands = [submit(drives[0], bad), submit(drives[1], good), submit(drives[0], bad[:at] or good[:1])]
        wait(drives, commands)
        expect(commands[0], Status.LBA_RANGE)
        commands[1].check()
        commands[2].check()
        assert gone(drives[0], 0) == blocks(bad[:at])
        assert gone(drives[1], REGION) == blocks(good if at else good)
    # The second page of the list has an offset; a piece begins with it or reaches into it.
    for offset in (2048, 2052):
        fill(drives[0], 0)
        ranges = some(rng, 256, 0)
        buffer = drives[0].buffer(4096, offset=offset)
        buffer.write(b"".join(bytes(DsmRange(0, count, first)) for first, count in ranges))
        prp1, prp2 = buffer.prps()
        fields = {"prp1": prp1, "prp2": prp2 + 256, "cdw10": 255, "cdw11": DSM_AD}
        command = drives[0].submit(1, NvmOpc.DSM, **fields)
        drives[0].wait([command])
        expect(command, Status.INVALID_PRP_OFFSET)
        assert gone(drives[0], 0) <= blocks(ranges[:128])


def test_a_media_error_in_the_middle(make_drive: MakeDrive) -> None:
    drives = functions(make_drive, 3)
    fill(drives[1], REGION)
    ranges = [(REGION + ONE * i, 1) for i in range(256)]
    drives[0].sim.media_error(ranges[77][0] * 512, 512)
    others = [submit(drives[0], [(ONE * i, 1) for i in range(200)]), submit(drives[2], [(2 * REGION, 9)])]
    command = submit(drives[1], ranges)
    wait(drives, [command, *others])
    expect(command, Status.WRITE_FAULT)
    for c in others:
        c.check()
    drives[0].sim.media_error_clear()
    assert gone(drives[1], REGION) - blocks(ranges[77:78]) == blocks(ranges[:77])
    drives[1].run(submit(drives[1], ranges))
    assert gone(drives[1], REGION) == blocks(ranges)


@pytest.mark.parametrize(
    "how", [*(pytest.param(how, marks=pytest.mark.nightly) for how in ("abort", "queue")), "function"]
)
def test_an_end_in_the_middle(make_drive: MakeDrive, how: str) -> None:
    """The list is aborted when some of it is done, at other moments each time; what comes after it is whole."""
    drives = functions(make_drive, 3)
    for n in range(4):
        fill(drives[1], REGION)
        ranges = [(REGION + ONE * i, 1) for i in range(256)]
        other = submit(drives[0], [(ONE * i, 1) for i in range(256)])
        command = submit(drives[1], ranges)
        drives[1].advance(800 + 1500 * n)
        assert not command.done
        if how == "abort":
            assert drives[1].abort(command.qid, command.cid)
            wait(drives, [command])
            expect(command, Status.ABORT_REQUESTED)
        elif how == "queue":
            drives[1].delete_sq(1)
            drives[1].delete_cq(1)
            drives[1].create_cq(1, 64, 1)
            drives[1].create_sq(1, 64, 1)
        else:
            drives[1].disable()
            drives[1].start(queues=2, entries=64)
        wait(drives, [other])
        other.check()
        done = gone(drives[1], REGION)
        assert done == blocks(ranges[: len(done)]) and len(done) < 256
        again = submit(drives[1], ranges)
        wait(drives, [again])
        again.check()
        assert gone(drives[1], REGION) == blocks(ranges)
