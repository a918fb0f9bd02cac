# SPDX-License-Identifier: Apache-2.0
"""Nobody stops anybody: slow media, queues that nobody reads and deletions cost their owners alone."""

from __future__ import annotations

import random

import pytest
from doorbell.nvme import namespaces
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import CC_EN, CSTS_RDY, AdminOpc, Feature, NvmOpc, Reg, Status
from doorbell.nvme.driver import Driver
from test_ssd_reset import quiet
from traffic import NARROW, MakeDrive, Traffic, media_of, unread

CYCLES_US = 250
ZERO_US = 2_000  # the media's time for the zeroes below


def slow_zero(drive: Driver, qid: int = 1) -> Command:
    """A Write Zeroes of LBA 0 to 3 that is under way, and takes ZERO_US."""
    command = drive.submit(qid, NvmOpc.WRITE_ZEROES, 0, 3, ring=True)
    drive.advance(2_000)
    assert not command.done
    return command


def slow_media(make_drive: MakeDrive, **options: int) -> Driver:
    return make_drive(media_zero_gbps=2048 / (ZERO_US * 1000), **options)


def took_us(drive: Driver, since: int) -> float:
    return (drive.sim.cycle - since) / CYCLES_US


@pytest.mark.rtl
@pytest.mark.parametrize("kind", ["disable", "flr"])
def test_reset_does_not_wait_for_the_media(make_drive: MakeDrive, kind: str) -> None:
    """The host is told at once that nothing touches its memory; the controller is ready again when the media has ended,
    so what is written then is not zeroed."""
    drive = slow_media(make_drive)
    drive.start(queues=1, entries=16)
    zero = slow_zero(drive)
    begun = drive.sim.cycle
    lost = drive.disable() if kind == "disable" else drive.flr()
    assert lost == [zero] and took_us(drive, begun) < 100
    quiet(drive, 2_500)
    assert drive.read32(Reg.CC) & CC_EN == 0 and drive.read32(Reg.CSTS) & CSTS_RDY == 0
    drive.start(queues=1, entries=16)
    assert took_us(drive, begun) > ZERO_US - 100, "ready while the media still works on what was there before"
    data = random.Random(1).randbytes(2048)
    drive.write(0, data)
    drive.advance(3 * ZERO_US * CYCLES_US // 2)
    assert drive.read(0, 4) == data


@pytest.mark.rtl
def test_reset_while_the_last_one_waits_for_the_media(make_drive: MakeDrive) -> None:
    """Disabled, enabled, reset, enabled while the media works: each is answered at once, and then it is ready."""
    drive = slow_media(make_drive)
    drive.start(queues=1, entries=16)
    slow_zero(drive)
    begun = drive.sim.cycle
    drive.disable()
    drive.write32(Reg.CC, drive.read32(Reg.CC) | CC_EN)
    drive.advance(1_000)
    drive.disable()
    drive.flr()
    drive.flr()
    assert took_us(drive, begun) < 300
    drive.start(queues=1, entries=16)
    assert took_us(drive, begun) > ZERO_US - 100
    drive.write(0, bytes(512))


def test_delete_a_queue_whose_completions_nobody_reads(make_drive: MakeDrive) -> None:
    drive = make_drive()
    unread(drive)
    begun = drive.sim.cycle
    lost = drive.delete_sq(1)
    assert len(lost) >= 37 and took_us(drive, begun) < 1_000
    quiet(drive)
    drive.delete_cq(1)
    drive.create_cq(1, 64, 1)
    drive.create_sq(1, 64, 1)
    data = random.Random(2).randbytes(4096)
    drive.write(0, data)
    assert drive.read(0, 8, qid=2) == data


@pytest.mark.rtl
def test_delete_a_queue_behind_slow_media(make_drive: MakeDrive) -> None:
    """Writes of a queue wait behind a zeroing that takes 2 ms. Delete does not: its commands are over for the host, and
    nothing touches the host's memory for them. Another queue's write behind them is not hurt; the queue can be made
    again when the media has let go of its old commands."""
    drive = slow_media(make_drive)
    drive.start(queues=2, entries=64)
    buffer = drive.buffer(128 << 10)
    slow_zero(drive)
    waiting = [drive.submit(1, NvmOpc.WRITE, 1024 + 256 * i, 255, buffer, ring=True) for i in range(20)]
    waiting += [drive.submit(1, NvmOpc.WRITE_ZEROES, 0, 3, ring=True), drive.submit(1, NvmOpc.FLUSH, ring=True)]
    drive.advance(2_000)
    other = drive.buffer(4096)
    other.write(random.Random(3).randbytes(4096))
    beside = drive.submit(2, NvmOpc.WRITE, 64, 7, other, ring=True)
    drive.advance(2_000)
    begun = drive.sim.cycle
    lost = drive.delete_sq(1)
    assert took_us(drive, begun) < 1_000 / 4 and len(lost) == len(waiting) + 1
    assert not beside.done
    before = drive.sim.counters()
    quiet_memory = drive.memory.snapshot()
    drive.advance(100_000)
    after = drive.sim.counters()
    assert {k: after[k] - before[k] for k in ("up.MRd.tlps", "up.MWr.tlps")} == {"up.MRd.tlps": 0, "up.MWr.tlps": 0}
    assert drive.memory.snapshot() == quiet_memory
    drive.create_sq(1, 64, 1)
    assert took_us(drive, begun) > ZERO_US - 200, "made again while engines have commands of the old one"
    drive.run(beside)
    assert drive.read(64, 8) == other.read()
    assert took_us(drive, begun) < ZERO_US + 500, "media commands of the deleted queue were carried out"


@pytest.mark.rtl
def test_deletion_drops_reads_that_wait_for_the_media(make_drive: MakeDrive) -> None:
    """Delete with Reads at every stage: none of their data arrives afterwards; another queue's lose nothing."""
    drive = make_drive(media_latency_ns=50_000)
    drive.start(queues=2, entries=64)
    data = random.Random(5).randbytes(1 << 16)
    drive.write(0, data, qid=2)
    for wait in (0, 100, 1_000, 5_000, 12_000, 12_300, 13_000):
        buffers = [drive.buffer(16 << 10) for _ in range(16)]
        for i, buffer in enumerate(buffers):
            drive.submit(1, NvmOpc.READ, 32 * (i % 4), 31, buffer, ring=True)
        beside = drive.buffer(1 << 16)
        command = drive.submit(2, NvmOpc.READ, 0, 127, beside, ring=True)
        drive.advance(wait)
        begun = drive.sim.cycle
        drive.delete_sq(1)
        assert took_us(drive, begun) < 1_000 / 4
        for buffer in buffers:
            buffer.write(bytes(16 << 10))
        drive.run(command)
        drive.advance(50_000)
        assert not any(any(buffer.read()) for buffer in buffers), f"data came after the deletion, {wait} cycles"
        assert beside.read() == data
        for buffer in (*buffers, beside):
            buffer.free()
        drive.create_sq(1, 64, 1)


@pytest.mark.rtl
def test_abort(make_drive: MakeDrive) -> None:
    """A command that waits, one that the media is at, and one that is over: the answer says what became of it."""
    drive = slow_media(make_drive)
    drive.start(queues=2, entries=64)
    drive.write(64, b"old." * 128)
    buffer = drive.buffer(512)
    buffer.write(b"new." * 128)
    done = drive.submit(1, NvmOpc.READ, 64, 0, drive.buffer(512), ring=True)
    drive.run(done)
    zero = slow_zero(drive)
    write = drive.submit(1, NvmOpc.WRITE, 64, 0, buffer, ring=True)
    flush = drive.submit(1, NvmOpc.FLUSH, ring=True)
    drive.advance(2_000)
    begun = drive.sim.cycle
    for command in (flush, zero):
        assert drive.abort(1, command.cid)
        drive.poll()
        assert command.done and command.status == Status.ABORT_REQUESTED
    assert took_us(drive, begun) < 100
    assert not drive.abort(1, done.cid) and not drive.abort(2, write.cid)
    assert not drive.abort(1, flush.cid), "a command ends once"
    drive.run(write)
    assert drive.read(64, 1) == buffer.read()
    assert took_us(drive, begun) > ZERO_US - 200
    # The slots of what was aborted are free again.
    commands = [drive.submit(1, NvmOpc.READ, 64, 0, buffer, ring=True) for _ in range(60)]
    drive.run(*commands)


def send_abort(drive: Driver, cid: int) -> Command:
    """Of a command of queue 1."""
    return drive.submit(0, AdminOpc.ABORT, ring=True, cdw10=1 | cid << 16)


@pytest.mark.rtl
def test_abort_of_commands_that_their_queue_holds(make_drive: MakeDrive) -> None:
    """A queue with its largest share of slots behind slow media: what it still holds is not fetched, and is aborted
    when it is. Its Abort waits, and nobody else does."""
    drive = slow_media(make_drive)
    drive.start(queues=2, entries=256)
    slow_zero(drive)
    begun = drive.sim.cycle
    flushes = [drive.submit(1, NvmOpc.FLUSH, ring=True) for _ in range(120)]
    drive.advance(5_000)
    victims = [flushes[i] for i in (119, 100, 118)]
    answers = [send_abort(drive, victim.cid) for victim in victims]
    gone = send_abort(drive, 0x7FFF)
    drive.advance(20_000)
    beyond = send_abort(drive, victims[0].cid)
    drive.wait([beyond])
    assert beyond.status == Status.ABORT_LIMIT
    drive.advance(20_000)
    drive.identify(1)
    drive.read(64, 1, qid=2)
    assert took_us(drive, begun) < ZERO_US / 4
    assert not any(c.done for c in (*answers, *flushes, gone))
    drive.run(*answers, gone)
    assert [c.dw0 for c in (*answers, gone)] == [0, 0, 0, 1]
    drive.wait(flushes)
    assert {c.cid for c in flushes if c.status} == {c.cid for c in victims}
    assert {c.status for c in victims} == {Status.ABORT_REQUESTED}
    # An identifier that comes again behind the entries that are watched is another command.
    slow_zero(drive)
    flushes = [drive.submit(1, NvmOpc.FLUSH, ring=True) for _ in range(80)]
    drive.advance(5_000)
    answer = send_abort(drive, 0x7FFF)
    drive.advance(20_000)
    assert drive.abort(1, flushes[0].cid), "one that is inside waits for no other Abort"
    del flushes[0]
    later = drive.submit(1, NvmOpc.FLUSH, ring=True, cid=0x7FFF)
    drive.run(answer, later, *flushes)
    assert answer.dw0 == 1


def test_abort_and_deletion_at_once(make_drive: MakeDrive) -> None:
    """An Abort whose queue goes meanwhile is answered, and keeps no other command waiting."""
    drive = make_drive(host_latency_ns=20_000)  # so what was sent for other commands is long under way
    drive.start(queues=2, entries=256)
    buffer = drive.buffer(4096)
    for _ in range(2):
        commands = [drive.submit(1, NvmOpc.WRITE, 8 * i, 7, buffer, ring=True) for i in range(90)]
        drive.advance(12_000)
        begun = drive.sim.cycle
        answers = [drive.submit(0, AdminOpc.ABORT, cdw10=1 | commands[i].cid << 16) for i in (60, 89, 61)]
        drive.delete_sq(1)
        drive.run(*answers)
        assert took_us(drive, begun) < 1_000
        drive.create_sq(1, 256, 1)


@pytest.mark.rtl
def test_abort_beside_traffic(make_drive: MakeDrive) -> None:
    """Aborts of random commands under load: each command ends once, as its Abort says, and the data is as promised."""
    drive = make_drive()
    drive.start(queues=4, entries=64)
    rng = random.Random(7)
    traffic = Traffic(drive, media_of(drive), seed=7, region=2048, largest=64 << 10,
                      tolerate=frozenset({Status.ABORT_REQUESTED}))  # fmt: skip
    ended = 0
    for _ in range(40):
        traffic.start(rng.randint(20, 60), 30)
        qid = rng.randint(1, 4)
        pending = list(drive.sqs[qid].pending.values())
        if not pending:
            continue
        victim = rng.choice(pending)
        if drive.abort(qid, victim.cid):
            ended += 1
            drive.poll(everything=True)
            assert victim.done and victim.status == Status.ABORT_REQUESTED
        drive.wait(list(traffic.sent))
    assert ended > 5
    traffic.read_all()
    drive.stop()


@pytest.mark.rtl
def test_format_holds_its_namespace_alone(make_drive: MakeDrive) -> None:
    """While namespace 2 is formatted on slow media, its commands end at once and say so; namespace 1 and the admin
    queue go on as if nothing were."""
    small = {"media_size": 16 << 20}  # it is zeroed, slowly
    drive = make_drive(**NARROW, media_zero_gbps=2, **small)
    drive.start(queues=2, entries=64)
    namespaces.delete(drive)
    for _ in range(2):
        namespaces.attach(drive, namespaces.create(drive, 8192))
    drive.identify_all()
    data = random.Random(9).randbytes(4096)
    drive.write(0, data)
    begun = drive.sim.cycle
    formatting = drive.submit(0, AdminOpc.FORMAT_NVM, nsid=2, ring=True, cdw10=1)
    drive.advance(10_000)
    worst = 0.0
    for _ in range(20):
        since = drive.sim.cycle
        assert drive.read(0, 8) == data
        drive.write(8, data, qid=2)
        drive.identify(1)
        worst = max(worst, took_us(drive, since))
        refused = drive.submit(1, NvmOpc.READ, 0, 0, drive.buffer(4096), nsid=2, ring=True)
        drive.wait([refused])
        assert refused.status == Status.FORMAT_IN_PROGRESS
        assert not formatting.done
    assert worst < 300
    drive.run(formatting)
    assert took_us(drive, begun) > 1_000
    drive.identify_all()
    buffer = drive.buffer(4096)
    drive.run(drive.submit(1, NvmOpc.READ, 0, 0, buffer, nsid=2, ring=True))
    assert not any(buffer.read())


@pytest.mark.rtl
def test_saving_behind_slow_media(make_drive: MakeDrive) -> None:
    """Settings are saved when the media has time for it: that command waits, and no other admin command does. A reset
    meanwhile ends it, and the next enable saves what it had set."""
    drive = slow_media(make_drive)
    drive.start(queues=1, entries=16)
    for reset in (False, True):
        zero = slow_zero(drive)
        begun = drive.sim.cycle
        value = 0x05040305 + reset
        setting = drive.submit(0, AdminOpc.SET_FEATURES, ring=True, nsid=0,
                               cdw10=Feature.ARBITRATION | 1 << 31, cdw11=value)  # fmt: skip
        cache = drive.submit(0, AdminOpc.SET_FEATURES, ring=True, nsid=0, cdw10=Feature.VOLATILE_WC, cdw11=0)
        for _ in range(5):
            since = drive.sim.cycle
            drive.identify(1)
            assert drive.get_features(Feature.ARBITRATION) == value
            assert took_us(drive, since) < 300
        assert not setting.done and not cache.done and not zero.done and took_us(drive, begun) < ZERO_US / 2
        if reset:
            drive.disable()
            drive.start(queues=1, entries=16)
        else:
            drive.run(setting, cache, zero)
        assert drive.get_features(Feature.ARBITRATION, select=2) == value
        drive.disable()
        drive.start(queues=1, entries=16)
        assert drive.get_features(Feature.ARBITRATION) == value


def test_saving_beside_flushes(make_drive: MakeDrive) -> None:
    """The media gets no command while a word of the settings is on its way: it has answered every write before."""
    drive = make_drive(media_latency_ns=1_000)
    drive.start(queues=1, entries=64)
    flushes = [drive.submit(1, NvmOpc.FLUSH, ring=True) for _ in range(8)]
    setting = drive.submit(0, AdminOpc.SET_FEATURES, ring=True, nsid=0,
                           cdw10=Feature.ARBITRATION | 1 << 31, cdw11=0x05040305)  # fmt: skip
    begun = len(flushes)
    while not setting.done:
        drive.advance(50)
        drive.poll(everything=True)
        flushes += [drive.submit(1, NvmOpc.FLUSH, ring=True) for c in flushes[-8:] if c.done]
    drive.run(*flushes)
    assert len(flushes) > begun + 20


def test_format_beside_a_queue_that_nobody_reads(make_drive: MakeDrive) -> None:
    """Commands that wait for room in their completion queue are done: a format does not wait for them."""
    drive = make_drive()
    commands = unread(drive, 20)
    begun = drive.sim.cycle
    drive.format(0)
    assert took_us(drive, begun) < 2_000
    drive.write(0, bytes(512), qid=2)
    drive.cqs[1].hold = False
    drive.poll(everything=True)
    drive.run(*commands)


@pytest.mark.nightly
@pytest.mark.rtl
def test_abort_of_what_nobody_fetches(make_drive: MakeDrive) -> None:
    """A queue has its largest share of slots, and nobody reads its completion queue: so what it still holds does not
    come. An Abort of it is answered all the same: not aborted; and so it is, when the entries are read at last."""
    drive = make_drive()
    drive.start(queues=2, entries=256, cq_entries=4)
    buffer = drive.buffer(512)
    drive.cqs[1].hold = True
    commands = [drive.submit(1, NvmOpc.READ, slba=i, buffer=buffer, ring=True) for i in range(120)]
    drive.advance(50_000)
    begun = drive.sim.cycle
    answers = [send_abort(drive, commands[i].cid) for i in (119, 100, 118, 90)]
    drive.wait(answers, timeout_us=1_000_000)
    assert [c.dw0 for c in answers] == [1] * 4 and took_us(drive, begun) < 500_000
    drive.cqs[1].hold = False
    drive.poll(everything=True)
    drive.wait(commands)
    assert all(c.status == Status.SUCCESS for c in commands)
