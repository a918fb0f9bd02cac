# SPDX-License-Identifier: Apache-2.0
"""One measurement of a sweep: a point in, a row of figures out. The only place where sweeps meet the bench.

A point is a flat mapping of parameters: fio's job options (rw, bs, iodepth ...), the simulator's (link, clock_mhz,
host_latency_ns, media_* ...), `backend`, `top`, `data_w`, and parameters of the RTL in capital letters (NUM_CMDS).
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from doorbell import build, paths
from doorbell.bench import jobs
from doorbell.bench.bringup import Arbitration, host_memory, start_queues
from doorbell.bench.function_results import of_fair
from doorbell.bench.functions import Functions, bring_up, run_functions, together
from doorbell.bench.jobs import Job
from doorbell.bench.results import Result, link_limit, percentile
from doorbell.bench.runner import run_group, warnings
from doorbell.bench.shares import parse_shares
from doorbell.bench.stages import Recorder, stage_json
from doorbell.device import limits
from doorbell.device.live import watchable
from doorbell.device.opening import check_clean, open_sim, sim_link
from doorbell.device.sim import Sim
from doorbell.errors import UserError
from doorbell.nvme.driver import Driver
from doorbell.units import parse_size

Value = str | int | float | bool
Point = dict[str, Value]
Row = dict[str, Value]

DRIVE = {"backend": "rtl", "top": "db_ssd", "data_w": 256, "link": "gen3x8", "media_size": 1 << 30}
"""Parameters of the drive, beyond the simulator's own, with what they are when a point does not say."""

ARBITRATION = ("arbitration", "arbitration_burst", "weights")
"""How the drive chooses among its queues: as the options of `./doorbell bench` of these names."""

SHARES = ("fn_weights", "fn_deadlines", "fn_slots", "fn_limit")
"""What the PF gives each of several functions: as the options of `./doorbell bench` of these names, with blanks between
several."""

FIGURES = (
    "mb_s", "kiops", "mean_us", "p50_us", "p99_us", "p999_us", "limit_mb_s", "limit_pct", "ios", "measured_us",
)  # fmt: skip
"""The columns that a measurement gives. MB are 10^6 bytes, limit_* what the PCIe link allows, *_us simulated time."""

FN_FIGURES = ("fn_mb_s", "fn_p99_us", "least_fair_pct")
"""The columns of points with several functions: MB/s and the p99 of the latency of each, the PF first, with blanks
between; and the least that one has of the link, beside its part by weight."""

SOURCES = (
    "rtl/**/*.sv*",
    "rtl/**/*.rdl",
    "sim/**/*.cpp",
    "sim/**/*.h",
    "sim/**/*.yaml",
    "fw/**/*.[cSh]",
    "fw/*.ld",
    "fw/*.py",
    "facts/c/*.h",
    "regs/*.rdl",
    "regs/*.py",
    "requirements.lock",
)
PACKAGES = ("bench", "compute", "nvme", "device", "build")

CHANGED = "the sources of Doorbell have changed since the first point was begun: run the same command again"

ALIASES = {"readwrite": "rw", "blocksize": "bs", "rwmixwrite": "rwmixread", "wait_for_previous": "stonewall"}

_alone = threading.Lock()  # a worker with several threads measures one point at a time


@functools.cache
def simulator_options() -> frozenset[str]:
    """The options of the simulator that a point may set."""
    return frozenset(inspect.signature(Sim.__init__).parameters) - {"self", "lib_path", "image", "msi_window", "bar0"}


