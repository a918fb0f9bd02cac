# SPDX-License-Identifier: Apache-2.0
"""What tests of Controller Memory Buffers share: queues in one, and random traffic with data and lists in it."""

from __future__ import annotations

import random

from doorbell.nvme.cmb import Cmb, map_cmb
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import Buffer, HostMemory

BASE = 0x7_1234_5000
"""Where the controller has the buffer: aligned to a page, not to its size."""


def up(drive: Driver, base: int = BASE) -> Cmb:
    drive.start(queues=1, entries=64)
    return map_cmb(drive, base)


def queues_in(drive: Driver, cmb: Cmb, qid: int = 2, entries: int = 64) -> None:
    drive.create_cq(qid, entries, 1, memory=cmb)
    drive.create_sq(qid, entries, qid, memory=cmb)


def traffic(drive: Driver, cmb: Cmb, qids: tuple[int, ...], rng: random.Random, count: int, first: int = 0) -> None:
    """Reads and writes of 4000 blocks from `first` on, with data and lists in either memory, against bytes."""
    media, going = bytearray(4000 * 512), 0
    zero = Buffer(drive.memory, 1 << 16)
    zero.write(bytes(1 << 16))
    for at in range(0, 4000, 125):
        drive.run(drive.submit(1, NvmOpc.WRITE, first + at, 124, zero))
    for _ in range(count):
        batch: list[tuple[Command, Buffer, bytes]] = []
        taken: set[int] = set()
        for _ in range(rng.randrange(1, 9)):
            n = rng.choice((1, 1, 3, 8, 16, rng.randrange(1, 64)))
            slba = rng.randrange(4000 - n)
            if taken & set(range(slba, slba + n)):
                continue
            taken |= set(range(slba, slba + n))
            memory: HostMemory = cmb if rng.random() < 0.7 else drive.memory
            buffer = Buffer(memory, n * 512, offset=4 * rng.randrange(1024), scattered=rng.random() < 0.5,
                            list_offset=8 * rng.randrange(512))  # fmt: skip
            qid = rng.choice(qids)
            if rng.random() < 0.5:
                data = rng.randbytes(n * 512)
                buffer.write(data)
                media[slba * 512 : (slba + n) * 512] = data
                batch.append((drive.submit(qid, NvmOpc.WRITE, first + slba, n - 1, buffer), buffer, data))
            else:
                buffer.fill(0xA5)
                data = bytes(media[slba * 512 : (slba + n) * 512])
                batch.append((drive.submit(qid, NvmOpc.READ, first + slba, n - 1, buffer), buffer, data))
        drive.run(*(c for c, _, _ in batch))
        cmb.settle()
        for command, buffer, data in batch:
            assert buffer.read() == data
            if command.opcode == NvmOpc.READ:
                buffer.check_margins(0xA5)
            buffer.free()
        going += len(batch)
    zero.free()
