# SPDX-License-Identifier: Apache-2.0
"""Doorbell's synthetic workloads on a drive, all in a row, beside what OpenExpress published for the real traces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from doorbell.bench import workloads
from doorbell.bench.drive import DriveSetup, measure_trace
from doorbell.bench.jobs import Job
from doorbell.bench.results import link_limit, percentile
from doorbell.bench.synthetic import generate
from doorbell.bench.trace_statistics import statistics
from doorbell.bench.workloads import Blocks, Workload

JOB = Job(iodepth=8, numjobs=10)
"""OpenExpress' threads and depth."""
BYTES = 32 << 20
MOST = 4096


def count_for(workload: Workload) -> int:
    """Accesses of about BYTES, MOST at most."""
    some = statistics(generate(workload, 256, 1).accesses)
    return max(1, min(MOST, BYTES * some.accesses // (some.read.bytes + some.write.bytes)))


def measure(setup: DriveSetup, job: Job, names: Iterable[str] = ()) -> list[dict[str, Any]]:
    """A row for each of them; job: depth, copies, seed, region, accesses unless there are to be as many as usual."""
    return [
        measure_one(setup, job, workload) for name, workload in workloads.own().items() if not names or name in names
    ]


def measure_one(setup: DriveSetup, job: Job, workload: Workload) -> dict[str, Any]:
    trace = generate(workload, job.number_ios or count_for(workload), job.randseed, job.size)
    found = measure_trace(setup, trace, job, afap=True, speed=1.0)
    result, about, latencies = found.groups[0][0], statistics(trace.accesses), found.groups[0][0].latencies()
    return {
        "workload": workload.name,
        "synthetic": True,
        "accesses": about.accesses,
        "reads": 100 * about.read.accesses / about.accesses,
        "mean_kib": (about.read.bytes + about.write.bytes) / about.accesses / 1024,
        "sequential": 100 * about.sequential,
        "mb_s": result.bytes_per_s / 1e6,
        "of_link": 100 * result.iops / link_limit(found.wire, result).iops,
        "mean_us": latencies.mean() / 1e3,
        "p99_us": percentile(latencies, 99) / 1e3,
        "published": {key: list(value) for key, value in workload.beside.items()},
    }


def cells(row: dict[str, Any]) -> list[str]:
    """A row as the table and docs/workloads.md have it."""
    beside = row["published"]
    rate = "-".join(f"{x:,.0f}" for x in beside["mb_s"]) if beside else "-"
    time = f"{beside['us'][0]:.0f}-{beside['us'][1]:.0f}" if beside and beside["us"][0] else ""
    return [
        row["workload"],
        f"{row['reads']:.0f}",
        f"{row['mean_kib']:.1f}",
        f"{row['sequential']:.0f}",
        f"{row['mb_s']:,.0f}",
        f"{row['of_link']:.1f}",
        f"{row['mean_us']:.1f}",
        f"{row['p99_us']:.1f}",
        rate,
        time or (f"below {beside['us'][1]:.0f}" if beside else "-"),
    ]


HEADS = ("synthetic workload", "reads %", "KiB", "sequential %", "MB/s", "% of link", "mean us", "p99 us",
         "OpenExpress MB/s", "us")  # fmt: skip


def table(rows: list[dict[str, Any]], title: str) -> Any:
    from rich.table import Table

    out = Table(title=title, title_justify="left")
    for name in HEADS:
        out.add_column(name, justify="left" if name == HEADS[0] else "right")
    for row in rows:
        out.add_row(*cells(row))
    return out


def described(workload: Workload) -> list[str]:
    """What its parameters are: name, about, fields; a published one has a star."""

    def star(name: str) -> str:
        return "*" if name in workload.published else ""

    def split(sizes: Iterable[tuple[int, int]]) -> str:
        known = list(sizes)
        total = sum(w for _, w in known)
        return " ".join(f"{s >> 10}k" if len(known) == 1 else f"{s / 1024:g}k {100 * w / total:g}" for s, w in known)

    what = workload.what
    if isinstance(what, Blocks):
        parts = [f"{100 * what.reads:g} % reads{star('reads')}", f"reads {split(what.read_sizes)}{star('read_sizes')}",
                 f"writes {split(what.write_sizes)}{star('write_sizes')}",
                 f"{100 * what.sequential:g} % sequential{star('sequential')}",
                 f"zipf {what.zipf:g}{star('zipf')}" if what.zipf else f"uniform{star('zipf')}",
                 f"aligned to {what.align}{star('align')}"]  # fmt: skip
    else:
        parts = [f"{100 * share:g} % {name}{star(name)}" for name, share in what.shares().items() if share]
        parts.append(f"{what.choice}{star('choice')} {what.zipf:g}{star('zipf')}")
        parts.append(f"records of {what.record} B{star('record')} in pages of {what.page}{star('page')}")
        if what.scans:
            parts.append(f"scans of 1 to {what.most_scanned} records{star('most_scanned')}")
    return [workload.name, workload.about, ", ".join(parts)]


def list_table() -> Any:
    from rich.table import Table

    out = Table(title="Synthetic workloads; a star: published, all else is assumed (docs/workloads.md)",
                title_justify="left")  # fmt: skip
    for name in ("name", "what", "parameters"):
        out.add_column(name)
    for workload in workloads.own().values():
        out.add_row(*described(workload))
    return out
