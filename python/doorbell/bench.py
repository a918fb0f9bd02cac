# SPDX-License-Identifier: Apache-2.0
"""`./doorbell bench`: fio's options and job files against a drive, in simulated time.

A job keeps `iodepth` commands in flight on its own queue pair (times `numjobs`). Measuring starts when twice that many
have completed and ends with the job's last measured completion; a job that is done keeps the drive busy until all
jobs beside it are done, so neither ramp nor drain counts. The same seed gives the same figures on any machine.
"""

from __future__ import annotations

import json as json_module
import random
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from doorbell import __version__, limits
from doorbell.errors import UserError
from doorbell.nvme import Buffer, Command, Driver, HostMemory
from doorbell.nvme_spec import Feature, NvmOpc

PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
RW = ("read", "write", "randread", "randwrite", "rw", "readwrite", "randrw")
# Options of fio that mean nothing here: a job file may have them.
IGNORED = {
    "ioengine", "direct", "filename", "group_reporting", "thread", "invalidate", "norandommap", "time_based",
    "randrepeat", "refill_buffers", "buffered", "create_on_open", "lat_percentiles", "clat_percentiles", "cpus_allowed",
    "ioscheduler", "description", "gtod_reduce", "disable_slat", "hipri", "registerfiles", "fixedbufs", "sync",
}
DEFAULT_IOS = 4096
DEFAULT_BYTES = 32 << 20
BUFFER_BYTES = 512 << 20


# ----------------------------------------------------------------------------------------------------------- options


