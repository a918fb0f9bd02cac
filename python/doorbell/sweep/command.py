# SPDX-License-Identifier: Apache-2.0
"""`./doorbell sweep`: a grid of parameters and workloads, measured on all cores or a Dask cluster, into one CSV file.

Every row is appended as soon as it is measured, in one write, under a key of its parameters and of the sources it was
measured with. A sweep that was killed goes on where it was: what has its row is not measured again. docs/sweep.md
describes the file of a sweep.
"""

from __future__ import annotations

import contextlib
import csv
import ctypes
import fcntl
import io
import itertools
import json as json_module
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from doorbell.errors import UserError
from doorbell.sweep import point as points_module
from doorbell.sweep.point import FIGURES, Point, Row
from doorbell.ui import Progress

MAX_POINTS = 100_000
WORKER_WAIT_S = 30.0  # for a Dask cluster's first worker
FIRST = ("key", "sources")  # columns before the parameters


@dataclass
class Spec:
    """A sweep as its file describes it."""

    name: str
    points: list[Point]


def load_spec(file: Path) -> Spec:
    """Read a sweep's YAML file."""
    import yaml

    try:
        data = yaml.safe_load(file.read_text())
    except OSError as e:
        raise UserError(f"cannot read the sweep {file}: {e.strerror}") from e
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        raise UserError(f"{file} is not YAML: {e}") from e
    return parse_spec(data, str(file), file.stem)


def parse_spec(data: Any, where: str, name: str = "sweep") -> Spec:
    """The points of {name, defaults, grid, workloads}: every grid point with every workload."""
    if not isinstance(data, dict):
        raise UserError(f"{where}: a sweep has 'grid' or 'workloads' at its top, see docs/sweep.md")
    for key in data:
        if key not in ("name", "defaults", "grid", "workloads"):
            raise UserError(f"{where}: '{key}' is not one of name, defaults, grid, workloads")
    defaults = _mapping(data.get("defaults") or {}, f"{where}: defaults")
    grids = data.get("grid") or [{}]
    grids = grids if isinstance(grids, list) else [grids]
    workloads = data.get("workloads") or [{}]
    if not isinstance(workloads, list):
        raise UserError(f"{where}: workloads: must be a list, an item a workload")
    points: list[Point] = []
    seen: set[str] = set()
    for grid in grids:
        for values in _cross(_mapping(grid, f"{where}: grid"), f"{where}: grid"):
            for workload in workloads:
                work = _mapping(workload, f"{where}: workloads")
                if clash := values.keys() & work.keys():
                    raise UserError(f"{where}: '{min(clash)}' is in the grid and in a workload: one of them decides")
                point = points_module.clean({**defaults, **values, **work}, where)
                key = points_module.key_of(point, "")
                if key not in seen:
                    seen.add(key)
                    points.append(point)
                if len(points) > MAX_POINTS:
                    raise UserError(f"{where}: more than {MAX_POINTS} points: make the grid smaller")
    if points == [{}]:
        raise UserError(f"{where}: nothing to measure: give a 'grid' or 'workloads', see docs/sweep.md")
    return Spec(str(data.get("name") or name), points)


