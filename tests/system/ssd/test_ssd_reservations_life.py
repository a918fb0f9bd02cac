# SPDX-License-Identifier: Apache-2.0
"""What reservations outlast, and what becomes of commands while they come and go: power, resets of functions, Abort,
deleted queues, Preempt and Abort (Base 2.0, 7.2, 8.19)."""

from __future__ import annotations

import pytest
from doorbell.nvme import reservations, virtualization
from doorbell.nvme.commands import Command, expect
from doorbell.nvme.constants import (
    CC_EN,
    CSTS_RDY,
    Feature,
    NvmOpc,
    Reg,
    ResvAcquire,
    ResvPtpl,
    ResvRegister,
    ResvType,
    Status,
)
from doorbell.nvme.driver import Driver
from owners import bring_up_functions
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
NUM_FN = 3
MEMORY = 16 << 20
OK, CONFLICT = Status.SUCCESS, Status.RESV_CONFLICT
HOSTS = (0xA, 0xB, 0xC)
KEYS = (0x1111_0000_AAAA_0001, 0x2222_0000_BBBB_0002, 0x3333_0000_CCCC_0003)
QUEUES = {0: 2, 1: 1, 2: 1}
SLOW = {"media_latency_ns": 200_000}


def opened(make_drive: MakeDrive, **more: int) -> list[Driver]:
    pf = make_drive(num_fn=NUM_FN, memory=MEMORY, params={"NUM_NS": NUM_FN}, media_size=32 << 20, **more)
    found = bring_up_functions(pf, queues=QUEUES, entries=32, memory=MEMORY)
    name(found)
    return found


def name(drives: list[Driver]) -> None:
    for drive, host in zip(drives, HOSTS, strict=True):
        reservations.set_host_id(drive, host)


@pytest.fixture
def drives(make_drive: MakeDrive) -> list[Driver]:
    return opened(make_drive)


def power_cycle(drives: list[Driver]) -> None:
    """All are up again, and nobody has said who it is."""
    pf = drives[0]
    pf.sim.reset()
    for drive in drives:
        drive._forget_queues()
    pf.start(queues=QUEUES[0], entries=32)
    pf.sim.enable_vfs(NUM_FN - 1)
    for fn, vf in enumerate(drives[1:], 1):
        virtualization.assign(pf, fn, queues=QUEUES[fn], interrupts=2)
        virtualization.online(pf, fn)
        vf.start(queues=QUEUES[fn], entries=32, vectors=1)


def writes(drive: Driver) -> bool:
    command = drive.submit(1, NvmOpc.WRITE_ZEROES, 0, 0, ring=True)
    drive.wait([command])
    expect(command, OK, CONFLICT)
    return command.status == OK


def rows(drive: Driver) -> set[tuple[int, bool, int, int]]:
    return {(c.cntlid, c.holder, c.hostid, c.key) for c in reservations.report(drive).controllers}


def test_power(drives: list[Driver]) -> None:
    """Persistence on, by Register, and off, by the feature."""
    pf, vf, _ = drives
    reservations.register(pf, KEYS[0])
    reservations.register(vf, KEYS[1], ptpl=ResvPtpl.SET)
    reservations.acquire(vf, KEYS[1], ResvType.WRITE_EXCLUSIVE_REGISTRANTS)
    before = reservations.report(pf)
    assert before.persists and pf.get_features(Feature.RESV_PERSIST, nsid=1) == 1
    power_cycle(drives)
    assert [writes(d) for d in drives] == [False] * 3, "it holds before any host has said who it is"
    assert rows(pf) == {(0xFFFF, False, HOSTS[0], KEYS[0]), (0xFFFF, True, HOSTS[1], KEYS[1])}
    name(drives)
    assert reservations.report(pf) == before
    assert [writes(d) for d in drives] == [True, True, False]
    drives[2].set_features(Feature.RESV_PERSIST, 0, nsid=1)
    assert not reservations.report(pf).persists
    assert [writes(d) for d in drives] == [True, True, False]
    power_cycle(drives)
    name(drives)
    assert reservations.report(pf) == reservations.Report(0, 0, False, [])
    assert [writes(d) for d in drives] == [True] * 3


def test_host_0_does_not_outlast_power(drives: list[Driver]) -> None:
    pf, vf, _ = drives
    reservations.set_host_id(vf, 0)
    reservations.register(pf, KEYS[0], ptpl=ResvPtpl.SET)
    reservations.register(vf, KEYS[1])
    power_cycle(drives)
    name(drives)
    assert rows(pf) == {(0, False, HOSTS[0], KEYS[0])}


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


@pytest.mark.parametrize("how", ["disable", "flr", "delete"])
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
    pf, vf, other = drives = opened(make_drive, **SLOW)
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
