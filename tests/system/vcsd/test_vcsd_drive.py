# SPDX-License-Identifier: Apache-2.0
"""db_vcsd as a drive: what a host writes is on the SSDs, where docs/vcsd/theory.md says, and comes back from them. The
simulator's switch and IOMMU watch that no SSD touches host memory; the host sees no SSD. What an SSD does wrong is a
status of the commands that it has."""

from __future__ import annotations

import random

import copies
import pytest
from cards import PARAMS, SIZE, card_of, on_ssds, one_of_all
from doorbell.device.drives import ModelDrive
from doorbell.nvme import namespaces
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import CSTS_CFS, AdminOpc, Feature, NvmOpc, Reg, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.errors import DeviceTimeout
from traffic import MakeDrive

pytestmark = pytest.mark.rtl


def card(make_drive: MakeDrive, **params: int) -> Driver:
    """A card that is up, with one namespace over all of its SSDs."""
    drive = make_drive(top="db_vcsd", params=PARAMS | params, media_size=PARAMS["NUM_SSD"] * SIZE)
    drive.start(queues=2, entries=64)
    one_of_all(drive)
    return drive


@pytest.fixture(scope=copies.scope("module"))
def whole(make_drive_once: MakeDrive) -> Driver:
    return card(make_drive_once)


@pytest.fixture
def striped(make_drive: MakeDrive) -> Driver:
    return card(make_drive, STRIPE=1)


@pytest.mark.parametrize("lie", [{"dstrd": 10}, {"mpsmin": 1}], ids=["doorbells behind its BAR", "large pages"])
def test_an_ssd_that_cannot_be_brought_up(make_drive: MakeDrive, lie: dict[str, int]) -> None:
    """It is given up, and nothing is written where another device may be. Its namespaces are errors, the other's are
    there, can be formatted and deleted."""
    ssds = [ModelDrive(size=SIZE), ModelDrive(size=SIZE, **lie)]
    drive = make_drive(top="db_vcsd", params=PARAMS, ssds=ssds, media_size=PARAMS["NUM_SSD"] * SIZE)
    drive.start(queues=2, entries=64)
    mine, *_, its = namespaces.active(drive)
    for _ in range(400):
        if card_of(drive.sim).dead == 2:
            break
        drive.advance(25_000)
    assert card_of(drive.sim).dead == 2
    commands = [drive.submit(1, NvmOpc.READ, 8, 7, drive.buffer(4096), nsid=nsid) for nsid in (mine, its, mine, its)]
    drive.ring()
    drive.wait(commands)
    assert [c.status for c in commands] == [Status.SUCCESS, Status.READ_ERROR] * 2
    drive.write(24, bytes(range(256)) * 16)
    assert drive.read(24, 8) == bytes(range(256)) * 16
    drive.admin_try(AdminOpc.FORMAT_NVM, nsid=mine, cdw10=0).check()
    assert drive.read(24, 8) == bytes(4096)
    namespaces.delete(drive, mine)
    assert namespaces.delete_try(drive, its).status == Status.WRITE_FAULT


@pytest.mark.parametrize("attached", [True, False], ids=["its namespace attached", "detached"])
def test_a_shutdown_beside_an_ssd_that_is_dead(make_drive: MakeDrive, attached: bool) -> None:
    """To shut down, and to switch the write cache off, is to flush. A dead SSD is an error of those alone that have a
    part of it."""
    ssds = [ModelDrive(size=SIZE), ModelDrive(size=SIZE, dstrd=10)]
    drive = make_drive(top="db_vcsd", params=PARAMS, ssds=ssds, media_size=PARAMS["NUM_SSD"] * SIZE)
    drive.start(queues=2, entries=64)
    half = PARAMS["NUM_NS"] // PARAMS["NUM_SSD"]
    while card_of(drive.sim).dead != 2:
        drive.advance(25_000)
    if not attached:
        for nsid in namespaces.active(drive)[half:]:
            namespaces.detach(drive, nsid)
    status = drive.admin_try(AdminOpc.SET_FEATURES, cdw10=Feature.VOLATILE_WC, cdw11=0).status
    assert status == (Status.WRITE_FAULT if attached else Status.SUCCESS)
    drive.write(24, bytes(range(256)) * 16)
    if attached:
        with pytest.raises(DeviceTimeout, match="waiting for shutdown: CSTS is still"):
            drive.shutdown()
        assert drive.read32(Reg.CSTS) & CSTS_CFS
    else:
        asked = card_of(drive.sim).ssds.counters(port=0)["drive.doorbells"]
        drive.shutdown()
        assert card_of(drive.sim).ssds.counters(port=0)["drive.doorbells"] > asked
        assert not drive.read32(Reg.CSTS) & CSTS_CFS


def try_all(card: Driver, opcode: NvmOpc, at: list[int], blocks: int = 8) -> list[Command]:
    """A command at each of the blocks, all at once."""
    buffers = [card.buffer(blocks * card.block_size) for _ in at]
    commands = [card.submit(1, opcode, lba, blocks - 1, b) for lba, b in zip(at, buffers, strict=True)]
    card.ring()
    card.wait(commands)
    return commands


