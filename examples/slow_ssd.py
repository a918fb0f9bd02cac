# SPDX-License-Identifier: Apache-2.0
"""Two namespaces of a db_vcsd, each on an SSD of its own; the second SSD takes 50 ms for each command. What do reads
and writes of the first get, alone and beside 32 commands of the second?

    ./doorbell python examples/slow_ssd.py

docs/vcsd/theory.md has the figures.
"""

from __future__ import annotations

from doorbell.bench.slow_ssd import ITS, commands_of_the_slow, measure, two_slices
from doorbell.device.opening import open_sim
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory

SSD = 64 << 20
CARD = {"NUM_SSD": 2, "NUM_NS": 4, "SHA_CORES": 0, "MS_CYCLES": 5000, "SSD_TIMEOUT": 0}


def main() -> None:
    print("| first namespace | beside it | p50 us | p99 us | MB/s |\n|---|---|---|---|---|")
    for opcode, name in ((NvmOpc.READ, "reads"), (NvmOpc.WRITE, "writes")):
        for depth, count in ((1, 200), (32, 3000)):
            sim = open_sim("rtl", top="db_vcsd", data_w=256, params=dict(CARD), media_size=2 * SSD)
            card = Driver(sim, HostMemory(32 << 20, 0x12_4000_0000))
            card.start(queues=2, entries=64)
            two_slices(card)
            for beside in ("nothing", f"32 {name} that take 50 ms"):
                if beside != "nothing":
                    sim.ssds.fault("late", port=1, count=None, delay_us=50_000)
                    commands_of_the_slow(card, opcode, 32)
                    card.advance(50_000)
                seen = measure(card, opcode, depth, count)
                figures = f"{seen.p50_us} | {seen.p99_us} | {seen.mb_s}"
                print(f"| 4 KiB {name}, QD {depth} | {beside} | {figures} |", flush=True)
            assert len(card.sqs[ITS].pending) == 32
            sim.close()


main()
