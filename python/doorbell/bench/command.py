# SPDX-License-Identifier: Apache-2.0
"""`./doorbell bench`: fio's options and job files, traces and suites against a drive, in simulated time.

Options are read and checked here. What is asked is done by drive.py (jobs, traces), host.py, recorder.py or suite.py.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import typer

from doorbell.bench import host as host_bench
from doorbell.bench import recorder as recorder_bench
from doorbell.bench import trace_statistics, workload_table
from doorbell.bench.bringup import Arbitration
from doorbell.bench.drive import DriveSetup, Measured, measure, measure_speed, measure_trace
from doorbell.bench.function_results import function_json, function_table
from doorbell.bench.functions import with_fn0
from doorbell.bench.jobs import Job, given_jobs, groups
from doorbell.bench.nand import nand_json, nand_table
from doorbell.bench.options import (
    base_job,
    check_numbers,
    check_replay_options,
    check_suite_options,
    chosen_trace,
    gigabytes,
    given_functions,
    given_ssds,
    save_trace,
)
from doorbell.bench.recorder import RecorderSetup
from doorbell.bench.results import Result, fio_json, table
from doorbell.bench.runner import warnings
from doorbell.bench.shares import parse_shares
from doorbell.bench.stages import stage_json, stage_tables
from doorbell.bench.suite import run_suite
from doorbell.bench.trace_formats import Trace
from doorbell.bench.views import HELP as WINDOW_HELP
from doorbell.bench.views import Views, Window
from doorbell.build import check_params, has_ssds
from doorbell.device import limits
from doorbell.device.nand import parse_media
from doorbell.device.opening import parse_params
from doorbell.errors import UserError
from doorbell.ui import check_result, print_table, progress_bar, warn, write_json
from doorbell.units import parse_size


def main(
    ctx: typer.Context,
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
    thinktime: str | None = typer.Option(
        None, help="Pause of a copy after --thinktime-blocks commands, once they are done: 20 (us), 5us, 1ms."
    ),
    thinktime_blocks: str | None = typer.Option(None, "--thinktime-blocks", help="How many commands [1]."),
    rate_iops: str | None = typer.Option(None, "--rate-iops", help="Commands a second that each copy sends at most."),
    fsync: str | None = typer.Option(None, help="A flush after so many writes of a copy, in one of its places."),
    sq_priority: str | None = typer.Option(
        None,
        "--sq-priority",
        help="Class of the queue: urgent, high, medium or low; a list with commas is dealt out "
        "to the copies. Arbitration is weighted round robin then.",
    ),
    random_distribution: str | None = typer.Option(
        None, "--random-distribution", "--random_distribution", help="random, or zipf:1.2."
    ),
    randseed: str | None = typer.Option(None, help="Seed of the offsets."),
    trace: Path | None = typer.Option(
        None,
        help="Replay a trace: fio iolog, blkparse text, MSR-Cambridge, Microsoft Production Server, FIU and others.",
    ),
    trace_disk: str | None = typer.Option(None, "--trace-disk", help="Of a trace of several disks, the one to replay."),
    workload: str | None = typer.Option(
        None,
        help="A synthetic workload, at full speed: 24hr, ycsb-a ..., or a file; all: a table; list: what there is.",
    ),
    describe: bool = typer.Option(False, "--describe", help="Only show what the trace or workload is like."),
    save: Path | None = typer.Option(None, "--save-trace", help="Write it as fio's iolog to this file instead."),
    afap: bool = typer.Option(False, "--afap", help="Replay as fast as possible, not at the trace's own times."),
    trace_speed: float = typer.Option(1.0, "--trace-speed", help="Replay so many times faster than the trace."),
    stages: bool = typer.Option(False, "--stages", help="Also show where the time of a command goes."),
    perfetto: Path | None = typer.Option(
        None, help="Write what the commands, engines and the link did to this file, for ui.perfetto.dev."
    ),
    wave: Path | None = typer.Option(None, help="Write a waveform of all signals to this file: .fst or .vcd."),
    window: str | None = typer.Option(None, help=WINDOW_HELP),
    suite: str | None = typer.Option(
        None,
        help="Check the targets: limit, limit-short (256 bit, a minute); shares (a reader beside "
        "writers); host, host-short (of db_host and db_recorder), host-nightly (8 drives too); vcsd (a card beside the "
        "bare SSD, functions times SSDs); operators (slots of near-storage operators: deadlines, exchanges, beside "
        "software).",
    ),
    speed: bool = typer.Option(False, "--speed", help="Measure the simulator's own speed instead."),
    top: str = typer.Option("db_ssd", help="Which top: db_ssd, db_csd, or one that drives SSDs: db_host, db_recorder."),
    operator: str | None = typer.Option(
        None,
        help="With --top db_csd: pass, add, aes-ctr, aes-xts, sha256, crc32c, or "
        "one of rtl/compute/ops: xor:mask=0x2a.",
    ),
    link: str | None = typer.Option(None, help="PCIe link: gen<1..5>x<lanes> [gen3x8; of a host gen3x4]."),
    data_w: int | None = typer.Option(
        None, "--data-w", help="Width of the data path: 128, 256 or 512 [256; of a host 128]."
    ),
    clock_mhz: float = typer.Option(250.0, "--clock-mhz", help="Clock of the drive, 50 to 250 MHz."),
    mps: int = typer.Option(256, help="Maximum payload size, bytes."),
    mrrs: int | None = typer.Option(None, help="Maximum read request size, bytes [512; a host sets its own]."),
    media_size: str | None = typer.Option(
        None, "--media-size", help="Capacity of the drive [1g, or the profile's; of a host 64m]."
    ),
    ssd: str | None = typer.Option(
        None, "--ssd", help="The drive behind a host, or the SSDs beside db_vcsd: model, or db_ssd [model]."
    ),
    read_us: float | None = typer.Option(None, "--read-us", help="Latency of that drive's reads, microseconds."),
    write_us: float | None = typer.Option(None, "--write-us", help="Latency of its writes."),
    backends: int | None = typer.Option(
        None, help="How many SSDs are beside db_vcsd, on Gen3 x4 each: 1, 2, 4 or 8 [2]."
    ),
    drives: int | None = typer.Option(None, help="How many of them: 1 to 8, of db_recorder alone [2]."),
    rate: str | None = typer.Option(
        None,
        help="Bytes a second that each copy sends at most (500m); of db_recorder: GB/s that its source brings "
        "[all that is taken].",
    ),
    arbitration: str | None = typer.Option(
        None, help="Among submission queues: rr, or wrr (weighted, with an urgent class) [wrr with --sq-priority]."
    ),
    arbitration_burst: str | None = typer.Option(
        None, "--arbitration-burst", help="Commands of a queue in a row: 1, 2, 4 ... 64, or none for no limit."
    ),
    weights: str | None = typer.Option(None, help="Of the high, medium and low classes: 8,4,2 (1 to 256 each)."),
    media_latency_ns: int | None = typer.Option(
        None, "--media-latency-ns", help="Of the drive's media, of reads and of writes [200]."
    ),
    media_write_latency_ns: int | None = typer.Option(
        None, "--media-write-latency-ns", help="Of writes, where it is another."
    ),
    media_flush_latency_ns: int | None = typer.Option(
        None, "--media-flush-latency-ns", help="Of a flush, where it is another than of writes."
    ),
    media_zero_gbps: float | None = typer.Option(
        None, "--media-zero-gbps", help="GB/s at which the media zeroes [0: at once]."
    ),
    media_kind: str | None = typer.Option(
        None,
        "--media",
        metavar="nand:PROFILE",
        help="Media that behave like flash: nand:cosmos, nand:tlc, nand:znand, or nand:FILE.yaml [a memory].",
    ),
    precondition: str | None = typer.Option(
        None,
        help="With --media: what has been written before: empty, filled (once, in order), steady (at random, for "
        "ever) [the profile's, or filled].",
    ),  # fmt: skip
    param: list[str] = typer.Option(  # noqa: B008
        [], "--param", metavar="NAME=VALUE", help="A parameter of the top: NUM_CMDS=256."
    ),
    functions: int | None = typer.Option(
        None, help="So many PCIe functions of the drive run the jobs at once: the PF and VFs, 1 to 17."
    ),
    fn0: str | None = typer.Option(
        None,
        help="Other options of the job on function 0 than on the others: 'rw=randread iodepth=1'. A job file has "
        "function=0 or function=1-16 for it.",
    ),
    namespaces: str = typer.Option("shared", help="With --functions: shared (one, a part each) or private (one each)."),
    fn_weights: str | None = typer.Option(
        None,
        "--fn-weights",
        help="With --functions: commands of functions in proportion to these while all want more, the PF first: 4,2,1 "
        "(1 to 255 each) [1].",
    ),
    fn_slots: list[str] = typer.Option(  # noqa: B008
        [],
        "--fn-slots",
        metavar="FN=min:N,max:N",
        help="Command slots that a function always gets, and has at most: '0=min:8', '1-16=min:0,max:16', VF2=max:4 "
        "[of NUM_CMDS: all together a quarter; a half].",
    ),
    fn_limit: list[str] = typer.Option(  # noqa: B008
        [],
        "--fn-limit",
        metavar="FN=iops:N,bw:SIZE",
        help="Commands and bytes a second of a function at most: 'VF2=iops:20000,bw:500m', '1-16=bw:100m'; "
        "iops-burst:32, bw-burst:1m: what it may have at once after a pause [a millisecond's worth].",
    ),
    fn_deadlines: str | None = typer.Option(
        None,
        "--fn-deadlines",
        help="With --functions: us in which commands should go to an engine, the PF first: 20,0,200. What is due first "
        "goes first, as far as its function's share allows (1 to 65535; 0: no deadline) [0].",
    ),
    sgl: bool = typer.Option(False, "--sgl", help="Commands with SGLs instead of PRPs: one data block each."),
    backend: str = typer.Option("rtl", help="rtl, or functional: a Python model with rough timing."),
    json: Path | None = typer.Option(None, help="Write the results as fio's JSON to this file (-: stdout)."),
) -> None:
    """Run fio jobs against a top, in simulated time; figures are exact and the same on every machine.

    Host memory and media answer in constant times, so percentiles show how long commands wait for each other, and
    nothing else. A sweep can add jitter (completion_jitter_ns).
    """
    check_result(json)
    host, records, card = top.startswith(host_bench.TOPS), top == "db_recorder", has_ssds(top)
    given = {"rw": rw, "bs": bs, "bssplit": bssplit, "iodepth": iodepth, "numjobs": numjobs, "rwmixread": rwmixread,
             "size": size, "offset": offset, "number_ios": number_ios, "runtime": runtime, "thinktime": thinktime,
             "thinktime_blocks": thinktime_blocks, "rate": None if records else rate, "rate_iops": rate_iops,
             "fsync": fsync, "sq_priority": sq_priority, "random_distribution": random_distribution,
             "randseed": randseed}  # fmt: skip
    if suite is not None:
        check_suite_options(ctx, suite)
        params = parse_params(param)
        check_params("db_ssd", params)
        raise typer.Exit(0 if run_suite(suite, json, params) else 1)
    check_replay_options(given, trace, workload, job_file is not None)
    if json is not None and (speed or workload == "list" or (save is not None and not describe)):
        raise UserError("--json has results: --speed, --workload list and --save-trace have none for it")
    if not records and drives is not None:
        raise UserError(f"--drives is not for {top}: db_recorder has them")
    if records and job_file is not None:
        raise UserError(f"a job file is not for {top}: give --rw, --size, --drives, --rate")
    jobs = given_jobs(job_file, given, base_job(records, workload))
    if workload == "list":
        return print_table(workload_table.list_table())
    replays = trace is not None or workload is not None
    story = None if workload == "all" else chosen_trace(trace, trace_disk, workload, jobs[0])
    if describe or save is not None:
        return show_story(story, describe, save, json)
    many = given_functions(functions, namespaces, fn0, host or speed or replays)
    if many is not None:
        many = replace(many, shares=parse_shares(fn_weights, fn_slots, fn_limit, many.count, fn_deadlines))
    elif fn_weights is not None or fn_slots or fn_limit or fn_deadlines is not None:
        raise UserError("--fn-weights, --fn-slots, --fn-limit and --fn-deadlines need --functions")
    if many is not None and fn0 is not None:
        jobs = with_fn0(jobs, fn0, many.count)
    params = parse_params(param)
    if (width := params.pop("DATA_W", None)) is not None:  # what is shown is what was measured
        if data_w not in (None, width):
            raise UserError(f"--param DATA_W={width}: --data-w says {data_w}")
        data_w = int(width)
    link = link or ("gen3x4" if host else "gen3x8")
    data_w = (128 if host else 256) if data_w is None else data_w
    media = (media_latency_ns, media_write_latency_ns, media_flush_latency_ns, media_zero_gbps)
    views = Views(perfetto, wave, Window.parse(window) if window is not None else None)
    if views.wanted and (host or speed or backend != "rtl"):
        raise UserError("--perfetto and --wave are for a drive with --backend rtl, without --speed")
    if host and (replays or stages or speed or backend != "rtl" or mrrs is not None):
        raise UserError(f"--trace, --workload, --stages, --speed, --backend and --mrrs are not for {top}")
    if host and any(value is not None for value in (arbitration, arbitration_burst, weights, *media)):
        raise UserError(f"--arbitration, --arbitration-burst, --weights and --media-... are not for {top}")
    if host and media_kind is not None:
        raise UserError(f"--media is not for {top}")
    if precondition is not None and media_kind is None:
        raise UserError("--precondition needs --media")
    nand = parse_media(media_kind).preconditioned(precondition) if media_kind is not None else None
    if not host and not card and (ssd, read_us, write_us) != (None, None, None):
        raise UserError(f"--ssd, --read-us and --write-us are not for {top}: it is the drive")
    if not card and backends is not None:
        raise UserError(f"--backends is not for {top}: db_vcsd has SSDs beside it")
    if card and stages:
        raise UserError(f"--stages is not for {top}: --suite vcsd shows where the time goes")
    if sgl and (host or backend != "rtl"):
        raise UserError("--sgl is for a drive, with --backend rtl")
    mrrs = 512 if mrrs is None else mrrs
    if param and backend != "rtl":
        raise UserError("--param needs --backend rtl")
    check_params(top, params)
    try:
        limits.Link.parse(link)
        capacity = parse_size(media_size or (str(nand.capacity) if nand else "64m" if host else "1g"))
        queues = Arbitration.parse(arbitration, arbitration_burst, weights)
    except ValueError as e:
        raise UserError(str(e)) from e
    check_numbers(data_w, clock_mhz, trace_speed, mps, mrrs)
    for text in (w for job in jobs for w in warnings(job)):
        warn(text)
    if records:
        setup = RecorderSetup(
            top,
            ssd or "model",
            link,
            data_w,
            clock_mhz,
            mps,
            read_us,
            write_us,
            capacity,
            params,
            2 if drives is None else drives,
            gigabytes(rate),
        )
        bench_recorder(setup, given, jobs[0], json)
    elif host:
        bench_host(
            host_bench.Setup(top, ssd or "model", link, data_w, clock_mhz, mps, read_us, write_us, capacity, params),
            jobs,
            json,
        )
    else:
        if backend != "rtl" and (speed or stages):
            raise UserError("--speed and --stages need --backend rtl")
        if replays and (operator is not None or speed or (workload is not None and trace_speed != 1)):
            raise UserError("--operator and --speed are not for a trace or workload, nor --trace-speed for a workload")
        if workload == "all" and stages:
            raise UserError("--stages is for one workload: name it")
        drive = DriveSetup(
            top,
            backend,
            link,
            data_w,
            clock_mhz,
            mps,
            mrrs,
            capacity,
            params,
            operator,
            media_latency_ns,
            media_write_latency_ns,
            queues,
            media_flush_latency_ns,
            media_zero_gbps,
            many,
            sgl,
            given_ssds(params, backends, ssd, read_us, write_us, capacity) if card else None,
            nand,
        )
        drive.check()
        if speed:
            print_table(measure_speed(drive, jobs))
        elif workload == "all":
            show_workloads(drive, jobs[0], json)
        elif story is not None:
            afap |= workload is not None
            show_drive(
                measure_trace(drive, story, jobs[0], afap=afap, speed=trace_speed, stages=stages, views=views), json
            )
        else:
            show_drive(measure(drive, jobs, stages=stages, views=views), json)


def show_drive(found: Measured, json: Path | None) -> None:
    """Tables, and fio's JSON."""
    many = found.setup.functions
    if many:
        tables = [function_table(found.groups, found.wire, found.title, many.weights)]
    else:
        tables = [table(found.groups, found.wire, found.title)]
    for recorder, results in zip(found.recorders, found.groups):
        tables += stage_tables(recorder, ", ".join(r.job.name for r in results))
    tables += [nand_table(found.groups, found.nand)] if found.nand else []
    setting = {**found.setup.plain(), "sim_ns": found.sim_ns}
    if found.nand:
        setting["nand"] = [nand_json(figures) for figures in found.nand]
    if many:
        setting["by_function"] = [function_json(results, found.wire, many.weights) for results in found.groups]
    if found.recorders:
        setting["stages"] = [stage_json(r) for r in found.recorders]
    if json is not None:
        write_json(json, fio_json(found.groups, found.wire, setting))
    if str(json) != "-":
        print_table(*tables)


def show_story(story: Trace | None, describe: bool, save: Path | None, json: Path | None) -> None:
    """What a trace is like, or the trace as a file."""
    if story is None:
        raise UserError("--describe and --save-trace need --trace FILE or --workload NAME")
    if save is not None:
        save_trace(save, story)
    if describe:
        about = trace_statistics.statistics(story.accesses)
        if json is not None:
            write_json(json, {"name": story.name, "format": story.format, **trace_statistics.plain(about)})
        if str(json) != "-":
            print_table(trace_statistics.table(story, about))


def show_workloads(drive: DriveSetup, job: Job, json: Path | None) -> None:
    """All synthetic workloads in a table."""
    rows = workload_table.measure(drive, job)
    if json is not None:
        write_json(json, {"setting": drive.plain(), "iodepth": job.iodepth, "numjobs": job.numjobs, "rows": rows})
    if str(json) != "-":
        title = f"{job.numjobs} queues with {job.iodepth} commands each; {drive.title(drive.wire)}"
        print_table(workload_table.table(rows, title))


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
