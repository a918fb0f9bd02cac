# SPDX-License-Identifier: Apache-2.0
"""What reservations outlast, and what becomes of commands while they come and go: power, resets, Abort, deleted queues,
Preempt and Abort (Base 2.1, 7.5 and 8.1.22; 7.2 and 8.19 of 2.0)."""

from __future__ import annotations

from pathlib import Path

import copies
import pytest
from doorbell.nvme import reservations
from doorbell.nvme.commands import Command, expect
from doorbell.nvme.constants import (
    CC_EN,
    CSTS_RDY,
    Feature,
    FeatureSelect,
    NvmOpc,
    Reg,
    ResvAcquire,
    ResvPtpl,
    ResvRegister,
    ResvType,
    Status,
)
from doorbell.nvme.driver import Driver
from reservation_hosts import Cluster
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
NUM_FN = 3
OK, CONFLICT = Status.SUCCESS, Status.RESV_CONFLICT
HOSTS = (0xA, 0xB, 0xC)
KEYS = (0x1111_0000_AAAA_0001, 0x2222_0000_BBBB_0002, 0x3333_0000_CCCC_0003)
REGISTRANTS = 47
"""There can be, of all namespaces."""
SLOW = {"media_latency_ns": 60_000}


@pytest.fixture(scope=copies.scope("module"))
def cluster(make_drive_once: MakeDrive) -> Cluster:
    return Cluster(make_drive_once, NUM_FN)


@pytest.fixture
def lasting(make_drive: MakeDrive, tmp_path: Path) -> Cluster:
    """Its media is a file, so there are power cycles."""
    return Cluster(make_drive, NUM_FN, tmp_path / "image")


@pytest.fixture
def drives(cluster: Cluster) -> list[Driver]:
    return cluster.drives


def writes(drive: Driver) -> bool:
    command = drive.submit(1, NvmOpc.WRITE_ZEROES, 0, 0, ring=True)
    drive.wait([command])
    expect(command, OK, CONFLICT)
    return command.status == OK


def rows(drive: Driver) -> set[tuple[int, bool, int, int]]:
    return {(c.cntlid, c.holder, c.hostid, c.key) for c in reservations.report(drive).controllers}


def register_until_refused(drive: Driver, first: int) -> int:
    """As another host each time, `first` and those behind it. How often that went well."""
    for count in range(60):
        reservations.set_host_id(drive, first + count)
        command = reservations.register_try(drive, key=KEYS[1])
        expect(command, OK, Status.INTERNAL)
        if command.status != OK:
            return count
    raise AssertionError("there is no end")


def test_no_function_takes_the_places_of_others(lasting: Cluster) -> None:
    """Each that has registered nothing can, whatever another has, before power was off and after."""
    pf, vf, other = lasting.drives
    assert register_until_refused(vf, 0x1000) == REGISTRANTS - (NUM_FN - 1)
    vf.disable()
    vf.start(queues=1, entries=32, vectors=1)
    assert register_until_refused(vf, 0x2000) == 0, "they are its own, whoever its host is now"
    pf.set_features(Feature.RESV_PERSIST, 1, nsid=1)
    reservations.register(pf, KEYS[0])
    lasting.power_cycle()
    pf, vf, other = lasting.drives
    assert register_until_refused(vf, 0x3000) == 0
    lasting.name()
    expect(reservations.register_try(vf, key=KEYS[1]), Status.INTERNAL)
    reservations.register(other, KEYS[2])
    assert {(0, False, HOSTS[0], KEYS[0]), (2, False, HOSTS[2], KEYS[2])} < rows(other)
    assert len(rows(other)) == REGISTRANTS


