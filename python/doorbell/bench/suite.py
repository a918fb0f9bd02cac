# SPDX-License-Identifier: Apache-2.0
"""`./doorbell bench --suite limit`: the drive's targets, measured; docs/ssd/performance.md says where they come from.

`--suite host` measures those of db_host (host.py) and db_recorder (recorder.py), `--suite vcsd` a card (card_suite.py),
`--suite operators` slots of near-storage operators (pool_suite.py).

Every figure is in simulated time, so it is the same on every machine, and a target is met or it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doorbell.bench import card_suite, pool_suite
from doorbell.bench import host as host_bench
from doorbell.bench import recorder as recorder_bench
from doorbell.bench.jobs import MIXED, Job
from doorbell.bench.results import link_limit, percentile
from doorbell.bench.runner import run_group
from doorbell.device import limits
from doorbell.device.opening import check_clean, open_sim, sim_link
from doorbell.errors import UserError
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory
from doorbell.ui import print_table, progress_bar, write_json
from doorbell.units import size_name

LINKS = (("gen3x4", 128), ("gen3x8", 256), ("gen4x8", 512))
WORKLOADS = ("read", "randread", "write", "randwrite", "rw", "randrw")
SUITES = {
    "limit": 80,
    "limit-short": 12,
    "shares": 4,
    "host": 29,
    "host-short": 6,
    "host-nightly": 31,
    **card_suite.ROWS,
    **pool_suite.ROWS,
}  # rows, for the progress bar
OTHERS = (card_suite, pool_suite)
"""Modules with suites whose rows have more than a target."""
TAKE_PARAMS = ("shares",)
"""Suites that can be run with other parameters of the drive (--param)."""


@dataclass
class Target:
    """A target and what was measured. at_least: it may not be lower, else not higher."""

    name: str
    target: float
    measured: float
    unit: str
    at_least: bool

    @property
    def ok(self) -> bool:
        """The edges of the measured window may make a figure a little too high; nothing beats the link."""
        if self.unit == "% of link" and self.measured > 101:
            return False
        return self.measured >= self.target if self.at_least else self.measured <= self.target

    def json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "target": self.target,
            "measured": self.measured,
            "unit": self.unit,
            "bound": "at least" if self.at_least else "at most",
            "ok": self.ok,
        }


def _drive(
    link: str,
    data_w: int,
    *,
    queues: int,
    entries: int,
    prios: tuple[int, ...] = (),
    params: dict[str, int | str] | None = None,
    memory: int = 160 << 20,
    **options: Any,
) -> Driver:
    sim = open_sim(link=link, data_w=data_w, params=params, media_size=256 << 20, **options)
    drive = Driver(sim, HostMemory(memory))
    drive.start(queues=queues, entries=entries, wrr=bool(prios), prios=prios or None)
    return drive


def _finish(drive: Driver) -> None:
    check_clean(drive.sim)
    drive.sim.close()


# ------------------------------------------------------------------------------------------ throughput beside the link


def throughput(link: str, data_w: int, workloads: tuple[tuple[str, int, int], ...], target: float) -> Iterator[Target]:
    """Share of the link's limit for (rw, block size, commands to measure), 128 commands in flight on 4 queues."""
    drive = _drive(link, data_w, queues=4, entries=64)
    wire = sim_link(drive.sim, limits.Link.parse(link))
    for rw, size, count in workloads:
        depth = 32 if size <= 4096 else 16
        job = Job(rw=rw, bs=size, iodepth=depth, numjobs=4, rwmixread=70, number_ios=-(-count // 4))
        result = run_group(drive, [job])[0]
        share = 100 * result.iops / link_limit(wire, result).iops
        mix = " 70/30" if rw in MIXED else ""
        yield Target(f"{wire}, {data_w} bit: {rw}{mix} {size_name(size)}", target, share, "% of link", True)
    _finish(drive)


def queues_flat(counts: tuple[int, ...]) -> Iterator[Target]:
    """4 KiB random reads with 128 commands in flight, over more and more queues: how far apart the rates are."""
    rates = {}
    for count in counts:
        drive = _drive("gen3x8", 256, queues=count, entries=256, params={"NUM_QP": 128})
        job = Job(rw="randread", bs=4096, iodepth=128 // count, numjobs=count, number_ios=max(8, 1536 // count))
        rates[count] = run_group(drive, [job])[0].iops
        _finish(drive)
    spread = 100 * (1 - min(rates.values()) / max(rates.values()))
    slow = min(rates, key=lambda c: rates[c])
    name = f"1 to {max(counts)} queues, 4 KiB randread: spread of IOPS (slowest: {slow})"
    yield Target(name, 2.0, spread, "%", False)


def shares(urgent: bool, runtime_us: int, params: dict[str, int | str] | None = None) -> Iterator[Target]:
    """A reader at depth 1 that thinks 50 us between commands, beside 15 queues of 128 KiB writes at depth 32: how long
    its commands take, and how much of the link the writers get. Completions of the host come up to 200 ns late."""
    prios = (0, *[2] * 15) if urgent else ()
    drive = _drive("gen3x8", 256, queues=16, entries=64, prios=prios, params=params, completion_jitter_ns=200)
    wire = sim_link(drive.sim, limits.Link.parse("gen3x8"))
    time = {"runtime_ns": runtime_us * 1000, "time_based": True}
    reader = Job(name="reader", rw="randread", bs=4096, thinktime_ns=50_000, **time)
    writers = Job(name="writers", rw="randwrite", bs=128 << 10, iodepth=32, numjobs=15, **time)
    read, write = run_group(drive, [reader, writers])
    how = "urgent" if urgent else "round robin"
    where = f"{wire}: 4 KiB read, {how}, beside 15 queues of 128 KiB writes"
    slowest = percentile(read.latencies(), 99) / 1000
    yield Target(f"{where}: p99", 15 if urgent else 60, slowest, "us", False)
    share = 100 * write.iops / link_limit(wire, write).iops
    yield Target(f"{where}: the writers", 97, share, "% of link", True)
    _finish(drive)


# ------------------------------------------------------------------------------------------ the controller's latency


@dataclass
class Path1:
    """Cycles of one command, alone in the drive, at the drive's own ports."""

    events: list[Any]
    first: int  # address of its data

    def find(self, kind: str, after: int, test: Callable[[Any], bool] = lambda e: True) -> int:
        return next(e.cycle for e in self.events if e.kind == kind and e.cycle >= after and test(e))

    def doorbell(self) -> int:
        """The beat that brought it: the last one on CQ before the queues knew."""
        known = self.find("doorbell", 0)
        return max(e.cycle for e in self.events if e.kind == "cq" and e.cycle <= known)

    def data_out(self) -> tuple[int, int, int]:
        """Doorbell to request of the entry; entry to request to the media; first row to first beat of data on RQ.

        Together: doorbell to first data out, without the time that host and media took to answer.
        """
        ring = self.doorbell()
        asked = self.find("rq_read", ring)
        entry = self.find("rc_last", asked)
        media = self.find("ar", entry)
        row = self.find("r", media)
        out = self.find("rq_write", row, lambda e: e.b == self.first)
        return asked - ring, media - entry, out - row

    def cqe(self) -> int:
        return max(e.cycle for e in self.events if e.kind == "rq_write" and e.a == 4)

    def data_to_cqe(self, read: bool) -> int:
        cqe = self.cqe()
        kind = "rq_last" if read else "b"
        return cqe - max(e.cycle for e in self.events if e.kind == kind and e.cycle < cqe)

    def cqe_to_msix(self) -> int:
        return max(e.cycle for e in self.events if e.kind == "rq_write" and e.a == 1) - self.cqe()


def latency(data_w: int, link: str) -> Iterator[Target]:
    """One command at a time, on a link that never makes RQ wait."""
    drive = _drive(link, data_w, queues=1, entries=64, memory=32 << 20)
    paths: dict[int, list[Path1]] = {NvmOpc.READ: [], NvmOpc.WRITE: []}
    for i in range(24):
        opcode = NvmOpc.READ if i % 2 else NvmOpc.WRITE
        buffer = drive.buffer(4096)
        drive.advance(500)
        drive.sim.record()
        drive.run(drive.submit(1, opcode, (i * 37 + 5) * 8, 7, buffer))
        paths[opcode].append(Path1(drive.sim.recorded(), buffer.address))
        drive.sim.record(())
        buffer.free()
    _finish(drive)
    reads, writes = paths[NvmOpc.READ], paths[NvmOpc.WRITE]
    where = f"{data_w} bit, 4 KiB"
    both = [*reads, *writes]
    for what, target, cycles in (
        (" read: doorbell to first data out", 40, [sum(p.data_out()) for p in reads]),
        (" read: last data to CQE", 8, [p.data_to_cqe(True) for p in reads]),
        (" write: last write response to CQE", 8, [p.data_to_cqe(False) for p in writes]),
        (": CQE to MSI-X", 4, [p.cqe_to_msix() for p in both]),
    ):
        yield Target(where + what, target, max(cycles), "cycles", False)


def front_end(data_w: int, link: str) -> Iterator[Target]:
    """Cycles from one decoded command to the next while a burst of them waits, on a link wide enough."""
    for queues in (1, 8):
        drive = _drive(link, data_w, queues=queues, entries=64, memory=32 << 20)
        count = 32 // queues
        buffer = drive.buffer(512)
        for q in range(1, queues + 1):
            for i in range(count):
                drive.submit(q, NvmOpc.READ if i % 2 else NvmOpc.WRITE, 8 * (q * count + i), 0, buffer)
        drive.sim.record(("decode",))
        drive.wait()
        at = [e.cycle for e in drive.sim.recorded()]
        drive.sim.record(())
        _finish(drive)
        cycles = (at[-1] - at[0]) / (len(at) - 1)
        name = f"{data_w} bit: front end, a command of a burst of 32 on {queues} queue{'s' if queues > 1 else ''}"
        yield Target(name, 8, cycles, "cycles", False)


# ------------------------------------------------------------------------------------------ the suites


def rows(
    suite: str, params: dict[str, int | str] | None = None, measured: list[dict[str, Any]] | None = None
) -> Iterator[Target]:
    """measured: takes what a suite of OTHERS has measured."""
    for other in OTHERS:
        if suite not in other.ROWS:
            continue
        for row in other.measure(suite):
            if measured is not None:
                measured.append(row)
            for found in other.targets(row):
                yield Target(*found)
        return
    if suite.startswith("host"):
        for row in host_bench.targets(suite == "host-short"):
            yield Target(*row)
        if suite != "host-short":
            for row in recorder_bench.targets((1, 2, 4, 8) if suite == "host-nightly" else (1, 2, 4)):
                yield Target(*row)
        return
    if suite == "shares":
        for urgent in (False, True):
            yield from shares(urgent, 2_000, params)
        return
    if suite == "limit-short":
        some = tuple((rw, 4096, 480) for rw in ("randread", "read", "randwrite", "write", "randrw"))
        yield from throughput("gen3x8", 256, some, 97)
        yield from throughput("gen3x8", 256, (("randread", 512, 1024),), 90)
        yield from latency(256, "gen4x8")
        yield from front_end(256, "gen5x16")
        return
    for link, data_w in LINKS:
        for size, count in ((4096, 1536), (16384, 512), (131072, 320)):
            yield from throughput(link, data_w, tuple((rw, size, count) for rw in WORKLOADS), 97)
        yield from throughput(link, data_w, (("randread", 512, 4096), ("read", 512, 4096)), 90)
    for _, data_w in LINKS:
        link = {128: "gen3x8", 256: "gen4x8", 512: "gen5x8"}[data_w]
        yield from latency(data_w, link)
        yield from front_end(data_w, "gen5x16")
    yield from queues_flat((1, 2, 8, 32, 128))


def run_suite(suite: str, json: Path | None, params: dict[str, int | str] | None = None) -> bool:
    """Run it, print target and measurement of each row; True if all targets are met. params: of the drive, where they
    are not the defaults, for which the targets are."""
    if suite not in SUITES:
        raise UserError(f"--suite: there is no '{suite}': use one of {', '.join(SUITES)}")
    from rich.table import Table

    found: list[Target] = []
    others: list[dict[str, Any]] = []
    with progress_bar(f"suite {suite}") as update:
        for row in rows(suite, params, others):
            found.append(row)
            update(min(1.0, len(found) / SUITES[suite]))
    peers = [*host_bench.peers(), *recorder_bench.peers()] if suite in ("host", "host-nightly") else []
    clock = "" if suite.startswith("host") else ", 250 MHz"
    with_params = "".join(f", {k}={v}" for k, v in (params or {}).items())
    table = Table(title=f"Suite {suite}{with_params}, simulated time{clock}", title_justify="left")
    table.add_column("what")
    for name in ("target", "measured"):
        table.add_column(name, justify="right")
    table.add_column("ok")
    for row in found:
        bound = ">=" if row.at_least else "<="
        table.add_row(
            row.name,
            f"{bound} {row.target:g} {row.unit}",
            f"{row.measured:.2f}".rstrip("0").rstrip("."),
            "yes" if row.ok else "MISSED",
        )
    missed = [r for r in found if not r.ok]
    if json is not None:
        write_json(
            json,
            {
                "suite": suite,
                "ok": not missed,
                **({"params": params} if params else {}),
                "rows": [r.json() for r in found],
                **({"peers": peers} if peers else {}),
                **({"measured": others} if others else {}),
            },
        )
    if str(json) != "-":
        tables = [t for other in OTHERS if suite in other.ROWS for t in other.tables(others)]
        print_table(table, *(host_bench.peer_tables(peers) if peers else ()), *tables)
        print(f"{len(found) - len(missed)} of {len(found)} targets met")
    return not missed