def _mapping(data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise UserError(f"{where}: must be parameters with values, as in 'bs: 4k'")
    return data


def _cross(grid: dict[str, Any], where: str) -> Iterator[dict[str, Any]]:
    """All combinations. A key such as "link, data_w" has lists of values that go together."""
    axes: list[list[dict[str, Any]]] = []
    for key, values in grid.items():
        values = values if isinstance(values, list) else [values]
        names = [n.strip() for n in str(key).split(",")]
        if not values:
            raise UserError(f"{where}: {key}: the list is empty")
        if len(names) == 1:
            axes.append([{names[0]: value} for value in values])
            continue
        for value in values:
            if not isinstance(value, list) or len(value) != len(names):
                raise UserError(f"{where}: {key}: {value!r} is not a list of {len(names)} values")
        axes.append([dict(zip(names, value, strict=True)) for value in values])
    for combination in itertools.product(*axes):
        yield {k: v for part in combination for k, v in part.items()}


class Store:
    """A CSV file of rows, one a measurement; of one process at a time.

    A row is complete when its line is: a line that a killed process left half written is dropped.
    """

    def __init__(self, file: Path, columns: Sequence[str]) -> None:
        self.file = file
        self.rows: list[dict[str, str]] = []
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._fd = self._open()
        except OSError as e:
            raise UserError(f"cannot write {file}: {e.strerror}") from e
        try:
            self.columns = self._read(columns)
        except BaseException:
            os.close(self._fd)
            raise

    def _open(self) -> int:
        while True:
            fd = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(fd), os.stat(self.file)):
                    return fd
            except BlockingIOError:
                os.close(fd)
                raise UserError(f"another sweep or report is writing {self.file}: wait for it") from None
            except FileNotFoundError:
                pass
            os.close(fd)  # replaced by a process that has just finished

    def _read(self, wanted: Sequence[str]) -> list[str]:
        with open(self.file, "rb") as f:
            content = f.read()
        whole = content[: content.rfind(b"\n") + 1]
        try:
            lines = list(csv.reader(io.StringIO(whole.decode())))
        except (UnicodeDecodeError, csv.Error) as e:
            raise UserError(f"{self.file} is not a sweep's results ({e}): use another --out") from e
        header = lines[0] if lines else []
        if content and not (header[:1] == ["key"] and set(FIGURES) <= set(header)):
            if lines:
                raise UserError(f"{self.file} is not a sweep's results: use another --out")
        for cells in lines[1:]:
            if len(cells) == len(header) and cells[0]:
                self.rows.append(dict(zip(header, cells, strict=True)))
        ours = [c for c in header if c not in FIGURES] or list(FIRST)
        columns = [*ours, *(c for c in wanted if c not in ours and c not in FIGURES), *FIGURES]
        if columns != header or len(whole) != len(content) or len(self.rows) != len(lines) - 1:
            self.columns = columns
            self._rewrite()
        return columns

    def _rewrite(self) -> None:
        """Write the whole file anew; who reads it meanwhile sees the old or the new one."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        temporary = self.file.with_name(f".{self.file.name}.{os.getpid()}.tmp")
        fd = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            _write_all(fd, text.getvalue().encode())
            os.fsync(fd)
            os.rename(temporary, self.file)
        except BaseException:
            os.close(fd)
            temporary.unlink(missing_ok=True)
            raise
        os.close(self._fd)
        self._fd = fd

    def append(self, row: dict[str, Any]) -> None:
        """Add one row; it is on the disk when this returns."""
        cells = {k: str(v) for k, v in row.items()}
        text = io.StringIO()
        csv.DictWriter(text, self.columns, restval="", lineterminator="\n").writerow(cells)
        try:
            _write_all(self._fd, text.getvalue().encode())
            os.fsync(self._fd)
        except OSError as e:
            raise UserError(f"cannot write {self.file}: {e.strerror}; run the same command to go on", 1) from e
        self.rows.append(cells)

    def sort(self, order: dict[str, int]) -> None:
        """Rows in the order of the sweep, then all others as they were; so the same sweep gives the same file."""
        ordered = sorted(self.rows, key=lambda row: order.get(row["key"], len(order)))
        if ordered != self.rows:
            self.rows = ordered
            self._rewrite()

    def close(self) -> None:
        os.close(self._fd)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


Outcome = tuple[int, Row | None, str]  # of which point, its figures, or why there are none


def _worker_start(parent: int) -> None:
    """In a new worker process: end with the parent however it ends, and silently on Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def run_local(points: dict[int, Point], jobs: int) -> Iterator[Outcome]:
    """Measure the points in `jobs` processes."""
    version = points_module.sources()
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(points)), context, _worker_start, (os.getpid(),))
    try:
        waiting = {pool.submit(points_module.task, point, version): i for i, point in points.items()}
        for future in as_completed(waiting):
            try:
                yield waiting[future], *future.result()
            except BrokenProcessPool as e:
                raise UserError("a worker process was killed (memory?): run the same command to go on", 1) from e
    except BaseException:
        for child in multiprocessing.active_children():
            child.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def run_dask(points: dict[int, Point], address: str) -> Iterator[Outcome]:
    """Measure the points on an existing Dask cluster. A worker that dies has its points done by the others."""
    import logging

    import distributed

    for name in ("distributed", "distributed.client", "distributed.comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TypeError) as e:
        raise UserError(f"no Dask scheduler answers at {address}: {e}") from e
    with client:
        with contextlib.suppress(TimeoutError):
            client.wait_for_workers(1, timeout=WORKER_WAIT_S)
        if not client.scheduler_info().get("workers"):
            raise UserError(f"the Dask scheduler at {address} has no workers: start some, see docs/sweep.md")
        version = points_module.sources()

        def remote(point: Point, version: str) -> tuple[Row | None, str]:
            # Sent as code, being a function inside another one: the scheduler need not have Doorbell.
            from doorbell.sweep.point import task

            return task(point, version)

        futures = {}
        for i, point in points.items():
            key = f"doorbell-{points_module.key_of(point)}"
            futures[client.submit(remote, point, version, key=key, retries=10)] = i
        for future in distributed.as_completed(futures, loop=client.loop):
            error = future.exception() if future.status == "error" else None
            if future.status == "cancelled":
                raise UserError(f"the Dask scheduler at {address} went away: run the same command to go on", 1)
            if error is None:
                row, why = future.result()
            elif isinstance(error, ModuleNotFoundError):
                row, why = None, f"a Dask worker cannot import Doorbell ({error}): see docs/sweep.md"
            else:
                row, why = None, f"{type(error).__name__}: {error}"
            future.release()
            yield futures[future], row, why


@dataclass
class Summary:
    """What became of a sweep: its rows in the order of its points."""

    rows: list[Row] = field(default_factory=list)
    measured: int = 0
    reused: int = 0
    failed: list[tuple[Point, str]] = field(default_factory=list)


def run(
    points: Sequence[Point],
    store: Store,
    *,
    jobs: int = 0,
    scheduler: str = "",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Summary:
    """Measure what the store does not hold yet; rows are stored one by one. jobs: processes (0: all cores)."""
    have = {row["key"]: row for row in store.rows}
    keys = [points_module.key_of(p) for p in points]
    todo = {i: p for i, p in enumerate(points) if keys[i] not in have}
    summary = Summary(reused=len(points) - len(todo))
    progress(summary.reused, len(points))
    if todo:
        # Once, before the work is spread.
        for point in {points_module.setup_of(p): p for p in todo.values()}.values():
            points_module.prepare(point)
        outcomes = run_dask(todo, scheduler) if scheduler else run_local(todo, jobs or cores())
        with contextlib.closing(outcomes):
            for index, figures, why in outcomes:
                if figures is None:
                    summary.failed.append((points[index], why))
                else:
                    summary.measured += 1
                    row = {"key": keys[index], "sources": points_module.sources(), **points[index], **figures}
                    store.append(row)
                progress(summary.reused + summary.measured + len(summary.failed), len(points))
    store.sort({k: i for i, k in enumerate(keys)})
    have = {row["key"]: row for row in store.rows}
    for point, key in zip(points, keys, strict=True):
        if key in have:
            summary.rows.append({**point, **{name: float(have[key][name]) for name in FIGURES}})
    return summary


def cores() -> int:
    """How many processes a sweep uses: DOORBELL_JOBS, or all cores this process may use."""
    return int(os.environ.get("DOORBELL_JOBS") or len(os.sched_getaffinity(0)))


def columns_of(points: Sequence[Point]) -> list[str]:
    """The columns of the results: key, sources, all parameters that any point names, figures."""
    return [*FIRST, *dict.fromkeys(k for p in points for k in p), *FIGURES]


def table(points: Sequence[Point], rows: Sequence[Row], title: str) -> Any:
    """The parameters that vary, and the main figures."""
    from rich.table import Table

    names = list(dict.fromkeys(k for p in points for k in p))
    varied = [n for n in names if len({str(p.get(n)) for p in points}) > 1] or names
    out = Table(title=title, title_justify="left")
    for name in varied:
        out.add_column(name)
    for name in ("MB/s", "kIOPS", "mean us", "p50", "p99", "p99.9", "% of link"):
        out.add_column(name, justify="right")
    for row in rows:
        f = {name: float(row[name]) for name in FIGURES}
        latencies = [f"{f[n]:,.2f}" for n in ("mean_us", "p50_us", "p99_us", "p999_us")]
        out.add_row(*(str(row.get(n, "")) for n in varied), f"{f['mb_s']:,.0f}", f"{f['kiops']:,.1f}", *latencies,
                    f"{f['limit_pct']:.1f}")  # fmt: skip
    return out


def worker(address: str) -> None:
    """Become a Dask worker of the scheduler at `address`, with this clone and environment; does not return."""
    command = [sys.executable, "-P", "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"]
    os.execv(sys.executable, [*command, "--nworkers", str(cores()), "--no-dashboard"])


def main(
    spec: Path | None = typer.Argument(None, metavar="SPEC.yaml", help="The sweep, see docs/sweep.md."),
    out: Path | None = typer.Option(None, help="The CSV file of results; goes on with what is there. [SPEC.csv]"),
    jobs: int = typer.Option(0, min=0, max=1024, help="Processes; 0: as many as there are cores."),
    scheduler: str = typer.Option("", metavar="ADDRESS", help="Hand the work to the Dask cluster of this scheduler."),
    worker_of: str = typer.Option("", "--worker", metavar="ADDRESS", help="Only be workers of this Dask scheduler."),
    restart: bool = typer.Option(False, "--restart", help="Measure all points again; the old file becomes FILE.old."),
    json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
) -> int:
    """Measure a grid of parameters and workloads on all cores, in simulated time; goes on where it was killed."""
    if worker_of:
        worker(worker_of)
    if spec is None:
        raise UserError("name the sweep's file: ./doorbell sweep SPEC.yaml, for example sweeps/blocks.yaml")
    sweep = load_spec(spec)
    file = out or Path(f"{spec.stem}.csv")
    if file.suffix != ".csv":
        raise UserError(f"--out {file}: results are CSV, the name must end in .csv")
    if restart and file.exists():
        file.replace(file.with_name(file.name + ".old"))
    store = Store(file, columns_of(sweep.points))
    try:
        with Progress(sweep.name) as progress:
            summary = run(sweep.points, store, jobs=jobs, scheduler=scheduler, progress=progress)
    finally:
        store.close()
    if json:
        print(json_module.dumps({
            "name": sweep.name, "file": str(file), "sources": points_module.sources(), "measured": summary.measured,
            "reused": summary.reused, "rows": summary.rows,
            "failed": [{**point, "error": why} for point, why in summary.failed],
        }, indent=2))  # fmt: skip
    else:
        from doorbell.bench.command import print_table

        title = f"{sweep.name}: {len(summary.rows)} of {len(sweep.points)} points, simulated time"
        print_table(table(sweep.points, summary.rows, title))
        print(f"{summary.measured} measured, {summary.reused} were there; all in {file}")
    if summary.failed:
        point, why = summary.failed[0]
        what = ", ".join(f"{k} {v}" for k, v in point.items())
        raise UserError(f"{len(summary.failed)} of {len(sweep.points)} points failed, the first ({what}): {why}", 1)
    return 0
