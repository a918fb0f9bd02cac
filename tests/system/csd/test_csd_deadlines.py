# SPDX-License-Identifier: Apache-2.0
"""Deadlines of functions (docs/virtualization.md), which drives with near-storage commands have: what is set is kept,
and what hurries goes first without a larger share. The simulator is that of test_csd_slots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from csd_drive import csd
from doorbell.bench.drive import DriveSetup
from doorbell.bench.functions import Functions, Member, bring_up, run_functions
from doorbell.bench.jobs import Job
from doorbell.bench.pool import SHORT
from doorbell.bench.results import Result, percentile
from doorbell.bench.shares import Share, apply
from doorbell.device.opening import check_clean
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import FeatureSelect, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.virtualization import set_share, set_share_try, share
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
SIZE = {"memory": 16 << 20, "media_size": 8 << 20}
ALWAYS = Job(rw="randread", bs=4096, iodepth=64, number_ios=1500)
NOW_AND_THEN = replace(ALWAYS, iodepth=32, number_ios=480, thinktime_ns=150_000, thinktime_blocks=32)
NUM_FN = SHORT.num_fn


@pytest.fixture(scope="module")
def members() -> Iterator[list[Member]]:
    functions = Functions(NUM_FN)
    setup = DriveSetup(top="db_csd", link=SHORT.link, data_w=SHORT.data_w, functions=functions, media_size=64 << 20,
                       params={**SHORT.params, "NUM_FN": NUM_FN})  # fmt: skip
    sim = setup.open([[ALWAYS]])
    yield bring_up(sim, functions, [[ALWAYS]])
    check_clean(sim)
    sim.close()


def run(members: list[Member], jobs: list[Job], deadlines_us: tuple[int, ...]) -> list[Result]:
    shares = [Share(fn, slots_min=32, deadline_us=us) for fn, us in enumerate(deadlines_us)]
    apply(members[0].drive, shares, NUM_FN)
    return run_functions(members, jobs)


def test_bursts_are_in_time(members: list[Member]) -> None:
    """One function always wants more. The other asks for 32 commands now and then, less than its share: with a deadline
    that they meet they are done as if it were alone, but for what an engine has inside."""
    jobs = [replace(ALWAYS, functions=(0,)), replace(NOW_AND_THEN, functions=(1,))]
    worst = {}
    for us in (0, 100):
        (busy, bursts) = run(members, jobs, (0, us))
        assert bursts.iops < busy.iops, "so it has no more than its share"
        worst[us] = percentile(bursts.latencies(), 99) / 1000
    (alone,) = run(members, jobs[1:], (0, 0))
    alone_us = percentile(alone.latencies(), 99) / 1000
    print(f"99 % within {worst[0]:.1f} us, with a deadline {worst[100]:.1f} us, alone {alone_us:.1f} us")
    inside_us = (32 << 10) / 3.5e3  # of a link of 3.5 GB/s
    assert worst[100] < alone_us + inside_us + 2
    assert worst[0] > alone_us + 2 * inside_us


def test_no_larger_share(members: list[Member]) -> None:
    """Both always want more: the one with a deadline, whether its commands meet it or not, has its half and no more."""
    for us in (1, 30, 1000):
        both = run(members, [ALWAYS], (us, 0))
        assert both[0].iops == pytest.approx(both[1].iops, rel=0.05), us


def test_what_is_set_is_kept(members: list[Member]) -> None:
    pf = members[0].drive
    before = [share(pf, fn) for fn in range(NUM_FN)]
    for fn, us in enumerate((65535, 1)):
        set_share(pf, fn, deadline_us=us)
    assert [share(pf, fn).deadline_us for fn in range(NUM_FN)] == [65535, 1]
    wanted = share(pf, 1)
    wanted.rsvd30 = 1
    expect(set_share_try(pf, 1, wanted), Status.INVALID_FIELD)
    assert share(pf, 1, FeatureSelect.DEFAULT).deadline_us == 0
    set_share(pf, 1, save=True, deadline_us=77)
    assert share(pf, 1, FeatureSelect.SAVED).deadline_us == 77
    for fn, old in enumerate(before):
        set_share_try(pf, fn, old, save=True).check()
    assert [share(pf, fn).deadline_us for fn in range(NUM_FN)] == [old.deadline_us for old in before]


def test_what_is_saved_outlasts_resets_and_power(make_drive: MakeDrive, tmp_path: Path) -> None:
    def opened() -> Driver:
        image = str(tmp_path / "image")
        return csd(make_drive, num_fn=NUM_FN, params=dict(SHORT.params), image=image, **SIZE)

    def deadlines(pf: Driver) -> list[int]:
        return [share(pf, fn).deadline_us for fn in range(NUM_FN)]

    pf = opened()
    set_share(pf, 1, save=True, deadline_us=77)
    for reset in (pf.disable, pf.flr):
        set_share(pf, 0, deadline_us=5)
        assert deadlines(pf) == [5, 77]
        reset()
        pf.start(queues=2, entries=64)
        assert deadlines(pf) == [0, 77], reset
    pf.sim.close()
    assert deadlines(opened()) == [0, 77]