def test_data_is_on_the_ssds(whole: Driver) -> None:
    data_is_on_the_ssds(whole, stripe=False)


@pytest.mark.nightly
def test_data_is_on_the_ssds_in_stripes(striped: Driver) -> None:
    data_is_on_the_ssds(striped, stripe=True)


def data_is_on_the_ssds(card: Driver, stripe: bool) -> None:
    rng = random.Random(3)
    blocks = card_of(card.sim).media_size // 512
    content = bytearray(blocks * 512)
    known: set[int] = set()
    for at in (0, blocks // 2 - 9, blocks - 256, *(rng.randrange(blocks - 256) for _ in range(6))):
        data = rng.randbytes(rng.choice((1, 3, 8, 64, 256)) * 512)
        card.write(at, data)
        content[at * 512 : at * 512 + len(data)] = data
        known.update(range(at, at + len(data) // 512))
    card.flush()
    for at in known:
        assert on_ssds(card, at * 512, 512, stripe) == content[at * 512 : at * 512 + 512]
    for at in (0, blocks // 2 - 128, blocks - 256):
        assert card.read(at, 256) == content[at * 512 : (at + 256) * 512]
    assert all(card_of(card.sim).ssds.counters(port=i)["drive.sqes"] > 8 for i in range(2)), "both had work"


def test_slices_with_large_blocks(whole: Driver) -> None:
    """Two namespaces, of an SSD each; deletion leaves nothing of the one on its SSD, and all of the other on its."""
    card = whole
    for nsid in namespaces.allocated(card):
        namespaces.delete(card, nsid)
    sizes = [SIZE // 4096] * 2
    made = [namespaces.create(card, n, 4096) for n in sizes]
    secrets = [random.Random(nsid).randbytes(64 << 10) for nsid in made]
    for nsid, secret in zip(made, secrets, strict=True):
        namespaces.attach(card, nsid)
        card.nsid = nsid
        card.identify_all()
        card.write(7, secret)
    for place, secret in enumerate(secrets):
        assert on_ssds(card, place * SIZE + 7 * 4096, len(secret)) == secret
    namespaces.delete(card, made[0])
    assert on_ssds(card, 0, SIZE) == bytes(SIZE)
    assert card.read(7, 16) == secrets[1]
    beyond = try_all(card, NvmOpc.READ, [SIZE // 4096 - 8, SIZE // 4096 - 7])
    assert [c.status for c in beyond] == [Status.SUCCESS, Status.LBA_RANGE]


def test_namespaces_and_data_last_without_power(whole: Driver) -> None:
    sim = card_of(whole.sim)
    data = random.Random(1).randbytes(32 << 10)
    at = SIZE // 512 - 32
    whole.write(at, data)
    whole.flush()
    sim.power_cycle()
    assert sim.up == 0
    whole.start(queues=2, entries=64)
    assert whole.read(at, 64) == data and sim.up == 3


def test_errors_of_an_ssd_are_those_of_their_commands(whole: Driver) -> None:
    ssds = card_of(whole.sim).ssds
    half = SIZE // 512
    ssds.fault("status", port=1, lba=100, blocks=1, status=0x281)
    ssds.fault("status", port=0, lba=200, blocks=1, status=0x280)
    reads = try_all(whole, NvmOpc.READ, [96, half + 96, half + 104, half + 88])
    assert [c.status for c in reads] == [Status.SUCCESS, Status.READ_ERROR, Status.SUCCESS, Status.SUCCESS]
    writes = try_all(whole, NvmOpc.WRITE, [200, half + 200, 208])
    assert [c.status for c in writes] == [Status.WRITE_FAULT, Status.SUCCESS, Status.SUCCESS]


def test_an_ssd_is_taken_away_and_comes_back(whole: Driver) -> None:
    sim = card_of(whole.sim)
    half = SIZE // 512
    data = random.Random(2).randbytes(4096)
    whole.write(half + 8, data)
    whole.write(8, data[::-1])
    free = (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.WRITE_ZEROES, NvmOpc.READ)
    commands = []
    for i in range(24):
        opcode = free[i // 2 % 4]
        at = half * (i % 2) + (8 if opcode == NvmOpc.READ else 64)
        buffer = whole.buffer(4096) if opcode != NvmOpc.WRITE_ZEROES else None
        commands.append(whole.submit(1, opcode, at, 7, buffer))
    flush = whole.submit(1, NvmOpc.FLUSH)
    whole.ring()
    sim.ssds.link(False, port=1)
    whole.wait([*commands, flush])
    assert all(c.status == Status.SUCCESS for c in commands[::2]), "those of the other SSD"
    assert {c.status for c in commands[1::2]} <= {Status.SUCCESS, Status.READ_ERROR, Status.WRITE_FAULT}
    later = try_all(whole, NvmOpc.READ, [half + 8, 8])
    assert [c.status for c in later] == [Status.READ_ERROR, Status.SUCCESS]
    sim.ssds.link(True, port=1)
    while sim.up != 3:
        whole.advance(1000)
    assert whole.read(half + 8, 8) == data and whole.read(8, 8) == data[::-1]


def test_a_command_that_an_ssd_loses(whole: Driver) -> None:
    """... is aborted, and ends as one that could not be read; those behind it and of the other SSD are good."""
    sim = card_of(whole.sim)
    half = SIZE // 512
    data = [random.Random(i).randbytes(4096) for i in range(8)]
    for i, d in enumerate(data):
        whole.write(half * (i % 2) + 8 * i, d)
    sim.ssds.fault("lost", port=1)
    reads = [(whole.buffer(4096), half * (i % 2) + 8 * i) for i in range(8)]
    commands = [whole.submit(1, NvmOpc.READ, at, 7, buffer) for buffer, at in reads]
    whole.ring()
    whole.wait(commands)
    assert [c.status for c in commands].count(Status.SUCCESS) == 7
    lost = next(i for i, c in enumerate(commands) if c.status != Status.SUCCESS)
    assert lost % 2 == 1 and commands[lost].status == Status.READ_ERROR
    assert all(b.read() == d for i, ((b, _), d) in enumerate(zip(reads, data, strict=True)) if i != lost)
    assert whole.read(reads[lost][1], 8) == data[lost]


@pytest.mark.parametrize("how", ["disable", pytest.param("reset", marks=pytest.mark.nightly)])
def test_reset_in_the_middle(whole: Driver, how: str) -> None:
    """A controller reset leaves the SSDs up; one of the link brings them up anew. What was acknowledged is there."""
    sim = card_of(whole.sim)
    rng = random.Random(5)
    blocks = sim.media_size // 512 // 8
    for turn in range(6):
        kept = {rng.randrange(blocks) * 8: rng.randbytes(4096) for _ in range(4)}
        for at, d in kept.items():
            whole.write(at, d)
        free = [at for at in (rng.randrange(blocks) * 8 for _ in range(40)) if at not in kept]
        buffers = [whole.buffer(4096) for _ in free]
        for i, (at, buffer) in enumerate(zip(free, buffers, strict=True)):
            whole.submit(1, NvmOpc.WRITE if i % 2 else NvmOpc.READ, at, 7, buffer)
        whole.ring()
        whole.advance(rng.randrange(4000))
        if how == "reset":
            sim.reset()
            assert sim.up == 0, f"turn {turn}"
        else:
            whole.disable()
            assert sim.up == 3, f"turn {turn}"
        whole.start(queues=2, entries=64)
        for at, d in kept.items():
            assert whole.read(at, 8) == d
        for buffer in buffers:
            buffer.free()


@pytest.mark.parametrize("by", [64 << 20, pytest.param(1 << 20, marks=pytest.mark.nightly)])
def test_an_ssd_that_writes_elsewhere(whole: Driver, by: int) -> None:
    """... in its own window harms its own data; in the window of the other one it writes nothing, and is counted."""
    sim = card_of(whole.sim)
    half = SIZE // 512
    data = {half * s + 8 * i: random.Random(100 * s + i).randbytes(4096) for s in range(2) for i in range(16)}
    for at, d in data.items():
        whole.write(at, d)
    was = sim.foreign
    sim.ssds.fault("astray", port=0, lba=8 * 4, blocks=32, by=by)
    buffers = {at: whole.buffer(4096) for at in sorted(data, key=lambda at: (at % half, at))}
    commands = {at: whole.submit(1, NvmOpc.READ, at, 7, b) for at, b in buffers.items()}
    whole.ring()
    whole.wait(list(commands.values()), timeout_us=200_000)
    for at, c in commands.items():
        if at >= half:
            assert c.status == Status.SUCCESS and buffers[at].read() == data[at]
    assert (sim.foreign > was) == (by == 64 << 20)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["late", "hang", "damage", "vanish", "double", "phase", "cid", "copy", "astray"])
def test_an_ssd_that_lies(whole: Driver, kind: str) -> None:
    """Whatever it does in the middle of Reads: each command ends once, what the other SSD has is read as it is, and its
    own data is wrong without a word only if it put it elsewhere in its window."""
    ssds = card_of(whole.sim).ssds
    half = SIZE // 512
    data = {half * s + 8 * i: random.Random(100 * s + i).randbytes(4096) for s in range(2) for i in range(24)}
    for at, d in data.items():
        whole.write(at, d)
    options = {"late": {"delay_us": 2000}, "cid": {"by": 1}, "copy": {"by": 16}, "astray": {"by": 4096}}.get(kind, {})
    ssds.fault(kind, port=1, lba=8 * 12, blocks=8, **options)
    order = sorted(data, key=lambda at: (at % half, at))
    buffers = {at: whole.buffer(4096) for at in order}
    commands = {at: whole.submit(1, NvmOpc.READ, at, 7, buffers[at]) for at in order}
    whole.ring()
    whole.wait(list(commands.values()), timeout_us=200_000)
    for at, c in commands.items():
        assert c.status in (Status.SUCCESS, Status.READ_ERROR) if at >= half else c.status == Status.SUCCESS, (kind, at)
        if c.status == Status.SUCCESS and not (kind == "astray" and at >= half):
            assert buffers[at].read() == data[at], (kind, at)
