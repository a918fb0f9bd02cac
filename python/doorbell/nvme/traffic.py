# SPDX-License-Identifier: Apache-2.0
"""Random traffic on many queues, checked against the reference model: for tests, and for `./doorbell compare`."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from doorbell.nvme.commands import Command
from doorbell.nvme.constants import DSM_AD, ONCS_WRITE_UNCOR, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import Buffer
from doorbell.nvme.model import Limits, Media, Pending, allowed_statuses
from doorbell.nvme.structures import DsmRange, status_name

CANARY = 0xC3
READS = (NvmOpc.READ, NvmOpc.COMPARE, NvmOpc.VERIFY)
WEIGHTS = {
    NvmOpc.READ: 40,
    NvmOpc.WRITE: 35,
    NvmOpc.COMPARE: 6,
    NvmOpc.WRITE_ZEROES: 5,
    NvmOpc.VERIFY: 3,
    NvmOpc.DSM: 4,
    NvmOpc.FLUSH: 2,
}


def limits_of(drive: Driver) -> Limits:
    assert drive.namespace is not None and drive.controller is not None
    return Limits(
        drive.namespace.nsze,
        drive.block_size,
        drive.max_transfer,
        nn=drive.controller.nn,
        uncorrectable=bool(drive.controller.oncs & ONCS_WRITE_UNCOR),
        sgl=bool(drive.controller.sgls & 3),
    )


def media_of(drive: Driver) -> Media:
    """The model of a drive's namespace."""
    assert drive.namespace is not None
    return Media(drive.namespace.nsze, drive.block_size)


@dataclass
class Sent:
    """What is to be known of a command in flight."""

    pending: Pending
    allowed: set[int]
    buffer: Buffer | None


