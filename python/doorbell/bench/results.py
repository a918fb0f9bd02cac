# SPDX-License-Identifier: Apache-2.0
"""What the bench measured: beside the link's limit, as a table, as fio's JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from doorbell import __version__
from doorbell.bench.jobs import MIXED, PRIORITIES, Job, describe
from doorbell.device import limits

TRIM_BYTES = 16
"""What a command that deallocates a range moves: the range's description."""
FIO_PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)


@dataclass
class Side:
    """What was measured of the reads, or of the writes, of a job. slat: waiting before submission (traces only)."""

    ios: int = 0
    bytes: int = 0
    clat_ns: list[float] = field(default_factory=list)
    slat_ns: list[float] = field(default_factory=list)
    sizes: Counter[int] = field(default_factory=Counter)

    def add(self, size: int, clat_ns: float) -> None:
        self.ios += 1
        self.bytes += size
        self.clat_ns.append(clat_ns)
        self.sizes[size] += 1

    def join(self, other: Side) -> None:
        self.ios += other.ios
        self.bytes += other.bytes
        self.clat_ns += other.clat_ns
        self.slat_ns += other.slat_ns
        self.sizes += other.sizes


@dataclass
class Result:
    """A job's measurement."""

    job: Job
    read: Side
    write: Side
    duration_ns: float = 0.0  # of its window; over numjobs: so that ios / duration is their rate together
    doorbells: tuple[float, float] = (1.0, 1.0)  # SQ and CQ doorbell writes a command, of all jobs of the group
    irqs: float = 1.0
    window: Counter[tuple[bool, int]] = field(default_factory=Counter)  # (read, size): what the rate was taken from
    limit: limits.Limit | None = None  # of a host at the other end of the link; else as a drive has it
    function: int | None = None  # index of the PCIe function that it ran on, where there are several

    @property
    def ios(self) -> int:
        return self.read.ios + self.write.ios

    @property
    def iops(self) -> float:
        return self.ios / self.duration_ns * 1e9 if self.duration_ns else 0.0

    @property
    def bytes_per_s(self) -> float:
        return (self.read.bytes + self.write.bytes) / self.duration_ns * 1e9 if self.duration_ns else 0.0

    def latencies(self) -> np.ndarray:
        return np.sort(np.array(self.read.clat_ns + self.write.clat_ns))


def link_limit(link: limits.Link, result: Result) -> limits.Limit:
    """The link's limit for the workload that ran, with the doorbells and interrupts that it used.

    Submission entries are taken as fetched eight at a time where the queue is that deep: what the link could do.
    """
    if result.limit is not None:
        return result.limit
    job = result.job
    kinds = result.window or Counter(
        {
            (read, size): count
            for read, side in ((True, result.read), (False, result.write))
            for size, count in side.sizes.items()
        }
    )
    parts = [(float(read), size, count) for (read, size), count in sorted(kinds.items())]
    if not parts:
        parts = [(job.read_share, job.max_bs, 1)]
    works = [
        (
            count,
            limits.Workload(
                TRIM_BYTES if job.trims else size,
                read,
                sqes_per_fetch=min(8, job.iodepth),
                irqs=result.irqs,
                sq_doorbells=result.doorbells[0],
                cq_doorbells=result.doorbells[1],
            ),
        )
        for read, size, count in parts
    ]
    return limits.mix(link, works)


def link_use(link: limits.Link, results: Iterable[Result]) -> float:
    """Share of the link that jobs running together needed at least (1 = at its limit)."""
    up = down = 0.0
    for r in results:
        lim = link_limit(link, r)
        up += r.iops * lim.up_bytes
        down += r.iops * lim.down_bytes
    return max(up, down) / (link.bytes_per_ns * 1e9)


PERCENTILES = (50, 99, 99.9)  # of tables


def percentile(ordered: np.ndarray, p: float) -> float:
    """Nearest rank."""
    if not len(ordered):
        return 0.0
    return float(ordered[min(len(ordered) - 1, max(0, int(np.ceil(p / 100 * len(ordered))) - 1))])


def fio_bin(ns: int) -> int:
    """The value by which fio's json+ names the latency bin of `ns`: 64 bins an octave, named by their middle."""
    if ns < 128:
        return ns
    shift = ns.bit_length() - 7
    return (ns >> shift << shift) + (1 << shift) // 2


def _lat(values: Sequence[float], *, detail: bool) -> dict[str, Any]:
    v = np.sort(np.array(values, dtype=float))
    out: dict[str, Any] = {
        "min": int(v[0]) if len(v) else 0,
        "max": int(v[-1]) if len(v) else 0,
        "mean": float(v.mean()) if len(v) else 0.0,
        "stddev": float(v.std()) if len(v) else 0.0,
        "N": len(v),
    }
    if detail and len(v):
        out["percentile"] = {f"{p:.6f}": round(percentile(v, p)) for p in FIO_PERCENTILES}
        bins = Counter(fio_bin(round(x)) for x in v)
        out["bins"] = {str(k): bins[k] for k in sorted(bins)}
    return out


