# SPDX-License-Identifier: Apache-2.0
"""Many owners of one drive, measured: throughput over functions, and a quiet function beside 16 busy ones.

The drive has 17 functions throughout, of which as many work as are wanted. All that is measured here shares its
bring-up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from doorbell.bench.drive import DriveSetup
from doorbell.bench.function_results import of_fair
from doorbell.bench.functions import Functions, bring_up, run_functions
from doorbell.bench.jobs import Job
from doorbell.bench.results import Result, link_limit, link_use, percentile
from doorbell.bench.shares import Share, apply
from doorbell.device.opening import MAX_FN, check_clean, sim_link
from doorbell.nvme.constants import FeatureSelect
from doorbell.nvme.virtualization import set_share_try, share

LARGE = 128 << 10
COUNTS = (1, 2, 4, 8, MAX_FN)
IN_FLIGHT = 128  # of all functions together
NOISE: dict[str, dict[str, Any]] = {
    "4 KiB reads": {"rw": "randread"},
    "4 KiB writes": {"rw": "randwrite"},
    "4 KiB, 70/30": {"rw": "randrw", "rwmixread": 70},
    "128 KiB reads": {"rw": "randread", "bs": LARGE, "iodepth": 16},
    "128 KiB writes": {"rw": "randwrite", "bs": LARGE, "iodepth": 16},
    "deallocation": {"rw": "randtrim", "bs": LARGE},
}
"""What 16 functions do at once: at depth 128, or that which fills the drive's slots."""
QUICK = ("4 KiB reads", "4 KiB writes")
VFS = range(1, MAX_FN)
RATES = "350 MB/s each"
SETTINGS: dict[str, tuple[Share, ...]] = {
    "equal weights": (),
    "a guarantee": (Share(0, weight=16, slots_min=8),),
    "2 slots each": tuple(Share(fn, slots_max=2) for fn in VFS),
    RATES: tuple(Share(fn, bytes_per_s=350_000_000, bytes_burst=4096) for fn in VFS),
}
"""What the PF can set for a quiet function, its own, beside the others: the default, then something for itself, then
limits of the others. 350 MB/s is a 20th of Gen3 x8, so there is some link left."""


class Owners:
    """A drive with all its functions up."""

    def __init__(self, **setting: Any) -> None:
        """setting: of DriveSetup."""
        functions = Functions(MAX_FN)
        setup = DriveSetup(functions=functions, **{"media_size": 256 << 20, **setting})
        deepest = Job(rw="randread", iodepth=128, bs=LARGE)
        self.sim = setup.open([[deepest]])
        self.link = sim_link(self.sim, setup.wire)
        self.members = bring_up(self.sim, functions, [[deepest]])

    def run(self, count: int, *jobs: Job) -> list[Result]:
        """On the first `count` functions."""
        found = run_functions(self.members[:count], jobs)
        check_clean(self.sim)
        return found

    def together(self, rw: str, count: int, ios: int = 2560) -> list[Result]:
        """4 KiB on so many functions, as much in flight in all whatever their number."""
        job = Job(rw=rw, rwmixread=70, iodepth=-(-IN_FLIGHT // count), number_ios=-(-ios // count))
        return self.run(count, job)

    def give(self, setting: str) -> None:
        """One of SETTINGS, for all that follows."""
        pf = self.members[0].drive
        for fn in range(MAX_FN):
            set_share_try(pf, fn, share(pf, fn, FeatureSelect.DEFAULT)).check()
        apply(pf, SETTINGS[setting], MAX_FN)

    def beside(self, rw: str, noise: str, ios: int = 200) -> list[Result]:
        """A 4 KiB command at a time on the PF, while all VFs do what NOISE says. The PF's result is the first."""
        what = {"iodepth": 128, **NOISE[noise]}
        busy = Job(name="noise", number_ios=1, functions=tuple(range(1, MAX_FN)), **what)
        return self.run(MAX_FN, Job(name="quiet", rw=rw, number_ios=ios, functions=(0,)), busy)

    def fair_us(self, rw: str) -> float:
        """How long a 4 KiB command takes whose owner has an equal part of the link: alone, and a turn of the others."""
        alone = self.run(1, Job(rw=rw, number_ios=50, functions=(0,)))[0]
        return percentile(alone.latencies(), 50) / 1e3 + (MAX_FN - 1) * 1e6 / link_limit(self.link, alone).iops

    def close(self) -> None:
        self.sim.close()


def measure_owners(counts: Sequence[int] = COUNTS, noises: Sequence[str] = tuple(NOISE), ios: int = 200) -> Iterator[
    dict[str, Any]
]:  # fmt: skip
    """Rows: throughput over functions ("functions" is how many), then latency beside others ("beside" is what)."""
    owners = Owners()
    for rw in ("randread", "randwrite", "randrw"):
        for count in counts:
            found = owners.together(rw, count)
            fair = of_fair(found, owners.link).values()
            yield {"rw": rw, "functions": count, "kiops": round(sum(r.iops for r in found) / 1e3, 2),
                   "mb_s": round(sum(r.bytes_per_s for r in found) / 1e6, 2),
                   "link_pct": round(100 * link_use(owners.link, found), 2),
                   "least_fair_pct": round(100 * min(fair), 1)}  # fmt: skip
    for rw in ("randread", "randwrite"):
        fair_us = owners.fair_us(rw)
        for noise in noises:
            row = quiet_row(owners, rw, noise, 16 if "128 KiB" in noise else ios)
            yield {"rw": rw, "beside": noise, "fair_us": round(fair_us, 2), **row}
    owners.close()


def measure_noise(
    noises: Sequence[str] = tuple(NOISE), rws: Sequence[str] = ("randread", "randwrite"), ios: int = 200
) -> Iterator[dict[str, Any]]:
    """Rows: the latency of a quiet function beside others ("beside" is what they do) with each of SETTINGS."""
    owners = Owners()
    for rw in rws:
        fair_us = owners.fair_us(rw)
        for noise in noises:
            for setting in SETTINGS:
                owners.give(setting)
                # Limits show over milliseconds, and the quiet one is fast beside them.
                row = quiet_row(owners, rw, noise, 5 * ios if setting == RATES else 16 if "128 KiB" in noise else ios)
                yield {"rw": rw, "beside": noise, "setting": setting, "fair_us": round(fair_us, 2), **row}
        owners.give("equal weights")
    owners.close()


def quiet_row(owners: Owners, rw: str, noise: str, ios: int) -> dict[str, float]:
    """Latency of the quiet function in us, and how much of the link the others use, and all."""
    first, *others = owners.beside(rw, noise, ios)
    v = first.latencies()
    names = ("p50_us", "p99_us", "p999_us")
    return {**{name: round(percentile(v, p) / 1e3, 2) for name, p in zip(names, (50, 99, 99.9))},
            "others_link_pct": round(100 * link_use(owners.link, others), 2),
            "link_pct": round(100 * link_use(owners.link, [first, *others]), 2)}  # fmt: skip