@dataclass
class Traffic:
    """Keeps random commands in flight and checks every completion.

    region: blocks that commands touch (few: they overlap). largest: bytes of a transfer. bad: share of commands with a
    fault in them. weights: how often each opcode. tolerate: statuses that are fine in addition (fault injection).
    """

    drive: Driver
    media: Media
    seed: int = 1
    first: int = 0
    region: int = 4096
    largest: int = 128 << 10
    bad: float = 0.02
    weights: dict[int, int] = field(default_factory=lambda: dict(WEIGHTS))
    tolerate: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.limits = limits_of(self.drive)
        self.noise = self.rng.randbytes(2 << 20)
        self.counts: dict[str, int] = {}
        self.sent: dict[Command, Sent] = {}

    # One command --------------------------------------------------------------------------------------------------

    def _geometry(self, size: int) -> Buffer:
        rng = self.rng
        offset = 0 if rng.random() < 0.4 else 4 * rng.randrange(1024)
        list_offset = 0 if rng.random() < 0.5 else 8 * rng.randrange(512)
        return self.drive.buffer(size, offset=offset, scattered=rng.random() < 0.6, list_offset=list_offset)

    def _blocks(self) -> int:
        most = max(1, min(self.largest // self.drive.block_size, self.region))
        shape = self.rng.random()
        if shape < 0.4:
            return self.rng.randint(1, min(8, most))
        if shape < 0.5:
            return most
        return self.rng.randint(1, most)

    def _random_data(self, size: int) -> bytes:
        at = self.rng.randrange(len(self.noise) - size + 1) if size < len(self.noise) else 0
        return self.noise[at : at + size]

    def send(self, qid: int) -> Command:
        rng, bs = self.rng, self.drive.block_size
        opcode = rng.choices(list(self.weights), list(self.weights.values()))[0]
        blocks = self._blocks()
        slba = self.first + rng.randrange(self.region - blocks + 1)
        fields: dict[str, Any] = {}
        buffer: Buffer | None = None
        data: bytes | None = None
        ranges: list[tuple[int, int]] = []
        prp1 = prp2 = 0
        nsid, flags = 1, 0
        if opcode in (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.COMPARE):
            buffer = self._geometry(blocks * bs)
            if opcode == NvmOpc.READ:
                buffer.fill(CANARY)
            else:
                data = self._random_data(blocks * bs)
                if opcode == NvmOpc.COMPARE and rng.random() < 0.7:
                    data = b"".join(bytes((self.media.allowed(slba + i) or data[:bs])[0]) for i in range(blocks))
                buffer.write(data)
        elif opcode == NvmOpc.DSM:
            count = rng.choice((1, 1, 2, 5, 256))
            share = max(1, self.region // count)
            for i in range(count):
                length = rng.randint(0 if count > 1 else 1, min(64, share))
                ranges.append((self.first + min(i * share, self.region - length), length))
            raw = b"".join(bytes(DsmRange(0, n, s)) for s, n in ranges)
            buffer = self._geometry(len(raw))
            buffer.write(raw)
            slba, blocks = 0, 0
            fields = {"cdw10": count - 1, "cdw11": DSM_AD}
        elif opcode == NvmOpc.FLUSH:
            slba = blocks = 0
        if buffer is not None:
            prp1, prp2 = buffer.prps()
        if rng.random() < self.bad:
            opcode, slba, nsid, flags, prp1, prp2 = self._spoil(opcode, slba, blocks, nsid, flags, prp1, prp2)
        allowed = allowed_statuses(
            self.limits,
            opcode,
            nsid=nsid,
            slba=slba,
            nlb=max(0, blocks - 1),
            prp1=prp1,
            prp2=prp2,
            fuse=flags & 3,
            psdt=flags >> 6,
            ranges=ranges,
        )
        good = Status.SUCCESS in allowed
        # A bad PRP may be met when part of the data has been moved; any other fault shows before.
        moves = good or Status.INVALID_PRP_OFFSET in allowed
        pending = self.media.begin(opcode if moves else NvmOpc.FLUSH, slba, blocks, data, ranges if moves else ())
        command = self.drive.submit(
            qid,
            opcode,
            slba,
            max(0, blocks - 1),
            buffer,
            nsid=nsid,
            flags=flags,
            prp1=prp1,
            prp2=prp2,
            on_done=self.check,
            **fields,
        )
        if good and opcode == NvmOpc.COMPARE:
            allowed = allowed | {Status.COMPARE_FAILED}
        self.sent[command] = Sent(pending, allowed | self.tolerate, buffer)
        return command

    def _spoil(self, opcode: int, slba: int, blocks: int, nsid: int, flags: int, prp1: int, prp2: int) -> tuple:
        """Put a fault into a command."""
        kind = self.rng.randrange(5)
        if kind == 0:
            return 0x7E, slba, nsid, flags, prp1, prp2
        if kind == 1:
            return opcode, slba, self.rng.choice((0, 2, 0xFFFFFFFE)), flags, prp1, prp2
        if kind == 2 and blocks:
            return opcode, self.limits.blocks - blocks + self.rng.randint(1, blocks), nsid, flags, prp1, prp2
        if kind == 3:
            return opcode, slba, nsid, flags | 1, prp1, prp2
        if prp2 and opcode != NvmOpc.FLUSH:
            return opcode, slba, nsid, flags, prp1, prp2 | 4
        return 0x7E, slba, nsid, flags, prp1, prp2

    # Completions ----------------------------------------------------------------------------------------------------

    def check(self, command: Command) -> None:
        sent = self.sent.pop(command)
        status = command.status
        allowed, pending = sent.allowed, sent.pending
        if pending.opcode in READS and self.media.may_fail(pending.slba, pending.blocks, pending.begin):
            allowed = allowed | {Status.READ_ERROR}
        if status not in allowed:
            names = ", ".join(Status(s).name for s in allowed)
            raise AssertionError(
                f"opcode {command.opcode:#x} at {command.slba} nlb {command.nlb} ended with "
                f"{status_name(command.status15)}, allowed: {names}"
            )
        data = None
        if sent.buffer is not None and command.opcode == NvmOpc.READ:
            sent.buffer.check_margins(CANARY)
            data = sent.buffer.read()
        # A command that must not do anything was begun as a flush: it changes nothing, whatever its status.
        self.media.end(sent.pending, status, data)
        name = Status(status).name
        self.counts[name] = self.counts.get(name, 0) + 1
        if sent.buffer is not None:
            sent.buffer.free()

    def lose(self, commands: list[Command]) -> None:
        """Commands that a reset took."""
        for command in commands:
            if command not in self.sent:
                continue
            sent = self.sent.pop(command)
            self.media.lost(sent.pending)
            if sent.buffer is not None:
                sent.buffer.free()

    # Running --------------------------------------------------------------------------------------------------------

    def run(self, count: int, depth: int, queues: list[int] | None = None) -> None:
        """`count` commands, up to `depth` in flight on each queue, then all completions."""
        self.start(count, depth, queues)
        self.drive.wait(list(self.sent))
        assert not self.sent

    def start(self, count: int, depth: int, queues: list[int] | None = None) -> None:
        """As `run`, but leaves the last commands in flight."""
        queues = queues or [q for q in self.drive.sqs if q]
        left = count
        idle_since = self.drive.sim.ns
        while left:
            self.rng.shuffle(queues)
            for q in queues:
                sq = self.drive.sqs[q]
                for _ in range(self.rng.randint(0, depth)):
                    if not left or len(sq.pending) >= depth or not sq.room():
                        break
                    self.send(q)
                    left -= 1
            self.drive.ring()
            if self.drive.step(20):
                idle_since = self.drive.sim.ns
            elif self.sent and self.drive.sim.ns - idle_since > self.drive.io_timeout_us * 1000:
                self.drive.wait(list(self.sent))  # says what is late

    def read_all(self, qid: int = 1) -> None:
        """Read the whole region with one command after the other and check it; block by block where some may fail."""
        bs = self.drive.block_size
        step = max(1, self.largest // bs)
        for slba in range(self.first, self.first + self.region, step):
            blocks = min(step, self.first + self.region - slba)
            if not self.media.may_fail(slba, blocks):
                self.media.check(slba, blocks, self.drive.read(slba, blocks, qid=qid))
                continue
            for lba in range(slba, slba + blocks):
                buffer = self.drive.buffer(bs)
                command = self.drive.submit(qid, NvmOpc.READ, lba, 0, buffer)
                self.drive.wait([command])
                if command.status == Status.READ_ERROR:
                    assert self.media.may_fail(lba, 1), f"block {lba} cannot be read"
                else:
                    assert command.status == Status.SUCCESS
                    self.media.check(lba, 1, buffer.read())
                buffer.free()