def test_power(lasting: Cluster) -> None:
    """Persistence on, by Register, and off, by the feature (8.1.22.1, 5.1.25.1.30)."""
    pf, vf, other = lasting.drives
    reservations.register(pf, KEYS[0])
    reservations.register(vf, KEYS[1], ptpl=ResvPtpl.SET)
    reservations.acquire(vf, KEYS[1], ResvType.WRITE_EXCLUSIVE_REGISTRANTS)
    before = reservations.report(pf)
    selects = (FeatureSelect.CURRENT, FeatureSelect.DEFAULT, FeatureSelect.SAVED)
    assert before.persists and [pf.get_features(Feature.RESV_PERSIST, nsid=1, select=s) for s in selects] == [1, 0, 1]
    lasting.power_cycle()
    pf, vf, other = lasting.drives
    assert [writes(d) for d in lasting.drives] == [False] * 3, "it holds before any host has said who it is"
    assert rows(pf) == {(0xFFFF, False, HOSTS[0], KEYS[0]), (0xFFFF, True, HOSTS[1], KEYS[1])}
    lasting.name()
    assert reservations.report(pf) == before
    assert [writes(d) for d in lasting.drives] == [True, True, False]
    other.set_features(Feature.RESV_PERSIST, 0, nsid=1)
    assert not reservations.report(pf).persists
    assert [writes(d) for d in lasting.drives] == [True, True, False]
    lasting.power_cycle()
    lasting.name()
    assert reservations.report(lasting.drives[0]) == reservations.Report(0, 0, False, [])
    assert [writes(d) for d in lasting.drives] == [True] * 3


@pytest.mark.parametrize("ptpl", [ResvPtpl.NO_CHANGE, pytest.param(ResvPtpl.SET, marks=pytest.mark.nightly)])
def test_a_reset_of_the_link(cluster: Cluster, ptpl: int) -> None:
    """8.1.22.1: registrations and reservations outlast all resets but that of power loss, whatever PTPLS says."""
    pf, vf, _ = cluster.drives
    reservations.register(pf, KEYS[0])
    reservations.register(vf, KEYS[1], ptpl=ptpl)
    reservations.acquire(vf, KEYS[1], ResvType.WRITE_EXCLUSIVE_REGISTRANTS)
    before = reservations.report(pf)
    for _ in range(2):
        cluster.link_reset()
        assert [writes(d) for d in cluster.drives] == [False] * 3, "nobody has said who it is"
        assert rows(pf) == {(0xFFFF, False, HOSTS[0], KEYS[0]), (0xFFFF, True, HOSTS[1], KEYS[1])}
        cluster.name()
        assert reservations.report(pf) == before
        assert [writes(d) for d in cluster.drives] == [True, True, False]


def test_a_processor_that_hung(cluster: Cluster) -> None:
    """The watchdog's second start is no power loss either."""
    pf, vf, _ = cluster.drives
    reservations.register(pf, KEYS[0])
    reservations.register(vf, KEYS[1])
    reservations.acquire(vf, KEYS[1], ResvType.EXCLUSIVE_ACCESS)
    before = reservations.report(pf)
    cluster.hang()
    assert [writes(d) for d in cluster.drives] == [False] * 3
    cluster.name()
    assert reservations.report(pf) == before
    assert [writes(d) for d in cluster.drives] == [False, True, False]


