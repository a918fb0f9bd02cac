# SPDX-License-Identifier: Apache-2.0
"""What one SSD of a db_vcsd that takes its time costs the namespaces of another: nothing, if all is well."""

from __future__ import annotations

import random
from dataclasses import dataclass

from doorbell.bench.results import percentile
from doorbell.device.switch_sim import SwitchSim
from doorbell.nvme import namespaces
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import DSM_AD, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.structures import DsmRange

SIZE = 4096
MINE, ITS = 1, 2  # namespaces and queues
RANGES = 16  # of a Dataset Management


@dataclass(frozen=True)
class Seen:
    """Of a quiet namespace's commands."""

    p50_us: float
    p99_us: float
    mb_s: float


def two_slices(card: Driver) -> None:
    """A namespace on each of two SSDs, in the place of all that there are."""
    for nsid in namespaces.allocated(card):
        namespaces.delete(card, nsid)
    assert isinstance(card.sim, SwitchSim)
    for nsid in (MINE, ITS):
        assert namespaces.create(card, card.sim.ssd_pages * SIZE // 512, 512) == nsid
        namespaces.attach(card, nsid)
    card.nsid = MINE
    card.identify_all()


def commands_of_the_slow(card: Driver, opcode: NvmOpc, depth: int) -> list[Command]:
    """`depth` commands of the second namespace, which its SSD may never answer. Of Dataset Management: 16 ranges."""
    buffer = card.buffer(SIZE) if opcode not in (NvmOpc.VERIFY, NvmOpc.FLUSH, NvmOpc.WRITE_ZEROES) else None
    if opcode == NvmOpc.DSM:
        assert buffer
        ranges = b"".join(bytes(DsmRange(0, 8, 8 * i)) for i in range(RANGES))
        buffer.write(ranges)
        fields = {"nbytes": len(ranges), "cdw10": RANGES - 1, "cdw11": DSM_AD}
        commands = [card.submit(ITS, opcode, buffer=buffer, nsid=ITS, **fields) for _ in range(depth)]
    else:
        commands = [card.submit(ITS, opcode, i * 8, 7, buffer, nsid=ITS) for i in range(depth)]
    card.ring()
    return commands


def measure(card: Driver, opcode: NvmOpc, depth: int, count: int, seed: int = 1) -> Seen:
    """`count` commands of 4 KiB at random blocks of the first namespace, `depth` of them in flight."""
    rng = random.Random(seed)
    assert isinstance(card.sim, SwitchSim)
    blocks = card.sim.ssd_pages
    buffers = [card.buffer(SIZE) for _ in range(depth)]
    times: list[float] = []
    free = list(buffers)
    left, begun = count, card.sim.ns

    def done(command: Command) -> None:
        assert command.status == Status.SUCCESS, f"a command of the quiet namespace: {command.status}"
        times.append((command.done_ns - command.started_ns) / 1000)
        assert command.buffer
        free.append(command.buffer)

    while len(times) < count:
        while left and free:
            card.submit(MINE, opcode, rng.randrange(blocks) * 8, 7, free.pop(), nsid=MINE, on_done=done)
            left -= 1
        card.step(50)
        assert card.sim.ns - begun < 20e6, f"{count - len(times)} commands do not end"
    us = (card.sim.ns - begun) / 1000
    for buffer in buffers:
        buffer.free()
    times.sort()
    return Seen(round(percentile(times, 50), 2), round(percentile(times, 99), 2), round(count * SIZE / us))
