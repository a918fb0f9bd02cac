# SPDX-License-Identifier: Apache-2.0
"""Options of `doorbell bench` that are out of range, or do not go together: a line each. And which trace they mean."""

from __future__ import annotations

from pathlib import Path

import typer

from doorbell.bench import workload_table, workloads
from doorbell.bench.functions import Functions
from doorbell.bench.jobs import Job
from doorbell.bench.ssds import READ_US, SSD_LINK, WRITE_US, SsdSetup
from doorbell.bench.suite import SUITES, TAKE_PARAMS
from doorbell.bench.synthetic import generate, iolog
from doorbell.bench.trace_formats import Trace
from doorbell.bench.traces import read_trace
from doorbell.errors import UserError


def check_suite_options(ctx: typer.Context, suite: str) -> None:
    """A suite has its jobs and drives: whatever else is given would change nothing, so it is an error."""
    taken = {"suite", "json", *(["param"] if suite in TAKE_PARAMS else [])}
    names = []
    for option in ctx.command.params:
        source = ctx.get_parameter_source(option.name or "")
        if source is not None and source.name == "COMMANDLINE" and option.name not in taken:
            names.append(option.opts[0] if option.opts[0].startswith("-") else "a job file")
    if names and suite in SUITES:
        verb = "are" if len(names) > 1 else "is"
        raise UserError(f"--suite {suite} brings its own jobs and drives: {', '.join(names)} {verb} not for it")


def check_numbers(data_w: int, clock_mhz: float, trace_speed: float, mps: int, mrrs: int) -> None:
    """Options that are out of their range, as one line."""
    if data_w not in (128, 256, 512):
        raise UserError(f"--data-w: {data_w} is not one of 128, 256, 512")
    if not 50 <= clock_mhz <= 250:
        raise UserError(f"--clock-mhz: {clock_mhz:g} is not in 50 to 250")
    if not trace_speed > 0:
        raise UserError(f"--trace-speed: {trace_speed:g} is not above 0")
    for name, value, most in (("mps", mps, 1024), ("mrrs", mrrs, 4096)):
        if not 128 <= value <= most or value & (value - 1):
            raise UserError(f"--{name}: {value} is not a power of two from 128 to {most}")


def given_functions(count: int | None, namespaces: str, fn0: str | None, other: bool) -> Functions | None:
    """--functions and what belongs to it. other: it is no bench of jobs on a drive."""
    if namespaces not in ("shared", "private"):
        raise UserError(f"--namespaces: {namespaces} is not shared or private")
    if count is None:
        if fn0 is not None or namespaces != "shared":
            raise UserError("--fn0 and --namespaces need --functions")
        return None
    if other:
        raise UserError("--functions is for jobs on a drive: not for a trace, --speed, db_host or db_recorder")
    return Functions(count, namespaces == "private")


def given_ssds(
    params: dict[str, int | str], backends: int | None, kind: str | None, read_us: float | None, write_us: float | None,
    capacity: int,
) -> SsdSetup:  # fmt: skip
    """The SSDs beside a card; capacity: of all of them."""
    number = int(params.get("NUM_SSD", backends or 2))
    if backends is not None and number != backends:
        raise UserError(f"--param NUM_SSD={number}: --backends says {backends}")
    times = [default if us is None else us for us, default in ((read_us, READ_US), (write_us, WRITE_US))]
    return SsdSetup(number, kind or "model", SSD_LINK, *times, capacity // max(1, number))


def gigabytes(rate: str | None) -> float:
    """--rate of a recorder."""
    try:
        return float(rate or 0)
    except ValueError as e:
        raise UserError(f"--rate {rate}: of db_recorder a number, GB/s") from e


def base_job(records: bool, workload: str | None) -> Job:
    """What a job is if nobody says otherwise."""
    if records:
        return Job(rw="write")
    return workload_table.JOB if workload is not None else Job(rw="randread", iodepth=64)


REPLAYED = ("iodepth", "numjobs", "number_ios", "randseed", "size")
"""Options of a job that a trace takes; size and randseed are those of a synthetic one alone."""


def check_replay_options(
    given: dict[str, str | None], trace: Path | None, workload: str | None, job_file: bool
) -> None:
    """A trace and a workload have their accesses: options of a job that say otherwise would change nothing."""
    if sum((trace is not None, workload is not None, job_file)) > 1:
        raise UserError("one of a job file, --trace and --workload")
    taken = [name for name in REPLAYED if workload is not None or name not in ("randseed", "size")]
    wrong = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None and name not in taken]
    if wrong and (trace is not None or workload is not None):
        what = "a trace" if workload is None else "a workload"
        raise UserError(
            f"{what} brings its own accesses: {', '.join(wrong)} {'are' if len(wrong) > 1 else 'is'} not for it"
        )


def chosen_trace(trace: Path | None, disk: str | None, workload: str | None, job: Job) -> Trace | None:
    """What is replayed: a file, or a synthetic workload; None for jobs."""
    if disk is not None and trace is None:
        raise UserError("--trace-disk is for --trace")
    if trace is not None:
        return read_trace(trace, disk, job.number_ios)
    if workload is None:
        return None
    found = workloads.find(workload)
    return generate(found, job.number_ios or workload_table.count_for(found), job.randseed, job.size)


def save_trace(file: Path, story: Trace) -> None:
    """As fio's iolog."""
    try:
        file.write_text(iolog(story))
    except OSError as e:
        raise UserError(f"cannot write {file}: {e.strerror}") from e
