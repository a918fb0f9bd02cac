# SPDX-License-Identifier: Apache-2.0
"""What tests of db_host_supervisor share: places of registers, and a drive that has been brought up."""

from __future__ import annotations

from host_ctl_bench import Bench
from host_drive_model import Options

CONTROL, STATUS, ADMIN_MS, ABORT_MS, POLL_MS, SHUTDOWN_MS = 0x08, 0x0C, 0x18, 0x1C, 0x20, 0x2C
NUM_CQES, NUM_ABORTS, NUM_RESETS, NUM_BAD = 0x60, 0x64, 0x68, 0x6C


async def up(dut, options: Options | None = None, seed: int = 1) -> Bench:
    b = Bench(dut, options or Options(), seed)
    await b.start()
    await b.until(dut.io_up)
    b.drive.log.clear()
    return b


async def io_done(b: Bench) -> None:
    b.dut.s_io_done.value = 1
    await b.ticks(1)
    b.dut.s_io_done.value = 0


def config_writes(b: Bench) -> int:
    return sum(1 for kind, _, data in b.requests if kind == "cfg" and data >= 0)
