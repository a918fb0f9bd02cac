# SPDX-License-Identifier: Apache-2.0
"""db_vcsd with an SSD that takes its time, or never answers: it costs its own namespaces, and no other's reads, writes,
flushes and zeroes. Resets, Aborts, deleted queues and an SSD that dies, while its commands wait."""

from __future__ import annotations

import random

import copies
import pytest
from cards import PARAMS, SIZE, card_of
from doorbell.bench.slow_ssd import ITS, MINE, commands_of_the_slow, measure, two_slices
from doorbell.nvme.constants import Cns, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.structures import IdCtrlNvm
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
DATA = random.Random(7).randbytes(256 << 10)


@pytest.fixture(scope=copies.scope("module"))
def slices(make_drive_once: MakeDrive) -> Driver:
    """A card that is up, with a namespace on each SSD that begins with DATA."""
    card = make_drive_once(top="db_vcsd", params=PARAMS, media_size=PARAMS["NUM_SSD"] * SIZE)
    card.start(queues=2, entries=64)
    two_slices(card)
    written(card)
    return card


def written(card: Driver) -> None:
    for nsid in (MINE, ITS):
        card.nsid = nsid
        for at in range(0, len(DATA), 64 << 10):
            card.write(at // 512, DATA[at : at + (64 << 10)])
    card.nsid = MINE


def never_answers(card: Driver) -> None:
    card_of(card.sim).ssds.fault("lost", port=1, count=None)


@pytest.mark.parametrize("beside", [NvmOpc.READ, pytest.param(NvmOpc.VERIFY, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("depth", "count"), [(1, 12), (32, 250)])  # while no command is late
def test_reads_beside_an_ssd_that_does_not_answer(slices: Driver, depth: int, count: int, beside: NvmOpc) -> None:
    alone = measure(slices, NvmOpc.READ, depth, count)
    never_answers(slices)
    commands_of_the_slow(slices, beside, 32)
    slices.advance(2000)
    seen = measure(slices, NvmOpc.READ, depth, count)
    assert len(slices.sqs[ITS].pending) == 32, "the other SSD has answered nothing"
    assert seen.p99_us <= 1.05 * alone.p99_us and seen.mb_s >= 0.95 * alone.mb_s, (alone, seen)


@pytest.mark.parametrize(("what", "beside"), [
    (NvmOpc.WRITE, NvmOpc.WRITE), (NvmOpc.READ, NvmOpc.WRITE), (NvmOpc.WRITE, NvmOpc.FLUSH),
    (NvmOpc.WRITE, NvmOpc.WRITE_ZEROES), (NvmOpc.WRITE, NvmOpc.DSM),
    pytest.param(NvmOpc.WRITE, NvmOpc.READ, marks=pytest.mark.nightly),
    pytest.param(NvmOpc.READ, NvmOpc.FLUSH, marks=pytest.mark.nightly),
])  # fmt: skip
def test_writes_and_flushes_too(slices: Driver, what: NvmOpc, beside: NvmOpc) -> None:
    alone = measure(slices, what, 32, 200)
    never_answers(slices)
    commands_of_the_slow(slices, beside, 32)
    slices.advance(14_000)  # until its commands have gone as far as they can
    seen = measure(slices, what, 32, 200)
    slices.flush()
    assert len(slices.sqs[ITS].pending) == 32, "the other SSD has answered nothing"
    assert seen.p99_us <= 1.05 * alone.p99_us and seen.mb_s >= 0.95 * alone.mb_s, (alone, seen)


@pytest.mark.parametrize("beside", [NvmOpc.WRITE, NvmOpc.WRITE_ZEROES, NvmOpc.DSM])
def test_zeroes_beside_an_ssd_that_does_not_answer(slices: Driver, beside: NvmOpc) -> None:
    never_answers(slices)
    commands_of_the_slow(slices, beside, 32)
    slices.advance(3000)
    slices.run(slices.submit(MINE, NvmOpc.WRITE_ZEROES, 0, 7))
    slices.run(slices.submit(MINE, NvmOpc.WRITE_ZEROES, 8, 7 | 1 << 30))
    slices.deallocate([(8 * i, 8) for i in (2, 3, 5)])
    want = bytes(32 * 512) + DATA[32 * 512 : 40 * 512] + bytes(8 * 512) + DATA[48 * 512 : 64 * 512]
    assert slices.read(0, 64) == want
    assert len(slices.sqs[ITS].pending) == 32, "the other SSD has answered nothing"


def test_writes_that_wait_are_there(slices: Driver) -> None:
    """More of them than an SSD's ring has room for, FUA among them; the SSD takes its time, then all are there. A reset
    meanwhile does not wait for it, and none is written after one of the controller that is."""
    ssds = card_of(slices.sim).ssds
    ssds.fault("late", port=1, count=60, delay_us=150)
    slices.nsid = ITS
    written = random.Random(11).randbytes(40 << 12)
    buffers = []
    for i in range(40):
        buffers.append(slices.buffer(4096))
        buffers[-1].write(written[i << 12 : (i + 1) << 12])
        slices.submit(ITS, NvmOpc.WRITE, 8 * i, 7 | (1 << 30 if i % 5 == 0 else 0), buffers[-1], nsid=ITS)
    slices.ring()
    slices.wait(list(slices.sqs[ITS].pending.values()))
    assert slices.read(0, 320, qid=ITS) == written
    ssds.fault("late", port=1, count=60, delay_us=150)
    for i in range(40):
        slices.submit(ITS, NvmOpc.WRITE, 8 * i, 7, buffers[39 - i], nsid=ITS)
    slices.ring()
    slices.advance(3000)
    begun = slices.sim.ns
    slices.disable()
    assert slices.sim.ns - begun < 100_000, "it waited for the SSD"
    slices.start(queues=2, entries=64)
    slices.write(0, written)
    slices.flush()
    assert slices.read(0, 320) == written


def test_zeroes_that_wait_are_done_once(slices: Driver) -> None:
    """The SSD takes its time; then all that was to be zeroed is, nothing else, and what is written after it stays."""
    ssds = card_of(slices.sim).ssds
    slices.nsid = ITS
    slices.write(0, DATA[: 128 << 10])
    ssds.fault("late", port=1, count=20, delay_us=150)
    zeroes = slices.submit(ITS, NvmOpc.WRITE_ZEROES, 16, 31, nsid=ITS)
    slices.ring()
    slices.dsm_try([(64, 8), (80, 1), (128, 0), (100, 4)], qid=ITS).check()
    slices.wait([zeroes])
    want = bytearray(DATA[: 128 << 10])
    for first, blocks in ((16, 32), (64, 8), (80, 1), (100, 4)):
        want[first * 512 : (first + blocks) * 512] = bytes(blocks * 512)
    assert slices.read(0, 256, qid=ITS) == want
    # a reset in the middle does not wait for the SSD; what is written after it is not zeroed by what was before
    ssds.fault("late", port=1, count=20, delay_us=150)
    for i in range(8):
        slices.submit(ITS, NvmOpc.WRITE_ZEROES, 8 * i, 7 | (1 << 30 if i % 2 else 0), nsid=ITS)
    slices.ring()
    slices.advance(3000)
    begun = slices.sim.ns
    slices.disable()
    assert slices.sim.ns - begun < 100_000, "it waited for the SSD"
    slices.start(queues=2, entries=64)
    slices.write(0, DATA[: 128 << 10])
    assert slices.read(0, 256) == DATA[: 128 << 10]


def test_more_ranges_than_are_kept_are_refused(slices: Driver) -> None:
    """As Identify says (DMRL); none of them is zeroed then. One that is out of range spares all, too."""
    limit = IdCtrlNvm.from_buffer_copy(slices.identify(Cns.CSI_CTRL)).dmrl
    assert limit == 16
    slices.write(0, DATA[: 64 << 10])
    for ranges, status in (
        ([(i, 1) for i in range(limit + 1)], Status.SIZE_LIMIT),
        ([(0, 8), (1 << 40, 8)], Status.LBA_RANGE),
        ([(i, 0) for i in range(limit)], Status.SUCCESS),
    ):
        assert slices.dsm_try(ranges).status == status
        assert slices.read(0, 128) == DATA[: 64 << 10]


def test_compares_and_verifies_pass_too(slices: Driver) -> None:
    """Of all that reads: what an SSD that does not answer has, and what passes it on the other, with its answers."""
    never_answers(slices)
    commands_of_the_slow(slices, NvmOpc.READ, 8)
    commands_of_the_slow(slices, NvmOpc.COMPARE, 8)
    good, bad = slices.buffer(4096), slices.buffer(4096)
    good.write(DATA[8 * 512 : 16 * 512])
    commands = []
    for _ in range(3):
        for opcode, buffer in (
            (NvmOpc.COMPARE, good),
            (NvmOpc.COMPARE, bad),
            (NvmOpc.VERIFY, None),
            (NvmOpc.READ, slices.buffer(4096)),
        ):
            commands.append(slices.submit(1, opcode, 8, 7, buffer))
    slices.ring()
    slices.wait(commands)
    assert [c.status for c in commands] == [Status.SUCCESS, Status.COMPARE_FAILED, Status.SUCCESS, Status.SUCCESS] * 3
    assert len(slices.sqs[ITS].pending) == 16
    assert slices.read(0, 256) == DATA[: 256 * 512]


def test_a_reset_does_not_wait_for_an_ssd(slices: Driver) -> None:
    """And what it reads for the controller that was, the one that is does not get."""
    ssds = card_of(slices.sim).ssds
    ssds.fault("late", port=1, count=40, delay_us=150)
    for turn in range(3):
        commands_of_the_slow(slices, NvmOpc.READ, 24)
        slices.advance(random.Random(turn).randrange(6000))
        begun = slices.sim.ns
        slices.disable()
        assert slices.sim.ns - begun < 100_000, "it waited for the SSD"
        slices.start(queues=2, entries=64)
        assert slices.read(8, 64) == DATA[8 * 512 : 72 * 512]
        slices.nsid = ITS
        assert slices.read(8 + turn, 64) == DATA[(8 + turn) * 512 : (72 + turn) * 512]
        slices.nsid = MINE


def test_queues_go_and_commands_are_aborted_while_they_wait(slices: Driver) -> None:
    ssds = card_of(slices.sim).ssds
    ssds.fault("late", port=1, count=12, delay_us=150)
    waiting = commands_of_the_slow(slices, NvmOpc.READ, 12)
    slices.advance(2000)
    slices.abort(ITS, waiting[3].cid)
    slices.delete_sq(ITS)
    assert slices.read(0, 8) == DATA[:4096]
    slices.create_sq(ITS, 64, ITS)
    slices.nsid = ITS
    assert slices.read(16, 64, qid=ITS) == DATA[16 * 512 : 80 * 512]


def test_an_ssd_dies_while_commands_wait(slices: Driver) -> None:
    sim = card_of(slices.sim)
    never_answers(slices)
    waiting = [*commands_of_the_slow(slices, NvmOpc.READ, 20), *commands_of_the_slow(slices, NvmOpc.COMPARE, 4)]
    slices.advance(3000)
    mine = [slices.submit(1, NvmOpc.READ, 8 * i, 7, slices.buffer(4096)) for i in range(8)]
    slices.ring()
    sim.ssds.link(False, port=1)
    slices.wait([*waiting, *mine])
    assert {c.status for c in waiting} == {Status.READ_ERROR} and {c.status for c in mine} == {Status.SUCCESS}
    sim.ssds.fault_clear(port=1)
    late = commands_of_the_slow(slices, NvmOpc.READ, 2)
    slices.wait(late)
    assert {c.status for c in late} == {Status.READ_ERROR}
    sim.ssds.link(True, port=1)
    while sim.up != 3:
        slices.advance(1000)
    slices.nsid = ITS
    assert slices.read(0, 8) == DATA[:4096]


def test_a_flush_does_not_pass_over_an_ssd_that_is_away(slices: Driver) -> None:
    """What was acknowledged may be in its cache: a Flush of its namespace fails while it is away; no other's does."""
    sim = card_of(slices.sim)
    sim.ssds.link(False, port=1)
    slices.advance(20_000)
    for nsid, status in ((MINE, Status.SUCCESS), (ITS, Status.WRITE_FAULT)):
        flush = slices.submit(1, NvmOpc.FLUSH, nsid=nsid)
        slices.ring()
        slices.wait([flush])
        assert flush.status == status, nsid
    sim.ssds.link(True, port=1)
    while sim.up != 3:
        slices.advance(1000)
    slices.nsid = ITS
    slices.flush()
