# SPDX-License-Identifier: Apache-2.0
"""Random traffic from many queues against the reference model, on many links and widths."""

from __future__ import annotations

from typing import Any

import pytest
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.driver import Driver
from traffic import NARROW, MakeDrive, Traffic, media_of


def run(drive: Driver, count: int, depth: int, **options: Any) -> Traffic:
    traffic = Traffic(drive, media_of(drive), **options)
    traffic.run(count, depth)
    traffic.read_all()
    return traffic


def test_mixed(make_drive: MakeDrive) -> None:
    """Overlapping commands of all kinds and sizes."""
    drive = make_drive()
    drive.start(queues=8, entries=64)
    traffic = run(drive, 800, 24, region=2048, largest=64 << 10)
    assert traffic.counts["SUCCESS"] > 600 and len(traffic.counts) >= 4


@pytest.mark.parametrize("block_size", [512, 4096])
def test_block_atomicity(make_drive: MakeDrive, block_size: int) -> None:
    """AWUN is one block at least: a command that overlaps another in flight finds all of a block old, or all new."""
    drive = make_drive()
    drive.start(queues=8, entries=64)
    if block_size == 4096:
        drive.format(1)
    weights = {NvmOpc.READ: 2, NvmOpc.WRITE: 2, NvmOpc.COMPARE: 1, NvmOpc.WRITE_ZEROES: 1}
    region = 16 if block_size == 512 else 4
    traffic = Traffic(drive, media_of(drive), seed=9, region=region, largest=16 << 10, weights=weights)
    traffic.run(600, 24)
    traffic.read_all()


def test_mixed_4k_blocks(make_drive: MakeDrive) -> None:
    drive = make_drive()
    drive.start(queues=4, entries=64)
    drive.format(1)
    run(drive, 300, 24, region=256, largest=128 << 10, seed=2)


def test_large(make_drive: MakeDrive) -> None:
    """Up to MDTS, with chained lists."""
    drive = make_drive(memory=256 << 20)
    drive.start(queues=4, entries=16)
    run(drive, 40, 8, region=8192, largest=1 << 20, seed=3, weights={NvmOpc.READ: 1, NvmOpc.WRITE: 1})


def test_all_queues(make_drive: MakeDrive) -> None:
    drive = make_drive()
    drive.start(queues=32, entries=16)
    run(drive, 800, 8, region=8192, largest=16 << 10, seed=4)


def test_shared_completion_queues(make_drive: MakeDrive) -> None:
    """12 submission queues report to 3 completion queues on 2 vectors."""
    drive = make_drive()
    drive.start(queues=12, entries=16, shared_cqs=3, vectors=2, cq_entries=256)
    run(drive, 600, 10, region=4096, largest=16 << 10, seed=5)


@pytest.mark.parametrize(("entries", "cq_entries"), [(2, 2), (3, 2), (2, 4096), (5, 7)])
def test_tiny_queues(make_drive: MakeDrive, entries: int, cq_entries: int) -> None:
    drive = make_drive()
    drive.start(queues=4, entries=entries, cq_entries=cq_entries)
    run(drive, 150, 4, region=2048, largest=16 << 10, seed=6)


def test_deep_queue(make_drive: MakeDrive) -> None:
    """4096 entries, filled to the last, wrapped."""
    drive = make_drive(memory=128 << 20)
    drive.start(queues=1, entries=4096)
    buffer = drive.buffer(512)
    for _ in range(2):
        commands = []
        while drive.sqs[1].room():
            commands.append(drive.submit(1, NvmOpc.READ, slba=len(commands), buffer=buffer))
        assert len(commands) >= 4095
        drive.run(*commands)
    Traffic(drive, media_of(drive), largest=4096, seed=7).run(300, 300)