@pytest.mark.parametrize("wait", [
    9000, *(pytest.param(wait, marks=pytest.mark.nightly) for wait in (0, 8000, 11_000, 14_000, 20_000)),
])  # fmt: skip
def test_a_reset_of_the_link_in_the_middle(cluster: Cluster, wait: int) -> None:
    """... of one that preempts: the namespace has the old reservation or the new one, and at no time none."""
    pf, vf, other = cluster.drives
    for drive, key in zip(cluster.drives, KEYS, strict=True):
        reservations.register(drive, key)
    reservations.acquire(vf, KEYS[1], ResvType.EXCLUSIVE_ACCESS)
    buffer = pf.buffer(16)
    buffer.write(KEYS[0].to_bytes(8, "little") + KEYS[1].to_bytes(8, "little"))
    cdw10 = ResvAcquire.PREEMPT | ResvType.WRITE_EXCLUSIVE << 8
    pf.submit(1, NvmOpc.RESV_ACQUIRE, buffer=buffer, nbytes=16, cdw10=cdw10, cdw11=0, cdw12=0, ring=True)
    pf.sim.run(wait)
    cluster.link_reset()
    cluster.name()
    found = reservations.report(other)
    held = [c.hostid for c in found.controllers if c.holder]
    keys = {c.hostid: c.key for c in found.controllers}
    assert dict(zip(HOSTS, KEYS, strict=True)).items() >= keys.items() and HOSTS[0] in keys
    before, after = (ResvType.EXCLUSIVE_ACCESS, [HOSTS[1]]), (ResvType.WRITE_EXCLUSIVE, [HOSTS[0]])
    assert (found.rtype, held) in (before, after)
    if wait in (0, 20_000):
        assert ((found.rtype, held), len(keys)) == ((before, 3) if wait == 0 else (after, 2))
    assert [writes(d) for d in cluster.drives] == [h in held for h in HOSTS]


@pytest.mark.nightly
def test_host_0_does_not_outlast_power(lasting: Cluster) -> None:
    pf, vf, _ = lasting.drives
    reservations.set_host_id(vf, 0)
    reservations.register(pf, KEYS[0], ptpl=ResvPtpl.SET)
    reservations.register(vf, KEYS[1])
    lasting.power_cycle()
    lasting.name()
    assert rows(lasting.drives[0]) == {(0, False, HOSTS[0], KEYS[0])}


def test_host_0_does_not_outlast_a_reset_of_the_link(cluster: Cluster) -> None:
    """It is another one then. Its registrations stay its own when it gets an identifier (8.1.22)."""
    pf, vf, other = cluster.drives
    for drive in (vf, other):
        reservations.set_host_id(drive, 0)
    reservations.register(pf, KEYS[0])
    reservations.register(vf, KEYS[1])
    reservations.register(other, KEYS[2])
    reservations.acquire(vf, KEYS[1], ResvType.WRITE_EXCLUSIVE)
    reservations.set_host_id(vf, HOSTS[1])
    assert not writes(vf)
    reservations.set_host_id(vf, 0)
    assert writes(vf)
    cluster.link_reset()
    cluster.name()
    assert rows(pf) == {(0, False, HOSTS[0], KEYS[0])}
    assert [writes(d) for d in cluster.drives] == [True] * 3


def test_a_reset_of_the_holder(drives: list[Driver]) -> None:
    """Its reservation stays, as its host is still there; until it says who it is, it is somebody else."""
    pf, vf, other = drives
    reservations.register(vf, KEYS[1])
    reservations.acquire(vf, KEYS[1], ResvType.EXCLUSIVE_ACCESS)
    for reset in (vf.disable, vf.flr):
        reset()
        assert [writes(pf), writes(other)] == [False, False]
        assert rows(pf) == {(0xFFFF, True, HOSTS[1], KEYS[1])}
        vf.start(queues=1, entries=32, vectors=1)
        assert not writes(vf)
        reservations.set_host_id(vf, HOSTS[1])
        assert writes(vf) and rows(pf) == {(1, True, HOSTS[1], KEYS[1])}


def submit_many(drive: Driver, count: int) -> list[Command]:
    """Reports, as many as there are."""
    buffers = [drive.buffer(4096) for _ in range(count)]
    commands = [drive.submit(1, NvmOpc.RESV_REPORT, buffer=b, nbytes=4096, cdw10=1023, cdw11=0, cdw12=0)
                for b in buffers]  # fmt: skip
    drive.ring()
    return commands