def clean(point: dict[str, Any], where: str) -> Point:
    """`point` checked, its values in the form in which they are compared and stored: sizes as bytes, for instance."""
    out: Point = {}
    for key, value in point.items():
        if not isinstance(key, str) or not isinstance(value, str | int | float | bool):
            raise UserError(f"{where}: {key}: {value!r} is not a number or a word")
        if key in jobs.OPTIONS:
            job = jobs.apply_option(Job(), key, _text(value), where)
            name = ALIASES.get(key, key)
            field = getattr(job, name, None)
            if isinstance(field, str | int | float) and job.split is None:
                out[name] = field
            else:
                out[key] = str(value)  # something structured: kept as it was written
        elif key == "media_size":
            out[key] = _checked(parse_size, str(value), where, key)
        elif key == "link":
            _checked(limits.Link.parse, str(value), where, key)
            out[key] = str(value).lower()
        elif key in (*ARBITRATION, *SHARES):
            out[key] = str(value)
        elif key == "functions":
            out[key] = _checked(lambda text: Functions(int(text)).count, str(value), where, key)
        elif key in DRIVE or key in simulator_options() or (key.isupper() and key.isidentifier()):
            out[key] = value
        else:
            known = ", ".join(sorted({*jobs.OPTIONS, *DRIVE, "functions", *SHARES, *ARBITRATION, *simulator_options()}))
            raise UserError(f"{where}: the parameter '{key}' is not known; known: RTL parameters (capitals), {known}")
    if out.get("backend", "rtl") not in ("rtl", "functional"):
        raise UserError(f"{where}: backend: {out['backend']} is not rtl or functional")
    if "functions" in out and (out.get("backend", "rtl") != "rtl" or "function" in out):
        raise UserError(f"{where}: functions are for the rtl alone, and all do the same job")
    shares = [key for key in SHARES if key in out]
    if shares and "functions" not in out:
        raise UserError(f"{where}: {shares[0]} is for several functions: say how many, as in functions: 3")
    _checked(lambda _: functions_of(out), "", where, "functions")
    _checked(lambda _: arbitration_of(out), "", where, "arbitration")
    if out.get("data_w", 256) not in (128, 256, 512):
        raise UserError(f"{where}: data_w: {out['data_w']} is not one of 128, 256, 512")
    return out


def _text(value: Value) -> str:
    """As it would stand in a job file."""
    return str(int(value) if isinstance(value, bool) else value)


def _checked(parse: Any, text: str, where: str, key: str) -> Any:
    try:
        return parse(text)
    except ValueError as e:
        raise UserError(f"{where}: {key}: {e}") from e


def _parts(point: Point) -> tuple[Job, dict[str, Any]]:
    """The job, and the arguments of `bench.open_sim`."""
    job, drive, params, options = Job(), dict(DRIVE), {}, {}
    for key, value in point.items():
        if key in jobs.OPTIONS:
            job = jobs.apply_option(job, key, _text(value), "sweep")
        elif key in DRIVE:
            drive[key] = value
        elif key in (*ARBITRATION, *SHARES, "functions"):
            continue
        elif key.isupper():
            params[key] = value
        else:
            options[key] = value
    if functions := functions_of(point):
        params = functions.params([[job]], params)
    return job, {**drive, "params": params, **options}


def functions_of(point: Point) -> Functions | None:
    """Those that do the job at once, and what each has; None: one, without any VF in the drive."""
    if "functions" not in point:
        return None
    count = int(point["functions"])
    weights, deadlines = (str(point[key]) if key in point else None for key in SHARES[:2])
    slots, limit = (str(point.get(key, "")).split() for key in SHARES[2:])
    return Functions(count, shares=parse_shares(weights, slots, limit, count, deadlines))


def arbitration_of(point: Point) -> Arbitration:
    words = [str(point[key]) if key in point else None for key in ARBITRATION]
    return Arbitration.parse(*words)


def setup_of(point: Point) -> tuple[Any, ...]:
    """What decides which simulator a point needs."""
    setting = _parts(point)[1]
    if setting["backend"] != "rtl":
        return ()
    return (str(setting["top"]), *sorted({"DATA_W": setting["data_w"], **setting["params"]}.items()))


def check(point: Point) -> None:
    """Refuse parameters that the point's top does not have, before anything is built or written."""
    setting = _parts(point)[1]
    if setting["backend"] == "rtl":
        build.check_params(str(setting["top"]), setting["params"])


def warnings_of(point: Point) -> list[str]:
    """What makes its figures other than they look."""
    return warnings(_parts(point)[0])


def prepare(point: Point) -> None:
    """Build the simulator that the point needs, if it is not there."""
    if setup := setup_of(point):
        build.simulator(setup[0], dict(setup[1:]))


