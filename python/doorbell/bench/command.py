# SPDX-License-Identifier: Apache-2.0
"""`./doorbell bench`: fio's options and job files, traces and suites against a drive, in simulated time.

Options are read and checked here; README.md of this package says which module does what is asked.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from doorbell.bench import host as host_bench
from doorbell.bench import recorder as recorder_bench
from doorbell.bench import traces
from doorbell.bench.bringup import host_memory, start_queues
from doorbell.bench.jobs import Job, apply_option, groups, parse_job_file
from doorbell.bench.recorder import RecorderSetup
from doorbell.bench.results import Result, fio_json, table
from doorbell.bench.runner import run_group
from doorbell.bench.speed import speed_table
from doorbell.bench.stages import Recorder, stage_json, stage_tables
from doorbell.bench.suite import run_suite
from doorbell.compute import drive as compute
from doorbell.device import limits
from doorbell.device.opening import check_clean, open_sim, parse_params, sim_link
from doorbell.errors import UserError
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory
from doorbell.ui import print_table, progress_bar, write_json
from doorbell.units import parse_size


def main(
    job_file: Path | None = typer.Argument(None, metavar="[JOB.fio]", help="A fio job file."),
    rw: str | None = typer.Option(None, help="read, write, randread, randwrite, rw or randrw."),
    bs: str | None = typer.Option(None, help="Block size: 512, 4k, 128k ...; 4k,8k: of reads, of writes."),
    bssplit: str | None = typer.Option(None, help="Block sizes and their percentages: 4k/70:64k/30."),
    iodepth: str | None = typer.Option(None, help="Commands in flight, each job."),
    numjobs: str | None = typer.Option(None, help="Copies of the job, each with its own queue pair."),
    rwmixread: str | None = typer.Option(None, help="Percent of reads in rw and randrw."),
    size: str | None = typer.Option(None, help="Region of the drive, and amount of data."),
    offset: str | None = typer.Option(None, help="Where the region starts."),
    number_ios: str | None = typer.Option(None, "--number-ios", "--number_ios", help="Commands to measure, each job."),
    runtime: str | None = typer.Option(None, help="Simulated time to measure: 500us, 2ms, 1s."),
    random_distribution: str | None = typer.Option(
        None, "--random-distribution", "--random_distribution", help="random, or zipf:1.2."),
    randseed: str | None = typer.Option(None, help="Seed of the offsets."),
    trace: Path | None = typer.Option(
        None, help="Replay a trace: fio iolog v2 or v3, blkparse text, MSR-Cambridge CSV."),
    afap: bool = typer.Option(False, "--afap", help="Replay as fast as possible, not at the trace's own times."),
    trace_speed: float = typer.Option(1.0, "--trace-speed", help="Replay so many times faster than the trace."),
    stages: bool = typer.Option(False, "--stages", help="Also show where the time of a command goes."),
    suite: str | None = typer.Option(
        None, help="Check the targets: limit, limit-short (256 bit, a minute); host, host-short (of "
                   "db_host and db_recorder), host-nightly (8 drives too)."),
    speed: bool = typer.Option(False, "--speed", help="Measure the simulator's own speed instead."),
    top: str = typer.Option("db_ssd", help="Which top: db_ssd, db_csd, or one that drives SSDs: db_host, db_recorder."),
    operator: str | None = typer.Option(None, help="With --top db_csd: pass, add, aes-ctr, aes-xts, sha256, crc32c, or "
                                         "one of rtl/compute/ops: xor:mask=0x2a."),
    link: str | None = typer.Option(None, help="PCIe link: gen<1..5>x<lanes> [gen3x8; of a host gen3x4]."),
    data_w: int | None = typer.Option(
        None, "--data-w", help="Width of the data path: 128, 256 or 512 [256; of a host 128]."),
    clock_mhz: float = typer.Option(250.0, "--clock-mhz", help="Clock of the drive, 50 to 250 MHz."),
    mps: int = typer.Option(256, help="Maximum payload size, bytes."),
    mrrs: int | None = typer.Option(None, help="Maximum read request size, bytes [512; a host sets its own]."),
    media_size: str | None = typer.Option(None, "--media-size", help="Capacity of the drive [1g; behind a host 64m]."),
    ssd: str | None = typer.Option(None, "--ssd", help="The drive behind a host: model, or db_ssd [model]."),
    read_us: float | None = typer.Option(None, "--read-us", help="Latency of that drive's reads, microseconds."),
    write_us: float | None = typer.Option(None, "--write-us", help="Latency of its writes."),
    drives: int | None = typer.Option(None, help="How many of them: 1 to 8, of db_recorder alone [2]."),
    rate: float | None = typer.Option(None, help="GB/s that db_recorder's source brings [all that is taken]."),
    param: list[str] = typer.Option(  # noqa: B008
        [], "--param", metavar="NAME=VALUE", help="A parameter of the top: NUM_CMDS=256."),
    backend: str = typer.Option("rtl", help="rtl, or functional: a Python model with rough timing."),
    json: Path | None = typer.Option(None, help="Write the results as fio's JSON to this file (-: stdout)."),
) -> None:
    """Run fio jobs against a top, in simulated time; figures are exact and the same on every machine."""
    given = {"rw": rw, "bs": bs, "bssplit": bssplit, "iodepth": iodepth, "numjobs": numjobs, "rwmixread": rwmixread,
             "size": size, "offset": offset, "number_ios": number_ios, "runtime": runtime,
             "random_distribution": random_distribution, "randseed": randseed}  # fmt: skip
    if suite is not None:
        if job_file or trace or stages or speed or any(v is not None for v in given.values()):
            raise UserError("--suite brings its own jobs and drives: give it no others")
        raise typer.Exit(0 if run_suite(suite, json) else 1)
    if job_file is not None and trace is not None:
        raise UserError("a job file or --trace, not both")
    host, records = top.startswith(host_bench.TOPS), top == "db_recorder"
    if not records and (drives, rate) != (None, None):
        raise UserError(f"--drives and --rate are not for {top}: db_recorder has them")
    if records and job_file is not None:
        raise UserError(f"a job file is not for {top}: give --rw, --size, --drives, --rate")
    jobs = given_jobs(job_file, given, Job(rw="write") if records else Job(rw="randread", iodepth=64))
    link, data_w = link or ("gen3x4" if host else "gen3x8"), data_w or (128 if host else 256)
    if host and (trace or stages or speed or backend != "rtl" or mrrs is not None):
        raise UserError(f"--trace, --stages, --speed, --backend and --mrrs are not for {top}")
    if not host and (ssd, read_us, write_us) != (None, None, None):
        raise UserError(f"--ssd, --read-us and --write-us are not for {top}: it is the drive")
    mrrs = mrrs or 512
    params = parse_params(param)
    if params and backend != "rtl":
        raise UserError("--param needs --backend rtl")
    try:
        wire = limits.Link.parse(link, mps=mps, mrrs=mrrs)
        capacity = parse_size(media_size or ("64m" if host else "1g"))
    except ValueError as e:
        raise UserError(str(e)) from e
    if data_w not in (128, 256, 512):
        raise UserError(f"--data-w: {data_w} is not one of 128, 256, 512")
    if not 50 <= clock_mhz <= 250:
        raise UserError(f"--clock-mhz: {clock_mhz:g} is not in 50 to 250")
    if not trace_speed > 0:
        raise UserError(f"--trace-speed: {trace_speed:g} is not above 0")
    for name, value, most in (("mps", mps, 1024), ("mrrs", mrrs, 4096)):
        if not 128 <= value <= most or value & (value - 1):
            raise UserError(f"--{name}: {value} is not a power of two from 128 to {most}")
    if operator is not None and (trace is not None or backend != "rtl"):
        raise UserError("--operator needs --backend rtl and no --trace")
    if backend != "rtl" and (clock_mhz != 250 or speed or stages):
        raise UserError("--clock-mhz, --speed and --stages need --backend rtl")
    if records:
        bench_recorder(RecorderSetup(top, ssd or "model", link, data_w, clock_mhz, mps, read_us, write_us, capacity,
                                     params, 2 if drives is None else drives, rate or 0), given, jobs[0], json)
        return
    if host:
        setup = host_bench.Setup(top, ssd or "model", link, data_w, clock_mhz, mps, read_us, write_us, capacity, params)
        bench_host(setup, jobs, json)
        return
    if trace is not None:
        story = traces.read_trace(trace)
    clock = {"clock_mhz": clock_mhz} if backend == "rtl" else {}
    sim = open_sim(backend, top=top, link=link, data_w=data_w, mps=mps, mrrs=mrrs, media_size=capacity,
                   **({"params": params} if params else {}), **clock)
    wire = sim_link(sim, wire)
    setting = {"top": top, "backend": backend, "link": link, "data_w": data_w, "mps": mps, "mrrs": mrrs,
               **({"operator": operator} if operator else {}), "media_size": capacity, "clock_mhz": clock_mhz}
    name = f"{top} with {operator}" if operator else top
    what = f"{name} ({backend}), {data_w} bit, {clock_mhz:g} MHz, {wire}, MPS {mps}, MRRS {mrrs}; simulated time"
    recorders: list[Recorder] = []

    def recorder() -> Recorder | None:
        if stages:
            recorders.append(Recorder())
        return recorders[-1] if stages else None

    done: list[list[Result]] = []
    if trace is not None:
        drive = Driver(sim, HostMemory(256 << 20))
        start_queues(drive, jobs[0].numjobs, jobs[0].iodepth)
        with progress_bar(f"replaying {story.name}") as update:
            done.append([traces.replay(drive, story, jobs[0], afap=afap, speed=trace_speed, progress=update,
                                       recorder=recorder())])
        what = f"{story.format}, {len(story.accesses):,} accesses ({story.left_out:,} others left out); {what}"
    else:
        drive = Driver(sim, host_memory(jobs))
        start_queues(drive, max(sum(j.numjobs for j in group) for group in groups(jobs)), max(j.iodepth for j in jobs))
        if operator is not None:
            compute.switch_on(drive, operator)
        if speed:
            print_table(speed_table(sim, drive, jobs))
            return
        for group in groups(jobs):
            with progress_bar(", ".join(j.name for j in group)) as update:
                done.append(run_group(drive, group, progress=update, recorder=recorder()))
    check_clean(sim)
    tables = [table(done, wire, what)]
    for r, group_results in zip(recorders, done):
        tables += stage_tables(r, ", ".join(x.job.name for x in group_results))
    setting["sim_ns"] = drive.sim.ns
    if stages:
        setting["stages"] = [stage_json(r) for r in recorders]
    if json is not None:
        write_json(json, fio_json(done, wire, setting))
    if str(json) != "-":
        print_table(*tables)


def bench_host(setup: host_bench.Setup, jobs: list[Job], json: Path | None) -> None:
    """The same for a top that drives SSDs."""
    found = groups(jobs)
    host_bench.check_options(setup, found)
    done: list[list[Result]] = []
    for group in found:
        with progress_bar(group[0].name) as update:
            done.append(host_bench.measure(setup, group, update))
    wire = limits.Link.parse(setup.link, mps=setup.mps)
    if json is not None:
        write_json(json, fio_json(done, wire, asdict(setup)))
    if str(json) != "-":
        print_table(table(done, wire, f"{setup}, MPS {setup.mps}; simulated time"))


def bench_recorder(setup: RecorderSetup, given: dict[str, str | None], job: Job, json: Path | None) -> None:
    """A capture, and with --rw read its read-out."""
    recorder_bench.check_options(setup, given, job)
    found = recorder_bench.measure(setup, job.size or recorder_bench.SIZE, job.rw == "read", job.randseed)
    if json is not None:
        write_json(json, recorder_bench.results_json(setup, job, found))
    if str(json) != "-":
        print_table(recorder_bench.table(setup, found))


def given_jobs(job_file: Path | None, given: dict[str, str | None], base: Job) -> list[Job]:
    """The jobs of the file, or the one of the command line; options of the command line go over those of the file."""
    jobs = [base]
    if job_file is not None:
        try:
            jobs = parse_job_file(job_file.read_text(), str(job_file))
        except OSError as e:
            raise UserError(f"cannot read the job file {job_file}: {e.strerror}") from e
        except UnicodeDecodeError as e:
            raise UserError(f"{job_file} is not a job file: it is not text") from e
    for key, value in given.items():
        if value is not None:
            jobs = [apply_option(job, key, value, "--" + key.replace("_", "-")) for job in jobs]
    return jobs
