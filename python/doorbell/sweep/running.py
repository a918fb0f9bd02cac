# SPDX-License-Identifier: Apache-2.0
"""Measures the points of a sweep, in processes of this machine or on a Dask cluster."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

from doorbell import build
from doorbell.device.live import Board
from doorbell.errors import UserError
from doorbell.sweep import point as points_module
from doorbell.sweep.point import FIGURES, FN_FIGURES, Point, Row
from doorbell.sweep.store import Store

WORKER_WAIT_S = 30.0  # for a Dask cluster's first worker
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


def _board(title: str) -> tuple[Callable[[dict[str, Any]], None], Callable[[], None]]:
    """What shows a sweep to `./doorbell watch`, and what ends that; nothing if the cache cannot be written."""
    try:
        board = Board("sweep", title)
    except OSError:
        return lambda _: None, lambda: None
    return board.show, board.close


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
        show, close = _board(f"{len(points)} points")
        outcomes = run_dask(todo, scheduler) if scheduler else run_local(todo, jobs or build.jobs())
        with contextlib.ExitStack() as opened:
            opened.callback(close)
            opened.enter_context(contextlib.closing(outcomes))
            show({"points": len(points), "over": summary.reused, "failed": 0})
            for index, figures, why in outcomes:
                if figures is None:
                    summary.failed.append((points[index], why))
                else:
                    summary.measured += 1
                    row = {"key": keys[index], "sources": points_module.sources(), **points[index], **figures}
                    store.append(row)
                over = summary.reused + summary.measured + len(summary.failed)
                show({"points": len(points), "over": over, "failed": len(summary.failed)})
                progress(over, len(points))
    store.sort({k: i for i, k in enumerate(keys)})
    have = {row["key"]: row for row in store.rows}
    for point, key in zip(points, keys, strict=True):
        if key in have:
            row = have[key]
            several: Row = {name: row[name] for name in FN_FIGURES if row.get(name)}
            if "least_fair_pct" in several:
                several["least_fair_pct"] = float(row["least_fair_pct"])
            summary.rows.append({**point, **{name: float(row[name]) for name in FIGURES}, **several})
    return summary


def worker(address: str) -> None:
    """Become a Dask worker of the scheduler at `address`, with this clone and environment; does not return."""
    command = [sys.executable, "-P", "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"]
    os.execv(sys.executable, [*command, "--nworkers", str(build.jobs()), "--no-dashboard"])
