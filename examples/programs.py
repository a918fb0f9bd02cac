# SPDX-License-Identifier: Apache-2.0
"""How fast a function's memory is written, read, filled and copied to, and how fast programs look at what is in it
(docs/csd/programs.md).

./doorbell python examples/programs.py
"""

from __future__ import annotations

from collections.abc import Callable

from doorbell.compute.near import Aggregate, ColumnType, Filter, Predicate
from doorbell.compute.programs import Blocks, Programs
from doorbell.device import open_sim
from doorbell.nvme import Command, Driver, HostMemory
from doorbell.nvme.constants import SlmOpc
from doorbell.nvme.vendor import NearComparison
from near_storage import Stored, moved

SIZES = (4096, 16384, 65536, 1 << 20)
RESULT = 4 << 20
"""Where results go, behind what is looked at."""


def measure(sizes: tuple[int, ...] = SIZES, **options: object) -> list[Stored]:
    """options: of open_sim, in place of a 256-bit drive on Gen3 x8."""
    params = {"NEAR": 1, "SGL": 1, "CMB_LOG2": 23, "SLM": 1}
    wanted = {"top": "db_csd", "data_w": 256, "link": "gen3x8", "params": params, "media_size": 16 << 20}
    sim = open_sim("rtl", **wanted | options)  # type: ignore[arg-type]
    drive = Driver(sim, HostMemory(64 << 20))
    drive.start(queues=1, entries=256, all_sets=True)
    own = Programs(drive)
    half = Predicate(ColumnType.U8, 0, NearComparison.LESS, 128)
    programs = {"Aggregate": Aggregate(ColumnType.I32, 16, 4), "Filter, all pass": Filter(16, (half,))}
    for pind, program in enumerate(programs.values()):
        own.load(pind, program.program())
        own.activate(pind)

    def move(opcode: SlmOpc, size: int) -> Callable[[int], Command]:
        return lambda block: own.move(opcode, block * drive.block_size, size, drive.buffer(size))

    def copy(size: int) -> Callable[[int], Command]:
        return lambda block: own.submit_copy(
            block * drive.block_size, size, [Blocks(1, block, size // drive.block_size)], drive.buffer(32)
        )

    def fill(size: int) -> Callable[[int], Command]:
        return lambda block: own.submit_fill(block * drive.block_size, size)

    def execute(pind: int, rsid: int, size: int) -> Callable[[int], Command]:
        return lambda block: own.submit(pind, rsid, size)

    rows = []
    for size in sizes:
        rows.append(moved(drive, "Memory Write", size, move(SlmOpc.WRITE, size)))
        rows.append(moved(drive, "Memory Read", size, move(SlmOpc.READ, size)))
        rows.append(moved(drive, "Memory Copy, of blocks", size, copy(size)))
        rows.append(moved(drive, "Memory Fill", size, fill(size)))
        for pind, name in enumerate(programs):
            rsid = own.create_ranges((0, size), (RESULT, size if pind else 64))
            rows.append(moved(drive, name, size, execute(pind, rsid, size)))
            own.delete_ranges_try(rsid).check()
    sim.close()
    return rows


if __name__ == "__main__":
    print(f"{'':22} {'size':>8} {'GB/s':>7} {'on the link':>12}")
    for row in measure():
        print(f"{row.what:22} {row.size:8} {row.gb_per_s:7.2f} {row.on_link:11.1%}")
