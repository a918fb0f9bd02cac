# SPDX-License-Identifier: Apache-2.0
"""Throughput and latency where up to 17 functions of a drive work at once, in simulated time: the figures are exact.

Its bring-up costs more than a measurement, so tests share a drive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest
from doorbell.bench.drive import DriveSetup, measure
from doorbell.bench.function_results import of_fair
from doorbell.bench.jobs import Job
from doorbell.bench.owners import COUNTS, Owners
from doorbell.bench.results import Result, link_use, percentile
from doorbell.sweep import point

pytestmark = [pytest.mark.rtl, pytest.mark.nightly]  # its drive has 17 functions
LINKS = {128: "gen3x4", 256: "gen3x8", 512: "gen4x8"}
WIDTHS = [256, pytest.param(128, marks=pytest.mark.nightly), pytest.param(512, marks=pytest.mark.nightly)]


@pytest.fixture(scope="module", params=WIDTHS)
def owners(request: pytest.FixtureRequest) -> Iterator[Owners]:
    made = Owners(data_w=request.param, link=LINKS[request.param])
    yield made
    made.close()


# ---- throughput
Worked = Callable[[str], dict[int, list[Result]]]
CUT = 24  # commands: a window cuts turns of 8 entries, at its begin and end, and a round


@pytest.fixture(scope="module")
def worked(owners: Owners) -> Callable[[str], dict[int, list[Result]]]:
    """What functions reach with a job, by how many are at work."""
    return cache(lambda rw: {count: owners.together(rw, count) for count in COUNTS})


@pytest.mark.parametrize("rw", ["randread", "randwrite", "randrw"])
def test_throughput_does_not_fall_with_functions(owners: Owners, worked: Worked, rw: str) -> None:
    """At least 97 % of the link, within 2 % of one function."""
    uses = {count: link_use(owners.link, found) for count, found in worked(rw).items()}
    print(rw, {count: f"{100 * use:.2f} % of the link" for count, use in uses.items()})
    assert min(uses.values()) >= 0.97
    assert all(abs(use / uses[1] - 1) <= 0.02 for use in uses.values())


@pytest.mark.parametrize(
    "rw",
    [
        "randread",
        pytest.param("randwrite"),
        pytest.param("randrw"),
    ],
)
def test_functions_have_equal_parts(owners: Owners, worked: Worked, rw: str) -> None:
    for count, found in worked(rw).items():
        shares = of_fair(found, owners.link).values()
        cut = CUT * count / sum(r.ios for r in found)
        assert min(shares) > 1 - cut - (0.05 if rw == "randrw" else 0), shares  # mixes are random


def test_a_sweep_says_what_each_function_has() -> None:
    """By weight, and by a limit in MB/s; all of it is the link."""
    job = {"functions": 3, "NUM_FN": 3, "rw": "randread", "iodepth": 64, "number_ios": 300}
    rows = [point.measure(point.clean({**job, **given}, "test"))
            for given in ({"fn_weights": "4,2,1"}, {"fn_limit": "1-2=bw:500000000,bw-burst:4096"})]  # fmt: skip
    (pf, one, two), (all_else, *limited) = ([float(v) for v in str(r["fn_mb_s"]).split()] for r in rows)
    assert pf / two == pytest.approx(4, rel=0.05) and one / two == pytest.approx(2, rel=0.05)
    assert float(rows[0]["least_fair_pct"]) > 95
    assert all(v == pytest.approx(500, rel=0.25) for v in limited) and all_else > 5000
    for row in rows:
        assert sum(float(v) for v in str(row["fn_mb_s"]).split()) == pytest.approx(float(row["mb_s"]), rel=1e-3)
        assert float(row["limit_pct"]) > 97


def test_one_of_17_functions_is_as_fast_as_the_only_one(owners: Owners) -> None:
    if owners.sim.data_w != 256:
        return
    job = Job(rw="randread", iodepth=64, number_ios=1500)
    only = measure(DriveSetup(media_size=256 << 20), [job]).groups[0][0]
    assert owners.run(1, job)[0].iops / only.iops == pytest.approx(1, abs=0.02)


# ---- a quiet function beside 16 busy ones: at most three times the time of a fair share


def slowest(owners: Owners, rw: str, noise: str, part: float, ios: int = 100) -> float:
    """The percentile `part` of the quiet function's latency, in times of that of a fair share."""
    first, *others = owners.beside(rw, noise, ios)
    us = [percentile(first.latencies(), p) / 1e3 for p in (50, 99, 99.9)]
    fair = owners.fair_us(rw)
    print(f"{rw} beside {noise}: {us} us, fair {fair:.1f} us, others {link_use(owners.link, others):.3f} of the link")
    return percentile(first.latencies(), part) / 1e3 / fair


@pytest.mark.parametrize(("rw", "noise"), [("randread", "4 KiB writes"), ("randwrite", "4 KiB reads")])
def test_beside_the_other_direction(owners: Owners, rw: str, noise: str) -> None:
    assert slowest(owners, rw, noise, 99.9) <= 1


@pytest.mark.parametrize(("rw", "noise"), [
    ("randread", "4 KiB reads"),
    pytest.param("randread", "4 KiB, 70/30", marks=pytest.mark.nightly),
    pytest.param("randwrite", "4 KiB writes", marks=pytest.mark.nightly),
])  # fmt: skip
def test_beside_the_same_direction(owners: Owners, rw: str, noise: str) -> None:
    assert slowest(owners, rw, noise, 99) <= 3


@pytest.mark.nightly
@pytest.mark.parametrize("rw", ["randread", "randwrite"])
def test_beside_deallocation(owners: Owners, rw: str) -> None:
    assert slowest(owners, rw, "deallocation", 99) <= 3


@pytest.mark.nightly
@pytest.mark.parametrize(("rw", "noise"), [
    pytest.param("randread", "128 KiB reads"),
    ("randread", "128 KiB writes"),
    ("randwrite", "128 KiB reads"),
    pytest.param("randwrite", "128 KiB writes"),
])  # fmt: skip
def test_beside_large_commands(owners: Owners, rw: str, noise: str) -> None:
    assert slowest(owners, rw, noise, 99, 16) <= 3
