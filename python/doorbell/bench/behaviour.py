# SPDX-License-Identifier: Apache-2.0
"""The fixed list of workloads whose figures say what the simulators do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from functools import partial

from doorbell.bench import host as host_bench
from doorbell.bench import recorder as recorder_bench
from doorbell.bench.behaviour_drives import (
    CSD_JOBS,
    OPERATORS,
    SSD_JOBS,
    Figures,
    admin_commands,
    bench_drive,
    random_commands,
)
from doorbell.bench.behaviour_hosts import HOST_JOBS, bench_host, bench_recorder, host_faults, of_suite
from doorbell.build import say
from doorbell.errors import UserError
from doorbell.ui import progress_bar

HOST = host_bench.TARGET
RECORDER = recorder_bench.TARGET
STALLS = {"stall_pct": 20, "completion_jitter_ns": 900, "completion_bytes": "random"}
WORKLOADS: dict[str, Callable[[], Figures]] = {
    "bench-ssd-256": partial(bench_drive, "db_ssd", 256, "gen3x8", SSD_JOBS),
    "random-ssd-256": partial(random_commands, "db_ssd", 256, "gen3x8", 1000),
    "bench-csd-aes-xts": partial(bench_drive, "db_csd", 256, "gen3x8", CSD_JOBS, "aes-xts"),
    "random-csd-256": partial(random_commands, "db_csd", 256, "gen3x8", 300, "aes-xts"),
    "admin-ssd": partial(admin_commands, "db_ssd"),
    "admin-csd": partial(admin_commands, "db_csd"),
    "bench-host-128": partial(bench_host, HOST, HOST_JOBS),
    "faults-host-128": partial(host_faults, HOST),
    **{f"bench-csd-{op.partition(':')[0]}": partial(bench_drive, "db_csd", 256, "gen3x8", CSD_JOBS, op)
       for op in OPERATORS if op != "aes-xts"},
    "bench-ssd-128": partial(bench_drive, "db_ssd", 128, "gen3x4", SSD_JOBS),
    "bench-ssd-512": partial(bench_drive, "db_ssd", 512, "gen4x8", SSD_JOBS),
    "random-ssd-128": partial(random_commands, "db_ssd", 128, "gen3x4", 400, **STALLS),
    "random-ssd-512": partial(random_commands, "db_ssd", 512, "gen4x8", 400, **STALLS),
    "random-csd-512": partial(random_commands, "db_csd", 512, "gen4x8", 300, "aes-xts", **STALLS),
    "bench-host-ssd": partial(bench_host, host_bench.Setup(ssd="db_ssd"), HOST_JOBS),
    "bench-recorder": partial(bench_recorder, RECORDER, 4 << 20),
    "bench-recorder-loses": partial(bench_recorder, recorder_bench.replace(RECORDER, rate=7.5, write_us=100), 16 << 20),
    "suite-host": partial(of_suite, "host"),
    "suite-limit": partial(of_suite, "limit"),
}  # fmt: skip
QUICK = tuple(WORKLOADS)[:8]


def chosen(only: str | None, quick: bool) -> list[str]:
    names = [n for n in (QUICK if quick else WORKLOADS) if only is None or fnmatchcase(n, only)]
    if not names:
        raise UserError(f"--only {only}: no workload has such a name: {', '.join(QUICK if quick else WORKLOADS)}")
    return names


def measure(names: Iterable[str]) -> Iterator[tuple[str, Figures, float]]:
    """Workload, figures, seconds. A workload that fails has the reason as its only figure."""
    names = list(names)
    with progress_bar("compare") as update:
        for i, name in enumerate(names):
            say(f"{name} ({i + 1} of {len(names)})")
            start = time.monotonic()
            try:
                figures = WORKLOADS[name]()
            except Exception as e:  # what went wrong is what is different
                figures = {"failed": f"{type(e).__name__}: {e}"}
            update((i + 1) / len(names))
            yield name, figures, time.monotonic() - start
