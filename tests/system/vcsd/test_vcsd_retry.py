# SPDX-License-Identifier: Apache-2.0
"""db_vcsd with an SSD that answers "not now" (docs/host/theory.md, "A second try"): its commands get one more try, and
no more; what says something else gets none. The SSD fails, is reset, goes, and hosts reset and abort meanwhile."""

from __future__ import annotations

import random

import copies
import pytest
from cards import PARAMS, SIZE, card_of
from doorbell.bench.slow_ssd import ITS, MINE, two_slices
from doorbell.device.switch_sim import SwitchSim
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.nvme.driver import Driver
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
DATA = random.Random(17).randbytes(256 << 10)
NOT_NOW = (0x05, 0x07, 0x21, 0x22, 0x82)
DNR = 0x4000
OPS = (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.WRITE_ZEROES, NvmOpc.FLUSH)
NOT_READY = Status.NS_NOT_READY
TIMEOUT_US = PARAMS["SSD_TIMEOUT"] / 250


@pytest.fixture(scope=copies.scope("module"))
def card(make_drive_once: MakeDrive) -> Driver:
    """A card that is up, with a namespace on each SSD; that of SSD 1 begins with DATA."""
    card = make_drive_once(top="db_vcsd", params=PARAMS, media_size=PARAMS["NUM_SSD"] * SIZE)
    card.start(queues=2, entries=64)
    two_slices(card)
    return card