def parse_size(text: str) -> int:
    """fio's sizes: 4096, 4k, 4KiB, 1m, 1g (all powers of 1024)."""
    match = re.fullmatch(r"(\d+)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    if not match:
        raise ValueError(f"'{text}' is not a size: use for example 4096, 4k or 1m")
    return int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[match[2]]


def parse_time_ns(text: str) -> int:
    """Simulated time: 500us, 2ms, 1s; seconds when there is no unit, as in fio."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m)?", text.strip().lower())
    if not match:
        raise ValueError(f"'{text}' is not a time: use for example 500us, 2ms or 1s")
    scale = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9}
    return int(float(match[1]) * scale[match[2] or "s"])


def _count(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError as e:
            raise ValueError(f"'{text}' is not a number") from e
        if not low <= value <= high:
            raise ValueError(f"{value} is not in {low} to {high}")
        return value

    return parse


def _rw(text: str) -> str:
    if text not in RW:
        raise ValueError(f"'{text}' is not one of {', '.join(RW)}")
    return text


@dataclass(frozen=True)
class Job:
    """One section of a job file, or the command line's job."""

    name: str = "doorbell"
    rw: str = "read"
    bs: int = 4096
    iodepth: int = 1
    numjobs: int = 1
    rwmixread: int = 50
    size: int = 0  # region from `offset`, and the amount of data unless number_ios is given; 0: the whole drive
    offset: int = 0
    number_ios: int = 0
    runtime_ns: int = 0
    randseed: int = 1
    stonewall: bool = False

    @property
    def read_share(self) -> float:
        if "read" in self.rw and self.rw != "readwrite":
            return 1.0
        return self.rwmixread / 100 if self.rw in ("rw", "readwrite", "randrw") else 0.0

    def ios(self) -> int:
        """Commands to measure, for each of the numjobs."""
        if self.number_ios:
            return self.number_ios
        if self.size:
            return max(1, self.size // self.bs)
        if self.runtime_ns:
            return 1 << 60
        return max(min(DEFAULT_IOS, DEFAULT_BYTES // self.bs) // self.numjobs, 2 * self.iodepth, 16)


OPTIONS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "name": ("name", str),
    "rw": ("rw", _rw),
    "readwrite": ("rw", _rw),
    "bs": ("bs", parse_size),
    "blocksize": ("bs", parse_size),
    "iodepth": ("iodepth", _count(1, 4095)),
    "numjobs": ("numjobs", _count(1, 128)),
    "rwmixread": ("rwmixread", _count(0, 100)),
    "rwmixwrite": ("rwmixread", lambda text: 100 - _count(0, 100)(text)),
    "size": ("size", parse_size),
    "offset": ("offset", parse_size),
    "number_ios": ("number_ios", _count(1, 1 << 40)),
    "runtime": ("runtime_ns", parse_time_ns),
    "randseed": ("randseed", _count(0, 1 << 63)),
    "stonewall": ("stonewall", lambda text: text != "0"),
    "wait_for_previous": ("stonewall", lambda text: text != "0"),
}


def apply_option(job: Job, key: str, value: str, where: str) -> Job:
    """`job` with one option of a job file or the command line set."""
    key = key.strip().lower().replace("-", "_")
    if key in IGNORED:
        return job
    if key not in OPTIONS:
        known = ", ".join(sorted(k for k in OPTIONS if k != "name"))
        raise UserError(f"{where}: the option '{key}' is not known; bench knows {known}")
    name, parse = OPTIONS[key]
    try:
        return replace(job, **{name: parse(value.strip())})
    except ValueError as e:
        raise UserError(f"{where}: {key}: {e}") from e


def parse_job_file(text: str, source: str = "job file") -> list[Job]:
    """The jobs of a fio job file: [global] sections set defaults for what follows, every other section is a job."""
    base, jobs = Job(), []
    current: Job | None = None
    in_global = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#", 1)[0].split(";", 1)[0].strip()
        where = f"{source}:{number}"
        if not line:
            continue
        if line.startswith("["):
            if not line.endswith("]") or len(line) < 3:
                raise UserError(f"{where}: '{line}' is not a section: write [name]")
            if current is not None:
                jobs.append(current)
            in_global = line[1:-1].strip().lower() == "global"
            current = None if in_global else replace(base, name=line[1:-1].strip(), stonewall=base.stonewall)
            continue
        key, _, value = line.partition("=")
        if in_global:
            base = apply_option(base, key, value or "1", where)
        elif current is not None:
            current = apply_option(current, key, value or "1", where)
        else:
            raise UserError(f"{where}: '{key.strip()}' stands before the first [section]")
    if current is not None:
        jobs.append(current)
    if not jobs:
        raise UserError(f"{source}: there is no job in it: a job is a [section] other than [global]")
    return jobs


def groups(jobs: Iterable[Job]) -> list[list[Job]]:
    """Jobs that run at the same time; a stonewall starts the next group."""
    out: list[list[Job]] = []
    for job in jobs:
        if job.stonewall or not out:
            out.append([])
        out[-1].append(job)
    return out


# ------------------------------------------------------------------------------------------------------------ running


@dataclass
class Side:
    """What was measured of the reads, or of the writes, of a job."""

    ios: int = 0
    bytes: int = 0
    clat_ns: list[float] = field(default_factory=list)


@dataclass
class Result:
    """A job's measurement."""

    job: Job
    read: Side
    write: Side
    duration_ns: float = 0.0  # of its window; over numjobs: so that ios / duration is their rate together
    doorbells: tuple[float, float] = (1.0, 1.0)  # SQ and CQ doorbell writes a command, of all jobs of the group
    irqs: float = 1.0
    limit: limits.Limit | None = None

    @property
    def ios(self) -> int:
        return self.read.ios + self.write.ios

    @property
    def iops(self) -> float:
        return self.ios / self.duration_ns * 1e9 if self.duration_ns else 0.0

    @property
    def bytes_per_s(self) -> float:
        return self.iops * self.job.bs

    def latencies(self) -> np.ndarray:
        return np.sort(np.array(self.read.clat_ns + self.write.clat_ns))


class _Runner:
    """One of the numjobs of a job: its queue, its stream of offsets, its window."""

    def __init__(self, job: Job, index: int, qid: int, drive: Driver, buffers: Sequence[Buffer]) -> None:
        self.job, self.qid, self.drive = job, qid, drive
        self.rng = random.Random(job.randseed * 1_000_003 + index)
        block = drive.block_size
        capacity = drive.namespace.nsze * block if drive.namespace else 0
        region = min(job.size or capacity, capacity - job.offset)
        self.slots = region // job.bs
        if self.slots < 1:
            raise UserError(f"job {job.name}: its region is smaller than one block of {job.bs} bytes")
        self.first = job.offset // block
        self.step = job.bs // block
        self.random = job.rw.startswith("rand")
        self.share = job.read_share
        self.free = list(buffers)
        self.cursor = [0, 0]
        self.read, self.write = Side(), Side()
        self.seen = 0
        self.warm = 2 * job.iodepth
        self.want = job.ios()
        self.opened_ns = 0.0
        self.closed_ns = 0.0

    @property
    def done(self) -> bool:
        return bool(self.closed_ns)

    def fill(self) -> None:
        drive, job = self.drive, self.job
        while self.free:
            buffer = self.free.pop()
            is_read = self.share == 1 or (self.share > 0 and self.rng.random() < self.share)
            if self.random:
                slot = self.rng.randrange(self.slots)
            else:
                slot = self.cursor[0]
                self.cursor[0] = (slot + 1) % self.slots
            opcode, slba = NvmOpc.READ if is_read else NvmOpc.WRITE, self.first + slot * self.step
            drive.submit(self.qid, opcode, slba, self.step - 1, buffer, nbytes=job.bs, user=self)

    def complete(self, command: Command) -> None:
        command.check()
        assert command.buffer is not None
        self.free.append(command.buffer)
        self.seen += 1
        if self.seen <= self.warm:
            if self.seen == self.warm:
                self.opened_ns = command.done_ns
            return
        if self.done:
            return
        side = self.read if command.opcode == NvmOpc.READ else self.write
        side.ios += 1
        side.bytes += self.job.bs
        side.clat_ns.append(command.done_ns - command.started_ns)
        late = self.job.runtime_ns and command.done_ns - self.opened_ns >= self.job.runtime_ns
        if self.read.ios + self.write.ios >= self.want or late:
            self.closed_ns = command.done_ns


def run_group(drive: Driver, jobs: Sequence[Job], *, progress: Callable[[float], None] | None = None) -> list[Result]:
    """Run jobs at the same time on a drive whose queues exist (`Driver.start`); one result a job."""
    for job in jobs:
        if job.bs % drive.block_size or not job.bs:
            raise UserError(f"job {job.name}: bs {job.bs} is not a multiple of the drive's block of {drive.block_size}")
        if drive.max_transfer and job.bs > drive.max_transfer:
            raise UserError(f"job {job.name}: bs {job.bs} is more than the drive takes in a command "
                            f"({drive.max_transfer} bytes)")
    queues = [q for q in drive.sqs if q]
    total = sum(j.numjobs * j.iodepth * j.bs for j in jobs)
    shared = total > BUFFER_BYTES  # then the commands of a job share one buffer: what it holds does not matter here
    runners: list[_Runner] = []
    owned: list[Buffer] = []
    noise = random.Random(jobs[0].randseed).randbytes(1 << 16)
    for job in jobs:
        for index in range(job.numjobs):
            qid = queues[len(runners) % len(queues)]
            buffers = [drive.buffer(job.bs) for _ in range(1 if shared else job.iodepth)]
            for buffer in buffers:
                buffer.write((noise * (-(-job.bs // len(noise))))[: job.bs])
            owned += buffers
            runners.append(_Runner(job, index, qid, drive, buffers * (job.iodepth if shared else 1)))
    for q in queues:
        room = drive.sqs[q].entries - 1
        if sum(r.job.iodepth for r in runners if r.qid == q) > room:
            raise UserError(f"more commands in flight than the {room} entries of a submission queue")
    bells = drive.sq_doorbells, drive.cq_doorbells, drive.interrupts, drive.completed
    for runner in runners:
        runner.fill()
    drive.ring()
    idle_since = drive.sim.ns
    while not all(r.done for r in runners):
        completed = drive.step()
        if completed:
            idle_since = drive.sim.ns
        elif drive.sim.ns - idle_since > drive.io_timeout_us * 1000:
            drive.wait()  # says which command is late
        touched: dict[int, _Runner] = {}
        for command in completed:
            runner = command.user
            runner.complete(command)
            touched[id(runner)] = runner
        for runner in touched.values():
            runner.fill()
        drive.ring()
        if progress:
            progress(min(_done_share(r) for r in runners))
    count = max(1, drive.completed - bells[3])
    doorbells = (drive.sq_doorbells - bells[0]) / count, (drive.cq_doorbells - bells[1]) / count
    irqs = (drive.interrupts - bells[2]) / count
    drive.wait()
    for buffer in owned:
        buffer.free()
    results = []
    for job in jobs:
        mine = [r for r in runners if r.job is job]
        result = Result(job, Side(), Side(), doorbells=doorbells, irqs=irqs)
        for r in mine:
            for total_side, side in ((result.read, r.read), (result.write, r.write)):
                total_side.ios += side.ios
                total_side.bytes += side.bytes
                total_side.clat_ns += side.clat_ns
        # The sum of the runners' own rates, over windows that need not be the same.
        rate = sum((r.read.ios + r.write.ios) / (r.closed_ns - r.opened_ns) for r in mine)
        result.duration_ns = result.ios / rate
        results.append(result)
    return results


def _done_share(r: _Runner) -> float:
    if r.done:
        return 1.0
    if r.job.runtime_ns and r.opened_ns:
        return min(1.0, (r.drive.sim.ns - r.opened_ns) / r.job.runtime_ns)
    return min(1.0, r.seen / (r.warm + r.want))


def link_limit(link: limits.Link, result: Result) -> limits.Limit:
    """The link's limit for the workload that ran, with the doorbells and interrupts that it used.

    Submission entries are taken as fetched eight at a time where the queue is that deep: what the link could do.
    """
    job = result.job
    share = result.read.ios / result.ios if result.ios else job.read_share
    work = limits.Workload(job.bs, share, sqes_per_fetch=min(8, job.iodepth), irqs=result.irqs,
                           sq_doorbells=result.doorbells[0], cq_doorbells=result.doorbells[1])
    return limits.limit(link, work)


def link_use(link: limits.Link, results: Iterable[Result]) -> float:
    """Share of the link that jobs running together needed at least (1 = at its limit)."""
    up = down = 0.0
    for r in results:
        lim = link_limit(link, r)
        up += r.iops * lim.up_bytes
        down += r.iops * lim.down_bytes
    return max(up, down) / (link.bytes_per_ns * 1e9)


# ------------------------------------------------------------------------------------------------------------- drives


def open_sim(backend: str = "rtl", *, top: str = "db_ssd", link: str = "gen3x8", data_w: int = 256,
             params: dict[str, int | str] | None = None, **options: Any) -> Any:
    """A simulated drive: the Verilated top (built when missing) or the functional model."""
    if backend == "functional":
        from doorbell.functional import FunctionalSsd

        rate = limits.Link.parse(link).bytes_per_ns * 0.88
        return FunctionalSsd(bytes_per_ns=rate, num_qp=int((params or {}).get("NUM_QP", 32)), **options)
    if backend != "rtl":
        raise UserError(f"there is no back end '{backend}': use rtl or functional")
    from doorbell.build import simulator
    from doorbell.sim import Sim

    library = simulator(top, {"DATA_W": data_w, **(params or {})})  # the same build as every other command uses
    return Sim(library, link=link, **options)


def host_memory(jobs: Iterable[Job]) -> HostMemory:
    """Enough host memory for the jobs' buffers and queues."""
    need = sum(j.numjobs * j.iodepth * (j.bs + 8192) for j in jobs)
    return HostMemory((min(need, BUFFER_BYTES * 2) + (96 << 20)) & ~0xFFF)


# ------------------------------------------------------------------------------------------------------------- output


def percentile(ordered: np.ndarray, p: float) -> float:
    """Nearest rank."""
    if not len(ordered):
        return 0.0
    return float(ordered[min(len(ordered) - 1, max(0, int(np.ceil(p / 100 * len(ordered))) - 1))])


def _clat(values: Sequence[float], *, percentiles: bool) -> dict[str, Any]:
    v = np.sort(np.array(values, dtype=float))
    out: dict[str, Any] = {
        "min": int(v[0]) if len(v) else 0, "max": int(v[-1]) if len(v) else 0,
        "mean": float(v.mean()) if len(v) else 0.0, "stddev": float(v.std()) if len(v) else 0.0, "N": len(v),
    }
    if percentiles and len(v):
        out["percentile"] = {f"{p:.6f}": round(percentile(v, p)) for p in PERCENTILES}
    return out


def _side_json(side: Side, duration_ns: float) -> dict[str, Any]:
    seconds = duration_ns / 1e9
    rate = side.bytes / seconds if seconds else 0.0
    return {
        "io_bytes": side.bytes, "io_kbytes": side.bytes // 1024, "bw_bytes": round(rate), "bw": round(rate / 1024),
        "iops": side.ios / seconds if seconds else 0.0, "runtime": round(duration_ns / 1e6), "total_ios": side.ios,
        "short_ios": 0, "drop_ios": 0, "slat_ns": _clat([], percentiles=False),
        "clat_ns": _clat(side.clat_ns, percentiles=True), "lat_ns": _clat(side.clat_ns, percentiles=False),
    }


def fio_json(all_groups: Sequence[Sequence[Result]], link: limits.Link, setting: dict[str, Any]) -> dict[str, Any]:
    """Results as fio's JSON output has them; what fio does not know stands under "doorbell"."""
    jobs = []
    for number, results in enumerate(all_groups):
        use = link_use(link, results)
        for r in results:
            lim = link_limit(link, r)
            job = r.job
            options = {"rw": job.rw, "bs": str(job.bs), "iodepth": str(job.iodepth), "numjobs": str(job.numjobs)}
            if job.rw in ("rw", "readwrite", "randrw"):
                options["rwmixread"] = str(job.rwmixread)
            jobs.append({
                "jobname": job.name, "groupid": number, "error": 0, "job options": options,
                "read": _side_json(r.read, r.duration_ns), "write": _side_json(r.write, r.duration_ns),
                "trim": _side_json(Side(), r.duration_ns), "job_runtime": round(r.duration_ns / 1e6),
                "doorbell": {
                    "duration_ns": r.duration_ns, "limit_iops": lim.iops, "limit_bw_bytes": lim.bytes_per_s,
                    "limit_direction": lim.bound, "link_use": use, "up_bytes_per_io": lim.up_bytes,
                    "down_bytes_per_io": lim.down_bytes,
                },
            })
    return {"fio version": f"doorbell-{__version__}", "global options": {}, "jobs": jobs, "doorbell": setting}


def table(all_groups: Sequence[Sequence[Result]], link: limits.Link, title: str) -> Any:
    """Results as a rich table."""
    from rich.table import Table

    out = Table(title=title, title_justify="left")
    for name in ("job", "workload"):
        out.add_column(name)
    for name in ("MB/s", "kIOPS", "mean us", "p50", "p99", "p99.9", "link MB/s", "% of link"):
        out.add_column(name, justify="right")
    for results in all_groups:
        for r in results:
            v = r.latencies()
            lim = link_limit(link, r)
            out.add_row(
                r.job.name, describe(r.job), f"{r.bytes_per_s / 1e6:,.0f}", f"{r.iops / 1e3:,.1f}",
                f"{v.mean() / 1e3:.2f}" if len(v) else "-", *(f"{percentile(v, p) / 1e3:.2f}" for p in (50, 99, 99.9)),
                f"{lim.bytes_per_s / 1e6:,.0f}", f"{100 * r.iops / lim.iops:.1f}",
            )
        if len(results) > 1:
            total = sum(r.bytes_per_s for r in results)
            iops = sum(r.iops for r in results)
            out.add_row("all", "together", f"{total / 1e6:,.0f}", f"{iops / 1e3:,.1f}", *[""] * 5,
                        f"{100 * link_use(link, results):.1f}")
    return out


def describe(job: Job) -> str:
    size = f"{job.bs >> 10} KiB" if job.bs % 1024 == 0 else f"{job.bs} B"
    mix = f" {job.rwmixread}/{100 - job.rwmixread}" if job.rw in ("rw", "readwrite", "randrw") else ""
    jobs = f" x {job.numjobs}" if job.numjobs > 1 else ""
    return f"{job.rw}{mix} {size}, QD {job.iodepth}{jobs}"


# -------------------------------------------------------------------------------------------------------- command line


def main(
    job_file: Path | None = typer.Argument(None, metavar="[JOB.fio]", help="A fio job file."),  # noqa: B008
    rw: str | None = typer.Option(None, help="read, write, randread, randwrite, rw or randrw."),
    bs: str | None = typer.Option(None, help="Block size: 512, 4k, 128k ..."),
    iodepth: str | None = typer.Option(None, help="Commands in flight, each job."),
    numjobs: str | None = typer.Option(None, help="Copies of the job, each with its own queue pair."),
    rwmixread: str | None = typer.Option(None, help="Percent of reads in rw and randrw."),
    size: str | None = typer.Option(None, help="Region of the drive, and amount of data."),
    offset: str | None = typer.Option(None, help="Where the region starts."),
    number_ios: str | None = typer.Option(None, "--number-ios", "--number_ios", help="Commands to measure, each job."),
    runtime: str | None = typer.Option(None, help="Simulated time to measure: 500us, 2ms, 1s."),
    randseed: str | None = typer.Option(None, help="Seed of the offsets."),
    top: str = typer.Option("db_ssd", help="Which top."),
    link: str = typer.Option("gen3x8", help="PCIe link: gen<1..5>x<lanes>."),
    data_w: int = typer.Option(256, "--data-w", help="Width of the data path: 128, 256 or 512."),
    mps: int = typer.Option(256, help="Maximum payload size, bytes."),
    mrrs: int = typer.Option(512, help="Maximum read request size, bytes."),
    media_size: str = typer.Option("1g", "--media-size", help="Capacity of the drive."),
    backend: str = typer.Option("rtl", help="rtl, or functional: a Python model with rough timing."),
    json: Path | None = typer.Option(None, help="Write the results as fio's JSON to this file (-: stdout)."),  # noqa: B008
) -> None:
    """Run fio jobs against a top, in simulated time; figures are exact and the same on every machine."""
    given = {"rw": rw, "bs": bs, "iodepth": iodepth, "numjobs": numjobs, "rwmixread": rwmixread, "size": size,
             "offset": offset, "number_ios": number_ios, "runtime": runtime, "randseed": randseed}
    if job_file is not None:
        try:
            jobs = parse_job_file(job_file.read_text(), str(job_file))
        except OSError as e:
            raise UserError(f"cannot read the job file {job_file}: {e.strerror}") from e
        except UnicodeDecodeError as e:
            raise UserError(f"{job_file} is not a job file: it is not text") from e
    else:
        jobs = [Job(rw="randread", iodepth=64)]
    for key, value in given.items():
        if value is not None:
            jobs = [apply_option(job, key, value, "--" + key.replace("_", "-")) for job in jobs]
    try:
        wire = limits.Link.parse(link, mps=mps, mrrs=mrrs)
        capacity = parse_size(media_size)
    except ValueError as e:
        raise UserError(str(e)) from e
    if data_w not in (128, 256, 512):
        raise UserError(f"--data-w: {data_w} is not one of 128, 256, 512")
    for name, value, most in (("mps", mps, 1024), ("mrrs", mrrs, 4096)):
        if not 128 <= value <= most or value & (value - 1):
            raise UserError(f"--{name}: {value} is not a power of two from 128 to {most}")
    sim = open_sim(backend, top=top, link=link, data_w=data_w, mps=mps, mrrs=mrrs, media_size=capacity)
    wire = sim_link(sim, wire)
    drive = Driver(sim, host_memory(jobs))
    wanted = max(sum(j.numjobs for j in group) for group in groups(jobs))
    start_queues(drive, wanted, max(j.iodepth for j in jobs))
    done: list[list[Result]] = []
    for group in groups(jobs):
        with progress_bar(", ".join(describe(j) for j in group)) as update:
            done.append(run_group(drive, group, progress=update))
    setting = {"top": top, "backend": backend, "link": link, "data_w": data_w, "mps": mps, "mrrs": mrrs,
               "media_size": capacity, "sim_ns": drive.sim.ns}
    if json is not None:
        text = json_module.dumps(fio_json(done, wire, setting), indent=2)
        if str(json) == "-":
            print(text)
            return
        try:
            json.write_text(text + "\n")
        except OSError as e:
            raise UserError(f"cannot write {json}: {e.strerror}") from e
    print_table(table(done, wire, f"{top} ({backend}), {data_w} bit, {wire}, MPS {mps}, MRRS {mrrs}; simulated time"))


def start_queues(drive: Driver, wanted: int, iodepth: int) -> None:
    """Bring the drive up with as many queue pairs as wanted, or as it has, deep enough for its share of the jobs."""
    entries = 2
    while entries <= iodepth:
        entries *= 2
    drive.start(queues=1, entries=entries)
    have = min((drive.get_features(Feature.NUM_QUEUES) & 0xFFFF) + 1, wanted)
    while entries <= iodepth * -(-wanted // have):
        entries *= 2
    assert drive.cap is not None
    if entries > drive.cap.mqes + 1:
        raise UserError(f"iodepth x numjobs needs queues of {entries} entries, the drive has {drive.cap.mqes + 1}")
    if have > 1 or entries > drive.sqs[1].entries:
        drive.start(queues=have, entries=entries)


def sim_link(sim: Any, link: limits.Link) -> limits.Link:
    """`link` with the simulator's own ACK and flow-control policy."""
    known = {f.name for f in fields(limits.Link)}
    policy = {k: v for k, v in getattr(sim, "link_policy", {}).items() if k in known}
    return replace(link, **policy)


class progress_bar:  # noqa: N801
    """A line of progress on stderr when that is a terminal."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bar: Any = None

    def __enter__(self) -> Callable[[float], None]:
        if not sys.stderr.isatty():
            return lambda share: None
        from rich.console import Console
        from rich.progress import Progress

        self.bar = Progress(console=Console(stderr=True), transient=True)
        self.bar.start()
        task = self.bar.add_task(self.text, total=1.0)
        return lambda share: self.bar.update(task, completed=share)

    def __exit__(self, *_: object) -> None:
        if self.bar:
            self.bar.stop()


def print_table(*tables: Any) -> None:
    """On a pipe too: full width, no colour."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 130)
    for t in tables:
        console.print(t)