VARIANTS = {
    "gen1x1": {"link": "gen1x1", "mps": 128, "mrrs": 128},
    "gen3x4_128": NARROW,
    "gen4x8_512": {"link": "gen4x8", "data_w": 512},
    "mps128_mrrs4096": {"mps": 128, "mrrs": 4096},
    "mps512_mrrs256": {"mps": 512, "mrrs": 256},
    "mps1024_mrrs1024": {"mps": 1024, "mrrs": 1024},
    "rcb64": {"rcb": 64, "completion_bytes": "random"},
    "rcb128": {"rcb": 128, "completion_bytes": "random"},
    "slow_host": {"host_latency_ns": 3000},
    "jitter": {"completion_jitter_ns": 4000},
    "few_credits": {"posted_headers": 4, "posted_credits": 64, "read_headers": 4},
    "stalls": {"stall_pct": 40},
    "media": {"media_latency_ns": 5000, "media_write_latency_ns": 2000, "media_gbps": 3, "media_channels": 4},
    "stalls_128": {
        **NARROW, "link": "gen3x8", "stall_pct": 30, "completion_jitter_ns": 1000, "completion_bytes": "random",
    },
    "stalls_512": {"stall_pct": 30, "data_w": 512, "completion_jitter_ns": 900, "completion_bytes": "random"},
}  # fmt: skip


RARE = {"mps512_mrrs256", "mps1024_mrrs1024", "rcb128", "stalls_128", "stalls_512"}


@pytest.mark.parametrize("variant", [pytest.param(v, marks=pytest.mark.nightly if v in RARE else ()) for v in VARIANTS])
def test_links(make_drive: MakeDrive, variant: str) -> None:
    """Widths, payload and request sizes, completion cuts, completions out of order, credits, stalls, slow media."""
    drive = make_drive(**VARIANTS[variant])
    drive.start(queues=4, entries=32)
    slow = variant == "gen1x1"
    run(drive, 60 if slow else 200, 16, region=512 if slow else 2048, largest=(8 if slow else 32) << 10, seed=11)


@pytest.mark.rtl
def test_deterministic(make_drive: MakeDrive) -> None:
    """The same seed and configuration: the same cycle count and the same traffic, to the last byte."""
    seen = []
    for _ in range(2):
        drive = make_drive(completion_jitter_ns=500, stall_pct=10)
        drive.start(queues=4, entries=32)
        Traffic(drive, media_of(drive), seed=12, region=2048, largest=16 << 10).run(150, 12)
        seen.append((drive.sim.cycle, drive.sim.counters()))
    assert seen[0] == seen[1]


def sustained(drive: Driver, total: int) -> None:
    """Writes without a pause, each 128 KiB of its own, wrapping over the drive; the end state is compared."""
    size, depth = 128 << 10, 32
    step = size // drive.block_size
    slots = drive.namespace.nsze // step  # type: ignore[union-attr]
    buffers = [drive.buffer(size) for _ in range(depth)]
    for i, buffer in enumerate(buffers):
        buffer.write(bytes([i, 255 - i]) * (size // 2))
    holds: dict[int, int] = {}
    free, busy = list(range(depth)), set()
    issued = done = 0
    count = total // size
    while done < count:
        while free and issued < count and issued % slots not in busy:
            index, slot = free.pop(), issued % slots
            buffers[index].write(issued.to_bytes(8, "little"))
            busy.add(slot)
            user = (index, slot, issued)
            drive.submit(1 + issued % 4, NvmOpc.WRITE, slot * step, step - 1, buffers[index], user=user)
            issued += 1
        for command in drive.step() or drive.wait([next(c for q in drive.sqs.values() for c in q.pending.values())]):
            index, slot, number = command.check().user
            holds[slot] = number
            free.append(index)
            busy.discard(slot)
            done += 1
    for slot, number in list(holds.items())[-64:]:
        data = drive.read(slot * step, step)
        assert int.from_bytes(data[:8], "little") == number and data[8:16] == data[16:24] == data[-8:]


def test_sustained_writes(make_drive: MakeDrive) -> None:
    drive = make_drive(media_size=12 << 20)
    drive.start(queues=4, entries=64)
    sustained(drive, 16 << 20)


@pytest.mark.nightly
def test_sustained_writes_4g(drive: Driver) -> None:
    sustained(drive, 4 << 30)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
def test_mixed_long(make_drive: MakeDrive, seed: int) -> None:
    drive = make_drive(
        stall_pct=(0, 5, 30)[seed % 3],
        completion_jitter_ns=(0, 300, 3000)[seed % 3 - 1],
        completion_bytes=(None, "random")[seed % 2],
        data_w=(128, 256, 512)[seed % 3],
    )
    drive.start(queues=1 + seed, entries=8 << seed % 4, shared_cqs=1 + seed // 2)
    run(drive, 4000, 24, region=4096, largest=(16 << 10, 256 << 10)[seed % 2], seed=100 + seed, bad=0.05)
