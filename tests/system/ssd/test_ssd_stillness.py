# SPDX-License-Identifier: Apache-2.0
"""A drive that waits and stands still is not simulated cycle by cycle (sim/runtime/stillness.h): that takes less time,
and nothing else is other."""

from __future__ import annotations

from typing import Any

import pytest
from doorbell.nvme.constants import AdminOpc, Feature, NvmOpc, Status
from doorbell.nvme.driver import Driver
from traffic import MakeDrive, Traffic, media_of

pytestmark = pytest.mark.rtl
SLOW_MEDIA = {"media_latency_ns": 10_000, "media_flush_latency_ns": 30_000, "media_zero_gbps": 40}
FAR = 0x5_0000_0000
FAR_HOST = {"host_latency_ns": 30_000, "media_latency_ns": 100}
SEVERAL = {"num_fn": 3, "params": {"NUM_NS": 3, "SGL": 1}}


def story(drive: Driver) -> tuple[float, tuple[Any, ...]]:
    """One command, then many at once: the part of its cycles that was skipped, and all that is to be seen."""
    drive.start(queues=2, entries=16)
    drive.write(4000, bytes(range(256)) * 16)
    assert drive.read(4000, 8) == bytes(range(256)) * 16
    traffic = Traffic(drive, media_of(drive), region=512, largest=16 << 10)
    for depth in (1, 6):
        traffic.run(16, depth)
    drive.wait([drive.submit(1, NvmOpc.FLUSH, ring=True)])
    drive.wait([drive.submit(0, AdminOpc.SET_FEATURES, nsid=0, cdw10=Feature.ARBITRATION | 1 << 31, ring=True)])
    drive.format(1)
    drive.disable()
    counters = drive.sim.counters()
    skipped = counters.pop("sim.skipped_cycles")
    seen = (drive.sim.cycle, counters, drive.sim.stalls(), drive.sim.traffic(), traffic.counts)
    return skipped / drive.sim.cycle, seen


@pytest.mark.parametrize(
    ("options", "least"),
    [(SLOW_MEDIA, 0.3), (FAR_HOST, 0.3), ({}, 0.03), ({**SLOW_MEDIA, **SEVERAL}, 0.1)],
    ids=["slow media", "far host", "fast", "several functions"],
)
def test_nothing_is_other(make_drive: MakeDrive, options: dict[str, Any], least: float) -> None:
    more = {"media_size": 8 << 20, "memory": 16 << 20, **options}
    skipped, seen = story(make_drive(**more))
    none, same = story(make_drive(**more, idle_skip=False))
    assert seen == same and none == 0
    assert skipped > least


def test_time_is_not_skipped_while_the_caller_owes_an_answer(make_drive: MakeDrive) -> None:
    """Memory that is reached by messages: a client takes its own time, and cycles shall not run away meanwhile."""
    drive = make_drive(media_size=8 << 20, memory=16 << 20)
    drive.start(queues=1, entries=16)
    drive.sim.map(FAR, 4096, None)
    write = drive.submit(1, NvmOpc.WRITE, 10, 0, prp1=FAR, ring=True)
    asked = []
    while not asked:
        drive.sim.run(1000)
        asked = drive.sim.dma_pending()
    before = drive.sim.counters()["sim.skipped_cycles"]
    assert drive.sim.run(20_000) == "budget" and drive.sim.counters()["sim.skipped_cycles"] == before
    for one in asked:
        drive.sim.dma_complete(one.id, bytes(one.size))
    drive.wait([write])
    assert write.status == Status.SUCCESS


@pytest.mark.nightly
@pytest.mark.parametrize("options", [SLOW_MEDIA, {}], ids=["slow media", "fast"])
def test_what_engines_wait_for_is_counted_as_the_rtl_does(
    make_drive: MakeDrive, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With DOORBELL_CLOCKS_RUN=1 the RTL counts itself, and each cycle is simulated but those of an idle drive."""
    seen = story(make_drive(media_size=8 << 20, **options))[1]
    assert sum(seen[2]) > 1000
    monkeypatch.setenv("DOORBELL_CLOCKS_RUN", "1")
    assert seen == story(make_drive(media_size=8 << 20, **options))[1]
