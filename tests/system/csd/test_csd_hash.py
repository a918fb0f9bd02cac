# SPDX-License-Identifier: Apache-2.0
"""Digests of data on a drive (Hash, docs/csd/near-storage.md): whole messages, owners, resets, Reads beside them."""

from __future__ import annotations

import hashlib
import random

import pytest
from csd_drive import PARAMS, csd, get, put
from csd_functions import NUM_FN
from doorbell.compute import near
from doorbell.compute.near import Hash, Hashed, HashStep, message_phase
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import NearDigest
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
BLOCKS = 128
BEGIN, END, ASK = HashStep.BEGIN, HashStep.END, HashStep.ASK
NOTHING = Hashed(0, False, None)


def filled(rng: random.Random, drive: Driver, *, nsid: int = 1) -> bytes:
    data = rng.randbytes(BLOCKS * drive.block_size)
    put(drive, 0, data, nsid=nsid)
    return data


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def step(drive: Driver, slba: int, length: int, steps: HashStep, message: int = 0, *, nsid: int = 1) -> Hashed:
    blocks = -(-length // drive.block_size)
    phase = message_phase(steps, message)
    command, got = near.run(drive, 0, slba, blocks, length=length, room=64, phase=phase, nsid=nsid)
    expect(command, Status.SUCCESS)
    assert command.dw0 == 64
    return Hashed.of(got)


def test_digests(make_drive: MakeDrive) -> None:
    """Of any range, in commands of any size; more than a core's buffer has room for; CRC-32C beside."""
    rng = random.Random(20)
    drive = csd(make_drive)
    data = filled(rng, drive)
    near.load(drive, 3, Hash().program())
    near.load(drive, 1, Hash(NearDigest.CRC32C).program())
    for length, most in ((1, 8192), (511, 512), (512, 512), (513, 4096), (20_000, 3000), (60_000, 65536)):
        slba = rng.randrange(BLOCKS - -(-length // 512) + 1)
        part = data[slba * 512 :][:length]
        assert near.digest(drive, 3, slba, length, message=rng.randrange(4), most=most) == sha256(part)
        command, got = near.run(drive, 1, slba, -(-length // 512), length=length, room=64)
        expect(command, Status.SUCCESS)
        assert got == Hash(NearDigest.CRC32C).result(part)


def test_reads_do_not_wait_for_a_digest(make_drive: MakeDrive) -> None:
    """While the cores are at work, Reads and other programs of the function take no longer."""
    rng = random.Random(21)
    drive = csd(make_drive)
    data = filled(rng, drive)
    near.load(drive, 0, Hash().program())

    def read_ns() -> int:
        begin = drive.sim.ns
        assert get(drive, 64, 8) == data[64 * 512 : 72 * 512]
        return drive.sim.ns - begin

    read_ns()
    alone = read_ns()
    for message in range(PARAMS["NEAR_HASHES"]):
        assert step(drive, 0, 16384, BEGIN | END, message) == Hashed(16384, True, None)
    beside = read_ns()
    assert step(drive, 0, 1, ASK, 0) == Hashed(16384, True, None), "it is still at work"
    assert abs(beside - alone) <= 100
    assert near.digest(drive, 0, 0, 1000, message=2) == sha256(data[:1000])  # when a core is free


def test_messages_of_owners(csd_owners: list[Driver]) -> None:
    """The same program and message of each function: none has anything of another's, or of who was there before."""
    rng = random.Random(22)
    drives = csd_owners
    data = [filled(rng, drive, nsid=fn + 1) for fn, drive in enumerate(drives)]
    for drive in drives:
        near.load(drive, 0, Hash().program())

    def brought(slba: int, length: int, steps: HashStep, total: int) -> None:
        for fn, drive in enumerate(drives):
            wanted = Hashed(total + fn * (END in steps), END in steps, None)
            while step(drive, slba, length + fn * (END in steps), steps, nsid=fn + 1) != wanted:
                pass  # there are two cores

    brought(0, 4096, BEGIN, 4096)
    brought(8, 100, END, 4196)
    drives[0].advance(10_000)
    for fn, drive in enumerate(drives):
        assert step(drive, 0, 1, ASK, nsid=fn + 1).digest == sha256(data[fn][: 4196 + fn])
    drives[1].disable()
    drives[1].start(queues=2, entries=64)
    near.load(drives[1], 0, Hash().program())
    assert step(drives[1], 0, 1, ASK, nsid=2) == NOTHING
    assert step(drives[1], 0, 512, END, nsid=2) == NOTHING
    near.load(drives[2], 1, Hash().program())  # another of its programs
    assert step(drives[2], 0, 1, ASK, nsid=3).digest == sha256(data[2][:4198])
    near.load(drives[2], 0, Hash().program())
    assert step(drives[2], 0, 1, ASK, nsid=3) == NOTHING
    assert step(drives[0], 0, 1, ASK, nsid=1).digest == sha256(data[0][:4196])
    assert NUM_FN == 3


def test_a_sector_that_cannot_be_read(make_drive: MakeDrive) -> None:
    """The command ends with its error; the message begins anew and is right."""
    rng = random.Random(23)
    drive = csd(make_drive)
    data = filled(rng, drive)
    near.load(drive, 0, Hash().program())
    drive.sim.media_error(20 * 512, 512, -1)
    command, _ = near.run(drive, 0, 16, 8, room=64, phase=message_phase(BEGIN))
    expect(command, Status.READ_ERROR)
    drive.sim.media_error_clear()
    assert near.digest(drive, 0, 16, 4096) == sha256(data[16 * 512 :][:4096])


@pytest.mark.parametrize("kind", ["disable", "flr"])
def test_reset_in_the_middle(make_drive: MakeDrive, kind: str) -> None:
    """Messages are forgotten, and what was under way in a core reaches none that comes behind it."""
    rng = random.Random(24)
    drive = csd(make_drive)
    data = filled(rng, drive)
    for cycles in (10, 500, 2000, 9000):
        near.load(drive, 0, Hash().program())
        for message in range(2):
            phase = message_phase(BEGIN | END, message)
            near.submit(drive, 0, 0, 32, room=64, phase=phase, qid=1 + message)
        drive.ring()
        drive.advance(cycles)
        getattr(drive, kind)()
        drive.start(queues=2, entries=64)
        near.load(drive, 0, Hash().program())
        assert step(drive, 0, 1, ASK, 1) == NOTHING
        assert near.digest(drive, 0, 3, 2000, message=1) == sha256(data[3 * 512 :][:2000])


def test_many_under_way(make_drive: MakeDrive) -> None:
    """All messages of all programs at once, Reads between them: what is taken is hashed right."""
    rng = random.Random(25)
    drive = csd(make_drive)
    data = filled(rng, drive)
    for number in range(4):
        near.load(drive, number, Hash().program())
    ranges = {(number, m): (8 * rng.randrange(12), rng.randint(100, 4096)) for number in range(4) for m in range(4)}
    left = dict.fromkeys(ranges, NOTHING)
    for _ in range(200):
        under_way = {}
        for key in rng.sample(list(left), min(len(left), 6)):
            (number, m), (slba, length) = key, ranges[key]
            steps = ASK if left[key].ended else BEGIN | END
            under_way[key] = near.submit(
                drive, number, slba, 8, length=length, room=64, phase=message_phase(steps, m), qid=1 + m % 2
            )
        read = drive.submit(1, NvmOpc.READ, 8, 7, drive.buffer(4096))
        drive.wait([*under_way.values(), read])
        assert read.check().buffer.read() == data[4096:8192]  # type: ignore[union-attr]
        read.buffer.free()  # type: ignore[union-attr]
        for key, command in under_way.items():
            slba, length = ranges[key]
            buffer = command.check().buffer
            assert buffer is not None
            left[key] = found = Hashed.of(buffer.read())
            buffer.free()
            if found.digest is not None:
                assert found.digest == sha256(data[slba * 512 :][:length])
                del left[key]
        if not left:
            return
    raise AssertionError(f"no digest of {len(left)} messages")