def measure(point: Point) -> Row:
    """Run the point on a drive of its own; the figures, in simulated time, are the same on every machine."""
    results, link = _run(point, None)
    result = together(results) if "functions" in point else results[0]
    limit = link_limit(link, result)
    ordered = result.latencies()
    figures = (
        result.bytes_per_s / 1e6, result.iops / 1e3, float(ordered.mean()) / 1e3,
        *(percentile(ordered, p) / 1e3 for p in (50, 99, 99.9)),
        limit.bytes_per_s / 1e6, 100 * result.bytes_per_s / limit.bytes_per_s, result.ios, result.duration_ns / 1e3,
    )  # fmt: skip
    row: Row = {name: round(value, 4) for name, value in zip(FIGURES, figures, strict=True)}
    if functions := functions_of(point):
        row |= _by_function(results, link, functions)
    return row


def _by_function(results: Sequence[Result], link: limits.Link, functions: Functions) -> Row:
    """FN_FIGURES. results: one of each function."""
    rates = (f"{r.bytes_per_s / 1e6:.4f}" for r in results)
    slowest = (f"{percentile(r.latencies(), 99) / 1e3:.4f}" for r in results)
    least = round(100 * min(of_fair(results, link, functions.weights).values()), 2)
    return dict(zip(FN_FIGURES, (" ".join(rates), " ".join(slowest), least), strict=True))


def stages(point: Point) -> dict[str, list[dict[str, Any]]]:
    """Where the time of the point's commands goes: {"read": [{stage, mean_ns, p99_ns}], "write": ...}; RTL alone."""
    recorder = Recorder()
    _run(point, recorder)
    return {side: rows for side, rows in stage_json(recorder).items() if side in ("read", "write")}


def _run(point: Point, recorder: Any) -> tuple[list[Result], limits.Link]:
    """A result for each function, one where there is one; and the link."""
    job, setting = _parts(point)
    with _alone:
        sim = open_sim(str(setting.pop("backend")), **setting)
        try:
            with watchable(sim, "sweep", " ".join(f"{k}={v}" for k, v in point.items())):
                wanted = {k: setting[k] for k in ("mps", "mrrs") if k in setting}
                link = sim_link(sim, limits.Link.parse(setting["link"], **wanted))
                if functions := functions_of(point):
                    results = run_functions(bring_up(sim, functions, [[job]], arbitration_of(point)), [job])
                else:
                    drive = Driver(sim, host_memory([job]))
                    start_queues(drive, job.numjobs, job.iodepth, [job], arbitration_of(point))
                    results = run_group(drive, [job], **({"recorder": recorder} if recorder else {}))
                check_clean(sim)
        finally:
            if hasattr(sim, "close"):
                sim.close()
    return results, link


def source_files() -> list[Path]:
    """All but Python that the figures depend on, and DOORBELL_FIRMWARE's image."""
    own = build.own_image()
    return [*(f for pattern in SOURCES for f in paths.ROOT.glob(pattern)), *([own] if own else [])]


def digest() -> str:
    """Of all that the figures depend on as it is now: RTL, firmware, simulator, host driver and bench."""
    files = source_files()
    files += [f for name in PACKAGES for f in (paths.ROOT / "python" / "doorbell" / name).rglob("*.py")]
    return build.hash_files(files)[:12]


@functools.cache
def sources() -> str:
    """The same as it was when this process first asked."""
    return digest()


def key_of(point: Point, version: str | None = None) -> str:
    """What a row is found again by: its parameters and the sources it was measured with."""
    text = json.dumps([version or sources(), {k: point[k] for k in sorted(point)}])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def task(point: Point, version: str) -> tuple[Row | None, str]:
    """`measure` for a worker process: the row, or why there is none."""
    if sources() != version:
        return None, "this worker has other sources of Doorbell than the sweep: start it from the same clone or commit"
    try:
        row = measure(point)
        return (row, "") if digest() == version else (None, CHANGED)
    except UserError as e:
        return None, str(e)
    except Exception as e:  # one point that cannot be measured does not end the sweep
        return None, f"{type(e).__name__}: {e}"