@pytest.mark.parametrize(
    "how", ["flr", *(pytest.param(how, marks=pytest.mark.nightly) for how in ("disable", "delete"))]
)
def test_an_end_with_commands_that_wait(drives: list[Driver], how: str) -> None:
    """A function that goes with reservation commands inside: it ends, others' go on, all slots come back."""
    pf, vf, other = drives
    reservations.register(pf, KEYS[0], ptpl=ResvPtpl.SET)
    for delay in (300, 3000, 20_000):
        mine, theirs = submit_many(vf, 25), submit_many(other, 8)
        vf.sim.run(delay)
        if how == "delete":
            lost = vf.delete_sq(1)
            assert all(c.done or c in lost for c in mine)
            vf.create_sq(1, 32, 1)
        else:
            getattr(vf, how)()
            vf.start(queues=1, entries=32, vectors=1)
        other.wait(theirs)
        for command in theirs:
            command.check()
        again = submit_many(vf, 31)
        vf.wait(again)
        for command in again:
            command.check()
    assert rows(pf) == {(0, False, HOSTS[0], KEYS[0])}


def test_abort(drives: list[Driver]) -> None:
    """Those that have not been executed end as aborted, each once; the others with success."""
    vf = drives[1]
    commands = submit_many(vf, 20)
    vf.sim.run(1500)
    found = [vf.abort(1, c.cid) for c in commands[::-1][:4]]
    vf.wait(commands)
    for command, aborted in zip(commands[::-1], found, strict=False):
        expect(command, Status.ABORT_REQUESTED if aborted else OK)
    for command in commands[:16]:
        command.check()
    assert any(found)


@pytest.mark.parametrize("abort", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_preempt_and_abort(make_drive: MakeDrive, abort: bool) -> None:
    """The preempted host's commands in this namespace end at once; a third one's, and without Abort all, as ever."""
    pf, vf, other = drives = Cluster(make_drive, NUM_FN, **SLOW).drives
    for drive, key in zip(drives, KEYS, strict=True):
        reservations.register(drive, key)
    reservations.acquire(vf, KEYS[1], ResvType.EXCLUSIVE_ACCESS_REGISTRANTS)
    reads = {d: [d.submit(1, NvmOpc.READ, 8 * i, 7, d.buffer(4096)) for i in range(12)] for d in (vf, other)}
    for drive in reads:
        drive.ring()
    pf.sim.run(5000)
    action = ResvAcquire.PREEMPT_ABORT if abort else ResvAcquire.PREEMPT
    preempted = reservations.acquire_try(
        pf, action, key=KEYS[0], rtype=ResvType.EXCLUSIVE_ACCESS_REGISTRANTS, preempt=KEYS[1])  # fmt: skip
    preempted.check()
    for drive, commands in reads.items():
        drive.wait(commands)
        ended = [c.status for c in commands]
        if abort and drive is vf:
            assert Status.ABORTED_PREEMPT in ended and {*ended} <= {OK, Status.ABORTED_PREEMPT}
            assert all(c.done_ns <= preempted.done_ns for c in commands if c.status == Status.ABORTED_PREEMPT)
        else:
            assert {*ended} == {OK}
    assert [writes(d) for d in drives] == [True, False, True]
    expect(reservations.register_try(vf, ResvRegister.UNREGISTER, current=KEYS[1]), CONFLICT)


def test_a_storm_stops_nobody(drives: list[Driver]) -> None:
    """A function with nothing but reservation commands: others read and write beside it, and one's own come through."""
    pf, vf, other = drives
    storm = submit_many(vf, 31)
    for i in range(20):
        data = bytes([i]) * 4096
        other.write(8 * i, data)
        assert other.read(8 * i, 8) == data
    reservations.register(pf, KEYS[0])
    pf.set_features(Feature.SW_PROGRESS, 5)
    vf.wait(storm)
    for command in storm:
        command.check()
    vf.write32(Reg.CC, vf.read32(Reg.CC) & ~CC_EN)
    vf.wait_csts(CSTS_RDY, 0, 20_000, "after the storm")
