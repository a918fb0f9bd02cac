# SPDX-License-Identifier: Apache-2.0
"""An experiment of one's own: 100 reads of 4 KiB on 16 queues, and how many cycles each took.

./doorbell python examples/measure_reads.py [rtl|functional]
"""

import sys

from doorbell.device import open_sim
from doorbell.nvme import Command, Driver, HostMemory, NvmOpc

CLOCK_MHZ = 250  # of the drive: what open_sim takes unless told otherwise


def measure(backend: str = "rtl", reads: int = 100) -> list[Command]:
    """The commands, each with its latency in simulated time."""
    sim = open_sim(backend, link="gen3x8", media_size=64 << 20)  # db_ssd is built here if it is not in the cache
    drive = Driver(sim, HostMemory(64 << 20))
    drive.start(queues=16, entries=64)  # reset, admin queue, Identify, 16 pairs of queues with a vector each
    buffers = [drive.buffer(4096) for _ in range(reads)]
    commands = [
        drive.submit(1 + i % 16, NvmOpc.READ, slba=8 * i, nlb=7, buffer=buffer) for i, buffer in enumerate(buffers)
    ]
    drive.run(*commands)  # rings the doorbells, runs the simulation, raises if a command fails
    sim.close()
    return commands


if __name__ == "__main__":
    for command in measure(*sys.argv[1:2]):
        print(
            f"queue {command.qid:2}, command {command.cid:#06x}: "
            f"{command.latency_ns * CLOCK_MHZ / 1000:.0f} cycles, {command.latency_ns:.0f} ns"
        )