@pytest.fixture
def sim(card: Driver) -> SwitchSim:
    """All is well, and what ITS has is DATA."""
    sim = card_of(card.sim)
    for port in range(2):
        sim.ssds.fault_clear(port=port)
    card.nsid = ITS
    for at in range(0, len(DATA), 64 << 10):
        card.write(at // 512, DATA[at : at + (64 << 10)], qid=ITS)
    return sim


def send(card: Driver, op: NvmOpc, at: int = 0, nsid: int = ITS, data: bytes = b"") -> Command:
    """Of 4 KiB, for one that moves data; it is in a queue of its namespace's."""
    buffer = card.buffer(4096) if op in (NvmOpc.READ, NvmOpc.WRITE) else None
    if buffer and data:
        buffer.write(data)
    lba, blocks = (0, 0) if op == NvmOpc.FLUSH else (at, 7)
    return card.submit(nsid, op, lba, blocks, buffer, nsid=nsid)


def ended(card: Driver, *commands: Command) -> list[int]:
    card.ring()
    card.wait(commands)
    return [c.status for c in commands]


def has(card: Driver, at: int, data: bytes) -> bool:
    return card.read(at, len(data) // 512, qid=ITS) == data


def second_try(card: Driver, sim: SwitchSim) -> None:
    """Until one has begun."""
    before, end = sim.retried, sim.cycle + 50_000
    card.ring()
    while sim.retried == before:
        card.advance(100)
        assert sim.cycle < end


def refused(op: NvmOpc) -> Status:
    return Status.READ_ERROR if op == NvmOpc.READ else Status.WRITE_FAULT


@pytest.mark.parametrize("op", OPS)
def test_one_more_try(card: Driver, sim: SwitchSim, op: NvmOpc) -> None:
    """Once "not now": nobody notices. Twice: the command has failed, and no other."""
    new = DATA[::-1][:4096]
    statuses = NOT_NOW if op == NvmOpc.READ else (NOT_READY,)
    for count, want in ((1, Status.SUCCESS), (2, refused(op))):
        for status in statuses:
            before = sim.retried
            fault = sim.ssds.fault("status", port=1, opcode=op, status=status, count=count)
            commands = [send(card, op, 64, data=new), send(card, NvmOpc.READ, 0, MINE)]
            if op != NvmOpc.READ:  # they would meet it
                commands += [send(card, NvmOpc.READ, at) for at in (0, 8, 16)]
            assert ended(card, *commands) == [want] + [Status.SUCCESS] * (len(commands) - 1), hex(status)
            assert sim.retried == before + 1 and sim.ssds.fault_hits(fault, port=1) == count, hex(status)
            if want == Status.SUCCESS:
                there = {NvmOpc.WRITE: new, NvmOpc.WRITE_ZEROES: bytes(4096)}.get(op, DATA[64 * 512 : 72 * 512])
                assert has(card, 64, there)


@pytest.mark.parametrize("status", [0x281, 0x280, 0x06, 0x08, 0x83, 0x84, 0x182, NOT_READY | DNR, 0x21 | DNR])
def test_what_is_not_tried_again(card: Driver, sim: SwitchSim, status: int) -> None:
    """Errors of media and commands, what lasts, and all that says Do Not Retry: an answer at once."""
    for op in (NvmOpc.READ, NvmOpc.WRITE):
        before = sim.retried
        fault = sim.ssds.fault("status", port=1, opcode=op, status=status)
        assert ended(card, send(card, op)) == [refused(op)]
        assert sim.retried == before and sim.ssds.fault_hits(fault, port=1) == 1
    assert has(card, 8, DATA[8 * 512 : 16 * 512])


def test_many_at_once(card: Driver, sim: SwitchSim) -> None:
    """All of an SSD's commands meet it once, in the middle of those of the other: data are right, all end once."""
    before, counted = sim.retried, 40
    sim.ssds.fault("status", port=1, status=NOT_READY, count=counted, skip=5)
    new = random.Random(5).randbytes(24 << 12)
    commands = []
    for i in range(24):
        commands.append(send(card, NvmOpc.WRITE, 256 + 8 * i, data=new[i << 12 : (i + 1) << 12]))
        commands.append(send(card, NvmOpc.READ, 8 * i))
        commands.append(send(card, NvmOpc.READ, 8 * i, MINE))
    card.ring()
    card.wait(commands)
    assert all(c.status == Status.SUCCESS for c in commands[2::3]), "the other SSD's"
    failed = [c for c in commands if c.status != Status.SUCCESS]  # a second try may meet it, too
    assert sim.retried - before == counted - len(failed) and len(failed) < counted // 2
    for i, c in enumerate(commands):
        at = i // 3 * 8
        if i % 3 == 1 and c.status == Status.SUCCESS:
            assert c.buffer is not None and c.buffer.read() == DATA[at * 512 : at * 512 + 4096]
        if i % 3 == 0 and c.status == Status.SUCCESS:
            assert has(card, 256 + at, new[at * 512 : at * 512 + 4096])


def test_second_try_is_lost(card: Driver, sim: SwitchSim) -> None:
    """The timeout is that of each try; then Abort, and the command has failed: no third one."""
    before = sim.retried
    sim.ssds.fault("late", port=1, delay_us=0.7 * TIMEOUT_US)  # one that is slow, and good
    begun = sim.ns
    assert ended(card, send(card, NvmOpc.READ)) == [Status.SUCCESS]
    slow_us = (sim.ns - begun) / 1000
    sim.ssds.fault("status", port=1, status=NOT_READY)
    lost = sim.ssds.fault("lost", port=1)
    begun = sim.ns
    assert ended(card, send(card, NvmOpc.READ)) == [Status.READ_ERROR]
    assert slow_us < TIMEOUT_US < (sim.ns - begun) / 1000 < 1.2 * TIMEOUT_US + 100
    assert sim.retried == before + 1 and sim.ssds.fault_hits(lost, port=1) == 1 and sim.up == 3
    assert has(card, 0, DATA[:4096])


def test_what_was_late_is_not_tried_again(card: Driver, sim: SwitchSim) -> None:
    """It has been aborted, and ends with 07h: that is no "not now"."""
    before = sim.retried
    lost = sim.ssds.fault("lost", port=1)
    assert ended(card, send(card, NvmOpc.READ)) == [Status.READ_ERROR]
    assert sim.retried == before and sim.ssds.fault_hits(lost, port=1) == 1


def test_the_ssd_is_reset_meanwhile(card: Driver, sim: SwitchSim) -> None:
    """Its controller fails under the second try: what it took is repeated, as ever."""
    new, before = DATA[::-1][:4096], sim.retried
    sim.ssds.fault("status", port=1, opcode=NvmOpc.WRITE, status=NOT_READY)
    hang = sim.ssds.fault("hang", port=1, opcode=NvmOpc.WRITE)
    commands = [send(card, NvmOpc.WRITE, 0, data=new), *(send(card, NvmOpc.READ, at) for at in (32, 40))]
    assert ended(card, *commands, send(card, NvmOpc.READ, 0, MINE)) == [Status.SUCCESS] * 4
    assert sim.retried == before + 1 and sim.ssds.fault_hits(hang, port=1) == 1 and sim.up == 3
    assert has(card, 0, new + DATA[4096:16384])


@pytest.mark.parametrize("kind", ["link", "vanish"])
def test_the_ssd_goes_meanwhile(card: Driver, sim: SwitchSim, kind: str) -> None:
    """It costs its own commands; it comes back, and works."""
    before = sim.retried
    sim.ssds.fault("status", port=1, opcode=NvmOpc.READ, status=NOT_READY)
    if kind == "vanish":
        sim.ssds.fault("vanish", port=1, opcode=NvmOpc.READ)
    else:
        sim.ssds.fault("late", port=1, opcode=NvmOpc.READ, delay_us=100)
    command = send(card, NvmOpc.READ)
    second_try(card, sim)
    card.advance(3000)
    if kind == "link":
        sim.ssds.link(False, port=1)
    assert ended(card, command, send(card, NvmOpc.READ, 0, MINE)) == [Status.READ_ERROR, Status.SUCCESS]
    sim.ssds.fault_clear(port=1)
    sim.ssds.link(False, port=1)
    card.advance(1000)
    sim.ssds.link(True, port=1)
    while sim.up != 3:
        card.advance(1000)
    assert has(card, 0, DATA[:4096]) and sim.retried == before + 1


@pytest.mark.parametrize("how", ["disable", "delete", "abort"])
def test_the_host_does_not_wait_for_it(card: Driver, sim: SwitchSim, how: str) -> None:
    """A reset, a deleted queue, an Abort are answered at once, and a Write of before never lands on one of after."""
    before = sim.retried
    sim.ssds.fault("status", port=1, opcode=NvmOpc.WRITE, status=NOT_READY, count=1)
    sim.ssds.fault("late", port=1, opcode=NvmOpc.WRITE, delay_us=200, count=1)
    old = [send(card, NvmOpc.WRITE, 8 * i, data=bytes([i + 1]) * 4096) for i in range(3)]
    second_try(card, sim)
    card.advance(500)
    begun = sim.ns
    if how == "disable":
        card.disable()
    elif how == "delete":
        card.delete_sq(ITS)
    else:
        card.abort(ITS, old[0].cid)
    assert sim.ns - begun < 100_000, "it waited for the SSD"
    if how == "disable":
        card.start(queues=2, entries=64)
    elif how == "delete":
        card.create_sq(ITS, 64, ITS)
    card.nsid = ITS
    card.write(0, DATA[4096:8192], qid=ITS)
    if how == "abort":
        card.wait(old)
        assert old[0].status in (Status.ABORT_REQUESTED, Status.SUCCESS)
    card.advance(100_000)
    assert how == "abort" or has(card, 0, DATA[4096:8192])
    assert ended(card, send(card, NvmOpc.READ, 0, MINE)) == [Status.SUCCESS] and sim.retried == before + 1


@pytest.mark.nightly
def test_without_failures_nothing_changes(make_drive: MakeDrive) -> None:
    """To the cycle, beside a card that never tries again; which then says so of the first "not now"."""
    seen = []
    for retry in (1, 0):
        card = make_drive(top="db_vcsd", params=PARAMS | {"SSD_RETRY": retry}, media_size=PARAMS["NUM_SSD"] * SIZE)
        card.start(queues=2, entries=64)
        two_slices(card)
        commands = [send(card, OPS[i % 4], 8 * i, (MINE, ITS)[i % 2]) for i in range(48)]
        card.ring()
        card.wait(commands)
        sim = card_of(card.sim)
        seen.append((sim.cycle, [c.done_ns for c in commands], sim.counters()))
        assert sim.retried == 0
        sim.ssds.fault("status", port=1, status=NOT_READY)
        assert ended(card, send(card, NvmOpc.READ)) == [Status.SUCCESS if retry else Status.READ_ERROR]
        assert sim.retried == retry
    assert seen[0] == seen[1]
