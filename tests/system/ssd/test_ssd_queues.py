# SPDX-License-Identifier: Apache-2.0
"""Arbitration, full completion queues, interrupts: masks, coalescing, queues without interrupts, queue deletion."""

from __future__ import annotations

import pytest
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import Feature, NvmOpc, Status
from doorbell.nvme.driver import Driver
from traffic import MakeDrive, Traffic, media_of, unread


def order_of(drive: Driver, load: dict[int, int], size: int = 4096) -> list[int]:
    """Fill queues while nothing runs, ring all at once, return the queues in order of completion."""
    buffer = drive.buffer(size)
    nlb = size // drive.block_size - 1
    commands: list[Command] = []
    for q, count in load.items():
        commands += [drive.submit(q, NvmOpc.READ, 0, nlb, buffer) for _ in range(count)]
    done = drive.wait(commands)
    buffer.free()
    for c in done:
        c.check()
    return [c.qid for c in done]


def test_round_robin_is_fair(make_drive: MakeDrive) -> None:
    """Equal queues finish together: at every point none is far ahead."""
    drive = make_drive()
    drive.start(queues=4, entries=256)
    drive.set_features(Feature.ARBITRATION, 0)  # one command a turn
    order = order_of(drive, dict.fromkeys(range(1, 5), 100))
    middle = order[100:300]
    for q in range(1, 5):
        assert 35 <= middle.count(q) <= 65, f"queue {q} got {middle.count(q)} of 200"


def test_a_busy_queue_does_not_starve_others(make_drive: MakeDrive) -> None:
    drive = make_drive()
    drive.start(queues=4, entries=512)
    drive.set_features(Feature.ARBITRATION, 2)
    order = order_of(drive, {1: 500, 2: 4, 3: 4, 4: 4})
    last = max(i for i, q in enumerate(order) if q != 1)
    assert last < 350, f"the last command of a short queue was number {last} of {len(order)}"


def test_weighted_round_robin(make_drive: MakeDrive) -> None:
    """High, medium and low share by their weights; urgent goes first."""
    drive = make_drive()
    drive.start(queues=4, entries=512, wrr=True, prios=[0, 1, 2, 3])
    drive.set_features(Feature.ARBITRATION, 7 << 24 | 3 << 16 | 0 << 8 | 0)  # 8 : 4 : 1, burst 1
    order = order_of(drive, {1: 100, 2: 400, 3: 400, 4: 400})
    # Commands that were fetched before arbitration had a choice (the slots) are at the front.
    urgent_done = max(i for i, q in enumerate(order) if q == 1)
    assert urgent_done < 300
    window = order[330:530]
    high, medium, low = (window.count(q) for q in (2, 3, 4))
    assert high > 1.5 * medium and medium > 2 * low and low > 0, (high, medium, low)


def test_completion_queue_full(make_drive: MakeDrive) -> None:
    """A host that does not look loses nothing: the rest waits until there is room."""
    drive = make_drive()
    commands = unread(drive)
    drive.take_irqs()
    assert not any(c.done for c in commands)
    # Another queue goes on meanwhile.
    Traffic(drive, media_of(drive), largest=4096).run(50, 10, queues=[2])
    drive.cqs[1].hold = False
    drive.poll(everything=True)
    drive.run(*commands)


def test_full_queues_do_not_block_others_for_good(make_drive: MakeDrive) -> None:
    """More completions than slots wait for one host: what else goes on is the controller's choice, but it recovers."""
    drive = make_drive()
    drive.start(queues=3, entries=512, cq_entries=4)
    buffer = drive.buffer(512)
    drive.cqs[1].hold = drive.cqs[2].hold = True
    commands = [drive.submit(q, NvmOpc.READ, slba=i, buffer=buffer) for q in (1, 2) for i in range(300)]
    drive.ring()
    drive.advance(100_000)
    drive.identify(1)  # the admin queue at least must work
    drive.cqs[1].hold = drive.cqs[2].hold = False
    drive.poll(everything=True)
    drive.run(*commands)
    drive.write(0, bytes(512), qid=3)