def _side_json(side: Side, duration_ns: float) -> dict[str, Any]:
    seconds = duration_ns / 1e9
    rate = side.bytes / seconds if seconds else 0.0
    iops = side.ios / seconds if seconds else 0.0
    total = [s + c for s, c in zip(side.slat_ns, side.clat_ns)] if side.slat_ns else side.clat_ns
    mib = rate / 1024
    return {
        "io_bytes": side.bytes,
        "io_kbytes": side.bytes // 1024,
        "bw_bytes": round(rate),
        "bw": round(mib),
        "iops": iops,
        "runtime": round(duration_ns / 1e6),
        "total_ios": side.ios,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": _lat(side.slat_ns, detail=False),
        "clat_ns": _lat(side.clat_ns, detail=True),
        "lat_ns": _lat(total, detail=True),
        "bw_min": round(mib),
        "bw_max": round(mib),
        "bw_agg": 100.0,
        "bw_mean": mib,
        "bw_dev": 0.0,
        "bw_samples": 1,
        "iops_min": round(iops),
        "iops_max": round(iops),
        "iops_mean": iops,
        "iops_stddev": 0.0,
        "iops_samples": 1,
    }


def _options(job: Job) -> dict[str, str]:
    out = {"name": job.name, "rw": job.rw, "iodepth": str(job.iodepth), "numjobs": str(job.numjobs)}
    if job.split is None:
        out["bs"] = str(job.bs)
    else:
        sides = []
        for read in (True, False):
            sizes = job.sizes(read)
            total = sum(w for _, w in sizes)
            sides.append(":".join(f"{size}/{100 * w / total:g}" for size, w in sizes))
        out["bssplit"] = ",".join(sides)
    if job.rw in MIXED:
        out["rwmixread"] = str(job.rwmixread)
    for key, value in (("size", job.size), ("offset", job.offset), ("number_ios", job.number_ios)):
        if value:
            out[key] = str(value)
    if job.zipf:
        out["random_distribution"] = f"zipf:{job.zipf:g}"
    if job.thinktime_ns:
        out |= {"thinktime": f"{job.thinktime_ns}ns", "thinktime_blocks": str(job.thinktime_blocks)}
    for key, value in (("rate", job.rate), ("rate_iops", job.rate_iops)):
        if value:
            out[key] = str(value)
    if job.sq_priority:
        out["sq_priority"] = ",".join(PRIORITIES[p] for p in job.sq_priority)
    return {**out, "randseed": str(job.randseed)}


def fio_json(all_groups: Sequence[Sequence[Result]], link: limits.Link, setting: dict[str, Any]) -> dict[str, Any]:
    """Results as fio's JSON output (json+) has them; what fio does not know stands under "doorbell".

    Times are simulated. Job depth levels and processor use are a host's: they are there for tools that look for them.
    """
    jobs = []
    for number, results in enumerate(all_groups):
        use = link_use(link, results)
        for r in results:
            lim = link_limit(link, r)
            jobs.append({
                "jobname": r.job.name, "groupid": number, "error": 0, "eta": 0, "elapsed": 1,
                "job options": _options(r.job),
                "read": _side_json(r.read, r.duration_ns),
                "write": _side_json(Side() if r.job.trims else r.write, r.duration_ns),
                "trim": _side_json(r.write if r.job.trims else Side(), r.duration_ns),
                "sync": {"total_ios": 0, "lat_ns": _lat([], detail=False)},
                "job_runtime": round(r.duration_ns / 1e6), "usr_cpu": 0.0, "sys_cpu": 0.0, "ctx": 0, "majf": 0,
                "minf": 0,
                "doorbell": {
                    "duration_ns": r.duration_ns, "limit_iops": lim.iops, "limit_bw_bytes": lim.bytes_per_s,
                    "limit_direction": lim.bound, "link_use": use, "up_bytes_per_io": lim.up_bytes,
                    "down_bytes_per_io": lim.down_bytes, "of_limit": r.iops / lim.iops,
                    **({} if r.function is None else {"function": r.function}),
                },
            })  # fmt: skip
    return {
        "fio version": f"doorbell-{__version__}",
        "timestamp": 0,
        "timestamp_ms": 0,
        "time": "Thu Jan  1 00:00:00 1970",
        "global options": {},
        "jobs": jobs,
        "disk_util": [],
        "doorbell": setting,
    }


def empty_table(title: str, who: str, *more: str) -> Any:
    """A rich table of who did what, how fast and how late; `more` columns behind those."""
    from rich.table import Table

    out = Table(title=title, title_justify="left")
    for name in (who, "workload"):
        out.add_column(name)
    for name in ("MB/s", "kIOPS", "mean us", "p50", "p99", "p99.9", *more):
        out.add_column(name, justify="right")
    return out


def table(all_groups: Sequence[Sequence[Result]], link: limits.Link, title: str) -> Any:
    """Results as a rich table."""
    out = empty_table(title, "job", "link MB/s", "% of link")
    for results in all_groups:
        for r in results:
            v = r.latencies()
            lim = link_limit(link, r)
            out.add_row(
                r.job.name,
                describe(r.job),
                f"{r.bytes_per_s / 1e6:,.0f}",
                f"{r.iops / 1e3:,.1f}",
                f"{v.mean() / 1e3:.2f}" if len(v) else "-",
                *(f"{percentile(v, p) / 1e3:.2f}" for p in PERCENTILES),
                f"{lim.bytes_per_s / 1e6:,.0f}",
                f"{100 * r.iops / lim.iops:.1f}",
            )
        if len(results) > 1:
            total = sum(r.bytes_per_s for r in results)
            iops = sum(r.iops for r in results)
            out.add_row(
                "all",
                "together",
                f"{total / 1e6:,.0f}",
                f"{iops / 1e3:,.1f}",
                *[""] * 5,
                f"{100 * link_use(link, results):.1f}",
            )
    return out
