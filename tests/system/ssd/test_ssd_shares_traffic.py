# SPDX-License-Identifier: Apache-2.0
"""What becomes of traffic where the PF gives functions different parts of what all share, in simulated time, so the
figures are exact. The reference is what was set: parts in proportion to weights, commands and bytes a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from doorbell.bench.drive import DriveSetup, measure
from doorbell.bench.functions import Functions, Member, bring_up, run_functions
from doorbell.bench.jobs import Job
from doorbell.bench.results import Result, link_use, percentile
from doorbell.bench.shares import Share, apply
from doorbell.device import limits
from doorbell.device.opening import check_clean, sim_link
from doorbell.errors import UserError
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.virtualization import set_share
from owners import Owner, Street, bring_up_functions
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
NUM_FN = 3
PARAMS: dict[str, int | str] = {"NUM_FN": NUM_FN, "NUM_NS": NUM_FN, "SGL": 1}
EVERYBODY = tuple(range(NUM_FN))
DEEP = Job(rw="randread", iodepth=128, number_ios=700, numjobs=2)


class Drive:
    """All functions of it up; each run has shares of its own."""

    def __init__(self) -> None:
        functions = Functions(NUM_FN)
        setup = DriveSetup(functions=functions, media_size=256 << 20, params=PARAMS)
        jobs = [[replace(DEEP, bs=128 << 10)]]
        self.sim = setup.open(jobs)
        self.link: limits.Link = sim_link(self.sim, setup.wire)
        self.members: list[Member] = bring_up(self.sim, functions, jobs)

    def run(self, *jobs: Job, **of: dict[str, int]) -> list[Result]:
        """of: fn0 to fn2, what differs from the default but for slots: every function may have all, none is promised
        any."""
        pf = self.members[0].drive
        plain = {"weight": 1, "slots_min": 0, "slots_max": 128, "iops": 0, "bytes_per_s": 0}
        apply(pf, [Share(fn, **{**plain, **of.get(f"fn{fn}", {})}) for fn in EVERYBODY], NUM_FN)
        found = run_functions(self.members, jobs)
        check_clean(self.sim)
        print([f"{r.iops:,.0f} IOPS" for r in found], f"{link_use(self.link, found):.4f} of the link")
        return found

    def use(self, results: list[Result]) -> float:
        return link_use(self.link, results)


@pytest.fixture(scope="module")
def drive() -> Iterator[Drive]:
    made = Drive()
    yield made
    made.sim.close()


def parts(results: list[Result]) -> list[float]:
    """Of the bytes that were moved in the window in which all measured."""
    moved = [sum(size * count for (_, size), count in r.window.items()) for r in results]
    return [some / sum(moved) for some in moved]


@pytest.mark.parametrize(("rw", "depth", "copies", "weights"), [
    pytest.param("randread", 128, 2, (4, 2, 1), marks=pytest.mark.nightly),
    ("randread", 64, 1, (4, 2, 1)),
    pytest.param("randwrite", 128, 2, (4, 2, 1), marks=pytest.mark.nightly),
    pytest.param("randrw", 128, 2, (4, 2, 1), marks=pytest.mark.nightly),
    pytest.param("randread", 128, 2, (1, 3, 8), marks=pytest.mark.nightly),
    pytest.param("randread", 128, 2, (1, 1, 1), marks=pytest.mark.nightly),
    pytest.param("randread", 128, 2, (1, 4, 11), marks=pytest.mark.nightly),
    pytest.param("randwrite", 128, 2, (1, 2, 16), marks=pytest.mark.nightly),
])  # fmt: skip
def test_parts_are_as_weights_are(drive: Drive, rw: str, depth: int, copies: int, weights: tuple[int, ...]) -> None:
    """4 KiB, all want more than they get: each has its part within 3 %, the link is full."""
    job = replace(DEEP, rw=rw, iodepth=depth, numjobs=copies)
    found = drive.run(job, **{f"fn{fn}": {"weight": weight} for fn, weight in enumerate(weights)})
    window = sum(found[fn].window.total() for fn in EVERYBODY)
    for part, weight in zip(parts(found), weights):
        want = weight / sum(weights)
        assert part == pytest.approx(want, rel=0.03, abs=16 / window), (parts(found), weights)
    assert drive.use(found) >= 0.97


@pytest.mark.parametrize(("what", "size"), [
    ("iops", 4 << 10),
    pytest.param("bytes_per_s", 4 << 10, marks=pytest.mark.nightly),
    pytest.param("bytes_per_s", 128 << 10, marks=pytest.mark.nightly),
])  # fmt: skip
def test_who_is_limited_costs_the_others_nothing(drive: Drive, what: str, size: int) -> None:
    """It has its limit within 2 %; the others have all that it leaves: the link is as full, within 1 %."""
    limit = 100_000 if size == 4 << 10 else 5_000
    value = limit if what == "iops" else limit * size
    burst = {"iops_burst": 8} if what == "iops" else {"bytes_burst": 8 * size}
    job = replace(DEEP, bs=size, number_ios=150, iodepth=64, numjobs=1)
    free = drive.run(job)
    found = drive.run(job, fn1={what: value, **burst})
    assert found[1].iops == pytest.approx(limit, rel=0.02)
    assert found[0].iops == pytest.approx(found[2].iops, rel=0.03)
    assert drive.use(found) == pytest.approx(drive.use(free), rel=0.01)


@pytest.mark.nightly
def test_weights_decide_whatever_slots_are_guaranteed(drive: Drive) -> None:
    """What has been fetched waits for the engine by weight: slots of its own are no part of the link."""
    job = replace(DEEP, iodepth=64, numjobs=1)
    for least in (0, 32):
        third = parts(drive.run(job, fn1={"slots_min": least}))
        assert third == pytest.approx([1 / 3] * 3, rel=0.03), (least, third)
        small = parts(drive.run(job, fn0={"slots_min": least}, fn1={"weight": 9}, fn2={"weight": 9}))
        assert small[0] == pytest.approx(1 / 19, rel=0.1), (least, small)


def test_slots_of_others_are_nothing_to_wait_for(drive: Drive) -> None:
    """One read at a time beside two functions that want everything: it waits for what the engine has inside, however
    many slots they have; the link is as full."""
    jobs = (Job(rw="randread", number_ios=100, functions=(0,)), replace(DEEP, number_ios=1, functions=(1, 2)))
    p99, use = {}, {}
    for most in (64, 16):
        found = drive.run(*jobs, fn1={"slots_max": most}, fn2={"slots_max": most})
        p99[most], use[most] = percentile(found[0].latencies(), 99) / 1e3, drive.use(found)
    print(p99, use)
    assert p99[64] <= 1.1 * p99[16] and min(use.values()) >= 0.97


def test_what_a_drive_does_not_have_is_one_line(drive: Drive) -> None:
    """And what one function gives back another may have, in whatever order they are named."""
    pf = drive.members[0].drive
    drive.run(replace(DEEP, number_ios=20), fn2={"slots_min": 90})
    apply(pf, [Share(0, slots_min=95), Share(2, slots_min=0)], NUM_FN)
    with pytest.raises(UserError, match="function 1 cannot have deadline us 9: .*; a deadline needs .*NEAR=1"):
        apply(pf, [Share(1, deadline_us=9)], NUM_FN)
    with pytest.raises(UserError, match="function 1 cannot have slots min 1: of 128 .* together up to 95"):
        apply(pf, [Share(1, slots_min=1)], NUM_FN)


@pytest.mark.nightly
def test_it_holds_at_once_under_traffic(make_drive: MakeDrive) -> None:
    """Two VFs write and read, and check what they read, while limits, weights and slots come and go: what is set holds
    from then on, the other VF is as fast as before, and nobody loses a command."""
    pf = make_drive(num_fn=NUM_FN, params={"NUM_NS": NUM_FN, "SGL": 1}, memory=24 << 20, media_size=64 << 20)
    drives = bring_up_functions(pf, queues=dict.fromkeys(EVERYBODY, 1))
    street = Street(pf.sim, {fn: Owner(drives[fn], 40, fn, fn * 1024 * 8) for fn in (1, 2)})
    street.start()

    def rates(us: int) -> list[float]:
        """Commands a second."""
        before = [o.done for o in street.owners.values()]
        street.run(us * 250)
        return [(o.done - b) * 1e6 / us for o, b in zip(street.owners.values(), before)]

    street.run(20_000)
    free = rates(100)
    by_bytes = {"iops": 0, "bytes_per_s": 400_000 * 4096, "bytes_burst": 4096}
    lump = 24 * 1000  # commands whose bytes count only when they have been fetched: three turns, in a millisecond
    for change, rate, slack in (({"iops": 50_000, "iops_burst": 8}, 50_000, 1000), (by_bytes, 400_000, lump)):
        set_share(pf, 1, **change)
        street.run(50_000)
        limited, other = rates(1000)
        print(free, limited, other)
        assert abs(limited - rate) <= slack
        assert other >= 0.97 * free[1]
    set_share(pf, 1, bytes_per_s=0)
    street.run(20_000)
    assert rates(100)[0] > 0.8 * free[0]
    for i in range(6):
        set_share(pf, i % NUM_FN, weight=1 + 50 * i, slots_min=i, slots_max=1 + 20 * i, iops=(0, 300_000)[i % 2])
        street.run(5_000)
    street.finish()


@pytest.mark.nightly
@pytest.mark.parametrize("blocks", [8, 256], ids=["4k", "128k"])
def test_what_a_limit_of_bytes_lets_pass(make_drive: MakeDrive, blocks: int) -> None:
    """A function that always wants more, beside another: in any window its burst, the rate, and 24 commands more
    (docs/virtualization.md); and in the whole time the rate."""
    pf = make_drive(num_fn=NUM_FN, params={"NUM_NS": NUM_FN, "SGL": 1}, memory=24 << 20, media_size=64 << 20)
    drives = bring_up_functions(pf, queues={0: 1, 1: 2, 2: 1})
    size, depth, rate = blocks * 512, 60, 2_000_000_000
    set_share(pf, 1, bytes_per_s=rate, bytes_burst=size)
    buffers = {fn: drives[fn].buffer(size) for fn in (1, 2)}
    came: list[tuple[int, int]] = []  # when, bytes

    def turn(cycles: int) -> None:
        for fn, buffer in buffers.items():
            for qid, sq in drives[fn].sqs.items():
                while qid and len(sq.pending) < depth:
                    drives[fn].submit(qid, NvmOpc.READ, 0, blocks - 1, buffer)
            drives[fn].ring()
        pf.advance(cycles)
        for fn in buffers:
            done = drives[fn].poll()
            for command in done:
                command.check()
            if fn == 1:
                came.append((pf.sim.cycle, len(done) * size))

    each = 250
    for _ in range(100_000 // each):
        turn(each)
    came.clear()
    for _ in range(1_500_000 // each):
        turn(each)
    cycles = came[-1][0] - came[0][0]
    assert sum(n for _, n in came[1:]) / (cycles * 4e-9) == pytest.approx(rate, rel=0.03)
    most = 0.0
    for width in (1, 4, 20, 50, 250, 1000):  # turns
        for i in range(len(came) - width):
            window = (came[i + width][0] - came[i][0]) * 4e-9
            most = max(most, (sum(n for _, n in came[i + 1 : i + width + 1]) - size - rate * window) / size)
    print(f"at most {most:.1f} commands beyond burst and rate")
    assert 1 < most <= 24
    for fn in buffers:
        while any(sq.pending for sq in drives[fn].sqs.values()):
            pf.advance(2000)
            drives[fn].poll()


def test_bench_with_sgls() -> None:
    """`bench --functions 3 --sgl`: the link is full, and each has a third of it."""
    setup = DriveSetup(functions=Functions(NUM_FN), media_size=256 << 20, params=PARAMS, sgl=True)
    measured = measure(setup, [replace(DEEP, bs=4096)])
    (results,) = measured.groups
    assert "3 functions" in measured.title and "SGLs" in measured.title and measured.setup.plain()["sgl"]
    assert link_use(measured.wire, results) >= 0.97
    assert parts(results) == pytest.approx([1 / 3] * 3, rel=0.02)