def test_masked_vector(drive: Driver) -> None:
    """A masked vector is pending, and sent once when unmasked."""
    buffer = drive.buffer(512)
    drive.mask_vector(2, True)
    command = drive.submit(2, NvmOpc.READ, buffer=buffer, ring=True)
    drive.advance(50_000)
    assert list(drive.sim.irqs()) == []
    assert drive.read32(0x3000) >> 2 & 1, "pending bit"
    drive.mask_vector(2, False)
    drive.run(command)
    assert not drive.read32(0x3000) >> 2 & 1
    assert drive.take_irqs() == 0


def test_function_mask(drive: Driver) -> None:
    buffer = drive.buffer(512)
    drive.sim.set_cfg(msix_mask=True)
    commands = [drive.submit(q, NvmOpc.READ, buffer=buffer) for q in (1, 2, 3)]
    drive.ring()
    drive.advance(50_000)
    assert list(drive.sim.irqs()) == []
    drive.sim.set_cfg(msix_mask=False)
    drive.run(*commands)


def test_queue_without_interrupts(drive: Driver) -> None:
    drive.create_cq(5, 16, 0, ien=False)
    drive.create_sq(5, 16, 5)
    before = drive.interrupts
    buffer = drive.buffer(4096)
    for i in range(8):
        drive.run(drive.submit(5, NvmOpc.READ, slba=i, nlb=7, buffer=buffer))
    assert drive.interrupts == before


def test_coalescing(make_drive: MakeDrive) -> None:
    drive = make_drive()
    drive.start(queues=2, entries=128)
    buffer = drive.buffer(512)

    def interrupts(count: int, qid: int = 1) -> int:
        before = drive.interrupts
        drive.run(*[drive.submit(qid, NvmOpc.READ, slba=i, buffer=buffer) for i in range(count)])
        drive.advance(200_000)
        drive.take_irqs()
        return drive.interrupts - before

    single = interrupts(64)
    drive.set_features(Feature.IRQ_COALESCE, 2 << 8 | 7)  # eight completions, or 200 us
    assert interrupts(64) <= max(9, single // 4)
    # Fewer than the threshold: the time brings the interrupt.
    start = drive.sim.ns
    drive.run(drive.submit(1, NvmOpc.READ, buffer=buffer))
    assert 150_000 <= drive.sim.ns - start <= 400_000
    # A vector may be left out.
    drive.set_features(Feature.IRQ_CONFIG, 2 | 1 << 16)
    start = drive.sim.ns
    drive.run(drive.submit(2, NvmOpc.READ, buffer=buffer))
    assert drive.sim.ns - start < 100_000
    drive.set_features(Feature.IRQ_COALESCE, 0)
    start = drive.sim.ns
    drive.run(drive.submit(1, NvmOpc.READ, buffer=buffer))
    assert drive.sim.ns - start < 100_000


def test_delete_queue_under_io(make_drive: MakeDrive) -> None:
    """What is in flight on a deleted queue completes before, or never; other queues do not notice."""
    drive = make_drive()
    drive.start(queues=3, entries=64)
    media = media_of(drive)
    other = Traffic(drive, media, seed=3, first=8192, region=2048, largest=16 << 10)
    buffer = drive.buffer(64 << 10)
    for _ in range(4):
        mine = [drive.submit(2, NvmOpc.READ, slba=128 * i, nlb=127, buffer=buffer) for i in range(40)]
        other.start(20, 10, queues=[1, 3])
        drive.ring()
        lost = drive.delete_sq(2)
        assert all(c.aborted or c.status in (Status.SUCCESS, Status.ABORT_SQ_DELETED) for c in mine)
        assert all(c.aborted for c in lost)
        drive.delete_cq(2)
        drive.wait()
        drive.create_cq(2, 64, 2)
        drive.create_sq(2, 64, 2)
    other.read_all(qid=2)


@pytest.mark.rtl
def test_throughput_does_not_depend_on_queues(make_drive: MakeDrive) -> None:
    """128 commands in flight from 1 or from 32 queues: within 5 %."""
    from doorbell.bench.jobs import Job
    from doorbell.bench.runner import run_group

    rates = []
    for queues, depth in ((1, 128), (32, 4)):
        drive = make_drive(memory=64 << 20)
        drive.start(queues=queues, entries=256)
        job = Job(rw="randread", bs=4096, iodepth=depth, numjobs=queues, number_ios=1024 // queues)
        rates.append(run_group(drive, [job])[0].iops)
    assert abs(rates[0] / rates[1] - 1) < 0.05, rates
