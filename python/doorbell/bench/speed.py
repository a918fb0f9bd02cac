# SPDX-License-Identifier: Apache-2.0
"""What a simulated cycle and a command cost in time of this machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from doorbell.bench.jobs import Job, describe
from doorbell.bench.runner import run_group
from doorbell.nvme.driver import Driver


def speed_table(sim: Any, drive: Driver, jobs: Sequence[Job]) -> Any:
    """Runs jobs and shows what a simulated cycle and a command cost in time of this machine."""
    from rich.table import Table

    inner, inside = sim.run, [0.0]

    def run(*args: Any, **named: Any) -> Any:
        start = time.process_time()
        try:
            return inner(*args, **named)
        finally:
            inside[0] += time.process_time() - start

    sim.run = run
    out = Table(title="Speed of the simulator (depends on the machine)", title_justify="left")
    out.add_column("workload")
    for name in ("cycles", "wall s", "processor s", "kcycles/s", "IOPS", "% in model", "ns/cycle"):
        out.add_column(name, justify="right")
    for job in jobs:
        inside[0] = 0.0
        cycles, done, skipped = sim.cycle, drive.completed, sim.counters()["sim.skipped_cycles"]
        wall, cpu = time.perf_counter(), time.process_time()
        run_group(drive, [job])
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        cycles, done = sim.cycle - cycles, drive.completed - done
        worked = max(1, cycles - (sim.counters()["sim.skipped_cycles"] - skipped))
        out.add_row(
            describe(job),
            f"{cycles:,}",
            f"{wall:.2f}",
            f"{cpu:.2f}",
            f"{cycles / cpu / 1e3:,.0f}",
            f"{done / cpu:,.0f}",
            f"{100 * inside[0] / cpu:.0f}",
            f"{inside[0] / worked * 1e9:,.0f}",
        )
    del sim.run
    return out
